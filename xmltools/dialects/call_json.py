"""A name and an object, as a function is called: `NAME({…})`. Small models write this where no prompt says how."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, Pairs

CALL_JSON = Dialect(
    name="call_json",
    body=Body.PAIRS,
    start="{name}(",
    end=";",
    may_lack_end=True,
    is_bare=True,
    by_name=True,
    example='get({"n": 1})',
    layout=True,
    turn_ends=("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "</s>"),
    pairs=Pairs(name_end="(", end=")", json=True),
)
