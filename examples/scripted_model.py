"""A stand-in for a language model, so that the examples need neither a network nor a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class ScriptedModel:
    """Says the replies that it was given, one a turn. A client of a real model takes its place."""

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)

    def answer(self, messages: Sequence[Any]) -> str:
        """Return the next reply, whatever was asked."""
        return self.replies.pop(0)

    def stream(self, messages: Sequence[Any]) -> Iterator[str]:
        """Yield the next reply in pieces of some characters, as a server streams it."""
        reply = self.answer(messages)
        yield from (reply[at : at + 7] for at in range(0, len(reply), 7))
