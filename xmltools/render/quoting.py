"""Data inside prompts: text that others wrote can't open a block or a reasoning region, nor start a line of its own."""

from __future__ import annotations

import re

from xmltools.dialects import FORGE

__all__ = ["OPENS", "neutral", "neutral_line"]

OPENS = re.compile(rf"<(?=(?i:{'|'.join((FORGE.block, *FORGE.reasoning))})(?![\w.-]))")
"""The `<` of what could open a block or a reasoning region."""


def neutral(text: str) -> str:
    """Return text in which the `<` of what could open a block or a reasoning region is written as `&lt;`.

    >>> neutral("a <b> in a <tool>")
    'a <b> in a &lt;tool>'
    """
    return OPENS.sub("&lt;", text) if "<" in text else text


def neutral_line(text: str) -> str:
    """Return the same on one line: line breaks of any kind, and white space around them, become a space."""
    if not text.isprintable():
        text = " ".join(filter(None, map(str.strip, text.splitlines())))
    return neutral(text)
