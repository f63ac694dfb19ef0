"""What we add to requests, and what is known of the upstream that gets them: some refuse fields that they do not know,
some refuse reasoning that is sent back to them, and some refuse a history without it."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from functools import lru_cache

SPECIAL_TOKENS = "skip_special_tokens"
"""False asks an engine to leave special tokens in the text, since calls may be spelled with them."""
REASONING = ("reasoning_content", "reasoning")
"""The fields that chat completions have for reasoning, the one of most servers first."""
_NAMES = {name: re.compile(rf"\b{name}\b".encode()) for name in (SPECIAL_TOKENS, *REASONING)}
_STATUSES = (400, 422)
_MOST_MODELS = 1_000
_LONGEST_NAME = 200
_LOG = logging.getLogger("xmltools.serve")


@dataclass(slots=True)
class Taken:
    """What one model of an upstream takes. `refused`: the names of fields that it does not. `thinks_in`: the field in
    which its reasoning was found, "" for its text, None as long as it has not reasoned."""

    refused: set[str] = field(default_factory=set)
    thinks_in: str | None = None

    def refuse(self, names: set[str]) -> None:
        """Remember fields without which a request was answered."""
        for name in names - self.refused:
            _LOG.warning("the upstream refuses a field, which is left out", extra={"fields": {"field": name}})
        self.refused |= names


class AddedFields:
    """Remembers what one upstream takes. All exchanges with it share this."""

    def __init__(self) -> None:
        self._of = lru_cache(maxsize=_MOST_MODELS)(lambda model: Taken())

    def __reduce__(self) -> tuple[type[AddedFields], tuple[()]]:
        return AddedFields, ()  # a copy finds out anew: the upstream may be another one

    def of(self, model: str) -> Taken:
        """Return what is known of a model, which may be changed."""
        return self._of(model[:_LONGEST_NAME])


def refused_in(status: int, said: bytes) -> list[str]:
    """Return which of these fields an upstream names in an error."""
    return [name for name, pattern in _NAMES.items() if pattern.search(said)] if status in _STATUSES else []
