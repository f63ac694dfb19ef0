"""A call as text in Forge's dialect (protocol, section 10): what is written is read back as the same call, and clean.

Elements are written first, with CDATA only where plain text is not exact, and with the tree that a parser makes of
them, which is read back. If that gives another call, or the same with a repair (elements cannot say the number 5 where
the schema leaves open what it is), the call is written with a JSON body, which says any JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.render.marks import turn_marks
from xmltools.render.writable import (
    ORDINARY_NAME,
    escape_name,
    is_hidden,
    is_sayable,
    refuse_unsayable,
    same,
    scalar_text,
)
from xmltools.syntax.element_tree import Element
from xmltools.syntax.embedded_markup import count_open
from xmltools.syntax.markup import CDATA_OPEN, SPACES, is_valid_name, is_xml_name
from xmltools.syntax.searches import find_rare
from xmltools.tools.schema import (
    ANY,
    ArrayShape,
    EnumShape,
    ObjectShape,
    Reading,
    ScalarShape,
    Shape,
    TextShape,
    find_problems,
    item_name,
    read_arguments,
    read_object,
)

_NO_XML_CHARACTER = re.compile("[\ufffe\uffff]")  # json escapes the others


def write_call(
    call: ToolCall,
    shape: ObjectShape | None,
    *,
    exact: bool,
    legacy_json: bool = False,
    server_names: bool | None = None,
    dialect: Dialect = FORGE,
    in_cdata: Callable[[str, str, Shape], bool] | None = None,
) -> str:
    """Write a call whose arguments are JSON values.

    `server_names` says whether the block names the server; None: if that is not the default one. `exact` keeps the
    types of numbers and booleans also where only a JSON body can. `in_cdata` is asked for each string, by name,
    text and shape, whether it stands in CDATA though it need not.
    """
    refuse_unsayable(call.name, "a tool")
    refuse_unsayable(call.server, "a server")
    server = call.server if server_names or (server_names is None and call.server != dialect.default_server) else None
    elements = None if legacy_json else write_elements(call.arguments, shape, dialect, in_cdata)
    if elements and (elements.sure or _reads_back(call, shape, elements, exact)):
        return _element_block(call, server, elements, dialect)
    reading = read_object(call.arguments, shape, 0, check=False, tool=call.name)
    if _says(call, reading):
        # What was read is equal, and spelled as the schema asks for it: 5, not 5.0, for an integer.
        return _json_block(call, server, reading.arguments, dialect)
    return _best_of_bad(call, server, shape, elements, dialect)


def _reads_back(call: ToolCall, shape: ObjectShape | None, elements: Elements, exact: bool) -> bool:
    """Return whether the elements are read as the arguments of the call, without a repair."""
    reading = read_arguments(elements.tree, shape, check=False, tool=call.name)
    return not reading.repairs and _says(call, reading, loose=not exact)


def _says(call: ToolCall, reading: Reading, *, loose: bool = False) -> bool:
    """Return whether the arguments that were read are those of the call."""
    return same(call.arguments, reading.arguments, loose=loose) and not (reading.duplicates or reading.too_deep)


def _best_of_bad(
    call: ToolCall, server: str | None, shape: ObjectShape | None, elements: Elements | None, dialect: Dialect
) -> str:
    """Write an invalid call as well as can be: it has no right spelling. Refuse to write a valid one as another."""
    if shape is not None and not find_problems(call.arguments, shape):
        raise XMLToolsError(
            f"the arguments of the call of {call.name!r} can't be written so that they read back the same: its schema "
            "has alternatives that look alike in text; give them different types or values"
        )
    if elements:
        return _element_block(call, server, elements, dialect)
    return _json_block(call, server, call.arguments, dialect)


def _element_block(call: ToolCall, server: str | None, elements: Elements, dialect: Dialect) -> str:
    arguments = "\n".join((f"<{dialect.arguments}>", *elements.lines, f"</{dialect.arguments}>"))
    named = f"<{dialect.server_name}>{escape_name(server)}</{dialect.server_name}>\n" if server is not None else ""
    return (
        f"<{dialect.block}>\n"
        f"{named}"
        f"<{dialect.tool_name}>{escape_name(call.name)}</{dialect.tool_name}>\n"
        f"{arguments}\n"
        f"</{dialect.block}>"
    )


def _json_block(call: ToolCall, server: str | None, arguments: dict[str, Any], dialect: Dialect) -> str:
    members: dict[str, Any] = {dialect.json_server_name[0]: server} if server is not None else {}
    members |= {dialect.json_tool_name[0]: call.name, dialect.json_arguments[0]: arguments}
    lines = ",\n".join(f"  {_json(key)}: {_json(value)}" for key, value in members.items())
    return f"<{dialect.block}>\n{{\n{lines}\n}}\n</{dialect.block}>"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = _NO_XML_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return turn_marks().neutral_json(text)


# Arguments as elements


INDENT = "  "
_LEADING_BREAK = re.compile(r"[ \t]*[\r\n]")
_OPENING = re.compile(r"<!\[(?=CDATA\[)", re.IGNORECASE)


class Elements(NamedTuple):
    """Arguments as lines of text, and as the tree that they are read into.

    `sure`: that tree is read as the same arguments, without a repair.
    """

    lines: list[str]
    tree: list[Element]
    sure: bool


class _Unwritable(Exception):  # noqa: N818 - never leaves this module
    """There are no elements for a value."""


def write_elements(
    arguments: dict[str, Any],
    shape: Shape | None,
    dialect: Dialect,
    in_cdata: Callable[[str, str, Shape], bool] | None = None,
    indent: str = INDENT,
) -> Elements | None:
    """Write arguments as elements, by the shape of the tool's schema or by none.

    Takes JSON values. `in_cdata` is asked for each string, by name, text and shape, whether it stands in CDATA though
    it need not; `indent` is what stands before each argument. Returns None if there is a name or a value that no
    element can hold.
    """
    writer = _Writer(dialect, in_cdata)
    root = shape or ANY
    try:
        tree = [writer.element(name, value, root, indent, top=True) for name, value in arguments.items()]
    except _Unwritable:
        return None
    return Elements(writer.lines, tree, writer.sure)


class _Writer:
    """Writes elements line by line, and makes the tree as it goes."""

    def __init__(self, dialect: Dialect, in_cdata: Callable[[str, str, Shape], bool] | None) -> None:
        self.dialect = dialect
        self.in_cdata = in_cdata
        self.lines: list[str] = []
        self.sure = True
        """Whether reading can but give the same: each value so far is of the one type that its shape has."""

    def element(self, name: str, value: Any, parent: Shape, indent: str, *, top: bool = False) -> Element:
        """Write the argument, property or item `name` of something of the shape `parent`."""
        tag, start = self.tag(name, parent, top)
        element = Element(name, nil=value is None)
        if value is None and self.dialect.nil:
            self.sure = False
            self.lines.append(f'{indent}<{start} {self.dialect.nil}="true"/>')
        elif isinstance(value, (dict, list)) and value:
            self.lines.append(f"{indent}<{start}>")
            element.children = self.children(name, value, parent.child(name), indent + INDENT)
            self.lines.append(f"{indent}</{tag}>")
        else:
            shape = parent.child(name)
            self.sure = self.sure and is_its_text(value, shape)
            element.text = "" if isinstance(value, (dict, list)) else _leaf_text(value, shape)
            chosen = self.in_cdata is not None and isinstance(value, str) and self.in_cdata(name, value, shape)
            self.lines.append(f"{indent}<{start}>{write_text(element.text, in_cdata=chosen)}</{tag}>")
        return element

    def children(self, name: str, value: dict[str, Any] | list[Any], shape: Shape, indent: str) -> list[Element]:
        """Write what is inside a list or an object."""
        items = list(value.items()) if isinstance(value, dict) else [(item_name(name), each) for each in value]
        # The first name tells the parser whether this is a node, and of which shape; no answer means that it is text.
        inner = shape.opens(items[0][0], name)
        if inner is None:
            raise _Unwritable
        # That a list's items have one shape is seen where they are written: one of several has no sure value.
        of_kind = isinstance(shape, ObjectShape if isinstance(value, dict) else ArrayShape)
        self.sure = self.sure and of_kind and inner is shape
        # It asks the whole union, of which `inner` is a part: an alternative may declare `argument` as a property.
        self.tag(items[0][0], shape)
        return [self.element(each, content, inner, indent) for each, content in items]

    def tag(self, name: str, parent: Shape, top: bool = False) -> tuple[str, str]:
        """Return the tag for a name, and the start tag's inside, which may say the name in an attribute."""
        dialect = self.dialect
        hidden = top and is_hidden(name, parent, dialect)
        if not hidden and (ORDINARY_NAME.fullmatch(name) or (is_xml_name(name) and is_valid_name(name))):
            return name, name
        if not dialect.argument or not is_sayable(name) or parent.has_property(dialect.argument):
            raise _Unwritable
        return dialect.argument, f'{dialect.argument} {dialect.argument_name}="{escape_name(name)}"'


def write_text(text: str, *, in_cdata: bool = False) -> str:
    """Return the content of an element: plain text if that is exact, else (or if asked for) CDATA."""
    if not in_cdata and _is_plain(text):
        return text
    # Two sections share a ]]> between them, so that none of them holds it; a token of a chat template, which an engine
    # would take for one (protocol, 10.2); and also an opener that has no end in the text, for it would claim the end of
    # the section (protocol, 4.9).
    parts = text.split("]]>") if find_rare(text, "]]>") >= 0 else [text]
    has_tokens = turn_marks().is_in(text)
    if has_tokens or count_open(text, 0, len(text), len(text), 0)[0]:
        parts = [_OPENING.sub(f"<![]]>{CDATA_OPEN}", part) for part in parts]
    if has_tokens:
        parts = [turn_marks().divided(part, f"]]>{CDATA_OPEN}") for part in parts]
    return f"{CDATA_OPEN}{f']]]]>{CDATA_OPEN}>'.join(parts)}]]>"


def _is_plain(text: str) -> bool:
    if "<" in text or "&" in text or "]]>" in text:
        return False
    if text[:1] in SPACES and _LEADING_BREAK.match(text):
        return False
    return not (("[" in text or "]" in text) and turn_marks().is_in(text))


def is_its_text(value: Any, shape: Shape) -> bool:
    """Return whether the text of a leaf of this shape is surely read as `value`, from which it was made. Of what is not
    ordinary it is not said."""
    kind = type(value)
    if kind is str:
        if isinstance(shape, TextShape):
            return bool(shape.read_text(value) == value)
        return isinstance(shape, EnumShape) and value in shape.values
    if not isinstance(shape, ScalarShape):
        return False
    if kind is int:
        return shape.type in ("integer", "number") and -_MANY < value < _MANY
    return kind is bool and shape.type == "boolean"


_MANY = 10**18


def _leaf_text(value: Any, shape: Shape) -> str:
    if isinstance(value, float) and value.is_integer() and _is_integer(shape):
        return int.__repr__(int(value))
    return scalar_text(value)


def _is_integer(shape: Shape) -> bool:
    """Return whether the shape takes numbers, but only integers: there 5.0 is written as 5."""
    numbers = [each.type for each in shape.alternatives if isinstance(each, ScalarShape)]
    return "integer" in numbers and "number" not in numbers
