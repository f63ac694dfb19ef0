"""ReAct, as many prompts ask for: `Action: NAME`, a line break and `Action Input: {…}`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_PLAIN = Dialect(
    name="react",
    body=Body.PAIRS,
    start="Action:",
    end="",
    by_name=True,
    example='Action: get\nAction Input: {"n": 1}',
    turn_ends=("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "</s>"),
    pairs=Pairs(name_end="\nAction Input:", json=True),
)

# Models that like fences put the object into one.
REACT = replace(
    _PLAIN,
    variants=tuple(
        replace(_PLAIN, end="```", pairs=Pairs(name_end=f"\nAction Input:{gap}```{language}\n", json=True))
        for gap in (" ", "\n")
        for language in ("json", "")
    ),
)
