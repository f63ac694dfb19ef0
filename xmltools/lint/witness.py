"""The witness: clean blocks once more, by RELAX NG in lxml, with a schema that is made of the tool.

The parser says what a block means, and checks that by the tool's JSON Schema. The witness shares nothing with it but
the tool: another XML parser, another schema language, another validator. Where the two differ, one of them is wrong.

The block is shown as it stands. Only if it is refused, it is shown again as `plain_block` and `_respell` write it:
the protocol knows white space and spellings that say the same and that the schema doesn't know. Not shown are blocks
with repairs (so all with JSON text in elements, and with characters that XML forbids), blocks whose body is JSON,
and those that are larger than libxml2 takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar
from xmltools.lint.readers import Unreadable, is_too_large_for_lxml, name_of, plain_block, read_with_lxml
from xmltools.render.writable import is_hidden
from xmltools.syntax.markup import SPACES, is_xml_name
from xmltools.tools import Tool
from xmltools.tools.schema import ITEM, ArrayShape, Shape, item_name


class Doubt(NamedTuple):
    """What the witness has against a block, and the line in the block (from 1) where it has it."""

    message: str
    line: int = 1


def doubt_of(block: str, tool: Tool | None) -> Doubt | None:
    """Return what the witness has against a clean block; None if nothing, or if the block is too large for it.

    Takes the block's text and the tool that it calls. Without the tool the block must only be well-formed.
    """
    if is_too_large_for_lxml(block):
        return None
    try:
        tree = read_with_lxml(block)
        schema = _schema_of(tool) if tool else None
    except Unreadable as refused:
        return Doubt(f"lxml does not read the block: {refused}", refused.line)
    except (XMLToolsError, etree.RelaxNGError) as error:
        return Doubt(f"RELAX NG in lxml can't use the schema of the tool: {error}")
    if tool is None or schema is None or schema.validate(tree):
        return None
    return _second_look(block, tool, schema)


def _second_look(block: str, tool: Tool, schema: etree.RelaxNG) -> Doubt | None:
    tree = read_with_lxml(plain_block(block))
    _respell(tree, tool.shape)
    if schema.validate(tree):
        return None
    error = schema.error_log[0]
    return Doubt(f"RELAX NG in lxml does not take the block: {error.message}", error.line or 1)


def _schema_of(tool: Tool) -> etree.RelaxNG:
    return _compiled(tool.name, tool.server, json.dumps(tool.parameters))


@lru_cache(maxsize=256)
def _compiled(name: str, server: str, parameters: str) -> etree.RelaxNG:
    tool = Tool(name=name, server=server, parameters=json.loads(parameters))
    return etree.RelaxNG(etree.fromstring(build_grammar(tool, "relaxng").encode("utf-8")))


# One spelling for calls that the protocol lets models write in several ways. A RELAX NG schema describes the spelling
# that instructions teach. The parser takes others too without a repair: a list as repeated elements or with items of
# any name, `<argument name="path">` for `<path>`, white space around a name, `nil="false"`. A tree that lxml has read
# is respelled here, so that the schema judges names and values, not habits. The texts of values are not touched.

_Element = etree._Element


def _respell(root: _Element, shape: Shape) -> None:
    """Respell the tree of a clean block, in place. Takes the shape of its tool's arguments."""
    for each in root.iter():
        if each.get(FORGE.nil) == "false":
            del each.attrib[FORGE.nil]
    for name in (FORGE.tool_name, FORGE.server_name):
        for field in root.findall(name):
            field.text = (field.text or "").strip(SPACES)
            if name == FORGE.server_name and not field.text:
                root.remove(field)
    for arguments in root.findall(FORGE.arguments):
        _properties(arguments, shape, top=True)


def _properties(parent: _Element, shape: Shape, *, top: bool = False) -> None:
    """Respell the children of an object: each name gets one element."""
    groups: dict[str, list[_Element]] = {}
    for child in parent:
        groups.setdefault(_name(child, keep=top and is_hidden(name_of(child), shape, FORGE)), []).append(child)
    for name, group in groups.items():
        declared = shape.child(name)
        array = _array_for(group, declared)
        if array:
            _list(group, name, array)
        elif len(group) > 1 and declared.is_any:
            _gather(group)
        else:
            for each in group:
                _content(each, name, declared)


def _name(element: _Element, *, keep: bool = False) -> str:
    """Return the name of an argument, and write it as the element's where that can be, unless it is to be kept."""
    name = name_of(element)
    if element.tag == FORGE.argument and is_xml_name(name) and not keep:
        element.tag = name
        element.attrib.pop(FORGE.argument_name, "")
    return name


def _array_for(group: list[_Element], shape: Shape) -> ArrayShape | None:
    """Return the list that a name's elements are; one element of a union may as well be something else."""
    if isinstance(shape, ArrayShape):
        return shape
    found = next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)
    return found if len(group) > 1 else None


def _content(element: _Element, name: str, shape: Shape) -> None:
    opened = shape.opens(name_of(element[0]), name) if len(element) else None
    if isinstance(opened, ArrayShape):
        _list([element], name, opened)
    elif opened is not None:
        _properties(element, opened)


def _list(group: list[_Element], name: str, shape: ArrayShape) -> None:
    """Respell the elements of a list as one element whose children are its items."""
    whole, *others = group
    if not others and (whole.get(FORGE.nil) or not (len(whole) or (whole.text or "").strip(SPACES))):
        return
    items = [item for element in group for item in _items(element, name, len(group), shape)]
    for each in others:
        _remove(each)
    _fill(whole, items)
    for number, item in enumerate(items):
        inner = shape.item(number)
        item.tag = item_name(name)
        item.attrib.pop(FORGE.argument_name, "")
        array = _array_for([item], inner)
        if array:
            _list([item], item_name(name), array)
        else:
            _content(item, item_name(name), inner)


def _gather(group: list[_Element]) -> None:
    """Respell repeated elements that no schema describes as one: together they are a list."""
    whole, *others = group
    items = [_copy(each) for each in group]
    for each in others:
        _remove(each)
    for item in items:
        item.tag = ITEM
        item.attrib.pop(FORGE.argument_name, "")
    _fill(whole, items)


def _items(element: _Element, name: str, count: int, shape: ArrayShape) -> list[_Element]:
    """Return what an element of a list's name holds: items, or itself as one."""
    holds = len(element) and not (count > 1 and shape.items.is_list)
    if holds and shape.opens(name_of(element[0]), name) is shape:
        return list(element)
    return [_copy(element)]


def _copy(element: _Element) -> _Element:
    copy = etree.Element(element.tag)
    copy.attrib.update(element.attrib)
    copy.text = element.text
    copy.extend(list(element))
    return copy


def _fill(element: _Element, items: Iterable[_Element]) -> None:
    element.text = None
    element.attrib.pop(FORGE.nil, "")
    element[:] = list(items)


def _remove(element: _Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
