"""Regular expressions that are compiled when they are first used: compiling takes much longer than loading the text."""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """Stands for a pattern; methods that were used are kept, so that they cost no more than those of `re`."""

    def __init__(self, text: str, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        setattr(self, name, found)
        return found


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` returns, as far as its methods go, but compile it when the first of them is used."""
    return cast("re.Pattern[str]", _LatePattern(text, flags))
