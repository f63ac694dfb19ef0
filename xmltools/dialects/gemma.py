"""Gemma 4: `<|tool_call>call:NAME{KEY:<|"|>VALUE<|"|>}<tool_call|>`, and FunctionGemma."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_GEMMA4 = Dialect(
    name="gemma",
    body=Body.PAIRS,
    start="<|tool_call>",
    end="<tool_call|>",
    is_sure=True,
    example="<|tool_call>call:get{n:1}<tool_call|>",
    reasoning=(),
    thoughts=(
        ("<|channel>thought\n", "\n<channel|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|channel>", "\n<channel|>"),
        ("<|channel>", "<channel|>"),
    ),
    turn_ends=("<turn|>", "<eos>", "<|tool_response>", "<|channel>thought\n<channel|>"),
    pairs=Pairs(name="call:", json=True, quote='<|"|>'),
)

GEMMA = replace(
    _GEMMA4,
    variants=(
        replace(
            _GEMMA4,
            start="<start_function_call>",
            end="<end_function_call>",
            pairs=Pairs(name="call:", json=True, quote="<escape>"),
        ),
    ),
)
