"""Solar Open: `<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>{…}<|tool_call:end|>` in a section."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_PAIRS = Pairs(
    name="<|tool_call:begin|>",
    name_end="<|tool_call:args|>",
    name_pattern=r"[^<]*<\|tool_call:name\|>(?P<name>.+)",
    end="<|tool_call:end|>",
    json=True,
    bare=True,
)

_SECTION = Dialect(
    name="solar_open",
    body=Body.PAIRS,
    start="<|tool_calls|>",
    end="<|calls|>",
    is_sure=True,
    may_lack_end=True,  # it is the token that ends the turn, so servers strip it
    many=True,
    example=(
        '<|tool_calls|><|tool_call:begin|>0<|tool_call:name|>get<|tool_call:args|>{"n": 1}<|tool_call:end|><|calls|>'
    ),
    reasoning=(),
    thoughts=(("<|think|>", "<|end|>"),),
    ends_reasoning=True,
    turn_ends=("<|begin|>assistant", "<|content|>", "<|end|>", "<|flush|>", "<|endoftext|>"),
    pairs=_PAIRS,
    writing=Writing(
        before="<|end|><|begin|>assistant",
        start="<|tool_calls|>",
        end="<|calls|>",
        between="",
        name="{number}<|tool_call:name|>{name}",  # the template has the id of the call there
        result=ResultForm(
            each_start="<|tool_response:begin|>{number}<|tool_response:name|>{name}<|tool_response:result|>",
            each_end="<|tool_response:end|>",
            between="",
            role="tool",
        ),
        tools=ToolList(
            form="schema",
            start="<|tools:begin|>",
            end="<|tools:end|>",
            each_start="<|tool:begin|>",
            each_end="<|tool:end|>",
            between="",
        ),
    ),
)

SOLAR_OPEN = replace(
    _SECTION,
    variants=(  # a call without the section
        replace(
            _SECTION,
            start=_PAIRS.name,
            end=_PAIRS.end,
            may_lack_end=False,
            many=False,
            pairs=replace(_PAIRS, name="", end="", bare=False),
            writing=None,
        ),
    ),
)
