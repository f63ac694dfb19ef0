"""Calls that are a name, and keys and values of arguments, between delimiters (`grammars/DIALECTS.md`, section 3): the
name of the tool, the places between arguments, and the end.

The keys are read by `delimited_keys`, and the values, including arguments that are elements, by `delimited_values`.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code
from xmltools.parser.delimited_keys import NOT_AN_ARGUMENT, ask, begin_pair, give_up_pairs, note_blanks, note_break
from xmltools.parser.delimited_starts import MAX_STRAY, begins_python
from xmltools.parser.delimiters import KEY, NAME, SPACE, UndecidedError, before
from xmltools.parser.json_states import begin_json_arguments, begin_json_body
from xmltools.parser.open_call import Block, State
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, OPENER_SPACE, SPACES, is_cut_off, is_valid_name, skip_space

_NAME = re.compile(NAME)
_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.-]*+", re.ASCII)
_BETWEEN: Final = "key value_end end name closer opener object object_end fillers tag_mark"


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
            return _end_call(block, text, at, here)
        if "\\" in text[start:here]:
            note_break(block, start)
        if here < len(text):
            return (_read_argument if state == State.PAIRS else _begin_call)(block, text, here)
    except UndecidedError:
        pass  # what is left comes again with the next chunk
    return ~kept


def _begin_call(block: Block, text: str, at: int) -> int:
    """The name of the tool, or its delimiter, is at `at`."""
    pairs, start = block.pairs, at
    if pairs.python and text[at] in "[,":
        block.in_list = True
        return at + 1
    if pairs.name:
        begins = ask(block, at, "name", "")
        if begins is None:
            return _skip_to_name(block, text, at)
        note_blanks(block, begins, pairs.name)
        start = begins.end()
    if not pairs.name_attribute and (pairs.end or not pairs.name):
        brace = skip_space(text, start)
        if brace == len(text):
            raise UndecidedError
        if text[brace] == "{":
            block.note(Code.JSON_ARGUMENTS, block.base + brace, "the call was read from JSON")
            begin_json_body(block, block.base + brace)
            return brace
    name, after = _read_name(block, text, at, start)
    if name is None:
        return after
    if not name:
        return give_up_pairs(block, start, "the block names no tool", Code.MISSING_TOOL_NAME)
    if not is_valid_name(name):
        return give_up_pairs(block, start, f"{name[:60]!r} is no name", Code.INVALID_NAME)
    block.name_tool(name, block.base + start)
    block.state = State.PAIRS
    if block.is_bare and block.arguments_closed and pairs.name_attribute:
        block.note_missing(pairs.end, block.base + after, block.start)
        block.state = State.PAIRS_END
    return after


def _read_name(block: Block, text: str, at: int, start: int) -> tuple[str | None, int]:
    """The name that begins at `start`, after the delimiter at `at`, and the place after it; None, and the place where
    reading goes on, if it has no end."""
    pairs = block.pairs
    has_break, mark = pairs.name_end[:1].isspace(), pairs.name_end.rstrip()
    if not (has_break and mark and text.startswith(mark, start)):
        start = skip_space(text, start)
    if pairs.name_attribute:
        head = block.delimiters.read_head("name_end", pairs.name_attribute, text, start)
        if not head:
            give_up_pairs(block, at, f"the mark {pairs.name} at character {block.base + at} names no tool")
            return None, start
        block.arguments_closed = head.is_empty  # there are none, unless one follows all the same
        return head.name, head.after
    if not pairs.name_end:
        word = (_PYTHON_NAME if pairs.python else _NAME).match(text, start, start + NAME_LENGTH)
        after = word.end() if word else start
        if after == len(text):
            raise UndecidedError
        return text[start:after].strip(SPACES), after
    broken = f"\r\n{'<' * (not pairs.name_pattern)}{'{' * pairs.json}"
    space = r"\r?" if has_break else rf"(?:[\r\n]{SPACE})?+"
    opener = block.dialect.opener or "\0"  # which no name holds
    fields = f"name_end{' brace' * pairs.json}{' key end' * pairs.may_lack_name_end}"
    found = ask(block, start, fields, before(pairs.name_end, broken) + space)
    if found and opener not in found[1]:
        name, field = found[1].strip(SPACES), found.lastgroup
        after = found.end() if field == "name_end" else found.end(1)
        if field == "brace":
            block.note_missing(pairs.name_end, block.base + after, block.start)
        elif field != "name_end":
            return name, after
    else:
        after = start + NAME_LENGTH + len(pairs.name_end)
        name = text[start:after]
        if stop := re.search(f"[{broken}]|{re.escape(opener)}", name):
            place = start + stop.start()
            give_up_pairs(block, at, f"{text[at:place]!r:.80} has no {pairs.name_end}")
            return None, place
        if len(text) < after:  # otherwise it is too long
            raise UndecidedError
    match = re.fullmatch(pairs.name_pattern, name)
    # A decorated name is another tool's than the one that it looks like only if there is none of that name.
    if match and pairs.name_pattern and (block.tool_named(match["name"]) or not block.tool_named(name)):
        name = match["name"]
    if pairs.end and not pairs.json and name.endswith("/"):
        name = name[:-1].rstrip(SPACES)
        block.arguments_closed = True
    return name, after


def _skip_to_name(block: Block, text: str, at: int) -> int:
    """The text in the block, at `at`, before its call: the block's end, or stray text."""
    delimiter = block.pairs.name
    found = ask(block, at, "fillers key nameless", "", final=True)
    if found and found.lastgroup == "fillers":
        return found.end()
    if found:
        return give_up_pairs(block, at, f"there is no name after {delimiter}", Code.MISSING_TOOL_NAME)
    call = _find_call(block, text, at)
    if call < 0:
        return give_up_pairs(block, at, f"there is text where {delimiter} belongs")
    if call > at:
        return call
    block.fail(Code.MISSING_TOOL_NAME, "there is no call in it", block.base + at)
    block.done = True
    return at + len(block.dialect.closer)


def _find_call(block: Block, text: str, at: int) -> int:
    """The place of the next call in the block, perhaps without a name, or of the block's end, if it is near, or -1:
    text before it is skipped, unless it begins another block, or ends the reasoning that the block is in."""
    dialect, pairs, stop = block.dialect, block.pairs, at + MAX_STRAY
    delimiters = filter(None, (pairs.name, pairs.key, dialect.closer, *dialect.fillers))
    places = [place for each in delimiters if (place := text.find(each, at, stop + len(each))) >= 0]
    if places:
        place = min(places)
        before = text[at:place].rstrip(SPACES).removesuffix(dialect.opener)  # that it begins twice means nothing
        ends = *(form.opener for form in block.delimiters.forms), *dialect.thought_ends * block.in_reasoning
        if any(end in before for end in filter(None, ends)):
            return -1
        if place > at:
            block.note(Code.STRAY_TEXT, block.base + at, f"skipped {text[at:place].strip(SPACES)!r:.60}")
        return place
    if len(text) <= stop + MAX_STRAY and not block.final:
        raise UndecidedError
    return -1


def _read_argument(block: Block, text: str, at: int) -> int:
    """An argument, or the end of the arguments, is at `at`."""
    pairs = block.pairs
    is_begun = bool(block.fields) or block.json is not None
    if not is_begun and text[at] == ("(" if pairs.python else "{"):
        begin_json_arguments(block, at, at)
        return at
    found = ask(block, at, "paren", "") if pairs.value and not is_begun else None
    if found:  # as a function is called, with an object
        begin_json_arguments(block, at, found.end() - 1)
        return found.end() - 1
    found = ask(block, at, _BETWEEN + " turn_ends" * (pairs.json and is_begun))
    if pairs.json and not is_begun:
        return give_up_pairs(block, at, "there is no JSON object where the arguments belong", Code.INVALID_JSON)
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
    if field == "object_end" and block.json:
        return after
    if field == "value_end":
        block.note(Code.STRAY_END_TAG, block.base + at, f"a {pairs.value_end} that ends no value was skipped")
        return after
    if not is_begun and pairs.value and field in ("", "opener"):
        begins = re.compile(f"()(?:{re.escape(block.dialect.opener)})?").match(text, at)
        if begins and ask(block, begins.end(), "key_end", KEY):
            return begin_pair(block, begins)
    goes_on = field == "name" and (block.arguments_closed or pairs.json or pairs.tag_mark != "")
    place = block.base + at
    if field == "end":
        block.arguments_closed = True
        block.state = State.PAIRS_END
        return after
    if goes_on or field in ("fillers", "closer"):
        if pairs.end:
            block.note_missing(pairs.end, place, block.start)
        block.state = State.PAIRS_END
    elif field == "turn_ends":
        block.end_early(place)
    elif pairs.tag_mark:
        give_up_pairs(block, at, NOT_AN_ARGUMENT)
    elif not field:
        give_up_pairs(block, at, "there is text between the arguments")
    elif block.error is not None and block.error.code is Code.MISSING_TOOL_NAME:
        return after  # it comes after its arguments
    else:
        block.fail(Code.MALFORMED_MARKUP, "another call begins before this one has ended", place)
        block.done = True
    return at


def _end_call(block: Block, text: str, at: int, here: int) -> int:
    """The arguments have ended at `at`; `here` is the place after white space. Without the block's start delimiter, an
    end delimiter belongs to the call only if nothing else comes before it."""
    dialect, own, is_bare = block.dialect, block.delimiters, block.is_bare
    if not dialect.closer or ((is_bare or dialect.may_lack_end) and here - at > OPENER_SPACE):
        block.done = True
        return at
    found = own.look(text, here, "closer" if is_bare else f"closer name nameless{' key' * dialect.many}", "")
    if found and found.lastgroup == "closer":
        block.done = True
        return found.end()
    begins = begins_python(text, here) if found is NO and own.pairs.python else found
    if begins is MORE and not block.final:
        raise UndecidedError
    if is_bare:
        block.done = True
        return len(text) if begins is MORE and here < len(text) else at
    if here == len(text):
        raise UndecidedError
    if begins is MORE and (dialect.many or is_cut_off(text, here, dialect.closer)):
        block.end_early(block.base + here)
        return len(text)  # with a part of a delimiter the reply ends
    if begins is not NO:
        if not dialect.many:
            block.note(Code.JOINED_CALLS, block.base + here, "another call is in the same block", block.start)
        block.again = block.done = True
        return here
    if dialect.many:
        filler = ask(block, here, "fillers", "", final=True)
        call = filler.end() if filler else _find_call(block, text, here)
        if call >= 0:
            return call
    block.end_early(block.base + here)
    return at if dialect.may_lack_end else here
