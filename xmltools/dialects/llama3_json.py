"""Llama 3: `{"name": NAME, "parameters": {…}}`, perhaps after `<|python_tag|>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing

_BARE = Dialect(
    name="llama3_json",
    body=Body.JSON,
    start="{",
    end="",
    is_bare=True,
    many=True,
    separator=";",
    example='{"name": "get", "parameters": {"n": 1}}',
    reasoning=(),
    turn_ends=("<|eom_id|>", "<|eot_id|>"),
    json_arguments=("parameters", "arguments"),
    writing=Writing(
        before="\n\n",
        between="; ",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(between="\n\n", indent=4),
    ),
)

LLAMA3_JSON = replace(
    _BARE,
    variants=(
        replace(_BARE, start="[", separator=""),
        replace(_BARE, start="<|python_tag|>", is_bare=False, is_sure=True),
    ),
)
