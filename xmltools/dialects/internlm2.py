"""InternLM2: `<|action_start|><|plugin|>{"name": NAME, "parameters": {…}}<|action_end|>`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect

_CLOSE = Dialect(
    name="internlm2",
    body=Body.JSON,
    start="<|action_start|><|plugin|>",
    end="<|action_end|>",
    is_sure=True,
    example='<|action_start|><|plugin|>{"name": "get", "parameters": {"n": 1}}<|action_end|>',
    reasoning=("think",),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|im_end|>",),
    json_arguments=("parameters", "arguments"),
)

INTERNLM2 = replace(_CLOSE, variants=(replace(_CLOSE, start="<|action_start|> <|plugin|>"),))
