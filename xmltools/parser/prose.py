"""What is outside blocks: prose, reasoning, regions in brackets, and where a block may open (protocol, section
1)."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from xmltools.dialects import Body, Dialect
from xmltools.models.events import Event, Noticed, ReasoningDelta, Skipped, TextDelta
from xmltools.parser.block import Block, knows_tool
from xmltools.parser.fences import FenceReader
from xmltools.parser.foreign_calls import ForeignCalls
from xmltools.parser.limits import Limits
from xmltools.parser.machine import run
from xmltools.parser.name_value_pairs import MAX_STRAY, begins_call, cut_start, read_start
from xmltools.parser.openers import ReasoningTags, find_cut, reasoning_tags, starts_of
from xmltools.parser.shown import SECTION_LENGTH, Shown
from xmltools.parser.tool_tags import read_tool_line, read_tool_start
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_LENGTH,
    OPENER_SPACE,
    SPACES,
    Answer,
    Tag,
    begins_with_field,
    read_bare_name,
    read_confirmation,
    read_opener,
    skip_space,
)

MAX_LAYOUT: Final = 1_024
"""Characters of white space that may lay out calls and reasoning; a longer run is text."""
MAX_BRACKETS: Final = 10_000
"""Characters that a region in brackets may have."""
_NAME_WITHIN: Final = 1_024
"""Characters in which a call in another dialect must name its tool."""
_RESULT = late_pattern(
    r"<(?P<end>/?)tool_(?:response|result)>|\nTool: [^\r\n]{1,256}\r?\nResult:",
)
"""What begins the copy of a result, or ends it."""
_RESULT_LENGTH: Final = 300
"""More characters than `_RESULT` matches."""
PATIENCE: Final = 100
"""End tags of reasoning that may wait in vain for another one. The time for more would not be linear."""
_NAME_KEY = late_pattern("([\"'])(?:tool_name|name|tool|function)\\1[ \\t\\r\\n]{0,20}:")
"""Keys that name the tool in a JSON body, also those that are not read as its name."""
_NAMED = late_pattern(
    r'\[?\s{0,20}\{\s{0,20}(?:"type"\s{0,5}:\s{0,5}"function"\s{0,5},\s{0,20})?"name"\s{0,5}:\s{0,5}"[^"\\]{1,256}"'
    r'\s{0,5},\s{0,20}"(?:parameters|arguments)"\s{0,5}:'
)
"""The beginning of a call in JSON that has no mark."""
_NO_ARGUMENTS: Final = ("type", "id")
"""Keys of a call in JSON that say nothing."""
_MOST_ENDS: Final = 1_000
_NO_FORMS: Final[list[Dialect]] = []
_KEY_LENGTH: Final = 40
"""The longest text that `_NAME_KEY` matches, in characters."""


class Opening(NamedTuple):
    """Where a block opens: its place in the stream, the length of its opening tag, the name as it is spelled there,
    whether it is in a code fence, how it is written, and whether it, or a call before it, has ended reasoning."""

    start: int
    length: int
    word: str
    is_fenced: bool
    dialect: Dialect
    is_unclosed: bool


class _Start(NamedTuple):
    """A call begins: its dialect, and the place after its start tag; -1 if it has none."""

    dialect: Dialect
    end: int


class Outside:
    """Reads text outside blocks into `events`.

    `read` stops where a block begins, with the block's `opening`. After the block, `skip_block` is told where text goes
    on. `closers` are the elements whose end tag ends the reasoning that is open; empty outside of reasoning.

    Methods that read take a text, where to begin in it, and the place of its first character in the stream. They return
    the place up to which they read, or -1 if what is there does not decide.
    """

    __slots__ = (
        "_bracket_dead",
        "_bracket_seen",
        "_calls",
        "_covered",
        "_dialect",
        "_echo",
        "_ends",
        "_fenced_calls",
        "_foreign",
        "_found",
        "_is_begun",
        "_is_blank",
        "_is_fresh",
        "_is_copied",
        "_is_hiding",
        "_key_search",
        "_later",
        "_later_depth",
        "_later_fence",
        "_later_from",
        "_later_openers",
        "_layout",
        "_limits",
        "_longest",
        "_may_repeat",
        "_measured",
        "_measured_to",
        "_nested",
        "_openers",
        "_origin",
        "_other_thoughts",
        "_others",
        "_patience",
        "_prose",
        "_searched",
        "_settled",
        "_tags",
        "_thoughts",
        "_thought",
        "_thought_start",
        "_toolbox",
        "_trial",
        "_trial_name",
        "_trial_to",
        "_words",
        "brackets",
        "closers",
        "events",
        "final",
        "is_after",
        "is_first",
        "is_long",
        "is_unclosed",
        "opening",
        "pieces",
    )

    def __init__(
        self,
        dialect: Dialect,
        tags: tuple[str, ...],
        toolbox: Toolbox | None,
        limits: Limits,
        *,
        in_reasoning: bool,
        brackets: bool,
        fenced_calls: bool,
        others: tuple[Dialect, ...] = (),
        knows_tags: bool = False,
    ) -> None:
        """`tags` are the names of reasoning elements; `limits.block_size` bounds what is held back, if it is less than
        the protocol allows. Calls of given tools in `others`, dialects, are read as well, and their reasoning, but for
        its elements if the caller `knows_tags`."""
        longest = limits.block_size
        self.brackets = brackets
        self.closers: tuple[str, ...] = ()
        if in_reasoning:
            self.closers = (*tags, *(end for _, end in dialect.thoughts))
        self.final = False  # no more text will come
        self.opening: Opening | None = None
        self.events: list[Event] = []
        self.pieces: list[str] = []  # text that was not yet given to those that follow it
        self._dialect = dialect
        self._toolbox = toolbox
        self._limits = limits
        self._fenced_calls = fenced_calls
        self._longest = longest
        names = toolbox.names if toolbox is not None else ()
        self._is_fresh = False  # a call has ended, outside of fences, and no text has followed that was looked at
        self._is_blank = True  # nothing but white space has come since the reply, a call or reasoning
        starts = starts_of(dialect, tags, names, others, knows_tags=knows_tags)
        self._calls = starts.calls
        self._others = starts.others
        self._thoughts = starts.thoughts
        # What begins reasoning in another dialect: it does so here where a model thinks, not where text mentions it.
        self._other_thoughts = starts.other_thoughts
        self._later_openers = starts.later
        self._openers = starts.openers
        self.is_first = starts.is_first  # only white space and reasoning was read, and that matters
        self._trial: Block | None = None  # reads what may be a call in another dialect, up to the name of its tool
        self._trial_to = 0
        self._trial_name = ""
        self._echo = "\n"  # the end of the text, if calls in other dialects are read: a result may begin there
        self._is_copied = False  # the text is in the copy of a result
        self._layout = dialect.layout
        self.is_unclosed = False  # a call has ended the last reasoning, and no end tag
        self.is_after = False  # a call or reasoning has ended, and no text has followed
        self._is_begun = False  # the reasoning has text
        self._is_hiding = False  # what is held back is a call, unless the end of what hides it is still to come
        self.is_long = False  # the run of white space that was read last is too long to be layout
        self._bracket_seen = 0  # lines before this place end no region in brackets
        self._bracket_dead = 0  # no region in brackets that starts before this place has an end
        self._searched = False  # in the text that is being read, for …
        self._found: re.Match[str] | None = None  # … the next opener
        self._words = starts.own_words
        self._prose = Shown(starts.words, longest)
        self._foreign = ForeignCalls(toolbox, dialect, starts.own_names, self._prose, limits)
        # Of the reasoning region; where there is none, nobody asks.
        self._thought = Shown(self._words, longest, sections=False) if in_reasoning else self._prose
        self._tags = self._tags_of(self.closers) if in_reasoning else reasoning_tags(())
        self._thought_start = 0  # where reasoning begins that has no event yet
        self._may_repeat = in_reasoning  # the reply began inside, and nothing but white space was read
        self._nested = 0  # openers in the reasoning that have not ended
        self._settled = 0  # end tags before this place are followed by others
        self._patience = PATIENCE
        self._origin = 0  # where the text begins that is being read
        # Of blocks in what may be a comment: their ends by the places of their openers, and one that is being measured.
        self._ends: dict[int, int] = {}
        self._measured: Block | None = None
        self._measured_to = 0
        self._key_search = (-1, 0)  # of the object after an opener in another case: its place, and how far it was read
        # The end tag that waits for another one: its place, how far that was looked for, and what is open there.
        self._later_from = -1
        self._later = 0
        self._later_depth = 0
        self._later_fence = ""
        self._covered = 0  # where reasoning begins that no event covers yet

    @property
    def has_other_marks(self) -> bool:
        """Whether something may open with another character than `<`."""
        return self._openers.has_others

    @property
    def begins(self) -> re.Pattern[str]:
        """A pattern that is in each text in which something may open, or begin to open."""
        return self._openers.begins

    @property
    def is_fenced(self) -> bool:
        """Whether text that follows would be in a code fence."""
        return bool(self._prose.open)

    def begin(self) -> None:
        """Another text is going to be read, from its beginning."""
        self._searched = self._is_hiding = False

    def end(self, text: str, at: int, base: int) -> None:
        """The text was read up to `at`; the rest comes again, before the next one."""
        if self.closers:
            self._emit_thought(text, at, base, at)
        self._found = None  # it holds the whole text

    def read(self, text: str, at: int, base: int) -> int:
        """Read on, at least up to the next event, or to an opening."""
        return self._read_reasoning(text, at, base) if self.closers else self._read_prose(text, at, base)

    def release(self, text: str, base: int) -> int:
        """At the end of the reply: what was held back is no opener. Its first character is text, or begins a region in
        brackets."""
        if self.brackets and text[0] == "[":
            return self._read_brackets(text, 0, base, final=True)
        return self.emit_text(text, 0, 1, base)

    def cut_off(self, rest: str, end: int) -> None:
        """The reply ends at `end`, perhaps inside of reasoning. `rest`, the last text before it, was not read."""
        if self.closers:
            self._emit_reasoning(rest, end)

    def forget(self) -> None:
        """Nothing more is read: let go of the blocks that were measured, which refer to this object."""
        self._measured = self._trial = None

    def skip_block(self, place: int) -> None:
        """After a block, text goes on at this place in the stream."""
        self._foreign.skip(place)
        if self._is_fresh:  # nothing has been looked at since the block before
            return
        if self.is_first:
            self._end_first()
        self._prose.skip()
        self.is_after = self._is_blank = True
        self._is_copied = False
        self._echo = "\n"
        self._is_fresh = self._prose.line == "x" and not self._prose.marker and not self._prose.is_quoting

    def gather(self, *, is_all: bool = True, is_last: bool = False) -> None:
        """Hand the pieces to those that follow the text. `is_all`: nothing that has begun in them goes on. `is_last`:
        nothing follows them."""
        if not self.pieces:
            return
        self._is_fresh = False
        text = "".join(self.pieces)
        self.pieces.clear()
        if self.closers:
            if not is_last:
                self._thought.take(text)
        else:
            self._is_blank = self._is_blank and not text.strip(SPACES)
            taken = self._foreign.take(text, is_all=is_all, is_last=is_last)
            if taken < len(text):
                self.pieces.append(text[taken:])
            if self._others:
                self._look_for_results(text[:taken])
            self._tell_notices()

    def begin_line(self) -> None:
        """What was skipped last ended with a line."""
        self._is_fresh = False
        self._prose.line = ""
        self._prose.follows = False

    def end_text(self) -> None:
        """A block or a region begins, or the reply ends."""
        self._foreign.stop()
        self._tell_notices()

    def _look_for_results(self, text: str) -> None:
        """Is the place after this text in the copy of a result?"""
        text = self._echo + text
        start = 0
        for found in _RESULT.finditer(text):
            self._is_copied = not found["end"]
            start = found.end()
        self._echo = text[max(start, len(text) - _RESULT_LENGTH) :]

    def _tell_notices(self) -> None:
        if self._foreign.notices:
            self.events += map(Noticed, self._foreign.notices)
            self._foreign.notices.clear()

    def decides_nothing(self, held: str, chunk: str) -> bool:
        """Is it clear that `chunk` neither ends nor breaks the opening tag, or the region in brackets, that `held`
        may be?"""
        size = len(held) + len(chunk)
        if self.brackets and held[0] == "[":
            return size < MAX_BRACKETS and not _LINE_OR_MARKUP.search(chunk)
        if self._is_hiding:
            return size < self._prose.due and not _MAY_END_HIDING.search(chunk)
        return size < OPENER_LENGTH and ">" not in held and "<" not in chunk and ">" not in chunk

    def _read_prose(self, text: str, at: int, base: int) -> int:
        """Text up to the next opener, or to what the end of the text may cut off of one; -1 if nothing is certain."""
        found = self._find_trigger(text, at)
        if self.brackets:
            bracket = self._find_bracket(text, at, found.start() if found else len(text))
            if bracket >= 0:
                self.emit_text(text, at, bracket, base)
                return self._read_brackets(text, bracket, base) if bracket == at else bracket
        place = found.start() if found else len(text)
        if self._layout:
            return self._read_laid_out(text, at, place, base, found)
        if place > at:
            return self.emit_text(text, at, place, base)
        if found is None or self._may_grow(text, found):
            return -1
        if self._dialect.turn_ends and found[0] in self._dialect.turn_ends:
            return self._skip_token(text, place, place, base, found[0])
        return self._read_opener(text, place, place, base)

    def _may_grow(self, text: str, found: re.Match[str]) -> bool:
        """Is this a part of a mark, or a mark that may still become a longer one?"""
        if found.lastindex == 2:  # of the pattern of parts
            return True
        if not self._openers.longer or self.final or len(text) - found.start() > self._openers.reach:
            return False
        longer = self._openers.longer.get(found[0], ())
        return any(mark.startswith(text[found.start() :]) for mark in longer)

    def _read_laid_out(self, text: str, at: int, place: int, base: int, found: re.Match[str] | None) -> int:
        """Text up to the next opener, at `place`: white space before that, or after a call, lays it out."""
        end = at + len(text[at:place].rstrip(SPACES))
        if end > at:
            start = at
            if self.is_after:
                start = skip_space(text, at)
                self._skip_layout(text, at, start, base)
            self.is_after = False
            self.is_long = place - end > MAX_LAYOUT
            return self.emit_text(text, start, place if self.is_long else end, base)
        if place > at and self.is_after:
            self._skip_layout(text, at, place, base)
            return place
        self.is_long = place > at and (self.is_long or place - at > MAX_LAYOUT)
        if self.is_long:
            return self.emit_text(text, at, place, base)
        if found is None:
            return self.emit_text(text, at, place, base) if self.final and place > at else -1
        if self._may_grow(text, found):
            return -1
        if found[0] in self._dialect.turn_ends:
            return self._skip_token(text, at, place, base, found[0])
        return self._read_opener(text, place, at, base)

    def _skip_layout(self, text: str, at: int, end: int, base: int) -> None:
        """White space after a call or a region lays it out: it is no text, but its lines are lines."""
        self._skip(base + at, base + end)
        if end > at:
            self._is_fresh = False
            self._prose.take(text[at:end])

    def _skip_token(self, text: str, at: int, place: int, base: int, token: str) -> int:
        """A token that ends the turn is at `place`, after white space from `at` on."""
        self.gather()
        self._is_fresh = False
        self._prose.take_early(text[at:place])
        self._prose.settle()
        end = place + len(token)
        if self._prose.is_escaped or self._prose.is_quoting or self._prose.may_hide:
            return self.emit_text(text, at, end, base)
        self.end_text()
        self._skip(base + at, base + end)
        self._prose.drop_early()
        self._foreign.skip(base + end)
        self.is_after = True
        return end

    def _skip(self, start: int, end: int) -> None:
        if end > start:
            self.gather(is_all=False)
            self.events.append(Skipped((start, end)))
            self._foreign.skip(end)

    def _find_trigger(self, text: str, at: int) -> re.Match[str] | None:
        """The next opener, or cut opener. It is looked for once: brackets may stop the reading before it often."""
        if not self._searched or (self._found is not None and self._found.start() < at):
            self._searched = True
            openers = self._openers
            found = openers.opener.search(text, at)
            if found is None or (openers.has_others and len(text) - found.start() < openers.reach):
                # What is cut off may begin before an opener that is a part of it.
                found = find_cut(openers, text, at, len(text) if found is None else found.start()) or found
            self._found = found
        return self._found

    def _read_opener(self, text: str, at: int, lead: int, base: int) -> int:
        """An opener at `at`, after white space from `lead` on that lays it out, if it opens something."""
        self.gather()
        self._is_fresh = False
        self._origin = base
        prose = self._prose
        if lead < at:
            prose.take_early(text[lead:at])
        prose.settle()
        found = self._openers.opener.match(text, at)
        word = (found[1] or found[0]) if found else ""
        if prose.is_escaped or prose.is_quoting:
            return self.emit_text(text, lead, at + 1, base)
        if not self._may_call(word):
            return self._read_region(text, at, lead, base, word)
        start = NO if prose.open and not self._fenced_calls else self._start_of(text, at, word)
        hidden = prose.hides(text, at, final=self.final, is_block=True, measure=self._measure) if start else NO
        if start is MORE or hidden is MORE:
            self._is_hiding = hidden is MORE and start is not MORE
            return -1
        if not start or hidden:
            after = hidden or self._past_mention(text, at, word)
            if after is MORE:
                return -1
            self.is_after = False
            return self.emit_text(text, lead, after, base)
        self.end_text()
        if lead < at:
            self._skip(base + lead, base + at)
        length = start.end - at if start.end > 0 else 0
        self.opening = Opening(base + at, length, word, self.is_fenced, start.dialect, self.is_unclosed)
        return at

    def _may_call(self, word: str) -> bool:
        """May this begin a call? The name of an element may be in any case."""
        key = word if word[:1] == "<" else word.lower()
        return key in self._calls or key in self._others or word in self._calls or word in self._others

    def _start_of(self, text: str, at: int, word: str) -> _Start | Answer:
        """The start of a call at `at`, where `<word` is, or a mark."""
        forms = self._calls.get(word) or self._calls.get(word.lower(), _NO_FORMS)
        for form in forms:
            end = self._confirm(form, text, at, word)
            if end and form.is_bare:
                named = self._is_named(form, text, at)
                end = named and end
            if end is MORE:
                return MORE
            if end:
                return _Start(form, end)
        # In a code fence even a token may be quoted, as in a chat template.
        if forms and forms[0].is_sure and word == forms[0].opener and not self._prose.open:
            return self._sure_start(forms, text, at + len(word))
        if self._is_copied or self._foreign.is_open:
            return NO
        others = (self._others.get(word) or self._others.get(word.lower(), _NO_FORMS)) if self._others else _NO_FORMS
        for other in others:
            is_spelled = not other.arguments or word == other.block
            end = self._confirm_other(other, text, at, word) if is_spelled else NO
            if end is MORE:
                return MORE
            if end:
                return _Start(other, end)
        return NO

    def _sure_start(self, forms: list[Dialect], text: str, end: int) -> _Start | None:
        """A call, or what should be one, after a token that says so, up to `end`. The first call in it shows its form,
        if there is text in front of that; MORE if more text may have it."""
        if len(forms) == 1:
            return _Start(forms[0], end)
        stop = end + MAX_STRAY
        names = [form.pairs.name for form in forms if form.pairs is not None and form.pairs.name]
        places = [place for name in names if (place := text.find(name, end, stop)) >= 0]
        for form in forms if places else ():
            begins = begins_call(form, text, min(places))
            if begins is MORE and not self.final:
                return MORE
            if begins:
                return _Start(form, end)
        return MORE if names and not places and len(text) < stop and not self.final else _Start(forms[-1], end)

    def _past_mention(self, text: str, at: int, word: str) -> int | None:
        """The place after what was no call at `at`, or MORE. The two tags with which a call of another dialect may
        begin are one mention."""
        if word in self._calls or not word.endswith(">"):
            return at + 1
        tag = at + len(word)
        here = skip_space(text, tag) if len(text) > tag else len(text)
        if here == len(text) and here - at < OPENER_SPACE:
            return at + 1 if self.final else MORE
        return here + 1 if here - at < OPENER_SPACE and text[here] == "<" else at + 1

    def _confirm_other(self, other: Dialect, text: str, at: int, word: str) -> int | bool | None:
        """As `_confirm`, for a dialect that is not this one: only the call of a given tool counts."""
        if other.body is Body.TAGS:
            end: int | bool | None = self._confirm_tool(other, text, at, word)
        elif other.body is Body.ELEMENTS:
            tag = read_opener(text, at, word)
            if tag is MORE or tag is NO:
                return tag
            end = tag.end if (begins := read_confirmation(text, tag.end)) else begins
        else:
            end = read_start(other, text, at, word, fences=self._fenced_calls)
        if not end:
            if not (end is MORE and self.final and other.is_bare):
                return NO if self.final else end
            end = -1
        named = self._names_tool(other, text, at, end)
        if named and other.is_bare and self._trial is not None:
            named = self._has_arguments(other, self._trial)
        return end if named else named

    def _is_named(self, form: Dialect, text: str, at: int) -> bool | None:
        """Does the call without a mark that may begin at `at` name a given tool? Without tools, what has a name and
        arguments is one."""
        if self._toolbox is not None:
            named = self._names_tool(form, text, at, -1)
            return self._has_arguments(form, self._trial) if named and self._trial is not None else named
        if form.pairs is not None:
            return self._is_call(form, text, at)
        found = _NAMED.match(text, at)
        if found:
            return True
        return NO if self.final or len(text) - at > _NAME_WITHIN else MORE

    def _is_call(self, form: Dialect, text: str, at: int) -> bool | None:
        """Does a call in Python, and what ends it, begin at `at`? One that is longer than 1,024 characters is one."""
        place = self._origin + at
        if self._trial is None or self._trial.start != place or self._trial.dialect is not form:
            self._trial = Block(place, 0, form, self._limits, None, self._name_trial)
            self._trial_to = place
        block, stop = self._trial, at + _NAME_WITHIN
        if not block.done and block.error is None:
            self._trial_to = place + run(block, text[at:stop], self._trial_to - place, place, [])
        if block.done or block.error is not None:
            return block.error is None
        return True if self.final or len(text) >= stop else MORE

    def _names_tool(self, other: Dialect, text: str, at: int, end: int) -> bool | None:
        """Does the block at `at`, whose opening tag ends at `end`, name a given tool soon? It is read up to there."""
        place = self._origin + at
        if self._trial is None or self._trial.start != place or self._trial.dialect is not other:
            length = end - at if end > 0 else 0
            self._trial = Block(place, length, other, self._limits, self._toolbox, self._name_trial)
            self._trial_name = ""
            self._trial_to = place
        block = self._trial
        stop = at + _NAME_WITHIN
        is_read = self._trial_name and not (other.is_bare and other.pairs is None)
        if (
            not is_read
            and self._trial_to < self._origin + min(stop, len(text))
            and not block.done
            and block.error is None
        ):
            self._trial_to = place + run(block, text[at:stop], self._trial_to - place, place, [])
            if other.json_name_is_key and block.json is not None and block.json.scanner.first_keys:
                (first, *_) = block.json.scanner.first_keys
                self._trial_name = self._trial_name or ("" if first in other.json_names else first)
        if self._trial_name:
            return knows_tool(block, self._trial_name)
        return NO if self.final or len(text) >= stop or block.done or block.error is not None else MORE

    def _has_arguments(self, form: Dialect, block: Block) -> bool | None:
        """Do the arguments stand right before or after the name in the object without a mark that is tried? Otherwise
        it is an answer in JSON."""
        json = block.json
        if form.pairs is not None or json is None:
            return form.pairs is not None
        keys = [key for key in json.scanner.first_keys if key not in _NO_ARGUMENTS]
        names = (*form.json_arguments, *form.json_other_arguments)
        if any(key in names for key in keys[:2]):
            return True
        if len(keys) > 1 or json.scanner.done or block.error is not None:
            return NO
        return NO if self.final else MORE

    def _name_trial(self, block: Block) -> None:
        """A block that is only tried has named its tool."""
        if block.error is None and not self._trial_name:
            self._trial_name = block.name or ""
        self._shape_call(block)

    def _confirm(self, form: Dialect, text: str, at: int, word: str) -> int | bool | None:
        """The place after a block's opening tag, or mark, if it opens one."""
        if form.body is not Body.ELEMENTS:
            if form.body is Body.TAGS:
                return self._confirm_tool(form, text, at, word)
            end = read_start(form, text, at, word, fences=self._fenced_calls)
            if end is MORE and self.final and word == form.opener:  # it was cut off
                return -1 if form.is_bare else cut_start(form, text, at)
            return end
        tag = read_opener(text, at, word)
        if tag is MORE or tag is NO:
            return tag
        begins = None if word == form.block else self._begins_with_field
        confirmed = read_confirmation(text, tag.end, fences=self._fenced_calls, begins=begins)
        if confirmed is NO and begins is None:
            confirmed = self._confirm_name(text, tag)
        return tag.end if confirmed else confirmed

    def _confirm_tool(self, form: Dialect, text: str, at: int, word: str) -> int | bool | None:
        """The place after the tag of a tool, if it begins a call. In a fence it is only shown."""
        toolbox = self._toolbox
        is_tag = not form.in_line
        if toolbox is None or self._prose.open or (is_tag and word != form.block and word in toolbox.names):
            return NO
        shape = toolbox.guess(form.block, None, self._dialect.default_server)
        is_first = not (self._prose.line.strip() or self._prose.follows)
        if form.in_line:
            return read_tool_line(shape, text, at + len(word)) if is_first else NO
        return read_tool_start(form, shape, text, at, word, is_first_in_line=is_first, final=self.final)

    def _measure(self, text: str, at: int, stop: int) -> int | bool | None:
        """The end of the block whose opener stands at `at`, if it has one before `stop`; NO, if none opens there.

        It is measured once, though each opener after an open comment asks for it.
        """
        place = self._origin + at
        known = self._ends.get(place)
        if known is not None:
            return known - self._origin if known - self._origin <= stop else MORE
        found = self._openers.opener.match(text, at)
        if found is None and stop - at < self._openers.reach and text[at:stop].lower() in self._openers.parts:
            return MORE
        if found is not None and (found.end() > stop or self._may_grow(text, found)):
            return MORE
        word = (found[1] or found[0]) if found else ""
        start = self._start_of(text[:stop], at, word) if self._may_call(word) else NO
        end = self._measure_block(text[:stop], at, start) if start else MORE if start is MORE else NO
        if end:
            if len(self._ends) >= _MOST_ENDS:
                self._ends.clear()
            self._ends[place] = self._origin + end
        return end

    def _measure_block(self, text: str, at: int, opened: _Start) -> int | None:
        """The end of the block at `at`, or MORE: it is read, without results."""
        place = self._origin + at
        if self._measured is None or self._measured.start != place:
            length = max(opened.end - at, 0)
            self._measured = Block(place, length, opened.dialect, self._limits, self._toolbox, self._shape_call)
            self._measured_to = place
        reached = run(self._measured, text, self._measured_to - self._origin, self._origin, [])
        self._measured_to = self._origin + reached
        return reached if self._measured.done else MORE

    def _shape_call(self, block: Block) -> None:
        """A block that is only measured has named its tool: the schema decides where its values end."""
        if self._toolbox is not None and block.error is None:
            block.shape = self._toolbox.guess(block.name or "", block.server, self._dialect.default_server)

    def _begins_with_field(self, text: str, at: int) -> bool | None:
        """An opener in another case may be any other element: only what looks like a call makes it one."""
        fields = (self._dialect.tool_name, self._dialect.server_name, self._dialect.arguments)
        place, searched = self._key_search
        start = searched - self._origin if place == self._origin + at else at
        answer = begins_with_field(text, at, fields, _NAME_KEY, start)
        if answer is MORE:
            self._key_search = self._origin + at, self._origin + max(at, len(text) - _KEY_LENGTH)
        return answer

    def _confirm_name(self, text: str, tag: Tag) -> bool | None:
        """Does the bare name of a given tool follow the opener, and something to call it with after that?"""
        at = skip_space(text, tag.end)
        word, end, is_cut = read_bare_name(text, at)
        if not word or at - tag.end > OPENER_SPACE:
            return NO
        toolbox = self._toolbox
        if toolbox is None:
            return NO
        if is_cut and end == at + len(word) == len(text):
            return MORE if toolbox.begins(word) else NO
        if word not in toolbox.names:  # no other spelling: while it grows, a word may not become a call
            return NO
        return MORE if is_cut else True

    def _read_region(self, text: str, at: int, lead: int, base: int, word: str) -> int:
        """An opener of reasoning. In a fence it is text, as all else is up to its end tag."""
        closers = self._thoughts.get(word)
        tag = read_opener(text, at, word) if closers is None else Tag(word, at + len(word), False)
        if tag and (word if closers else word.lower()) in self._other_thoughts:
            self._is_blank = self._is_blank and not any(piece.strip(SPACES) for piece in self.pieces)
            if not self._is_blank:
                return self.emit_text(text, lead, at + 1, base)
        hidden = self._prose.hides(text, at, final=self.final, measure=self._measure) if tag else NO
        if tag is MORE or hidden is MORE:
            return -1
        if not tag or hidden:
            self.is_after = False
            return self.emit_text(text, lead, hidden or at + 1, base)
        if self._prose.open:
            self.emit_text(text, lead, tag.end, base)
            self.gather()
            self._prose.quote(word)
            return tag.end
        self.end_text()
        self._skip(base + lead, base + at)
        self.closers = (self._openers.names[word.lower()],) if closers is None else closers
        self._tags = self._tags_of(self.closers)
        self._is_begun = False
        self._thought = Shown(self._words, self._longest, sections=False)
        self._nested = self._settled = 0
        self._covered = base + at
        self._thought_start = base + tag.end
        return tag.end

    def emit_text(self, text: str, at: int, end: int, base: int) -> int:
        """What is between `at` and `end` is text."""
        if end > at:
            piece = text if at == 0 and end == len(text) else text[at:end]
            if self.is_first and piece.strip(SPACES):
                self._end_first()
            self.pieces.append(piece)
            self.events.append(TextDelta.make(piece, base + at))
        return end

    def _end_first(self) -> None:
        """What counts only where the reply begins counts no more."""
        self.is_first = self._searched = False
        self._openers = self._later_openers

    # -- reasoning -------------------------------------------------------------------------------------------------

    def _read_reasoning(self, text: str, at: int, base: int) -> int:
        found = self._tags.tag.search(text, at) or self._tags.cut.search(text, max(at, len(text) - self._tags.reach))
        place = found.start() if found else len(text)
        end = place
        if self._layout:  # white space before the end of reasoning lays it out
            end = at + len(text[at:place].rstrip(SPACES))
            self.is_long = place > end and (place - end > MAX_LAYOUT or (end == at and self.is_long))
            if self.is_long or (found is None and self.final):
                end = place
        if end > at:
            return self._think(text, at, end)
        if found is None or not (found["name"] or found["call"] or found["mark"]):
            return -1
        self.gather()
        if end < place:
            self._thought.take_early(text[end:place])
        self._thought.settle()
        if found["mark"]:
            return self._end_thought(text, end, base, found.end())
        if found["call"]:
            return self._read_call_in_thought(text, place, at, base, text[place : found.end("call")])
        if found["end"]:
            return self._read_thought_end(text, place, at, base, found.end())
        return self._read_nested(text, place, at, base, found["name"])

    def _tags_of(self, names: tuple[str, ...]) -> ReasoningTags:
        marks = tuple(end for ends in self._thoughts.values() for end in ends)
        elements = tuple(name for name in names if name not in marks)
        calls = tuple(self._calls) if names and self._dialect.ends_reasoning else ()
        return reasoning_tags(elements, calls, tuple(name for name in names if name in marks))

    def _read_call_in_thought(self, text: str, at: int, lead: int, base: int, word: str) -> int:
        """A call at `at`, after white space from `lead` on, ends the reasoning, if it is one and not only shown."""
        self._origin = base
        opens: int | bool | None = NO
        for form in self._calls.get(word, ()):
            opens = self._confirm(form, text, at, word)
            if opens or opens is MORE:
                break
        hidden = self._thought.hides(text, at, final=self.final) if opens else NO
        if opens is MORE or hidden is MORE:
            return -1
        if not opens or hidden or self._thought.open:
            return self._think(text, lead, hidden or at + 1)
        self._end_thought(text, lead, base, at)
        self.is_unclosed = True
        return at

    def _end_thought(self, text: str, end: int, base: int, after: int) -> int:
        """The reasoning ends at `end`; what follows up to `after` belongs to the region."""
        self._emit_thought(text, end, base, after)
        self._emit_reasoning("", base + after)  # of an empty region, the tags
        self.is_unclosed = False
        self.closers = ()
        self.pieces.clear()
        self._prose.skip(is_thought=True)
        self._foreign.skip(base + after)
        self.is_after = self._is_blank = True
        return after

    def _think(self, text: str, at: int, end: int) -> int:
        """Take reasoning. Its event is made when all of this text was read, so that its
        tags do not cut it in pieces."""
        if self._may_repeat and text[at:end].strip(SPACES):
            self._may_repeat = False
        self.pieces.append(text[at:end])
        return end

    def _emit_thought(self, text: str, end: int, base: int, after: int) -> None:
        """Make an event of the reasoning that was taken up to `end`; what follows up to `after` belongs to the
        region."""
        start = self._thought_start - base
        if end > start or after > end:
            thought = text[start:end]
            if self._layout and not self._is_begun:
                thought = thought.lstrip(SPACES)
                self._is_begun = thought != ""
            self._emit_reasoning(thought, base + after)
            self._thought_start = base + after

    def _read_nested(self, text: str, at: int, lead: int, base: int, word: str) -> int:
        """An opener of the region's own name. It counts if it is not only shown. With it a reply that begins inside
        repeats the opener of the prompt."""
        tag = read_opener(text, at, word)
        if tag and self._may_repeat:
            self._may_repeat = False
            if base + lead > self._thought_start:
                self._emit_thought(text, lead, base, tag.end)
            self._thought_start = base + tag.end
            return tag.end
        hidden = self._thought.hides(text, at, final=self.final) if tag else NO
        if tag is MORE or hidden is MORE:
            return -1
        if not tag or hidden:
            return self._think(text, lead, hidden or at + 1)
        self._nested += not (self._thought.open or self._thought.is_escaped)
        return self._think(text, lead, tag.end)

    def _read_thought_end(self, text: str, at: int, lead: int, base: int, after: int) -> int:
        """An end tag. It ends the region, unless it is shown, or ends one inside, and the region has a later one."""
        end = skip_space(text, after)
        if end == len(text) and end - at < OPENER_LENGTH:
            return -1
        if text[end : end + 1] != ">" or end - at >= OPENER_LENGTH:
            return self._think(text, lead, at + 1)
        end += 1
        thought = self._thought
        hidden = thought.hides(text, at, final=self.final)
        if hidden is MORE:
            return -1
        if hidden and thought.is_right_after_backticks:
            return self._think(text, lead, hidden)
        is_fenced = thought.open and not thought.is_closing
        is_nested = not hidden and not is_fenced and self._nested > 0
        if hidden or is_fenced or is_nested:
            is_later: bool | None = is_nested and base + at < self._settled
            is_later = is_later or self._ends_later(text, at, end, base, thought.fence if is_fenced else "")
            if is_later is MORE:
                return -1
            if is_later:
                self._nested -= is_nested
                return self._think(text, lead, hidden or end)
        return self._end_thought(text, lead, base, end)

    def _ends_later(self, text: str, at: int, end: int, base: int, marker: str) -> bool | None:
        """Does an end tag that no opener claims follow the one from `at` to `end`? If that is in a fence,
        which `marker` opened, the fence must end first."""
        if not self._patience:
            return NO
        if self._later_from != base + at:
            self._later_from = base + at
            self._later = end - at
            self._later_depth = 0
            self._later_fence = marker
        most = end + min(SECTION_LENGTH, self._longest)
        last = at + self._later
        for found in self._tags.later.finditer(text, last, min(most, len(text))):
            last = found.end()
            if self._later_fence:
                fence = found["fence"]
                if fence and fence[0] == self._later_fence[0] and len(fence) >= len(self._later_fence):
                    self._later_fence = ""
            elif found["fence"]:
                continue
            elif not found["end"]:
                self._later_depth += 1
            elif self._later_depth:
                self._later_depth -= 1
            else:
                if not marker:
                    self._settled = base + found.start()
                return True
        if self.final or len(text) >= most:
            self._patience -= 1
            return NO
        self._later = max(last, len(text) - OPENER_LENGTH) - at
        return MORE

    def _emit_reasoning(self, text: str, end: int) -> None:
        if end > self._covered:
            self.events.append(ReasoningDelta(text, (self._covered, end)))
            self._covered = end

    def _find_bracket(self, text: str, at: int, end: int) -> int:
        """The first `[` at the start of a line before `end`, or -1."""
        if at < end and text[at] == "[":
            is_at_start = self.pieces[-1][-1] == "\n" if self.pieces else self._prose.is_at_line_start
            if is_at_start:
                return at
        return text.find("\n[", at, end) + 1 or -1

    def _read_brackets(self, text: str, at: int, base: int, *, final: bool = False) -> int:
        """At a `[` that starts a line: a region up to the first line that ends with `]`, or text. In a fence, and where
        it is the list that was asked for and no thought, it is text.

        Lines that were seen to end no region are not looked at again, neither for this `[` nor for the next one.
        """
        if self._is_fenced():
            return self.emit_text(text, at, at + 1, base)
        line = max(at, self._bracket_seen - base)
        while base + at >= self._bracket_dead:
            found = _LINE_END.search(text, line)
            stop = found.start() if found else len(text)
            if found and found[0] == "\r" and found.end() == len(text) and not final:
                found = None  # half a line break, perhaps
            content = text[line:stop].rstrip(" \t")
            end = line + len(content)
            opener = self._openers.opener.search(text, line, stop)
            if end - at > MAX_BRACKETS or not (found or final or opener):
                self._bracket_seen = base + line
                if end - at <= MAX_BRACKETS:
                    return -1
                break
            if opener or not content:
                self._bracket_dead = base + (opener.start() if opener else line)
            elif content[-1] == "]" and end - 1 > at:
                if is_json_list(text[at:end]):
                    return self.emit_text(text, at, end, base)
                self.gather()
                self.end_text()
                self._covered = base + at
                self._emit_reasoning(text[at + 1 : end - 1], base + end)
                self._foreign.skip(base + end - 1)
                self.pieces.append("]")
                return end
            elif found:
                line = found.end()
            else:
                break
        return self.emit_text(text, at, at + 1, base)

    def _is_fenced(self) -> bool:
        """Is the line that begins here in a fence? What may begin a call of another notation goes on."""
        self.gather(is_all=False)
        if not self.pieces:
            return self._prose.marker != ""
        # What is not handed on yet is short.
        fence = FenceReader()
        fence.marker = self._prose.marker
        for line in (self._prose.line + "".join(self.pieces)).split("\n")[:-1]:
            fence.read(line)
            fence.end_line()
        return fence.marker != ""


def is_json_list(text: str) -> bool:
    """Return whether a text from `[` to `]` is a list in JSON, or the beginning of one."""
    scanner = JSONScanner(_LIST_DEPTH)
    if scanner.scan(text, 0) < len(text) or scanner.error:
        return False
    try:
        json.loads(text + scanner.missing, parse_int=str)
    except ValueError:
        return False
    return True


_LIST_DEPTH: Final = 128
_LINE_OR_MARKUP = re.compile(r"[\r\n<]")
_MAY_END_HIDING = re.compile(r"[>`~\r\n]")
"""With these end comments, sections, inline code and fences, and the calls in them."""
_LINE_END = re.compile(r"\r\n|\n|\r")
