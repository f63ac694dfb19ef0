"""From an ended block to a call or an error: values, tool, arguments, verdict (protocol, sections 2.5, 3, 4 and 6)."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Any, Final

from xmltools.dialects import Body, hint_of
from xmltools.errors import CallError, Code
from xmltools.models import ToolCall
from xmltools.parser.cut_off_replies import cut_off
from xmltools.parser.decode_text import TextReader
from xmltools.parser.delimited_values import grow
from xmltools.parser.elements import take_name
from xmltools.parser.json_envelope import Envelope, NoCallError, read_object_of
from xmltools.parser.open_call import Block, Failure, Leaf
from xmltools.syntax.markup import CDATA_OPEN, SPACES, find_forbidden, skip_space
from xmltools.syntax.rope import Rope
from xmltools.tools.schema import (
    ANY,
    ObjectShape,
    Reading,
    Shape,
    place_of,
    read_arguments,
    read_object,
)

_SHORT: Final = 256
_ELEMENTS: Final = Body.ELEMENTS  # members of an enumeration are slow to look up
_AROUND: Final = (len(CDATA_OPEN), 3), (0, 0)
"""Characters before and after the content of a leaf that is one section, or stands between delimiters."""
_COMMENT: Final = re.compile(r"<!--.*?(?:(-->)|\Z)", re.DOTALL)
_PLACE: Final = attrgetter("offset")


def conclude(block: Block, end: int, strict: str) -> ToolCall | CallError:
    """The call of an ended block, or why it gives none.

    `end` is the block's end in the stream; its text has all of it. `strict`: why no repair is taken; empty if repairs
    are.
    """
    text, base = block.text, block.base
    dialect = block.dialect
    arguments: dict[str, Any] = {}
    try:
        if not block.discard:
            _read_leaves(block)
        if block.error:
            raise NoCallError(*block.error)
        json = block.json
        body = Envelope(block, json) if json and json.is_body else None
        if block.name is None:
            take_name(block)
        if block.name is None:
            raise NoCallError(Code.MISSING_TOOL_NAME, "the block names no tool")
        server, shape = _find_tool(block)
        if block.lost >= 0:
            _refuse_lost(block, shape)
        reading = _read_arguments(block, end, body, shape)
        if reading.problems and json and not json.is_written:
            json.is_written = True  # a number may be a string without its quotes
            return conclude(block, end, strict)
        arguments = reading.arguments
        _judge(block, reading, shape or ANY)
        forbidden = find_forbidden(text, block.start - base, end - base)
        if forbidden >= 0 and dialect.body is _ELEMENTS:
            block.note(Code.FORBIDDEN_CHARACTER, base + forbidden, f"{text[forbidden]!r} is no character of XML")
        repairs = sorted([*block.repairs.values(), *reading.repairs], key=_PLACE)
        if strict and repairs:
            raise NoCallError(repairs[0].code, f"{strict}: {repairs[0].message}", repairs[0].offset)
        return ToolCall.unchecked(
            id=block.reading.call_id or "",
            name=block.name,
            arguments=arguments,
            server=server,
            repairs=tuple(repairs),
            legacy_json=body is not None and dialect.body is _ELEMENTS,
            dialect=dialect.name,
            span=(block.start, end),
        )
    except NoCallError as error:
        return _error(block, end, error.failure, arguments)


def _error(block: Block, end: int, failure: Failure, arguments: dict[str, Any]) -> CallError:
    json = block.json
    if json and json.unsure and failure.code is Code.INVALID_JSON:
        failure = cut_off(block, end)
    if not block.discard and (json is None or json.element is not None):
        unfinished = [container.element for container in block.stack[1:]]
        if block.leaf:
            unfinished.append(block.leaf.element)
        complete = [child for child in block.arguments.children or [] if child not in unfinished]
        arguments = read_arguments(complete, block.guess_shape()).arguments
    return CallError(
        code=failure.code,
        span=(block.start, end),
        message=failure.message,
        hint=failure.hint or hint_of(failure.code, block.dialect),
        name=block.name,
        server=block.server,
        arguments=arguments,
        source=block.source_of(block.start, end) if block.raw.is_whole else "",
        # A limit may have been met by text that turned out to begin the next block.
        offset=None if failure.place is None else min(failure.place, end),
    )


def _find_tool(block: Block) -> tuple[str, ObjectShape | None]:
    """The server of the tool that the block names, and the shape of its arguments."""
    toolbox, default, named = block.reading.toolbox, block.dialect.default_server, block.server
    if toolbox is None:
        return named or default, None
    name = block.name or ""
    if found := toolbox.find_plain(name, named, default):
        return found
    names_servers = block.dialect.server_name or block.dialect.json_server_name
    found = toolbox.find(name, named, default)
    if found is None:
        message, hint = toolbox.missing(name, named)
        if name in toolbox.names and not names_servers:
            hint = "Several servers have a tool of this name, and a call can't say which is meant. Use another tool."
        start = block.name_start
        place = block.base + skip_space(block.text, start - block.base) if start >= 0 else None
        raise NoCallError(Code.UNKNOWN_TOOL, message, place, hint)
    if named is not None:
        message = f"there is no server {named!r}: the tool is on {found[0]!r}"
        block.note(Code.WRONG_SERVER, block.start, message)
    elif names_servers:
        block.note(Code.MISSING_SERVER, block.start, f"the tool is on server {found[0]!r}")
    return found


def _refuse_lost(block: Block, shape: ObjectShape | None) -> None:
    """Fail if nothing but text, or a tag with attributes, is where arguments belong."""
    lost = block.lost
    if block.arguments.children or block.json or not (shape is None or shape.properties):
        return
    is_tag = re.match("<(?!!)", block.text[lost - block.base :][:2])
    what = "an attribute" if is_tag else "text"
    message = f"there is {what} where the arguments belong, and no argument"
    hint = f"Write each argument as an element of its own in <{block.dialect.arguments}>: <path>a.py</path>."
    raise NoCallError(Code.MALFORMED_MARKUP, message, lost, hint)


def _judge(block: Block, reading: Reading, shape: Shape) -> None:
    """Refuse arguments that do not fit the schema."""
    if reading.too_deep:
        raise NoCallError(Code.LIMIT_EXCEEDED, "an argument contains JSON that nests too deep")
    if reading.duplicates:
        names = ", ".join(reading.duplicates)
        place = next(iter(reading.duplicates.values()))
        raise NoCallError(Code.DUPLICATE_ARGUMENT, f"given more than once: {names}", place, f"Give {names} only once.")
    if reading.problems:
        lines = "; ".join(map(str, reading.problems[:20]))
        hint = f"Correct these arguments and call the tool again: {lines}."
        path, json = reading.problems[0].path, block.json
        if json is None:
            found = place_of(block.arguments, path, shape)
        else:
            found = json.start if path and path[0] in reading.arguments else None
        raise NoCallError(Code.INVALID_ARGUMENTS, lines, found, hint)


# -- arguments -------------------------------------------------------------------------------------------------------


def _read_arguments(block: Block, end: int, body: Envelope | None, shape: ObjectShape | None) -> Reading:
    """The arguments of a block that ends at `end` in the stream."""
    json, children, base = block.json, block.arguments.children or [], block.base
    if json is None:
        is_usual, limits = block.dialect.body is not _ELEMENTS, block.reading.limits
        return read_arguments(children, shape, depth=limits.depth, json_is_usual=is_usual, tool=block.name or "")
    if body:
        value = body.arguments(shape or ANY)
    elif children:
        message = "there are elements beside the JSON object in the arguments"
        raise NoCallError(Code.INVALID_JSON, message, children[0].offset)
    elif json.element is None:
        value = read_object_of(block, json)
    else:
        text = json.element.text.rstrip(SPACES)
        if text.endswith("```"):
            text = text.rstrip("`")
        place = block.text.find(text, json.start - base, end - base)
        value = read_object_of(block, json, text, base + place)  # not to be found if it was decoded
    return read_object(value, shape, json.start, tool=block.name or "", written=json.is_written)


# -- values ----------------------------------------------------------------------------------------------------------


def _read_leaves(block: Block) -> None:
    text, base, mark = block.text, block.base, block.pairs.tag_mark
    for leaf in block.leaves:
        element, start, end = leaf.element, leaf.start - base, leaf.end - base
        is_plain = leaf.literal < 0 and not leaf.sections and leaf.given is None and end - start < _SHORT
        value = text[start:end] if is_plain else "&"
        if value and (value[0] <= " " or value[-1] <= " " or "&" in value or "]]>" in value):
            value = _leaf_text(block, leaf)
        element.text = value
        if mark and mark in value and not leaf.shape.is_text:
            grow(block, leaf, mark)
        if element.nil and value:
            element.nil = False
            message = f"<{leaf.tag}> is null but contains text"
            block.note(Code.IGNORED_ATTRIBUTE, element.offset, message, leaf.start)
    for element, start, end in block.nodes:
        element.inner = text[start - base : end - base]


def _leaf_text(block: Block, leaf: Leaf) -> str:
    """The value of a leaf, and what was odd about how it was written."""
    text, base, sections, after = block.text, block.base, leaf.sections, leaf.end - block.base
    if leaf.given is not None:
        return leaf.given
    if len(sections) == 2 and (sections[0] - leaf.start, leaf.end - sections[1]) in _AROUND:
        return text[sections[0] - base : sections[1] - base]
    is_marked = not leaf.mixed and block.dialect.body is _ELEMENTS  # in other dialects, models write values as they are
    reader, parts, start = TextReader(), Rope(), leaf.start - base
    for index in range(0, len(sections) + 1, 2):
        is_last = index == len(sections)
        end = after if is_last else sections[index] - base - len(CDATA_OPEN)
        # Plain text, in two parts if literal markup begins in it.
        turn = min(max(leaf.literal - base, start), end) if leaf.literal >= 0 else end
        if is_marked:
            _note_oddities(block, leaf, start, turn, end)
        elif (value := text[start:end].strip(SPACES)).startswith(f"<{leaf.tag}>") and not value.endswith(
            f"</{leaf.tag}>"
        ):
            block.note(Code.BARE_LESS_THAN, base + turn, f"the value of {leaf.tag!r} began twice", leaf.start)
        if turn > start:
            parts.append(reader.text(text[start:turn]))
        if turn < end:
            reader.literal = True
            pasted = text[turn:end]
            if not leaf.shape.exact:
                pasted = _COMMENT.sub(_gap, text[max(start, turn - 1) : end])[turn > start :]
            if pasted:
                parts.append(reader.text(pasted))
        if not is_last:
            start = sections[index + 1] - base
            parts.append(reader.open_cdata())
            parts.append(text[end + len(CDATA_OPEN) : start])
            start += 3
    parts.append(reader.end(cut=leaf.cut))
    return parts.take()


def _gap(comment: re.Match[str]) -> str:
    """What a value other than a string has in place of a comment. The text on both sides is not joined: `5<!-- or -->7`
    is not a number."""
    if not comment[1]:
        return comment[0]
    start, end = comment.span()
    around = comment.string[max(start - 1, 0) : start] + comment.string[end : end + 1]
    return " " if len(around.strip()) == 2 else ""


def _note_oddities(block: Block, leaf: Leaf, start: int, turn: int, end: int) -> None:
    """Note what a run of plain text has that should be escaped. From `turn` on it is literal."""
    text, base = block.text, block.base
    if text.find("&", start, turn) >= 0:
        block.note_ampersands(text, start, turn, base, leaf.start)
    if turn < end:
        is_comment = not leaf.shape.exact and text.startswith("<!--", turn) and text.find("-->", turn, end) >= 0
        message = "a comment in the value was skipped" if is_comment else "a < that begins no markup was kept"
        block.note(Code.BARE_LESS_THAN, leaf.literal, message, leaf.start)
    if (section_end := text.find("]]>", start, turn)) >= 0:
        block.note(Code.BARE_CDATA_END, base + section_end, "]]> in plain text was kept", leaf.start)
