"""GLM-4.5 and later: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

GLM = Dialect(
    name="glm",
    body=Body.PAIRS,
    block="tool_call",
    example="<tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>",
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|user|>", "<|observation|>", "<|assistant|>", "<|endoftext|>"),
    pairs=Pairs(key="<arg_key>", key_end="</arg_key>", value="<arg_value>", value_end="</arg_value>"),
    writing=Writing(  # as GLM-4.7 and later; before, there was a line break after each mark
        call_start="<tool_call>",
        call_end="</tool_call>",
        between="",
        result=ResultForm(each_start="<tool_response>", each_end="</tool_response>", between="", role="tool"),
        tools=ToolList(start="<tools>\n", end="\n</tools>"),
    ),
)
