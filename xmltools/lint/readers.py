"""Blocks as XML parsers read them: lxml and, over expat, defusedxml. Both see whole blocks only, and as UTF-8.

What they read is untrusted. No document type, no entity and nothing outside the block is ever loaded, neither parser
recovers from errors, and the limits of libxml2 stay on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring as read_with_expat
from lxml import etree

from xmltools.dialects import FORGE
from xmltools.syntax.elements import Element

__all__ = [
    "SPACES",
    "Unreadable",
    "arguments_of",
    "field_of",
    "is_too_large_for_lxml",
    "name_of",
    "name_unknown_to_expat",
    "read_with_defusedxml",
    "read_with_lxml",
    "readers_for",
]

SPACES = " \t\r\n"
_MAX_CHARACTERS = 2_400_000
"""Longest block that lxml sees: libxml2 refuses texts of ten million bytes, and a character has at most four."""


class Unreadable(Exception):  # noqa: N818 - no error of the caller: the block's, and caught in this package
    """A reader takes a block for no XML. `line` is the line in the block where it gave up, if it says so."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def read_with_lxml(block: str) -> etree._Element:
    """Return the root of a block as lxml reads it. Raises `Unreadable`."""
    # A parser for each block: it costs less than a microsecond, and nothing of one block stays for the next.
    parser = etree.XMLParser(
        encoding="utf-8",  # else the text could name another one
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )
    try:
        root = etree.fromstring(block.encode("utf-8"), parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(str(error.msg), error.lineno or 1) from None
    except (etree.LxmlError, ValueError) as error:  # ValueError: what UTF-8 or libxml2 can't hold
        raise Unreadable(str(error)) from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise Unreadable("a document type declaration")
    return root


def read_with_defusedxml(block: str) -> Any:
    """Return the root of a block as expat reads it, behind defusedxml. Raises `Unreadable`."""
    try:
        return read_with_expat(block.encode("utf-8"), forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except ParseError as error:
        raise Unreadable(str(error), error.position[0]) from None
    except (DefusedXmlException, ValueError, LookupError) as error:
        raise Unreadable(str(error) or type(error).__name__) from None


def is_too_large_for_lxml(block: str) -> bool:
    """Return whether libxml2 might refuse a block for its size alone."""
    return len(block) > _MAX_CHARACTERS


def name_unknown_to_expat(block: str) -> str:
    """Return a name of an element that lxml reads in a block and expat does not, empty if there is none.

    The fifth edition of XML 1.0 gave names nearly all characters, and expat follows the fourth.
    """
    try:
        names = {} if is_too_large_for_lxml(block) else {str(each.tag): None for each in read_with_lxml(block).iter()}
    except Unreadable:
        return ""
    return next((name for name in names if not _is_name_for_expat(name)), "")


def _is_name_for_expat(name: str) -> bool:
    try:
        return read_with_defusedxml(f"<{name}/>") is not None
    except Unreadable:
        return False


def readers_for(block: str) -> dict[str, Callable[[str], Any]]:
    """Return the readers that can be asked about a block, by name."""
    readers: dict[str, Callable[[str], Any]] = {"lxml": read_with_lxml, "defusedxml": read_with_defusedxml}
    if is_too_large_for_lxml(block):
        del readers["lxml"]
    return readers


def field_of(root: Any, name: str) -> str:
    """Return the trimmed text of a field of the block, empty if it is not there."""
    return (root.findtext(name) or "").strip(SPACES)


def arguments_of(root: Any) -> list[Element]:
    """Return the arguments of a block that an XML parser has read, as our own parser gives them to the schema."""
    found = root.find(FORGE.arguments)
    return _elements(() if found is None else found)


def _elements(children: Iterable[Any]) -> list[Element]:
    # Depth is bounded: our own parser has read the block before.
    return [_element(child) for child in children]


def _element(source: Any) -> Element:
    element = Element(name_of(source), nil=source.get(FORGE.nil) == "true")
    if len(source):
        element.children = _elements(source)
    else:
        element.text = source.text or ""
    return element


def name_of(source: Any) -> str:
    """Return the name of an argument: that of the element, or the one that `<argument name="…">` gives."""
    if source.tag == FORGE.argument:
        return str(source.get(FORGE.argument_name, source.tag)).strip(SPACES)
    return str(source.tag)
