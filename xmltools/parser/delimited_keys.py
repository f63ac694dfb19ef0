"""The keys of a call between delimiters: the name of an argument, and the delimiters between it and its value, which
may lack one (`grammars/DIALECTS.md`, section 3)."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from xmltools.errors import Code
from xmltools.parser.delimiters import SPACE, Delimiter, Head, UndecidedError, before, cut_of
from xmltools.parser.elements import path_of
from xmltools.parser.open_call import Block, State
from xmltools.parser.values import begin_marked_leaf
from xmltools.syntax.element_tree import JSON, TEXT, Element
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NAME_LENGTH, OPENER_SPACE, SPACES, is_valid_name

NOT_AN_ARGUMENT: Final = "there is something else than an argument between the arguments"
_OPEN_LIKE = late_pattern(rf"<([^\s<>/]{{0,{NAME_LENGTH}}})")
_VALUE: Final = "value key key_end value_end end closer opener"


def ask(block: Block, at: int, fields: str, gap: str | None = None, *, final: bool = False) -> Delimiter | None:
    """The first of the delimiters in these fields that comes at `at`, after `gap`. `final`: at the end of the reply,
    the part of a delimiter is none."""
    found = block.delimiters.look(block.text, at, fields, gap)
    if found is MORE and not (final and block.final):
        raise UndecidedError
    return found or None


def follows(block: Block, at: int, fields: str, *, is_cut: bool = True) -> Delimiter | bool:
    """Does one of the delimiters, or the end of the reply, follow at `at`? `is_cut`: the part of a delimiter with which
    the reply ends counts too."""
    final = block.final
    found = block.delimiters.look(block.text, at, fields + " nothing" * final)
    if found is MORE and not final:
        raise UndecidedError
    return is_cut if found is MORE else found


def read_key(block: Block, begins: Delimiter) -> Head | None:
    """The argument that begins with this delimiter, if one does."""
    pairs, start = block.pairs, begins.end()
    if pairs.tag_mark:
        tag = tag_at(pairs.tag_mark, block.text, begins.end(1))
        return Head(tag[2], tag.end()) if tag and not tag[1] and is_valid_name(tag[2]) else None
    if pairs.key_attribute:
        head = block.delimiters.read_head("key_end", pairs.key_attribute, block.text, start)
        return head if head and not head.is_empty and is_valid_name(head.name) else None
    gap = before(pairs.key_end, "<")
    ended = ask(block, start, "key_end value key", gap)
    name, missing = ended[1].strip(SPACES) if ended else "", ""
    if ended and ended.lastgroup == "key":  # it begins twice
        first, missing = name, pairs.key_end
        ended = ask(block, ended.end(), "key_end value", gap)
        name = ended[1].strip(SPACES) if ended else ""
        if first not in ("", name):
            return None
    if ended is None or not name or not is_valid_name(name):
        return None
    missing, after = (missing, ended.end()) if ended.lastgroup == "key_end" else (pairs.key_end, ended.end(1))
    return _read_value_start(block, name, after, missing) if pairs.value else Head(name, after, missing)


def _read_value_start(block: Block, name: str, after: int, missing: str, kind: str | None = None) -> Head | None:
    """The delimiters after the name of an argument, up to the one before its value. `kind`: a type came before."""
    own, text = block.delimiters, block.text
    begins = ask(block, after, _VALUE if kind is not None else f"kind_start {_VALUE}")
    if begins and begins.lastgroup == "kind_start":
        ends = ask(block, begins.end(), "kind_end", f"(?s:.){{0,{NAME_LENGTH}}}?")
        return _read_value_start(block, name, ends.end(), missing, ends[1].strip(SPACES)) if ends else None
    here = begins.end(1) if begins else own.skip_layout(text, after)
    is_broken = "\\" in text[after:here]
    if begins and begins.lastgroup == "key_end" and not missing:  # it ends twice
        begins, missing = ask(block, begins.end(), "value"), own.pairs.key
    if begins:
        return Head(name, begins.end(), missing, kind or "", is_broken) if begins.lastgroup == "value" else None
    opens = _OPEN_LIKE.match(text, here)
    if opens and opens.end() == len(text) and not block.final and opens.end() - here < NAME_LENGTH:
        raise UndecidedError
    is_other = here - after > OPENER_SPACE or (opens is not None and own.stands_for(opens[1]))
    return None if is_other else Head(name, here, own.pairs.value, "", is_broken)


def begin_pair(block: Block, begins: Delimiter) -> int:
    """An argument begins with this delimiter, which has no field if it stands for the right one: enter its value."""
    pairs, top, at = block.pairs, block.stack[-1], begins.end(1)
    place = block.base + at
    key = read_key(block, begins)
    if key is None:
        what = f"the {pairs.key} at character {place} begins no argument"
        return give_up_pairs(block, at, NOT_AN_ARGUMENT if pairs.tag_mark else what) + 1
    if begins.lastgroup:
        note_blanks(block, begins, pairs.key or pairs.tag_mark)
    else:
        block.note_missing(pairs.key, place, place)
    name, after, shape = key.name, key.after, block.shape
    bare = name.strip(f"=\"'{SPACES}")
    if shape is not None and not shape.has_property(name) and shape.has_property(bare):
        block.note(Code.DECORATED_NAME, place, f"the argument {name} was read as {bare!r}", place)
        name = bare
    elif first := _joined(block, name):
        message = f"there is no argument {name!r:.80}, or {pairs.key_end} is missing after {first!r}"
        return give_up_pairs(block, at, message) + 1
    if key.missing:
        block.note_missing(key.missing, place, block.base + after)
    if key.is_broken:
        note_break(block, at)
    if len(pairs.key_end) > 1 and not pairs.value and (twice := ask(block, after, "key_end", "")):
        block.note(Code.STRAY_TEXT, block.base + after, f"skipped a second {pairs.key_end}", block.base + after)
        after = twice.end()
    after = after_break(block, after)
    section = ask(block, after, "cdata", SPACE) if pairs.cdata else None
    after = section.end() if section else after
    element, child = Element(name, place), top.shape.child(name)
    if key.kind:
        element.kind = TEXT if key.kind in ("true", "string") else JSON
    path = None if block.discard else path_of(top, name)
    # Text that stands for a list or an object is converted as a whole, and so is an argument that may hold elements, or
    # all the others.
    if (
        element.kind == JSON
        or (not child.is_any and child.opens("", "") is not None)
        or (pairs.tag_mark and not child.is_text)
        or (shape is not None and shape.wraps(name))
    ):
        path = None
    leaf = begin_marked_leaf(block, element, child, block.base + after, path)
    leaf.lacks_mark = key.missing == pairs.value != ""
    leaf.decided = section is not None
    block.state = State.PAIR_VALUE
    return after


def _joined(block: Block, name: str) -> str | None:
    """The argument that may still come with whose name this one begins, if the rest may be of its value: a text that
    mentions the delimiter between the two."""
    pairs, shape = block.pairs, block.shape
    if shape is None or pairs.value or pairs.key_attribute or pairs.tag_mark:
        return None
    if shape.declares(name) or shape.wraps(name):
        return None
    parts = (name[:size] for size in range(1, len(name))) if len(pairs.key_end) > 1 or len(name.split()) > 1 else ()
    return next((part for part in parts if shape.has_property(part) and part not in block.fields), None)


def after_break(block: Block, at: int) -> int:
    """The place after a line break at `at` that lays out a value."""
    line_break = ask(block, at, "line_break", "") if block.pairs.framing else None
    return line_break.end() if line_break else at


def tag_at(token: str, text: str, at: int) -> re.Match[str] | None:
    """The tag whose token is at `at`: a slash for an end tag, and the name."""
    found = tags(token).match(text, at)
    if found and found[2] is None:
        raise UndecidedError
    return found


@cache
def tags(token: str) -> re.Pattern[str]:
    """A pattern of a tag after its token, or, without a name, of what the end of a text cuts off of the two."""
    name = rf"[^\s<>/][^<>\r\n]{{0,{NAME_LENGTH}}}"
    whole = re.escape(token)
    return re.compile(rf"{whole}<(/?)({name})>|(?:{whole}(?:</?(?:{name})?)?|{cut_of(token)})\Z")


def give_up_pairs(block: Block, at: int, message: str, code: Code = Code.MALFORMED_MARKUP) -> int:
    """The call can't be read: skip the rest of it, from `at` on."""
    block.fail(code, message, block.base + at)
    block.state = State.PAIRS_SKIP
    return at


def note_blanks(block: Block, found: Delimiter, delimiter: str) -> None:
    """Record blanks in the delimiter that was found, if some are too many or missing."""
    place = block.base + found.end(1)
    if found[0] != found[1] + delimiter:
        block.note(Code.TAG_WHITE_SPACE, place, f"blanks in {delimiter} are missing, or too many", place)


def note_break(block: Block, at: int) -> None:
    """Record a line break that is written as `\\n`."""
    block.note(Code.STRAY_TEXT, block.base + at, "a backslash and an n between marks were read as a line break")
