"""CDATA sections in a value: where one begins, and which `]]>` ends it (protocol, 4.7)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code
from xmltools.parser.end_tags import continue_cdata, end_section, is_next_section, meet_candidate
from xmltools.parser.open_call import AROUND, CALL, OTHER, OWN, Block, Leaf, State
from xmltools.syntax.markup import CDATA_OPEN, MORE, NO, SPACES, Answer, Tag, read_cdata_open, read_end_tag

_LONG: Final = 4096
_NEXT: Final = re.compile(r"<|\]\]>|\]\]?\Z")
"""What follows text after a `]]>`, or what may become another one."""


def open_cdata(block: Block, leaf: Leaf, opened: str, at: int) -> int:
    """At `opened`, which begins a section. Returns the place after it."""
    if opened != CDATA_OPEN:
        block.note(Code.CDATA_CASE, block.base + at, f"{opened} was read as CDATA", leaf.start)
    if leaf.reader:
        block.emit(leaf.reader.open_cdata())
    leaf.counted = block.base + at + len(opened)
    if not block.discard:
        leaf.sections.append(leaf.counted)
    block.state = State.CDATA
    return at + len(opened)


def read_cdata(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: content of a CDATA section."""
    end = _find_section_end(block, text, at)
    if end < 0:
        end = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
        block.emit_cdata(text[at:end])
        return ~end
    block.emit_cdata(text[at:end])
    block.own_ending().section = block.base + end
    block.state = State.CDATA_TAIL
    return end + 3


def _find_section_end(block: Block, text: str, at: int) -> int:
    """The first `]]>`, or -1.

    CPython searches backwards four times as fast as forwards. So in a long text the last two `]]>` are looked
    for, once: the first one after the last but one is the last one.
    """
    if len(text) - at < _LONG:
        return text.find("]]>", at)
    ends = block.ending.last_ends
    if ends is None:
        last = text.rfind("]]>", at)
        ends = text.rfind("]]>", at, last) if last >= 0 else -1, last
        block.own_ending().last_ends = ends
    before, last = ends
    if before >= at:
        return text.find("]]>", at)
    return last if last >= at else -1


def read_cdata_tail(block: Block, leaf: Leaf, text: str, at: int) -> int:
    """State: after a `]]>`. What follows shows whether it ended the section (protocol, 4.7)."""
    found = _NEXT.search(text, at)
    mark, place = (found[0], found.start()) if found else ("", len(text))
    if place > at or mark != "<":
        block.put_aside(text[at:place])
        if mark == "]]>":
            continue_cdata(block, leaf)
        return place if mark in ("<", "]]>") else ~place
    # At the first `<` after the `]]>`.
    ends: bool | None = NO
    tag: Tag | Answer = NO
    kind = OTHER
    if text.startswith("</", at):
        tag = read_end_tag(text, at)
        if tag:
            depth = block.depth_of(tag.name)
            is_call = tag.name == block.arguments_tag and depth > 0
            kind = OWN if tag.name == leaf.tag else CALL if is_call else AROUND if depth > 1 else OTHER
    elif text.startswith("<!--", at):
        ends = not block.count_examples(block.ending.section)
    else:
        opened = read_cdata_open(text, at)
        if opened is MORE or "<!--".startswith(text[at : at + 4]):
            return -1
        ends = is_next_section(block, leaf, block.base + at + len(opened)) if opened else NO
    if kind == OTHER and tag is not MORE and ends is NO:
        tag = _lost_end(block, leaf, text, at)
    if tag is MORE or ends is MORE:
        return -1
    if tag:
        return meet_candidate(block, leaf, at, tag, kind)
    (end_section if ends else continue_cdata)(block, leaf)
    return at


_DAMAGED: Final = re.compile(rf"<([^]<>{SPACES}]{{0,64}})>?")


def _lost_end(block: Block, leaf: Leaf, text: str, at: int) -> Tag | Answer:
    """At the `<` after a `]]>`: what is there instead of the end tag of the leaf, perhaps nothing, if what follows that
    may show it."""
    around, found = block.stack[-1].shape, _DAMAGED.match(text, at)
    is_after = not block.source_of(block.ending.section + 3, block.base + at).strip(SPACES)
    if not (found and is_after and leaf.exact) or around.knows(" ", ""):  # such an element may hold any other
        return NO
    end, name = found.end(), found[1]
    if end == len(text) and not block.final:
        return MORE
    if around.knows(name, leaf.tag) and (around.is_list or name != leaf.tag):
        end = at
    return Tag(text[at:end], end, False)
