"""Nemotron Nano v2 and Jamba: `<TOOLCALL>[{"name": NAME, "arguments": {…}}]</TOOLCALL>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing

_LIST = Dialect(
    name="nemotron_nano",
    body=Body.JSON,
    block="TOOLCALL",
    many=True,
    example='<TOOLCALL>[{"name": "get", "arguments": {"n": 1}}]</TOOLCALL>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<SPECIAL_12>",),
    writing=Writing(
        before="\n\n",
        start="<TOOLCALL>[",
        end="]</TOOLCALL>",
        between=", ",
        result=ResultForm(each_start="<TOOL_RESPONSE>[", each_end="]</TOOL_RESPONSE>"),
        tools=ToolList(form="schema", start="<AVAILABLE_TOOLS>[", end="]</AVAILABLE_TOOLS>", between=", "),
    ),
)

NEMOTRON_NANO = replace(_LIST, variants=(replace(_LIST, block="tool_calls"),))
