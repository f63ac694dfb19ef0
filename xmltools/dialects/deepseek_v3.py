"""DeepSeek-V3, R1 and V3.1: `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>` in a section."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_BEGIN, _SEPARATOR, _END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"

_V31 = Dialect(
    name="deepseek_v3",
    body=Body.PAIRS,
    start="<｜tool▁calls▁begin｜>",
    end="<｜tool▁calls▁end｜>",
    is_sure=True,
    many=True,
    example=f'<｜tool▁calls▁begin｜>{_BEGIN}get{_SEPARATOR}{{"n": 1}}{_END}<｜tool▁calls▁end｜>',
    reasoning=("think",),
    ends_reasoning=True,
    turn_ends=("<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"),
    pairs=Pairs(name=_BEGIN, name_end=_SEPARATOR, end=_END, json=True, bare=True),
    writing=Writing(
        before="",
        start="<｜tool▁calls▁begin｜>",
        end="<｜tool▁calls▁end｜>",
        between="",
        result=ResultForm(
            each_start="<｜tool▁output▁begin｜>", each_end="<｜tool▁output▁end｜>", between="", role="tool"
        ),
        tools=ToolList(form="heading", between="\n\n"),
    ),
)

# V3 and R1 have the word `function` before the name, and the arguments in a fence. What does not begin so is V3.1.
DEEPSEEK_V3 = replace(
    _V31,
    pairs=Pairs(name=f"{_BEGIN}function{_SEPARATOR}", name_end="\n```json\n", end=f"```{_END}", json=True, bare=True),
    writing=None,
    variants=(_V31,),
)
