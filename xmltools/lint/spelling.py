"""One spelling for calls that the protocol lets models write in several ways.

A RELAX NG schema describes the spelling that instructions teach. The parser takes others too without a repair: a list
as repeated elements or with items of any name, `<argument name="path">` for `<path>`, white space
around a name, `nil="false"`. A tree that lxml has read is respelled here, so that the schema judges names and
values, not habits. The texts of values are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from xmltools.dialects import FORGE
from xmltools.lint.readers import SPACES, name_of
from xmltools.render.writable import is_hidden
from xmltools.syntax.markup import is_xml_name
from xmltools.tools.schema import ITEM, ArrayShape, Shape, item_name

__all__ = ["respell"]

Element = etree._Element


def respell(root: Element, shape: Shape) -> None:
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


def _properties(parent: Element, shape: Shape, *, top: bool = False) -> None:
    """Respell the children of an object: each name gets one element."""
    groups: dict[str, list[Element]] = {}
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


def _name(element: Element, *, keep: bool = False) -> str:
    """Return the name of an argument, and write it as the element's where that can be, unless it is to be kept."""
    name = name_of(element)
    if element.tag == FORGE.argument and is_xml_name(name) and not keep:
        element.tag = name
        element.attrib.pop(FORGE.argument_name, "")
    return name


def _array_for(group: list[Element], shape: Shape) -> ArrayShape | None:
    """Return the list that a name's elements are; one element of a union may as well be something else."""
    if isinstance(shape, ArrayShape):
        return shape
    found = next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)
    return found if len(group) > 1 else None


def _content(element: Element, name: str, shape: Shape) -> None:
    opened = shape.opens(name_of(element[0]), name) if len(element) else None
    if isinstance(opened, ArrayShape):
        _list([element], name, opened)
    elif opened is not None:
        _properties(element, opened)


def _list(group: list[Element], name: str, shape: ArrayShape) -> None:
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


def _gather(group: list[Element]) -> None:
    """Respell repeated elements that no schema describes as one: together they are a list."""
    whole, *others = group
    items = [_copy(each) for each in group]
    for each in others:
        _remove(each)
    for item in items:
        item.tag = ITEM
        item.attrib.pop(FORGE.argument_name, "")
    _fill(whole, items)


def _items(element: Element, name: str, count: int, shape: ArrayShape) -> list[Element]:
    """Return what an element of a list's name holds: items, or itself as one."""
    holds = len(element) and not (count > 1 and shape.items.is_list)
    if holds and shape.opens(name_of(element[0]), name) is shape:
        return list(element)
    return [_copy(element)]


def _copy(element: Element) -> Element:
    copy = etree.Element(element.tag)
    copy.attrib.update(element.attrib)
    copy.text = element.text
    copy.extend(list(element))
    return copy


def _fill(element: Element, items: Iterable[Element]) -> None:
    element.text = None
    element.attrib.pop(FORGE.nil, "")
    element[:] = list(items)


def _remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
