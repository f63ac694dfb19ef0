"""Calls that are a name, and keys and values of arguments, between delimiters (`grammars/DIALECTS.md`, section 3): the
name of the tool, the places between arguments, and the end.

The keys are read by `delimited_keys`, values by `delimited_values`, arguments that are elements by
`delimited_elements`.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Pairs
from xmltools.errors import Code
from xmltools.parser.block import Block, State
from xmltools.parser.delimited_keys import (
    NOT_AN_ARGUMENT,
    ask,
    begin_pair,
    give_up_pairs,
    note_blanks,
    note_break,
    note_missing,
)
from xmltools.parser.delimited_starts import MAX_STRAY, begins_python
from xmltools.parser.delimiters import NAME, SPACE, UndecidedError, before
from xmltools.parser.json_states import begin_json_arguments, begin_json_body
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, OPENER_SPACE, SPACES, is_cut_off, is_valid_name, skip_space
from xmltools.tools.schema import ANY

_NAME: Final = re.compile(NAME)
_PYTHON_NAME: Final = re.compile(r"[A-Za-z_][\w.]*+", re.ASCII)
_BETWEEN: Final = "key end name closer opener object object_end fillers tag_mark"
_AFTER_JSON: Final = f"{_BETWEEN} turn_ends"


def read_pairs(block: Block, text: str, at: int) -> int:
    """State: before the name of the tool, between arguments, or after them."""
    own, state = block.delimiters, block.state
    start = max(at, block.body_start - block.base)
    here = own.skip_layout(text, start) if state == State.PAIRS else skip_space(text, start)
    kept = here
    try:
        if state == State.PAIRS_END:
            if block.is_bare or block.dialect.may_lack_end:
                kept = at  # white space belongs to the call only if its end follows
            return (_end_bare if block.is_bare else _end_call)(block, text, at, here)
        if "\\" in text[start:here]:
            note_break(block, start)
        if here < len(text):
            return (_read_argument if state == State.PAIRS else _begin_call)(block, text, here)
    except UndecidedError:
        pass  # what is left comes again with the next chunk
    return kept if kept > at else -1


def _begin_call(block: Block, text: str, at: int) -> int:
    """The name of the tool, or its delimiter, is at `at`."""
    pairs, start = block.delimiters.pairs, at
    if pairs.python and text[at] in "[,":
        block.in_list = True
        return at + 1
    if not pairs.name and text[at] == "{":
        block.note(Code.JSON_ARGUMENTS, block.base + at, "the call was read from JSON")
        begin_json_body(block, block.base + at, block.dialect.json_names)
        return at
    if pairs.name:
        begins = ask(block, at, "name", "")
        if begins is None:
            return _skip_to_name(block, text, at)
        note_blanks(block, begins, pairs.name)
        start = begins.end()
    name, after = _read_name(block, pairs, text, at, start)
    if name is None:
        return after
    place = block.base + start
    if not name or not is_valid_name(name):
        message = f"{name[:60]!r} is no name" if name else "the block names no tool"
        give_up_pairs(block, message, place, Code.INVALID_NAME if name else Code.MISSING_TOOL_NAME)
        return start
    block.name_tool(name, place)
    block.stack[-1].shape = block.shape or ANY
    block.state = State.PAIRS
    if block.is_bare and block.arguments_closed and pairs.name_attribute:
        note_missing(block, pairs.end, block.base + after, block.start)
        block.state = State.PAIRS_END
    return after


def _read_name(block: Block, pairs: Pairs, text: str, at: int, start: int) -> tuple[str | None, int]:
    """The name that begins at `start`, after the delimiter at `at`, and the place after it; None, and the place where
    reading goes on, if it has no end."""
    if pairs.name_attribute:
        head = block.delimiters.read_head("name_end", pairs.name_attribute, text, start)
        if head is MORE:
            raise UndecidedError
        if not head:
            place = block.base + at
            give_up_pairs(block, f"the mark {pairs.name} at character {place} names no tool", place)
            return None, start
        block.arguments_closed = head.is_empty  # there are none, unless one follows all the same
        return head.name, head.after
    if not pairs.name_end:
        word = (_PYTHON_NAME if pairs.python else _NAME).match(text, start, start + NAME_LENGTH)
        after = word.end() if word else start
        if after == len(text):
            raise UndecidedError
        return text[start:after].strip(SPACES), after
    after = start + NAME_LENGTH + len(pairs.name_end)
    broken = f"\r\n{'<' * (not pairs.name_pattern)}{'{' * pairs.json}"
    fields = f"name_end{' brace' * pairs.json}{' key end' * pairs.may_lack_name_end}"
    found = ask(block, start, fields, before(pairs.name_end, broken))
    name = found[1].strip(SPACES) if found else text[start:after]  # which is too long
    if found is None:
        if stop := re.search(f"[{broken}]", name):
            place = start + stop.start()
            give_up_pairs(block, f"{text[at:place]!r:.80} has no {pairs.name_end}", block.base + at)
            return None, place
        if len(text) < after:
            raise UndecidedError
    elif found.lastgroup == "name_end":
        after = found.end()
    else:
        after = found.end(1)
        if found.lastgroup != "brace":
            return name, after
        note_missing(block, pairs.name_end, block.base + after, block.start)
    if pairs.name_pattern:
        match = re.fullmatch(pairs.name_pattern, name)
        name = match["name"] if match else name
    if pairs.end and not pairs.json and name.endswith("/"):
        name = name[:-1].rstrip(SPACES)
        block.arguments_closed = True
    return name, after


def _skip_to_name(block: Block, text: str, at: int) -> int:
    """The text in the block, at `at`, before its call: the block's end, or stray text."""
    pairs, place = block.delimiters.pairs, block.base + at
    found = ask(block, at, "fillers key", "", final=True)
    if found and found.lastgroup == "fillers":
        return found.end()
    if found:
        give_up_pairs(block, f"the arguments come without {pairs.name}", place, Code.MISSING_TOOL_NAME)
        return at
    call = _find_call(block, text, at)
    if call < 0:
        give_up_pairs(block, f"there is text where {pairs.name} belongs", place)
        return at + 1
    if call > at:
        return call
    block.fail(Code.MISSING_TOOL_NAME, "there is no call in it", place)
    block.done = True
    return at + len(block.dialect.closer)


def _find_call(block: Block, text: str, at: int) -> int:
    """The place of the next call in the block, or of its end, if it is near, or -1: text before it is skipped."""
    dialect = block.dialect
    delimiters = block.delimiters.pairs.name, dialect.closer, *dialect.fillers
    places = [text.find(each, at, at + MAX_STRAY + len(each)) for each in delimiters if each]
    place = min((place for place in places if place >= 0), default=-1)
    if place < 0 and len(text) - at <= 2 * MAX_STRAY and not block.reading.final:
        raise UndecidedError
    if place > at:
        block.note(Code.STRAY_TEXT, block.base + at, f"skipped {text[at:place].strip(SPACES)!r:.60}")
    return place


def _read_argument(block: Block, text: str, at: int) -> int:
    """An argument, or the end of the arguments, is at `at`."""
    pairs, place = block.delimiters.pairs, block.base + at
    is_begun = bool(block.fields) or block.json is not None
    if not is_begun and text[at] == ("(" if pairs.python else "{"):
        begin_json_arguments(block, at, at)
        return at
    found = ask(block, at, _AFTER_JSON if pairs.json and is_begun else _BETWEEN)
    if pairs.json and not is_begun:
        give_up_pairs(block, "there is no JSON object where the arguments belong", place, Code.INVALID_JSON)
        return at
    field, after = (found.lastgroup, found.end()) if found else ("", at)
    if found and field in ("key", "tag_mark"):
        return begin_pair(block, found)
    if field == "object" and not is_begun:
        brace = skip_space(text, after)
        if brace == len(text):
            raise UndecidedError
        if text[brace] == "{":
            begin_json_arguments(block, brace, brace, is_usual=True)
            return brace
    if field == "object_end" and block.json is not None:
        return after
    return _end_arguments(block, at, str(field), after)


def _end_arguments(block: Block, at: int, field: str, after: int) -> int:
    """A delimiter of this field, or text, is at `at`: the arguments end, or are wrong."""
    pairs, place = block.delimiters.pairs, block.base + at
    goes_on = field == "name" and (block.arguments_closed or pairs.json or pairs.tag_mark != "")
    if goes_on or field == "fillers" or (field == "closer" and pairs.end):
        note_missing(block, pairs.end, place, block.start)
        block.state = State.PAIRS_END
    elif field == "end":
        block.arguments_closed = True
        block.state = State.PAIRS_END
        return after
    elif field == "turn_ends":
        block.end_early(place)
    elif not field or pairs.tag_mark:
        give_up_pairs(block, NOT_AN_ARGUMENT if pairs.tag_mark else "there is text between the arguments", place)
    elif field != "closer":
        block.fail(Code.MALFORMED_MARKUP, "another call begins before this one has ended", place)
        block.done = True
    if field == "closer":
        block.done = True
        return after
    return at


def _end_call(block: Block, text: str, at: int, here: int) -> int:
    """The arguments have ended at `at`; `here` is the place after white space."""
    dialect, own = block.dialect, block.delimiters
    if not dialect.closer or (dialect.may_lack_end and here - at > OPENER_SPACE):
        block.done = True
        return at
    if here == len(text):
        raise UndecidedError
    found = own.look(text, here, "closer name", "")
    if found and found.lastgroup == "closer":
        block.done = True
        return found.end()
    begins = begins_python(text, here) if found is NO and own.pairs.python else found
    if begins is MORE and not block.reading.final:
        raise UndecidedError
    is_cut = begins is MORE and (dialect.many or is_cut_off(text, here, dialect.closer))
    if begins is not NO and not is_cut:
        if not dialect.many:
            block.note(Code.JOINED_CALLS, block.base + here, "another call is in the same block", block.start)
        block.again = block.done = True
        return here
    if dialect.many and not is_cut:
        filler = ask(block, here, "fillers", "", final=True)
        call = filler.end() if filler else _find_call(block, text, here)
        if call >= 0:
            return call
    block.end_early(block.base + here)
    if is_cut:
        return len(text)  # with a part of a delimiter the reply ends
    return at if dialect.may_lack_end else here


def _end_bare(block: Block, text: str, at: int, here: int) -> int:
    """As `_end_call`, without the block's start delimiter: an end delimiter belongs to the call if only white space
    comes before it."""
    found = block.delimiters.look(text, at, "closer", SPACE) if block.dialect.closer else NO
    if found is MORE and not block.reading.final:
        raise UndecidedError
    block.done = True
    if found:
        return found.end()
    return len(text) if found is MORE and here < len(text) else at
