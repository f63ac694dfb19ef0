"""Qwen3-Coder and models with its notation: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

PAIRS = Pairs(
    name="<function=",
    name_end=">",
    end="</function>",
    key="<parameter=",
    key_end=">",
    value_end="</parameter>",
    framing=True,
    bare=True,
)

QWEN3_CODER = Dialect(
    name="qwen3_coder",
    body=Body.PAIRS,
    block="tool_call",
    example="<tool_call><function=get><parameter=n>1</parameter></function></tool_call>",
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
    pairs=PAIRS,
    writing=Writing(
        before="\n\n",
        call_start="<tool_call>\n",
        call_end="\n</tool_call>",
        after_name="\n",
        around_value="\n",
        after_value="\n",
        result=ResultForm(each_start="<tool_response>\n", each_end="\n</tool_response>"),
        tools=ToolList(form="elements", start="<tools>\n", end="\n</tools>"),
    ),
)
