"""Inkling: `<|message_model|>NAME<|content_invoke_tool_json|>{"name": NAME, "args": {…}}<|end_message|>`."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect

_CALL = "<|content_invoke_tool_json|>"

INKLING = Dialect(
    name="inkling",
    body=Body.JSON,
    start=_CALL,
    end="<|end_message|>",
    is_sure=True,
    example='<|content_invoke_tool_json|>{"name": "get", "args": {"n": 1}}<|end_message|>',
    reasoning=(),
    thoughts=tuple(("<|content_thinking|>", end) for end in ("<|end_message|>", "<|content_model_end_sampling|>")),
    ends_reasoning=True,  # or the token that ends a call in it would end it
    turn_ends=("<|message_model|>", "<|content_text|>", "<|end_message|>", "<|content_model_end_sampling|>"),
    headers=(("<|message_model|>", _CALL), ("", _CALL)),  # the prompt ends with the token of a header
    json_arguments=("args", "arguments"),
    json_other_arguments=("parameters", "params", "input"),
)
