"""The ground of an open block: what it has read so far, and the bookkeeping that all its states share."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xmltools.errors import Code, Repair
from xmltools.models.events import ArgumentDelta, Event
from xmltools.parser.leaf_text import TextReader
from xmltools.parser.limits import Limits
from xmltools.syntax.elements import Element
from xmltools.syntax.markup import NAME_LENGTH, Tag, find_ampersands
from xmltools.syntax.rope import Rope
from xmltools.tools.schema import ANY, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from xmltools.dialects import Dialect
    from xmltools.parser.json_end import ObjectScanner

__all__ = ["CALL", "OTHER", "OWN", "WINDOW", "Container", "End", "Failure", "Frame", "Leaf", "Path", "State", "cut_off"]

CAPTURE_LENGTH: Final = 4 * NAME_LENGTH
WINDOW: Final = 1 << 16
"""Characters that are kept of a block over a limit."""
_NO_SECTIONS: Final[array[int]] = array("q")  # of all leaves without CDATA; nothing is ever added to it
Path = tuple[str | int, ...]

# Kinds of end tags that may end a leaf: its own, another element's, `</arguments>`.
OWN: Final = 0
OTHER: Final = 1
CALL: Final = 2


class State:
    """The states of a block; `Block` has a method for each. Plain numbers: enum members are slow to look up."""

    BODY: Final = 0
    MARKUP: Final = 1
    STRAY: Final = 2
    STRAY_CDATA: Final = 3
    INSTRUCTION: Final = 4
    COMMENT: Final = 5
    LEAF_START: Final = 6
    LEAF_COMMENT: Final = 7
    TEXT: Final = 8
    CDATA: Final = 9
    CDATA_TAIL: Final = 10
    END_TAIL: Final = 11
    JSON: Final = 12
    JSON_END: Final = 13
    SKIP: Final = 14


class Failure(NamedTuple):
    """Why a block gives no call, where in the stream that was seen, if there is such a place, and a hint, if the
    code's own does not do."""

    code: Code
    message: str
    place: int | None = None
    hint: str | None = None


def cut_off(place: int) -> Failure:
    """The failure of a block in which the reply ends, at `place`."""
    return Failure(Code.TRUNCATED, "the reply ended inside the block", place)


class End(NamedTuple):
    """An end of a leaf that an example in it claims: `place` is that of the end tag, `after` the place after it."""

    kind: int
    spaced: bool
    place: int
    after: int
    section: int
    between: str
    sections: int
    repairs: int


class Container:
    """An open element whose content is elements."""

    __slots__ = (
        "counts",
        "element",
        "first_leaf",
        "first_repair",
        "is_arguments",
        "loose",
        "path",
        "shape",
        "start",
        "tag",
    )

    def __init__(self, tag: str, element: Element, shape: Shape, start: int, path: Path | None) -> None:
        self.tag = tag
        self.element = element
        self.shape = shape
        self.start = start
        self.path = path
        self.counts: dict[str, int] = {}
        self.is_arguments = False
        self.loose = False  # a node without a schema, or one that may be text: text beside its elements makes it a leaf
        self.first_leaf = 0
        self.first_repair = 0
        element.children = element.children or []


class Leaf:
    """An element whose content is a value: where that stands, and how its end is told."""

    __slots__ = (
        "attributes",
        "capture",
        "claims",
        "counted",
        "cut",
        "decided",
        "element",
        "end",
        "exact",
        "given",
        "literal",
        "mixed",
        "pasted",
        "path",
        "reader",
        "sections",
        "shape",
        "start",
        "tag",
        "whole",
    )

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
        self.claims = 0  # examples in it that are open, as far as they were counted: up to `counted`
        self.counted = -1
        self.whole: str | None = None
        self.sections = _NO_SECTIONS  # starts and ends of CDATA content, in turn
        self.reader: TextReader | None = None  # makes deltas
        self.attributes: list[tuple[str, str]] | None = None  # those that mean nothing, unless the element is empty
        self.given: str | None = None  # the value, where an attribute said it
        self.capture: str | None = None  # keeps the text of a field, whose value is needed at once


class Frame:
    """The state of one block. `done` says that it has ended; `repairs`, `error` and the tree say how."""

    __slots__ = (
        "_after_comment",
        "_arguments",
        "_base",
        "_between",
        "_body_start",
        "_claimed",
        "_delta",
        "_elements",
        "_fenced",
        "_fields",
        "_held_reader",
        "_kept",
        "_last_ends",
        "_noted",
        "_on_name",
        "_scanner",
        "_section",
        "_stack",
        "_state",
        "_stray_start",
        "_stray_text",
        "_tail",
        "_tail_kind",
        "_tail_spaced",
        "_tail_start",
        "_text_read",
        "_too_deep",
        "again",
        "arguments",
        "arguments_closed",
        "call_id",
        "deltas",
        "dialect",
        "discard",
        "done",
        "early",
        "error",
        "events",
        "extra_brace",
        "final",
        "json",
        "json_arguments",
        "keeps_source",
        "knows_tool",
        "lacks_brace",
        "leaf",
        "leaves",
        "limits",
        "lost",
        "name",
        "name_start",
        "nodes",
        "proposed",
        "raw",
        "raw_end",
        "repairs",
        "server",
        "shape",
        "spelling",
        "start",
        "unsure",
    )

    def __init__(
        self,
        start: int,
        opener: int,
        dialect: Dialect,
        limits: Limits,
        on_name: Callable[[Any], None],
        knows_tool: Callable[[str], bool],
    ) -> None:
        """`start` is the block's place in the stream, `opener` the length of its opening tag."""
        self.start = start
        self._body_start = start + opener
        self.dialect = dialect
        self.limits = limits
        self.done = False
        self.raw = Rope()
        self.raw_end = start  # where in the stream that ends
        self._kept = 0  # characters in `raw`, once they are no longer all kept
        self.repairs: list[Repair] = []
        self.leaves: list[Leaf] = []
        self.nodes: list[tuple[Element, int, int]] = []
        self.error: Failure | None = None
        self.discard = False  # no call will come of it: find the end
        self.keeps_source = True
        self.name: str | None = None
        self.proposed: tuple[str, int, Element | None] | None = None  # a name that stands elsewhere, and where
        self.again = False  # another call starts where this one ends
        self.final = False  # the reply has ended: nothing follows
        self.name_start = -1  # where the content of the element stands that named the tool
        self.server: str | None = None
        self.spelling = dialect.block  # of the opener's name
        self.call_id: str | None = None
        self.deltas = False  # the call has been announced, and its arguments are told as they come
        self.shape: Shape | None = None
        self._fields: set[str] = set()
        self.arguments_closed = False
        self.unsure = False  # the reply ends behind JSON: if that is not whole the reply was cut off
        self.early = False  # arguments were read before the tool was known
        self.json: tuple[int, int] | None = None
        self.json_arguments: tuple[int, int] | Element | None = None
        self.lacks_brace = False  # the JSON body was ended by </tool>, and its own brace was not there
        self.extra_brace = False  # there was one brace too many after the JSON object
        self.events: list[Event] = []
        self.leaf: Leaf | None = None
        self.arguments = Element(dialect.arguments)
        self._on_name = on_name
        self.knows_tool = knows_tool
        self._state: int = State.BODY
        self._base = 0
        self._stack = [Container(dialect.block, self.arguments, ANY, start, None)]
        self._noted: set[tuple[Code, int]] = set()
        self._elements = 0
        self._arguments = dialect.arguments  # the tag that holds the arguments, or a word for it
        self._fenced = False  # a code fence was opened between elements
        self.lost = -1  # where text stood that could have been arguments
        self._too_deep = 0
        self._after_comment: int = State.MARKUP
        self._delta: list[str] = []
        self._tail = Rope()
        self._tail_kind = OWN
        self._tail_spaced = False
        self._tail_start = 0
        self._claimed: list[End] = []  # ends of the open leaf that may turn out to be its end after all
        self._held_reader: TextReader | None = None  # … the reader that is kept from making deltas until then
        self._text_read = ""  # the text that is being read; it begins at `_base`
        self._between = ""
        self._last_ends: tuple[int, int] | None = None  # of the text that is being read
        self._section = -1  # end of a CDATA section that is not confirmed
        self._stray_start = -1
        self._stray_text = ""
        self._scanner: ObjectScanner | None = None

    @property
    def in_cdata(self) -> bool:
        """True inside CDATA of a leaf: text without `]` goes straight through."""
        return self._state == State.CDATA

    @property
    def in_text(self) -> bool:
        """True inside plain text of a leaf."""
        return self._state == State.TEXT

    @property
    def open_elements(self) -> list[Element]:
        """The elements that have not ended."""
        leaf = [self.leaf.element] if self.leaf is not None else []
        return [container.element for container in self._stack[1:]] + leaf

    def note_opener(self, code: Code, message: str) -> None:
        """Record a repair of the opening tag, or of where the block stands."""
        self.note(code, self.start, message, self.start)

    def note(self, code: Code, place: int, message: str, owner: int = -1) -> None:
        """Record a repair at `place` in the stream, once for each code and element.

        `owner` is where the content of that element starts; that of the innermost open one if it is not given.
        """
        key = (code, owner if owner >= 0 else self._top.start)
        if key not in self._noted and not self.discard:
            self._noted.add(key)
            self.repairs.append(Repair(code, place, message))

    def _ignore(self, name: str, tag: Tag, place: int) -> None:
        message = f"the attribute {name!r} of <{tag.name}> was skipped"
        self.note(Code.IGNORED_ATTRIBUTE, place, message, self._base + tag.end)

    def note_ampersands(self, text: str, start: int, end: int, base: int, owner: int) -> None:
        """Record what is no entity in `text[start:end]`, whose first character stands at `base` in the stream."""
        bare, unknown = find_ampersands(text, start, end)
        if bare >= 0:
            self.note(Code.BARE_AMPERSAND, base + bare, "an & that begins no entity was kept", owner)
        if unknown >= 0:
            self.note(Code.UNKNOWN_ENTITY, base + unknown, "an entity that XML does not have was kept", owner)

    def fail(self, code: Code, message: str, place: int, hint: str | None = None) -> None:
        """Note the first error. The block is read on to its end, and what was understood goes into the error."""
        if self.error is None:
            self.error = Failure(code, message, place, hint)

    def give_up(self, code: Code, message: str, place: int) -> None:
        """Fail, and understand nothing from here on. A block over a limit is not even kept as text."""
        self._flush_delta()
        self.fail(code, message, place)
        self.discard = True
        if code is Code.LIMIT_EXCEEDED:
            self.keeps_source = False
            self._kept = self._forget(at_limit=True)
        self.leaves.clear()
        self.nodes.clear()
        self._tail.clear()
        self._claimed.clear()
        self._held_reader = None
        if self.leaf is not None:
            self.leaf.path = self.leaf.reader = self.leaf.capture = None

    def trim(self, size: int) -> None:
        """Keep of a block over a limit, of which `size` more characters were read, only what is still to be counted."""
        self._kept += size
        if self.leaf is None or self._kept > WINDOW:
            self._kept = self._forget()

    def _forget(self, *, at_limit: bool = False) -> int:
        """Drop what is kept of a block over a limit, all but a little; returns how much that is. `at_limit`: the block
        has just come to it."""
        self.raw.clear()
        return 0

    def end_early(self, place: int) -> None:
        """The block ends without its end tag, at `place` in the stream."""
        self.note(Code.MISSING_END_TAG, place, f"</{self.dialect.block}> is missing", self.start)
        self.done = True

    @property
    def _top(self) -> Container:
        return self._stack[-1]

    def _content(self, start: int, end: int) -> str:
        """The text of the block from one place in the stream to another, as it was written."""
        if start >= self._base:
            return self._text_read[start - self._base : end - self._base]
        more = self._text_read[self.raw_end - self._base : end - self._base] if end > self.raw_end else ""
        return self.raw.tail(self.raw_end - start, max(self.raw_end - end, 0), more)

    def _flush_delta(self) -> None:
        if self._delta and self.leaf is not None and self.leaf.path is not None:
            self.events.append(ArgumentDelta.make(self.leaf.path, "".join(self._delta)))
        self._delta.clear()

    def _keep(self, text: str) -> None:
        """Put consumed text aside whose meaning is open."""
        if not self.discard:
            self._tail.append(text)

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

    def _depth_of(self, name: str) -> int:
        """The place of the nearest open container called `name` in the stack, or -1."""
        for depth in range(len(self._stack) - 1, -1, -1):
            if self._stack[depth].tag == name:
                return depth
        return 0 if name == self.spelling else -1

    def _is_block(self, name: str) -> bool:
        """Is this the name of the block, in one of the spellings that its end tag may have?"""
        return name == self.dialect.block or name == self.spelling

    def _close(self, name: str, place: int, leaf: Leaf | None = None) -> bool:
        """Close the nearest open container called `name` and all inside it, `leaf` too; False if there is none."""
        depth = self._depth_of(name)
        if depth < 0:
            return False
        left_open = [container.tag for container in self._stack[depth + 1 :]]
        left_open += [leaf.tag] if leaf is not None else []
        if left_open:
            tags = ", ".join(f"<{tag}>" for tag in left_open)
            self.note(Code.MISSING_END_TAG, place, f"</{name}> closed {tags}", (leaf or self._top).start)
        while len(self._stack) > max(depth, 1):
            self._pop(place)
        if depth == 0:
            self.done = True
        return True

    def _pop(self, place: int) -> None:
        container = self._stack.pop()
        if container.is_arguments:
            self.arguments_closed = len(self._stack) == 1
        elif self.early and not self.discard:
            self.nodes.append((container.element, container.start, place))

    def _spaced(self, tag: Tag, place: int) -> None:
        if tag.spaced:
            self.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in <{tag.name}>", self._base + tag.end)

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
            self.note(Code.COMMENT_SYNTAX, self._base + dashes, "-- in a comment")
        return end
