"""Calls in Python: `[NAME(KEY=VALUE), …]`, of Llama 3.2 and 4, and those of LFM2 and Olmo 3."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_BARE = Dialect(
    name="pythonic",
    body=Body.PAIRS,
    start="[",
    end="",
    is_bare=True,
    many=True,
    example="[get(n=1)]",
    reasoning=("think",),
    turn_ends=("<|eot|>", "<|eom|>", "<|eot_id|>", "<|eom_id|>", "<|python_end|>"),
    pairs=Pairs(json=True, python=True),
    writing=Writing(
        before="\n\n",
        start="[",
        end="]",
        between=", ",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(start="[", end="]", between=",\n", indent=4),
    ),
)

_MARKED = replace(_BARE, is_bare=False, is_sure=True)

PYTHONIC = replace(
    _BARE,
    variants=(
        replace(_MARKED, start="<|python_start|>", end="<|python_end|>"),
        replace(_MARKED, start="<|python_tag|>", end=""),
        replace(_MARKED, start="<function_calls>", end="</function_calls>", is_sure=False),
    ),
)

LFM2 = replace(
    _MARKED,
    name="lfm2",
    start="<|tool_call_start|>",
    end="<|tool_call_end|>",
    example="<|tool_call_start|>[get(n=1)]<|tool_call_end|>",
    turn_ends=("<|im_end|>",),
    writing=Writing(
        before="",
        start="<|tool_call_start|>[",
        end="]<|tool_call_end|>",
        between=", ",
        result=ResultForm(each_start="<|tool_response_start|>", each_end="<|tool_response_end|>", role="tool"),
        tools=ToolList(start="List of tools: [", end="]", between=", "),
    ),
)
