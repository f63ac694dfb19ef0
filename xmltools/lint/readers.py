"""Blocks as other XML parsers read them, lxml and defusedxml (over expat), and whether they find what our parser found.

What they read is untrusted. No document type, no entity and nothing outside the block is ever loaded, neither parser
recovers from errors, and the limits of libxml2 stay on. Both see whole blocks only, and as UTF-8.

A block that is clean is well-formed XML with the same tree, but the protocol says more of white space than XML does
(sections 4.1 and 4.2): carriage returns are kept, which XML turns into line feeds; white space around CDATA sections
is dropped, and so is the line break with which a value begins on a line of its own. `plain_block` takes these
differences away. One more can't be taken away: expat follows the fourth edition of XML 1.0, whose names have fewer
characters. It is reported as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
    """Return the root of a block as expat reads it, by way of defusedxml. Raises `Unreadable`."""
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


# White space


_TOKEN = re.compile(
    r"<!\[CDATA\[(?P<section>.*?)\]\]>|(?P<comment><!--.*?-->)|(?P<end></)[^>]*>|<[^>]*>|(?P<text>[^<]+)", re.DOTALL
)
_FIRST_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_LAST_BREAK = re.compile(r"(?:\r\n|\n|\r)[ \t]*\Z")

_Run = list[re.Match[str]]


def plain_block(block: str) -> str:
    """Return a clean block with the white space of its values written as XML would have it."""
    return "".join(_pieces(block))


def _pieces(block: str) -> Iterator[str]:
    run: _Run = []  # what has come since the last tag
    for token in _TOKEN.finditer(block):
        if token.lastgroup in ("text", "section", "comment"):
            run.append(token)
            continue
        # Before a start tag there is no value, and in a clean block only white space and comments.
        yield from _value(run) if token["end"] else (each[0] for each in run)
        run = []
        yield token[0].replace("\r", " ")


def _value(run: _Run) -> Iterator[str]:
    """Write the content of a leaf, or what stands in front of the end tag of a node."""
    kinds = [token.lastgroup for token in run]
    first = kinds.index("section") if "section" in kinds else len(run)
    exact = "section" in kinds or "comment" in kinds  # then white space alone is nothing
    framed = False
    for number, token in enumerate(run):
        text = token[0]
        if kinds[number] != "text":
            yield text.replace("\r", "]]>&#13;<![CDATA[" if kinds[number] == "section" else " ")
            continue
        if number < first and (layout := _FIRST_BREAK.match(text)):
            framed = True
            text = text[layout.end() :]
        if framed and number == len(run) - 1:
            text = _without_last_break(text)
        if text.strip(SPACES) or not exact:
            yield text.replace("\r", "&#13;")


def _without_last_break(text: str) -> str:
    # The match is looked for where the white space at the end begins: no text is searched break by break.
    found = _LAST_BREAK.search(text, len(text.rstrip(SPACES)))
    return text[: found.start()] if found else text


# Three readers, one tree


def disagreements(block: str, call: ToolCall, tool: Tool | None, only: str | None = None) -> Iterator[str]:
    """Yield a message for each reader that finds another call in a clean block than the parser.

    Takes the block's text, the call that the parser found, its tool if there is one, and the server of all tools if
    they are on one.
    """
    plain = plain_block(block)
    readers: dict[str, Callable[[str], Any]] = {"lxml": read_with_lxml, "defusedxml": read_with_defusedxml}
    if is_too_large_for_lxml(plain):
        del readers["lxml"]
    for reader, read in readers.items():
        try:
            root = read(plain)
        except Unreadable as refused:
            name = name_unknown_to_expat(plain)
            known = f"expat does not know the name {name!r:.80} (XML 1.0, fifth edition)" if name else ""
            yield f"{reader} does not read the block: {known or refused}"
            continue
        difference = _difference(root, call, tool, only or FORGE.default_server)
        if difference:
            yield f"{reader} finds another call in the block: {difference}"


def _difference(root: Any, call: ToolCall, tool: Tool | None, unnamed: str) -> str:
    """Return what differs first, nothing if all is the same. A block that names no server means the `unnamed` one."""
    names = {name: (root.findtext(name) or "").strip(SPACES) for name in (FORGE.tool_name, FORGE.server_name)}
    arguments = read_arguments(arguments_of(root), tool.shape if tool else None, check=False).arguments
    compared: list[tuple[str, Any, Any]] = [
        ("the element", root.tag, FORGE.block),
        (FORGE.tool_name, names[FORGE.tool_name], call.name),
        (FORGE.server_name, names[FORGE.server_name] or unnamed, call.server),
        ("the names of arguments", list(arguments), list(call.arguments)),
        *((f"the argument {name!r:.80}", arguments.get(name), value) for name, value in call.arguments.items()),
    ]
    different = (each for each in compared if not same(each[1], each[2]))
    return next((f"{what} is {theirs!r:.60} there and {ours!r:.60} here" for what, theirs, ours in different), "")
