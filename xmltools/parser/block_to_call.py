"""From an ended block to a call or an error: values, tool, arguments, verdict (protocol, sections 2.5, 3, 4 and 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from xmltools.dialects import Body, hint_of
from xmltools.errors import CallError, Code, Repair
from xmltools.models import ToolCall
from xmltools.parser.block import Block, JSONObject, Leaf, Path, note, note_ampersands, note_opener
from xmltools.parser.cut_off_replies import cut_off
from xmltools.parser.decode_text import TextReader
from xmltools.parser.elements import take_name
from xmltools.parser.json_envelope import Envelope, EnvelopeError
from xmltools.parser.nested import grow
from xmltools.parser.toolbox import NoToolError, Toolbox
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_reader import (
    JSONDepthError,
    JSONError,
    JSONEscapeError,
    loads_call,
    loads_lenient,
    loads_marked,
)
from xmltools.syntax.markup import CDATA_OPEN, SPACES, find_forbidden, is_valid_name, skip_space
from xmltools.syntax.rope import Rope
from xmltools.tools.schema import ANY, ArrayShape, ObjectShape, Reading, Shape, read_arguments, read_object

_SHORT = 256
_ELEMENTS = Body.ELEMENTS  # members of an enumeration are slow to look up


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """The block gives no call."""

    def __init__(
        self,
        code: Code,
        message: str,
        place: int | None = None,
        hint: str | None = None,
        *,
        read: Reading | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint
        self.arguments = read.arguments if read is not None else {}


def resolve_name(block: Block, toolbox: Toolbox) -> None:
    """Make the name in a block that of a tool, if it means one."""
    name = toolbox.resolve(block.name or "")
    if name is not None and name != block.name:
        # A JSON body is asked for its name twice: while it streams, and when it has ended.
        if all(repair.code is not Code.DECORATED_NAME for repair in block.repairs):
            _repair(
                block, Code.DECORATED_NAME, max(block.name_start, block.start), f"{block.name!r} was read as {name!r}"
            )
        block.name = name


def find_shape(block: Block, toolbox: Toolbox | None) -> bool:
    """A block has named its tool: find the schema of its arguments. False if there is no such tool."""
    if block.error is not None:
        return False
    if toolbox is not None:
        if toolbox.resolve(block.name or "") is None:
            return False
        resolve_name(block, toolbox)
        block.shape = toolbox.guess(block.name or "", block.server, block.dialect.default_server)
    return True


def conclude(
    block: Block, end: int, text: str, base: int, toolbox: Toolbox | None, strict: bool
) -> ToolCall | CallError:
    """The call of an ended block, or why it gives none.

    `end` is the block's end in the stream. It is in `text`, whose first character is at `base` in the stream.
    """
    try:
        if not block.discard:
            _read_leaves(block, text, base)
        if block.error is not None:
            raise _Refused(*block.error)
        return _call(block, text, base, end, toolbox, strict)
    except _Refused as refused:
        if block.json is not None and block.json.unsure and refused.code is Code.INVALID_JSON:
            refused = _Refused(*cut_off(block, end))
        source = text[block.start - base : end - base] if block.raw.is_whole else ""
        return _error(block, end, refused, source, toolbox)


def _error(block: Block, end: int, refused: _Refused, source: str, toolbox: Toolbox | None) -> CallError:
    arguments = refused.arguments
    if not block.discard and (block.json is None or block.json.element is not None):
        unfinished = [container.element for container in block.stack[1:]]
        if block.leaf is not None:
            unfinished.append(block.leaf.element)
        complete = [child for child in block.arguments.children or [] if child not in unfinished]
        shape = (
            toolbox.guess(block.name, block.server, block.dialect.default_server) if toolbox and block.name else None
        )
        arguments = read_arguments(complete, shape).arguments
    place = refused.place
    if place is not None and place > end:
        place = end  # the limit was met by text that turned out to begin the next block
    return CallError(
        code=refused.code,
        span=(block.start, end),
        message=refused.message,
        hint=refused.hint or hint_of(refused.code, block.dialect),
        name=block.name,
        server=block.server,
        arguments=arguments,
        source=source,
        offset=place,
    )


def _call(block: Block, text: str, base: int, end: int, toolbox: Toolbox | None, strict: bool) -> ToolCall:
    default = block.dialect.default_server
    body: Envelope | None = None
    if block.json is not None and block.json.is_body:
        body = _json_body(block, block.json, text, base, toolbox)
    if block.name is None:
        take_name(block)
    if block.name is None:
        raise _Refused(Code.MISSING_TOOL_NAME, "the block names no tool")
    server, shape = block.server or default, None
    if toolbox is not None:
        resolve_name(block, toolbox)
        server, shape = _find_tool(block, toolbox, text, base)
        if block.server is None and _names_servers(block) and server not in (default, toolbox.only_server):
            _repair(block, Code.MISSING_SERVER, block.start, f"the tool is on server {server!r}")
        elif block.server is not None and server != block.server:
            message = f"there is no server {block.server!r}: the tool is on {server!r}"
            _repair(block, Code.WRONG_SERVER, block.start, message)
    nothing = not block.arguments.children and block.json is None
    takes_some = not isinstance(shape, ObjectShape) or shape.properties
    if block.stray.lost >= 0 and nothing and takes_some:
        what = "an attribute" if text[block.stray.lost - base] == "<" else "text"
        message = f"there is {what} where the arguments belong, and no argument"
        hint = f"Write each argument as an element of its own in <{block.dialect.arguments}>: <path>a.py</path>."
        raise _Refused(Code.MALFORMED_MARKUP, message, block.stray.lost, hint)
    reading = _arguments(block, text, base, end, body, shape)
    if shape is not None:
        _judge(block, reading, shape)
    forbidden = find_forbidden(text, block.start - base, end - base)
    if forbidden >= 0 and block.dialect.body is _ELEMENTS:
        _repair(block, Code.FORBIDDEN_CHARACTER, base + forbidden, f"{text[forbidden]!r} is no character of XML")
    repairs = sorted([*block.repairs, *reading.repairs], key=lambda repair: repair.offset)
    if strict and repairs:
        raise _Refused(repairs[0].code, f"strict: {repairs[0].message}", repairs[0].offset, read=reading)
    return ToolCall.unchecked(
        id=block.call_id or "",
        name=block.name,
        arguments=reading.arguments,
        server=server,
        repairs=tuple(repairs),
        legacy_json=body is not None and block.dialect.body is _ELEMENTS,
        dialect=block.dialect.name,
        span=(block.start, end),
    )


def _find_tool(block: Block, toolbox: Toolbox, text: str, base: int) -> tuple[str, Shape]:
    try:
        return toolbox.find(block.name or "", block.server, block.dialect.default_server)
    except NoToolError as error:
        place = base + skip_space(text, block.name_start - base) if block.name_start >= 0 else None
        hint = error.hint if _names_servers(block) or not error.needs_server else _NO_SERVER
        raise _Refused(Code.UNKNOWN_TOOL, error.message, place, hint) from None


_NO_SERVER: Final = "Several servers have a tool of this name, and a call can't say which is meant. Use another tool."


def _names_servers(block: Block) -> bool:
    """Can a call in the block's dialect name a server?"""
    return bool(block.dialect.server_name or block.dialect.json_server_name)


def _repair(block: Block, code: Code, place: int, message: str) -> None:
    block.repairs.append(Repair(code, place, message))


def _judge(block: Block, reading: Reading, shape: Shape) -> None:
    """Refuse arguments that do not fit the schema."""
    if reading.too_deep:
        raise _Refused(Code.LIMIT_EXCEEDED, "an argument contains JSON that nests too deep", read=reading)
    if reading.duplicates:
        names = ", ".join(reading.duplicates)
        place = _place_of_second(block, reading.duplicates[0], shape)
        message, hint = f"given more than once: {names}", f"Give {names} only once."
        raise _Refused(Code.DUPLICATE_ARGUMENT, message, place, hint, read=reading)
    if reading.problems:
        lines = "; ".join(str(problem) for problem in reading.problems[:20])
        hint = f"Correct these arguments and call the tool again: {lines}."
        raise _Refused(Code.INVALID_ARGUMENTS, lines, _place_of_problem(block, reading, shape), hint, read=reading)


def _place_of_problem(block: Block, reading: Reading, shape: Shape) -> int | None:
    path = reading.problems[0].path
    start = _json_start(block)
    if start is None:
        return _place_of(block, path, shape)
    return start if path and path[0] in reading.arguments else None


# -- places of what does not fit -------------------------------------------------------------------------------------


def _json_start(block: Block) -> int | None:
    """The place of the JSON that the arguments are read from; None if they are elements."""
    return None if block.json is None else block.json.start


def _place_of(block: Block, path: Path, shape: Shape) -> int | None:
    """The place of the element at `path` in the arguments, or of the innermost one that there is on the way.

    `shape` is that of the arguments. None if not even the argument is there.
    """
    group, place = [block.arguments], None
    for step in path:
        group, shape = _inside(group, shape, step)
        if not group:
            break
        place = group[0].offset
    return place


def _place_of_second(block: Block, name: str, shape: Shape) -> int | None:
    """The place of the second element of the first argument or property `name` that is repeated but no list."""
    pending: list[tuple[list[Element], Shape]] = [([block.arguments], shape)]
    seen: set[tuple[int, int]] = set()
    while pending:
        group, shape = pending.pop()
        if (array := _array_of(shape)) is not None:
            if len(group) == 1 and _items(group, array) == group:
                if (id(group[0]), id(array)) in seen:
                    continue  # it would be an item of itself
                seen.add((id(group[0]), id(array)))
            pending += [([item], array.item(number)) for number, item in enumerate(_items(group, array))][::-1]
        elif len(group) == 1:
            groups = _by_name(group[0])
            pending += [(inner, shape.child(each)) for each, inner in groups.items()][::-1]
        elif not shape.is_any and group[0].name == name:
            return group[1].offset
    return None


def _inside(group: list[Element], shape: Shape, step: str | int) -> tuple[list[Element], Shape]:
    """The elements of a property or item of the value that the elements of `group` are, and its shape."""
    if isinstance(step, str):
        return _by_name(group[0]).get(step, []), shape.child(step)
    array = _array_of(shape)
    if array is not None:
        return _items(group, array)[step : step + 1], array.item(step)
    items = group if len(group) > 1 else group[0].children or []
    return items[step : step + 1], ANY


def _array_of(shape: Shape) -> ArrayShape | None:
    return next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)


def _by_name(element: Element) -> dict[str, list[Element]]:
    groups: dict[str, list[Element]] = {}
    for child in element.children or ():
        groups.setdefault(child.name, []).append(child)
    return groups


def _items(group: list[Element], array: ArrayShape) -> list[Element]:
    """The items of a list: each element is one, or contains some."""
    items: list[Element] = []
    for element in group:
        inner = element.children or []
        items += inner if inner and array.holds_items(inner[0].name, element.name, len(group)) else [element]
    return items


# -- values ----------------------------------------------------------------------------------------------------------


def _read_leaves(block: Block, source: str, base: int) -> None:
    pairs = block.dialect.pairs
    mark = pairs.tag_mark if pairs is not None else ""
    for leaf in block.leaves:
        leaf.element.text = _leaf_text(block, leaf, source, base)
        if mark and not leaf.shape.is_text and mark in leaf.element.text:
            grow(block, leaf)
        if leaf.element.nil and leaf.element.text:
            leaf.element.nil = False
            note(
                block,
                Code.IGNORED_ATTRIBUTE,
                leaf.element.offset,
                f"<{leaf.tag}> is null but contains text",
                leaf.start,
            )
    for element, start, end in block.nodes:
        element.inner = source[start - base : end - base]


def _leaf_text(block: Block, leaf: Leaf, source: str, base: int) -> str:
    """The value of a leaf, and what was odd about how it was written."""
    if leaf.given is not None:
        return leaf.given
    start, end = leaf.start - base, leaf.end - base
    sections = leaf.sections
    if len(sections) == 2 and sections[0] - leaf.start == len(CDATA_OPEN) and sections[1] + 3 == leaf.end:
        if leaf.whole is not None and len(leaf.whole) == sections[1] - sections[0]:
            return leaf.whole
        return source[sections[0] - base : sections[1] - base]
    text = source[start:end] if not sections and leaf.literal < 0 and end - start < _SHORT else ""
    if text and text[0] > " " and text[-1] > " " and "&" not in text and "]]>" not in text:
        return text  # the plain case of names, numbers and words
    reader, parts = TextReader(), Rope()
    for index in range(0, len(sections), 2):
        section_start, section_end = sections[index] - base, sections[index + 1] - base
        _plain(block, leaf, reader, source, base, start, section_start - len(CDATA_OPEN), parts)
        parts.append(reader.open_cdata())
        parts.append(source[section_start:section_end])
        start = section_end + 3
    _plain(block, leaf, reader, source, base, start, end, parts)
    parts.append(reader.end(cut=leaf.cut))
    return parts.take()


def _without_comments(source: str, first: int, start: int, end: int) -> str:
    """What is written from `start` to `end` in a value that is no string and begins at `first`. What a comment parts is
    not joined: `5<!-- or -->7` is no number."""
    kept, at = [], start
    while (opening := source.find("<!--", at, end)) >= 0 and (closing := source.find("-->", opening + 4, end)) >= 0:
        kept.append(source[at:opening])
        at = closing + 3
        if first < opening and at < end and not (source[opening - 1].isspace() or source[at].isspace()):
            kept.append(" ")
    return "".join((*kept, source[at:end]))


def _plain(
    block: Block, leaf: Leaf, reader: TextReader, source: str, base: int, start: int, end: int, parts: Rope
) -> None:
    """Decode a run of plain text, in two if literal markup begins in it, and add it to `parts`."""
    if start >= end:
        return
    turn = min(max(leaf.literal - base, start), end) if leaf.literal >= 0 else end
    if not leaf.mixed and block.dialect.body is _ELEMENTS:  # in other dialects, models write values as they are
        _note_oddities(block, leaf, source, base, start, turn, end)
    if turn > start:
        parts.append(reader.text(source[start:turn]))
    if turn < end:
        reader.literal = True
        pasted = source[turn:end] if leaf.shape.exact else _without_comments(source, start, turn, end)
        if pasted:
            parts.append(reader.text(pasted))


def _note_oddities(block: Block, leaf: Leaf, source: str, base: int, start: int, turn: int, end: int) -> None:
    if source.find("&", start, turn) >= 0:
        note_ampersands(block, source, start, turn, base, leaf.start)
    if turn < end:
        is_comment = not leaf.shape.exact and source.startswith("<!--", turn) and source.find("-->", turn, end) >= 0
        message = "a comment in the value was skipped" if is_comment else "a < that begins no markup was kept"
        note(block, Code.BARE_LESS_THAN, leaf.literal, message, leaf.start)
    if (section_end := source.find("]]>", start, turn)) >= 0:
        note(block, Code.BARE_CDATA_END, base + section_end, "]]> in plain text was kept", leaf.start)


# -- JSON ------------------------------------------------------------------------------------------------------------


def _arguments(block: Block, source: str, base: int, stop: int, body: Envelope | None, shape: Shape | None) -> Reading:
    """The arguments of a block that ends at `stop` in the stream."""
    json = block.json
    if body is not None and json is not None:
        return _body_arguments(block, json, body, shape)
    if json is None:
        usual = block.dialect.body is not _ELEMENTS
        wrapped = _wrapped(block, shape) if usual else None
        if wrapped is not None:
            return read_object(wrapped, shape, block.start)
        return read_arguments(block.arguments.children or [], shape, depth=block.limits.depth, json_is_usual=usual)
    if block.arguments.children:
        place = block.arguments.children[0].offset
        raise _Refused(Code.INVALID_JSON, "there are elements beside the JSON object in the arguments", place)
    if json.element is None:
        text, written = source[json.start - base : json.end - base] + "}" * json.lacks_brace, json.start
    else:
        text = _without_fence(json.element.text)
        written = base + source.find(text, json.start - base, stop - base)  # not to be found if it was decoded
    return read_object(_object(block, text, json.start, written), shape, json.start)


def _wrapped(block: Block, shape: Shape | None) -> dict[str, Any] | None:
    """The arguments, if one that the tool has not holds them all: an object whose members are arguments of the tool."""
    pairs, children = block.dialect.pairs, block.arguments.children or []
    if pairs is None or shape is None or len(children) != 1 or children[0].name not in pairs.wrappers:
        return None
    name, text, place = children[0].name, children[0].text, children[0].offset
    if shape.declares(name):
        return None
    try:
        value, repairs = loads_lenient(text, depth=block.limits.depth, loose=True)
    except JSONError:
        return None
    if not isinstance(value, dict) or not value or not all(map(shape.has_property, value)):
        return None
    _repair(block, Code.JSON_ARGUMENTS, place, f"the arguments were read from the argument {name!r}")
    for code, _, message in repairs:
        _repair(block, code, place, message)
    return value


def _without_fence(text: str) -> str:
    text = text.rstrip(" \t\r\n")
    return text.rstrip("`") if text.endswith("```") else text


def _object(block: Block, text: str, place: int, written: int, *, is_body: bool = False) -> dict[str, Any]:
    """The JSON object in `text`, which starts at `place` in the stream.

    Character by character it is at `written`; before `place` means nowhere, since it was decoded. `is_body`: JSON
    is right there, and a Python literal is not. Elsewhere a repair has reported already that elements belong there.
    """
    pairs = block.dialect.pairs
    try:
        if pairs is not None and pairs.python:
            value, repairs = loads_call(text, depth=block.limits.depth)
        elif pairs is not None and pairs.quote:
            value, repairs = loads_marked(text, pairs.quote, depth=block.limits.depth)
        else:
            value, repairs = loads_lenient(text, depth=block.limits.depth, loose=block.dialect.body is not _ELEMENTS)
    except JSONError as error:
        offence = written + error.offset if written >= place else place
        code = Code.LIMIT_EXCEEDED if isinstance(error, JSONDepthError) else Code.INVALID_JSON
        hint = error.hint if isinstance(error, JSONEscapeError) else None
        if hint and block.dialect.body is not _ELEMENTS:
            hint = hint_of(Code.JSON_ESCAPE, block.dialect)
        raise _Refused(code, f"the {block.dialect.notation} could not be read: {error}", offence, hint) from None
    if not isinstance(value, dict):
        raise _Refused(Code.INVALID_JSON, "the JSON is no object", place)
    for code, offset, message in repairs:
        if is_body or code is not Code.PYTHON_LITERAL or (pairs is not None and pairs.json):
            _repair(block, code, place + offset, message)
    return value


def _json_body(block: Block, json: JSONObject, source: str, base: int, toolbox: Toolbox | None) -> Envelope:
    """A JSON body; its name and server are set on the block."""
    start = json.start
    text = source[start - base : json.end - base] + "}" * json.lacks_brace
    announced, default = block.name, block.dialect.default_server

    def declares(name: str, key: str) -> bool:
        shape = toolbox.guess(name, None, default) if toolbox else None
        return shape is not None and shape.has_property(key)

    def is_argument(key: str, value: Any) -> bool:
        if toolbox is None or block.name is None or toolbox.serves(block.name, str(value)):
            return False
        return declares(block.name, key)

    def is_tool(name: str) -> bool:
        return toolbox is not None and toolbox.resolve(name) is not None

    try:
        members = _object(block, text, start, start, is_body=True)
        if block.proposed is not None and not _says_name(block, block.proposed[0], members, toolbox, declares):
            take_name(block)
            announced = block.name
            body = Envelope(_with_arguments(block, json, members, declares), block.dialect)
        else:
            if block.proposed is not None:
                note_opener(block, Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")
            body = Envelope(members, block.dialect)
            block.name = _name(body.name(is_tool, declares), start)
        if toolbox is not None and block.name is not None:
            resolve_name(block, toolbox)
        if block.call_id is not None and block.name != announced:
            raise EnvelopeError(Code.DUPLICATE_FIELD, f"both {announced} and {block.name} are named as the tool")
        block.server = _name(body.server(is_argument), start)
    except EnvelopeError as error:
        raise _Refused(error.code, error.message, start, error.hint) from None
    return body


def _says_name(
    block: Block,
    proposed: str,
    members: dict[str, Any],
    toolbox: Toolbox | None,
    declares: Callable[[str, str], bool],
) -> bool:
    """Does the body name the tool, as the opener does? A key that may be an argument does not count (protocol, 2.6)."""
    dialect = block.dialect
    fields = (*dialect.json_tool_name, *dialect.json_other_tool_name)
    tool = toolbox.resolve(proposed) if toolbox is not None else None
    if toolbox is not None and tool is not None:
        named = [members[key] for key in fields if key in members and not declares(tool, key)]
        return any(isinstance(name, str) and toolbox.resolve(name.strip(SPACES)) is not None for name in named)
    inner = next((members[key] for key in dialect.json_wrappers if isinstance(members.get(key), dict)), members)
    arguments = (*dialect.json_arguments, *dialect.json_other_arguments)
    return not inner.keys().isdisjoint(fields) and not inner.keys().isdisjoint(arguments)


def _with_arguments(
    block: Block, json: JSONObject, members: dict[str, Any], declares: Callable[[str, str], bool]
) -> dict[str, Any]:
    """A body whose tool the opener names, with a key for the arguments: where it has none, its members are those."""
    dialect = block.dialect
    arguments = (*dialect.json_arguments, *dialect.json_other_arguments)
    if any(key in members and not declares(block.name or "", key) for key in arguments):
        return members
    if json.lacks_brace:
        raise _Refused(Code.INVALID_JSON, "the last brace of the JSON object is missing", json.end)
    _repair(block, Code.JSON_ARGUMENTS, json.start, "the arguments were read from JSON")
    return {arguments[0]: members}


def _body_arguments(block: Block, json: JSONObject, body: Envelope, shape: Shape | None) -> Reading:
    """The arguments of a JSON body, once its tool is known."""
    start = json.start
    try:
        arguments = body.wrapped(shape)
        if isinstance(arguments, str):
            _repair(block, Code.JSON_STRING, start, "the arguments were a string that contains JSON")
            arguments = _object(block, arguments, start, -1)
        elif arguments is not None and not isinstance(arguments, dict):
            message = f"expected an object with the arguments, got {arguments!r:.60}"
            raise _Refused(Code.INVALID_ARGUMENTS, message, start)
        arguments = arguments or {}
        beside = body.unwrapped(arguments, shape)
    except EnvelopeError as error:
        raise _Refused(error.code, error.message, start, error.hint) from None
    if json.lacks_brace and (beside or body.in_arguments(arguments, shape)):
        # A brace of the arguments is missing, and nobody knows where it belongs.
        raise _Refused(Code.INVALID_JSON, "the last brace of the JSON object is missing", json.end)
    for code, message in body.repairs.items():
        _repair(block, code, start, message)
    return read_object(arguments | beside if beside else arguments, shape, start)


def _name(value: Any, place: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not is_valid_name(value.strip(" \t\r\n")):
        raise _Refused(Code.INVALID_NAME, f"{value!r:.60} is no name", place)
    return value.strip(" \t\r\n") or None
