"""Calls whose element is named as their tool, and holds the arguments: `<get><n>1</n></get>`. What is in it is read as
in any block of elements."""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Dialect
from xmltools.parser.block import Block, State
from xmltools.parser.elements import open_arguments
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_LENGTH,
    OPENER_SPACE,
    Tag,
    read_end_tag,
    read_name,
    read_start_tag,
    skip_space,
)
from xmltools.tools.schema import Shape

_REST: Final = re.compile(r"[ \t\r\n]*(?:(/?)(>)|(/?)\Z)")
"""The rest of a start tag without attributes, after its name; without group 2 it is cut off."""


def read_tool_start(
    dialect: Dialect, shape: Shape | None, text: str, at: int, word: str, *, final: bool
) -> int | bool | None:
    """The place after the start tag of a call at `at`, if one begins there. `word` is its name, as written.

    An element, its end tag or a JSON object must follow; if the name is written in another case than the tool's, an
    argument of the tool. `final`: nothing more will come, so that a tag at the end is a call that was cut off.
    """
    found = _REST.match(text, at + 1 + len(word), at + OPENER_LENGTH)
    if found is None:
        return NO
    if not found[2]:
        return MORE if len(text) - at < OPENER_LENGTH and not final else NO
    if found[1]:
        return found.end()
    begins = _begins_arguments(dialect, shape, text, found.end(), word)
    if begins is MORE and final:
        return found.end()
    return found.end() if begins else begins


def _begins_arguments(dialect: Dialect, shape: Shape | None, text: str, at: int, word: str) -> bool | None:
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    if text[here] == "{":
        inside = skip_space(text, here + 1)
        return text[inside] in '"}' if inside < len(text) else MORE
    if text[here] != "<":
        return NO
    if here + 1 == len(text):
        return MORE
    tag = read_end_tag(text, here) if text[here + 1] == "/" else read_start_tag(text, here)
    if not isinstance(tag, Tag):
        return tag
    if text[here + 1] == "/":
        return tag.name.lower() == word.lower()
    return word == dialect.block or (shape is not None and shape.has_property(tag.name.lower()))


def read_tool_tag(block: Block, text: str, at: int) -> int:
    """State: at the start tag of the call."""
    end = block.body_start - block.base
    word = str(read_name(text, at + 1))
    block.spelling = block.arguments_tag = word
    block.name = block.dialect.block
    block.name_start = block.start + 1
    block.state = State.MARKUP
    block.on_name(block)
    open_arguments(block, Tag(word, end, False, "", text[end - 2] == "/"), block.start)
    return end
