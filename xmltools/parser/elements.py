"""Between leaves: tags, fields, comments and text that belongs nowhere (protocol, sections 2, 3 and 5)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.dialects import Body
from xmltools.errors import Code
from xmltools.models.events import ArgumentDelta
from xmltools.parser.attributes import name_in, name_of, read_arguments, read_attributes, read_properties
from xmltools.parser.end_tags import end_field, refuse_second_end
from xmltools.parser.json_states import begin_json_arguments, begin_json_body, begin_json_leaf
from xmltools.parser.open_call import Block, Container, Leaf, Path, State
from xmltools.parser.values import begin_leaf, is_undecided, turn_into_text
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import (
    CHAT_TOKEN,
    CLEAN_PART,
    CLEAN_TAG,
    CLEAN_VALUE,
    MORE,
    NAME_REST,
    NO,
    OPENER_SPACE,
    SPACES,
    Tag,
    attributes_of,
    is_valid_name,
    read_bare_name,
    read_cdata_open,
    read_end_tag,
    read_fence,
    read_start_tag,
    read_token,
    read_valued_tag,
    skip_space,
)
from xmltools.tools.schema import ANY, Shape

_JSON: Final = Body.JSON
_STRAY_LENGTH: Final = 128
"""Characters of text between elements that are looked at, each run of white space as one or two of them."""
_WAITING: Final = 192
"""Characters that a value whose end is awaited has with its tag."""
_BLANKS: Final = re.compile("[ \t]+")
_BREAKS: Final = re.compile("[\r\n]+(?: [\r\n]+)*")
_NOTHING: Final = frozenset(("", "none", "null", "nil", "n/a", "empty", "no arguments"))
"""Words for no arguments at all."""


def read_body(block: Block, text: str, at: int) -> int:
    """State: at the opener, or right after it. That `<`, `{` or a fence line follows was seen when it was confirmed."""
    at = skip_space(text, max(at, block.body_start - block.base))
    if at == len(text):
        return at
    is_json, place = block.dialect.body is _JSON, block.base + at
    if text[at] == "{":
        begin_json_body(block, place)
    elif text[at] in "[," and is_json and not block.in_list:  # the first call of a list, or another one
        block.in_list = True
        return at + 1
    elif text[at] in "`~":
        fence = read_fence(text, at)
        if fence is MORE:
            return ~at
        block.note(Code.CODE_FENCE, place, "the body of the block was in a code fence")
        return fence or at + 1
    elif text[at] == "[":
        message = f"the block contains a list of calls; each needs a <{block.dialect.block}> of its own"
        block.give_up(Code.SEVERAL_CALLS, message, place)
        begin_json_body(block, place)
    elif is_json:
        block.give_up(Code.INVALID_JSON, "there is no JSON object where the call belongs", place)
        block.state = State.SKIP
    else:
        block.state = State.MARKUP
        if text[at] != "<":  # the name of a given tool; what follows was seen when the opener was confirmed
            word, at, _ = read_bare_name(text, at)
            block.note(Code.BARE_NAME, place, f"{word!r} was outside <{block.dialect.tool_name}>")
            block.fields.add(block.dialect.tool_name)
            block.name_tool(word, place)
            if text[at] == "{":
                begin_json_arguments(block, at, at)
    return at


def read_markup(block: Block, text: str, at: int) -> int:
    """State: where an element, a comment or an end tag may come."""
    reading, dialect, depth = block.reading, block.dialect, len(block.stack)
    is_inside = 1 < depth <= reading.limits.depth and not block.is_tag
    while clean := CLEAN_TAG(text, at):
        slash, name, value = clean.groups()
        start, end = clean.start(2) - 1, clean.end(2) + 1
        if slash:
            _end_tag(block, block.base + start - 1, name)
            return end
        if (
            is_inside
            and name not in (block.arguments_tag, dialect.block)
            and block.element_count < reading.limits.elements
        ):
            if value is None and len(text) - start < _WAITING and _waits(block, text, end, name):
                return ~start
            block.element_count += 1
            element = Element(name, block.base + start)
            shape, path = _add_value(block, element)
            if value is None or (shape.exact and not shape.is_text):
                leaf = block.leaf = Leaf(name, element, shape, block.base + end, path)
                leaf.exact = shape.exact and not block.stack[-1].loose
                block.state = State.LEAF_START
                return end
            # Nothing but a leaf can contain it, and nothing but its end tag can end it.
            element.text = value
            if path is not None and (new := value[reading.told :]):
                reading.events.append(ArgumentDelta.make(path, new))
            reading.told = 0
        elif (
            depth == 1
            and name in (dialect.tool_name, dialect.server_name)
            and name not in block.fields
            and not block.discard
        ):
            rest = NAME_REST(text, end)
            if rest is None or rest[2] != name:
                if rest and not (rest[2] or reading.final):
                    return ~at
                return _start_tag(block, text, start, Tag(name, end, False))
            block.fields.add(name)
            block.element_count += 1
            end_field(block, name, rest[1], Element(name, block.base + start), block.base + end)
            clean = rest
        else:
            place = _start_tag(block, text, start, Tag(name, end, False))
            return place if place >= 0 else ~start
        at = clean.end()
    if at == len(text):
        return at
    place = _odd_markup(block, text, at)
    return place if place >= 0 else ~at


def _waits(block: Block, text: str, at: int, name: str) -> bool:
    """Does the text end in a value that is clean so far, from `at` on, or in its end tag? It waits with its start tag
    then. What is new of it is told."""
    top, reading = block.stack[-1], block.reading
    shape = top.shape.child(name)
    if block.discard or reading.final or top.path is None or (shape.exact and not shape.is_text):
        return False
    found = CLEAN_VALUE(text, at)
    after = found.end() if found else at
    if after < len(text) and not is_undecided(text, after, name, top.tag):
        return False
    if after > at + reading.told:
        reading.told_path = path_of(top, name, 0) or ()
        reading.events.append(ArgumentDelta.make(reading.told_path, text[at + reading.told : after]))
        reading.told = after - at
    return True


def _odd_markup(block: Block, text: str, at: int) -> int:
    """At something other than a tag with nothing but a name."""
    if CLEAN_PART(text, at) and not block.final:
        return -1
    here = skip_space(text, at)
    if here > at:
        return here
    following = text[at + 1 : at + 2]
    if text[at] != "<":
        return _loose_text(block, text, at)
    if following == "!":
        return _declaration(block, text, at)
    if following == "?":
        block.note(Code.PROCESSING_INSTRUCTION, block.base + at, "a processing instruction was skipped")
        block.state = State.INSTRUCTION
        return at + 2
    if following == "/":
        tag = read_end_tag(text, at)
        if not tag:
            return -1 if tag is MORE else _malformed(block, at)
        block.note_space(tag, block.base + at)
        _end_tag(block, block.base + at, tag.name)
        return tag.end
    tag = read_start_tag(text, at)
    if tag is NO:
        tag = read_valued_tag(text, at, block.dialect.argument_words)
    if tag is MORE:
        return -1
    return _start_tag(block, text, at, tag) if tag else _chat_token(block, at)


def _loose_text(block: Block, text: str, at: int) -> int:
    """Text where only elements belong: JSON, a value after all, or nothing at all."""
    top = block.stack[-1]
    if block.too_deep == 0:
        if block.dialect.in_line and top.is_arguments:
            block.end_early(block.base + at)
            return at
        if top.loose:
            turn_into_text(block, top, block.base + at)
            return at
        # JSON may be the content of the arguments, or come in place of them after the tool's name.
        is_after_name = len(block.stack) == 1 and block.name is not None
        is_instead = is_after_name and block.dialect.arguments not in block.fields
        if (top.is_arguments or is_instead) and not (top.element.children or block.json):
            fence = read_fence(text, at) if text[at] == "`" else at
            if fence is MORE:
                return -1
            start = skip_space(text, fence or at)
            if start - (fence or at) <= OPENER_SPACE:
                if start == len(text):
                    return -1
                if text[start] == "{":
                    begin_json_arguments(block, at, start)
                    return start
    block.stray = block.base + at
    block.state = State.STRAY
    return at


def read_stray(block: Block, text: str, at: int) -> int:
    """State: text where only elements belong."""
    end = text.find("<", at)
    if end < 0:
        return len(text)
    block.state = State.MARKUP
    start, top, is_outside = block.stray, block.stack[-1], len(block.stack) == 1
    words = _BLANKS.sub(" ", block.source_of(start, block.base + end))
    words = _BREAKS.sub("\n", words).strip(SPACES)[:_STRAY_LENGTH]
    if (is_outside or top.is_arguments) and read_fence(words + "\n", 0) == len(words) + 1:
        block.fenced = True
        if block.json is None or is_outside:
            block.note(Code.CODE_FENCE, start, "the block contained a code fence", block.start)
        return end
    block.note(Code.STRAY_TEXT, start, "text between elements was skipped")
    may_be_arguments = top.is_arguments or (is_outside and block.name is not None)
    says_something = words.lower().strip(" .()") not in _NOTHING and any(map(str.isalnum, words))
    if may_be_arguments and says_something and not block.arguments_closed:
        block.lost = start
    return end


def _declaration(block: Block, text: str, at: int) -> int:
    """At `<!`: a comment, a section, or what is not allowed."""
    if text.startswith("<!--", at):
        block.state = State.COMMENT
        return at + 4
    opened = read_cdata_open(text, at)
    if opened is MORE or "<!--".startswith(text[at : at + 4]):
        return -1
    place, top = block.base + at, block.stack[-1]
    if not opened:
        if not text[at + 2].isalpha():
            return _malformed(block, at)
        block.give_up(Code.FORBIDDEN_MARKUP, f"the declaration at character {place} is not allowed there", place)
        return at + 2
    start = skip_space(text, at + len(opened))
    if start == len(text) and start - at < _STRAY_LENGTH and not block.final:
        return -1
    if text.startswith("{", start) and top.is_arguments and not (top.element.children or block.json or block.too_deep):
        # A JSON object in CDATA: read as a leaf, so that the end of the section is found by the rules for values.
        block.note(Code.JSON_ARGUMENTS, place, "the arguments were read from JSON")
        begin_json_leaf(block, place)
        return at
    block.note(Code.STRAY_TEXT, place, "CDATA between elements was skipped")
    if top.is_arguments and not block.arguments_closed:
        block.lost = place
    block.state = State.STRAY_CDATA
    return at + len(opened)


def _malformed(block: Block, at: int) -> int:
    place = block.base + at
    block.give_up(Code.MALFORMED_MARKUP, f"the < at character {place} begins no tag", place)
    return at + 1


def _chat_token(block: Block, at: int) -> int:
    """At a `<` that begins no tag: a token of a chat template, after the arguments, or nothing at all."""
    if len(block.stack) == 1 and block.arguments_closed:
        found = read_token(CHAT_TOKEN, block.text, at)
        if found is MORE:
            return -1
        if found:
            block.note(Code.CHAT_TOKEN, block.base + at, f"{found[0]} was skipped", block.start)
            return found.end()
    return _malformed(block, at)


def _end_tag(block: Block, place: int, name: str) -> None:
    if block.too_deep:
        if name != block.arguments_tag and not block.is_block(name):
            block.too_deep -= 1
            return
        block.too_deep = 0
    if block.close_element(name, place):
        return
    # `</args>` may be what is left of an argument: only the field's own name, in some spelling, ends `<arguments>`.
    is_spelling = name not in block.dialect.arguments_words and block.field_of(name) == block.dialect.arguments
    if is_spelling and len(block.stack) == 2 and block.stack[-1].is_arguments:
        block.note(Code.MISMATCHED_END_TAG, place, f"</{name}> closed <{block.arguments_tag}>")
        block.close_top(place)
    elif name in block.ending.ended_around:
        refuse_second_end(block, name, place)
    else:
        block.note(Code.STRAY_END_TAG, place, f"</{name}> closed nothing")


def _start_tag(block: Block, text: str, at: int, tag: Tag) -> int:
    """A start tag from `at` on: one inside the call, unless it begins another call."""
    if block.too_deep:
        block.too_deep += not tag.empty
        return tag.end
    top, dialect, place, name, field = block.stack[-1], block.dialect, block.base + at, tag.name, None
    is_outside = len(block.stack) == 1
    if block.names_block(name) and (is_outside or block.discard or not top.shape.knows(name, "")):
        opens = block.opens_block(at, name)
        if opens is MORE:
            return -1
        if opens:
            block.meet_opener(place)
            return at
    if is_outside:
        field = block.field_of(name)
        if block.arguments_closed and field in block.fields and field != dialect.arguments:
            # After its arguments, a field that the call has already shows that another call begins.
            block.note(Code.JOINED_CALLS, place, "another call is in the same block", block.start)
            block.again = block.done = True
            return at
    if not tag.is_xml and (top.is_arguments or not block.is_number(name)):
        if not (top.shape.has_property(name) or block.stack[0].shape.has_property(name)):
            return _chat_token(block, at)
        block.note(Code.NOT_XML_NAME, place, f"{name!r} is no XML name", block.base + tag.end)
    limits = block.reading.limits
    block.element_count += 1
    if block.element_count > limits.elements:
        block.give_up(Code.LIMIT_EXCEEDED, f"the block has more than {limits.elements} elements", place)
    if len(block.stack) > limits.depth:
        block.give_up(Code.LIMIT_EXCEEDED, f"the block nests more than {limits.depth} elements", place)
        block.too_deep = 0 if tag.empty else 1
        return tag.end
    block.note_space(tag, place)
    if field is not None:
        _open_field(block, field, tag, place)
    elif top.shape.has_property(name) or not (top.is_arguments and (dialect.in_line or name == block.arguments_tag)):
        _open_value(block, tag, place)
    elif dialect.in_line:
        block.end_early(place)
    elif block.is_tag:
        block.meet_opener(place)
    else:
        block.note(Code.JSON_ARGUMENTS, place, f"<{name}> inside <{name}>")
        open_arguments(block, tag, place)
    return at if block.done else tag.end


def _open_field(block: Block, field: str, tag: Tag, place: int) -> None:
    if field in block.fields:
        block.fail(Code.DUPLICATE_FIELD, f"<{field}> is in the block twice", place)
    block.fields.add(field)
    is_arguments, start = field == block.dialect.arguments, block.base + tag.end
    if tag.name != field:
        code = Code.ARGUMENTS_TAG if is_arguments else Code.NAME_TAG
        block.note(code, place, f"<{tag.name}> was read as <{field}>", start)
    if is_arguments:
        block.arguments_tag = tag.name
        block.lost = -1
        _adopt_name(block)
        return open_arguments(block, tag, place)
    for name, _, _ in attributes_of(tag.attributes):
        block.note_ignored(name, tag.name, place, start)
    leaf = Leaf(tag.name, Element(tag.name, place), ANY, start)
    leaf.exact = False
    leaf.decided = True
    leaf.capture = ""
    return begin_leaf(block, leaf, tag)


def _adopt_name(block: Block) -> None:
    """Take the name that is in another place, if there is none in its own place yet."""
    if block.proposed is not None and block.name is None and block.tool_named(block.proposed[0]):
        take_name(block)


def take_name(block: Block) -> None:
    """Make the name that was proposed the tool's."""
    if block.proposed is None:
        return
    name, start, element = block.proposed
    block.proposed = None
    if element is not None:
        block.stack[0].children.remove(element)
        block.repairs.pop((Code.UNWRAPPED_ARGUMENT, start), None)
    block.note(Code.NAME_TAG, start, "the name of the tool was in another place", block.start)
    block.name_tool(name, start)


def open_arguments(block: Block, tag: Tag, place: int) -> None:
    """Enter the element that holds the arguments."""
    start = block.base + tag.end
    root = block.stack[0]
    container = Container(tag.name, root.element, root.shape, start, root.path)
    container.is_arguments = True
    block.stack.append(container)
    block.state = State.MARKUP
    if tag.attributes:
        read_arguments(block, tag, place)
    if tag.empty:
        block.close_top(start)


def _open_value(block: Block, tag: Tag, place: int) -> None:
    """An argument, a property or an item. Outside the arguments, one called `name` is the name of the tool if no other
    element has that."""
    top, start, is_name = block.stack[-1], block.base + tag.end, False
    if len(block.stack) == 1:
        is_name = tag.name in block.dialect.name_words and block.name is None and block.proposed is None
        _adopt_name(block)
        message = f"<{tag.name}> was outside <{block.dialect.arguments}>"
        block.note(Code.UNWRAPPED_ARGUMENT, place, message, start)
    said = name_in(block, tag, top.shape)
    element = Element(name_of(block, tag, said, top.shape), place)
    others = read_attributes(block, tag, element, said)
    if block.is_tag and top.is_arguments and not top.shape.has_property(element.name):
        name = tag.name.lower()
        if top.shape.has_property(name):
            block.note(Code.TAG_CASE, place, f"<{tag.name}> was read as <{name}>", start)
            element.name = name
    if not element.name or not is_valid_name(element.name):
        block.fail(Code.INVALID_NAME, f"{element.name[:60]!r} is no name for an argument", place)
    shape, path = _add_value(block, element)
    leaf = Leaf(tag.name, element, shape, start, path)
    leaf.exact = shape.exact and not top.loose
    if others:
        read_properties(block, others, leaf, tag.empty)
    begin_leaf(block, leaf, tag)
    if is_name and not tag.attributes:
        leaf.capture = ""


def _add_value(block: Block, element: Element) -> tuple[Shape, Path | None]:
    """Add the element of a value to those around it. Returns its shape, and its path if it has deltas."""
    top = block.stack[-1]
    if block.discard:
        return top.shape.child(element.name), None
    top.children.append(element)
    return top.shape.child(element.name), path_of(top, element.name)


def path_of(top: Container, name: str, count: int = 1) -> Path | None:
    """The path of the next value called `name` in an open container, if that has one. `count`: 0 if it may be asked for
    again."""
    path = top.path
    if path is None:
        return None
    key = "" if top.shape.is_list else name
    number = top.counts.get(key, 0)
    top.counts[key] = number + count
    if top.shape.is_list:
        return (*path, number)
    return (*path, name, number) if number else (*path, name)
