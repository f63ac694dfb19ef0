"""Text that only shows a call: inline code, comments, CDATA sections, fences and backslashes outside blocks (protocol,
1.3, 1.4 and 1.7; `DIALECTS.md`, 1.3).

`Shown` follows the text piece by piece. Where something may open, `hides` says whether that is in inline code, a
comment or a section. Each of these counts only if it ends, so the answer may need text that has not come yet; but
each has a greatest length, and no text is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from xmltools.parser.fences import CLOSING, FenceReader
from xmltools.syntax.markup import MORE, NO, SPACES, Answer

SPAN_LENGTH: Final = 1_024
"""Characters that inline code may have, with its backticks."""
SECTION_LENGTH: Final = 10_000
"""Characters that a comment or a CDATA section may have outside blocks."""
PATIENCE: Final = 100
"""Comments and sections with an opener but no end that are waited for, and blocks in them. The time for more would not
be linear."""

Measure = Callable[[str, int, int], int | Answer]
"""Given a text, the place of an opener, and where to stop: the end of the block, NO if none opens there, or MORE."""

# Kinds of tokens. That of a comment is between the two.
_CODE: Final = 0
_CDATA: Final = 2
_END: Final = 2
"""The kind of an end is that of its opener and this."""
# A look at the next character first makes both thrice as fast.
_NEXT = r"(?=[`<\-\]])(?:"
_TOKENS = r"(`+)|(<!--)|(<!\[[Cc][Dd][Aa][Tt][Aa]\[)|(-->)|(\]\]>))"
_TOKEN = re.compile(_NEXT + _TOKENS)
_PART = r"(?:`+|<(?:!(?:-|\[(?:[Cc](?:[Dd](?:[Aa](?:[Tt](?:[Aa])?)?)?)?)?)?)?|-(?<!<!-)(?<!<!--)-?|\]\]?)\Z|"
_TOKEN_OR_PART = re.compile(_NEXT + _PART + _TOKENS)
"""A part, which the end of the text cuts off, is in no group."""
_PIECE: Final = 4_096
_CLOSING_LENGTH: Final = 300
_END_LENGTH: Final = 300
"""Characters of an end tag that may be cut off: of the name, and of 8 spaces."""


class Shown(FenceReader):
    """Follows text outside blocks, or that of a reasoning region. `blocks` are the names of elements that are calls,
    and `ends` what ends calls; nothing that is waited for is longer than `most`. Without `sections` comments and CDATA
    are text like any other."""

    early = 0
    """Characters that were taken before they are known to be text."""
    is_escaped = False
    """An odd number of backslashes comes before the next character."""
    due = 0
    """So many characters after the place that `hides` was asked about decide."""
    _at = 0
    """Characters read, except for those that are carried."""
    _carry = ""
    """The end of the text that was read: a part of a token, perhaps."""
    _stray_end = -1
    """The place after a `]]>` that ended nothing: a section is split there, and none begins."""
    _fence_start = 0
    quoted: re.Pattern[str] | None = None
    """After a reasoning tag in a fence: what ends it."""
    _quote_tail = ""
    _measures = PATIENCE
    _scanned = 0
    """The open comment or section does not end before this place, which was not read yet."""

    def __init__(
        self, blocks: tuple[str, ...], most: int, ends: tuple[str, ...] = (), *, sections: bool = True
    ) -> None:
        self._words = blocks, ends
        self._span_length = min(SPAN_LENGTH, most)
        self._section_length = min(SECTION_LENGTH, most)
        # Kind, place, length, and the length without an escaped backtick, of all that is undecided.
        self._tokens: list[tuple[int, int, int, int]] = []
        self._open: dict[int, tuple[int, str]] = {}  # by kind: where it begins, and the fence that it begins in
        self._patience = PATIENCE if sections else 0

    # -- reading ---------------------------------------------------------------------------------------------------

    def take_early(self, text: str) -> None:
        """Take white space that may be text, or lay out what follows it: its lines end in both cases. It may be given
        again, and if it is text, `take` is given it too."""
        early, self.early = self.early, 0
        if len(text) > early:
            self.take(text[early:])
        self.early = max(early, len(text))

    def take(self, text: str) -> None:
        """Take the next piece of text."""
        if self.early:
            early = min(self.early, len(text))
            self.early -= early
            text = text[early:]
        self._forget_old()
        first, line_end, rest = text.partition("\n")
        self._take_piece(first)
        if line_end:
            self._end_line()
        if rest:
            start = rest.rfind("\n") + 1
            self._take_lines(rest[:start])
            self._take_piece(rest[start:])

    def settle(self) -> None:
        """A `<` follows, or the end: no token goes on after the text that was read."""
        if self._carry:
            self._read_inline("")

    def skip(self, *, is_thought: bool = False) -> None:
        """A block or a region is here: of what is open before it, only a fence goes on."""
        self.settle()
        super().skip(is_thought=is_thought)
        self.early = 0
        self._tokens.clear()
        self._open.clear()
        self.is_escaped = False
        self._scanned = 0

    def quote(self, tag: str) -> None:
        """A reasoning tag in a fence was text: up to its end tag, or that of the fence, nothing opens."""
        self.quoted = re.compile(rf"</{re.escape(tag)}[ \t]{{0,8}}>", re.IGNORECASE)
        self._quote_tail = ""

    @property
    def may_hide(self) -> bool:
        """True if what follows may be shown only: after a backslash, or after something that is open. Whether that ever
        ends, nobody knows without what follows (`hides` can)."""
        if self.is_escaped or self._tokens or self.quoted:
            return True
        return self._patience > 0 and any(self._at - at <= self._section_length for at, _ in self._open.values())

    @property
    def is_right_after_backticks(self) -> bool:
        """True if what `hides` found is inline code whose backticks are right before the place."""
        return bool(self._tokens) and self._tokens[0][1] + self._tokens[0][2] == self._at

    @property
    def ends_with_backticks(self) -> bool:
        """True if backticks that may begin inline code are right before the next character."""
        return bool(self._tokens) and self._tokens[-1][:2] == (_CODE, self._at - self._tokens[-1][2])

    def _forget_old(self) -> None:
        """What has begun too long ago has no end."""
        if self._open:
            self._keep_open(range(self._at - self._section_length, self._at))

    def _keep_open(self, places: range) -> None:
        """Of what is open, only what has begun there goes on."""
        self._open = {kind: begun for kind, begun in self._open.items() if begun[0] in places}

    def _take_lines(self, text: str) -> None:
        """Whole lines. Nearly all of them have nothing that matters after them."""
        if not self._may_matter(text):
            self._at += len(text)
            return
        for line in text.split("\n")[:-1]:
            if self._may_matter(line):
                self._take_piece(line)
                self._end_line()
                self._forget_old()
            else:
                self._at += len(line) + 1

    def _may_matter(self, lines: str) -> bool:
        """Is there a fence line or a section in these lines, or does one go on in them?"""
        return "```" in lines or "~~~" in lines or "<!" in lines or bool(self._open or self.quoted)

    def _take_piece(self, piece: str) -> None:
        """A piece of one line."""
        if not piece:
            return
        self.read(piece)
        if self.quoted:
            tail = self._quote_tail + piece
            self._quote_tail = tail[-_END_LENGTH:]
            if self.quoted.search(tail):
                self.quoted = None
        # A `]]>`, or what may become one, matters to a section right after it.
        has_words = piece[-1] in "<]" or "`" in piece or "<!" in piece or "]]>" in piece
        if has_words or self._carry or self._tokens or self._open:
            for at in range(0, len(piece), _PIECE):  # so that there are never many tokens at once
                self._read_inline(piece[at : at + _PIECE])
        else:
            self._pass(piece)

    def _read_inline(self, piece: str) -> None:
        """A piece of a line that may have tokens, or a part of one at its end; without one, that part is whole."""
        text = self._carry + piece
        self._carry = ""
        for found in (_TOKEN_OR_PART if piece else _TOKEN).finditer(text):
            place, end = found.span()
            if found.lastindex is None:
                self._carry = text[place:]
                text = text[:place]
                break
            kind = found.lastindex - 1
            ticks = end - place - (kind == _CODE and self._is_escaped_at(text, place))
            self._tokens.append((kind, self._at + place, end - place, ticks))
        self._pass(text)
        self._resolve()
        more = len(self._carry) - SPAN_LENGTH - 1
        if more > 0:  # no inline code has so many backticks
            self._at += more
            self._carry = self._carry[more:]

    def _pass(self, text: str) -> None:
        self._at += len(text)
        if text:
            self.is_escaped = self._is_escaped_at(text, len(text))

    def _is_escaped_at(self, text: str, at: int) -> bool:
        """Return whether an odd number of backslashes comes before a place in the text that is being read."""
        slashes = at - len(text[:at].rstrip("\\"))
        return (slashes + (self.is_escaped and slashes == at)) % 2 == 1

    def _end_line(self) -> None:
        self.settle()
        before = self.marker
        if self.end_line():
            self._tokens.clear()
            self.quoted = None
            if before:  # it has closed; what began in it ends with it
                self._keep_open(range(self._fence_start))
            else:
                self._fence_start = self._at
        if self._tokens:
            self._resolve(line_over=True)
        self.line = ""  # what has ended in the line before is not in this one
        self._at += 1
        self.is_escaped = False
        self._quote_tail = ""

    def _resolve(self, *, line_over: bool = False) -> None:
        """Decide what the tokens are, from left to right, up to the first one that needs more text."""
        tokens = self._tokens
        last = {token[0]: number for number, token in enumerate(tokens)}
        at = 0
        while at < len(tokens):
            if any(last.get(kind + _END, -1) >= at for kind in self._open):
                at = self._close_section(at)
                continue
            kind, place, length, ticks = tokens[at]
            if kind == _CODE:
                closer = self._find_closer(at, ticks)
                if closer < 0 and not line_over and self._at < place + self._span_length:
                    break
                at = max(closer, at)
            elif kind == _CDATA + _END:
                self._stray_end = place + length
            elif kind <= _CDATA and self._patience and (kind != _CDATA or place != self._stray_end):
                self._open[kind] = place, self.marker
            at += 1
        del tokens[:at]

    def _close_section(self, at: int) -> int:
        """Close what the first fitting token from number `at` on closes; returns the number after it. An end that
        comes too late closes nothing, but it shows that there was nothing to be closed."""
        for number in range(at, len(self._tokens)):
            kind, place, length, _ = self._tokens[number]
            begun = self._open.pop(kind - _END, None)
            if begun is None:
                continue
            start, marker = begun
            if place + length - start > self._section_length:
                break
            self._keep_open(range(start))
            self.marker = marker
            self.line = "x"
            return number + 1
        return at

    def _find_closer(self, at: int, ticks: int) -> int:
        """The number of the token that ends the inline code which token `at` may begin, or -1."""
        last = self._tokens[at][1] + self._span_length
        for number in range(at + 1, len(self._tokens)):
            kind, place, length, _ = self._tokens[number]
            if place + length > last:
                break
            if kind == _CODE and length == ticks:
                return number
        return -1

    # -- looking ahead ---------------------------------------------------------------------------------------------

    def hides(
        self, text: str, at: int, *, final: bool, is_block: bool = False, measure: Measure | None = None
    ) -> int | Answer:
        """The place after the inline code, comment or section that hides what may open at `at`, right after all that
        was read. MORE if the text does not say yet (`final`: no more will come), NO if nothing hides it. Where there
        are sections, `measure` finds the ends of blocks."""
        while self._tokens or self._open:
            # What began first is asked first.
            kind = min(self._open, key=self._open.__getitem__, default=_CODE)
            if kind == _CODE or (self._tokens and self._tokens[0][1] < self._open[kind][0]):
                end = self._end_of_code(text, at, final, is_block)
                if end is not NO:
                    return end
                del self._tokens[0]
                self._resolve()
            else:
                end = self._end_of_section(kind, text, at, final, measure)
                if end is not NO:
                    return end
                del self._open[kind]
                self._scanned = 0
                self._patience -= 1
                if not self._patience:
                    self._open.clear()
        return NO

    def _end_of_code(self, text: str, at: int, final: bool, is_block: bool) -> int | Answer:
        if self.is_marker:
            return NO
        _, start, _, ticks = self._tokens[0]
        self.due = start + self._span_length - self._at
        most = at + self.due
        line_end = text.find("\n", at, most + 1)
        is_all = final or len(text) > most
        closing = re.compile(rf"(?<!`)`{{{ticks}}}(?<=`)(?!`)")  # of no backticks, none
        found = closing.search(text, at, line_end if line_end >= 0 else most + 1)
        if found and found.end() <= most:
            return MORE if found.end() == len(text) and not is_all else found.end()
        if line_end < 0 and not final and len(text) < most:
            return MORE
        if is_block and self.is_right_after_backticks:
            for wrapped in _patterns(*self._words)[0].finditer(text, at, most + 1):
                if len(wrapped[1]) == ticks and wrapped.end() <= most:
                    return MORE if wrapped.end() == len(text) and not final else wrapped.end()
            if not is_all:
                return MORE
        return NO

    def _end_of_section(self, kind: int, text: str, at: int, final: bool, measure: Measure | None) -> int | Answer:
        """Where a comment or section ends. A whole block contains no end of what began before it."""
        start = self._open[kind][0]
        most = at + start + self._section_length - self._at
        in_fence = self.marker != "" and start >= self._fence_start
        self.due = most - at
        stop = min(len(text), most)
        is_all = final or len(text) >= most
        last = max(at, at + self._scanned - self._at)
        while found := _patterns(*self._words)[kind].search(text, last, stop):
            last = found.end()
            if found["close"]:
                return last
            if found["fence"]:
                if in_fence and found["fence"].startswith(self.marker):
                    return NO
                continue
            end = measure(text, found.start(), stop) if measure and self._measures else NO
            if end is MORE and not is_all:
                self._scanned = self._at + found.start() - at
                return MORE
            self._measures -= end is MORE
            last = end or last
        if is_all:
            return NO
        self._scanned = self._at + max(last, stop - _CLOSING_LENGTH) - at
        return MORE


@lru_cache(maxsize=32)
def _patterns(blocks: tuple[str, ...], ends: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """What ends a call before backticks, and what matters after an open comment, and after a section."""
    tag, end = ("|".join(map(re.escape, words)) for words in (blocks, ends))
    others = f"<(?i:{tag})(?=[>=/{SPACES}])|{CLOSING}"
    return (
        re.compile(f"(?i:{end})(`+)".replace(">", f"[{SPACES}]*>")),
        re.compile(f"(?P<close>-->)|{others}"),
        re.compile(rf"(?P<close>\]\]>)|{others}"),
    )
