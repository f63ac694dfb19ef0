"""The reply ends inside a call: the end of a value that examples left in doubt, the call that only lacks its end tag,
and the error of any other (protocol, 4.9 and 7.1)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Dialect, hint_of
from xmltools.errors import CallError, Code
from xmltools.models import ToolCall
from xmltools.parser.delimited_values import choose_value_end
from xmltools.parser.end_tags import confirm_end
from xmltools.parser.open_call import CALL, OWN, Block, Failure, Leaf, State
from xmltools.syntax.embedded_markup import Closers, find_line_opener
from xmltools.syntax.markup import NO, SPACES, read_end_tag

_MOST_CHOSEN: Final = 16
"""Ends of values that are chosen in a reply. Each costs a second look at the text after it."""


def end_in_call(block: Block, rest: str, end: int, chosen: int) -> str | None:
    """The reply ends at `end` in the stream, inside the block. `rest` is its last text, which was not read; `chosen`
    ends of values were chosen in it before.

    Returns the text to read again, after an end that was chosen now; if the block is done, none of that text
    belongs to it. None if all of the text belongs to the block, which is complete or has an error then.
    """
    source, leaf = block.raw, block.leaf
    if source.is_whole:
        source.append(rest)
        text, again = source.take(), None
        if leaf and not block.error and chosen < _MOST_CHOSEN:
            block.base, block.text = block.start, text
            again = _choose_end(block, leaf, text)
        source.end = end if again is None else block.start + again
        source.append(text[:again])
        if again is not None:
            return text[again:]
    if block.error:
        return None
    if not ends_complete(block, rest, end - len(rest)):
        block.error = cut_off(block, end)
    elif not block.done and (not block.is_bare or block.dialect.has_line):  # others have no tag of their own to end
        block.end_early(end)
    return None


# -- a value whose end is in doubt ---------------------------------------------------------------------------------


def _choose_end(block: Block, leaf: Leaf, text: str) -> int | None:
    """Choose one of the ends of the leaf that examples claim (protocol, 4.9). `text` is all the text of the block.

    Returns the place in it from which on the reply is to be read again: after that end, or at the next opener, if the
    block has failed. None if there is no doubt: the leaf was cut off.
    """
    if block.state == State.PAIR_VALUE:
        return choose_value_end(block, leaf)
    start, sections, claimed = block.start, leaf.sections, block.ending.claimed
    section = sections[-1] - start if len(sections) % 2 else -1
    if section < 0 and not claimed:
        return _find_call(block, leaf, text)
    tag = leaf.tag
    closers = Closers(text, leaf.start - start, block.dialect.block, block.arguments_tag)
    ends = [end for end in claimed if closers.unclaimed(end.place - start) == 1]
    chosen = next((end for end in ends if not closers.is_inside(end.place - start)), None)
    last = closers.last_unclaimed(section) if section >= 0 else -1
    place = _find_own_end(text, tag, last, section)
    comes_first = place >= 0 and (not chosen or chosen.place > start + place)
    is_forgotten = comes_first and not closers.unclaimed(last + 1)
    if is_forgotten:
        message = f"the CDATA section in <{tag}> was not closed: ]]> is missing"
        hint = f"Close the CDATA section before the end tag: <{tag}><![CDATA[...]]></{tag}>."
    elif chosen:
        # Read on from there as from the end of the leaf.
        del leaf.sections[chosen.sections :]
        block.forget_repairs(chosen.repairs)
        if leaf.literal > chosen.place:
            leaf.literal, leaf.pasted = -1, False
        block.ending.section = chosen.section
        confirm_end(block, leaf, chosen)
        return chosen.after - start
    else:
        place = last = closers.last_unclaimed(claimed[-1].place - start) if claimed else -1
        if last < 0 or ends:  # those are the ends of whole examples: the reply was cut off after one
            return _find_call(block, leaf, text)
        message = f"it is not clear where the value of <{tag}> ends: it contains tags of other calls"
        hint = f"Put the whole value of <{tag}> in <![CDATA[...]]>, and write ]]> in it as ]]]]><![CDATA[>."
    opener = find_line_opener(text, last, block.dialect.block)
    code = Code.TRUNCATED if is_forgotten and opener < 0 else Code.MALFORMED_MARKUP
    block.fail(code, message, start + place, hint)
    block.done = True
    return opener if opener >= 0 else len(text)


_BETWEEN: Final = re.compile(rf"[{SPACES}]*\n[^<]{{0,200}}(?:<[^<>]{{0,100}}(?=<))?")
_LAST_TAG: Final = re.compile(rf"</([^{SPACES}<>/]+)>[^<]{{0,300}}\Z")


def _find_call(block: Block, leaf: Leaf, text: str) -> int | None:
    """The place of the call after the end tag of the leaf, if that was the first markup in it (protocol, 7.1a)."""
    place = leaf.literal - block.start
    tag = read_end_tag(text, place) if place >= 0 else NO
    found = _BETWEEN.match(text, tag.end) if tag and tag.name == leaf.tag else None
    last = found and _LAST_TAG.search(text)
    if not (found and last and block.names_block(last[1])):
        return None
    place = found.end()
    if not block.begins_block(place):
        return None
    block.reading.is_unsure = True
    block.meet_opener(block.start + place)
    return place


def _find_own_end(text: str, tag: str, at: int, start: int) -> int:
    """The place of the leaf's own end tag, if from there to `at` there are only end tags; or -1."""
    while True:
        while at > start and text[at - 1] in SPACES:
            at -= 1
        opening = text.rfind("</", start, at)
        found = read_end_tag(text, opening) if opening >= 0 else None
        if not found or found.end != at:
            return -1
        if found.name == tag:
            return opening
        at = opening


# -- a call whose end tag is missing -------------------------------------------------------------------------------


def ends_complete(block: Block, rest: str, place: int) -> bool:
    """At the end of the reply: is the end tag, or the rest of it, all that is missing? `rest`, which is at `place` in
    the stream, was not consumed."""
    dialect, json, leaf, state = block.dialect, block.json, block.leaf, block.state
    pairs = block.pairs
    if block.in_list and dialect.is_bare:
        return False  # a list without marks counts if it is whole
    # A call between other delimiters is not an element.
    others = filter(None, (pairs.end * pairs.json, block.spelling and f"</{block.spelling}>"))
    is_part = any(tag.startswith(rest) or rest.rstrip(SPACES) == tag[:-1] for tag in (dialect.closer, *others))
    is_over = json is not None and not json.lacks_brace and state in (State.JSON_END, State.PAIRS)
    if json and json.is_body and is_over:
        is_fence = not is_part and not rest.strip("`" + SPACES)
        if is_fence:
            block.note(Code.CODE_FENCE, place, "the body of the block was in a code fence")
        return is_part or is_fence
    if block.name is None or not is_part:
        return False
    if dialect.pairs:
        return state == State.PAIRS_END or (is_over and (pairs.json or not pairs.end))
    has_tags = block.is_tag
    if leaf and state == State.END_TAIL:
        candidate = block.ending.candidate
        if has_tags:
            is_end = candidate.kind == CALL and not rest.strip(SPACES)
        else:  # after an `</arguments>` that is content, unless the one value before it is whole
            is_end = candidate.kind == OWN and json is not None and leaf.element is json.element
        if is_end:
            if json:
                json.unsure = True
            confirm_end(block, leaf, candidate)
    if has_tags:
        return block.done
    return block.arguments_closed and len(block.stack) == 1 and block.state in (State.MARKUP, State.JSON_END)


# -- errors --------------------------------------------------------------------------------------------------------


def cut_off(block: Block, place: int) -> Failure:
    """The failure of a block in which the reply ends, at `place`. A `]]>` that was read as content is told: what was
    forgotten after it may be why the block did not end."""
    leaf, message = block.leaf, "the reply ended inside the block"
    if leaf and len(leaf.sections) % 2:  # in a section
        for repair in block.repairs.values():
            if repair.code is Code.UNSPLIT_CDATA_END and repair.offset >= leaf.start:
                message += f": no </{leaf.tag}> follows the ]]> at character {repair.offset}"
                break
    return Failure(Code.TRUNCATED, message, place)


def cut_off_list(call: ToolCall, source: str, dialect: Dialect) -> CallError:
    """The error of a whole call in a list without delimiters, which counts only if it is whole."""
    span = call.span or (0, 0)
    message, hint = "the reply ended inside the list of calls", hint_of(Code.TRUNCATED, dialect)
    return CallError(
        Code.TRUNCATED, span, message, hint, call.name, arguments=call.arguments, source=source, offset=span[1]
    )
