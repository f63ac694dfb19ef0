"""IQuest-Q1: the calls of GLM in `<iquest_tool_call>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import ResultForm, ToolList, Writing
from xmltools.dialects.glm import GLM

IQUEST_Q1 = replace(
    GLM,
    name="iquest_q1",
    block="iquest_tool_call",
    example="<iquest_tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value></iquest_tool_call>",
    turn_ends=("<|iquest_end|>", "<|iquest_user|>", "<|iquest_assistant|>", "<|endoftext|>"),
    writing=Writing(
        call_start="<iquest_tool_call>",
        call_end="</iquest_tool_call>",
        between="",
        result=ResultForm(each_start="<tool_response>", each_end="</tool_response>", between="", role="tool"),
        tools=ToolList(start="<tools>\n", end="\n</tools>"),
    ),
)
