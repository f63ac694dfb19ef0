"""The upstream's stream: server-sent events, however the bytes are cut, the chunks of JSON in them, and what these say.

Servers have several forms for what a delta says, or the message of a whole reply.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.added_fields import REASONING

MAX_EVENT = 16 * 1024 * 1024
"""Characters of one event: what is longer is no answer of a model."""

_ONE = re.compile(r"data: ([^\r\n]*)\n\n")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r(?!\Z)|\n)")

_PART = 128
"""Characters of markup that are read in less than a millisecond, whatever they say."""


class SSEDecoder:
    """Turns bytes into events: pairs of a name, empty if there is none, and the data.

    What is no UTF-8 becomes U+FFFD. Raises XMLToolsError for an event of more than 16 Mi characters.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: list[str] = []
        self._name = ""
        self._data: list[str] = []
        self.held = 0
        """Characters of the event that is not complete."""
        self._started = False

    def feed(self, data: bytes) -> list[tuple[str, str]]:
        """Take the next bytes; return the events that they complete."""
        return self._read(self._decoder.decode(data))

    def close(self) -> list[tuple[str, str]]:
        """Say that the bytes have ended; return what was only waiting for a line break."""
        rest = self._decoder.decode(b"", True)
        return self._read(rest + "\n\n")

    def _read(self, text: str) -> list[tuple[str, str]]:
        if self._started and not (self._held or self._data or self._name) and (whole := _ONE.fullmatch(text)):
            return [("", whole[1])]  # nearly every piece of a stream that is read as fast as it is written
        if not self._started and text:
            self._started = True
            text = text.removeprefix("\ufeff")
        # A CR at the end may be half of a line break: it waits for what follows.
        if not (self._held and self._held[-1].endswith("\r")) and "\n" not in text and "\r" not in text:
            self._hold(text)
            return []
        text = "".join((*self._held, text))
        self.held -= sum(map(len, self._held))
        self._held = []
        events = []
        at = 0
        while line := _LINE.match(text, at):
            at = line.end()
            event = self._line(line[0].rstrip("\r\n"))
            if event is not None:
                events.append(event)
        self._hold(text[at:])
        return events

    def _hold(self, text: str) -> None:
        """Keep what may belong to an event that is not complete."""
        if text:
            self._held.append(text)
        self.held += len(text)
        if self.held > MAX_EVENT:
            raise XMLToolsError(f"an event of the upstream has more than {MAX_EVENT:,} characters")

    def _line(self, line: str) -> tuple[str, str] | None:
        if not line:
            event = (self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data, self.held = "", [], 0
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self.held += len(value) + 1
        elif field == "event":
            self._name = value
        return None


# Chunks


def read_chunk(data: str) -> dict[str, Any]:
    """Return the JSON object that the data of an event is. Raises XMLToolsError if it is none."""
    try:
        chunk = _loaded(data)
    except (ValueError, RecursionError):
        raise XMLToolsError("the upstream sent what is no JSON") from None
    if not isinstance(chunk, dict):
        raise XMLToolsError("the upstream sent what is no chunk of a chat completion")
    return chunk


def parts_of(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a chunk or a completion in parts, if it says nothing but one long text with markup, so that a server can do
    something else after each part. Any other is yielded unchanged."""
    choice = _only(said.get("choices"))
    found = choice.get("delta") or choice.get("message")
    delta = found if isinstance(found, dict) else {}
    text = delta.get("content")
    if not isinstance(text, str) or len(text) <= _PART or "<" not in text or "error" in said:
        yield said
        return
    if any(value and name not in ("content", "role") for name, value in delta.items()):
        yield said
        return
    last = (len(text) - 1) // _PART * _PART
    for at in range(0, last, _PART):
        yield {"choices": [{**choice, "finish_reason": None, "delta": {"content": text[at : at + _PART]}}]}
    yield {**said, "choices": [{**choice, "delta": {**delta, "content": text[last:]}}]}


def _only(choices: Any) -> dict[str, Any]:
    """Return the choice, if there is one and no other; else none."""
    is_one = isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict)
    return choices[0] if is_one else {}


def _loaded(data: str) -> Any:
    try:
        return from_json(data)  # a third of the time of json's reader
    except ValueError:
        return json.loads(data)  # takes lone surrogates, too


# What a delta says


def text_of(delta: Mapping[str, Any]) -> str:
    """Return the text for the reader."""
    text = delta.get("content") or delta.get("refusal")
    if isinstance(text, list):
        text = _joined(text, "text")
    return text if isinstance(text, str) else ""


def reasoning_of(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Return where the model's thoughts stand, and these; two empty strings if there are none."""
    for key in REASONING:
        text = delta.get(key)
        if isinstance(text, str) and text:
            return key, text
    return "", ""


def details_of(delta: Mapping[str, Any]) -> str:
    """Return what can be read of `reasoning_details`: text and summaries. What is encrypted is for the server alone."""
    details = delta.get("reasoning_details")
    return _joined(details, "text", "summary") if isinstance(details, list) else ""


def calls_of(delta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls, or parts of calls, that a server has made of the reply itself."""
    calls = delta.get("tool_calls")
    if not calls:
        old = delta.get("function_call")
        calls = [{"index": 0, "function": old}] if old else []
    found = [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []
    return [{**each, "function": _function(each.get("function"))} for each in found]


def _function(function: Any) -> dict[str, Any]:
    """Return the function of a call with its arguments as text: some servers give an object."""
    if not isinstance(function, dict):
        return {}
    arguments = function.get("arguments")
    return {**function, "arguments": json.dumps(arguments)} if isinstance(arguments, (dict, list)) else function


def is_silent(delta: Mapping[str, Any]) -> bool:
    """Whether a delta says nothing: not a word, not a thought, not a call."""
    said = text_of(delta).strip() or reasoning_of(delta)[1] or details_of(delta)
    return not (said or delta.get("tool_calls") or delta.get("function_call"))


def _joined(parts: list[Any], *keys: str) -> str:
    """Return the texts of parts, each of which has its own under one of the keys."""
    texts = (part.get(key) for part in parts if isinstance(part, dict) for key in keys)
    return "".join(text for text in texts if isinstance(text, str))
