"""Ordinary calls, read the short way: `<tool>`, names, arguments that are plain by their schema, `</tool>`, and nothing
that a rule of repair is about.

Nearly all calls are like that. This module knows when a text is, never what a rule means: where it meets anything else
it says so (`LOST`), and the machine reads the call from its start and goes on at the same place (`Parser`). These
hold, and are tried by `tests/parser/test_ordinary_calls.py` and by the fuzzer:

- What was read up to any place gave the events that the machine gives for it, in the same chunks. What may still become
  something else was not read, and comes again with the next text.
- A call that ends here is the call that the machine makes of the same text: without a repair, and valid.
- Tags are simple: without attributes, without white space, ended in the order in which they began. Fields come once,
  and first. Arguments are declared, and come once; without tools they have any name, and are strings.
- Values are text without `<`, `&` and `]]>`; or one CDATA section without another in it. Large pieces are left alone.
- Models lay out most calls of a tool alike. What came between two values before (`Step`) is looked for first; a text
  reads the same whatever came before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from xmltools.dialects import Body, Dialect
from xmltools.models import ToolCall
from xmltools.models.events import ArgumentDelta, CallStarted, Event
from xmltools.parser.decode_text import TextReader
from xmltools.parser.limits import Limits
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.markup import CDATA_OPEN, SPACES, find_forbidden
from xmltools.syntax.rope import Rope
from xmltools.tools.schema import UNUSUAL, ArrayShape, ObjectShape, PlainMember, PlainMembers, plain_members

_NAME: Final = "[A-Za-z_][-.0-9A-Za-z_]{0,100}"
TAG = re.compile(rf"[ \t\r\n]*<(/?)({_NAME})>")
"""A tag after white space."""
_TAG_PART = re.compile(rf"[ \t\r\n]*(?:</?(?:{_NAME})?)?")
"""What the end of a text may cut off of one."""
_LEAF = re.compile(rf"[ \t\r\n]*<({_NAME})>([^<&\n]{{1,4096}}+)</\1>(?=[ \t\r\n]*</?{_NAME}>)")
"""A whole leaf, before another tag."""
_LEAST_LEAF: Final = len("<a>123</a>\n</b>")
"""In shorter texts hardly ever is one, so they are not searched."""
_SECTION = re.compile(rf"[ \t\r\n]*<({_NAME})><!\[CDATA\[")
"""A leaf that begins with a CDATA section."""
_LEAST_SECTION: Final = len("<a><![CDATA[]]></a><b>")
_STRING: Final = PlainMember(None, (str,), exact=True)
MOST_SPACE: Final = 256
"""Characters of white space that may stand between the opener and what follows it."""
_MOST_HELD: Final = 300
"""Characters that may wait for the end of a tag, or of a field."""
_MOST_STEPS: Final = 4
"""Steps that are kept for a leaf."""
_DEPTH: Final = 8
"""Containers that may be open. The machine reads calls that nest deeper, and all of them where limits are narrower."""
LEAST_LIMITS: Final = Limits(block_size=4_096, depth=_DEPTH + 1)
_LONG: Final = 4_096
_BIG: Final = 16_384
"""A value that comes in larger pieces is left to the machine: what it takes is not the time for its tags."""
Read = Callable[[str], Any]

# What is read next: a tag, or, from `TEXT` on, a value.
FIELD: Final = 0
ARGUMENTS: Final = 1
TAGS: Final = 2
END: Final = 3
TEXT: Final = 4
CDATA: Final = 5

# What came of what was read.
GOES_ON: Final = 0
WAITS: Final = 1  # what was not read may become something else
DONE: Final = 2
LOST: Final = 3  # it is not ordinary


class Words(NamedTuple):
    """How a dialect spells ordinary calls: its opener and end tag, the elements in it, and patterns of all up to the
    name, of all from there up to the arguments, of all after them, of a field, which names server or tool, and of what
    the end of a text may cut off of one; and the start tags of fields. `lead` holds what came last from the opener to a
    name."""

    opener: str
    close: str
    block: str
    arguments: str
    server_name: str
    start: re.Pattern[str]
    head: re.Pattern[str]
    tail: re.Pattern[str]
    field: re.Pattern[str]
    field_part: re.Pattern[str]
    field_tags: tuple[str, str]
    lead: list[str]


@lru_cache(maxsize=16)
def words_of(dialect: Dialect) -> Words | None:
    """Return how a dialect spells ordinary calls; None if its calls are of another kind."""
    if dialect.body is not Body.ELEMENTS:
        return None
    space, server, tool = r"[ \t\r\n]*", re.escape(dialect.server_name), re.escape(dialect.tool_name)
    start = f"{re.escape(dialect.opener)}{space}(?:<{server}>({_NAME})</{server}>{space})?<{tool}>({_NAME})</{tool}>"
    field = f"(?P<field>{tool}|{server})>"
    part = rf"<(?:[a-z_]*|{field}(?:{_NAME}(?:<(?:/[a-z_]*)?)?)?)"
    return Words(
        dialect.opener,
        f"</{dialect.block}>",
        dialect.block,
        dialect.arguments,
        dialect.server_name,
        re.compile(start),
        re.compile(f"{space}<{re.escape(dialect.arguments)}>"),
        re.compile(f"{space}</{re.escape(dialect.arguments)}>{space}</{re.escape(dialect.block)}>"),
        re.compile(f"{space}<{field}({_NAME})</(?P=field)>"),
        re.compile(rf"{space}(?:{part})?\Z"),
        (f"<{dialect.tool_name}>", f"<{dialect.server_name}>"),
        [f"{dialect.opener}<{dialect.tool_name}>"],
    )


class Step(NamedTuple):
    """What stood between two values: `text`, from the end tag of a leaf up to the start tag of `name`, the next one,
    which is read as `member`; or up to the end of the call, where there is no name. Steps that outlive a call are of
    declared names: else they hold nothing but white space."""

    text: str
    name: str
    member: PlainMember


class _Container:
    """An open element with elements in it, and the value that it becomes: an object, or a list. `steps`: what has come
    after each of its leaves, and before the first one, the last time first."""

    __slots__ = ("is_list", "known", "members", "path", "shape", "steps", "tag", "value")

    def __init__(
        self,
        tag: str,
        members: PlainMembers | None,
        shape: ObjectShape | ArrayShape | None,
        path: tuple[str | int, ...],
        value: Any,
    ) -> None:
        self.tag = tag
        self.members = members
        self.shape = shape
        self.path = path
        self.value = value
        self.is_list = members is not None and members.is_list
        self.known: dict[str, PlainMember | None] = {}
        self.steps: dict[str, tuple[Step, ...]] = {}
        if members is not None and not self.is_list:
            self.known = members.known
            self.steps = members.steps

    def find(self, name: str) -> PlainMember | None:
        """Return how the element `name` is read in here; None if it is not ordinary, or is there already."""
        if not self.is_list and name in self.value:
            return None
        found = self.known.get(name)
        if found is not None:
            return found
        if self.members is None or self.shape is None:
            return None if name == self.tag else _STRING
        found = self.members.find(self.shape, name, self.tag)
        if self.is_list and found is not None:
            self.known[name] = found  # items have few names
        return found

    def add(self, key: str | int, value: Any) -> None:
        """Take a value."""
        if self.is_list:
            self.value.append(value)
        else:
            self.value[key] = value


class Ordinary:
    """An open call, as long as it is ordinary, with the containers that are open, the innermost last, and the leaf.
    When it has ended, the next one may be opened in its place.

    `next` says what is read next. `raw` is what was read of its source up to `raw_end` in the stream, `pieces` what was
    read after that.
    """

    __slots__ = (
        "announce",
        "arguments",
        "call_id",
        "close",
        "containers",
        "count",
        "exact",
        "found_on",
        "gap",
        "has_deltas",
        "key",
        "last_ends",
        "leaf_piece",
        "leaf_start",
        "limit",
        "members",
        "most",
        "name",
        "narrow",
        "next",
        "outcome",
        "path",
        "pieces",
        "raw",
        "raw_end",
        "read",
        "reader",
        "server",
        "shape",
        "size",
        "start",
        "step",
        "steps",
        "tag",
        "words",
    )

    def __init__(
        self,
        words: Words,
        limits: Limits,
        announce: Callable[[Ordinary], bool],
        pieces: list[str],
        last_ends: list[int],
    ) -> None:
        """`announce` is called once the tool is named. It gives the call its id, server and shape, or returns False.
        `last_ends`: where the last two ends of sections in the text are, if they were looked for."""
        self.words = words
        self.announce = announce
        self.pieces = pieces
        self.last_ends = last_ends
        self.size = limits.block_size
        self.most = limits.elements
        self.outcome: int = GOES_ON
        self.raw = Rope()
        self.raw_end = self.start = 0
        # The call.
        self.name = ""
        self.found_on = ""
        self.shape: ObjectShape | None = None
        self.members: PlainMembers | None = None
        self.has_deltas = False
        # The open leaf.
        self.close = ""  # its end tag
        self.key: str | int = ""
        self.read: Read | None = None  # None for a string
        self.exact = True  # it may be one: its end tag counts only if a tag follows
        self.path: tuple[str | int, ...] = ()
        self.clear()

    def clear(self) -> None:
        """The call has ended, and may be large: let go of it."""
        if self.raw_end > self.start:
            self.raw = Rope()
        self.arguments: dict[str, Any] = {}
        self.containers: list[_Container] = []
        self.narrow: list[_Container] = []  # those of which not every one is valid

    def open(self, start: int) -> None:
        """A call opens at this place in the stream, the first one or the next one: before it, nothing is asked."""
        self.start = self.raw_end = start
        self.limit = start + self.size  # where it must have ended
        self.count = 3  # elements, with those around the arguments
        self.next: int = FIELD
        self.server: str | None = None  # as it was named
        self.call_id: str | None = None
        self.tag = ""
        self.leaf_start = start
        self.leaf_piece = -1  # the first piece of its value; -1 if that was put by
        self.reader: TextReader | None = None  # makes deltas, where text may not stay as it is
        self.steps: tuple[Step, ...] = ()  # what may follow the leaf, or the name of the tool …
        self.step: Step | None = None  # … and that of them which is looked for
        self.gap = ""  # what has followed; empty if that will be no step

    @property
    def expected(self) -> str:
        """What probably ends the open leaf: its end tag, and what came last after that, if text stays as it is."""
        return self.close if self.step is None or self.reader is not None else self.step.text

    def expect(self, steps: tuple[Step, ...]) -> None:
        """One of these steps may come next."""
        self.steps = steps
        self.step = steps[0] if steps else None


def read_ordinary(call: Ordinary, text: str, base: int, events: list[Event], at: int = 0) -> int:
    """Read on in `text`, whose first character is at `base` in the stream, and add to the events. Returns the place up
    to which it was read; then `call.outcome` says whether the call ends there, or is not ordinary.
    """
    call.outcome = GOES_ON
    size = len(text)
    while at < size:
        at = _STATES[call.next](call, text, at, base, events)
        if call.outcome:
            break
    return at


def begin(call: Ordinary, text: str, at: int, events: list[Event]) -> int:
    """At the opener of a call. Returns the place after it, or after the name of the tool, if the text has that."""
    words = call.words
    found = words.start.match(text, at)
    if found is None:
        return at + len(words.opener)
    call.server, call.name = found.groups()
    if _name_tool(call, events):
        return found.end()
    call.server = None
    return at + len(words.opener)


def find_tool(call: Ordinary, toolbox: Toolbox | None, default: str) -> bool:
    """Find the tool of a call that has named it, on the server that is named or meant. False, if that is not the name
    of one as it is."""
    if toolbox is None:
        call.found_on = call.server or default
        return True
    found = toolbox.find_plain(call.name, call.server, default)
    if found is None:
        return False
    call.found_on, call.shape = found
    return True


def ordinary_call(
    id: str,
    name: str,
    arguments: dict[str, Any],
    server: str,
    span: tuple[int, int],
    dialect: Dialect,
    *,
    legacy_json: bool = False,
) -> ToolCall:
    """Return a call that needed no repair."""
    return ToolCall.unchecked(
        id=id,
        name=name,
        arguments=arguments,
        server=server,
        repairs=(),
        legacy_json=legacy_json,
        dialect=dialect.name,
        span=span,
    )


def has_all(call: Ordinary) -> bool:
    """Return whether the call has all that its schema requires, and fits what that says of objects and lists."""
    for container in call.narrow:
        if container.members is not None and not container.members.hold(container.value):
            return False
    return True


def goes_on(call: Ordinary, held: str) -> bool:
    """Return whether `held`, which may end the open leaf, may still do so and does not yet."""
    close = call.close if call.next == TEXT else f"]]>{call.close}"
    if len(held) < len(close):
        return close.startswith(held)
    if not call.exact or not held.startswith(close):
        return False
    part = _TAG_PART.match(held, len(close))
    return part is not None and part.end() == len(held) < _MOST_HELD


def field_goes_on(words: Words, text: str) -> str | None:
    """Return what a text, with which a field begins, becomes up to the end of its next tag: one that it has begun, or
    else most likely follows. Empty if it ends in the name; None if there is no such text that is longer."""
    lead = text.lstrip(SPACES)
    space = len(text) - len(lead)
    for tag in words.field_tags:
        if lead.startswith(tag):
            place = text.find("<", space + 1)
            close = f"</{tag[1:]}"
            if place < 0:
                return ""
            return text[:place] + close if close != text[place:] and close.startswith(text[place:]) else None
        if tag.startswith(lead):
            return text[:space] + tag
    return None


def _lose(call: Ordinary, at: int) -> int:
    call.outcome = LOST
    return at


def _wait(call: Ordinary, text: str, at: int, tag: int) -> int:
    """There is no tag at `tag`, where one belongs. If the text ends in what may become one, nothing is read from `at`
    on until there is more."""
    part = _TAG_PART.match(text, tag)
    waits = part is not None and part.end() == len(text) and len(text) - at < _MOST_HELD
    call.outcome = WAITS if waits else LOST
    return at


def _read_field(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: before the name of the tool, and perhaps that of its server."""
    words = call.words
    found = words.field.match(text, at)
    if found is None:
        waits = len(text) - at < _MOST_HELD and words.field_part.match(text, at) is not None
        call.outcome = WAITS if waits else LOST
        return at
    field, name = found.groups()
    if call.server is None and found.start(2) - at < _MOST_HELD:
        words.lead[0] = words.opener + text[at : found.start(2)]
    if field == words.server_name:
        if call.server is not None:
            return _lose(call, at)
        call.server = name
        return found.end()
    call.name = name
    return found.end() if _name_tool(call, events) else _lose(call, at)


def _name_tool(call: Ordinary, events: list[Event]) -> bool:
    """The call has named its tool. False, if it is not ordinary."""
    if not call.announce(call):
        return False
    events.append(CallStarted(call.call_id or "", call.name, call.server))
    call.next = ARGUMENTS
    call.members = members = plain_members(call.shape) if call.shape is not None else None
    call.expect(members.steps.get("", ()) if members is not None else ())
    return True


def _read_arguments(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: before the start tag of the arguments."""
    step = find_step(call.steps, text, at)
    if step is not None and call.count < call.most:
        after = _open_arguments(call, at + len(step.text))
        if not step.name:
            call.outcome = DONE
            return after
        call.count += 1
        return _open_leaf(call, call.containers[-1], step.name, step.member, text, after, base, events)
    if choose_step(call, text, at):
        call.outcome = WAITS
        return at
    found = TAG.match(text, at)
    if found is None:
        return _wait(call, text, at, at)
    if found[1] or found[2] != call.words.arguments:
        return _lose(call, at)
    call.gap = found[0]
    return _open_arguments(call, found.end())


def _open_arguments(call: Ordinary, after: int) -> int:
    """The arguments begin, after their start tag. If their schema is not plain, the call is not ordinary."""
    members = call.members
    if members is None and call.shape is not None:
        return _lose(call, after)
    _open_container(call, _Container(call.words.arguments, members, call.shape, (), call.arguments))
    call.next = TAGS
    return after


def _open_container(call: Ordinary, container: _Container) -> None:
    call.containers.append(container)
    if container.members is not None and container.members.is_narrow:
        call.narrow.append(container)


def _read_end(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: after the arguments."""
    found = TAG.match(text, at)
    if found is None:
        return _wait(call, text, at, at)
    if not found[1] or found[2] != call.words.block:
        return _lose(call, at)
    call.outcome = DONE
    _learn(call, call.containers[0], found[0])
    return found.end()


def _learn(call: Ordinary, top: _Container, text: str, name: str = "", member: PlainMember = _STRING) -> None:
    """A tag has come after a leaf, or before the first one."""
    if call.gap:
        learn_step(top.steps, call.tag, call.gap + text, name, member)


def learn_step(
    steps: dict[str, tuple[Step, ...]], tag: str, text: str, name: str = "", member: PlainMember = _STRING
) -> None:
    """After the leaf `tag`, or before the first one, this has come: the next call probably has the same there."""
    if len(text) < _MOST_HELD:
        others = [step for step in steps.get(tag, ()) if step.text != text]
        steps[tag] = (Step(text, name, member), *others[: _MOST_STEPS - 1])


def find_step(steps: tuple[Step, ...], text: str, at: int) -> Step | None:
    """Return which of these steps is in the text at this place."""
    for step in steps:
        if text.startswith(step.text, at):
            return step
    return None


def choose_step(call: Ordinary, text: str, at: int = 0) -> bool:
    """Expect the step that the text begins at this place. False if it begins none, or has all of one."""
    if call.reader is None and len(text) - at < _MOST_HELD:
        rest = text[at:]
        for step in call.steps:
            if step.text.startswith(rest) and step.text != rest:
                call.step = step
                return True
    return False


def _read_tags(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: between arguments. Reads tags, and leaves that the text has as a whole, each with one expression."""
    containers, has_deltas = call.containers, call.has_deltas
    top = containers[-1]
    last_leaf = len(text) - _LEAST_LEAF
    last = ""  # of the leaves that the text has as a whole
    while True:
        leaf = read_leaf(text, at) if at <= last_leaf else None
        if leaf is not None:
            name, written, after = leaf
            member = top.find(name)
            if member is not None and member.inside is None and call.count < call.most:
                key: str | int = len(top.value) if top.is_list else name
                typed = written if member.read is None else member.read(written)
                if typed is UNUSUAL:
                    return _lose(call, at)
                last = name
                top.add(key, typed)
                call.count += 1
                if has_deltas and written:
                    delta = ArgumentDelta()
                    delta.path = (*top.path, key)
                    delta.text = written
                    events.append(delta)
                at = after
                continue
        found = TAG.match(text, at)
        if found is None:
            return _wait(call, text, at, at) if at < len(text) else at
        slash, name = found.groups()
        after = found.end()
        if last:
            call.tag = last
            call.gap = f"</{last}>"
            last = ""
        if slash:
            if name != top.tag:
                return _lose(call, at)
            if len(containers) == 1:
                call.next = END
                call.gap = call.gap and call.gap + found[0]
                return _read_end(call, text, after, base, events) if after < len(text) else after
            containers.pop()
            top = containers[-1]
            call.gap = ""
            at = after
            continue
        member = top.find(name)
        if member is None or call.count >= call.most:
            return _lose(call, at)
        if member.inside is None:
            call.count += 1
            _learn(call, top, found[0], name, member)
            return _open_leaf(call, top, name, member, text, after, base, events)
        inner = TAG.match(text, after)
        if inner is None:
            return _wait(call, text, at, after)
        if inner[1] or len(containers) == _DEPTH:
            return _lose(call, at)  # it is empty, or too deep
        key = len(top.value) if top.is_list else name
        value: Any = [] if member.inside.is_list else {}
        top.add(key, value)
        call.count += 1
        call.gap = ""
        top = _Container(name, member.inside, member.shape, (*top.path, key), value)
        _open_container(call, top)
        at = after


def _open_leaf(
    call: Ordinary,
    top: _Container,
    name: str,
    member: PlainMember,
    text: str,
    after: int,
    base: int,
    events: list[Event],
) -> int:
    """A leaf begins, after its start tag."""
    _begin_leaf(call, top, name, member, base + after)
    call.next = TEXT
    return _read_text(call, text, after, base, events) if after < len(text) else after


def _begin_leaf(call: Ordinary, top: _Container, name: str, member: PlainMember, start: int) -> None:
    """The value of a leaf begins at `start` in the stream."""
    call.key = key = len(top.value) if top.is_list else name
    call.tag = name
    call.close = f"</{name}>"
    call.read = member.read
    call.exact = member.exact
    call.leaf_start = start
    call.path = (*top.path, key)
    call.reader = None
    call.steps = steps = top.steps.get(name, ())
    call.step = steps[0] if steps else None


def read_leaf(text: str, at: int) -> tuple[str, str, int] | None:
    """Read a leaf before another tag that the text has as a whole, with a value that stays as it is written, or is one
    CDATA section: its name, its value, and the place after it. None if there is none, or it is long."""
    found = _LEAF.match(text, at)
    if found is not None:
        name, value = found.groups()
        return (name, value, found.end()) if is_plain(value) else None
    found = _SECTION.match(text, at) if len(text) - at >= _LEAST_SECTION else None
    if found is None:
        return None
    name, start = found[1], found.end()
    end = text.find("]]>", start, start + _LONG)
    after = end + len(name) + 6
    if end < 0 or not text.startswith(f"</{name}>", end + 3) or TAG.match(text, after) is None:
        return None
    value = text[start:end]
    return (name, value, after) if is_section(value) else None


def is_section(text: str) -> bool:
    """Return whether text is a value as it is written, in a CDATA section."""
    return "<![" not in text and (text.isprintable() or find_forbidden(text, 0, len(text)) < 0)


def _read_text(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: in plain text."""
    size = len(text)
    end = text.find("<", at)
    if at < end <= at + _BIG and call.step is not None and base + at == call.leaf_start:
        piece = text[at:end]
        after = take_values(call, text, end, piece, piece, base, events)
        if after == size or call.outcome:
            return after
        if after >= 0:
            at, end = after, text.find("<", after)
    stop = end if end >= 0 else size
    if stop > at:
        piece = text[at:stop]
        if "&" in piece or len(piece) > _BIG:
            return _lose(call, at)
        if call.has_deltas:
            if call.reader is None:
                is_begun = piece[0] > " " or base + at > call.leaf_start
                if not is_begun or piece[-1] <= " ":
                    call.reader = TextReader.begun() if is_begun else TextReader()
            if call.reader is not None:
                piece = call.reader.text(piece)
            _emit(call, piece, events)
    if end < 0:
        return stop
    # Of this value something came in a text before.
    if call.step is not None and call.leaf_piece >= 0 and call.leaf_start < base:
        value = "".join(call.pieces[call.leaf_piece :]) + text[:end]
        after = take_values(call, text, end, value, "", base, events)
        if after >= 0:
            return after if after == size or call.outcome else _read_text(call, text, after, base, events)
    close = call.close
    if choose_step(call, text, end):
        call.outcome = WAITS
    elif text.startswith(close, end):
        return _end_leaf(call, text, end, end + len(close), base, events)
    elif size - end < len(close) and close.startswith(text[end:]):
        call.outcome = WAITS
    elif base + end != call.leaf_start:
        call.outcome = LOST
    elif text.startswith(CDATA_OPEN, end):
        after = end + len(CDATA_OPEN)
        if len(text) - after > _BIG and text.find("]]>", after, after + _BIG) < 0:
            return _lose(call, end)
        call.next = CDATA
        call.leaf_start = base + after
        return after
    elif CDATA_OPEN.startswith(text[end:]):
        call.outcome = WAITS
    else:
        call.outcome = LOST
    return end


def take_values(call: Ordinary, text: str, end: int, value: str, piece: str, base: int, events: list[Event]) -> int:
    """The open leaf has this value, up to `end`; of that, `piece` had no delta. If it is as it is written, and a step
    follows that is known, both are taken, and so are the values after it. Returns the place after the last step; -1 if
    there is none."""
    top, count = call.containers[-1], call.count
    values, is_list = top.value, top.is_list
    tag, key, read, path, steps = call.tag, call.key, call.read, call.path, call.steps
    member, after = _STRING, -1
    while steps:
        step = steps[0]
        if not text.startswith(step.text, end):
            other = find_step(steps, text, end)
            if other is None:
                break
            step = other
            learn_step(top.steps, tag, *step)
        if not is_plain(value):
            break
        typed = value if read is None else read(value)
        if typed is UNUSUAL:
            break
        name = step.name
        if name and (count >= call.most or (not is_list and (name in values or name == key))):
            break
        if is_list:
            values.append(typed)
        else:
            values[key] = typed
        if piece and call.has_deltas:
            delta = ArgumentDelta()
            delta.path = path
            delta.text = piece
            events.append(delta)
        after = end + len(step.text)
        if not name:
            call.outcome = DONE
            return after
        count += 1
        tag, member = name, step.member
        key = len(values) if is_list else name
        read, path, steps = member.read, (*top.path, key), top.steps.get(name, ())
        end = text.find("<", after, after + _BIG)
        if end < 0:
            break
        value = piece = text[after:end]
    if after >= 0:
        call.count = count
        _begin_leaf(call, top, tag, member, base + after)
    return after


def _read_cdata(call: Ordinary, text: str, at: int, base: int, events: list[Event]) -> int:
    """State: in a CDATA section that is a whole value."""
    end = _find_section_end(call, text, at)
    stop = end if end >= 0 else len(text) - (2 if text.endswith("]]") else text.endswith("]"))
    if stop > at and call.has_deltas:
        _emit(call, text[at:stop], events)
    if end < 0:
        call.outcome = WAITS
        return stop
    close = call.close
    if text.startswith(close, end + 3):
        return _end_leaf(call, text, end, end + 3 + len(close), base, events)
    if close.startswith(text[end + 3 :]):
        call.outcome = WAITS
    else:
        call.outcome = LOST
    return end


def _find_section_end(call: Ordinary, text: str, at: int) -> int:
    """The first `]]>`, or -1. In a long text the last two are looked for, once: CPython searches backwards four times
    as fast as forwards."""
    if len(text) - at < _LONG:
        return text.find("]]>", at)
    if not call.last_ends:
        last = text.rfind("]]>", at)
        call.last_ends += (text.rfind("]]>", at, last) if last >= 0 else -1, last)
    before, last = call.last_ends
    if before >= at:
        return text.find("]]>", at)
    return last if last >= at else -1


def _end_leaf(call: Ordinary, text: str, end: int, after: int, base: int, events: list[Event]) -> int:
    """The leaf ends at `end`, if its end tag, up to `after`, counts."""
    if call.exact and TAG.match(text, after) is None:
        return _wait(call, text, end, after)
    begin, close = call.leaf_start - base, call.close
    if begin >= 0:
        value: Any = text[begin:end]
    elif call.leaf_piece >= 0:
        value = "".join(call.pieces[call.leaf_piece :]) + text[:end]
    else:  # much of it was put by
        value = call.raw.tail(call.raw_end - call.leaf_start, 0, "".join(call.pieces) + text[:end])
    is_text = call.next == TEXT
    if not is_text or not is_plain(value):
        if ("]]>" if is_text else "<![") in value or (is_text and "&" in value):
            return _lose(call, end)  # a section may hold one as an example; without deltas nobody looked for `&`
        if is_text and value:
            reader = TextReader()
            value = reader.text(value) + reader.end()
        if not value.isprintable() and find_forbidden(value, 0, len(value)) >= 0:
            return _lose(call, end)
    if call.read is not None:
        value = call.read(value)
        if value is UNUSUAL:
            return _lose(call, end)
    rest = call.reader.end() if call.reader is not None and not call.reader.idle else ""
    if rest:
        if call.exact:
            return _lose(call, end)  # what follows must have been read too, before the end counts
        _emit(call, rest, events)
    call.containers[-1].add(call.key, value)
    call.gap = close
    call.next = TAGS
    return after


def is_plain(text: str) -> bool:
    """Return whether text is a value as it is written, whatever its schema says: in one line, without white space
    around it, and with nothing that XML forbids or encodes."""
    return (
        text != "" and text[0] > " " and text[-1] > " " and "&" not in text and "]]>" not in text and text.isprintable()
    )


def _emit(call: Ordinary, text: str, events: list[Event]) -> None:
    if text:
        delta = ArgumentDelta()
        delta.path = call.path
        delta.text = text
        events.append(delta)


_STATES: Final = {
    FIELD: _read_field,
    ARGUMENTS: _read_arguments,
    TAGS: _read_tags,
    TEXT: _read_text,
    CDATA: _read_cdata,
    END: _read_end,
}
