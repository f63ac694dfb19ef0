"""Whole replies that are plain: reasoning, prose and calls, one after the other, and nothing outside of calls that any
other rule is about.

Nearly all replies in transcripts are like that. As `ordinary_calls` and `whole_calls`, which read the calls, this
module knows when a text is plain, never what a rule means: anything else is left to a `Parser`. What it returns is what
is made of the events of a `Parser` for the same text; this is tried by `tests/parser/test_plain_replies.py` and by the
fuzzer.

- Prose has inline code in pairs of single backticks in one line, fences of backticks, perhaps around a call and nothing
  else, and no comment, section, or backslash before one of these; where nothing more opens it has anything. Nothing in
  it may begin a call in this notation or another one.
- Reasoning is an element, spelled as its tag is, with prose in it, and no other tag of reasoning.
- No rule asks how the reply goes on: nothing is cut off at its end.
- A call of elements that is not ordinary is read by the machine, as a `Parser` would have it read, also where the reply
  cuts it off.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from xmltools.dialects import Body, Dialect
from xmltools.errors import CallError
from xmltools.models import Reasoning, Text, ToolCall
from xmltools.parser.block import Block, cut_off, end_early, note_fence
from xmltools.parser.block_to_call import conclude, find_shape, partial_error
from xmltools.parser.elements import read_opening_tag
from xmltools.parser.end_tags import settle
from xmltools.parser.foreign_calls import foreign_search
from xmltools.parser.limits import Limits
from xmltools.parser.machine import ends_complete, run
from xmltools.parser.openers import Starts, find_cut, reasoning_tags, starts_of
from xmltools.parser.ordinary_calls import (
    DONE,
    MOST_SPACE,
    Ordinary,
    Words,
    begin,
    find_tool,
    has_all,
    ordinary_call,
    read_ordinary,
    words_of,
)
from xmltools.parser.prose import MAX_LAYOUT
from xmltools.parser.toolbox import Toolbox
from xmltools.parser.whole_calls import NOT_ORDINARY, read_whole, read_whole_elements
from xmltools.syntax.markup import SPACES, read_confirmation, read_opener, skip_space

_OPEN_FENCE: Final = r"(?<![^\n])```[^`\n<]{0,100}+(?=\n)"
_CLOSE_FENCE: Final = r"\n {0,3}```+[ \t\r]{0,100}(?=\n)"
"""The lines of a fence of three backticks; the first one is not indented."""
_FENCE_START = re.compile(rf"{_OPEN_FENCE}\n[ \t\r\n]*+")
_FENCE_END = re.compile(rf"[ \t\r\n]*{_CLOSE_FENCE}")
_PLAIN = re.compile(
    rf"(?:{_OPEN_FENCE}(?:\n(?! {{0,3}}```)|[^\n<]++|<(?!!))*+{_CLOSE_FENCE}"
    r"|[^`~\\<\n]++|\n++|<(?!!)|~(?!~)|\\(?![<`\\])|`(?:[^`\n\\<]|<(?!!)|\\(?!`)){1,1000}+`(?!`))*+"
)
_MARKED: Final = ("`", "\\", "<!", "~")
"""Text without these is plain, which a search for each of them shows sooner than the pattern."""
_LIMITS: Final = Limits()


class _Call(NamedTuple):
    """A call, which has no id yet."""

    name: str
    server: str
    arguments: dict[str, Any]
    span: tuple[int, int]
    legacy_json: bool = False


class _Ended(NamedTuple):
    """A block that the machine has read up to `end`, where the reply may have cut it off. It has no id yet, and no
    verdict."""

    block: Block
    end: int
    is_cut: bool = False


class _Plan(NamedTuple):
    """What is known of all replies that are read in a dialect, with these reasoning tags and tools of these names."""

    dialect: Dialect
    starts: Starts
    words: Words | None
    may_hold_foreign: Callable[[str, int, int], bool]
    ends: dict[str, tuple[str, re.Pattern[str]]]
    """By the start tag of reasoning: its end tag, and a pattern of what matters in it."""


@lru_cache(maxsize=64)
def _plan_of(dialect: Dialect, tags: tuple[str, ...], names: tuple[str, ...]) -> _Plan | None:
    """None if no reply in it is plain."""
    starts = starts_of(dialect, tags, names, ())
    if starts.is_first or dialect.body is Body.TAGS:
        return None
    calls = tuple(starts.calls) if dialect.ends_reasoning else ()
    ends = {f"<{tag}>": (f"</{tag}>", reasoning_tags((tag,), calls).tag) for tag in tags}
    return _Plan(dialect, starts, words_of(dialect), foreign_search(dialect, names, tags), ends)


def read_plain(
    text: str,
    toolbox: Toolbox | None,
    dialect: Dialect,
    tags: tuple[str, ...],
    new_id: Callable[[], str],
    *,
    strict: bool = False,
    fenced_calls: bool = True,
) -> list[Text | Reasoning | ToolCall | CallError] | int:
    """Return the parts of a whole reply, if it is plain. Else nothing was asked of `new_id`, and it is the place of
    the call that is not ordinary; -1 if something else is not plain. `fenced_calls`: blocks in fences are calls."""
    plan = _plan_of(dialect, tags, toolbox.names if toolbox is not None else ())
    if plan is None:
        return -1
    reader = _Reader(text, toolbox, plan, fenced_calls=fenced_calls)
    if not reader.read():
        return reader.odd
    parts: list[Text | Reasoning | ToolCall | CallError] = []
    for part in reader.parts:
        if isinstance(part, _Call):
            name, server, arguments, span, legacy_json = part
            parts.append(ordinary_call(new_id(), name, arguments, server, span, dialect, legacy_json=legacy_json))
        elif isinstance(part, _Ended):
            parts.append(_conclude(part, text, toolbox, new_id, strict=strict))
        else:
            parts.append(part)
    return parts


def _conclude(
    ended: _Ended, text: str, toolbox: Toolbox | None, new_id: Callable[[], str], *, strict: bool
) -> ToolCall | CallError:
    """The call of a block that the machine has read, or why it gives none."""
    block, end, is_cut = ended
    is_named = block.call_id is not None
    if is_named:
        block.call_id = new_id()
    if is_cut:
        return partial_error(block, end, cut_off(block, end), text[block.start :], toolbox)
    verdict = conclude(block, end, text, 0, toolbox, strict)
    if isinstance(verdict, ToolCall) and not verdict.id:  # its name was known only at its end
        return verdict.model_copy(update={"id": new_id()})
    if not is_named and block.call_id is not None:
        new_id()  # that of a call that has started, and failed
    return verdict


class _Reader:
    """Reads one reply."""

    def __init__(self, text: str, toolbox: Toolbox | None, plan: _Plan, *, fenced_calls: bool) -> None:
        self._text = text
        self._toolbox = toolbox
        self._plan = plan
        self._dialect = plan.dialect
        self._may_open_fence = fenced_calls and plan.words is not None and not plan.dialect.layout
        self._is_fenced = False  # a fence is open, which began right before a call
        self.parts: list[Text | Reasoning | _Call | _Ended] = []
        self._calls = 0
        self._is_after = False  # a call or reasoning was right before
        self._thought = ""  # the reasoning right before
        self._close = 0  # where the next end tag of calls is, if that was looked for; -1 if there is none
        self.odd = -1  # the place of a call that is not ordinary

    def read(self) -> bool:
        """Read the parts of the reply. False if it is not plain."""
        text, openers = self._text, self._plan.starts.openers
        at = 0
        while True:
            found = openers.opener.search(text, at)
            place = found.start() if found is not None else len(text)
            if not self._take_prose(at, place, is_last=found is None):
                return False
            if found is None:
                return True
            at = 0 if self._is_fenced else self._read_thought(place)
            if not at:
                self._thought = ""
                self._calls += 1
                at = self._read_call(place, found[1] or found[0])
            if not at or self._calls > _LIMITS.blocks:
                return False
            self._is_after = True

    def _take_prose(self, at: int, end: int, *, is_last: bool) -> bool:
        """Take the prose before something that opens, or at the end of the reply. False if it is not plain."""
        text = self._text
        if is_last and find_cut(self._plan.starts.openers, text, at, end) is not None:
            return False
        if at == end:
            return True
        if self._plan.may_hold_foreign(text, at, end) or not (is_last or self._opens_plainly(at, end)):
            return False
        if self._dialect.layout:  # white space next to calls and reasoning is no text
            stop = at + len(text[at:end].rstrip(SPACES))
            if end - stop > MAX_LAYOUT:
                return False
            if stop > at:
                at = skip_space(text, at) if self._is_after else at
                end = end if is_last else stop
            elif self._is_after or not is_last:
                return True
        self.parts.append(Text.unchecked(text[at:end]))
        self._thought = ""
        return True

    def _opens_plainly(self, at: int, end: int) -> bool:
        """Return whether nothing in the prose hides what opens behind it, which may be in a fence for itself."""
        text = self._text
        if self._is_fenced:
            if text[at:end].isspace():
                return True
            closed = _FENCE_END.match(text, at, end)
            if closed is None:
                return False
            self._is_fenced = False
            at = closed.end()
        if self._is_plain(at, end):
            return True
        start = text.rfind("```", at, end) if self._may_open_fence else -1
        opened = _FENCE_START.match(text, start, end) if start >= 0 else None
        self._is_fenced = opened is not None and opened.end() == end and self._is_plain(at, start)
        return self._is_fenced

    def _is_plain(self, at: int, end: int) -> bool:
        text = self._text
        if all(text.find(mark, at, end) < 0 for mark in _MARKED):
            return True
        found = _PLAIN.match(text, at, end)
        return found is not None and found.end() == end and text[end - 1] != "\\"

    def _read_thought(self, at: int) -> int:
        """Read reasoning. Returns the place after it; 0 if none opens here, or it is not plain."""
        text = self._text
        tag = next((tag for tag in self._plan.ends if text.startswith(tag, at)), None)
        if tag is None:
            return 0
        start = at + len(tag)
        close, pattern = self._plan.ends[tag]
        end = pattern.search(text, start)
        if end is None or not text.startswith(close, end.start()):
            return 0
        stop = end.start()
        if stop > start and not self._is_plain(start, stop):
            return 0
        thought = text[start:stop]
        if self._dialect.layout:
            bare = thought.rstrip(SPACES)
            if len(thought) - len(bare) > MAX_LAYOUT:
                return 0
            thought = bare.lstrip(SPACES)
        if self._thought and thought:
            self.parts.pop()
        self._thought += thought
        if thought:
            self.parts.append(Reasoning.unchecked(self._thought))
        return stop + len(close)

    def _read_call(self, at: int, word: str) -> int:
        """Read a call. Returns the place after it; 0 if none opens here, or it takes a parser."""
        words = self._plan.words
        if words is None:
            return self._read_forms(at, word)
        if word != words.block:
            return 0 if self._is_fenced else self._read_forms(at, word.lower())
        if self._text.startswith(words.opener, at):
            end = 0 if self._is_fenced else self._read_elements(words, at)
            return end or self._read_block(at, len(words.opener))
        tag = read_opener(self._text, at, word)  # with attributes, or with white space
        return self._read_block(at, tag.end - at) if tag else 0

    def _read_forms(self, at: int, key: str) -> int:
        """Read an ordinary call that is no elements."""
        text, toolbox = self._text, self._toolbox
        if toolbox is None:
            return 0
        forms = self._plan.starts.calls.get(key, ())
        tried = [(form, read_whole(form, toolbox, text, at, has_deltas=False)) for form in forms]
        read = [(form, call) for form, call in tried if call is not None]
        if len(read) != 1:
            return 0
        ((form, call),) = read
        span = (at, call.end)
        self.parts.append(_Call(call.name, call.server, call.arguments, span, form.body is Body.ELEMENTS))
        return call.end

    def _read_elements(self, words: Words, at: int) -> int:
        """Read a call after the opener of elements. Returns 0 if it is not ordinary."""
        default, toolbox, text = self._dialect.default_server, self._toolbox, self._text
        here = skip_space(text, at + len(words.opener))
        if 0 <= self._close < here:
            self._close = text.find(words.close, here)
        if self._close < 0 or here - at > MOST_SPACE:
            return 0
        if not text.startswith("<", here):
            return self._read_forms(at, words.block)
        if toolbox is not None:
            whole = read_whole_elements(words, default, toolbox, text, at, has_deltas=False)
            if whole is NOT_ORDINARY:
                return 0
            if whole is not None:
                self.parts.append(_Call(whole.name, whole.server, whole.arguments, (at, whole.end)))
                return whole.end
        call = Ordinary(words, _LIMITS, lambda call: find_tool(call, toolbox, default), [], [])
        call.open(at)
        end = read_ordinary(call, text, 0, [], begin(call, text, at, []))
        if call.outcome != DONE or end > call.limit or not has_all(call):
            return 0
        self.parts.append(_Call(call.name, call.found_on, call.arguments, (at, end)))
        return end

    def _read_block(self, at: int, opener: int) -> int:
        """Read a call that is not ordinary, after an opening tag of such a length, as a parser does. Returns 0 if it
        takes a parser."""
        text = self._text
        self.odd = at
        if len(text) > _LIMITS.block_size or not read_confirmation(text, at + opener, fences=False):
            return 0
        block = Block(at, opener, self._dialect, _LIMITS, self._toolbox, self._name_call)
        if self._is_fenced:
            note_fence(block)
        read_opening_tag(block, text[at : at + opener])
        end = run(block, text, at, 0, [])
        if block.done and not block.again:
            self.parts.append(_Ended(block, end))
            return end
        return 0 if block.done else self._cut_off(block, end)

    def _cut_off(self, block: Block, end: int) -> int:
        """The reply ends in a block, which was read up to `end`."""
        text = self._text
        block.raw.append(text[block.start : end])
        block.raw_end = end
        block.final = True
        end += run(block, text[end:], 0, end, [])
        if block.done or block.error is not None or settle(block, text[block.start :]) is not None:
            return 0  # there may be more to read
        is_whole = ends_complete(block, text[end:], end)
        if is_whole and not block.done:
            end_early(block, len(text))
        self.parts.append(_Ended(block, len(text), is_cut=not is_whole))
        return len(text)

    def _name_call(self, block: Block) -> None:
        """A block has named its tool."""
        if find_shape(block, self._toolbox):
            block.call_id = ""
