"""Muse Spark and Muse Glimmer: `<atem:function_calls><atem:invoke name="NAME">…`, in messages to a tool."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect
from xmltools.dialects.minimax_m2 import INVOKE

_START = "<|start|>assistant to="
_ANSWERS = tuple(
    f"{start}{word}<|message|>" for start in (_START, "to=") for word in ("user", "commentary", "developer")
)

MUSE = Dialect(
    name="muse",
    body=Body.PAIRS,
    block="atem:function_calls",
    many=True,
    example=(
        '<atem:function_calls><atem:invoke name="get"><atem:parameter name="n">1</atem:parameter></atem:invoke>'
        "</atem:function_calls>"
    ),
    reasoning=(),
    thoughts=tuple((f"{start}self<|message|>", end) for start in (_START, "to=") for end in ("<|eom|>", "<|eot|>")),
    layout=True,
    turn_ends=("<|eom|>", "<|eot|>", "<|message|>", *_ANSWERS),
    headers=((_START, "<|message|>"), ("to=", "<|message|>")),
    answers=("<|message|>", *_ANSWERS),
    pairs=replace(
        INVOKE,
        name="<atem:invoke ",
        end="</atem:invoke>",
        key="<atem:parameter ",
        value_end="</atem:parameter>",
    ),
)
