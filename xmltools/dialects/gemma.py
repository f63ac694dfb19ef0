"""Gemma 4: `<|tool_call>call:NAME{KEY:<|"|>VALUE<|"|>}<tool_call|>`, and FunctionGemma."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_GEMMA4 = Dialect(
    name="gemma",
    body=Body.PAIRS,
    start="<|tool_call>",
    end="<tool_call|>",
    is_sure=True,
    example="<|tool_call>call:get{n:1}<tool_call|>",
    reasoning=("think",),
    thoughts=(
        ("<|channel>thought\n", "\n<channel|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|channel>", "\n<channel|>"),
        ("<|channel>", "<channel|>"),
    ),
    turn_ends=("<turn|>", "<eos>", "<|tool_response>", "<|channel>thought\n<channel|>"),
    pairs=Pairs(name="call:", json=True, quote='<|"|>'),
    writing=Writing(
        before="",
        call_start="<|tool_call>",
        call_end="<tool_call|>",
        between="",
        result=ResultForm(
            each_start='<|tool_response>response:{name}{value:<|"|>',
            each_end='<|"|>}<tool_response|>',
            between="",
        ),
        tools=ToolList(form="declaration", each_start="<|tool>", each_end="<tool|>", between=""),
    ),
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
