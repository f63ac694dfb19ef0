"""One open block: the record of what was read of it so far, and the bookkeeping that all of its states share.

The states are functions that take the record: `elements` reads tags and what is between values, `values` a value,
`end_tags` decides which end tag ends a value, `cdata` reads sections, `delimited_values` values between delimiters, and
`json_states` JSON. `machine` knows them all and runs them. Each takes a text and the place to read on at, and returns
the place up to which it read; if the text does not decide what follows, the complement of that place, or -1 if nothing
was read. What was not read comes again, before the next chunk: never more than an end tag and the tag after it, or a
short value with its tag. White space and text whose meaning is open are read and put aside, so that nothing is read
twice.

While text streams in, only the structure is found and deltas are made. Values are made once, at the end, from the
block's source (see `finish`), so `Leaf` and `Container` hold places, not text.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final, NamedTuple

from xmltools.dialects import Body, Dialect, Pairs, plain, spellings
from xmltools.errors import Code, Repair
from xmltools.models.events import ArgumentDelta, Event
from xmltools.parser.decode_text import TextReader
from xmltools.parser.delimited_starts import begins_any
from xmltools.parser.delimiters import SPACE, known_delimiters
from xmltools.parser.json_deltas import JSONObject
from xmltools.parser.limits import Limits
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.element_tree import Element
from xmltools.syntax.embedded_markup import count_open
from xmltools.syntax.markup import (
    MORE,
    NAME_LENGTH,
    NO,
    Tag,
    find_ampersands,
    opens_call,
    read_name,
    read_start_tag,
    skip_space,
)
from xmltools.syntax.rope import Rope
from xmltools.tools.schema import ANY, Shape

_TAGS: Final = Body.TAGS
_CAPTURE_LENGTH: Final = 4 * NAME_LENGTH
_WINDOW: Final = 1 << 16
"""Characters that are kept of a block over a limit."""
_LOOK_AHEAD: Final = 2048
"""Characters that show whether an opener in a value is one."""
_LOOK_BACK: Final = 256
"""Characters that are kept in any case: what comes before a mark may decide what it is."""
Path = tuple[str | int, ...]

# Kinds of end tags that may end a leaf: its own, another element's, `</arguments>`, that of an element around it in the
# arguments.
OWN: Final = 0
OTHER: Final = 1
CALL: Final = 2
AROUND: Final = 3


class State:
    """The names of the states; `machine` has a function for each. Plain numbers: enum members are slow to look up."""

    BODY: Final = 0
    MARKUP: Final = 1
    STRAY: Final = 2
    STRAY_CDATA: Final = 3
    INSTRUCTION: Final = 4
    COMMENT: Final = 5
    LEAF_START: Final = 6
    TEXT: Final = 8
    CDATA: Final = 9
    CDATA_TAIL: Final = 10
    END_TAIL: Final = 11
    JSON: Final = 12
    JSON_END: Final = 13
    SKIP: Final = 14
    PAIRS_NAME: Final = 15
    PAIRS: Final = 16
    PAIR_VALUE: Final = 17
    PAIRS_END: Final = 18
    PAIRS_SKIP: Final = 19
    TOOL_TAG: Final = 20
    TOOL_TEXT: Final = 23


class Failure(NamedTuple):
    """Why a block gives no call, where in the stream that was seen, if there is such a place, and a hint, if the
    code's own does not do."""

    code: Code
    message: str
    place: int | None = None
    hint: str | None = None


class Candidate:
    """An end tag that may be the end of the open leaf. What follows it decides, and whether an example claims it: then
    reading went on at the place `after`, and there were so many `sections` and `repairs`."""

    after = -1
    sections = 0
    repairs = 0

    def __init__(self, kind: int, tag: Tag, place: int, section: int, between: str) -> None:
        self.kind = kind
        self.name = tag.name
        self.spaced = tag.spaced
        self.place = place
        self.section = section  # the place of the `]]>` that it follows, or -1
        self.between = between  # the text between the two


class Container:
    """An open element whose content is elements."""

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
        if element.children is None:
            element.children = []
        self.children = element.children


class Leaf:
    """An element whose content is a value: where that is, and what its end depends on."""

    __slots__ = (
        "attributes",
        "begun",
        "capture",
        "claims",
        "counted",
        "cut",
        "decided",
        "element",
        "end",
        "exact",
        "given",
        "lacks_mark",
        "literal",
        "mixed",
        "pasted",
        "path",
        "reader",
        "sections",
        "shape",
        "start",
        "tag",
    )

    def __init__(self, tag: str, element: Element, shape: Shape, start: int, path: Path | None = None) -> None:
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
        self.decided = shape.is_text or not shape.exact  # it is a leaf, whatever its text begins with
        self.cut = False  # ended by an end tag of something around it
        self.lacks_mark = False  # the mark, or tag, that begins the value is missing
        self.claims = 0  # examples in it that are open, as far as they were counted: up to `counted`
        self.counted = -1
        self.begun = 0  # end tags that may be meant as its own, but end elements in it
        self.sections = array("q")  # starts and ends of CDATA content, in turn
        self.reader: TextReader | None = None  # makes deltas
        self.attributes: list[tuple[str, str]] | None = None  # those that mean nothing, unless the element is empty
        self.given: str | None = None  # the value, where an attribute said it
        self.capture: str | None = None  # keeps the text of a field, whose value is needed at once

    def set_literal(self, place: int, *, pasted: bool) -> None:
        """From `place` on, entities in the leaf stay as written. `pasted`: a tag is there."""
        if self.literal < 0:
            self.literal = place
        self.pasted |= pasted
        if self.reader:
            self.reader.literal = True


class Source(Rope):
    """The text of a block as it was read, up to `end` in the stream; of one over a limit, no more than `kept`
    characters, which are still to be counted."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.end = start
        self.is_whole = True
        self.kept = 0


class Ending:
    """What decides where the open leaf ends: text whose meaning is open, put aside; the end of a CDATA section that is
    not confirmed, or -1, and the end tag that may be the leaf's; those that an example claims, which may turn out to be
    its end after all, and the reader that makes no deltas until then; the last two `]]>` of the text that is being
    read; and the leaves that an end tag around them has ended, with that.

    Between delimiters: how many `calls` have begun in the value, and not ended; and had so where each open block began.
    A block `claims` all ends until its first call begins, since its own is often left out. `begun`: where the last of
    these starts ended. `arguments` have begun and not ended: each is what its value ends with, in a tuple if
    it claims no end. And the place where the open call may be `over`, or -1."""

    candidate: Candidate
    held_reader: TextReader | None = None
    calls = 0
    claims = False
    begun = -1
    over = -1

    def __init__(self) -> None:
        self.aside = Rope()
        self.section = -1
        self.claimed: list[Candidate] = []
        self.last_ends: tuple[int, int] | None = None
        self.ended_around: dict[str, str] = {}
        self.blocks: list[int] = []
        self.arguments: list[str | tuple[str]] = []


NO_ENDING: Final = Ending()
"""Of blocks in which nothing is in doubt: all share it, so `own_ending` makes another one before something else is
written."""


class Reading:
    """What all calls of a reply share: what their parser was given; whether the reply has ended, so that nothing
    follows; its events, and decoded text that no event has yet. `on_name` is called once a tool is named, and may give
    the call its id. `is_unsure`: calls from here on may be a part of the value before them. `told`: how many characters
    of a value whose tag still waits have events, with `told_path`."""

    def __init__(
        self, limits: Limits, toolbox: Toolbox | None, on_name: Callable[[Block], None] | None, events: list[Event]
    ) -> None:
        self.limits = limits
        self.toolbox = toolbox
        self.on_name = on_name
        self.call_id: str | None = None
        self.final = False
        self.is_unsure = False
        self.events = events
        self.delta: list[str] = []
        self.told = 0
        self.told_path: Path = ()


class Block:
    """All that is known of one block. `done`: it has ended, with `repairs`, an `error`, and the tree of `arguments`."""

    __slots__ = (
        "again",
        "arguments_closed",
        "arguments_tag",
        "base",
        "body_start",
        "delimiters",
        "dialect",
        "discard",
        "done",
        "element_count",
        "ending",
        "error",
        "fenced",
        "fields",
        "in_list",
        "is_bare",
        "json",
        "leaf",
        "leaves",
        "lost",
        "name",
        "name_start",
        "nodes",
        "proposed",
        "raw",
        "reading",
        "repairs",
        "server",
        "spelling",
        "stack",
        "start",
        "state",
        "stray",
        "text",
        "too_deep",
    )

    def __init__(self, start: int, opener: int, dialect: Dialect, reading: Reading) -> None:
        """`start` is the block's place in the stream, `opener` the length of its opening tag."""
        # What it is given.
        self.start = start
        self.body_start = start + opener
        self.dialect = dialect
        self.delimiters = known_delimiters(dialect)
        self.reading = reading
        # How it ends.
        self.done = False
        self.again = False  # another call starts where this one ends
        self.error: Failure | None = None
        self.discard = False  # no call will come of it: find the end
        self.repairs: dict[tuple[Code, int], Repair] = {}  # by code, and by where the content of their element starts
        # Its source.
        self.raw = Source(start)
        # The call.
        self.spelling = dialect.block  # of the opener's name
        self.name: str | None = None
        self.name_start = -1  # where the content of the element starts that named the tool
        self.proposed: tuple[str, int, Element | None] | None = None  # a name in another place, and where
        self.server: str | None = None
        # The tree, and what is open in it.
        self.stack = [Container(dialect.block, Element(dialect.arguments), ANY, start, None)]
        self.leaf: Leaf | None = None
        self.leaves: list[Leaf] = []  # those that have ended
        self.nodes: list[tuple[Element, int, int]] = []  # those that ended while the schema was not known
        self.element_count = 0
        self.fields: set[str] = set()
        self.arguments_tag = dialect.arguments  # the tag that holds the arguments, or a word for it
        self.arguments_closed = False
        self.json: JSONObject | None = None
        self.in_list = False  # the body is one of a list of calls, whose end was not read
        # Reading.
        self.state: int = State.BODY
        if dialect.pairs:
            self.state = State.PAIRS_NAME
        elif self.is_tag:
            self.state = State.TOOL_TAG
        self.is_bare = opener == 0 and dialect.pairs is not None  # it has no start tag
        self.text = ""  # that is being read, …
        self.base = 0  # … and where it begins in the stream
        self.ending = NO_ENDING
        # What was met between elements and does not belong there.
        self.stray = -1  # where text began, once there was some
        self.lost = -1  # where text, or a tag with attributes, came that could have been arguments
        self.fenced = False  # a code fence was opened
        self.too_deep = 0  # open elements beyond the limit

    @property
    def pairs(self) -> Pairs:
        """The delimiters of a name and arguments, empty ones if the dialect has none."""
        return self.delimiters.pairs

    @property
    def final(self) -> bool:
        """Whether the reply has ended, so that nothing follows the text."""
        return self.reading.final

    @property
    def is_tag(self) -> bool:
        """Whether the element that is named as the tool holds the arguments."""
        return self.dialect.body is _TAGS

    @property
    def arguments(self) -> Element:
        """The tree of the arguments."""
        return self.stack[0].element

    @property
    def shape(self) -> Shape | None:
        """The shape of the tool's arguments, once it is known."""
        shape = self.stack[0].shape
        return None if shape is ANY else shape

    def note(self, code: Code, place: int, message: str, owner: int = -1) -> None:
        """Record a repair at `place` in the stream, once for each code and element.

        `owner` is where the content of that element starts; that of the innermost open one if it is not given.
        """
        key = (code, owner if owner >= 0 else self.stack[-1].start)
        if key not in self.repairs and not self.discard:
            self.repairs[key] = Repair(code, place, message)

    def add_repair(self, code: Code, place: int, message: str) -> None:
        """Record a repair, once for each code and place."""
        self.repairs[code, ~place] = Repair(code, place, message)

    def note_opener(self, code: Code, message: str) -> None:
        """Record a repair of the opening tag, or of the place of the block."""
        self.note(code, self.start, message, self.start)

    @property
    def in_reasoning(self) -> bool:
        """Whether it is in reasoning that was not closed before it."""
        return (Code.MISSING_END_TAG, self.start) in self.repairs

    @property
    def is_late(self) -> bool:
        """Whether it has no delimiter, and does not begin the reply: it counts only if nothing is wrong with it."""
        codes = Code.STRAY_TEXT, Code.CODE_FENCE
        return self.dialect.is_bare and any((code, self.start) in self.repairs for code in codes)

    def note_missing(self, end: str, place: int, owner: int) -> None:
        """Record that this end tag, or another delimiter, is not at `place`."""
        self.note(Code.MISSING_END_TAG, place, f"{end} is missing", owner)

    def note_space(self, tag: Tag, place: int) -> None:
        """Record white space before the name in a tag."""
        if tag.spaced:
            self.note(Code.TAG_WHITE_SPACE, place, f"white space before the name in <{tag.name}>", self.base + tag.end)

    def note_ignored(self, name: str, tag: str, place: int, owner: int) -> None:
        """Record that the attribute `name` of the tag means nothing."""
        self.note(Code.IGNORED_ATTRIBUTE, place, f"the attribute {name!r} of <{tag}> was skipped", owner)

    def note_ampersands(self, text: str, start: int, end: int, base: int, owner: int) -> None:
        """Record each & in `text[start:end]` that begins no entity of XML. The text begins at `base` in the stream."""
        bare, unknown = find_ampersands(text, start, end)
        if bare >= 0:
            self.note(Code.BARE_AMPERSAND, base + bare, "an & that begins no entity was kept", owner)
        if unknown >= 0:
            self.note(Code.UNKNOWN_ENTITY, base + unknown, "an entity that XML does not have was kept", owner)

    def forget_repairs(self, count: int) -> None:
        """Keep only the first repairs."""
        for key in list(self.repairs)[count:]:
            del self.repairs[key]

    def fail(self, code: Code, message: str, place: int, hint: str | None = None) -> None:
        """Note the first error. The block is read on to its end, and what was understood goes into the error."""
        if self.error is None:
            self.error = Failure(code, message, place, hint)

    def give_up(self, code: Code, message: str, place: int) -> None:
        """Fail, and understand nothing from here on. A block over a limit is not even kept as text."""
        self.flush_delta()
        self.fail(code, message, place)
        self.discard = True
        self.reading.told = 0
        if code is Code.LIMIT_EXCEEDED:
            self.raw.is_whole = False
            self._forget(is_large=len(self.raw) > 2 * _LOOK_AHEAD + _WINDOW)
        self.leaves.clear()
        self.nodes.clear()
        self.ending.aside.clear()
        self.ending.claimed.clear()
        self.ending.held_reader = None
        if leaf := self.leaf:
            leaf.path = leaf.reader = leaf.capture = None

    def end_early(self, place: int) -> None:
        """The block ends without its end tag, at `place` in the stream."""
        lacks_end = self.dialect.has_line and self.state != State.PAIRS_END
        mark = self.dialect.closer * self.dialect.has_end or self.pairs.end * lacks_end
        if self.in_list or mark:
            end = "the end of the list of calls" if self.in_list else mark
            self.note_missing(end, place, self.start)
        self.done = True

    def trim(self, size: int) -> None:
        """Keep of a block over a limit, of which `size` more characters were read, only what is still to be counted."""
        self.raw.kept += size
        if self.leaf is None or self.raw.kept > _WINDOW:
            self._forget()

    def _forget(self, *, is_large: bool = False) -> None:
        """Drop what is kept of a block over a limit, all but a little. `is_large`: of what is kept there is no second
        copy, in which examples could be counted."""
        leaf, raw = self.leaf, self.raw
        raw.kept = len(raw)
        if leaf is not None and leaf.exact and not is_large:
            end = raw.end - _LOOK_AHEAD
            if self.state in (State.CDATA_TAIL, State.END_TAIL):
                end = min(end, self.ending.section if self.ending.section >= 0 else self.ending.candidate.place)
            leaf.counted = max(leaf.counted, raw.end - raw.kept)
            if end > leaf.counted:
                self.count_examples(end, raw.end)
                raw.kept = raw.end - leaf.counted
        if leaf is None or not leaf.exact or raw.kept > 2 * _LOOK_AHEAD + _WINDOW:
            # After an end there is nothing but white space: no opener is in it.
            raw.kept = _LOOK_BACK
            if leaf:
                leaf.counted = max(leaf.counted, raw.end)
        text = raw.tail(raw.kept, 0)
        raw.clear()
        raw.append(text)

    def count_examples(self, place: int, last: int = 0) -> int:
        """How many examples are open in the leaf at `place`: sections inside of CDATA, blocks outside. A tag in which
        `place` is counts, if it is whole before `last`."""
        leaf = self.leaf
        if leaf is None or not (leaf.exact or self.raw.is_whole):
            return 0  # nothing of it is kept
        in_section = self.state in (State.CDATA, State.CDATA_TAIL) or self.ending.section >= 0
        start = leaf.counted if in_section else max(leaf.counted, leaf.literal)
        if start < place:
            text, base, stop = self.text, self.base, last or place
            if start < base:
                text, base = self.source_of(start, stop), start
            words = None if in_section else (self.dialect.block, self.arguments_tag)
            leaf.claims, counted = count_open(text, start - base, place - base, stop - base, leaf.claims, words)
            leaf.counted = base + counted
        return leaf.claims

    def source_of(self, start: int, end: int) -> str:
        """The text of the block from one place in the stream to another, as it was written."""
        raw, text, base = self.raw, self.text, self.base
        if start >= base:
            return text[start - base : end - base]
        more = text[raw.end - base : end - base] if end > raw.end else ""
        return raw.tail(raw.end - start, max(raw.end - end, 0), more)

    def put_aside(self, text: str) -> None:
        """Put consumed text aside whose meaning is open."""
        if not self.discard:
            self.own_ending().aside.append(text)

    def emit_text(self, raw: str) -> None:
        """Decode plain text of the leaf."""
        if self.leaf and raw and (reader := self.leaf.reader):
            is_direct = reader.idle and raw[-1] > " " and "&" not in raw
            self.emit(raw if is_direct else reader.text(raw))

    def emit_cdata(self, raw: str) -> None:
        """Take content of a CDATA section of the leaf."""
        if self.leaf and self.leaf.reader:
            self.emit(raw)

    def emit(self, text: str) -> None:
        """Decoded text of the leaf: it goes into the next delta, or is kept if it is a field's."""
        leaf, reading = self.leaf, self.reading
        if leaf and leaf.capture is not None:
            leaf.capture = (leaf.capture + text)[:_CAPTURE_LENGTH]
            return
        if reading.told:
            told = min(reading.told, len(text))
            reading.told -= told
            text = text[told:]
        if text:
            reading.delta.append(text)

    def flush_delta(self) -> None:
        """Make an event of the text that was decoded."""
        reading, leaf = self.reading, self.leaf
        if reading.delta:
            if leaf and leaf.path is not None:
                reading.events.append(ArgumentDelta.make(leaf.path, "".join(reading.delta)))
            reading.delta.clear()

    def depth_of(self, name: str) -> int:
        """The place of the nearest open container called `name` in the stack, or -1."""
        stack = self.stack
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth].tag == name:
                return depth
        return 0 if name == self.spelling else -1

    def close_element(self, name: str, place: int, leaf: Leaf | None = None) -> bool:
        """Close the nearest open container called `name` and all inside it, `leaf` too; False if there is none."""
        if leaf is None and self.stack[-1].tag == name:
            if len(self.stack) > 1:
                self.close_top(place)
            else:
                self.done = True
            return True
        depth = self.depth_of(name)
        if depth < 0:
            return False
        left_open: list[Container | Leaf] = [*self.stack[depth + 1 :], *filter(None, (leaf,))]
        if left_open:
            tags = ", ".join(f"<{each.tag}>" for each in left_open)
            self.note(Code.MISSING_END_TAG, place, f"</{name}> closed {tags}", left_open[-1].start)
        while len(self.stack) > max(depth, 1):
            self.close_top(place)
        if depth == 0:
            self.done = True
        return True

    def close_top(self, place: int) -> None:
        """The innermost open container ends at `place`."""
        container = self.stack.pop()
        if container.is_arguments:
            self.arguments_closed = len(self.stack) == 1
            self.done = self.is_tag
        elif self.stack[0].shape is ANY and not self.discard:
            self.nodes.append((container.element, container.start, place))

    def name_tool(self, name: str, place: int) -> None:
        """The tool is named, in the element whose content starts at `place`."""
        self.name = name
        self.name_start = place
        if self.reading.on_name:
            self.reading.on_name(self)

    def tool_named(self, name: str) -> str | None:
        """The name of the tool that `name` means, if there is one. Without given tools, any name is that of one."""
        toolbox = self.reading.toolbox
        return name if toolbox is None else toolbox.resolve(name, self.pairs.loose_name_pattern)

    def resolve_name(self) -> bool:
        """Make the name in a block that of the tool that it means; False if there is no such tool."""
        name = self.name or ""
        tool = self.tool_named(name)
        if tool and tool != name:
            place = max(self.name_start, self.start)
            self.note(Code.DECORATED_NAME, place, f"{name!r} was read as {tool!r}", self.start)
            self.name = tool
        return tool is not None

    def guess_shape(self) -> Shape | None:
        """The shape by which the arguments are read, as far as it is known before the block has ended."""
        toolbox = self.reading.toolbox
        return None if toolbox is None else toolbox.guess(self.name or "", self.server, self.dialect.default_server)

    def is_block(self, name: str) -> bool:
        """Is this the name of the block, in one of the spellings that its end tag may have?"""
        return name == self.dialect.block or name == self.spelling

    def is_number(self, tag: str) -> bool:
        """Is the tag a number, as some models number the items of a list?"""
        return tag.isdecimal() and self.is_tag

    def field_of(self, name: str) -> str | None:
        """The field that an element called `name` means, directly in the block; None for an argument."""
        dialect = self.dialect
        if name in (dialect.tool_name, dialect.arguments, dialect.server_name):
            return name
        if self.stack[0].shape.has_property(name):
            return None
        if name in dialect.arguments_words:
            return dialect.arguments
        return spellings(dialect).get(plain(name))

    def names_block(self, name: str) -> bool:
        """Is this the name of an element that may begin a call?"""
        toolbox = self.reading.toolbox if self.is_tag else None
        return name == self.dialect.block or (toolbox is not None and name in toolbox.names)

    def opens_block(self, at: int, name: str) -> bool | None:
        """Does a new block start at `at`, where `<name` is? That of another tool begins with one of its arguments."""
        text = self.text
        after = opens_call(text, at, name)
        if not after or name == self.dialect.block or self.reading.toolbox is None:
            return MORE if after is MORE else bool(after)
        tag = read_start_tag(text, skip_space(text, after))
        shape = self.reading.toolbox.guess(name, None, self.dialect.default_server)
        return MORE if tag is MORE else bool(tag and shape and shape.has_property(tag.name))

    def begins_block(self, at: int) -> bool | None:
        """Does a new block start at the `<` at `at`, whatever its name is?"""
        name = read_name(self.text, at + 1)
        return self.names_block(name) and self.opens_block(at, name) if isinstance(name, str) else name

    def meet_opener(self, place: int) -> None:
        """A new block starts inside this one: its end tag was forgotten."""
        if not self.arguments_closed:
            self.fail(Code.MALFORMED_MARKUP, f"a new <{self.dialect.block}> starts before this one has ended", place)
        self.end_early(place)

    def own_ending(self) -> Ending:
        """The record of the leaf's end, to be written."""
        if self.ending is NO_ENDING:
            self.ending = Ending()
        return self.ending


_AFTER: Final = "fillers name closer"
_ENDS: Final = {State.STRAY_CDATA: "]]>", State.INSTRUCTION: "?>", State.COMMENT: "-->"}


def read_skipped(block: Block, text: str, at: int) -> int:
    """State: in a comment, an instruction or a section that means nothing. It goes on after its end. What an element
    begins with may still be part of its text."""
    mark = _ENDS[block.state]
    place = text.find(mark, at)
    end = place + len(mark)
    if place < 0:
        place = end = len(text) - next(size for size in (2, 1, 0) if text.endswith(mark[:size]))
    else:
        block.state = State.MARKUP if block.leaf is None else State.LEAF_START
    if mark == "-->" and (dashes := text.find("--", at, place + 1)) >= 0:
        block.note(Code.COMMENT_SYNTAX, block.base + dashes, "-- in a comment")
    if end <= at:
        return -1
    if block.leaf:
        block.put_aside(text[at:end])
    return end


def skip_broken(block: Block, text: str, at: int) -> int:
    """State: in a call of another dialect than Forge's that can't be read. It goes on to its end delimiter, to the next
    call, or, without an end delimiter, to the end of the turn; in open reasoning, no further than to the end of that.
    Arguments on the way are read: examples in them are not the next call."""
    dialect, own = block.dialect, block.delimiters
    if block.is_late:
        block.done = True
        return at
    ends_itself = block.is_bare or not dialect.has_end
    fields = f"closer{' end' * (ends_itself or dialect.many)}{' turn_ends' * (not dialect.has_end)}"
    fields += " thought_ends" * block.in_reasoning
    if not dialect.is_bare:
        fields += f" any_opener any_name key{' name' * own.pairs.bare}"
    found = own.find(text, at, fields)
    field, start, end = found.lastgroup, found.start(), found.end()
    is_over: bool | None = True
    if field in ("name", "any_name", "any_opener"):
        is_over = dialect.is_sure or begins_any(own.forms, text, start, found[field])
    elif field == "end" and not ends_itself:
        # Another call in the same section, or the end of that, shows that this is the end.
        after = own.look(text, end, _AFTER, SPACE)
        while after and after.lastgroup == "fillers":
            after = own.look(text, after.end(), _AFTER, SPACE)
        if after and after.lastgroup == "name":
            block.again = block.done = True
            return after.end(1)
        is_over = after and NO
    if field == "cut" or (is_over is MORE and not block.final):
        return ~start
    if not is_over:  # it is only skipped
        return end
    if field == "key":
        block.state = State.PAIRS
        return start
    block.again = field == "name" and dialect.many and not block.is_bare
    block.done = True
    return end if field in ("closer", "end") else start
