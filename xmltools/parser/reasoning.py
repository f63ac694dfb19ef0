"""Reasoning: which tag ends a region, and which one is only shown in it or ends a nested one; and regions in brackets
(protocol, 1.6)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final, Literal

from xmltools.models.events import Event, Noticed, ReasoningDelta
from xmltools.parser.call_start import CallStarts
from xmltools.parser.fences import FenceReader
from xmltools.parser.shown import SECTION_LENGTH, Shown
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.markup import MORE, NO, OPENER_LENGTH, SPACES, Answer, read_opener, skip_space

MAX_BRACKETS: Final = 10_000
"""Characters that a region in brackets may have."""


@dataclass
class _Later:
    """The search for another end tag after the one at `place`, which waits for it. The text was searched up to `reach`,
    as far as it is certain; there a `fence` and elements are open."""

    place: int
    reach: int
    fence: str
    depth: int = 0


class Reasoning:
    """An open region. Its text is put into `pieces`, until `gather` or an event is made of it."""

    is_over = False
    is_unclosed = False
    """A call has ended it, and no end tag."""
    lost: tuple[Noticed, ...] = ()
    """The last calls in it that did not count."""
    may_repeat = False
    """The prompt has opened it, and nothing but white space was read: the reply may repeat that."""
    _is_begun = False
    """It has text."""
    _nested = 0
    """Openers in it that have not ended."""
    _settled = 0
    """End tags before this place are followed by others."""
    _later: _Later | None = None

    def __init__(
        self, calls: CallStarts, events: list[Event], pieces: list[str], names: tuple[str, ...], place: int, start: int
    ) -> None:
        """`names` are those of the elements and delimiters that end it. It begins with a tag at `place` in the stream,
        and its text at `start`. `calls` knows the text that is being read."""
        self._calls = calls
        self._pieces = pieces
        self._names = names
        self._events = events
        self._tags = calls.starts.tags_of(names)
        self._shown = Shown((), calls.limits.block_size, sections=False)
        self._covered = place  # up to here there are events
        self._start = start  # … and from here on there is text without one

    def gather(self) -> None:
        """Look at the text that was read."""
        self._shown.take("".join(self._pieces))
        self._pieces.clear()

    def read(self, text: str, at: int) -> int:
        """Read on, up to the next tag, or past it. The place up to which it was read; -1 if the text does not
        decide."""
        shown, found = self._shown, self._tags.tag.search(text, at)
        cut = -1 if found else self._tags.cuts.find(text, at, len(text))
        place = found.start() if found else cut if cut >= 0 else len(text)
        end = self._calls.end_of_text(text, at, place)
        if end > at:
            return self._think(text, at, end)
        if found is None:
            return -1
        self.gather()
        if end < place:
            shown.take_early(text[end:place])
        shown.settle()
        name = found["name"]
        if name is None and found[0] in self._names:
            return self._end(text, at, found.end())
        after = self._after_tag(text, place, found)
        if after is MORE:
            return -1
        if not after:
            return self._think(text, at, place + 1)
        if self.may_repeat and name and not found["end"]:  # it repeats the opener of the prompt
            self.may_repeat = False
            if self._calls.base + at > self._start:
                self.emit(text, at, after)
            self._start = self._calls.base + after
            return after
        hidden = shown.hides(text, place, final=self._calls.final)
        if hidden is MORE:
            return -1
        if found["end"]:
            return self._read_end_tag(text, place, at, after, hidden)
        if hidden or (name is None and shown.fence):
            return self._think(text, at, hidden or place + 1)
        if name:
            self._nested += not (shown.fence or shown.is_escaped)
            return self._think(text, at, after)
        self.is_unclosed = True
        return self._end(text, at, at)

    def resume(self, text: str, space: str, start: int) -> None:
        """It goes on after all: this text from `start` in the stream on is a part of it, with this white space after a
        call."""
        self._shown.skip()
        self._shown.take(space)
        self._covered = start
        self.cover(text, start + len(text))
        self._start = self._covered
        self.is_over = self.is_unclosed = False

    def _after_tag(self, text: str, at: int, found: re.Match[str]) -> int | Answer:
        """The place after the tag, or the start of a call, that was found at `at`, if it is one."""
        if found["end"]:
            end = skip_space(text, found.end())
            if end - at >= OPENER_LENGTH:
                return NO
            if end == len(text):
                return MORE
            return end + 1 if text[end] == ">" else NO
        if found["name"]:
            return read_opener(text, at, found["name"])
        for form in self._calls.starts.calls[found[0]]:
            opens = self._calls.confirm(form, text, at, found[0])
            if opens or opens is MORE:
                return opens and found.end()
        return NO

    def _think(self, text: str, at: int, end: int) -> int:
        """Take text. Its event is made when all that was given was read, so that its tags do not cut it in pieces."""
        self.may_repeat = self.may_repeat and not text[at:end].strip(SPACES)
        self._pieces.append(text[at:end])
        return end

    def emit(self, text: str, end: int, after: int) -> None:
        """Make an event of the text up to `end`; what follows up to `after` belongs to the region."""
        base = self._calls.base
        start = self._start - base
        if end > start or after > end:
            thought = text[start:end]
            if self._calls.starts.dialect.layout and not self._is_begun:
                thought = thought.lstrip(SPACES)
                self._is_begun = thought != ""
            self.cover(thought, base + after)
            self._start = base + after

    def cover(self, text: str, end: int) -> None:
        """Make an event of `text` that covers the stream up to `end`, unless another one does."""
        if end > self._covered:
            self._events.append(ReasoningDelta(text, (self._covered, end)))
            self._covered = end

    def _end(self, text: str, end: int, after: int) -> int:
        """The region ends at `end`; what follows up to `after` belongs to it."""
        self.emit(text, end, after)
        self.cover("", self._calls.base + after)  # of an empty region, the tags
        self.is_over = True
        return after

    def _read_end_tag(self, text: str, at: int, lead: int, end: int, hidden: int | Literal[False]) -> int:
        """An end tag. It ends the region, unless it is shown, or ends one inside, and the region has a later one."""
        shown = self._shown
        if hidden and shown.is_right_after_backticks:
            return self._think(text, lead, hidden)
        is_fenced = shown.fence != "" and not shown.is_closing
        is_nested = not hidden and not is_fenced and self._nested > 0
        if hidden or is_fenced or is_nested:
            is_settled = is_nested and self._calls.base + at < self._settled
            is_later = is_settled or self._ends_later(text, at, end, shown.fence if is_fenced else "")
            if is_later is MORE:
                return -1
            if is_later:
                self._nested -= is_nested
                return self._think(text, lead, hidden or end)
        return self._end(text, lead, end)

    def _ends_later(self, text: str, at: int, end: int, fence: str) -> bool | None:
        """Does an end tag that no opener claims follow the one from `at` to `end`? If that is in a fence, which these
        backticks or tildes opened, the fence must end first."""
        if not self._calls.patience:
            return NO
        base, later = self._calls.base, self._later
        if later is None or later.place != base + at:
            later = self._later = _Later(base + at, base + end, fence)
        most = end + min(SECTION_LENGTH, self._calls.limits.block_size)
        last = later.reach - base
        for found in self._tags.later.finditer(text, last, min(most, len(text))):
            last = found.end()
            if later.fence:
                if (found["fence"] or "").startswith(later.fence):
                    later.fence = ""
            elif found["fence"]:
                continue
            elif not found["end"]:
                later.depth += 1
            elif later.depth:
                later.depth -= 1
            else:
                if not fence:
                    self._settled = base + found.start()
                return True
        if self._calls.final or len(text) >= most:
            self._calls.patience -= 1
            return NO
        later.reach = base + max(last, len(text) - OPENER_LENGTH)
        return MORE


class Brackets:
    """Looks for the ends of regions in brackets. Lines that end none are not looked at again, for any `[`."""

    _fence: FenceReader
    _reached = -1
    """The place up to which that has read."""
    _seen = 0
    """Lines before this place end no region."""
    _dead = 0
    """No region that starts before this place has an end."""

    def are_fenced(self, text: str, base: int, prose: Shown) -> bool:
        """Whether the line that begins after `text` is in a fence. The text is at `base` in the stream, and `prose` has
        read up to there."""
        if self._reached < base:
            self._fence = FenceReader()
            self._fence.marker, self._fence.line = prose.marker, prose.line
            self._reached = base
        for line in text[self._reached - base :].split("\n")[:-1]:
            self._fence.read(line)
            self._fence.end_line()
        self._reached = base + len(text)
        return self._fence.marker != ""

    def find_end(self, text: str, at: int, calls: CallStarts) -> int | Answer:
        """The place after the `]` of the region that the `[` at `at` begins; NO if there is none."""
        base, final = calls.base, calls.final
        line = max(at, self._seen - base)
        while base + at >= self._dead:
            found = _LINE_END.search(text, line)
            stop = found.start() if found else len(text)
            if found and found[0] == "\r" and found.end() == len(text) and not final:
                found = None  # half a line break, perhaps
            content = text[line:stop].rstrip(" \t")
            end = line + len(content)
            opener = calls.openers.opener.search(text, line, stop)
            if end - at > MAX_BRACKETS or not (found or final or opener):
                self._seen = base + line
                return NO if end - at > MAX_BRACKETS else MORE
            if opener or not content:
                self._dead = base + (opener.start() if opener else line)
            elif content[-1] == "]" and end - 1 > at:
                return end
            elif found:
                line = found.end()
            else:
                break
        return NO


def is_json_list(text: str) -> bool:
    """Return whether a text from `[` to `]` is a list in JSON, or the beginning of one."""
    scanner = JSONScanner(128)
    if scanner.scan(text, 0) < len(text) or scanner.error:
        return False
    try:
        json.loads(text + "".join(reversed(scanner.stack)), parse_int=str)
    except ValueError:
        return False
    return True


_LINE_END = re.compile(r"\r\n|\n|\r")
