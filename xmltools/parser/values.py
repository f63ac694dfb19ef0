"""The content of a leaf: text, literal markup, and what makes an element a node (protocol, sections 3 and 4)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from xmltools.errors import Code
from xmltools.parser.attributes import name_in, name_of
from xmltools.parser.cdata import open_cdata
from xmltools.parser.decode_text import TextReader
from xmltools.parser.end_tags import end_leaf, is_in_section, meet_candidate
from xmltools.parser.open_call import CALL, OTHER, OWN, Block, Container, Leaf, Path, State
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    Tag,
    is_xml_name,
    read_cdata_open,
    read_end_tag,
    read_name,
    read_start_tag,
    skip_space,
)
from xmltools.tools.schema import ANY, Shape


def begin_leaf(block: Block, leaf: Leaf, tag: Tag) -> None:
    """Enter an element whose content is a value, as far as its start tag shows."""
    block.leaf = leaf
    block.ending.aside.clear()
    if tag.empty:
        end_leaf(block, leaf, leaf.start)
    else:
        block.state = State.LEAF_START


def begin_marked_leaf(block: Block, element: Element, shape: Shape, start: int, path: Path | None) -> Leaf:
    """Enter an argument whose value begins at `start` and ends at a mark, not at an element's end tag. It has deltas
    if there is a path."""
    leaf = Leaf(element.name, element, shape, start, path)
    leaf.exact = False  # its end is not decided by elements
    leaf.sections.append(start)  # read as CDATA is: only after the mark there is markup
    leaf.reader = TextReader() if path is not None else None
    block.arguments_closed = False
    most = block.reading.limits.elements
    block.element_count += 1
    if block.element_count > most:
        block.fail(Code.LIMIT_EXCEEDED, f"the block has more than {most} arguments", element.offset)
        block.discard = True
    if not block.discard:
        block.stack[-1].children.append(element)
    block.fields.add(element.name)
    block.leaf = leaf
    return leaf


def read_leaf_start(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: the first thing in an element that is not white space shows whether it is a node or a leaf."""
    if text[at] <= " " and (here := skip_space(text, at)) > at:
        block.put_aside(text[at:here])
        return here
    if text[at] == "<" and not leaf.decided:
        if text.startswith("<!--", at):
            if leaf.literal < 0:
                leaf.literal = block.base + at  # if the element turns out to be a leaf, the comment is part of it
            block.put_aside("<!--")
            block.state = State.COMMENT
            return at + 4
        if "<!--".startswith(text[at : at + 4]):
            return -1
        if text[at + 1] == "/" and leaf.literal >= 0:  # nothing but comments: an empty element
            leaf.start, leaf.literal = block.base + at, -1
            block.ending.aside.clear()
        tag = NO if text[at + 1] == "!" else read_start_tag(text, at)
        if tag is MORE:
            return -1
        if tag and not (tag.spaced or leaf.element.nil) and (tag.is_xml or block.is_number(tag.name)):
            name = name_of(block, tag, name_in(block, tag, leaf.shape), leaf.shape)
            if (shape := leaf.shape.opens(name, leaf.element.name)) is not None:
                _enter_node(block, leaf, shape, name)
                return at
    return _enter_leaf(block, leaf, text, at)


def _enter_node(block: Block, leaf: Leaf, shape: Shape, tag: str) -> None:
    for name, _ in leaf.attributes or ():
        block.note_ignored(name, leaf.tag, leaf.element.offset, leaf.start)
    path = leaf.path
    loose = shape.is_any or leaf.shape.doubts(tag, leaf.element.name)
    if loose:
        path = None  # where its leaves will stand is known when it ends
    elif leaf.shape.is_list and not shape.is_list and path is not None and not isinstance(path[-1], int):
        path = (*path, 0)
    container = Container(leaf.tag, leaf.element, shape, leaf.start, path)
    container.loose = loose
    container.first_leaf = len(block.leaves)
    container.first_repair = len(block.repairs)
    block.stack.append(container)
    block.ending.aside.clear()
    block.leaf = None
    block.state = State.MARKUP


def _enter_leaf(block: Block, leaf: Leaf, text: str, at: int) -> int:
    if not (leaf.decided or leaf.shape.is_any) and leaf.shape.opens("", "") is not None:
        leaf.path = None  # text that stands for a list or an object: it is converted as a whole
    block.state = State.TEXT
    lead = block.ending.aside.take()
    if (leaf.path is not None or leaf.capture is not None) and not block.discard:
        leaf.reader = TextReader(is_begun=not lead and text[at] != "<")
    if leaf.literal >= 0:  # a comment in front is part of the text
        comment = leaf.literal - leaf.start
        block.emit_text(lead[:comment])
        leaf.set_literal(leaf.literal, pasted=True)
        lead = lead[comment:]
    block.emit_text(lead)
    return read_text(block, leaf, text, at)


def turn_into_text(block: Block, container: Container, place: int) -> None:
    """A node turns out to contain text beside its elements: it is a leaf after all."""
    block.stack.pop()
    del block.leaves[container.first_leaf :]
    block.forget_repairs(container.first_repair)
    container.element.children = None
    leaf = Leaf(container.tag, container.element, ANY, container.start)
    leaf.exact = not block.stack[-1].loose
    leaf.literal = container.start
    leaf.pasted = leaf.mixed = True
    if not block.raw.is_whole:
        leaf.counted = place  # what stood before is forgotten
    block.leaf = leaf
    block.note(
        Code.MIXED_CONTENT, place, f"<{container.tag}> contained text beside elements and was read as text", leaf.start
    )
    block.state = State.TEXT


def read_text(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: plain text of a leaf."""
    opening = text.find("</" if leaf.pasted else "<", at)
    if opening < 0:
        end = len(text) - (leaf.pasted and text.endswith("<"))
        block.emit_text(text[at:end])
        return ~end
    if opening > at:
        block.emit_text(text[at:opening])
        return opening
    following = text[at + 1 : at + 2]  # after a `<`
    if not following:
        return -1
    if following == "/":
        is_idle = not block.final and (leaf.reader is None or leaf.reader.idle)
        if is_idle and is_undecided(text, at, leaf.tag, around_clean(block, leaf)):
            return -1
        return _leaf_end_tag(block, leaf, text, at)
    if following == "!":
        opened = read_cdata_open(text, at)
        if opened is MORE:
            return -1
        if opened:
            return open_cdata(block, leaf, opened, at)
    if _is_word(leaf) and following.isalpha():
        name, place, opens = read_name(text, at + 1), block.base + at, block.begins_block(at)
        if opens is MORE:
            return -1
        if opens:
            end_leaf(block, leaf, place, cut=True)
            block.meet_opener(place)
            return at
        if leaf.capture and name and block.field_of(str(name)) is not None and leaf.capture.strip(SPACES):
            block.note_missing(f"</{leaf.tag}>", place, leaf.start)
            end_leaf(block, leaf, place, cut=True)
            return at
    leaf.set_literal(block.base + at, pasted=following in "!?" or is_xml_name(following))
    block.emit_text("<")
    return at + 1


def _is_word(leaf: Leaf) -> bool:
    """Is the leaf a name, a number or a word of a list, which can't contain a call (protocol, 7.5)?"""
    return leaf.capture is not None or not leaf.shape.exact


def _field_follows(block: Block, text: str, at: int) -> bool | None:
    """Does a field follow at `at`, after white space, so that the block has not ended before it?"""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return NO if block.final else MORE
    name = read_name(text, here + 1) if text[here] == "<" else NO
    if name is MORE:
        return block.final or MORE  # cut off, perhaps in the tag of a field
    return bool(name) and block.field_of(str(name)) is not None


_MARKUP = re.compile(f"<(?![{SPACES}=<0-9])")
"""A `<` that may begin markup. At the end of a text, it may."""
_ANY: Final = re.compile("</?")
_ANY_END: Final = re.compile(r"</|<\Z")
_SPACE = f"[{SPACES}]{{0,64}}"
_NAME = r"[A-Za-z_][-.\w]{0,64}"
_AFTER = rf"(?:<{_NAME}>|(?:</({_NAME})>{_SPACE}|)(?:</?(?:{_NAME}|)|))"
_END: Final = re.compile(rf"<(?:/({_NAME}|)(?:(>){_SPACE}{_AFTER}|)|)").fullmatch
"""A part of an end tag; or all of it, with an end tag after it, and the next tag up to the end of its name. `(?:…|)` is
faster than `(?:…)?`."""


def around_clean(block: Block, leaf: Leaf) -> str:
    """The name of the element around a leaf; empty if more than what comes next decides where that ends."""
    return block.stack[-1].tag if leaf.literal < 0 and len(block.stack) > 1 and not block.is_tag else ""


def is_undecided(text: str, at: int, tag: str, around: str) -> bool:
    """Is the text from `at` on perhaps the end of the leaf `tag`, which only more text decides? A whole end tag is
    undecided only if the name of the element `around` the leaf is given."""
    found = _END(text, at)
    if found is None:
        return False
    name, is_whole, outer = found.groups("")
    return name == tag and around != "" and outer in ("", around) if is_whole else tag.startswith(name)


def stops_of_text(block: Block, leaf: Leaf) -> re.Pattern[str]:
    """A pattern of what may begin markup in the text of a leaf, or be cut off of that by the end of a text."""
    if leaf.pasted:
        return _own_ends(leaf.tag[:1] + block.arguments_tag[:1]) if leaf.exact else _ANY_END
    return _MARKUP if leaf.literal >= 0 else _ANY


@lru_cache(maxsize=256)
def _own_ends(letters: str) -> re.Pattern[str]:
    """A pattern of what may begin the end tag of an element, or that of the arguments: `</` and one of these first
    letters, or what the end of a text cuts off of that."""
    letters = re.escape(letters)
    return re.compile(rf"</(?:[{SPACES}]*[{letters}/]|[{SPACES}]*\Z)|<\Z")


def _leaf_end_tag(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """At `</` in plain text."""
    tag = read_end_tag(text, at)
    if tag is MORE:
        is_decided = leaf.exact and leaf.pasted and at + 2 < len(text)
        if not is_decided or stops_of_text(block, leaf).match(text, at):
            return -1
    if tag:
        name, place = tag.name, block.base + at
        kind = OWN if name == leaf.tag else CALL if name == block.arguments_tag and block.depth_of(name) > 0 else OTHER
        if kind != OWN and not leaf.exact and block.depth_of(name) >= 0:
            if leaf.capture is not None:
                follows = _field_follows(block, text, tag.end)
                if follows is MORE:
                    return -1
                if follows:
                    message = f"</{name}> closed <{leaf.tag}>"
                    block.note(Code.MISMATCHED_END_TAG, place, message, leaf.start)
                    end_leaf(block, leaf, place)
                    return tag.end
            end_leaf(block, leaf, place, cut=True)
            block.close_element(name, place, leaf)
            return tag.end
        is_shown = block.is_tag and name == block.arguments_tag and is_in_section(block, leaf, place)
        if not is_shown and (kind != OTHER or not (leaf.pasted or leaf.sections or leaf.lacks_mark)):
            return meet_candidate(block, leaf, at, tag, kind)
    leaf.set_literal(block.base + at, pasted=not _is_word(leaf))
    block.emit_text("</")
    return at + 2
