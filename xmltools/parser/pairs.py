"""Calls that are a name and pairs of argument names and values between literal marks (protocol, section 8).

What is in a value is text: nothing is decoded, and a mark in it counts only if what follows it may follow. An example
of a whole call in a value is content.
"""

from __future__ import annotations

import re
from array import array
from typing import Final

from xmltools.dialects import Dialect, Pairs
from xmltools.errors import Code
from xmltools.parser.block import Block, Leaf, Path, State, emit_cdata, end_early, fail, note, source_of
from xmltools.parser.elements import path_of
from xmltools.parser.leaf_ends import end_leaf
from xmltools.parser.leaf_text import TextReader
from xmltools.syntax.elements import Element
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, OPENER_SPACE, SPACES, is_valid_name, skip_space
from xmltools.tools.schema import ANY

_NAME: Final = re.compile(r"[^\s<>{}\[\]\"'`]+(?:[ \t]+(?=<|\r?\n|\Z))?")
_LINE: Final = re.compile(r"[^<>\r\n]+")
_BREAK: Final = re.compile(r"\r?\n")


def begins_call(dialect: Dialect, text: str, at: int) -> bool | None:
    """Does a call begin with what follows the block's start tag, which ends at `at`?"""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    if dialect.pairs is None:
        return text[here] == "{"
    if dialect.pairs.name:
        return _starts(text, here, dialect.pairs.name)
    found = _NAME.match(text, here, here + NAME_LENGTH)
    if found is None:
        return NO
    after = skip_space(text, found.end())
    if after == len(text):
        return MORE
    if after - found.end() > OPENER_SPACE:
        return NO
    return bool(_mark_at(text, after, marks := (dialect.pairs.key, f"</{dialect.block}>"))) or (
        MORE if _mark_at(text, after, marks) is MORE else NO
    )


def read_start(dialect: Dialect, text: str, at: int, word: str) -> int | bool | None:
    """The place after the start tag of a call, `<word…` at `at`, if a call begins there; -1, where a call begins
    without one."""
    after = at + 1 + len(word)
    if word == dialect.block:
        if text[after : after + 1] != ">":
            return NO if after < len(text) else MORE
        begins = begins_call(dialect, text, after + 1)
        return after + 1 if begins else begins
    pairs = dialect.pairs
    if pairs is None or not pairs.bare:
        return NO
    begins = _starts(text, at, pairs.name)
    if not begins:
        return begins
    start = at + len(pairs.name)
    found = _LINE.match(text, start, start + NAME_LENGTH)
    end = found.end() if found else start
    if end == len(text):
        return MORE if end - start < NAME_LENGTH else NO
    begins = _starts(text, end, pairs.name_end) if end > start else NO
    if not begins:
        return begins
    after = end + len(pairs.name_end)
    here = skip_space(text, after)
    if here == len(text) and here - after <= OPENER_SPACE:
        return MORE
    mark = _mark_at(text, here, (pairs.key, pairs.end)) if here - after <= OPENER_SPACE else NO
    return -1 if isinstance(mark, str) else mark


def _starts(text: str, at: int, mark: str) -> bool | None:
    """Is the mark at `at`?"""
    if text.startswith(mark, at):
        return True
    return MORE if len(text) - at < len(mark) and mark.startswith(text[at:]) else NO


def _mark_at(text: str, at: int, marks: tuple[str, ...]) -> str | bool | None:
    """The mark at `at`, one of those given."""
    answer: bool | None = NO
    for mark in marks:
        if text.startswith(mark, at):
            return mark
        if len(text) - at < len(mark) and mark.startswith(text[at:]):
            answer = MORE
    return answer


def _pairs(block: Block) -> Pairs:
    pairs = block.dialect.pairs
    assert pairs is not None  # its states are entered for no other body
    return pairs


def _closer(block: Block) -> str:
    return f"</{block.dialect.block}>"


def _give_up(block: Block, message: str, place: int) -> None:
    fail(block, Code.MALFORMED_MARKUP, message, place)
    block.state = State.PAIRS_SKIP


# -- the name ----------------------------------------------------------------------------------------------------------


def read_pairs_name(block: Block, text: str, at: int) -> int:
    """State: at the opener, or after it, before the tool's name."""
    if block.base + at < block.body_start:
        return block.body_start - block.base
    here = skip_space(text, at)
    if here == len(text) or here > at:
        return here
    pairs = _pairs(block)
    start = here + len(pairs.name)
    if pairs.name:
        end = text.find(pairs.name_end, start)
        broken = next((i for i in range(start, min(len(text), start + NAME_LENGTH)) if text[i] in "<\r\n"), -1)
        if broken >= 0 and not 0 <= end < broken:
            _give_up(block, f"{text[here:broken]!r:.80} has no {pairs.name_end}", block.base + here)
            return broken
        if end < 0 and len(text) - start <= NAME_LENGTH:
            return -1
        after = end + len(pairs.name_end)
    else:
        found = _NAME.match(text, start, start + NAME_LENGTH)
        end = after = found.end() if found else start
        if end == len(text):
            return -1
    name = text[start:end].strip(SPACES) if end >= 0 else ""
    block.name_start = block.base + start
    if not name or not is_valid_name(name):
        fail(block, Code.INVALID_NAME, f"{name[:60]!r} is no name", block.name_start)
        block.state = State.PAIRS_SKIP
        return start
    block.name = name
    block.on_name(block)
    block.stack[-1].shape = block.shape or ANY
    block.stack[-1].path = () if block.deltas else None
    block.state = State.PAIRS
    return after


# -- between pairs -----------------------------------------------------------------------------------------------------


def read_pairs(block: Block, text: str, at: int) -> int:
    """State: where a pair may begin, or the arguments end."""
    here = skip_space(text, at)
    if here == len(text) or here > at:
        return here
    pairs, closer = _pairs(block), _closer(block)
    opener = f"<{block.dialect.block}>"
    mark = _mark_at(text, here, tuple(filter(None, (pairs.key, pairs.end, pairs.name, closer, opener))))
    if mark is MORE:
        return -1
    place = block.base + here
    if mark == pairs.key:
        return _begin_pair(block, text, here)
    if mark == pairs.end and pairs.end:
        block.arguments_closed = True
        block.state = State.PAIRS_END
        return here + len(pairs.end)
    if mark == closer:
        if pairs.end:
            note(block, Code.MISSING_END_TAG, place, f"{pairs.end} is missing", block.start)
        block.done = True
        return here + len(closer)
    if mark:
        fail(block, Code.MALFORMED_MARKUP, "another call begins before this one has ended", place)
        block.done = True
        return here
    _give_up(block, "there is text between the arguments", place)
    return here


def _begin_pair(block: Block, text: str, at: int) -> int:
    head = _pair_at(block, text, at)
    if head is MORE:
        return -1
    place, pairs = block.base + at, _pairs(block)
    if head is NO or isinstance(head, bool):
        _give_up(block, f"the {pairs.key} at character {place} begins no argument", place)
        return at + 1
    key, after = head
    if pairs.framing:
        framing = _BREAK.match(text, after)
        if framing is None and text[after:] in ("", "\r"):
            return -1
        after = framing.end() if framing else after
    top = block.stack[-1]
    element = Element(key, place)
    shape = top.shape.child(key)
    path: Path | None = None
    if top.path is not None and not block.discard:
        path = path_of(block, key, top.path)
        if not shape.is_any and shape.opens("", "") is not None:
            path = None  # text that stands for a list or an object is converted as a whole
    leaf = Leaf(key, element, shape, block.base + after, path)
    leaf.exact = False  # its end is not decided by elements
    leaf.sections = array("q", (leaf.start,))  # read as CDATA is: nothing in it is markup
    leaf.reader = TextReader() if path is not None else None
    block.element_count += 1
    if block.element_count > block.limits.elements:
        fail(block, Code.LIMIT_EXCEEDED, f"the block has more than {block.limits.elements} arguments", place)
        block.discard = True
    if not block.discard and top.element.children is not None:
        top.element.children.append(element)
    block.fields.add(key)
    block.leaf = leaf
    block.state = State.PAIR_VALUE
    return after


def _pair_at(block: Block, text: str, at: int) -> tuple[str, int] | bool | None:
    """The name of the argument whose pair begins at `at`, and the place where its value may begin."""
    pairs = _pairs(block)
    start = at + len(pairs.key)
    end = text.find(pairs.key_end, start, start + NAME_LENGTH + len(pairs.key_end))
    broken = text.find("<", start, end if end >= 0 else start + NAME_LENGTH)
    if broken >= 0 and not pairs.key_end.startswith(text[broken : broken + len(pairs.key_end)]):
        return NO
    if end < 0:
        return MORE if len(text) - start < NAME_LENGTH + len(pairs.key_end) else NO
    key = text[start:end].strip(SPACES)
    after = end + len(pairs.key_end)
    if not key or not is_valid_name(key):
        return NO
    if pairs.value:
        here = skip_space(text, after)
        begins = _starts(text, here, pairs.value) if here - after <= OPENER_SPACE else NO
        if not begins:
            return begins
        after = here + len(pairs.value)
    return key, after


# -- values ------------------------------------------------------------------------------------------------------------


def read_pair_value(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: in a value."""
    pairs, closer = _pairs(block), _closer(block)
    opens = pairs.name or f"<{block.dialect.block}>"
    marks = tuple(filter(None, (pairs.value_end, pairs.key, pairs.end, closer, opens)))
    start = at
    while True:
        place = text.find("<", at)
        until = place if place >= 0 else len(text)
        kept = until
        if pairs.framing and kept > start:  # a line break before the end is no part of the value
            kept -= text.endswith("\n", start, kept)
            kept -= kept > start and text.endswith("\r", start, kept)
        if place < 0:
            emit_cdata(block, leaf, text[start:kept])
            return kept if kept > start else -1
        mark = _mark_at(text, place, marks)
        ends = _ends_value(block, leaf, text, place, mark) if isinstance(mark, str) else mark
        if ends is MORE:
            emit_cdata(block, leaf, text[start:kept])
            return kept if kept > start else -1
        if ends:
            emit_cdata(block, leaf, text[start:kept])
            return _end_value(block, leaf, text, place, str(mark))
        if isinstance(mark, str):
            _count_example(block, leaf, text, place, mark)
        at = place + 1
        if isinstance(mark, str):
            at = place + len(mark)
        emit_cdata(block, leaf, text[start:at])
        return at


def _ends_value(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> bool | None:
    """Does the value end before the mark at `at`?"""
    pairs, closer = _pairs(block), _closer(block)
    after = at + len(mark)
    if leaf.claims > 0:
        return NO
    if mark == pairs.value_end:
        return _follows(block, text, after, tuple(filter(None, (pairs.key, pairs.end, closer))))
    # From here on the value's own end mark is missing.
    if mark == pairs.key:
        if pairs.framing and not _is_at_line_start(block, at):
            return NO
        head = _pair_at(block, text, at)
        if head is MORE or not isinstance(head, tuple):
            return head
        return head[0] not in block.fields and (block.shape is None or block.shape.has_property(head[0]))
    if mark == pairs.end:
        return _is_at_line_start(block, at) and _follows(block, text, after, (closer,))
    if mark == closer and not pairs.end:
        return _follows(block, text, after, (f"<{block.dialect.block}>",))
    return NO


def _follows(block: Block, text: str, at: int, marks: tuple[str, ...]) -> bool | None:
    """Does one of the marks, or the end of the reply, follow at `at`?"""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return True if block.final else MORE
    mark = _mark_at(text, here, marks)
    if mark is MORE and block.final:
        return True
    return True if isinstance(mark, str) else mark


def _is_at_line_start(block: Block, at: int) -> bool:
    place = block.base + at
    return place == block.start or source_of(block, place - 1, place) in ("\n", "\r")


def _count_example(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> None:
    """A mark that is content may begin an example of a call, or end one."""
    pairs = _pairs(block)
    if mark == (pairs.name or f"<{block.dialect.block}>"):
        leaf.claims += _is_at_line_start(block, at) if pairs.name else True
    elif leaf.claims > 0 and mark == (pairs.end or _closer(block)):
        leaf.claims -= 1


def _end_value(block: Block, leaf: Leaf, text: str, at: int, mark: str) -> int:
    """The value ends before the mark at `at`."""
    pairs = _pairs(block)
    place = end = block.base + at
    if pairs.framing:
        tail = source_of(block, max(leaf.start, end - 2), end)
        end -= 2 if tail.endswith("\r\n") else tail.endswith(("\n", "\r"))
    leaf.sections.append(end)
    end_leaf(block, leaf, end)
    block.state = State.PAIRS
    if mark == pairs.value_end:
        return at + len(mark)
    note(block, Code.MISSING_END_TAG, place, f"{pairs.value_end} is missing", leaf.start)
    return at


# -- the end -----------------------------------------------------------------------------------------------------------


def read_pairs_end(block: Block, text: str, at: int) -> int:
    """State: after the mark that ends the arguments."""
    here = skip_space(text, at)
    if here == len(text) or here > at:
        return here
    pairs, closer = _pairs(block), _closer(block)
    mark = _mark_at(text, here, (closer, *((pairs.name,) if pairs.name else ())))
    if mark is MORE and not block.final:
        return -1
    if mark == closer:
        block.done = True
        return here + len(closer)
    if mark and not block.is_bare:
        note(block, Code.JOINED_CALLS, block.base + here, "another call is in the same block", block.start)
        block.again = block.done = True
        return here
    if block.is_bare:
        block.done = True
    else:
        end_early(block, block.base + here)
    return here


def skip_pairs(block: Block, text: str, at: int) -> int:
    """State: in a call that can't be read. It goes on to its end tag, or to the next call."""
    place = text.find("<", at)
    if place < 0:
        return len(text)
    if place > at:
        return place
    pairs, closer = _pairs(block), _closer(block)
    opener = f"<{block.dialect.block}>"
    mark = _mark_at(text, at, (closer, opener, *((pairs.end,) if block.is_bare else ())))
    if mark is MORE:
        return -1
    if mark == opener:
        block.done = True
        return at
    if mark:
        block.done = True
        return at + len(str(mark))
    return at + 1
