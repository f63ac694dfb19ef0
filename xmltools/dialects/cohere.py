"""Command A and Command R7B: `<|START_ACTION|>[{"tool_name": NAME, "parameters": {…}}]<|END_ACTION|>`; and the list of
Command R and R+, in a fence after `Action:`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect

_MARKED = Dialect(
    name="cohere",
    body=Body.JSON,
    start="<|START_ACTION|>",
    end="<|END_ACTION|>",
    is_sure=True,
    many=True,
    example='<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get", "parameters": {"n": 1}}]<|END_ACTION|>',
    reasoning=(),
    thoughts=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    turn_ends=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|END_OF_TURN_TOKEN|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    around_text=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    layout=True,
    json_tool_name=("tool_name", "name"),
    json_arguments=("parameters", "arguments"),
    json_other_tool_name=("tool", "function"),
    json_other_keys=("tool_call_id",),
)

_FENCED = replace(_MARKED, end="```", is_sure=False)

COHERE = replace(
    _MARKED,
    variants=tuple(replace(_FENCED, start=f"Action:{gap}```json\n") for gap in ("\n", " ")),
)
