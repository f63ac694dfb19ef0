"""Gemma 3, as its prompts ask for: a fence of ```` ```tool_code ````, and calls in Python in it."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

TOOL_CODE = Dialect(
    name="tool_code",
    body=Body.PAIRS,
    start="```tool_code\n",
    end="```",
    is_sure=True,
    many=True,
    example="```tool_code\nget(n=1)\n```",
    turn_ends=("<end_of_turn>", "<eos>"),
    layout=True,
    pairs=Pairs(json=True, python=True),
)
