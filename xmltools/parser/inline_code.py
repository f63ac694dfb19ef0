"""What is only shown: inline code, comments, CDATA sections, fences and backslashes in text outside blocks (protocol,
1.3, 1.4 and 1.7).

`Shown` follows the text piece by piece. Where something may open, `hides` says whether that stands in inline code, a
comment or a section. Each of these counts only if it ends, so the answer may need text that has not come yet; but
each has a greatest length, and what was looked at is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from xmltools.parser.fences import FenceReader
from xmltools.syntax.markup import MORE, NO, Answer
from xmltools.syntax.searches import find_rare

SPAN_LENGTH: Final = 1_024
"""Characters that inline code may have, with its backticks."""
SECTION_LENGTH: Final = 10_000
"""Characters that a comment or a CDATA section may have outside blocks."""
PATIENCE: Final = 100
"""Comments and sections with an opener but no end that are waited for, and blocks in them. The time for more would not
be linear."""

Measure = Callable[[str, int, int], int | Answer]
"""Given a text, the place of an opener, and where to stop: the end of the block, NO if none opens there, or MORE."""

_CODE: Final = 0
_COMMENT: Final = 1
_CDATA: Final = 2
_COMMENT_END: Final = 3
_CDATA_END: Final = 4
_KINDS: Final = {"<!--": _COMMENT, "-->": _COMMENT_END, "]]>": _CDATA_END}

_OPEN_CDATA = r"<!\[[Cc][Dd][Aa][Tt][Aa]\["
_TOKEN = re.compile(rf"`+|<!--|-->|\]\]>|{_OPEN_CDATA}")
_TOKEN_PART = re.compile(
    r"(?:<(?:!(?:-|\[(?:[Cc](?:[Dd](?:[Aa](?:[Tt](?:[Aa])?)?)?)?)?)?)?|(?<!<!)(?<!<!-)--?|\]\]?)\Z"
)
_PART_LENGTH: Final = 8
_PIECE: Final = 4_096
_FENCES: Final = ("```", "~~~")
_MARKS: Final = (*_FENCES, "<!")
"""What matters to lines after its own; and, where a comment or a section is open, their ends."""
_MOST_INDENT: Final = 3
_MARKS_OPEN: Final = (*_MARKS, "-->", "]]>")
_RUN = re.compile("`+")
_PLAIN = re.compile(r"(?:[^`<\\]++|<(?!!)|`[^`]{1,1000}+`(?!`))*+")
"""Text without anything that stays open: a short way past most inline code."""
_CLOSING = r"\n {0,3}(?P<fence>`{3,60}|~{3,60})[ \t\r]{0,200}(?=\n)"
_CLOSING_LENGTH: Final = 300
_END_LENGTH: Final = 300
"""Characters of an end tag that may be cut off: of the name, and of 8 spaces."""


class Shown(FenceReader):
    """Follows text outside blocks, or that of a reasoning region. `blocks` are the names of elements that are calls;
    nothing that is waited for is longer than `most`. Without `sections` comments and CDATA are text like any other."""

    def __init__(self, blocks: tuple[str, ...], most: int, *, sections: bool = True) -> None:
        super().__init__()
        self._span_length = min(SPAN_LENGTH, most)
        self._section_length = min(SECTION_LENGTH, most)
        self._wrapped, comment, section = _patterns(blocks)
        self._patterns = (comment, section)
        self._at = 0  # characters read, but for those that are carried
        self._is_new_line = True
        self._rest = ""  # of a line of which nothing was looked at
        self._early = 0  # characters that were taken before they are known to be text
        self._carry = ""  # the end of what was read: part of a token, perhaps
        self._is_odd = False  # an odd number of backslashes stands before the next character
        self._is_long_run = False  # in more backticks than any inline code has
        self._tokens: list[tuple[int, int, int, bool]] = []  # kind, place, length and "escaped" of what is undecided
        self._starts = [-1, -1, -1]  # of the open comment and the open section, by kind
        self._saved = ["", "", ""]  # the fences that they started in
        self._stray_end = -1  # the place after a `]]>` that ended nothing: a section is split there, and none begins
        self._fence_start = 0
        self._quote: re.Pattern[str] | None = None
        self._quote_tail = ""
        self._patience = PATIENCE if sections else 0
        # What is known of the text after the place that is asked about:
        self._looked_at = -1
        self._ahead: dict[int, int] = {}  # the first run of backticks of each length
        self._ahead_to = 0
        self._ahead_all = False  # the rest of the line was looked at
        self._scan_to = 0
        self._measures = PATIENCE
        self.due = 0  # characters after the place that is asked about, with which the answer is no longer MORE

    # -- reading ---------------------------------------------------------------------------------------------------

    def take_early(self, text: str) -> None:
        """Take white space that may be text, or lay out what follows it: its lines end in both cases. It may be given
        again, and if it is text, `take` is given it too."""
        early, self._early = self._early, 0
        if len(text) > early:
            self.take(text[early:])
        self._early = max(early, len(text))

    def drop_early(self) -> None:
        """The white space that was taken early is no text."""
        self._early = 0

    def take(self, text: str) -> None:
        """Take the next piece of text."""
        if self._early:
            early = min(self._early, len(text))
            self._early -= early
            text = text[early:]
            if not text:
                return
        waits = self._rest or self._tokens or self._carry or self._quote or self._is_open
        if text == "\n" and self.follows and self.line in ("", "x") and not waits:
            # What follows nearly every call.
            self.line = self._quote_tail = ""
            self.follows = False
            self._is_odd = self._is_long_run = False
            self._is_new_line = True
            self._at += 1
            return
        self._forget_starts()
        if self._rest:
            text, self._rest = self._rest + text, ""
        start = text.rfind("\n") + 1
        if start:
            at = 0
            if not self._is_new_line:
                at = text.index("\n") + 1
                self._take_line(text[: at - 1])
                self._end_line()
            self._take_lines(text, at, start)
            self._is_new_line = True
            text = text[start:]
        if self._is_new_line and len(text) <= _PIECE and self._quote is None:
            self._rest = text  # most lines end before anybody asks what stands in them
        elif text:
            self._is_new_line = False
            self._take_line(text)

    def settle(self) -> None:
        """A `<` follows, or the end: no token goes on after what was read."""
        if self._rest:
            rest, self._rest = self._rest, ""
            self._is_new_line = False
            self._take_line(rest)
        if self._carry:
            carry, self._carry = self._carry, ""
            self._read_inline(carry)
        self._is_long_run = False

    def skip(self, *, is_thought: bool = False) -> None:
        """A block or a region is here: of what is open before it, only a fence goes on."""
        self.drop_early()
        self.settle()
        super().skip(is_thought=is_thought)
        self._is_new_line = False
        self._carry = ""
        self._tokens.clear()
        self._starts = [-1, -1, -1]
        self._is_odd = self._is_long_run = False
        self._looked_at = -1

    def skip_space(self, size: int) -> None:
        """So many characters of white space stand between two blocks."""
        self._at += size

    def quote(self, tag: str) -> None:
        """A reasoning tag in a fence was text: up to its end tag, or that of the fence, nothing opens."""
        self._quote = re.compile(rf"</{re.escape(tag)}[ \t]{{0,8}}>", re.IGNORECASE)
        self._quote_tail = ""

    @property
    def is_quoting(self) -> bool:
        """True after a reasoning tag in a fence."""
        return self._quote is not None

    @property
    def is_at_line_start(self) -> bool:
        """True if the line is empty so far."""
        return not (self.line or self._rest or self.follows)

    @property
    def begun(self) -> str:
        """The line so far, if that may be a fence line."""
        return self._rest or self.line

    @property
    def is_escaped(self) -> bool:
        """True after an odd number of backslashes."""
        return self._is_odd

    @property
    def may_hide(self) -> bool:
        """True if what follows may be shown only: after a backslash, or after something that is open. Whether that ever
        ends, nobody knows without what follows (`hides` can)."""
        if self._is_odd or self._tokens or self._quote is not None:
            return True
        if max(self._starts) < 0:
            return False
        open_ones = (start for start in self._starts if start >= 0)
        return self._patience > 0 and any(self._at - start <= self._section_length for start in open_ones)

    @property
    def may_open_fence(self) -> bool:
        """True if backticks or tildes that follow begin a fence line, outside a fence and all that may hide them."""
        line = self.begun
        return not self.marker and line in ("", " ", "  ", "   ") and not self.may_hide

    @property
    def is_right_after_backticks(self) -> bool:
        """True if what `hides` found is inline code whose backticks are right before the place."""
        return bool(self._tokens) and self._tokens[0][1] + self._tokens[0][2] == self._at

    def _forget_starts(self) -> None:
        """What has begun too long ago has no end."""
        if self._is_open:
            self._starts = [start if self._at - start <= self._section_length else -1 for start in self._starts]

    def _take_lines(self, text: str, at: int, end: int) -> None:
        """Whole lines. Nearly all of them have nothing that matters after them."""
        if "`" not in text and "~" not in text and "!" not in text and not self._is_open and self._quote is None:
            self._at += end - at
            return
        # Words are found by plain searches, each from where it was found last: a regular expression takes ten times as
        # long. A place is one before which there is no such word.
        places = dict.fromkeys(_MARKS, at - 1)
        while at < end:
            start = at
            if self._quote is None:
                self._forget_starts()
                found = end
                for mark in _MARKS_OPEN if self._is_open else _MARKS:
                    place = places.get(mark, at - 1)
                    if place < at:
                        stop = end if mark in _MARKS else min(end, at + SECTION_LENGTH)
                        find = _find_fence if mark in _FENCES else find_rare
                        place = find(text, mark, at, stop)
                        place = places[mark] = place if place >= 0 else stop
                    found = min(found, place)
                start = max(at, text.rfind("\n", at, found) + 1) if found < end else end
                self._at += start - at
                if start == end:
                    return
            stop = text.index("\n", start)
            self._take_line(text[start:stop])
            self._end_line()
            at = stop + 1

    @property
    def _is_open(self) -> bool:
        return self._starts[_COMMENT] >= 0 or self._starts[_CDATA] >= 0

    def _take_line(self, piece: str) -> None:
        """A piece of one line."""
        self.read(piece)
        if self._quote is not None:
            tail = self._quote_tail + piece
            self._quote_tail = tail[-_END_LENGTH:]
            if self._quote.search(tail):
                self._quote = None
        is_special = self._tokens or self._carry or self._is_long_run or self._is_open
        # A `]]>`, or what may become one, matters to a section right after it. One character is found much faster than
        # several.
        has_words = ("<" in piece and "<!" in piece) or ("]" in piece and ("]]>" in piece or piece[-1] == "]"))
        if is_special or has_words or "`" in piece:
            for at in range(0, len(piece), _PIECE):  # so that there are never many tokens at once
                self._take_tokens(piece[at : at + _PIECE])
        elif piece:
            if piece[-1] == "<":
                self._carry = "<"
                piece = piece[:-1]
            self._pass(piece)

    def _pass(self, piece: str) -> None:
        self._at += len(piece)
        if piece:
            slashes = len(piece) - len(piece.rstrip("\\")) if piece[-1] == "\\" else 0
            self._is_odd = (slashes + (slashes == len(piece) and self._is_odd)) % 2 == 1

    def _take_tokens(self, piece: str) -> None:
        if self._is_long_run:
            rest = piece.lstrip("`")
            self._at += len(piece) - len(rest)
            if not rest:
                return
            piece, self._is_long_run = rest, False
        piece = self._carry + piece
        cut = len(piece.rstrip("`"))
        if cut == len(piece):
            part = _TOKEN_PART.search(piece, max(0, cut - _PART_LENGTH))
            cut = part.start() if part else cut
        self._carry = piece[cut:]
        if cut:
            self._read_inline(piece[:cut])
        if len(self._carry) > SPAN_LENGTH:
            self._at += len(self._carry)
            self._carry = ""
            self._is_odd = False
            self._is_long_run = True

    def _read_inline(self, text: str) -> None:
        is_new = not self._tokens and not self._is_open and not self._is_odd
        plain = _PLAIN.match(text) if is_new else None
        start = plain.end() if plain else 0
        if text.endswith("]]>", 0, start):
            start -= 3  # it may end nothing, which matters to what follows
        for found in _TOKEN.finditer(text, start):
            start = found.start()
            if text[start] != "`":
                kind = _KINDS.get(found[0], _CDATA)
                self._tokens.append((kind, self._at + start, found.end() - start, False))
                continue
            place = start
            while place and text[place - 1] == "\\":
                place -= 1
            slashes = start - place + (not place and self._is_odd)
            self._tokens.append((_CODE, self._at + start, found.end() - start, slashes % 2 == 1))
        self._pass(text)
        self._resolve()

    def _end_line(self) -> None:
        self.settle()
        before = self.marker
        if self.end_line():
            self._tokens.clear()
            self._quote = None
            if before:  # it has closed; what began in it ends with it
                for kind in (_COMMENT, _CDATA):
                    if self._starts[kind] >= self._fence_start:
                        self._starts[kind] = -1
            else:
                self._fence_start = self._at
        self._resolve(line_over=True)
        self.line = ""  # what has ended in the line before is not in this one
        self._at += 1
        self._is_odd = False
        self._quote_tail = ""

    def _resolve(self, *, line_over: bool = False) -> None:
        """Decide what the tokens are, from left to right, up to the first one that needs more text."""
        tokens = self._tokens
        if not tokens:
            return
        at = 0
        last_ends = [-1] * 5
        for number, token in enumerate(tokens):
            last_ends[token[0]] = number
        while at < len(tokens):
            if self._may_end(_COMMENT, at, last_ends) or self._may_end(_CDATA, at, last_ends):
                at = self._close_section(at)
                continue
            kind, place, length, escaped = tokens[at]
            if kind == _CODE:
                closer = self._find_closer(at, length - escaped)
                if closer < 0 and not line_over and self._at < place + self._span_length:
                    break
                at = max(closer, at) + 1
                continue
            if kind == _CDATA_END:
                self._stray_end = place + length
            if kind < _COMMENT_END and self._patience and (kind != _CDATA or place != self._stray_end):
                self._starts[kind] = place
                self._saved[kind] = self.marker
            at += 1
        del tokens[:at]

    def _may_end(self, kind: int, at: int, last_ends: list[int]) -> bool:
        return self._starts[kind] >= 0 and last_ends[kind + _COMMENT_END - _COMMENT] >= at

    def _close_section(self, at: int) -> int:
        """Close what the first fitting token from number `at` on closes; returns the number after it. An end that
        comes too late closes nothing, but it shows that there was nothing to be closed."""
        starts = self._starts
        for number in range(at, len(self._tokens)):
            kind, place, length, _ = self._tokens[number]
            opened = kind - _COMMENT_END + _COMMENT
            if kind < _COMMENT_END or starts[opened] < 0:
                continue
            start = starts[opened]
            starts[opened] = -1
            if place + length - start > self._section_length:
                return at
            other = _COMMENT + _CDATA - opened
            starts[other] = -1 if starts[other] > start else starts[other]
            self.marker = self._saved[opened]
            self.line = "x"
            return number + 1
        return at

    def _find_closer(self, at: int, length: int) -> int:
        """The number of the token that ends the inline code which token `at` may begin, or -1."""
        place = self._tokens[at][1]
        for number in range(at + 1, len(self._tokens) if length else 0):
            kind, start, ticks, _ = self._tokens[number]
            if start + ticks - place > self._span_length:
                break
            if kind == _CODE and ticks == length:
                return number
        return -1

    # -- looking ahead ---------------------------------------------------------------------------------------------

    def hides(
        self, text: str, at: int, *, final: bool, is_block: bool = False, measure: Measure | None = None
    ) -> int | Answer:
        """The place after the inline code, comment or section that hides what may open at `at`, right after all that
        was read. MORE if the text does not say yet (`final`: no more will come), NO if nothing hides it. Where there
        are sections, `measure` finds the ends of blocks."""
        if not self._tokens and not self._is_open:
            return NO
        if self._looked_at != self._at:
            self._looked_at = self._at
            self._ahead.clear()
            self._ahead_to = 0
            self._ahead_all = False
            self._scan_to = 0
        while (kind := self._first_open()) >= 0:
            if kind == _CODE:
                if self.is_marker:
                    self._tokens.clear()
                    continue
                end = self._end_of_code(text, at, final, is_block)
            else:
                end = self._end_of_section(kind, text, at, final, measure)
            if end is MORE or end:
                return end
            if kind == _CODE:
                del self._tokens[0]
                self._resolve()
            else:
                self._starts[kind] = -1
                self._patience -= 1
                self._scan_to = 0
        return NO

    def _first_open(self) -> int:
        """The kind of what began first and may hide something, or -1."""
        if self._is_open and not self._patience:
            self._starts = [-1, -1, -1]
            self._resolve()
        places = [(place, kind) for kind, place in enumerate(self._starts) if place >= 0]
        if self._tokens:
            places.append((self._tokens[0][1], _CODE))
        return min(places)[1] if places else -1

    def _end_of_code(self, text: str, at: int, final: bool, is_block: bool) -> int | Answer:
        _, start, length, escaped = self._tokens[0]
        ticks = length - escaped
        if not self._ahead_all:
            self._look_ahead(text, at, final)
        most = start + self._span_length - self._at  # from `at` on
        found = self._ahead.get(ticks, -1)
        if found >= 0 and found + ticks <= most:
            return at + found + ticks
        self.due = most
        if not self._ahead_all and self._ahead_to < most:
            return MORE
        if is_block and self.is_right_after_backticks:
            for wrapped in self._wrapped.finditer(text, at, at + most + 1):
                if len(wrapped[1]) == ticks and wrapped.end() - at <= most:
                    return MORE if wrapped.end() == len(text) and not final else wrapped.end()
            if len(text) - at <= most and not final:
                return MORE
        return NO

    def _look_ahead(self, text: str, at: int, final: bool) -> None:
        """Find the backticks in the rest of the line, as far as they can matter."""
        most = at + self._span_length + 1
        begin = at + self._ahead_to
        line_end = text.find("\n", begin, most)
        stop = line_end if line_end >= 0 else min(len(text), most)
        self._ahead_all = line_end >= 0 or len(text) >= most or final
        for run in _RUN.finditer(text, begin, stop):
            if run.end() == len(text) and not self._ahead_all:
                stop = run.start()
                break
            self._ahead.setdefault(run.end() - run.start(), run.start() - at)
        self._ahead_to = stop - at

    def _end_of_section(self, kind: int, text: str, at: int, final: bool, measure: Measure | None) -> int | Answer:
        """Where a comment or section ends. A whole block contains no end of what began before it."""
        most = at + self._starts[kind] + self._section_length - self._at
        in_fence = self.marker != "" and self._starts[kind] >= self._fence_start
        self.due = most - at
        stop = min(len(text), most)
        is_all = final or len(text) >= most
        last = at + self._scan_to
        while found := self._patterns[kind - 1].search(text, last, stop):
            last = found.end()
            if found["close"]:
                return last
            if found["fence"]:
                if in_fence and self.closes(found["fence"]):
                    return NO
                continue
            end = measure(text, found.start(), stop) if measure is not None and self._measures else NO
            if end is MORE and not is_all:
                self._scan_to = found.start() - at
                return MORE
            self._measures -= end is MORE
            last = end or last
        if is_all:
            return NO
        self._scan_to = max(last, stop - _CLOSING_LENGTH) - at
        return MORE


def _find_fence(text: str, marker: str, at: int, end: int) -> int:
    """The first place of a marker in whole lines, from `at` to `end`, whose line may be a fence line; -1 if there is
    none."""
    while (place := find_rare(text, marker, at, end)) >= 0:
        start = max(at, text.rfind("\n", at, place) + 1)
        if (place - start <= _MOST_INDENT and text[start:place].isspace()) or place == start:
            break
        at = text.index("\n", place) + 1
    return place


@lru_cache(maxsize=32)
def _patterns(blocks: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What ends a block before backticks, and what matters after an open comment, and after a section."""
    tag = "|".join(map(re.escape, blocks))
    others = rf"<(?i:{tag})(?=[>=/ \t\r\n])|{_CLOSING}"
    return (
        re.compile(rf"</(?:{tag})[ \t\r\n]*>(`+)"),
        re.compile(f"(?P<close>-->)|{others}"),
        re.compile(rf"(?P<close>\]\]>)|{others}"),
    )
