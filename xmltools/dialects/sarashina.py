"""Sarashina 2.2: `<|tool_calls|>[{'name': NAME, 'arguments': {…}}]`, a list in Python."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect

_MARKED = Dialect(
    name="sarashina",
    body=Body.JSON,
    start="<|tool_calls|>",
    end="",
    is_sure=True,
    many=True,
    example="<|tool_calls|>[{'name': 'get', 'arguments': {'n': 1}}]",
    reasoning=(),
    turn_ends=("</s>", "<|user|>", "<|assistant|>", "<|tool_results|>"),
    json_is_python=True,
)

# Engines drop the token, unless they are told to keep it.
SARASHINA = replace(_MARKED, variants=(replace(_MARKED, start="[", is_sure=False, is_bare=True),))
