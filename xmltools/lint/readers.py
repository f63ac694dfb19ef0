"""Clean blocks as other XML tools see them: lxml with `grammars/tool.rng`, and defusedxml, over expat.

What they read is untrusted. No document type, no entity and nothing outside the block is ever loaded, neither parser
recovers from errors, and the limits of libxml2 stay on. Both see whole blocks only, and as UTF-8.

A block that is clean is well-formed XML with the same tree. The protocol says more of white space than XML does
(sections 4.1 and 4.2), so texts are compared without it. Expat follows the fourth edition of XML 1.0, whose names
have fewer characters: blocks with others are not read by every XML tool, which is worth a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring as read_with_expat
from lxml import etree

from xmltools.dialects import FORGE
from xmltools.models import ToolCall
from xmltools.render.writable import same
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import SPACES
from xmltools.tools import Tool
from xmltools.tools.schema import read_arguments

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
        encoding="utf-8",  # otherwise the text could name another one
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
    """Return the root of a block as expat reads it, by way of defusedxml. Raises `Unreadable`."""
    try:
        return read_with_expat(block.encode("utf-8"), forbid_dtd=True, forbid_entities=True, forbid_external=True)
    except ParseError as error:
        said = str(error).partition(": line")[0]  # its line is one of the block, not of the text
        raise Unreadable(said, error.position[0]) from None
    except (DefusedXmlException, ValueError, LookupError) as error:
        raise Unreadable(str(error) or type(error).__name__) from None


_READERS: dict[str, Callable[[str], Any]] = {"lxml": read_with_lxml, "defusedxml": read_with_defusedxml}


def disagreements(block: str, call: ToolCall, tool: Tool | None, unnamed: str) -> Iterator[tuple[str, int]]:
    """Yield what other readers say against a clean block: a message, and the line in the block (from 1).

    Takes the block's text, the call that the parser found, its tool if there is one, and the server that a block means
    which names none.
    """
    for reader, read in _READERS.items():
        if reader == "lxml" and len(block) > _MAX_CHARACTERS:
            continue
        try:
            root = read(block)
        except Unreadable as refused:
            yield f"{reader} does not read the block: {refused}", refused.line
            continue
        if reader == "lxml" and (refusal := _refusal_of_schema(root)):
            yield refusal
        elif difference := _difference(root, call, tool, unnamed):
            yield f"{reader} finds another call in the block: {difference}", 1


def _refusal_of_schema(root: etree._Element) -> tuple[str, int] | None:
    for each in root.iter():
        if each.get(FORGE.nil) == "false":  # the same as without it, but no writer writes it
            del each.attrib[FORGE.nil]
    schema = _tool_rng()
    if schema.validate(root):
        return None
    said = "; ".join(error.message for error in schema.error_log)
    return f"grammars/tool.rng does not take the block: {said}", schema.error_log[-1].line or 1


@cache
def _tool_rng() -> etree.RelaxNG:
    """The RELAX NG schema of a block of any tool: the folder is in the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    folder = package if (package / "grammars").exists() else package.parent
    return etree.RelaxNG(etree.parse(folder / "grammars" / "tool.rng"))


def _difference(root: Any, call: ToolCall, tool: Tool | None, unnamed: str) -> str:
    """Return what differs first, nothing if all is the same."""
    names = {name: (root.findtext(name) or "").strip(SPACES) for name in (FORGE.tool_name, FORGE.server_name)}
    found = root.find(FORGE.arguments)
    elements = _elements(() if found is None else found)
    arguments = read_arguments(elements, tool.shape if tool else None, check=False).arguments
    compared: list[tuple[str, Any, Any]] = [
        (FORGE.tool_name, names[FORGE.tool_name], call.name),
        (FORGE.server_name, names[FORGE.server_name] or unnamed, call.server),
        ("the names of arguments", list(arguments), list(call.arguments)),
        *((f"the argument {name!r:.80}", arguments.get(name), value) for name, value in call.arguments.items()),
    ]
    different = (each for each in compared if not same(_without_space(each[1]), _without_space(each[2])))
    return next((f"{what} is {theirs!r:.60} there and {ours!r:.60} here" for what, theirs, ours in different), "")


def _elements(children: Iterable[Any]) -> list[Element]:
    """Return elements that an XML parser has read, as our own parser gives them to the schema."""
    # Depth is bounded: our own parser has read the block before.
    return [_element(child) for child in children]


def _element(source: Any) -> Element:
    name = source.get(FORGE.argument_name, source.tag).strip(SPACES) if source.tag == FORGE.argument else source.tag
    element = Element(name, nil=source.get(FORGE.nil) == "true")
    if len(source):
        element.children = _elements(source)
    else:
        element.text = source.text or ""
    return element


def _without_space(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_space(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(_without_space, value))
    return "".join(value.split()) if isinstance(value, str) else value
