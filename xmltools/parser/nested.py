"""Arguments that are elements with a token before each tag: only where that stands there is markup.

What is between the tags of an argument is looked at when the call has ended (`grow`): text, or other elements.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from xmltools.dialects import Pairs
from xmltools.errors import Code
from xmltools.parser.block import Block, Leaf, State, emit_cdata, fail, note
from xmltools.parser.elements import path_of
from xmltools.parser.end_tags import end_leaf
from xmltools.parser.json_states import begin_json_arguments
from xmltools.parser.values import begin_marked_leaf
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, OPENER_SPACE, SPACES, is_cut_off, is_valid_name, skip_space

_MIXED: Final = "$text"
"""The name of the text that stands beside elements."""


@lru_cache(maxsize=16)
def _tags(mark: str) -> re.Pattern[str]:
    """A tag after its mark: a slash for an end tag, and the name."""
    return re.compile(rf"{re.escape(mark)}<(/?)([^\s<>/][^<>\r\n]{{0,{NAME_LENGTH}}})>")


@lru_cache(maxsize=16)
def _cut_tags(mark: str) -> re.Pattern[str]:
    """What the end of a text may cut off of one."""
    starts = "|".join(re.escape(mark[:size]) for size in range(len(mark) - 1, 0, -1))
    return re.compile(rf"(?:{re.escape(mark)}(?:<(?:/?(?:[^\s<>/][^<>\r\n]{{0,{NAME_LENGTH}}})?)?)?|{starts})\Z")


def _pairs(block: Block) -> Pairs:
    pairs = block.dialect.pairs
    assert pairs is not None  # its states are entered for no other body
    return pairs


def _tag_at(pairs: Pairs, text: str, at: int) -> re.Match[str] | bool | None:
    """The tag whose mark is at `at`."""
    found = _tags(pairs.tag_mark).match(text, at)
    if found is not None:
        return found
    return MORE if _cut_tags(pairs.tag_mark).match(text, at) else NO


def read_nested(block: Block, text: str, at: int) -> int:
    """State: where an argument may begin, or the arguments end."""
    pairs, dialect = _pairs(block), block.dialect
    here = skip_space(text, at)
    if here > at:
        return here
    is_begun = bool(block.fields) or block.json is not None
    if text[here] == "{" and not is_begun:
        begin_json_arguments(block, here, here)
        return here
    place = block.base + here
    if text.startswith(pairs.end, here):
        block.arguments_closed = True
        block.state = State.PAIRS_END
        return here + len(pairs.end)
    if text.startswith((dialect.closer, pairs.name), here):
        note(block, Code.MISSING_END_TAG, place, f"{pairs.end} is missing", block.start)
        block.state = State.PAIRS_END
        return here
    tag = _tag_at(pairs, text, here)
    if tag is MORE:
        return -1
    if isinstance(tag, re.Match) and not tag[1] and is_valid_name(tag[2]) and not text.startswith(dialect.opener, here):
        return _begin_argument(block, tag[2], here, tag.end())
    fail(block, Code.MALFORMED_MARKUP, "there is something else than an argument between the arguments", place)
    block.state = State.PAIRS_SKIP
    return here


def _begin_argument(block: Block, name: str, at: int, after: int) -> int:
    place = block.base + at
    top = block.stack[-1]
    element = Element(name, place)
    shape = top.shape.child(name)
    path = path_of(block, name, top.path) if top.path is not None and not block.discard else None
    begin_marked_leaf(block, element, shape, block.base + after, path if shape.is_text else None)
    block.state = State.NESTED_VALUE
    return after


def read_nested_value(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: in an argument."""
    pairs = _pairs(block)
    mark = pairs.tag_mark
    place = text.find(mark, at)
    if place < 0:
        cut = _cut_tags(mark).search(text, max(at, len(text) - len(mark)))
        end = cut.start() if cut else len(text)
        emit_cdata(block, leaf, text[at:end])
        return end if end > at else -1
    emit_cdata(block, leaf, text[at:place])
    if place > at:
        return place
    ends: bool | None = NO
    if text.startswith(pairs.end, place):
        nexts = block.dialect.closer, pairs.name
        ends = _follows(block, text, place + len(pairs.end), nexts)
    if ends is MORE:
        return -1
    if ends:
        message = f"{mark}</{leaf.tag}> is missing"
        if leaf.mixed:  # nobody can tell what belongs to it
            fail(block, Code.MALFORMED_MARKUP, message, block.base + place)
        _end_argument(block, leaf, block.base + place)
        note(block, Code.MISSING_END_TAG, block.base + place, message, leaf.start)
        return place
    tag = _tag_at(pairs, text, place)
    if tag is MORE:
        return -1
    after = place + len(mark)
    if isinstance(tag, re.Match):
        after = tag.end()
        is_own = tag[2] == leaf.tag and tag[1] != "" and not leaf.claims
        ends = _follows(block, text, after, (mark,)) if is_own else NO
        if ends is MORE:
            return -1
        if ends:
            _end_argument(block, leaf, block.base + place)
            return after
        leaf.mixed = True
        if tag[2] == leaf.tag and not is_own:
            leaf.claims += -1 if tag[1] else 1
    emit_cdata(block, leaf, text[place:after])
    return after


def _follows(block: Block, text: str, at: int, marks: tuple[str, ...]) -> bool | None:
    """Does one of the marks follow at `at`, or the end of the reply?"""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if text.startswith(marks, here):
        return True
    if any(is_cut_off(text, here, mark) for mark in marks):
        return True if block.final else MORE
    return NO


def _end_argument(block: Block, leaf: Leaf, end: int) -> None:
    """The content of the argument ends at `end`."""
    leaf.sections.append(end)
    end_leaf(block, leaf, end)
    block.state = State.NESTED


def grow(block: Block, leaf: Leaf) -> None:
    """Give the argument the elements that its text contains. Text beside them is one more, with a repair. If their tags
    don't fit, or if they nest too deep, the block fails."""
    mark, text = _pairs(block).tag_mark, leaf.element.text
    open_ones: list[tuple[Element, int, list[str]]] = [(leaf.element, 0, [])]
    at = 0
    for tag in _tags(mark).finditer(text):
        parent, begun, beside = open_ones[-1]
        beside.append(text[at : tag.start()])
        at = tag.end()
        place = leaf.start + tag.start()
        if tag[1]:
            if len(open_ones) == 1 or parent.name != tag[2]:
                return fail(block, Code.MALFORMED_MARKUP, f"</{tag[2]}> ends nothing that is open", place)
            _close(block, parent, mark, text[begun : tag.start()], beside)
            open_ones.pop()
            continue
        child = Element(tag[2], place)
        if parent.children is None:
            parent.children = []
        parent.children.append(child)
        open_ones.append((child, at, []))
        block.element_count += 1
        if len(open_ones) > block.limits.depth or block.element_count > block.limits.elements:
            return fail(block, Code.LIMIT_EXCEEDED, f"there are too many elements in <{leaf.tag}>", place)
    element, _, beside = open_ones[-1]
    if len(open_ones) > 1:
        return fail(block, Code.MALFORMED_MARKUP, f"<{element.name}> is not closed", element.offset)
    return _close(block, element, mark, text, [*beside, text[at:]])


def _close(block: Block, element: Element, mark: str, inner: str, beside: list[str]) -> None:
    """The element ends: `inner` is all that is in it, `beside` the texts beside its children."""
    if element.children is None:
        element.text = inner
        return
    element.inner = inner.replace(mark, "")
    text = "".join(beside)
    if text.strip(SPACES):
        name = _MIXED
        while any(child.name == name for child in element.children):
            name = "$" + name
        child = Element(name, element.offset)
        child.text = text
        element.children.append(child)
        message = f"<{element.name}> contained text beside elements, which was read as {name}"
        note(block, Code.MIXED_CONTENT, element.offset, message, element.offset)
