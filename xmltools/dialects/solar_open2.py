"""Solar Open 2: `<|tool_call:start|>NAME<|tool_arg:start|>KEY<|tool_arg:value|>VALUE<|tool_arg:end|>…`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

SOLAR_OPEN2 = Dialect(
    name="solar_open2",
    body=Body.PAIRS,
    start="<|tool_call:start|>",
    end="<|tool_call:end|>",
    is_sure=True,
    example="<|tool_call:start|>get<|tool_arg:start|>n<|tool_arg:value|>1<|tool_arg:end|><|tool_call:end|>",
    reasoning=(),
    thoughts=(("<|think:start|>", "<|think:end|>"),),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|im:end|>", "<|im:start|>", "<|im:content|>", "<|endoftext|>"),
    pairs=Pairs(key="<|tool_arg:start|>", key_end="<|tool_arg:value|>", value_end="<|tool_arg:end|>"),
)
