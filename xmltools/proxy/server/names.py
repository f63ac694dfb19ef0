"""Names that clients give, of which the first hundred plain ones are told apart: each is a time series and a line."""

from __future__ import annotations

import re

__all__ = ["OTHER", "Names"]

OTHER = "other"
_MOST = 100
_PLAIN = r"[A-Za-z0-9_.-]{1,64}"


class Names:
    """The names that have been met since the process began. `plain` is a pattern of those that are told apart."""

    def __init__(self, plain: str = _PLAIN) -> None:
        self._plain = re.compile(plain)
        self._known: set[str] = set()

    def known(self, name: str) -> str:
        """Return the name; "other" if it is long or strange, or there are many already."""
        if name not in self._known:
            if len(self._known) >= _MOST or not self._plain.fullmatch(name):
                return OTHER
            self._known.add(name)
        return name
