"""What stands outside blocks: prose, reasoning, regions in brackets, and where a block may open (protocol, section
1)."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from xmltools._fences import FenceReader
from xmltools._markup import MORE, NO, OPENER_LENGTH, read_confirmation, read_opener
from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError
from xmltools.events import Event, ReasoningDelta, TextDelta

__all__ = ["Outside", "checked_tags"]

_BRACKETS: Final = 10_000
"""Characters that a region in brackets may have."""


class Outside:
    """Reads text outside blocks into events.

    The methods called `_read_…` take a text, where to begin in it, and the place of its first character in the
    stream. They return the place behind what they have read, or -1 if what is there does not decide.
    """

    __slots__ = (
        "_bracket_dead",
        "_bracket_seen",
        "_brackets",
        "_closers",
        "_covered",
        "_cut",
        "_dialect",
        "_events",
        "_fenced_calls",
        "_fences",
        "_found",
        "_opener",
        "_pieces",
        "_reach",
        "_reasoning",
        "_searched",
    )

    def __init__(
        self, dialect: Dialect, tags: tuple[str, ...], *, in_reasoning: bool, brackets: bool, fenced_calls: bool
    ) -> None:
        self._dialect = dialect
        self._brackets = brackets
        self._fenced_calls = fenced_calls
        self._reasoning = {f"<{tag}>": f"</{tag}>" for tag in tags}
        self._closers: tuple[str, ...] = tuple(self._reasoning.values()) if in_reasoning else ()
        self._opener, self._cut, self._reach = _openers(dialect, tags)
        self._bracket_seen = 0  # lines before this place end no region in brackets
        self._bracket_dead = 0  # no region in brackets that starts before this place has an end
        self._searched = False  # in the text that is being read, for …
        self._found: re.Match[str] | None = None  # … the next opener
        self._fences = FenceReader()
        self._covered = 0  # where reasoning begins that no event covers yet
        self._events: list[Event] = []
        self._pieces: list[str] = []  # text that was not yet given to the fences, or to the block

    @abstractmethod
    def _open_block(self, text: str, at: int, end: int, base: int) -> None:
        """A block opens at `at`; its opening tag ends at `end`."""

    @abstractmethod
    def _gather(self) -> None:
        """Hand the pieces to those that keep the books."""

    def _decides_nothing(self, held: str, chunk: str) -> bool:
        """Is it clear that `chunk` neither ends nor breaks the opening tag, or the region in brackets, that `held`
        may be?"""
        size = len(held) + len(chunk)
        if held[0] == "[":
            return size < _BRACKETS and not _LINE_OR_MARKUP.search(chunk)
        return size < OPENER_LENGTH and ">" not in held and "<" not in chunk and ">" not in chunk

    def _read_prose(self, text: str, at: int, base: int) -> int:
        """Text up to the next opener, or to what the end of the text may cut off of one; -1 if nothing is certain."""
        found = self._find_trigger(text, at)
        if self._brackets:
            bracket = self._find_bracket(text, at, found.start() if found else len(text))
            if bracket >= 0:
                self._emit_text(text, at, bracket, base)
                return self._read_brackets(text, bracket, base) if bracket == at else bracket
        place = found.start() if found else len(text)
        if place > at:
            return self._emit_text(text, at, place, base)
        if found is None or found.lastindex:
            return -1
        return self._read_opener(text, place, base)

    def _find_trigger(self, text: str, at: int) -> re.Match[str] | None:
        """The next opener, or cut opener. It is looked for once: brackets may stop the reading in front of it often."""
        if not self._searched or (self._found is not None and self._found.start() < at):
            self._searched = True
            # Two patterns, since one for both would have no common beginning that is quick to look for.
            self._found = self._opener.search(text, at) or self._cut.search(text, max(at, len(text) - self._reach))
        return self._found

    def _read_opener(self, text: str, at: int, base: int) -> int:
        self._gather()
        inline = self._fences.is_inline
        for opener, closer in self._reasoning.items():
            if text.startswith(opener, at):
                if inline:
                    return self._emit_text(text, at, at + len(opener), base)
                self._closers = (closer,)
                self._covered = base + at
                return at + len(opener)
        end = NO if inline or (self._fences.open and not self._fenced_calls) else self._confirm(text, at)
        if end is MORE:
            return -1
        if not end:
            return self._emit_text(text, at, at + 1, base)
        self._gather()
        self._open_block(text, at, end, base)
        return at

    def _confirm(self, text: str, at: int) -> int | bool | None:
        """The place behind a block's opening tag, if it opens one."""
        tag = read_opener(text, at, self._dialect.block)
        if tag is MORE or tag is NO:
            return tag
        confirmed = read_confirmation(text, tag.end, fences=self._fenced_calls)
        return tag.end if confirmed else confirmed

    def _emit_text(self, text: str, at: int, end: int, base: int) -> int:
        if end > at:
            piece = text if at == 0 and end == len(text) else text[at:end]
            self._pieces.append(piece)
            self._events.append(TextDelta.make(piece, base + at))
        return end

    # -- reasoning -------------------------------------------------------------------------------------------------

    def _read_reasoning(self, text: str, at: int, base: int) -> int:
        places = [(place, closer) for closer in self._closers if (place := text.find(closer, at)) >= 0]
        if places:
            place, closer = min(places)
            self._emit_reasoning(text[at:place], base + place + len(closer))
            self._closers = ()
            self._gather()
            self._fences.skip()
            return place + len(closer)
        place = text.rfind("<", at)
        if place < 0 or not any(closer.startswith(text[place : place + len(closer) + 1]) for closer in self._closers):
            place = len(text)
        if place == at:
            return -1
        self._emit_reasoning(text[at:place], base + place)
        return place

    def _emit_reasoning(self, text: str, end: int) -> None:
        if end > self._covered:
            self._events.append(ReasoningDelta(text, (self._covered, end)))
            self._covered = end

    def _find_bracket(self, text: str, at: int, end: int) -> int:
        """The first `[` at the start of a line before `end`, or -1."""
        if at < end and text[at] == "[":
            self._gather()
            if self._fences.at_line_start:
                return at
        return text.find("\n[", at, end) + 1 or -1

    def _read_brackets(self, text: str, at: int, base: int, *, final: bool = False) -> int:
        """At a `[` that starts a line: a region up to the first line that ends with `]`, or text.

        Lines that were seen to end no region are not looked at again, neither for this `[` nor for the next one.
        """
        line = max(at, self._bracket_seen - base)
        while base + at >= self._bracket_dead:
            found = _LINE_END.search(text, line)
            stop = found.start() if found else len(text)
            if found and found[0] == "\r" and found.end() == len(text) and not final:
                found = None  # half a line break, perhaps
            content = text[line:stop].rstrip(" \t")
            end = line + len(content)
            opener = self._opener.search(text, line, stop)
            if end - at > _BRACKETS or not (found or final or opener):
                self._bracket_seen = base + line
                if end - at <= _BRACKETS:
                    return -1
                break
            if opener or not content:
                self._bracket_dead = base + (opener.start() if opener else line)
            elif content[-1] == "]" and end - 1 > at:
                self._covered = base + at
                self._emit_reasoning(text[at + 1 : end - 1], base + end)
                self._pieces.append("]")
                return end
            elif found:
                line = found.end()
            else:
                break
        return self._emit_text(text, at, at + 1, base)


_LINE_OR_MARKUP = re.compile(r"[\r\n<]")
_LINE_END = re.compile(r"\r\n|\n|\r")


@lru_cache(maxsize=32)
def _openers(dialect: Dialect, tags: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], int]:
    """What a block or a reasoning region may begin with; that (as a group) which the end of a text cuts off, and its
    greatest length."""
    words = [f"{re.escape(dialect.block)}[> \t\r\n]", *(re.escape(f"{tag}>") for tag in tags)]
    starts = {word[:size] for word in (dialect.block + ">", *(f"{tag}>" for tag in tags)) for size in range(len(word))}
    cut = "|".join(re.escape(start) for start in sorted(starts, key=len, reverse=True))
    return re.compile(f"<(?:{'|'.join(words)})"), re.compile(f"<({cut})\\Z"), 1 + max(map(len, starts))


def checked_tags(tags: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise XMLToolsError(f"reasoning_tags: expected a list of names, as ['think'], got the string {tags!r}")
    for tag in tags:
        if not isinstance(tag, str) or not re.fullmatch(r"[^\s<>/&\"'=]+", tag) or tag == dialect.block:
            raise XMLToolsError(f"reasoning_tags: expected names as 'think', without brackets, got {tag!r}")
    return tuple(dict.fromkeys(tags))
