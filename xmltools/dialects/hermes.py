"""Hermes 2 Pro, Qwen 2.5 and Qwen 3: `<tool_call>{"name": NAME, "arguments": {…}}</tool_call>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_WRITING = Writing(
    call_start="<tool_call>\n",
    call_end="\n</tool_call>",
    result=ResultForm(each_start="<tool_response>\n", each_end="\n</tool_response>"),
    tools=ToolList(start="<tools>\n", end="\n</tools>"),
)

_HERMES = Dialect(
    name="hermes",
    body=Body.JSON,
    block="tool_call",
    example='<tool_call>{"name": "get", "arguments": {"n": 1}}</tool_call>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
    writing=_WRITING,
)

_LONGCAT = Pairs(
    key="<longcat_arg_key>",
    key_end="</longcat_arg_key>",
    value="<longcat_arg_value>",
    value_end="</longcat_arg_value>",
)

HERMES = replace(
    _HERMES,
    variants=(
        replace(_HERMES, block="longcat_tool_call"),
        replace(_HERMES, block="longcat_tool_call", body=Body.PAIRS, pairs=_LONGCAT),  # as GLM's
    ),
)
