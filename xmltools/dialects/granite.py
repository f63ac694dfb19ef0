"""Granite 3: `<|tool_call|>[{"name": NAME, "arguments": {…}}]`; and Granite 20B: `<function_call> {"name": …}`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing

_LIST = Dialect(
    name="granite",
    body=Body.JSON,
    start="<|tool_call|>",
    end="",
    is_sure=True,
    many=True,
    example='<|tool_call|>[{"name": "get", "arguments": {"n": 1}}]',
    reasoning=("think",),
    thoughts=tuple(  # Granite 3.2
        (f"{start} my thought process:", f"{end} my response:")
        for start in ("Here is", "Here's")
        for end in ("Here is", "Here's")
    ),
    ends_reasoning=True,
    turn_ends=("<|end_of_text|>",),
    writing=Writing(
        before="",
        start="<|tool_call|>[",
        end="]",
        between=", ",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(start="[", end="]", between=", "),
    ),
)

GRANITE = replace(
    _LIST,
    variants=(
        replace(_LIST, start="<tool_call>", end="</tool_call>", is_sure=False, may_lack_end=True),
        replace(_LIST, start="<function_call>", end="</function_call>", is_sure=False, may_lack_end=True),
    ),
)
