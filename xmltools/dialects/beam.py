"""Beam: Harmony's channels, and `<rfl:parameter name="KEY">` around each value of a call."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_BEAM = Dialect(
    name="beam",
    body=Body.PAIRS,
    start="<|start|>assistant to=",
    end="",
    is_sure=True,
    example=(
        "<|start|>assistant to=get<|channel|>analysis <|constrain|>xml<|message|>"
        '<rfl:parameter name="n">\n1\n</rfl:parameter><|call|>'
    ),
    reasoning=(),
    thoughts=(("<|channel|>analysis<|message|>", "<|end|>"),),
    turn_ends=("<|start|>assistant", "<|channel|>final<|message|>", "<|end|>", "<|return|>", "<|call|>"),
    pairs=Pairs(
        name_end="<|message|>",
        name_pattern=r"(?P<name>[^\s<]+)(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?\s*\w*",
        end="<|call|>",
        other_ends=("<|end|>",),  # of all calls but the last
        key="<rfl:parameter ",
        key_end=">",
        key_attribute="name",
        value_end="</rfl:parameter>",
        framing=True,
    ),
)

BEAM = replace(
    _BEAM,
    variants=(replace(_BEAM, start=" to=", is_first=True),),  # after a prompt that ends with <|start|>assistant
)
