"""Text outside calls: prose, and where a call or reasoning may begin (protocol, section 1)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from xmltools.dialects import Dialect
from xmltools.models.events import Event, Noticed, ReasoningDelta, Skipped, TextDelta
from xmltools.parser.call_start import CallStarts
from xmltools.parser.foreign import ForeignCalls
from xmltools.parser.held_calls import HeldCalls
from xmltools.parser.limits import Limits
from xmltools.parser.openers import Starts, forms_at, header_end
from xmltools.parser.reasoning import MAX_BRACKETS, Brackets, Reasoning, is_json_list
from xmltools.parser.shown import Shown
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_LENGTH,
    OPENER_SPACE,
    SPACES,
    Answer,
    read_mark,
    read_opener,
    read_token,
    skip_space,
)

_RESULT = late_pattern(r"<(?P<end>/?)tool_(?:response|result)>|\nTool: [^\r\n]{1,256}\r?\nResult:")
"""The beginning or the end of the copy of a result."""
_RESULT_LENGTH: Final = 300
"""More characters than `_RESULT` matches."""


class Opening(NamedTuple):
    """Where a block opens: its place in the stream, the length of its opening tag, the name as it is spelled there,
    and its dialect."""

    start: int
    length: int
    word: str
    dialect: Dialect


class Outside:
    """Reads text outside blocks into `events`.

    `begin` says where the next text begins. `read` stops where a block begins, with the block's `opening`. After the
    block, `skip_block` is told where text goes on. Methods that read take a text and the place to begin in it. They
    return the place up to which they read, or -1 if the text does not decide.
    """

    _is_blank = True
    """Nothing but white space has come since the reply, a call or reasoning."""
    _is_hiding = False
    """The text that is held back is a call, unless what may hide it ends."""
    _is_answer = False
    """The text is for the user, so that calls in it are only shown."""
    _next = (-1, "")
    """The next opener in the text that is being read, if that is known: its place and its word."""
    _tail = "\n"
    """The end of the text, if others are read: the copy of a result may begin there."""
    _is_copied = False
    """The text is in such a copy, where calls in other dialects do not count."""

    def __init__(
        self,
        starts: Starts,
        toolbox: Toolbox | None,
        limits: Limits,
        *,
        ends: tuple[str, ...],
        brackets: bool,
        code_fences: str,
    ) -> None:
        """`limits.block_size` bounds the text that is held back, if it is less than the protocol allows. `ends`: the
        elements and delimiters that end the reasoning in which the reply begins, if it does."""
        self.opening: Opening | None = None
        self.is_after = False  # white space lays out: a call or reasoning has ended, and no text has come since
        self._region: Reasoning | None = None
        self._starts = starts
        self._edges = starts.edges  # what is no text where nothing comes before it
        self._prose = prose = Shown(starts.words, limits.block_size, starts.ends)
        self.calls = CallStarts(starts, toolbox, limits, prose, code_fences != "text")
        self.foreign = ForeignCalls(self.calls)
        self.brackets = Brackets() if brackets else None
        self.events: list[Event] = []
        self.held = HeldCalls(self.events, code_fences == "last")
        self.pieces: list[str] = []  # text that was not yet given to those that follow it
        if ends:
            self._region = Reasoning(self.calls, self.events, self.pieces, ends, 0, 0)
            self._region.may_repeat = True

    @property
    def in_reasoning(self) -> bool:
        """Whether a region of reasoning is open."""
        return self._region is not None

    @property
    def is_plain_prose(self) -> bool:
        """Whether a text without `openers.begins` is text, except for white space at its end where that may lay out."""
        return not (
            self._region
            or self.brackets
            or self.calls.is_first
            or self.is_after
            or self.calls.is_long
            or self.held.is_waiting
        )

    @property
    def openers_wait(self) -> bool:
        """Whether an opener that follows nothing but white space may wait for what confirms it."""
        return self._is_blank and self._starts.dialect.tool_name != "" and not self._prose.fence

    @property
    def is_fenced(self) -> bool:
        """Whether text that follows would be in a code fence."""
        return self._prose.fence != ""

    def begin(self, base: int) -> None:
        """Another text is going to be read, whose first character is at `base` in the stream."""
        self.calls.base = base
        self._next = -1, ""
        self._is_hiding = False

    def end(self, text: str, at: int) -> None:
        """The text was read up to `at`; the rest comes again, before the next one."""
        if self._region:
            self._region.emit(text, at, at)

    def read(self, text: str, at: int) -> int:
        """Read on, at least up to the next event, or to an opening."""
        if self.held.is_shown:
            self.gather(is_all=False)
            self._region = self.held.show() or self._region
        region = self._region
        if region is None:
            return self._read_prose(text, at)
        place = region.read(text, at)
        if region.is_over:
            self._region = None
            self._prose.skip(is_thought=True)
            self._go_on(self.calls.base + place)
            self.held.region = region if region.is_unclosed else None
            self.is_after &= not region.is_unclosed
        return place

    def cut_off(self, rest: str, end: int) -> None:
        """The reply ends at `end`, perhaps inside of reasoning. `rest`, the last text before it, was not read."""
        if self._region:
            self._region.cover(rest, end)

    def skip_block(self, place: int) -> None:
        """After a block, text goes on at this place in the stream."""
        if not self._starts.dialect.has_line:
            self._end_first()
        self._is_copied = False
        self._tail = "\n"
        self._prose.skip()
        self._go_on(place)

    def _go_on(self, place: int) -> None:
        """Text goes on at this place in the stream."""
        self.foreign.at = place
        self.is_after = self._starts.dialect.layout
        self._is_blank = True
        self._is_answer = False
        self._edges = self._starts.dialect.frame[:1]
        self.calls.is_long = False

    def take_space(self, text: str, at: int, end: int) -> None:
        """White space between two blocks is text, unless it lays them out."""
        if self.is_after:
            self._skip_layout(text, at, end)
        else:
            self.emit_text(text, at, end)
            self.gather()

    def gather(self, *, is_all: bool = True, is_last: bool = False) -> None:
        """Hand the pieces to those that follow the text. `is_all`: nothing that has begun in them goes on. `is_last`:
        nothing follows them."""
        if not self.pieces:
            return
        if self._region:
            self._region.gather()
            return
        text = "".join(self.pieces)
        self.pieces.clear()
        self._is_blank &= not text.strip(SPACES)
        taken = self.foreign.take(text, is_all=is_all, is_last=is_last)
        if taken < len(text):
            self.pieces.append(text[taken:])
        if self._starts.others:  # is the place after this text in the copy of a result?
            tail, start = self._tail + text[:taken], 0
            for found in _RESULT.finditer(tail):
                self._is_copied = not found["end"]
                start = found.end()
            self._tail = tail[max(start, len(tail) - _RESULT_LENGTH) :]
        self._tell_notices()

    def end_text(self, end: int = -1, *, is_thought: bool = False) -> None:
        """A block or, if `is_thought`, a region begins, or the reply ends at this place in the stream."""
        self.foreign.stop()
        self._tell_notices()
        self._region = self.held.end(end) or self._region
        if is_thought and self.held.is_doubtful:  # a value of a call has no reasoning after it
            self.held.release()

    def _tell_notices(self) -> None:
        if notices := self.foreign.notices:
            if not self.held.is_doubtful:
                self._region = self.held.show()  # it had none
            self.events += map(Noticed, notices)
            notices.clear()

    def decides_nothing(self, held: str, chunk: str) -> bool:
        """Is it clear that `chunk` neither ends nor breaks the opening tag, or the region in brackets, that `held`
        may be?"""
        size = len(held) + len(chunk)
        if self.brackets and held[0] == "[":
            return size < MAX_BRACKETS and not _LINE_OR_MARKUP.search(chunk)
        if self._is_hiding:
            return size < self._prose.due and not _MAY_END_HIDING.search(chunk)
        return size < OPENER_LENGTH and ">" not in held and "<" not in chunk and ">" not in chunk

    def emit_text(self, text: str, at: int, end: int) -> int:
        """The characters from `at` to `end` are text."""
        if end > at:
            piece = text[at:end]
            if self.held.is_thought and piece.strip(SPACES):
                self.held.is_shown = True
                return at
            if self.calls.is_first and piece.strip(SPACES):
                self._end_first()
            self.is_after = False
            self.pieces.append(piece)
            self.held.add(TextDelta.make(piece, self.calls.base + at), piece)
        return end

    def _end_first(self) -> None:
        """An opener that counts only where the reply begins counts no more."""
        self.calls.openers = self._starts.later
        self._next = -1, ""

    # -- prose -----------------------------------------------------------------------------------------------------

    def _read_prose(self, text: str, at: int) -> int:
        """Text up to the next opener, or to the beginning of one at the end of the text; or that opener. White space
        next to calls and reasoning may lay them out."""
        calls = self.calls
        if calls.base + at == 0:  # the prompt may have begun the header with which the reply begins
            headed = self._end_of_token(text, at, "")
            if headed is MORE:
                return -1
            if headed:
                self._skip(text, at, headed)
                return headed
        if self._next[0] < at:  # it is searched for once: brackets may stop the reading before it often
            self._next = calls.openers.find(text, at)
        place, word = self._next
        if self.brackets and (bracket := self._find_bracket(text, at, place)) >= 0:
            return self._read_brackets(text, at) if bracket == at else self.emit_text(text, at, bracket)
        end = calls.end_of_text(text, at, place)
        if self.is_after and place > at:
            start = min(skip_space(text, at), place)
            if start > at:  # it may show that calls before it do not count, so what follows is another matter
                self._skip_layout(text, at, start)
                return start
        if end > at:
            return self.emit_text(text, at, end)
        if not word or (not calls.final and calls.openers.cuts.find(text, place, place + 1) >= 0):
            return -1
        return self._read_opener(text, place, at, word)

    def _skip_layout(self, text: str, at: int, end: int) -> None:
        """White space after a call or a region lays it out: it is not text, but its lines are lines."""
        self._skip(text, at, end)
        self._prose.take(text[at:end])

    def _skip(self, text: str, start: int, end: int) -> None:
        """The characters from `start` to `end` in `text` are not text."""
        if end > start:
            base = self.calls.base
            self.held.add(Skipped((base + start, base + end)), text[start:end])
            self.foreign.at = base + end

    def _read_opener(self, text: str, at: int, lead: int, word: str) -> int:
        """An opener, or a token that ends the turn, at `at`, after white space from `lead` on that lays it out."""
        prose, calls, starts = self._prose, self.calls, self._starts
        if word in "[{" and not calls.is_first and not (named := calls.begins_later(text, at, word)):
            if named is MORE:
                return -1
            return self.emit_text(text, lead, at + 1)
        self.gather()
        if lead < at:
            prose.take_early(text[lead:at])
        prose.settle()
        token = self._end_of_token(text, at, word)
        if token is MORE:
            return -1
        if token:
            end = int(token)
            if prose.may_hide and not prose.is_closing:  # it is only shown
                return self.emit_text(text, lead, end)
            self._is_answer = word in starts.dialect.answers
            self.foreign.stop()
            self._tell_notices()
            self._skip(text, lead, end)
            prose.early = 0
            self.is_after = starts.dialect.layout
            return end
        if prose.is_escaped or prose.quoted or (word[0] == "`" and prose.ends_with_backticks):
            return self.emit_text(text, lead, at + 1)
        if word in starts.strays:
            return self._read_stray(text, at, lead, word)
        is_call = bool(forms_at(starts.calls, word) or forms_at(starts.others, word))
        if is_call and self._is_answer:  # it is only shown
            return self.emit_text(text, lead, at + 1)
        calls.counts_others = starts.others != {} and not (self._is_copied or self.foreign.is_open)
        start = calls.find(text, at, word) if is_call else self._find_region(text, at, word)
        hidden: int | Answer = NO
        if start:
            hidden = prose.hides(text, at, final=calls.final, is_block=is_call, measure=calls.measure)
        if start is MORE or hidden is MORE:
            self._is_hiding = is_call and start is not MORE
            return -1
        if not start or hidden:
            if word in starts.calls and not (hidden or prose.fence or starts.dialect.arguments):
                self.held.doubts = starts.calls[word][0].inner_ends
            after = hidden or at + 1
            if is_call and not hidden and word not in starts.calls and word[-1] == ">":
                # The two tags with which a call of another dialect may begin are one mention.
                end = skip_space(text, at + len(word))
                if end - at < OPENER_SPACE:
                    if end == len(text) and not calls.final:
                        return -1
                    if text.startswith("<", end):
                        after = end + 1
            return self.emit_text(text, lead, after)
        if isinstance(start, int):
            return self._open_region(text, at, lead, word, start)
        self.end_text()
        dialect, end = start
        is_quoted = "```" in word and dialect.name != starts.dialect.name  # a fence may show how that one is written
        self.held.hold(calls.base + lead, prose, is_quoted or (dialect.is_bare and not calls.is_first))
        self._skip(text, lead, at)
        self.opening = Opening(calls.base + at, max(end - at, 0), word, dialect)
        return at

    def _end_of_token(self, text: str, at: int, word: str) -> int | Answer:
        """The place after a token that ends a turn, or a header, at `at`. What a header ends with may begin a call."""
        starts, after = self._starts, at + len(word)
        for end in (end for start, end in starts.dialect.headers if start == word):
            found = read_token(header_end(end), text, after)
            if found is MORE and not self.calls.final:
                return MORE
            if found and (word or self.calls.toolbox is None or found["word"] in self.calls.toolbox.names):
                return found.end("word" if end in starts.calls else 0)
        return after if word in starts.dialect.turn_ends else NO

    def _read_stray(self, text: str, at: int, lead: int, word: str) -> int:
        """A token without a call at `at`, or what frames the reply if nothing comes before it, or after it."""
        dialect = self._starts.dialect
        end = at + len(word)
        is_first = self._is_blank and not self.held.is_waiting
        is_stray = word in dialect.strays or (is_first and word in self._edges)
        if word in dialect.frame[1:]:  # it frames the reply if nothing but calls comes after it
            marks = *dialect.turn_ends, *(form.opener for form in dialect.forms)
            token = read_mark(text, skip_space(text, end), marks)
            if token is MORE and not self.calls.final:
                return -1
            is_stray = token is not NO
        if is_stray and not (lead < at or self._prose.may_hide or self._prose.fence or self.foreign.has_begun):
            self._skip(text, at, end)
            self.is_after = self._is_blank and dialect.layout
            self._is_blank &= word in dialect.strays  # what frames a reply does so once
            return end
        return self.emit_text(text, lead, max(at, lead + 1))

    # -- reasoning -------------------------------------------------------------------------------------------------

    def _find_region(self, text: str, at: int, word: str) -> int | Answer:
        """The place after the tag, or delimiter, that begins reasoning at `at`. That of another dialect does so where a
        model thinks, not where text mentions it."""
        if self.held.is_thought or (not self._is_blank and word.lower() in self._starts.other_thoughts):
            return NO
        if word in self._starts.thoughts:
            return at + len(word)
        return read_opener(text, at, word)

    def _open_region(self, text: str, at: int, lead: int, word: str, end: int) -> int:
        """Reasoning begins with the tag from `at` to `end`. In a fence it is text, as all else is up to its end tag."""
        if self._prose.fence:
            self.emit_text(text, lead, end)
            self.gather()
            self._prose.quote(word)
            return end
        self.end_text(is_thought=True)
        self._skip(text, lead, at)
        calls = self.calls
        calls.is_long = False
        names = self._starts.thoughts.get(word) or (word.lower() if word.isascii() else word,)
        self._region = Reasoning(calls, self.events, self.pieces, names, calls.base + at, calls.base + end)
        return end

    def _find_bracket(self, text: str, at: int, end: int) -> int:
        """The first `[` at the start of a line before `end`, or -1."""
        prose = self._prose
        is_first = self.pieces[-1][-1] == "\n" if self.pieces else not (prose.line or prose.follows)
        return at if is_first and text.startswith("[", at, end) else text.find("\n[", at, end) + 1 or -1

    def _read_brackets(self, text: str, at: int) -> int:
        """At a `[` that starts a line: a region up to the first line that ends with `]`, or text. In a fence, and where
        it is the list that was asked for and no thought, it is text."""
        calls, end = self.calls, at + 1
        brackets = self.brackets
        if brackets and not brackets.are_fenced("".join(self.pieces), self.foreign.at, self._prose):
            found = brackets.find_end(text, at, calls)
            if found is MORE:
                return -1
            if found and not is_json_list(text[at:found]):
                self.gather()
                self.end_text(is_thought=True)
                span = calls.base + at, calls.base + found
                self.events.append(ReasoningDelta(text[end : found - 1], span))
                self.foreign.at = span[1] - 1
                self.pieces.append("]")
                return found
            end = found or end
        return self.emit_text(text, at, end)


_LINE_OR_MARKUP = re.compile(r"[\r\n<]")
_MAY_END_HIDING = re.compile(r"[>`~\r\n]")
"""With these end comments, sections, inline code and fences, and the calls in them."""
