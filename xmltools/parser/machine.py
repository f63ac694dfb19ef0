"""The states of a block, and how they are run: the only module that knows them all."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from xmltools.dialects import Body
from xmltools.errors import Code
from xmltools.models.events import Event
from xmltools.parser.block import (
    CALL,
    OWN,
    Block,
    JSONObject,
    Leaf,
    State,
    flush_delta,
    note,
    read_comment,
    skip_broken,
)
from xmltools.parser.cdata import read_cdata, read_cdata_tail
from xmltools.parser.elements import read_body, read_instruction, read_markup, read_stray, read_stray_section
from xmltools.parser.end_tags import confirm_end, read_end_tail
from xmltools.parser.json_states import read_json, read_json_end, skip_body
from xmltools.parser.name_value_pairs import marks_of, read_pair_value, read_pairs, read_pairs_end, read_pairs_name
from xmltools.parser.nested import read_nested, read_nested_value
from xmltools.parser.tool_tags import read_tool_tag, read_tool_text
from xmltools.parser.values import read_leaf_comment, read_leaf_start, read_text, stops_of_text
from xmltools.syntax.markup import SPACES

_BETWEEN: Final[dict[int, Callable[[Block, str, int], int]]] = {
    State.BODY: read_body,
    State.MARKUP: read_markup,
    State.STRAY: read_stray,
    State.STRAY_CDATA: read_stray_section,
    State.INSTRUCTION: read_instruction,
    State.COMMENT: read_comment,
    State.JSON: read_json,
    State.JSON_END: read_json_end,
    State.SKIP: skip_body,
    State.PAIRS_NAME: read_pairs_name,
    State.PAIRS: read_pairs,
    State.PAIRS_END: read_pairs_end,
    State.PAIRS_SKIP: skip_broken,
    State.TOOL_TAG: read_tool_tag,
    State.TOOL_TEXT: read_tool_text,
    State.NESTED: read_nested,
}
"""The states in which no leaf is open."""

_INSIDE: Final[dict[int, Callable[[Block, Leaf, str, int], int]]] = {
    State.LEAF_START: read_leaf_start,
    State.LEAF_COMMENT: read_leaf_comment,
    State.TEXT: read_text,
    State.CDATA: read_cdata,
    State.CDATA_TAIL: read_cdata_tail,
    State.END_TAIL: read_end_tail,
    State.PAIR_VALUE: read_pair_value,
    State.NESTED_VALUE: read_nested_value,
}
"""The states in an open leaf."""


def run(block: Block, text: str, at: int, base: int, events: list[Event]) -> int:
    """Read on in `text`, whose first character is at `base` in the stream, and add to the events. Returns the place
    up to which it was read."""
    block.base = base
    block.events = events
    block.ending.last_ends = None
    block.text = text
    size = len(text)
    while at < size and not block.done:
        leaf, state = block.leaf, block.state
        place = _BETWEEN[state](block, text, at) if leaf is None else _INSIDE[state](block, leaf, text, at)
        if place < 0:
            break
        at = place
    block.text = ""
    if block.delta:
        flush_delta(block)
    return at


_SECTION_END: Final = re.compile(r"\]\]>|\]\]?\Z")
_NESTED_END: Final = re.compile(r"\]<|\]\Z")
Run = tuple[str, re.Pattern[str], str, bool]


def run_of_value(block: Block, leaf: Leaf) -> Run | None:
    """How the open value goes on: the characters with which all begins that may begin or end in it; a pattern of that,
    or of what the end of a text cuts off of it; what probably ends the value; and whether its text is decoded, or loses
    its last line break. None if it has not begun, or may have ended."""
    state = block.state
    if state == State.TEXT:
        return "</" if leaf.pasted else "<", stops_of_text(block, leaf), f"</{leaf.tag}>", True
    if state == State.CDATA or (state == State.PAIR_VALUE and leaf.decided):
        return "]]", _SECTION_END, "", False
    if state == State.NESTED_VALUE:
        return "]<", _NESTED_END, "", False
    if state != State.PAIR_VALUE or block.dialect.pairs is None:
        return None
    pairs = block.dialect.pairs
    stops = marks_of(block.dialect, leaf.tag[0])
    return "<", _framed(stops.pattern) if pairs.framing else stops, pairs.value_end, bool(pairs.framing)


@lru_cache(maxsize=256)
def _framed(stops: str) -> re.Pattern[str]:
    """A pattern of these stops of a value whose last line break is not part of it, and of that break."""
    return re.compile(rf"(?:\r\n?|\n)?(?:{stops}|\Z)")


_AFTER_OBJECT: Final = (State.JSON_END, State.PAIRS)
"""After the object with the arguments: before a mark, and in one."""


def ends_complete(block: Block, rest: str, place: int) -> bool:
    """At the end of the reply: is `</tool>`, or the rest of it, all that is missing? `rest`, which is at
    `place` in the stream, was not consumed."""
    pairs = block.dialect.pairs
    end_tags = [block.dialect.closer]
    if pairs is not None and pairs.json and pairs.end:
        end_tags.append(pairs.end)
    if block.spelling:  # a call between other marks is no element
        end_tags.append(f"</{block.spelling}>")
    is_part = any(tag.startswith(rest) or rest.rstrip(SPACES) == tag[:-1] for tag in end_tags)
    if block.in_list and block.dialect.is_bare:
        return False  # a list without marks counts if it is whole
    json = block.json
    if json is not None and json.is_body and block.state == State.JSON_END and not json.lacks_brace:
        return is_part or _is_last_fence(block, rest, place)
    if block.name is None or not is_part:
        return False
    if pairs is not None:
        is_json_over = json is not None and not json.is_body and not json.lacks_brace
        is_json_over = is_json_over and block.state in _AFTER_OBJECT and (pairs.json or not pairs.end)
        return block.state == State.PAIRS_END or is_json_over
    leaf = block.leaf
    if block.dialect.body is Body.TAGS:
        if (
            leaf is not None
            and block.state == State.END_TAIL
            and block.ending.candidate.kind == CALL
            and not rest.strip(SPACES)
        ):
            confirm_end(block, leaf, block.ending.candidate)
        return block.done
    if leaf is not None and json is not None and _ends_json(block, json, leaf):
        json.unsure = True
        confirm_end(block, leaf, block.ending.candidate)
    return block.arguments_closed and len(block.stack) == 1 and block.state in (State.MARKUP, State.JSON_END)


def _ends_json(block: Block, json: JSONObject, leaf: Leaf) -> bool:
    """After an `</arguments>` that is content, unless the one value before it is whole?"""
    is_json = leaf.element is json.element and len(block.stack) == 1
    return is_json and block.state == State.END_TAIL and block.ending.candidate.kind == OWN


def _is_last_fence(block: Block, rest: str, place: int) -> bool:
    """Is `rest`, with which the reply ends, a closing fence after a JSON body, or a part of one?"""
    if not rest or rest.strip("`" + SPACES):
        return False
    note(block, Code.CODE_FENCE, place, "the body of the block was in a code fence")
    return True
