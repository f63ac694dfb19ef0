"""The arguments of a call in Python, read by themselves."""

from __future__ import annotations

from typing import Any

from xmltools.syntax.json_reader import LenientReader, Slip, read_number


def loads_call(text: str) -> tuple[dict[str, Any], list[Slip]]:
    """Read the arguments of a call in Python, from its bracket on: `(path="a.py", lines=[1, 2])`."""
    return LenientReader(text, 64, read_number, loose=True, is_call=True).read()
