"""Hunyuan 3 and 4: `<tool_calls><tool_call>NAME<tool_sep><arg_key>KEY</arg_key><arg_value>VALUE</arg_value>…`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_PAIRS = Pairs(
    name="<tool_call>",
    name_end="<tool_sep>",
    may_lack_name_end=True,  # Hunyuan 4 has none
    end="</tool_call>",
    key="<arg_key>",
    key_end="</arg_key>",
    value="<arg_value>",
    value_end="</arg_value>",
    bare=True,
)

_V3 = Dialect(
    name="hunyuan",
    body=Body.PAIRS,
    block="tool_calls",
    many=True,
    example=(
        "<tool_calls><tool_call>get<tool_sep><arg_key>n</arg_key><arg_value>1</arg_value></tool_call></tool_calls>"
    ),
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|eos|>", "<｜hy_EOT｜>"),
    frame=("<answer>", "</answer>"),  # of Hunyuan-A13B
    pairs=_PAIRS,
)

HUNYUAN = replace(
    _V3,
    variants=(replace(_V3, body=Body.JSON, pairs=None),),  # of Hunyuan-A13B: a list
)
