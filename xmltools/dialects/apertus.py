"""Apertus: `<|tools_prefix|>[{NAME: {…}}]<|tools_suffix|>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect

APERTUS = Dialect(
    name="apertus",
    body=Body.JSON,
    start="<|tools_prefix|>",
    end="<|tools_suffix|>",
    is_sure=True,
    many=True,
    example='<|tools_prefix|>[{"get": {"n": 1}}]<|tools_suffix|>',
    reasoning=(),
    thoughts=(("<|inner_prefix|>", "<|inner_suffix|>"),),
    turn_ends=("<|assistant_end|>",),
    json_name_is_key=True,
)
