"""MiniMax-M1 and MiniMax-Text-01: `<tool_calls>`, `{"name": NAME, "arguments": {…}}` on lines, `</tool_calls>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing

MINIMAX_M1 = Dialect(
    name="minimax_m1",
    body=Body.JSON,
    block="tool_calls",
    many=True,
    separator="\n",  # between objects, if they are no list
    example='<tool_calls>\n{"name": "get", "arguments": {"n": 1}}\n</tool_calls>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<end_of_sentence>", "<beginning_of_sentence>"),
    writing=Writing(
        start="<tool_calls>\n",
        end="\n</tool_calls>",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(start="<tools>\n", end="\n</tools>"),
    ),
)
