"""Calls whose element is named as their tool, and holds the arguments: `<get><n>1</n></get>`. What is in it is read as
in any block of elements."""

from __future__ import annotations

import re

from xmltools.dialects import Dialect
from xmltools.errors import Code
from xmltools.parser.decode_text import TextReader
from xmltools.parser.delimiters import SPACE, known_delimiters
from xmltools.parser.elements import open_arguments
from xmltools.parser.open_call import Block, Leaf, State
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import (
    MORE,
    NO,
    OPENER_LENGTH,
    OPENER_SPACE,
    SPACES,
    Tag,
    read_cdata_open,
    read_end_tag,
    read_name,
    read_start_tag,
    read_token,
    skip_space,
)
from xmltools.tools.schema import ObjectShape, Shape

_REST = re.compile(rf"[{SPACES}]*(?:(/?)>|/?(?P<cut>\Z))")
"""The rest of a start tag without attributes, after its name."""


def read_tool_start(
    dialect: Dialect, shape: Shape | None, text: str, at: int, word: str, *, is_first_in_line: bool, final: bool
) -> int | bool | None:
    """The place after the start tag of a call at `at`, if one begins there. `word` is its name, as written.

    An element, its end tag or a JSON object must follow; if the name is written in another case than the tool's, an
    argument of the tool; text, where a line begins with the tag, if the tool has one argument that text must be.
    `final`: nothing more will come, so that a tag at the end is a call that was cut off.
    """
    start = at + 1 + len(word)
    found = read_token(_REST, text, start, at + OPENER_LENGTH - start)
    if not found:
        return NO if final else found
    if found[1]:
        return found.end() if word == dialect.block else NO
    begins = _begins_arguments(dialect, shape, text, found.end(), word, is_first_in_line)
    return found.end() if begins or (begins is MORE and final) else begins


def read_tool_line(shape: Shape | None, text: str, at: int) -> int | bool | None:
    """`at`, where a line with the name of a tool ends, if the start tag of an argument that the tool declares
    follows."""
    here = skip_space(text, at)
    if shape is None or here - at > OPENER_SPACE:
        return NO
    tag = MORE if here == len(text) else read_start_tag(text, here)
    return tag and shape.has_property(tag.name) and at


def _text_argument(shape: Shape | None) -> str | None:
    """The argument that text directly in the call is: the only one that must be there, or else the only one that is a
    string."""
    if not isinstance(shape, ObjectShape):
        return None
    names = shape.required or [name for name, each in shape.properties.items() if each.is_text]
    return names[0] if len(names) == 1 and shape.child(names[0]).is_text else None


def _begins_arguments(
    dialect: Dialect, shape: Shape | None, text: str, at: int, word: str, is_first_in_line: bool
) -> bool | None:
    """Do the arguments of a call, or its end tag, begin at `at`? Its only argument may, where a line begins with it."""
    is_exact = word == dialect.block
    may_be_text = is_first_in_line and is_exact and _text_argument(shape) is not None
    begins = known_delimiters(dialect).look(text, at, "members tag text" if is_exact else "tag", SPACE)
    if not begins:
        return begins
    if begins.lastgroup != "tag":
        return begins.lastgroup == "members" or may_be_text
    here = begins.end(1)
    if may_be_text and text.startswith("<!", here):
        opened = read_cdata_open(text, here)
        return MORE if opened is MORE else bool(opened)
    if text.startswith("</", here):
        end_tag = read_end_tag(text, here)
        return end_tag and is_exact and end_tag.name.lower() == word.lower()
    tag = read_start_tag(text, here)
    return tag and (is_exact or (shape is not None and shape.has_property(tag.name.lower())))


def read_tool_tag(block: Block, text: str, at: int) -> int:
    """State: at the start tag of the call."""
    end = block.body_start - block.base
    is_line = block.dialect.in_line
    word = block.dialect.block if is_line else str(read_name(text, at + 1))
    block.spelling = block.arguments_tag = word
    block.name_tool(block.dialect.block, block.start + (not is_line))
    open_arguments(block, Tag(word, end, False, empty=not is_line and text[end - 2] == "/"), block.start)
    block.state = State.MARKUP if is_line else State.TOOL_TEXT
    if is_line:
        block.note_opener(Code.BARE_NAME, f"a line with {word!r} was read as <{word}>")
    return end


def read_tool_text(block: Block, text: str, at: int) -> int:
    """State: after the start tag of the call. Text there is the value of its only argument, if it has one; nothing but
    the end tag of the call ends it."""
    here = skip_space(text, at)
    if here == len(text):
        return -1
    opened = read_cdata_open(text, here)
    if opened is MORE and not block.final:
        return -1
    name = _text_argument(block.shape)
    block.state = State.MARKUP
    if (text[here] in "<{" and not opened) or name is None:
        return at
    arguments = block.stack.pop()
    message = f"the text in <{arguments.tag}> was read as its argument {name!r}"
    block.note(Code.UNWRAPPED_ARGUMENT, block.base + here, message, block.start)
    element = Element(name, block.base + here)
    block.stack[0].children.append(element)
    path = None if arguments.path is None else (name,)
    leaf = block.leaf = Leaf(arguments.tag, element, arguments.shape.child(name), arguments.start, path)
    leaf.exact = False  # its end tag is that of the call
    leaf.lacks_mark = True
    leaf.reader = path and TextReader()
    block.state = State.TEXT
    return at
