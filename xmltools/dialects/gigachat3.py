"""GigaChat 3: `<|function_call|>{"name": NAME, "arguments": {…}}`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect

_MARKED = Dialect(
    name="gigachat3",
    body=Body.JSON,
    start="<|function_call|>",
    end="",
    is_sure=True,
    example='<|function_call|>{"name": "get", "arguments": {"n": 1}}',
    reasoning=(),
    turn_ends=("</s>", "<|message_sep|>"),
)

GIGACHAT3 = replace(
    _MARKED,
    variants=(replace(_MARKED, start="<|message_sep|>\n\nfunction call<|role_sep|>\n"),),
)
