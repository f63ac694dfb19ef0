"""What an exchange has been given, kept so that another process can make the same exchange, and go on with it.

An exchange is the same wherever it is made, if its request, its id and its time are, and it is given the same pieces.
Nearly all pieces are chunks with a few characters of text. They are kept as one text and its cuts.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.exchange import Exchange

__all__ = ["Replay"]

_MOST_LOOSE = 256


class Replay:
    """The steps of an exchange so far."""

    __slots__ = ("_cuts", "_loose", "_steps", "_text")

    def __init__(self) -> None:
        self._steps: list[list[Any]] = []
        self._text: list[str] = []  # of chunks that hold nothing else, since the last step
        self._loose = 0  # how many of them are not joined
        self._cuts = array("I")

    def feed(self, chunk: Mapping[str, Any]) -> None:
        """Note that the exchange was fed a chunk."""
        text = _only_text(chunk)
        if not text:
            self.note("feed", chunk)
            return
        self._text.append(text)
        self._cuts.append(len(text))
        self._loose += 1
        if self._loose >= _MOST_LOOSE:
            self._text[-self._loose :] = ["".join(self._text[-self._loose :])]
            self._loose = 0

    def note(self, step: str, given: Any) -> None:
        """Note another step: "end" with `is_whole`, after which a next turn begins, or "answer" with a completion."""
        self._settle()
        self._steps.append([step, given])

    def _settle(self) -> None:
        if self._text:
            self._steps.append(["text", "".join(self._text), self._cuts.tolist()])
            self._text, self._loose, self._cuts = [], 0, array("I")

    def dump(self) -> list[list[Any]]:
        """Return the steps as JSON."""
        self._settle()
        return self._steps

    @staticmethod
    def play(steps: list[list[Any]], exchange: Exchange) -> None:
        """Take a new exchange through dumped steps. What it says is known already."""
        for step, *given in steps:
            if step == "text":
                at = 0
                for size in given[1]:
                    exchange.feed({"choices": [{"index": 0, "delta": {"content": given[0][at : at + size]}}]})
                    at += size
            elif step == "feed":
                exchange.feed(given[0])
            elif step == "end":
                exchange.end(is_whole=given[0])
                exchange.next_turn()
            else:
                exchange.answer(given[0])


def _only_text(chunk: Mapping[str, Any]) -> str:
    """Return the text of a chunk that says nothing else, or nothing."""
    choices = chunk.get("choices")
    if type(choices) is not list or len(choices) != 1 or chunk.get("usage") is not None or "error" in chunk:
        return ""
    choice = choices[0]
    if type(choice) is not dict or choice.get("index", 0) != 0 or choice.get("finish_reason"):
        return ""
    delta = choice.get("delta")
    if type(delta) is not dict or len(delta) != 1:
        return ""
    text = delta.get("content")
    return text if type(text) is str else ""
