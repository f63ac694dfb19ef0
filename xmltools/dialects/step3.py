"""Step3: `<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="NAME">…` in a section."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_STEP3 = Dialect(
    name="step3",
    body=Body.PAIRS,
    start="<｜tool_calls_begin｜>",
    end="<｜tool_calls_end｜>",
    is_sure=True,
    many=True,
    fillers=("<｜tool_call_begin｜>", "function<｜tool_sep｜>", "<｜tool_call_end｜>"),
    example=(
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get">'
        '<steptml:parameter name="n">1</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>'
    ),
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<｜EOT｜>", "<｜end▁of▁sentence｜>"),
    pairs=Pairs(
        name="<steptml:invoke ",
        name_end=">",
        name_attribute="name",
        end="</steptml:invoke>",
        key="<steptml:parameter ",
        key_end=">",
        key_attribute="name",
        value_end="</steptml:parameter>",
        bare=True,
    ),
)

STEP3 = replace(
    _STEP3,
    variants=(  # a call without the section
        replace(_STEP3, start="<｜tool_call_begin｜>", end="<｜tool_call_end｜>", fillers=("function<｜tool_sep｜>",)),
    ),
)
