"""Kimi-K2: `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>` in a section."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

KIMI_K2 = Dialect(
    name="kimi_k2",
    body=Body.PAIRS,
    start="<|tool_calls_section_begin|>",
    end="<|tool_calls_section_end|>",
    is_sure=True,
    many=True,
    example=(
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>{"n": 1}'
        "<|tool_call_end|><|tool_calls_section_end|>"
    ),
    reasoning=("think",),
    thoughts=(("◁think▷", "◁/think▷"),),  # models before Kimi-K2
    ends_reasoning=True,
    turn_ends=("<|im_end|>",),
    leftovers=("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
    pairs=Pairs(
        name="<|tool_call_begin|>",
        name_end="<|tool_call_argument_begin|>",
        name_pattern=r"(?:functions\.)?(?P<name>[^:]+?)(?::\d+)?",
        loose_name_pattern=r"functions[._]?(?P<name>.+?)(?::\d+|[._]?\d+)?",
        end="<|tool_call_end|>",
        json=True,
        bare=True,
    ),
    writing=Writing(
        before="",
        start="<|tool_calls_section_begin|>",
        end="<|tool_calls_section_end|>",
        between="",
        name="functions.{name}:{number}",
        id="functions.{name}:{number}",
        result=ResultForm(each_start="## Return of functions.{name}:{number}\n", between="\n\n", role="tool"),
        tools=ToolList(start="[", end="]", between=", "),
    ),
)
