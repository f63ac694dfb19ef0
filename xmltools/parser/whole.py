"""Whole replies: a clean block that a text has from its start to its end is read in one step, by lxml or by `json`.

`parse` and the batches have whole texts. This module knows which blocks are so clean that XML, or JSON, says the same
of them as the protocol. Tools are found, and values read, as for all blocks. For any other block `read_call` returns
None, and the machine reads it from its start.

- Elements are clean if the fields come in the usual order, tags have no attributes, entities are the five of XML, and
  CDATA is all that its element contains.
- JSON is clean if the object names one tool and one object with its arguments, and `json` reads it.
- The tool is given, by this name, and all arguments are valid as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Final

from xmltools.dialects import Body, Dialect
from xmltools.models import ToolCall
from xmltools.parser.decode_text import TextReader
from xmltools.parser.limits import Limits
from xmltools.parser.outside import Opening
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_reader import loads_clean
from xmltools.syntax.markup import CDATA_OPEN, SPACES, find_forbidden, skip_space
from xmltools.tools.schema import LEVELS, UNREAD

MOST: Final = 2048
"""Characters of a block. The machine reads longer ones as fast."""
_ELEMENTS: Final = Body.ELEMENTS
_JSON: Final = Body.JSON
_TOOL: Final = re.compile(r"[-\w./:]{1,256}")
_TAG: Final = "[A-Za-z_][-.0-9A-Za-z_]{0,99}+"


def read_call(
    opening: Opening,
    text: str,
    base: int,
    dialect: Dialect,
    limits: Limits,
    toolbox: Toolbox,
    new_id: Callable[[], str],
) -> ToolCall | None:
    """Return the call of the block that opens in `text`, whose first character is at `base` in the reply. None if the
    machine must read the block."""
    form, start = opening.dialect, opening.start - base
    if form.name != dialect.name:
        return None
    most = start + min(MOST, limits.block_size - 1)
    is_element = form.body is _ELEMENTS
    read = _read_elements(form, limits, toolbox, text, start, most) if is_element else None
    is_json = read is None and (is_element or form.body is _JSON)
    if is_json:
        read = _read_json(form, limits, toolbox, text, start, most)
    if read is None:
        return None
    name, server, arguments, end = read
    return ToolCall.unchecked(
        id=new_id(),
        name=name,
        arguments=arguments,
        server=server,
        repairs=(),
        legacy_json=is_json and is_element,
        dialect=form.name,
        span=(opening.start, base + end),
    )


_Call = tuple[str, str, dict[str, Any], int]
"""Names of the tool and its server, the arguments, and the place after the block."""


def _read_json(form: Dialect, limits: Limits, toolbox: Toolbox, text: str, at: int, most: int) -> _Call | None:
    """Read the block at `at`, which contains a JSON object."""
    start = skip_space(text, at + len(form.opener))
    end = text.find(form.closer, start, most)
    if not form.closer or end < 0 or not (text.startswith("{", start) and text.startswith(form.opener, at)):
        return None
    body = text[start:end].rstrip(SPACES)
    try:
        value = loads_clean(body, limits.depth)
    except (ValueError, RecursionError):
        return None
    if len(value) != 2 or (form.body is _ELEMENTS and find_forbidden(body, 0, len(body)) >= 0):
        return None
    name = next((value[key] for key in form.json_tool_name if key in value), None)
    arguments = next((value[key] for key in form.json_arguments if key in value), None)
    if not isinstance(name, str) or not isinstance(arguments, dict) or not _TOOL.fullmatch(name):
        return None
    found = toolbox.find_plain(name, None, form.default_server)
    if found is None or not found[1].is_clean(arguments, LEVELS):
        return None
    return name, found[0], arguments, end + len(form.closer)


def _read_elements(form: Dialect, limits: Limits, toolbox: Toolbox, text: str, at: int, most: int) -> _Call | None:
    """Read the block at `at`, which contains elements."""
    block = _clean_block(form.block, form.server_name, form.tool_name, form.arguments).match(text, at, most)
    if block is None:
        return None
    named, name, source = block.groups()
    found = toolbox.find_plain(name, named, form.default_server)
    if found is None or source.count("<") + 2 > limits.elements:
        return None
    server, shape = found
    try:
        children = _children_of(_lxml()(source), source, min(limits.depth - 1, LEVELS))
        arguments = shape.clean_children(children, "", LEVELS)
        is_clean = arguments is not UNREAD and shape.is_valid(arguments)
    except (_Unclear, SyntaxError, ValueError, RecursionError):  # of lxml, and of half a character
        return None
    return (name, server, arguments, block.end()) if is_clean else None


@lru_cache(maxsize=16)
def _clean_block(block: str, server: str, tool: str, arguments: str) -> re.Pattern[str]:
    """Return a pattern of blocks whose elements have these names, with the names of the server and the tool, and the
    element of the arguments. In that, a start tag comes before a value that ends, or before another start tag."""
    space = r"[ \t\n]*+"
    text = r"[^<&\r]*+(?:&(?:lt|gt|amp|quot|apos);[^<&\r]*+)*+"
    section = r"<!\[CDATA\[(?:[^]<\r]++|<(?!!\[)|\](?!\]>))*+\]\]>"
    end = f"</(?!{block}>|{arguments}>){_TAG}>{space}"
    inner = f"(?:<{_TAG}>(?:(?:{text}|{section}){end}|{space}(?=<[A-Za-z_]))|{end})*+"
    return re.compile(
        f"<{block}>{space}(?:<{server}>({_TOOL.pattern})</{server}>{space})?<{tool}>({_TOOL.pattern})</{tool}>{space}"
        f"(<{arguments}>{space}{inner}</{arguments}>){space}</{block}>"
    )


@cache
def _lxml() -> Callable[[str], Any]:
    """Return what reads an element, made when the first block is read: streams do without lxml."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, collect_ids=False
    )
    return partial(etree.fromstring, parser=parser)


class _Unclear(Exception):  # noqa: N818 - never leaves this module
    """An element is for the machine."""


def _children_of(parent: Any, source: str, levels: int) -> list[Element]:
    """Return what is in one of lxml's elements, at most so many levels of it."""
    if not levels:
        raise _Unclear
    children = []
    for node in parent:
        element = Element(node.tag)
        if len(node):
            element.children = _children_of(node, source, levels - 1)
        elif text := node.text:
            element.text = text if text[0] > " " else _without_layout(element.name, text, source)
        children.append(element)
    return children


def _without_layout(name: str, text: str, source: str) -> str:
    """Return the value of a leaf that begins with white space: in CDATA it is part of the value."""
    if CDATA_OPEN in source:
        if source.count(f"<{name}>") > 1:
            raise _Unclear
        if f"<{name}>{CDATA_OPEN}" in source:
            return text
    reader = TextReader()
    reader.literal = True  # entities are decoded
    return reader.text(text) + reader.end()
