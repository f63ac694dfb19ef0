"""Whether a call starts where one may (protocol, 1.1, 1.2 and 1.9): at a start tag or delimiter of some dialect, what
follows must confirm it. Where that takes the name of a tool, or the end of the call, the call is read on trial."""

from __future__ import annotations

from functools import partial
from typing import Final

from xmltools.dialects import Body, Dialect
from xmltools.parser.cut_off_replies import ends_complete
from xmltools.parser.delimited_starts import MAX_STRAY, begins_call, cut_start, read_start
from xmltools.parser.limits import Limits
from xmltools.parser.machine import run
from xmltools.parser.open_call import Block, Reading
from xmltools.parser.openers import Starts, forms_at
from xmltools.parser.shown import Shown
from xmltools.parser.tool_tags import read_tool_line, read_tool_start
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    Answer,
    begins_with_field,
    opens_call,
    read_bare_name,
    read_opener,
    skip_space,
)
from xmltools.tools.schema import ANY

_TAGS: Final = Body.TAGS  # members of an enumeration are slow to look up
_ELEMENTS: Final = Body.ELEMENTS
_NAME_WITHIN: Final = 1_024
"""Characters in which a call in another dialect must name its tool."""
_NAME_KEY = late_pattern("([\"'])(?:tool_name|name|tool|function)\\1[ \\t\\r\\n]{0,20}:")
"""Keys that name the tool in a JSON body, even those that are not read as its name."""
_NAMED = late_pattern(
    r'\[?\s{0,20}\{\s{0,20}(?:"type"\s{0,5}:\s{0,5}"function"\s{0,5},\s{0,20})?"name"\s{0,5}:\s{0,5}"[^"\\]{1,256}"'
    r'\s{0,5},\s{0,20}"(?:parameters|arguments)"\s{0,5}:'
)
"""The beginning of a call in JSON that has no delimiter."""
_NO_ARGUMENTS: Final = ("type", "id")
"""Keys of a call in JSON that say nothing."""
_MAX_LAYOUT: Final = 1_024
"""Characters of white space that may lay out calls and reasoning; a longer run is text."""
_MOST_ENDS: Final = 1_000


Start = tuple[Dialect, int]
"""A call starts: its dialect, and the place after its start tag; -1 if it has none."""


def _hear_name(block: Block) -> None:
    """A call on trial has named its tool: the schema decides where its values end. The name is its id."""
    if block.error is None:
        block.reading.call_id = block.reading.call_id or block.name
        block.stack[0].shape = block.guess_shape() or ANY


def name_on_trial(block: Block) -> str:
    """The name of the tool of a call on trial, as written, which may be its first key; empty while it is not known."""
    json = block.json if block.dialect.json_name_is_key else None
    return block.reading.call_id or (next(iter(json.names), "") if json else "")


class CallStarts:
    """Says whether a call starts at a place in a text outside calls, whose first character is at `base` in the stream.
    `final`: nothing follows the text. `counts_others`: calls in other dialects count."""

    base = 0
    counts_others = True
    patience = 100
    """End tags of reasoning that may wait in vain for another one. The time for more would not be linear."""
    is_long = False
    """The run of white space that was read last is too long to be layout."""
    _trial: Block | None = None
    _measured: Block | None = None

    def __init__(
        self, starts: Starts, toolbox: Toolbox | None, limits: Limits, shown: Shown, fenced_calls: bool
    ) -> None:
        self.final = False
        self.starts = starts
        self.toolbox = toolbox
        self.limits = limits
        self.shown = shown
        self._fenced_calls = fenced_calls
        self.openers = starts.openers  # those that count now
        self._ends: dict[int, int] = {}  # of calls that were measured, by the places of their openers

    @property
    def is_first(self) -> bool:
        """Whether something may open that counts only where the reply begins."""
        return self.openers is not self.starts.later

    def begins_later(self, text: str, at: int, word: str) -> int | bool | None:
        """Does JSON that calls a given tool begin with a bracket at `at`, though text comes before it?"""
        forms = forms_at(self.starts.calls, word) + forms_at(self.starts.others, word)
        form = next(form for form in forms if form.pairs is None)
        return self.confirm(form, text, at, word) and self._names_tool(form, text, at, -1)

    def find(self, text: str, at: int, word: str) -> Start | Answer:
        """The start of a call at `at`, where `<word` is, or a delimiter."""
        is_fenced = self.shown.fence
        if is_fenced and not self._fenced_calls:
            return NO
        own = forms_at(self.starts.calls, word)
        # In a code fence even a token may be quoted, as in a chat template.
        is_sure = own and own[0].is_sure and word == own[0].opener and not is_fenced
        for form in own if is_sure or not self.counts_others else own + forms_at(self.starts.others, word):
            is_own = form in own
            if form.is_bare and not (
                is_own or form.has_line or self.is_first or (is_fenced and not self.shown.line.strip())
            ):
                continue
            if form.has_line and not self.is_first and (self.shown.line.strip() or self.shown.follows):
                continue
            if not is_own and form.arguments and word != form.block:
                continue
            end = self.confirm(form, text, at, word, is_own=is_own)
            if end is MORE and self.final and not is_own:
                end = -1 if form.is_bare else NO
            if end and (form.is_bare or not is_own):
                end = self._names_tool(form, text, at, end) and end
            if end is MORE:
                return MORE
            if end:
                return form, end
        return self._sure_start(own, text, at + len(word)) if is_sure else NO

    def end_of_text(self, text: str, at: int, place: int) -> int:
        """Where the text from `at` to `place` ends, if white space after it lays out what begins or ends there."""
        if not self.starts.dialect.layout:
            return place
        end = at + len(text[at:place].rstrip(SPACES))
        self.is_long = place > end and (place - end > _MAX_LAYOUT or (end == at and self.is_long))
        return place if self.is_long or (self.final and place == len(text)) else end

    def confirm(self, form: Dialect, text: str, at: int, word: str, *, is_own: bool = True) -> int | bool | None:
        """The place after the start tag or delimiter, if it begins a call of this form; -1 if it has none."""
        if form.body is _TAGS:
            return self._confirm_tool(form, text, at, word)
        if form.body is not _ELEMENTS:
            end = read_start(form, text, at, word, fences=self._fenced_calls)
            if end is MORE and self.final and is_own and word == form.opener:  # it was cut off
                return -1 if form.is_bare else cut_start(form, text, at)
            return end
        if word != form.block:
            # It may be any other element: only a field, or a name in JSON, makes it a call.
            fields = form.tool_name, form.server_name, form.arguments
            begins = partial(begins_with_field, fields=fields, key=_NAME_KEY)
            return opens_call(text, at, word, fences=self._fenced_calls, begins=begins)
        opened = opens_call(text, at, word, fences=self._fenced_calls or not is_own)
        return self._confirm_name(text, at, word) if opened is NO and is_own else opened

    def _confirm_tool(self, form: Dialect, text: str, at: int, word: str) -> int | bool | None:
        """The place after the tag of a tool, if it begins a call. In a fence it is only shown."""
        toolbox = self.toolbox
        if toolbox is None or self.shown.fence:
            return NO
        shape = toolbox.guess(form.block, None, self.starts.dialect.default_server)
        is_first = not (self.shown.line.strip() or self.shown.follows)
        if form.in_line:
            return read_tool_line(shape, text, at + len(word)) if is_first else NO
        if word != form.block and word in toolbox.names:
            return NO
        return read_tool_start(form, shape, text, at, word, is_first_in_line=is_first, final=self.final)

    def _confirm_name(self, text: str, at: int, block: str) -> int | Answer:
        """Does the bare name of a given tool follow the opener, and something to call it with after that?"""
        start = read_opener(text, at, block)
        if not start or self.toolbox is None:
            return NO
        at = skip_space(text, start)
        word, end, is_cut = read_bare_name(text, at)
        if not word or at - start > OPENER_SPACE:
            return NO
        if is_cut and end == at + len(word) == len(text):
            return MORE if any(name.startswith(word) for name in self.toolbox.names) else NO
        if word not in self.toolbox.names:  # no other spelling: while it grows, a word may not become a call
            return NO
        return MORE if is_cut else start

    def _sure_start(self, forms: list[Dialect], text: str, end: int) -> Start | None:
        """A call, or an attempt at one, after a token that says so, up to `end`. The first call in it shows its form,
        if there is text before that; MORE if more text may have it."""
        if len(forms) == 1:
            return forms[0], end
        stop = end + MAX_STRAY
        names = [form.pairs.name for form in forms if form.pairs and form.pairs.name]
        places = [place for name in names if (place := text.find(name, end, stop)) >= 0]
        for form in forms if places else ():
            begins = begins_call(form, text, min(places))
            if begins is MORE and not self.final:
                return MORE
            if begins:
                return form, end
        return MORE if names and not places and len(text) < stop and not self.final else (forms[-1], end)

    # -- calls on trial --------------------------------------------------------------------------------------------

    def on_trial(self, form: Dialect, start: int, end: int) -> Block:
        """A call that is read as far as there is text, without events. It begins at `start` in the stream, with a start
        tag up to `end`, or with none."""
        return Block(start, max(end - start, 0), form, Reading(self.limits, self.toolbox, _hear_name, []))

    def _names_tool(self, form: Dialect, text: str, at: int, end: int) -> bool | None:
        """Does the call at `at`, whose start tag ends at `end`, name a given tool soon? Without tools, any name and
        arguments make a call."""
        is_all = self.final or len(text) - at >= _NAME_WITHIN
        if self.toolbox is None and form.pairs is None:
            return _NAMED.match(text, at) is not None or (NO if is_all else MORE)
        self._trial = trial = self._try(self._trial, form, text, at, end, at + _NAME_WITHIN)
        is_over = trial.done or trial.error is not None
        if self.toolbox is None:
            return trial.error is None if is_over else is_all or MORE
        name = name_on_trial(trial)
        if not name or (trial.reading.call_id is None and name in form.json_names):
            return NO if is_all or is_over else MORE
        json, is_known = trial.json, trial.tool_named(name) is not None
        if not is_known or not form.is_bare or form.pairs is not None or json is None:
            return is_known
        # Its arguments come right before or after the name in the object. Otherwise it is an answer in JSON.
        keys = [key for key in json.names if key not in _NO_ARGUMENTS]
        if any(key in form.json_arguments_names for key in keys[:2]):
            return True
        return NO if self.final or len(keys) > 1 or json.done or is_over else MORE

    def measure(self, text: str, at: int, stop: int) -> int | Answer:
        """The end of the call whose opener is at `at`, if it has one before `stop`; NO if none opens there.

        It is measured once, though each opener after an open comment asks for it.
        """
        place = self.base + at
        if place in self._ends:
            end = self._ends[place] - self.base
            return end if end <= stop else MORE
        text = text[:stop]
        found = self.openers.opener.match(text, at)
        if not (found and self.final) and self.openers.cuts.find(text, at, at + 1) >= 0:
            return MORE
        start = self.find(text, at, found[1] or found[0]) if found else NO
        if not start:
            return start
        self._measured = trial = self._try(self._measured, start[0], text, at, start[1], stop)
        end = trial.base - self.base
        is_over = self.final and not trial.dialect.closer and ends_complete(trial, text[end:], trial.base)
        if not (trial.done or is_over):
            return MORE
        if len(self._ends) >= _MOST_ENDS:
            self._ends.clear()
        self._ends[place] = trial.base
        return end

    def _try(self, trial: Block | None, form: Dialect, text: str, at: int, end: int, stop: int) -> Block:
        """The call at `at`, whose start tag ends at `end`, as far as it was read before `stop`: `trial`, if it is that
        one."""
        place = self.base + at
        if trial is None or trial.start != place or trial.dialect is not form:
            trial = self.on_trial(form, place, self.base + end)
        run(trial, text[at:stop], max(trial.base - place, 0), place)
        return trial
