"""Between leaves: tags, fields, comments and text that belongs nowhere (protocol, sections 2, 3 and 5)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Body
from xmltools.errors import Code
from xmltools.parser.block import (
    Block,
    Container,
    Leaf,
    Path,
    State,
    close_element,
    close_top,
    end_early,
    fail,
    field_of,
    give_up,
    is_block,
    is_number,
    knows_tool,
    meet_opener,
    note,
    note_ampersands,
    note_ignored,
    note_opener,
    note_space,
    opens_block,
    skip_past,
    stray_of,
)
from xmltools.parser.end_tags import refuse_second_end
from xmltools.parser.json_states import begin_json_arguments, begin_json_body, begin_json_leaf
from xmltools.parser.values import begin_leaf, names_argument, read_leaf_start, turn_into_text
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import (
    CLEAN_TAG,
    MORE,
    NO,
    OPENER_SPACE,
    SPACES,
    Tag,
    attributes_of,
    decode_entities,
    is_metadata,
    is_valid_name,
    read_bare_name,
    read_cdata_open,
    read_chat_token,
    read_end_tag,
    read_fence,
    read_start_tag,
    read_valued_tag,
    skip_space,
)
from xmltools.tools.schema import ANY, ArrayShape

_JSON: Final = Body.JSON
_TAGS: Final = Body.TAGS
STRAY_LENGTH: Final = 128
_WORDS: Final = re.compile("([ \t\r\n]+)|[^ \t\r\n]+")
_NOTHING: Final = frozenset(("", "none", "null", "nil", "n/a", "empty", "no arguments"))
"""Words for no arguments at all."""


def read_opening_tag(block: Block, opener: str) -> None:
    """Take the name of the tool out of the opening tag; other attributes mean nothing there."""
    if "=" not in opener:
        return
    for name, value, _ in attributes_of(opener[1 + len(block.spelling) :].rstrip("> \t\r\n")):
        if name == block.dialect.argument_name and value is not None and block.proposed is None:
            block.proposed = decode_entities(value).strip(SPACES), block.start, None
        else:
            note_opener(block, Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")


def read_body(block: Block, text: str, at: int) -> int:
    """State: at the opener, or right after it. That `<`, `{` or a fence line follows was seen when it was confirmed."""
    if block.base + at < block.body_start:
        return block.body_start - block.base
    here = skip_space(text, at)
    if here == len(text) or here > at:
        return here
    if text[at] == "{":
        begin_json_body(block, block.base + at, block.dialect.json_names)
        return at
    if (
        text[at] in "[," and block.dialect.body is _JSON and not block.in_list
    ):  # the first call of a list, or another one
        block.in_list = True
        return at + 1
    if text[at] in "`~":
        fence = read_fence(text, at)
        if fence is MORE:
            return -1
        note(block, Code.CODE_FENCE, block.base + at, "the body of the block was in a code fence")
        return fence or at + 1
    if text[at] == "[":
        message = f"the block contains a list of calls; each needs a <{block.dialect.block}> of its own"
        give_up(block, Code.SEVERAL_CALLS, message, block.base + at)
        begin_json_body(block, block.base + at)
        return at
    if block.dialect.body is _JSON:
        give_up(block, Code.INVALID_JSON, "there is no JSON object where the call belongs", block.base + at)
        block.state = State.SKIP
        return at
    block.state = State.MARKUP
    return at if text[at] == "<" else _bare_name(block, text, at)


def _bare_name(block: Block, text: str, at: int) -> int:
    """The name of a given tool without its element; what follows was seen when the opener was confirmed."""
    word, end, _ = read_bare_name(text, at)
    if not word:
        return at
    place = block.base + at
    note(block, Code.BARE_NAME, place, f"{word!r} was outside <{block.dialect.tool_name}>")
    block.fields.add(block.dialect.tool_name)
    block.name = word
    block.name_start = place
    block.on_name(block)
    if text[end] == "{":
        begin_json_arguments(block, end, end)
    return end


def read_markup(block: Block, text: str, at: int) -> int:
    """State: where an element, a comment or an end tag may come."""
    clean = CLEAN_TAG.match(text, at)
    if clean is not None and not block.stray.too_deep and (place := _clean_tag(block, text, clean)) >= 0:
        return place
    here = skip_space(text, at)
    if here == len(text):
        return here
    place = _markup_token(block, text, here)
    return place if place >= 0 or here == at else here


def _clean_tag(block: Block, text: str, tag: re.Match[str]) -> int:
    """A tag with nothing but a name. Returns the place up to which the text was read; -1 if it takes a closer look."""
    slash, name = tag.groups()
    top, end = block.stack[-1], tag.end()
    if slash:
        if name != top.tag:
            return -1
        if len(block.stack) > 1:
            close_top(block, block.base + end - len(name) - 3)
        else:
            block.done = True
        return end
    if len(block.stack) == 1 or name == block.arguments_tag or block.dialect.body is _TAGS:
        return _take_start_tag(block, text, end - len(name) - 2, Tag(name, end, False))
    if block.element_count >= block.limits.elements or len(block.stack) > block.limits.depth:
        return -1
    block.element_count += 1
    place = block.base + end - len(name) - 2
    leaf = _begin_value(block, Element(name, place), name, end)
    block.leaf = leaf
    block.state = State.LEAF_START
    return max(end, read_leaf_start(block, leaf, text, end)) if end < len(text) else end


def _markup_token(block: Block, text: str, at: int) -> int:
    if text[at] != "<":
        return _loose_text(block, text, at)
    if at + 1 == len(text):
        return -1
    following = text[at + 1]
    if following == "/":
        return _end_tag(block, text, at)
    if following == "!":
        return _declaration(block, text, at)
    if following == "?":
        note(block, Code.PROCESSING_INSTRUCTION, block.base + at, "a processing instruction was skipped")
        block.state = State.INSTRUCTION
        return at + 2
    return _start_tag(block, text, at)


def _loose_text(block: Block, text: str, at: int) -> int:
    top = block.stack[-1]
    if block.stray.too_deep == 0:
        if block.dialect.in_line and top.is_arguments:
            end_early(block, block.base + at)
            return at
        if top.loose:
            turn_into_text(block, top, block.base + at)
            return at
        if _may_be_json(block, top):
            start = _json_in_arguments(block, text, at)
            if start != -2:
                return start
    stray_of(block).start = block.base + at
    stray_of(block).text = ""
    block.state = State.STRAY
    return at


def _may_be_json(block: Block, top: Container) -> bool:
    """May JSON be here in place of the arguments: as their content, or instead of them after the tool's name?"""
    if top.element.children or block.json is not None:
        return False
    return top.is_arguments or (
        len(block.stack) == 1 and block.name is not None and block.dialect.arguments not in block.fields
    )


def _json_in_arguments(block: Block, text: str, at: int) -> int:
    """JSON as the text of `arguments`: its place, -1 for more input, -2 if it is none."""
    if text[at] == "`":
        fence = read_fence(text, at)
        if fence is MORE:
            return -1
        if not fence:
            return -2
        start = skip_space(text, fence)
        if start - fence > OPENER_SPACE:
            return -2
        if start == len(text):
            return -1
    else:
        start = at
    if text[start] != "{":
        return -2
    begin_json_arguments(block, at, start)
    return start


def read_stray(block: Block, text: str, at: int) -> int:
    """State: text where only elements belong."""
    end = text.find("<", at)
    stop = end if end >= 0 else len(text)
    _keep_stray(block, text, at, stop)
    if end < 0:
        return stop
    words = block.stray.text.strip(SPACES)
    block.state = State.MARKUP
    top = block.stack[-1]
    is_fence = read_fence(words + "\n", 0) == len(words) + 1
    if is_fence and (len(block.stack) == 1 or top.is_arguments):
        stray_of(block).fenced = True
        if block.json is None or len(block.stack) == 1:
            note(block, Code.CODE_FENCE, block.stray.start, "the block contained a code fence", block.start)
    else:
        note(block, Code.STRAY_TEXT, block.stray.start, "text between elements was skipped")
        may_be_arguments = top.is_arguments or (len(block.stack) == 1 and block.name is not None)
        says_something = words.lower().strip(" .()") not in _NOTHING and any(map(str.isalnum, words))
        if may_be_arguments and says_something and not block.arguments_closed:
            stray_of(block).lost = block.stray.start
    return end


def _keep_stray(block: Block, text: str, at: int, end: int) -> None:
    """Keep the beginning of the text between elements, each run of white space as one character of it."""
    kept = block.stray.text
    for found in _WORDS.finditer(text, at, end):
        if len(kept) >= STRAY_LENGTH:
            break
        if found[1]:
            space = "\n" if kept[-1:] == "\n" or "\n" in found[1] or "\r" in found[1] else " "
            kept = kept.rstrip(SPACES) + space
        else:
            kept += found[0][:STRAY_LENGTH]
    stray_of(block).text = kept[:STRAY_LENGTH]


def _declaration(block: Block, text: str, at: int) -> int:
    if text.startswith("<!--", at):
        block.state = State.COMMENT
        return at + 4
    opened = read_cdata_open(text, at)
    if opened is MORE or "<!--".startswith(text[at : at + 4]):
        return -1
    if opened:
        return _stray_cdata(block, at, opened)
    if text[at + 2].isalpha():
        place = block.base + at
        give_up(block, Code.FORBIDDEN_MARKUP, f"the declaration at character {place} is not allowed there", place)
        return at + 2
    return _malformed(block, at)


def _stray_cdata(block: Block, at: int, opened: str) -> int:
    top = block.stack[-1]
    place = block.base + at
    if top.is_arguments and not top.element.children and block.json is None and not block.stray.too_deep:
        # A JSON object in CDATA: read as a leaf, so that the end of the section is found by the rules for values.
        note(block, Code.JSON_ARGUMENTS, place, "the arguments were read from JSON")
        begin_json_leaf(block, place)
        return at
    note(block, Code.STRAY_TEXT, place, "CDATA between elements was skipped")
    block.state = State.STRAY_CDATA
    return at + len(opened)


def read_stray_section(block: Block, text: str, at: int) -> int:
    """State: CDATA where only elements belong."""
    return skip_past(block, text, at, "]]>", State.MARKUP)


def read_instruction(block: Block, text: str, at: int) -> int:
    """State: in a processing instruction."""
    return skip_past(block, text, at, "?>", State.MARKUP)


def _malformed(block: Block, at: int) -> int:
    place = block.base + at
    give_up(block, Code.MALFORMED_MARKUP, f"the < at character {place} begins no tag", place)
    return at + 1


def _end_tag(block: Block, text: str, at: int) -> int:
    tag = read_end_tag(text, at)
    if tag is MORE:
        return -1
    if tag is NO:
        return _malformed(block, at)
    place = block.base + at
    if block.stray.too_deep:
        if tag.name != block.arguments_tag and not is_block(block, tag.name):
            stray_of(block).too_deep -= 1
            return tag.end
        block.stray.too_deep = 0
    note_space(block, tag, place)
    if close_element(block, tag.name, place):
        return tag.end
    if len(block.stack) == 2 and block.stack[-1].is_arguments and _spells_arguments(block, tag.name):
        note(block, Code.MISMATCHED_END_TAG, place, f"</{tag.name}> closed <{block.arguments_tag}>")
        close_element(block, block.arguments_tag, place)
    elif tag.name in block.ending.ended_around:
        refuse_second_end(block, tag.name, place)
    else:
        note(block, Code.STRAY_END_TAG, place, f"</{tag.name}> closed nothing")
    return tag.end


def _spells_arguments(block: Block, name: str) -> bool:
    """Is this the field's own name in some spelling, and no other word for it? `</args>` may be what is left of an
    argument, and does not end `<arguments>`."""
    return name not in block.dialect.arguments_words and field_of(block, name) == block.dialect.arguments


def _start_tag(block: Block, text: str, at: int) -> int:
    tag = read_start_tag(text, at)
    if tag is NO:
        tag = read_valued_tag(text, at, block.dialect.argument_words)
    if tag is MORE:
        return -1
    if tag is NO:
        return _chat_token(block, text, at)
    if block.stray.too_deep:
        stray_of(block).too_deep += not tag.empty
        return tag.end
    return _take_start_tag(block, text, at, tag)


def _take_start_tag(block: Block, text: str, at: int, tag: Tag) -> int:
    top = block.stack[-1]
    if len(block.stack) == 1:
        if tag.name == block.dialect.block:
            opens = opens_block(block, text, at)
            if opens is MORE:
                return -1
            if opens:
                meet_opener(block, block.base + at)
                return at
        elif block.arguments_closed and _begins_call(block, tag):
            note(block, Code.JOINED_CALLS, block.base + at, "another call is in the same block", block.start)
            block.again = block.done = True
            return at
    if not tag.is_xml and not (is_number(block, tag.name) and not top.is_arguments):
        if not (top.shape.has_property(tag.name) or (block.shape is not None and block.shape.has_property(tag.name))):
            return _chat_token(block, text, at)
        note(block, Code.NOT_XML_NAME, block.base + at, f"{tag.name!r} is no XML name", block.base + tag.end)
    place = block.base + at
    block.element_count += 1
    if block.element_count > block.limits.elements:
        give_up(block, Code.LIMIT_EXCEEDED, f"the block has more than {block.limits.elements} elements", place)
    if len(block.stack) > block.limits.depth:
        give_up(block, Code.LIMIT_EXCEEDED, f"the block nests more than {block.limits.depth} elements", place)
        stray_of(block).too_deep = 0 if tag.empty else 1
        return tag.end
    _open_element(block, tag, place)
    return at if block.done else tag.end


def _begins_call(block: Block, tag: Tag) -> bool:
    """Does a field that the call has already show that another call begins, after its arguments?"""
    field = field_of(block, tag.name)
    return field in (block.dialect.tool_name, block.dialect.server_name) and field in block.fields


def _chat_token(block: Block, text: str, at: int) -> int:
    """At a `<` that begins no tag: a token of a chat template, after the arguments, or nothing at all."""
    if len(block.stack) == 1 and block.arguments_closed and not block.stray.too_deep:
        found = read_chat_token(text, at)
        if found is MORE:
            return -1
        if found:
            note(block, Code.CHAT_TOKEN, block.base + at, f"{text[at:found]} was skipped", block.start)
            return found
    return _malformed(block, at)


def _open_element(block: Block, tag: Tag, place: int) -> None:
    """Enter the element that `tag` starts."""
    dialect, top = block.dialect, block.stack[-1]
    note_space(block, tag, place)
    if len(block.stack) == 1:
        field = field_of(block, tag.name)
        if field is not None:
            return _open_field(block, field, tag, place)
        if tag.name in dialect.name_words and block.name is None and block.proposed is None:
            return _open_name(block, tag, place)
        _adopt_name(block)
        note(
            block,
            Code.UNWRAPPED_ARGUMENT,
            place,
            f"<{tag.name}> was outside <{dialect.arguments}>",
            block.base + tag.end,
        )
        if top.shape is ANY and block.shape is not None:
            top.shape = block.shape
    elif top.is_arguments and tag.name == block.arguments_tag and not top.shape.has_property(tag.name):
        if dialect.body is _TAGS:
            return end_early(block, place) if dialect.in_line else meet_opener(block, place)
        note(block, Code.JSON_ARGUMENTS, place, f"<{tag.name}> inside <{tag.name}>")
        return open_arguments(block, tag, place)
    return _open_value(block, tag, place)


def _open_field(block: Block, field: str, tag: Tag, place: int) -> None:
    if field in block.fields:
        fail(block, Code.DUPLICATE_FIELD, f"<{field}> is in the block twice", place)
    block.fields.add(field)
    is_arguments = field == block.dialect.arguments
    if tag.name != field:
        code = Code.ARGUMENTS_TAG if is_arguments else Code.NAME_TAG
        note(block, code, place, f"<{tag.name}> was read as <{field}>", block.base + tag.end)
    if is_arguments:
        block.arguments_tag = tag.name
        block.stray.lost = -1
        _adopt_name(block)
        return open_arguments(block, tag, place)
    if tag.attributes:
        _read_attributes(block, tag, place, None)
    leaf = Leaf(tag.name, Element(tag.name, place), ANY, block.base + tag.end, None)
    leaf.exact = False
    leaf.decided = True
    leaf.capture = ""
    return begin_leaf(block, leaf, tag)


def _open_name(block: Block, tag: Tag, place: int) -> None:
    """An argument called `name`, or the name of the tool if no other element has that."""
    note(
        block,
        Code.UNWRAPPED_ARGUMENT,
        place,
        f"<{tag.name}> was outside <{block.arguments_tag}>",
        block.base + tag.end,
    )
    _open_value(block, tag, place)
    if block.leaf is not None and not tag.attributes:
        block.leaf.capture = ""


def _adopt_name(block: Block) -> None:
    """Take the name that is in another place, if there is none in its own place yet."""
    if block.proposed is not None and block.name is None and knows_tool(block, block.proposed[0]):
        take_name(block)


def take_name(block: Block) -> None:
    """Make the name that was proposed the tool's."""
    if block.proposed is None:
        return
    block.name, block.name_start, element = block.proposed
    block.proposed = None
    owner = block.start
    if element is not None and block.arguments.children:
        block.arguments.children = [each for each in block.arguments.children if each is not element]
        place = element.offset
        block.repairs = [each for each in block.repairs if (each.code, each.offset) != (Code.UNWRAPPED_ARGUMENT, place)]
    note(block, Code.NAME_TAG, block.name_start, "the name of the tool was in another place", owner)
    block.on_name(block)


def _begin_early(block: Block) -> None:
    """Arguments begin: where their schema is not known yet, their elements are kept as they are written too."""
    if block.shape is None and block.nodes is None:
        block.nodes = []


def open_arguments(block: Block, tag: Tag, place: int) -> None:
    """Enter the element that holds the arguments."""
    start = block.base + tag.end
    path: Path | None = () if block.deltas else None
    container = Container(tag.name, block.arguments, block.shape or ANY, start, path)
    container.is_arguments = True
    _begin_early(block)
    block.stack.append(container)
    block.state = State.MARKUP
    if tag.attributes:
        _read_arguments(block, tag, place)
    if tag.empty:
        close_top(block, start)


def _read_arguments(block: Block, tag: Tag, place: int) -> None:
    """Take the attributes of the tag around the arguments that are arguments themselves (protocol, 3.7)."""
    top, dialect = block.stack[-1], block.dialect
    siblings = top.element.children
    for name, value, _ in attributes_of(tag.attributes):
        says_nothing = value is None or name == dialect.nil or is_metadata(name)
        is_open = tag.empty and not says_nothing and not top.shape.is_any and top.shape.knows(name, "")
        is_argument = (top.shape.has_property(name) or is_open) and is_valid_name(name)
        if value is None or siblings is None or block.discard or not is_argument:
            note_ignored(block, name, tag, place)
            if not says_nothing:
                stray_of(block).lost = place
            continue
        element = Element(name, place)
        element.text = decode_entities(value)
        siblings.append(element)
        top.counts[name] = top.counts.get(name, 0) + 1
        message = f"the attribute {name!r} of <{tag.name}> was read as an argument"
        note(block, Code.ATTRIBUTE_VALUE, place, message, block.base + tag.end)


def _open_value(block: Block, tag: Tag, place: int) -> None:
    """An argument, a property or an item."""
    top = block.stack[-1]
    if block.dialect.in_line and top.is_arguments and not top.shape.has_property(tag.name):
        end_early(block, place)
        return
    name = tag.name
    if not tag.is_xml and top.shape.is_list and is_number(block, name):
        name = block.dialect.item
    element = Element(name, place)
    others = _read_attributes(block, tag, place, element) if tag.attributes else None
    if block.dialect.body is _TAGS and top.is_arguments:
        _correct_case(block, element, tag)
    if not element.name or not is_valid_name(element.name):
        fail(block, Code.INVALID_NAME, f"{element.name[:60]!r} is no name for an argument", place)
    if len(block.stack) == 1:
        _begin_early(block)
    leaf = _begin_value(block, element, tag.name, tag.end)
    if others:
        _read_properties(block, others, tag, leaf)
    begin_leaf(block, leaf, tag)


def _begin_value(block: Block, element: Element, tag: str, end: int) -> Leaf:
    """A value begins after its start tag, which ends at `end`: add its element to those around it."""
    top = block.stack[-1]
    path = top.path if len(block.stack) > 1 else () if block.deltas else None
    path = None if path is None or block.discard else path_of(block, element.name, path)
    shape = top.shape.child(element.name)
    leaf = Leaf(tag, element, shape, block.base + end, path)
    leaf.decided = shape.is_text or not shape.exact
    leaf.exact = shape.exact and not top.loose
    if top.element.children is not None and not block.discard:
        top.element.children.append(element)
    return leaf


def _correct_case(block: Block, element: Element, tag: Tag) -> None:
    """The name of an argument, in small letters if the tool declares it so."""
    shape, name = block.stack[-1].shape, tag.name.lower()
    if name != element.name and not shape.has_property(element.name) and shape.has_property(name):
        note(block, Code.TAG_CASE, element.offset, f"<{tag.name}> was read as <{name}>", block.base + tag.end)
        element.name = name


def _read_properties(block: Block, attributes: list[tuple[str, str]], tag: Tag, leaf: Leaf) -> None:
    """Take the attributes that are properties of the value; the others are skipped, if it turns out to have
    content (protocol, 3.7)."""
    shape = leaf.shape
    leaf.attributes = []
    for name, value in attributes:
        holder = shape.items if isinstance(shape, ArrayShape) else shape
        is_open = tag.empty and not (holder.is_any or holder.is_text) and holder.knows(name, "")
        if holder.has_property(name) or is_open:
            child = Element(name, leaf.element.offset)
            child.text = decode_entities(value)
            leaf.element.children = [*(leaf.element.children or ()), child]
            message = f"the attribute {name!r} of <{tag.name}> was read as a property"
            note(block, Code.ATTRIBUTE_VALUE, leaf.element.offset, message, leaf.start)
        else:
            leaf.attributes.append((name, value))


def path_of(block: Block, name: str, path: Path) -> Path:
    """The path of the next value called `name` in the innermost open container, whose own is `path`."""
    top = block.stack[-1]
    key = "" if top.shape.is_list else name
    number = top.counts.get(key, 0)
    top.counts[key] = number + 1
    if top.shape.is_list:
        return (*path, number)
    return (*path, name, number) if number else (*path, name)


def _read_attributes(block: Block, tag: Tag, place: int, element: Element | None) -> list[tuple[str, str]]:
    """Take the attributes that mean something, and return others that have a value. Of what is no value, none means
    anything."""
    dialect, shape = block.dialect, block.stack[-1].shape
    unnamed = element is not None and not shape.has_property(tag.name)
    owner = block.base + tag.end
    seen = set()
    others: list[tuple[str, str]] = []
    for name, value, quoted in attributes_of(tag.attributes):
        says_name = False
        if unnamed and name == dialect.argument_name and value is not None:
            says_name = tag.name == dialect.argument or names_argument(block, tag.name, decode_entities(value), shape)
        known = says_name or (name == dialect.nil and value in ("true", "false"))
        if element is None or value is None or name in seen or not known:
            if element is None or value is None or name in seen:
                note_ignored(block, name, tag, place)
            else:
                seen.add(name)
                others.append((name, value))
            continue
        seen.add(name)
        if not quoted:
            note(block, Code.ATTRIBUTE_SYNTAX, place, f"the attribute {name!r} had no quotes", owner)
        if name == dialect.nil:
            element.nil = value == "true"
            continue
        element.name = decode_entities(value).strip(SPACES)
        note_ampersands(block, value, 0, len(value), place, owner)
        if tag.name != dialect.argument:
            message = f"<{tag.name} {name}={value[:60]!r}> was read as the argument of that name"
            note(block, Code.ARGUMENT_TAG, place, message, owner)
    return others
