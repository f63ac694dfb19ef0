"""One open block: the state machine from `<tool>` to `</tool>` (protocol, sections 2 to 7).

`Block.run` consumes text and stops where the block ends or more text is needed. Each state is one method `(text, at) -> place`: it
consumes from `at` and returns the place behind that, or -1 if the text that is there does not decide. What is not consumed
comes again, in front of the next chunk; it is never longer than one tag. White space and text whose meaning is open
are consumed and kept aside in `_tail`, so that nothing is read twice.

While text streams in only the structure is found and deltas are made. Values are made once, at the end, from the
block's raw text (see `_call`), so `Leaf` and `Container` hold places, not text.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xmltools._markup import (
    CDATA_OPEN,
    MORE,
    NO,
    OPENER_SPACE,
    TAG_LENGTH,
    Tag,
    attributes_of,
    decode_entities,
    find_bare_ampersand,
    is_xml_name,
    read_cdata_open,
    read_confirmation,
    read_end_tag,
    read_fence,
    read_name,
    read_start_tag,
    skip_space,
)
from xmltools._scan import ObjectScanner
from xmltools._text import TextReader
from xmltools._tree import Element
from xmltools.errors import Code, Repair, XMLToolsError
from xmltools.events import ArgumentDelta, Event
from xmltools.schema import ANY, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from xmltools.dialects import Dialect

__all__ = ["Block", "Leaf", "Limits", "is_valid_name"]

NAME_LENGTH: Final = 256
STRAY_LENGTH: Final = 128
CAPTURE_LENGTH: Final = 4 * NAME_LENGTH
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a block and a reply may hold; more of it is the error `limit_exceeded`. All are at least 1.

    `block_size` is in characters, from `<tool` through `</tool>`; `depth` is elements open at once inside the block, and nesting
    in JSON; `elements` is start tags in a block; `blocks` is blocks in a reply.
    """

    block_size: int = 10 * 1024 * 1024
    depth: int = 64
    elements: int = 10_000
    blocks: int = 1_000

    def __post_init__(self) -> None:
        for name in ("block_size", "depth", "elements", "blocks"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise XMLToolsError(f"limits: {name} is expected to be a whole number from 1 on, got {value!r}")


class Container:
    """An open element whose content is elements."""

    __slots__ = ("counts", "element", "first_leaf", "first_repair", "is_arguments", "path", "shape", "start", "tag")

    def __init__(self, tag: str, element: Element, shape: Shape, start: int, path: Path | None) -> None:
        self.tag = tag
        self.element = element
        self.shape = shape
        self.start = start
        self.path = path
        self.counts: dict[str, int] = {}
        self.is_arguments = False
        self.first_leaf = 0
        self.first_repair = 0
        element.children = element.children or []


class Leaf:
    """An element whose content is a value: where that stands, and how its end is told."""

    __slots__ = ("capture", "decided", "element", "end", "exact", "literal", "mixed", "path", "pasted", "reader")
    __slots__ += ("sections", "shape", "start", "tag", "cut", "whole")

    def __init__(self, tag: str, element: Element, shape: Shape, start: int, path: Path | None) -> None:
        self.tag = tag
        self.element = element
        self.shape = shape
        self.start = start
        self.end = start
        self.path = path
        self.exact = shape.exact  # a string: its end tag must be confirmed by what follows
        self.literal = -1  # where literal markup began
        self.pasted = False  # … and it was a tag, so CDATA is content from there on
        self.mixed = False  # a node that turned out to hold text
        self.decided = False  # it is a leaf, whatever stands in it
        self.cut = False  # ended by an end tag of something around it
        self.whole: str | None = None
        self.sections: array[int] = array("q")  # starts and ends of CDATA content, in turn
        self.reader: TextReader | None = None  # makes deltas
        self.capture: str | None = None  # keeps the text of a field, whose value is needed at once


class Block:
    """The state of one block. `done` says that it has ended; `repairs`, `error` and the tree say how."""

    def __init__(
        self, start: int, opener: int, dialect: Dialect, limits: Limits, on_name: Callable[[Block], None]
    ) -> None:
        """`start` is the block's place in the stream, `opener` the length of its opening tag."""
        self.start = start
        self._body_start = start + opener
        self.dialect = dialect
        self.limits = limits
        self.done = False
        self.raw: list[str] = []
        self.repairs: list[Repair] = []
        self.leaves: list[Leaf] = []
        self.nodes: list[tuple[Element, int, int]] = []
        self.error: tuple[Code, str] | None = None
        self.discard = False  # no call will come of it: find the end, keep nothing
        self.name: str | None = None
        self.server: str | None = None
        self.call_id: str | None = None
        self.shape: Shape | None = None
        self._fields: set[str] = set()
        self.arguments_closed = False
        self.early = False  # arguments were read before the tool was known
        self.json: tuple[int, int] | None = None
        self.json_arguments: tuple[int, int] | Element | None = None
        self.events: list[Event] = []
        self.leaf: Leaf | None = None
        self.arguments = Element(dialect.arguments)
        self._on_name = on_name
        self._state = _BODY
        self._base = 0
        self._stack = [Container(dialect.block, self.arguments, ANY, start, None)]
        self._noted: set[tuple[Code, int]] = set()
        self._elements = 0
        self._too_deep = 0
        self._after_comment = _MARKUP
        self._delta: list[str] = []
        self._tail: list[str] = []
        self._tail_kind = _OWN
        self._tail_spaced = False
        self._tail_start = 0
        self._between = ""
        self._section = -1  # end of a CDATA section that is not confirmed
        self._stray_start = -1
        self._stray_text = ""
        self._scanner: ObjectScanner | None = None

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, text: str, at: int, base: int, events: list[Event]) -> int:
        """Read on in `text`, whose first character stands at `base` in the stream; returns the place behind what was consumed."""
        self._base = base
        self.events = events
        while at < len(text) and not self.done:
            place = _STATES[self._state](self, text, at)
            if place < 0:
                break
            at = place
        self._flush_delta()
        return at

    @property
    def in_cdata(self) -> bool:
        """True inside CDATA of a leaf with deltas: text without `]` goes straight through."""
        return self._state == _CDATA and self.leaf is not None and self.leaf.path is not None

    @property
    def in_text(self) -> bool:
        """True inside plain text of a leaf with deltas."""
        leaf = self.leaf
        return self._state == _TEXT and leaf is not None and leaf.path is not None

    def ends_complete(self, rest: str) -> bool:
        """At the end of the reply: is `</tool>`, or the rest of it, all that is missing? `rest` was not consumed."""
        if not self.arguments_closed or len(self._stack) > 1 or self._state not in (_MARKUP, _STRAY):
            return False
        return f"</{self.dialect.block}>".startswith(rest.rstrip(" \t\r\n") if rest.startswith("</t") else rest)

    def take_raw(self) -> str:
        """The block's text, if it was kept."""
        text = "".join(self.raw)
        self.raw.clear()
        return text

    def end_early(self, place: int) -> None:
        """The block ends without its end tag, at `place` in the stream."""
        self.note(Code.MISSING_END_TAG, place, f"</{self.dialect.block}> is missing", self._stack[0])
        self.done = True

    def fail(self, code: Code, message: str) -> None:
        """Note the first error. The block is read on to its end, but nothing of it is kept."""
        if self.error is None:
            self.error = (code, message)

    def give_up(self, code: Code, message: str) -> None:
        """Fail, and keep nothing from here on."""
        self._flush_delta()
        self.fail(code, message)
        self.discard = True
        self.raw.clear()
        self.leaves.clear()
        self.nodes.clear()
        self._tail.clear()
        if self.leaf is not None:
            self.leaf.path = self.leaf.reader = self.leaf.capture = None

    def note(self, code: Code, place: int, message: str, owner: Container | Leaf) -> None:
        """Record a repair at `place` in the stream, once for each code and element."""
        key = (code, owner.start)
        if key not in self._noted and not self.discard:
            self._noted.add(key)
            self.repairs.append(Repair(code, place, message))

    def note_opener(self, code: Code, message: str) -> None:
        """Record a repair of the opening tag, or of where the block stands."""
        self.note(code, self.start, message, self._stack[0])

    @property
    def open_elements(self) -> list[Element]:
        """The elements that have not ended."""
        leaf = [self.leaf.element] if self.leaf is not None else []
        return [container.element for container in self._stack[1:]] + leaf

    @property
    def _top(self) -> Container:
        return self._stack[-1]

    def _flush_delta(self) -> None:
        if self._delta and self.leaf is not None and self.leaf.path is not None:
            self.events.append(ArgumentDelta.make(self.leaf.path, "".join(self._delta)))
        self._delta.clear()

    # -- between elements ----------------------------------------------------------------------------------------

    def _body(self, text: str, at: int) -> int:
        """At the opener, or right behind it. That `<`, `{` or a fence line follows was seen when it was confirmed."""
        if self._base + at < self._body_start:
            return self._body_start - self._base
        here = skip_space(text, at)
        if here == len(text) or here > at:
            return here
        if text[at] == "{":
            self._scanner = ObjectScanner(self.limits.depth)
            self._state = _JSON
            self.json = (self._base + at, -1)
            return at
        if text[at] == "`":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            self.note(Code.CODE_FENCE, self._base + at, "the body of the block stood in a code fence", self._top)
            return fence or at + 1
        self._state = _MARKUP
        return at

    def _markup(self, text: str, at: int) -> int:
        """Where an element, a comment or an end tag may come."""
        here = skip_space(text, at)
        if here > at:
            return here
        if text[at] != "<":
            return self._loose_text(text, at)
        if at + 1 == len(text):
            return -1
        following = text[at + 1]
        if following == "/":
            return self._end_tag(text, at)
        if following == "!":
            return self._declaration(text, at)
        if following == "?":
            self.note(Code.PROCESSING_INSTRUCTION, self._base + at, "a processing instruction was skipped", self._top)
            self._state = _INSTRUCTION
            return at + 2
        return self._start_tag(text, at)

    def _loose_text(self, text: str, at: int) -> int:
        top = self._top
        if self._too_deep == 0:
            if self._is_untyped_node(top):
                self._to_text(top, self._base + at)
                return at
            if top.is_arguments and not top.element.children and self.json_arguments is None:
                start = self._json_in_arguments(text, at)
                if start != -2:
                    return start
        self._stray_start = self._base + at
        self._stray_text = ""
        self._state = _STRAY
        return at

    def _json_in_arguments(self, text: str, at: int) -> int:
        """JSON as the text of `arguments`: its place, -1 for more input, -2 if it is none."""
        if text[at] == "`":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            if not fence:
                return -2
            start = skip_space(text, fence)
            if start == len(text):
                return -1 if start - at <= OPENER_SPACE else -2
        else:
            start = at
        if text[start] != "{":
            return -2
        self.note(Code.JSON_ARGUMENTS, self._base + at, "the arguments were read from JSON", self._top)
        self._scanner = ObjectScanner(self.limits.depth)
        self.json_arguments = (self._base + start, -1)
        self._state = _JSON
        return start

    def _stray(self, text: str, at: int) -> int:
        """Text where only elements belong."""
        end = text.find("<", at)
        stop = end if end >= 0 else len(text)
        if len(self._stray_text) < STRAY_LENGTH:
            self._stray_text = (self._stray_text + text[at : min(stop, at + STRAY_LENGTH)])[:STRAY_LENGTH]
        if end < 0:
            return stop
        words = self._stray_text.strip(" \t\r\n")
        self._state = _MARKUP
        if read_fence(words + "\n", 0) == len(words) + 1 and (len(self._stack) == 1 or self.json_arguments):
            if len(self._stack) == 1:
                self.note(Code.CODE_FENCE, self._stray_start, "the block held a code fence", self._top)
        else:
            self.note(Code.STRAY_TEXT, self._stray_start, "text between elements was skipped", self._top)
        return end

    def _declaration(self, text: str, at: int) -> int:
        if text.startswith("<!--", at):
            self._after_comment = _MARKUP
            self._state = _COMMENT
            return at + 4
        opened = read_cdata_open(text, at)
        if opened is MORE or "<!--".startswith(text[at : at + 4]):
            return -1
        if opened:
            return self._stray_cdata(at, opened)
        if text[at + 2].isalpha():
            self.give_up(Code.FORBIDDEN_MARKUP, f"the declaration at character {self._base + at} is not allowed there")
            return at + 2
        return self._malformed(at)

    def _stray_cdata(self, at: int, opened: str) -> int:
        top = self._top
        place = self._base + at
        if top.is_arguments and not top.element.children and self.json_arguments is None and not self._too_deep:
            # A JSON object in CDATA: read as a leaf, so that the end of the section is found by the rules for values.
            self.note(Code.JSON_ARGUMENTS, place, "the arguments were read from JSON", top)
            self._json_leaf(place)
            return at
        self.note(Code.STRAY_TEXT, place, "CDATA between elements was skipped", top)
        self._state = _STRAY_CDATA
        return at + len(opened)

    def _json_leaf(self, start: int) -> None:
        """The content of `arguments`, from `start` on, is one value."""
        arguments = self._stack.pop()
        self.json_arguments = Element(arguments.tag, arguments.start)
        self.leaf = Leaf(arguments.tag, self.json_arguments, ANY, start, None)
        self._state = _TEXT

    def _stray_section(self, text: str, at: int) -> int:
        return self._skip_past(text, at, "]]>", _MARKUP)

    def _instruction(self, text: str, at: int) -> int:
        return self._skip_past(text, at, "?>", _MARKUP)

    def _skip_past(self, text: str, at: int, end: str, state: int) -> int:
        place = text.find(end, at)
        if place >= 0:
            self._state = state
            return place + len(end)
        keep = len(end) - 1
        while keep and not text.endswith(end[:keep]):
            keep -= 1
        return len(text) - keep if len(text) - keep > at else -1

    def _comment(self, text: str, at: int) -> int:
        end = self._skip_past(text, at, "-->", self._after_comment)
        dashes = text.find("--", at)
        if 0 <= dashes < (end - 3 if text.startswith("-->", end - 3) and self._state == self._after_comment else end):
            self.note(Code.COMMENT_SYNTAX, self._base + dashes, "-- in a comment", self._top)
        return end

    # -- tags ----------------------------------------------------------------------------------------------------

    def _malformed(self, at: int) -> int:
        self.give_up(Code.MALFORMED_MARKUP, f"the < at character {self._base + at} begins no tag")
        return at + 1

    def _end_tag(self, text: str, at: int) -> int:
        tag = read_end_tag(text, at)
        if tag is MORE:
            return -1
        if tag is NO:
            return self._malformed(at)
        place = self._base + at
        if self._too_deep:
            if tag.name not in (self.dialect.arguments, self.dialect.block):
                self._too_deep -= 1
                return tag.end
            self._too_deep = 0
        self._spaced(tag, place, self._top)
        if not self._close(tag.name, place):
            self.note(Code.STRAY_END_TAG, place, f"</{tag.name}> closed nothing", self._top)
        return tag.end

    def _spaced(self, tag: Tag, place: int, owner: Container | Leaf) -> None:
        if tag.spaced:
            self.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in <{tag.name}>", owner)

    def _close(self, name: str, place: int, leaf: Leaf | None = None) -> bool:
        """Close the nearest open container called `name` and all inside it, `leaf` too; False if there is none."""
        depth = self._depth_of(name)
        if depth < 0:
            return False
        left_open = [container.tag for container in self._stack[depth + 1 :]]
        left_open += [leaf.tag] if leaf is not None else []
        if left_open:
            tags = ", ".join(f"<{tag}>" for tag in left_open)
            self.note(Code.MISSING_END_TAG, place, f"</{name}> closed {tags}", leaf or self._top)
        while len(self._stack) > max(depth, 1):
            self._pop(place)
        if depth == 0:
            self.done = True
        return True

    def _depth_of(self, name: str) -> int:
        """The place of the nearest open container called `name` in the stack, or -1."""
        for depth in range(len(self._stack) - 1, -1, -1):
            if self._stack[depth].tag == name:
                return depth
        return -1

    def _pop(self, place: int) -> None:
        container = self._stack.pop()
        if container.is_arguments:
            self.arguments_closed = len(self._stack) == 1
        elif self.early and not self.discard:
            self.nodes.append((container.element, container.start, place))

    def _start_tag(self, text: str, at: int) -> int:
        tag = read_start_tag(text, at)
        if tag is MORE:
            return -1
        if tag is NO:
            return self._malformed(at)
        if self._too_deep:
            self._too_deep += not tag.empty
            return tag.end
        top = self._top
        if len(self._stack) == 1 and tag.name == self.dialect.block:
            confirmed = read_confirmation(text, tag.end)
            if confirmed is MORE:
                return -1
            if confirmed:
                self._next_opener(self._base + at)
                return at
        if not is_xml_name(tag.name):
            if not (top.shape.has_property(tag.name) or (self.shape is not None and self.shape.has_property(tag.name))):
                return self._malformed(at)
            self.note(Code.NOT_XML_NAME, self._base + at, f"{tag.name!r} is no XML name", top)
        self._elements += 1
        if self._elements > self.limits.elements:
            self.give_up(Code.LIMIT_EXCEEDED, f"the block has more than {self.limits.elements} elements")
        if len(self._stack) > self.limits.depth:
            self.give_up(Code.LIMIT_EXCEEDED, f"the block nests more than {self.limits.depth} elements")
            self._too_deep = 0 if tag.empty else 1
            return tag.end
        self._open(tag, self._base + at)
        return tag.end

    def _next_opener(self, place: int) -> None:
        """A new block starts inside this one: its end tag was forgotten."""
        if not self.arguments_closed:
            self.fail(Code.MALFORMED_MARKUP, f"a new <{self.dialect.block}> starts before this one has ended")
        self.end_early(place)

    def _open(self, tag: Tag, place: int) -> None:
        """Enter the element that `tag` starts."""
        dialect, top = self.dialect, self._top
        self._spaced(tag, place, top)
        if len(self._stack) == 1:
            if tag.name in (dialect.server_name, dialect.tool_name):
                return self._open_field(tag, place)
            if tag.name == dialect.arguments:
                return self._open_arguments(tag, place)
            self.note(Code.UNWRAPPED_ARGUMENT, place, f"<{tag.name}> stood outside <{dialect.arguments}>", top)
            if top.shape is ANY and self.shape is not None:
                top.shape = self.shape
        elif top.is_arguments and tag.name == dialect.arguments and not top.shape.has_property(tag.name):
            self.note(Code.JSON_ARGUMENTS, place, f"<{tag.name}> inside <{tag.name}>", top)
            return self._push_arguments(tag, place)
        return self._open_value(tag, place)

    def _open_field(self, tag: Tag, place: int) -> None:
        self._once(tag)
        self._read_attributes(tag, place, Element(tag.name))
        leaf = Leaf(tag.name, Element(tag.name, place), ANY, self._base + tag.end, None)
        leaf.exact = False
        leaf.decided = True
        leaf.capture = ""
        self._begin_leaf(leaf, tag)

    def _once(self, tag: Tag) -> None:
        if tag.name in self._fields:
            self.fail(Code.DUPLICATE_FIELD, f"<{tag.name}> stands twice in the block")
        self._fields.add(tag.name)

    def _open_arguments(self, tag: Tag, place: int) -> None:
        self._once(tag)
        self._push_arguments(tag, place)

    def _push_arguments(self, tag: Tag, place: int) -> None:
        self._read_attributes(tag, place, Element(tag.name))
        start = self._base + tag.end
        path: Path | None = () if self.call_id is not None else None
        container = Container(tag.name, self.arguments, self.shape or ANY, start, path)
        container.is_arguments = True
        self.early = self.early or self.shape is None
        self._stack.append(container)
        self._state = _MARKUP
        if tag.empty:
            self._pop(start)

    def _open_value(self, tag: Tag, place: int) -> None:
        """An argument, a property or an item."""
        top = self._top
        element = Element(tag.name, place)
        self._read_attributes(tag, place, element)
        if not is_valid_name(element.name):
            self.fail(Code.INVALID_NAME, f"{element.name[:60]!r} is no name for an argument")
        if len(self._stack) == 1:
            self.early = self.early or self.shape is None
            path: Path | None = () if self.call_id is not None else None
        else:
            path = top.path
        path = None if path is None or self.discard else self._path_of(element.name, path)
        leaf = Leaf(tag.name, element, top.shape.child(element.name), self._base + tag.end, path)
        leaf.decided = leaf.shape.is_text or not leaf.shape.exact
        leaf.exact = leaf.shape.exact and not self._is_untyped_node(top)
        if top.element.children is not None and not self.discard:
            top.element.children.append(element)
        self._begin_leaf(leaf, tag)

    def _is_untyped_node(self, container: Container) -> bool:
        return container.shape is ANY and not container.is_arguments and container is not self._stack[0]

    def _path_of(self, name: str, path: Path) -> Path:
        top = self._top
        key = "" if top.shape.is_list else name
        number = top.counts.get(key, 0)
        top.counts[key] = number + 1
        if top.shape.is_list:
            return (*path, number)
        return (*path, name, number) if number else (*path, name)

    def _begin_leaf(self, leaf: Leaf, tag: Tag) -> None:
        self.leaf = leaf
        self._tail.clear()
        if tag.empty:
            self._end_leaf(leaf.start)
        else:
            self._state = _LEAF_START

    def _read_attributes(self, tag: Tag, place: int, element: Element) -> None:
        """Take the attributes that mean something and note the others."""
        if not tag.attributes:
            return
        dialect = self.dialect
        named = tag.name == dialect.argument and not self._top.shape.has_property(tag.name)
        seen = set()
        for name, value, quoted in attributes_of(tag.attributes):
            known = (named and name == dialect.argument_name) or (name == dialect.nil and value in ("true", "false"))
            if value is None or name in seen or not known:
                self.note(
                    Code.IGNORED_ATTRIBUTE, place, f"the attribute {name!r} of <{tag.name}> was skipped", self._top
                )
                continue
            seen.add(name)
            if not quoted:
                self.note(Code.ATTRIBUTE_SYNTAX, place, f"the attribute {name!r} stood without quotes", self._top)
            if name == dialect.nil:
                element.nil = value == "true"
            else:
                self._named(element, value, place)

    def _named(self, element: Element, value: str, place: int) -> None:
        element.name = decode_entities(value).strip(" \t\r\n")
        if (bare := find_bare_ampersand(value, 0, len(value))) is not None:
            code = Code.UNKNOWN_ENTITY if bare[1] else Code.BARE_AMPERSAND
            self.note(code, place, "an & in an attribute was kept", self._top)

    # -- leaves --------------------------------------------------------------------------------------------------

    def _leaf_start(self, text: str, at: int) -> int:
        """The first thing in an element that is not white space tells a node from a leaf."""
        leaf = self.leaf
        assert leaf is not None
        here = skip_space(text, at)
        if here > at:
            self._keep(text[at:here])
            return here
        if text[at] != "<" or leaf.decided:
            return self._enter_leaf(at)
        if at + 1 == len(text):
            return -1
        if text[at + 1] == "!":
            return self._leading_comment(text, at, leaf)
        if text[at + 1] == "/":
            return self._enter_leaf(at)
        tag = read_start_tag(text, at)
        if tag is MORE:
            return -1
        if not tag or tag.spaced or not is_xml_name(tag.name):
            return self._enter_leaf(at)
        shape = leaf.shape.opens(tag.name, leaf.element.name)
        if shape is None or leaf.element.nil:
            return self._enter_leaf(at)
        self._enter_node(leaf, shape)
        return at

    def _leading_comment(self, text: str, at: int, leaf: Leaf) -> int:
        if text.startswith("<!--", at):
            if leaf.literal < 0:
                leaf.literal = self._base + at  # if the element turns out to be a leaf, the comment is part of it
            self._keep("<!--")
            self._after_comment = _LEAF_START
            self._state = _LEAF_COMMENT
            return at + 4
        return -1 if "<!--".startswith(text[at : at + 4]) else self._enter_leaf(at)

    def _leaf_comment(self, text: str, at: int) -> int:
        place = self._comment(text, at)
        if place > at:
            self._keep(text[at:place])
            if self._state == _MARKUP:
                self._state = _LEAF_START
        return place

    def _enter_node(self, leaf: Leaf, shape: Shape) -> None:
        path = leaf.path
        if shape is ANY:
            path = None  # where its leaves will stand is known when it ends
        elif leaf.shape.is_list and not shape.is_list and path is not None:
            path = (*path, 0) if not isinstance(path[-1], int) else path
        container = Container(leaf.tag, leaf.element, shape, leaf.start, path)
        container.first_leaf = len(self.leaves)
        container.first_repair = len(self.repairs)
        self._stack.append(container)
        self._tail.clear()
        self.leaf = None
        self._state = _MARKUP

    def _keep(self, text: str) -> None:
        """Put consumed text aside whose meaning is open."""
        if not self.discard:
            self._tail.append(text)

    def _take_tail(self) -> str:
        tail = "".join(self._tail)
        self._tail.clear()
        return tail

    def _enter_leaf(self, at: int) -> int:
        leaf = self.leaf
        assert leaf is not None
        if leaf.path is not None and leaf.shape is not ANY and leaf.shape.opens("", "") is not None:
            leaf.path = None  # text that stands for a list or an object: it is converted as a whole
        if (leaf.path is not None or leaf.capture is not None) and not self.discard:
            leaf.reader = TextReader()
        self._state = _TEXT
        lead = self._take_tail()
        if leaf.literal >= 0:
            comment = leaf.literal - leaf.start
            self._emit_text(lead[:comment])
            self._set_literal(leaf.literal, pasted=True)
            lead = lead[comment:]
        self._emit_text(lead)
        return at

    def _to_text(self, container: Container, place: int) -> None:
        """A node turns out to hold text beside its elements: it is a leaf after all."""
        self._stack.pop()
        del self.leaves[container.first_leaf :]
        del self.repairs[container.first_repair :]
        container.element.children = None
        leaf = Leaf(container.tag, container.element, ANY, container.start, None)
        leaf.exact = not self._is_untyped_node(self._top)
        leaf.literal = container.start
        leaf.pasted = leaf.mixed = True
        self.leaf = leaf
        self.note(Code.MIXED_CONTENT, place, f"<{container.tag}> held text beside elements and was read as text", leaf)
        self._state = _TEXT

    def _emit_text(self, raw: str) -> None:
        reader = self.leaf.reader if self.leaf is not None else None
        if reader is not None and raw and (text := reader.text(raw)):
            self._emit(text)

    def _emit_cdata(self, raw: str) -> None:
        if raw and self.leaf is not None and self.leaf.reader is not None:
            self._emit(raw)

    def _emit(self, text: str) -> None:
        leaf = self.leaf
        if leaf is None or leaf.capture is None:
            if text:
                self._delta.append(text)
        elif len(leaf.capture) < CAPTURE_LENGTH:
            leaf.capture = (leaf.capture + text)[:CAPTURE_LENGTH]

    def _set_literal(self, place: int, *, pasted: bool) -> None:
        leaf = self.leaf
        assert leaf is not None
        if leaf.literal < 0:
            leaf.literal = place
        leaf.pasted = leaf.pasted or pasted
        if leaf.reader is not None:
            leaf.reader.literal = True

    def _text(self, text: str, at: int) -> int:
        """Plain text of a leaf."""
        leaf = self.leaf
        assert leaf is not None
        opening = text.find("</" if leaf.pasted else "<", at)
        if opening < 0:
            end = len(text) - (leaf.pasted and text.endswith("<"))
            self._emit_text(text[at:end])
            return end if end > at else -1
        if opening > at:
            self._emit_text(text[at:opening])
            return opening
        following = text[at + 1 : at + 2]
        if not following:
            return -1
        if following == "/":
            return self._leaf_end_tag(text, at, leaf)
        if following == "!":
            opened = read_cdata_open(text, at)
            if opened is MORE:
                return -1
            if opened:
                return self._open_cdata(opened, at)
        self._set_literal(self._base + at, pasted=following in "!?" or is_xml_name(following))
        self._emit_text("<")
        return at + 1

    def _open_cdata(self, opened: str, at: int) -> int:
        leaf = self.leaf
        assert leaf is not None
        if opened != CDATA_OPEN:
            self.note(Code.CDATA_CASE, self._base + at, f"{opened} was read as CDATA", leaf)
        if leaf.reader is not None:
            self._emit(leaf.reader.open_cdata())
        if not self.discard:
            leaf.sections.append(self._base + at + len(opened))
        self._state = _CDATA
        return at + len(opened)

    def _cdata(self, text: str, at: int) -> int:
        """Content of a CDATA section."""
        end = text.find("]]>", at)
        if end < 0:
            end = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
            self._emit_cdata(text[at:end])
            return end if end > at else -1
        piece = text[at:end]
        self._emit_cdata(piece)
        leaf = self.leaf
        if leaf is not None and leaf.sections[-1:] == array("q", (self._base + at,)):
            leaf.whole = piece  # if nothing else comes this is the value, and is not cut out again
        self._section = self._base + end
        self._state = _CDATA_TAIL
        return end + 3

    def _cdata_tail(self, text: str, at: int) -> int:
        """Behind a `]]>`: what follows tells whether it ended the section (protocol, 4.7)."""
        end = text.find("]]>", at)
        opening = text.find("<", at, end if end >= 0 else len(text))
        if opening < 0 and end >= 0:
            self._keep(text[at:end])
            self._continue_cdata()
            self._section = self._base + end
            self._state = _CDATA_TAIL
            return end + 3
        if opening < 0:
            stop = len(text) - (2 if text.endswith("]]") else text.endswith("]"))
            self._keep(text[at:stop])
            return stop if stop > at else -1
        if opening > at:
            self._keep(text[at:opening])
            return opening
        return self._behind_cdata(text, at)

    def _behind_cdata(self, text: str, at: int) -> int:
        """At the first `<` behind a `]]>`."""
        leaf = self.leaf
        assert leaf is not None
        if at + 1 == len(text):
            return -1
        if text[at + 1] == "/":
            tag = read_end_tag(text, at)
            if tag is MORE:
                return -1
            if tag and tag.name == leaf.tag:
                return self._candidate(text, at, tag, _OWN)
            if tag and tag.name == self.dialect.arguments and self._depth_of(tag.name) > 0:
                return self._candidate(text, at, tag, _CALL)
        elif text.startswith("<!--", at):
            self._end_section()
            return at
        else:
            opened = read_cdata_open(text, at)
            if opened is MORE or "<!--".startswith(text[at : at + 4]):
                return -1
            if opened:
                self._end_section()
                return at
        self._continue_cdata()
        return at

    def _end_section(self) -> None:
        """The last `]]>` ended its section; plain text follows."""
        leaf = self.leaf
        assert leaf is not None
        if not self.discard:
            leaf.sections.append(self._section)
        self._section = -1
        self._state = _TEXT
        self._emit_text(self._take_tail())

    def _continue_cdata(self) -> None:
        """The last `]]>` was content."""
        leaf = self.leaf
        assert leaf is not None
        self.note(Code.UNSPLIT_CDATA_END, self._section, "]]> inside CDATA was read as content", leaf)
        self._emit_cdata("]]>" + self._take_tail())
        self._section = -1
        self._state = _CDATA

    # -- the end of a leaf ---------------------------------------------------------------------------------------

    def _leaf_end_tag(self, text: str, at: int, leaf: Leaf) -> int:
        """At `</` in plain text."""
        tag = read_end_tag(text, at)
        if tag is MORE:
            return -1
        if tag:
            if tag.name == leaf.tag:
                return self._candidate(text, at, tag, _OWN)
            depth = self._depth_of(tag.name)
            if not leaf.exact and depth >= 0:
                self._end_leaf(self._base + at, cut=True)
                self._close(tag.name, self._base + at, leaf)
                return tag.end
            if tag.name == self.dialect.arguments and depth > 0:
                return self._candidate(text, at, tag, _CALL)
            if leaf.literal < 0 and not leaf.sections:
                return self._candidate(text, at, tag, _OTHER)
        self._set_literal(self._base + at, pasted=True)
        self._emit_text("</")
        return at + 2

    def _candidate(self, text: str, at: int, tag: Tag, kind: int) -> int:
        """An end tag that may end the leaf, depending on what follows."""
        leaf = self.leaf
        assert leaf is not None
        place = self._base + at
        if kind == _OWN and not leaf.exact:
            if self._section >= 0:
                self._end_section()
            self._end_own(tag.spaced, place)
            return tag.end
        self._between = self._take_tail()
        self._keep(text[at : tag.end])
        self._tail_kind = kind
        self._tail_spaced = tag.spaced
        self._tail_start = place
        self._state = _END_TAIL
        return tag.end

    def _end_own(self, spaced: bool, place: int) -> None:
        leaf = self.leaf
        assert leaf is not None
        if spaced:
            self.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in </{leaf.tag}>", leaf)
        self._end_leaf(place)

    def _end_tail(self, text: str, at: int) -> int:
        """Behind an end tag that may end the leaf."""
        here = skip_space(text, at)
        if here > at:
            self._keep(text[at:here])
            return here
        follows = self._follows(text, at)
        if follows is MORE and len(text) - at < TAG_LENGTH:
            return -1
        candidate = self._take_tail()
        if follows:
            self._confirm()
        elif self._section >= 0:
            self._tail = [self._between, candidate]
            self._continue_cdata()
        else:
            self._state = _TEXT
            self._set_literal(self._tail_start, pasted=True)
            self._emit_text(candidate)
        self._tail.clear()
        return at

    def _confirm(self) -> None:
        """What follows shows that the candidate ended the leaf."""
        leaf, place, kind = self.leaf, self._tail_start, self._tail_kind
        assert leaf is not None
        self._tail.clear()
        if self._section >= 0:
            self._tail.append(self._between)
            self._end_section()
        if kind == _OWN:
            self._end_own(self._tail_spaced, place)
        elif kind == _OTHER:
            self.note(Code.MISMATCHED_END_TAG, place, f"another end tag closed <{leaf.tag}>", leaf)
            self._end_leaf(place)
        else:
            self._end_leaf(place, cut=True)
            self._close(self.dialect.arguments, place, leaf)

    def _follows(self, text: str, at: int) -> bool | None:
        """Is what stands at `at` what could follow the leaf, were the candidate its end (protocol, 4.5 and 4.6)?"""
        if text[at] != "<":
            return NO
        if at + 1 == len(text):
            return MORE
        kind, following = self._tail_kind, text[at + 1]
        if kind == _CALL:
            tag = read_end_tag(text, at) if following == "/" else NO
            return tag if tag is MORE else bool(tag and tag.name == self.dialect.block)
        if following == "/":
            name = read_name(text, skip_space(text, at + 2))
            if kind == _OTHER:
                return name if not name else name == self._top.tag
            return name if not name else self._depth_of(name) >= 0
        return self._starts_sibling(text, at, following)

    def _starts_sibling(self, text: str, at: int, following: str) -> bool | None:
        leaf = self.leaf
        assert leaf is not None
        own = self._tail_kind == _OWN
        untouched = own and leaf.literal < 0
        if following == "!":
            if text.startswith("<!--", at):
                return own
            return MORE if own and "<!--".startswith(text[at : at + 4]) else NO
        if following == "?":
            return untouched
        name = read_name(text, at + 1)
        if not name:
            return name
        return (untouched and is_xml_name(name)) or self._is_sibling(name, leaf)

    def _is_sibling(self, name: str, leaf: Leaf) -> bool:
        """Can an element called `name` stand behind the leaf by what is declared?"""
        dialect, top = self.dialect, self._top
        if len(self._stack) == 1:
            if name in (dialect.server_name, dialect.tool_name, dialect.arguments):
                return True
            return (self.shape or ANY).knows(name, leaf.tag)
        return name == dialect.argument or top.shape.knows(name, leaf.tag)

    def _end_leaf(self, place: int, *, cut: bool = False) -> None:
        leaf = self.leaf
        assert leaf is not None
        leaf.end = place
        leaf.cut = cut
        if leaf.reader is not None:
            self._emit(leaf.reader.end(cut=cut))
        self._flush_delta()
        if not self.discard:
            self.leaves.append(leaf)
        if leaf.capture is not None:
            self._end_field(leaf, leaf.capture.strip(" \t\r\n"))
        elif leaf.element is self.json_arguments:
            self.arguments_closed = True
        leaf.reader = None
        self.leaf = None
        self._state = _MARKUP

    def _end_field(self, leaf: Leaf, value: str) -> None:
        if not is_valid_name(value):
            self.fail(Code.INVALID_NAME, f"{value[:60]!r} is no name")
        elif leaf.tag == self.dialect.server_name:
            self.server = value or self.dialect.default_server
        elif value and self.name is None:
            self.name = value
            self._on_name(self)

    # -- JSON ----------------------------------------------------------------------------------------------------

    def _json(self, text: str, at: int) -> int:
        """A JSON object: the body, or the text of `arguments`."""
        scanner = self._scanner
        assert scanner is not None
        end = scanner.scan(text, at)
        if self.json is not None:
            self._json_name(scanner.names)
        if scanner.error and isinstance(self.json_arguments, tuple) and not scanner.too_deep:
            self._json_leaf(self.json_arguments[0])  # no JSON, but perhaps a Python literal: its end tag ends it
        elif scanner.error:
            code = Code.LIMIT_EXCEEDED if scanner.too_deep else Code.INVALID_JSON
            self.give_up(code, f"the JSON could not be read: {scanner.error}")
            self._state = _SKIP
        elif scanner.done and self.json is not None:
            self.json = (self.json[0], self._base + end)
            self._state = _JSON_END
        elif scanner.done and isinstance(self.json_arguments, tuple):
            self.json_arguments = (self.json_arguments[0], self._base + end)
            self._state = _MARKUP
        return end

    def _json_name(self, names: dict[str, str]) -> None:
        if self.name is not None:
            return
        for key, value in names.items():
            value = value.strip(" \t\r\n")
            if not value or "\\" in value or not is_valid_name(value):
                continue
            if key in self.dialect.json_server_name:
                self.server = value
            elif key in self.dialect.json_tool_name:
                self.name = value
                self._on_name(self)
                return

    def _json_end(self, text: str, at: int) -> int:
        """Behind the JSON object of a body."""
        here = skip_space(text, at)
        if here > at:
            return here
        if text[at] == "`":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            if fence:
                self.note(Code.CODE_FENCE, self._base + at, "the body of the block stood in a code fence", self._top)
                return fence
        if text[at] == "<":
            tag = read_end_tag(text, at) if text[at + 1 : at + 2] == "/" else NO
            if tag is MORE or at + 1 == len(text):
                return -1
            if tag and tag.name == self.dialect.block:
                self._close(tag.name, self._base + at)
                return tag.end
        self.give_up(Code.INVALID_JSON, "something stands between the JSON object and the end of the block")
        self._state = _SKIP
        return at

    def _skip(self, text: str, at: int) -> int:
        """A body that is no JSON: to the next `</tool>`."""
        opening = text.find("</", at)
        if opening < 0:
            end = len(text) - text.endswith("<")
            return end if end > at else -1
        if opening > at:
            return opening
        tag = read_end_tag(text, at)
        if tag is MORE:
            return -1
        if tag and tag.name == self.dialect.block:
            self.done = True
            return tag.end
        return at + 2


# Kinds of end tags that may end a leaf: its own, another element's, `</arguments>`.
_OWN: Final = 0
_OTHER: Final = 1
_CALL: Final = 2

_STATES: Final = (
    Block._body,
    Block._markup,
    Block._stray,
    Block._stray_section,
    Block._instruction,
    Block._comment,
    Block._leaf_start,
    Block._leaf_comment,
    Block._text,
    Block._cdata,
    Block._cdata_tail,
    Block._end_tail,
    Block._json,
    Block._json_end,
    Block._skip,
)
(
    _BODY,
    _MARKUP,
    _STRAY,
    _STRAY_CDATA,
    _INSTRUCTION,
    _COMMENT,
    _LEAF_START,
    _LEAF_COMMENT,
    _TEXT,
    _CDATA,
    _CDATA_TAIL,
    _END_TAIL,
    _JSON,
    _JSON_END,
    _SKIP,
) = range(len(_STATES))


def is_valid_name(name: str) -> bool:
    """Names of servers, tools and arguments: one line, no control characters, no `<` and `>`, 256 characters at most."""
    return len(name) <= NAME_LENGTH and not _NO_NAME.search(name)


_NO_NAME = re.compile("[<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
