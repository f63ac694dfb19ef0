"""Attributes that mean something: the name of the tool or of an argument, null, and values (protocol, 3.2 and 3.7)."""

from __future__ import annotations

from xmltools.errors import Code
from xmltools.parser.open_call import Block, Leaf
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import SPACES, Tag, attributes_of, decode_entities, is_metadata, is_valid_name
from xmltools.tools.schema import ArrayShape, Shape


def read_opening_tag(block: Block, opener: str) -> None:
    """Take the name of the tool out of the opening tag; other attributes mean nothing there."""
    if "=" not in opener:
        return
    for name, value, _ in attributes_of(opener[1 + len(block.spelling) :].rstrip(f">{SPACES}")):
        if name == block.dialect.argument_name and value is not None and block.proposed is None:
            block.proposed = decode_entities(value).strip(SPACES), block.start, None
        else:
            block.note_opener(Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")


def name_in(block: Block, tag: Tag, shape: Shape) -> str | None:
    """The name that an attribute gives to the argument, or property of `shape`, which `tag` begins; None if none does.

    Words such as `parameter` have no other meaning, nor do tags that the schema does not know where it knows the name,
    or leaves names open.
    """
    dialect = block.dialect
    if not tag.attributes or shape.has_property(tag.name):
        return None
    for name, value, _ in attributes_of(tag.attributes):
        if name == dialect.argument_name and value is not None:
            said = decode_entities(value)
            is_name = tag.name == dialect.argument or tag.name in dialect.argument_words or shape.has_property(said)
            if not (is_name or shape.is_any or shape.is_list or block.stack[-1].is_arguments):
                is_name = shape.knows(said, "") and not shape.child(tag.name).has_property(name)
            return said.strip(SPACES) if is_name else None
    return None


def name_of(block: Block, tag: Tag, said: str | None, shape: Shape) -> str:
    """The name of the element that `tag` begins in a value of `shape`."""
    if shape.is_list and block.is_number(tag.name):
        return block.dialect.item
    return tag.name if said is None else said


def read_attributes(block: Block, tag: Tag, element: Element, said: str | None) -> list[tuple[str, str]]:
    """Take the attributes that mean something: the one that gives the name, and null. Returns the others that have a
    value."""
    dialect, place, owner = block.dialect, element.offset, block.base + tag.end
    seen = set()
    others: list[tuple[str, str]] = []
    for name, value, quoted in attributes_of(tag.attributes):
        if value is None or name in seen:
            block.note_ignored(name, tag.name, place, owner)
            continue
        seen.add(name)
        is_name = said is not None and name == dialect.argument_name
        if not is_name and (name != dialect.nil or value not in ("true", "false")):
            others.append((name, value))
            continue
        if not quoted:
            block.note(Code.ATTRIBUTE_SYNTAX, place, f"the attribute {name!r} had no quotes", owner)
        if not is_name:
            element.nil = value == "true"
            continue
        block.note_ampersands(value, 0, len(value), place, owner)
        if tag.name != dialect.argument:
            message = f"<{tag.name} {name}={value[:60]!r}> was read as the argument of that name"
            block.note(Code.ARGUMENT_TAG, place, message, owner)
    return others


def read_arguments(block: Block, tag: Tag, place: int) -> None:
    """Take the attributes of the tag around the arguments that are arguments themselves."""
    top, owner = block.stack[-1], block.base + tag.end
    for name, value, _ in attributes_of(tag.attributes):
        says_nothing = value is None or name == block.dialect.nil or is_metadata(name)
        is_argument = is_valid_name(name) and _has_property(top.shape, name, tag.empty and not says_nothing)
        if value is not None and is_argument and not block.discard:
            _add_child(block, top.element, tag.name, name, value, "an argument", place, owner)
            top.counts[name] = top.counts.get(name, 0) + 1
            continue
        block.note_ignored(name, tag.name, place, owner)
        if not says_nothing:
            block.lost = place


def read_properties(block: Block, attributes: list[tuple[str, str]], leaf: Leaf, is_empty: bool) -> None:
    """Take the attributes that are properties of the value; the others are skipped, if it turns out to have
    content. `is_empty`: it has none."""
    holder = leaf.shape.items if isinstance(leaf.shape, ArrayShape) else leaf.shape
    leaf.attributes = []
    for each in attributes:
        if _has_property(holder, each[0], is_empty):
            _add_child(block, leaf.element, leaf.tag, *each, "a property", leaf.element.offset, leaf.start)
        else:
            leaf.attributes.append(each)


def _has_property(shape: Shape, name: str, is_empty: bool) -> bool:
    """May an attribute be a property? One that is not declared may only if its element has no content."""
    is_open = is_empty and not shape.is_any and shape.knows(name, "")
    return is_open or shape.has_property(name)


def _add_child(
    block: Block, parent: Element, tag: str, name: str, value: str, what: str, place: int, owner: int
) -> None:
    """Add the element that an attribute of `tag` stands for."""
    if parent.children is None:
        parent.children = []
    parent.children.append(Element(name, place, text=decode_entities(value)))
    block.note(Code.ATTRIBUTE_VALUE, place, f"the attribute {name!r} of <{tag}> was read as {what}", owner)


def end_attributes(block: Block, leaf: Leaf, end: int) -> None:
    """A leaf with attributes ends: one of them is its value, or is skipped, or nobody can tell."""
    element, tag, dialect = leaf.element, leaf.tag, block.dialect
    is_empty = not block.source_of(leaf.start, end).strip(SPACES)
    if element.children and not is_empty:
        hint = f"Write each property of {element.name} as an element inside <{tag}>."
        block.fail(Code.MALFORMED_MARKUP, f"<{tag}> has both attributes and text", element.offset, hint)
    for name, value in leaf.attributes or ():
        has_none = is_empty and leaf.given is None
        if has_none and name == dialect.value and not element.nil:
            leaf.given = decode_entities(value)
            block.emit(leaf.given)
            message = f"the attribute {name!r} of <{tag}> was read as its value"
            block.note(Code.ATTRIBUTE_VALUE, element.offset, message, leaf.start)
        elif has_none and not element.children and name != dialect.nil and not is_metadata(name):
            message = f"<{tag}> is empty, and the attribute {name!r} means nothing"
            hint = f"Write the value between the tags: <{tag}>value</{tag}>."
            block.fail(Code.MALFORMED_MARKUP, message, element.offset, hint)
        else:
            block.note_ignored(name, tag, element.offset, leaf.start)
