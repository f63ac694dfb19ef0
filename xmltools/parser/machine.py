"""The states of a block, and how they are run: the only module that knows them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xmltools.parser.cdata import read_cdata, read_cdata_tail
from xmltools.parser.delimited_calls import read_pairs
from xmltools.parser.delimited_values import read_pair_value
from xmltools.parser.elements import read_body, read_markup, read_stray
from xmltools.parser.end_tags import read_end_tail
from xmltools.parser.json_states import read_json, read_json_end, skip_body
from xmltools.parser.open_call import Block, Leaf, State, read_skipped, skip_broken
from xmltools.parser.tool_tags import read_tool_tag, read_tool_text
from xmltools.parser.values import read_leaf_start, read_text

_BETWEEN: Final[dict[int, Callable[[Block, str, int], int]]] = {
    State.BODY: read_body,
    State.MARKUP: read_markup,
    State.STRAY: read_stray,
    State.STRAY_CDATA: read_skipped,
    State.INSTRUCTION: read_skipped,
    State.COMMENT: read_skipped,
    State.JSON: read_json,
    State.JSON_END: read_json_end,
    State.SKIP: skip_body,
    State.PAIRS_NAME: read_pairs,
    State.PAIRS: read_pairs,
    State.PAIRS_END: read_pairs,
    State.PAIRS_SKIP: skip_broken,
    State.TOOL_TAG: read_tool_tag,
    State.TOOL_TEXT: read_tool_text,
}
"""The states in which no leaf is open."""

_INSIDE: Final[dict[int, Callable[[Block, Leaf, str, int], int]]] = {
    State.LEAF_START: read_leaf_start,
    State.COMMENT: lambda block, _, text, at: read_skipped(block, text, at),  # before anything else in an element
    State.TEXT: read_text,
    State.CDATA: read_cdata,
    State.CDATA_TAIL: read_cdata_tail,
    State.END_TAIL: read_end_tail,
    State.PAIR_VALUE: read_pair_value,
}
"""The states in an open leaf."""


def run(block: Block, text: str, at: int, base: int) -> int:
    """Read on in `text`, whose first character is at `base` in the stream. Returns the place up to which it was
    read."""
    reading = block.reading
    block.text = text
    block.base = base
    block.ending.last_ends = None
    size = len(text)
    while at < size and not block.done:
        leaf, state = block.leaf, block.state
        place = _BETWEEN[state](block, text, at) if leaf is None else _INSIDE[state](block, leaf, text, at)
        if place < 0:
            at = max(at, ~place)
            break
        at = place
    block.text = ""
    block.base = base + at
    if reading.delta:
        block.flush_delta()
    return at
