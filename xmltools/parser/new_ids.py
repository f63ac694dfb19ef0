"""Ids for calls: random ones, or those of the caller."""

from __future__ import annotations

import os
from collections.abc import Callable

from xmltools.errors import XMLToolsError

_ids: list[str] = []
"""Ids that nobody has yet: to ask the system for random bytes takes as long as to read an argument."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.clear)  # or both processes would give the same ones


def random_id() -> str:
    """Return 96 random bits."""
    if not _ids:
        made = os.urandom(12 * 32).hex()
        _ids.extend([f"call_{made[at : at + 24]}" for at in range(0, len(made), 24)])
    try:
        return _ids.pop()
    except IndexError:  # other threads have taken them
        return random_id()


def make_id(new_id: Callable[[], object]) -> str:
    """Return what the caller's function returns. Raises `XMLToolsError` if that is not a string."""
    made = new_id()
    if not isinstance(made, str):
        raise XMLToolsError(f"new_id: expected a function that returns str, it returned {type(made).__name__}")
    return made
