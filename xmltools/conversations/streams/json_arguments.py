"""The arguments of a call as JSON fragments, while the call is still being written.

All fragments of a call, joined, are the JSON of its final arguments, and no fragment is ever revised. So only what is
certain flows: the text of an argument that the tool's schema declares as a string and nothing else, whose deltas are
its final value. All other arguments (numbers, lists, unions, what no schema describes) are written when the call is
complete, after the strings; the order of members means nothing in JSON. The object is opened by the first fragment
that has something to say, and closed only for a completed call: what is left of a failed one is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from json.encoder import encode_basestring
from typing import Any

from xmltools.conversations.streams.tools_by_name import ToolTable, is_string
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, Event
from xmltools.tools import Tool
from xmltools.tools.schema import Shape

Path = tuple[str | int, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return text with U+FFFD for each lone surrogate, which neither UTF-8 nor JSON can say."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


class ArgumentStream:
    """Turns the events of a parser into fragments of JSON, one call after the other.

    `tools` are those of the parser. Without them (None), or for a tool that is not among them, arguments are
    written when the call is complete. Raises `XMLToolsError` for anything but tools.
    """

    __slots__ = ("_begun", "_held", "_open", "_path", "_shapes", "_skipped", "_table", "_written")

    def __init__(self, tools: Iterable[Tool] | None = None) -> None:
        self._table = ToolTable(tools or ())
        self._shapes: list[Shape] = []
        self._reset()

    def _reset(self) -> None:
        self._open = False  # a call has started and not ended
        self._begun = False  # the object's brace is written
        self._path: Path | None = None  # of the string that is being written
        self._skipped: Path | None = None  # of an argument that is not written yet
        self._written: set[str] = set()
        self._held: list[str] = []  # white space: a fragment of nothing else confuses clients

    @property
    def is_open(self) -> bool:
        """Whether a call has started and not ended."""
        return self._open

    def feed(self, event: Event) -> str:
        """Take an event; return what it adds to the JSON of the call that is being written, often nothing.

        Raises `XMLToolsError` if a call turns out to have other types than these tools declare, because its parser
        had other tools, or values that JSON does not have.
        """
        # Hot: a chunk of four characters in one argument is the rule. Its events share one path object.
        if event.__class__ is ArgumentDelta and event.path is self._path:
            text: str = event.text
            if text.isascii():
                fragment = encode_basestring(text)[1:-1]
                if fragment[-1:] == " ":
                    return self._without_end(fragment)
                if self._held and fragment:
                    self._held.append(fragment)
                    return self._take()
                return fragment
        return self._feed(event)

    def _feed(self, event: Event) -> str:
        match event:
            case ArgumentDelta(path, text):
                return self._string(path, text) if self._open else ""
            case CallStarted(_, name):
                self._reset()
                self._open = True
                self._shapes = self._table.shapes(name, event.server)
            case CallCompleted(call):
                return self._complete(call)
            case CallFailed():
                return self.abandon()
        return ""

    def abandon(self) -> str:
        """End a call that failed, or that the stream left open.

        Returns the brace if nothing was written yet: clients read no arguments at all as a call without arguments.
        """
        fragment = "{" if self._open and not self._begun else ""
        self._reset()
        return fragment

    def spoil(self) -> str:
        """End a call as `abandon` does, so that no reader of unfinished JSON can close the object.

        That takes a comma in front of a wrong bracket: one of the two alone is not enough for all readers.
        """
        fragment = ""
        if self._open:
            fragment = "{,]" if not self._begun else ",]" if self._path is None else '",]'
        self._reset()
        return fragment

    def _string(self, path: Path, text: str) -> str:
        if path is self._skipped:
            return ""
        fragment = "" if path == self._path else self._begin(path)
        if path != self._path:
            self._skipped = path
            return ""
        self._path = path
        return self._without_end(fragment + _escaped(text))

    def _without_end(self, fragment: str) -> str:
        """Return what was held and the fragment, but for white space at its end.

        That waits: a fragment of nothing else confuses clients, and a call that fails drops it, so that what was sent
        of one does not depend on how the text was cut.
        """
        body = fragment.rstrip()
        if not body:
            if fragment:
                self._held.append(fragment)
            return ""
        held = self._take()
        if len(body) < len(fragment):
            self._held.append(fragment[len(body) :])
        return held + body

    def _begin(self, path: Path) -> str:
        """Open the string at `path`, if it is one that may flow."""
        name = path[0]
        if len(path) != 1 or not isinstance(name, str) or name in self._written or not is_string(self._shapes, name):
            return ""
        fragment = "".join((self._take(), self._separator(), _quoted(name), ':"'))
        self._path = path
        self._written.add(name)
        return fragment

    def _separator(self) -> str:
        """Return what stands before the next member; ends the string that is being written."""
        separator = ("," if self._path is None else '",') if self._begun else "{"
        self._begun = True
        self._path = None
        return separator

    def _take(self) -> str:
        held = "".join(self._held)
        self._held.clear()
        return held

    def _complete(self, call: ToolCall) -> str:
        for name in self._written:
            if not isinstance(call.arguments.get(name), str):
                raise XMLToolsError(
                    f"tools: {name!r} of {call.name!r} is a string by the tools of this stream, but none in the call; "
                    "give the stream the tools of its parser"
                )
        fragments = [self._take()]
        for name, value in call.arguments.items():
            if name not in self._written:
                fragments += (self._separator(), _quoted(name), ":", _dumped(value, call, name))
        if not self._begun:
            fragments.append("{")
        fragments.append("}" if self._path is None else '"}')
        self._reset()
        return "".join(fragments)


def _escaped(text: str) -> str:
    return encode_basestring(without_surrogates(text))[1:-1]


def _quoted(name: str) -> str:
    return encode_basestring(without_surrogates(name))


def _dumped(value: Any, call: ToolCall, name: str) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise XMLToolsError(f"the argument {name!r} of {call.name!r} cannot be written as JSON: {error}") from None
    return without_surrogates(text)
