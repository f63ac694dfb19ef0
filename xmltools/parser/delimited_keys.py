"""The keys of a call between delimiters: the name of an argument, and the delimiters between it and its value, which
may lack one (`grammars/DIALECTS.md`, section 3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from xmltools.errors import Code
from xmltools.parser.block import Block, Path, State
from xmltools.parser.delimiters import (
    LAYOUT,
    SPACE,
    Delimiter,
    Head,
    UndecidedError,
    before,
    cut_of,
)
from xmltools.parser.elements import path_of
from xmltools.parser.values import begin_marked_leaf
from xmltools.syntax.element_tree import JSON, TEXT, Element
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NAME_LENGTH, OPENER_SPACE, SPACES, is_valid_name

NOT_AN_ARGUMENT: Final = "there is something else than an argument between the arguments"
_TEXT_KINDS: Final = ("true", "string")
"""Kinds of a value that is text."""
_OPEN_LIKE: Final = late_pattern(rf"<([^\s<>/]{{0,{NAME_LENGTH}}})")
_VALUE: Final = "value key key_end value_end end closer opener"


def ask(block: Block, at: int, fields: str, gap: str = LAYOUT, *, final: bool = False) -> Delimiter | None:
    """The first of the delimiters in these fields that comes at `at`, after `gap`. `final`: at the end of the reply,
    the part of a delimiter is none."""
    found = block.delimiters.match(block.reading.text, at, fields, gap)
    if found is None or found.lastgroup != "gap":
        return found
    if final and block.reading.final:
        return None
    raise UndecidedError


def follows(block: Block, at: int, fields: str, *, is_cut: bool = True) -> bool:
    """Does one of the delimiters, or the end of the reply, follow at `at`? `is_cut`: the part of a delimiter with which
    the reply ends counts too."""
    found = block.delimiters.match(block.reading.text, at, fields, LAYOUT)
    if found is None or found.lastgroup != "gap":
        return found is not None
    if not block.reading.final:
        raise UndecidedError
    return is_cut or found.end() == found.end(1)


def read_key(block: Block, begins: Delimiter) -> Head | None:
    """The argument that begins with this delimiter, if one does."""
    pairs, start = block.delimiters.pairs, begins.end()
    if pairs.tag_mark:
        tag = tag_at(pairs.tag_mark, block.reading.text, begins.end(1))
        return Head(tag[2], tag.end()) if tag and not tag[1] and is_valid_name(tag[2]) else None
    if pairs.key_attribute:
        head = block.delimiters.read_head("key_end", pairs.key_attribute, block.reading.text, start)
        if head is MORE:
            raise UndecidedError
        return head if head and not head.is_empty and is_valid_name(head.name) else None
    ended = ask(block, start, "key_end value", before(pairs.key_end, "<"))
    name = ended[1].strip(SPACES) if ended else ""
    if ended is None or not name or not is_valid_name(name):
        return None
    missing, after = ("", ended.end()) if ended.lastgroup == "key_end" else (pairs.key_end, ended.end(1))
    return _read_value_start(block, name, after, missing) if pairs.value else Head(name, after, missing)


def _read_value_start(block: Block, name: str, after: int, missing: str) -> Head | None:
    """The delimiters after the name of an argument, up to the one before its value."""
    own, text, kind = block.delimiters, block.reading.text, ""
    begins = ask(block, after, f"kind_start {_VALUE}")
    here = begins.end(1) if begins else own.skip_layout(text, after)
    is_broken = "\\" in text[after:here]
    if begins and begins.lastgroup == "kind_start":
        ends = ask(block, begins.end(), "kind_end", f"(?s:.){{0,{NAME_LENGTH}}}?")
        if ends is None:
            return None
        kind, after = ends[1].strip(SPACES), ends.end()
        here = own.skip_layout(text, after)
        begins = ask(block, after, _VALUE)
    if begins:
        return Head(name, begins.end(), missing, False, is_broken, kind) if begins.lastgroup == "value" else None
    opens = _OPEN_LIKE.match(text, here)
    if opens and opens.end() == len(text) and not block.reading.final and opens.end() - here < NAME_LENGTH:
        raise UndecidedError
    is_other = here - after > OPENER_SPACE or (opens is not None and own.stands_for(opens[1]))
    return None if is_other else Head(name, here, own.pairs.value, False, is_broken)


def begin_pair(block: Block, begins: Delimiter) -> int:
    """An argument begins with this delimiter: enter its value."""
    pairs, text, top, at = block.delimiters.pairs, block.reading.text, block.stack[-1], begins.end(1)
    place = block.base + at
    key = read_key(block, begins)
    if key is None:
        what = f"the {pairs.key} at character {place} begins no argument"
        give_up_pairs(block, NOT_AN_ARGUMENT if pairs.tag_mark else what, place)
        return at + 1
    note_blanks(block, begins, pairs.key)
    name, after = _known_name(block, key.name, place), key.after
    if key.missing:
        note_missing(block, key.missing, place, block.base + after)
    if key.is_broken:
        note_break(block, at)
    if pairs.framing:
        if text[after : after + 2] in ("", "\r"):
            raise UndecidedError
        after += text.startswith("\n", after) or 2 * text.startswith("\r\n", after)
    section = ask(block, after, "cdata", SPACE) if pairs.cdata else None
    after = section.end() if section else after
    element, shape = Element(name, place), top.shape.child(name)
    if key.kind:
        element.kind = TEXT if key.kind in _TEXT_KINDS else JSON
    path: Path | None = None
    if top.path is not None and not block.discard:
        path = path_of(block, name, top.path)
        # Text that stands for a list or an object is converted as a whole, and so is an argument that may hold
        # elements, or all the others.
        is_whole = element.kind == JSON or (not shape.is_any and shape.opens("", "") is not None)
        is_whole = is_whole or (pairs.tag_mark != "" and not shape.is_text)
        if is_whole or (name in pairs.wrappers and block.shape is not None and not block.shape.declares(name)):
            path = None
    leaf = begin_marked_leaf(block, element, shape, block.base + after, path)
    leaf.lacks_mark = key.missing == pairs.value != ""
    leaf.decided = section is not None
    block.state = State.PAIR_VALUE
    return after


def tag_at(token: str, text: str, at: int) -> re.Match[str] | None:
    """The tag whose token is at `at`: a slash for an end tag, and the name."""
    found = tags(token).match(text, at)
    if found is None and _cut_tags(token).match(text, at):
        raise UndecidedError
    return found


@lru_cache(maxsize=16)
def tags(token: str) -> re.Pattern[str]:
    """A pattern of a tag after its token."""
    return re.compile(rf"{re.escape(token)}<(/?)([^\s<>/][^<>\r\n]{{0,{NAME_LENGTH}}})>")


@lru_cache(maxsize=16)
def _cut_tags(token: str) -> re.Pattern[str]:
    tag = rf"(?:<(?:/?(?:[^\s<>/][^<>\r\n]{{0,{NAME_LENGTH}}})?)?)?"
    return re.compile(rf"(?:{re.escape(token)}{tag}|{cut_of(token)})\Z")


def _known_name(block: Block, name: str, place: int) -> str:
    """The name of an argument, without quotes if the tool declares it so."""
    shape = block.shape
    if name[0] not in "\"'" or name[0] != name[-1] or shape is None or block.delimiters.pairs.tag_mark:
        return name
    bare = name[1:-1].strip(SPACES)
    if shape.has_property(name) or not shape.has_property(bare):
        return name
    block.note(Code.DECORATED_NAME, place, f"the argument {name} was read as {bare!r}", place)
    return bare


def give_up_pairs(block: Block, message: str, place: int, code: Code = Code.MALFORMED_MARKUP) -> None:
    """The call can't be read: skip the rest of it."""
    block.fail(code, message, place)
    block.state = State.PAIRS_SKIP


def note_missing(block: Block, delimiter: str, place: int, owner: int) -> None:
    """Record that there is no such delimiter at `place`."""
    block.note(Code.MISSING_END_TAG, place, f"{delimiter} is missing", owner)


def note_blanks(block: Block, found: Delimiter, delimiter: str) -> None:
    """Record blanks in the delimiter that was found, if there are some."""
    if delimiter[-1:] == "=" and found[found.lastgroup or 0] != delimiter:
        block.note(Code.TAG_WHITE_SPACE, block.base + found.end(1), f"blanks in {delimiter}", block.base + found.end(1))


def note_break(block: Block, at: int) -> None:
    """Record a line break that is written as `\\n`."""
    block.note(Code.STRAY_TEXT, block.base + at, "a backslash and an n between marks were read as a line break")
