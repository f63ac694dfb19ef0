"""ERNIE 4.5: Hermes's calls, and `<response>` around text after reasoning."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.hermes import HERMES

ERNIE = replace(
    HERMES,
    name="ernie",
    variants=(),
    frame=("<response>", "</response>"),
    turn_ends=("<|end_of_sentence|>", "</s>"),
)
