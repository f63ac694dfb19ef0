"""Phi-4-mini and Firefunction v2: `functools[{"name": NAME, "arguments": {…}}]`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect

PHI4MINI = Dialect(
    name="phi4mini",
    body=Body.JSON,
    start="functools[",
    end="",
    many=True,
    example='functools[{"name": "get", "arguments": {"n": 1}}]',
    reasoning=(),
    turn_ends=("<|end|>", "<|endoftext|>", "<|eot_id|>"),
)
