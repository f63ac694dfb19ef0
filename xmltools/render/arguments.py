"""Arguments as elements, indented, with CDATA only where plain text is not exact (protocol, section 10).

`write_elements` gives both the text and the tree that a parser makes of it. So its caller can ask the reader of
such trees whether the elements say what was meant: there are values that they cannot say, as the number 5 where the
schema leaves open what it is, and whether one of them is there depends on the whole schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from xmltools.dialects import Dialect
from xmltools.render.writable import escape_name, is_hidden, is_sayable, scalar_text
from xmltools.syntax.elements import Element
from xmltools.syntax.embedded_markup import count_sections
from xmltools.syntax.markup import CDATA_OPEN, SPACES, is_valid_name, is_xml_name
from xmltools.tools.schema import ANY, ScalarShape, Shape, item_name

__all__ = ["Elements", "write_elements", "write_text"]

INDENT = "  "
_LEADING_BREAK = re.compile(r"[ \t]*[\r\n]")
_OPENING = re.compile(r"<!\[(?=CDATA\[)", re.IGNORECASE)
_BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class Elements(NamedTuple):
    """Arguments as lines of text, and as the tree that they are read into."""

    lines: list[str]
    tree: list[Element]


class _Unwritable(Exception):  # noqa: N818 - never leaves this module
    """There are no elements for a value."""


def write_elements(
    arguments: dict[str, Any], shape: Shape | None, dialect: Dialect, in_cdata: Callable[[str, str], bool] | None = None
) -> Elements | None:
    """Write arguments as elements, by the shape of the tool's schema or by none.

    Takes JSON values. `in_cdata` is asked for each string, by name and text, whether it stands in CDATA though it need
    not. Returns None if there is a name or a value that no element can hold.
    """
    writer = _Writer(dialect, in_cdata)
    root = shape or ANY
    try:
        tree = [writer.element(name, value, root, INDENT, top=True) for name, value in arguments.items()]
    except _Unwritable:
        return None
    return Elements(writer.lines, tree)


class _Writer:
    """Writes elements line by line, and makes the tree as it goes."""

    __slots__ = ("dialect", "in_cdata", "lines")

    def __init__(self, dialect: Dialect, in_cdata: Callable[[str, str], bool] | None) -> None:
        self.dialect = dialect
        self.in_cdata = in_cdata
        self.lines: list[str] = []

    def element(self, name: str, value: Any, parent: Shape, indent: str, *, top: bool = False) -> Element:
        """Write the argument, property or item `name` of something of the shape `parent`."""
        tag, start = self.tag(name, parent, top)
        element = Element(name, nil=value is None)
        if value is None:
            self.lines.append(f'{indent}<{start} {self.dialect.nil}="true"/>')
        elif isinstance(value, (dict, list)) and value:
            self.lines.append(f"{indent}<{start}>")
            element.children = self.children(name, value, parent.child(name), indent + INDENT)
            self.lines.append(f"{indent}</{tag}>")
        else:
            element.text = "" if isinstance(value, (dict, list)) else _leaf_text(value, parent.child(name))
            chosen = self.in_cdata is not None and isinstance(value, str) and self.in_cdata(name, value)
            self.lines.append(f"{indent}<{start}>{write_text(element.text, in_cdata=chosen)}</{tag}>")
        return element

    def children(self, name: str, value: dict[str, Any] | list[Any], shape: Shape, indent: str) -> list[Element]:
        """Write what is inside a list or an object."""
        items = list(value.items()) if isinstance(value, dict) else [(item_name(name), each) for each in value]
        # The first name tells the parser whether this is a node, and of which shape; no answer means that it is text.
        inner = shape.opens(items[0][0], name)
        if inner is None:
            raise _Unwritable
        # It asks the whole union, of which `inner` is a part: an alternative may declare `argument` as a property.
        self.tag(items[0][0], shape)
        return [self.element(each, content, inner, indent) for each, content in items]

    def tag(self, name: str, parent: Shape, top: bool = False) -> tuple[str, str]:
        """Return the tag for a name, and the start tag's inside, which may say the name in an attribute."""
        dialect = self.dialect
        hidden = top and is_hidden(name, parent, dialect)
        if not hidden and (_BARE_NAME.fullmatch(name) or is_xml_name(name)) and is_valid_name(name):
            return name, name
        if not is_sayable(name) or parent.has_property(dialect.argument):
            raise _Unwritable
        return dialect.argument, f'{dialect.argument} {dialect.argument_name}="{escape_name(name)}"'


def write_text(text: str, *, in_cdata: bool = False) -> str:
    """Return the content of an element: plain text if that is exact, else (or if asked for) CDATA."""
    if not in_cdata and _is_plain(text):
        return text
    # Two sections share a ]]> between them, so that none of them holds it; and also an opener that has no end in the
    # text, for it would claim the end of the section (protocol, 4.9).
    parts = text.split("]]>")
    if count_sections(text, 0, len(text), 0):
        parts = [_OPENING.sub(f"<![]]>{CDATA_OPEN}", part) for part in parts]
    return f"{CDATA_OPEN}{f']]]]>{CDATA_OPEN}>'.join(parts)}]]>"


def _is_plain(text: str) -> bool:
    if "<" in text or "&" in text or "]]>" in text:
        return False
    return text[:1] not in SPACES or not _LEADING_BREAK.match(text)


def _leaf_text(value: Any, shape: Shape) -> str:
    if isinstance(value, float) and value.is_integer() and _is_integer(shape):
        return int.__repr__(int(value))
    return scalar_text(value)


def _is_integer(shape: Shape) -> bool:
    """Return whether the shape takes numbers, but only integers: there 5.0 is written as 5."""
    numbers = [each.type for each in shape.alternatives if isinstance(each, ScalarShape)]
    return "integer" in numbers and "number" not in numbers
