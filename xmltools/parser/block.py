"""One open block: the state machine from `<tool>` to `</tool>` (protocol, sections 2 to 7).

`Block.run` consumes text and stops where the block ends or more text is needed. Each state is one method `(text,
at) -> place`: it consumes from `at` and returns the place behind that, or -1 if the text that is there does not
decide. What is not consumed comes again, in front of the next chunk; it is never longer than one tag. White space
and text whose meaning is open are consumed and kept aside, so that nothing is read twice.

While text streams in only the structure is found and deltas are made. Values are made once, at the end, from the
block's raw text (see `conclude`), so `Leaf` and `Container` hold places, not text.

The states stand in four modules, each building on the one before: `frame` (what is known, bookkeeping), `leaf_ends`
(where a leaf ends), `leaves` (what is in it), `elements` (what is between), and here JSON and the run itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xmltools.errors import Code
from xmltools.parser.elements import ElementStates
from xmltools.parser.frame import OWN, Failure, Leaf, Path, State
from xmltools.syntax.elements import Element
from xmltools.syntax.markup import (
    MORE,
    NO,
    SPACES,
    attributes_of,
    decode_entities,
    is_valid_name,
    read_end_tag,
    read_fence,
    skip_space,
)
from xmltools.tools.schema import ANY, ArrayShape, Shape

if TYPE_CHECKING:
    from xmltools.models.events import Event

__all__ = ["Block", "Failure", "Leaf"]

_MORE_JSON: Final = "{}[]\"',:"
"""What begins a part of JSON."""


class Block(ElementStates):
    """The state of one block. `done` says that it has ended; `repairs`, `error` and the tree say how."""

    __slots__ = ()

    def run(self, text: str, at: int, base: int, events: list[Event]) -> int:
        """Read on in `text`, whose first character stands at `base` in the stream; returns the place behind what
        was consumed."""
        self._base = base
        self.events = events
        self._last_ends = None
        self._text_read = text
        while at < len(text) and not self.done:
            place = _STATES[self._state](self, text, at)
            if place < 0:
                break
            at = place
        self._text_read = ""
        self._flush_delta()
        return at

    def read_opener(self, opener: str) -> None:
        """Take the name of the tool out of the opening tag; other attributes mean nothing there."""
        for name, value, _ in attributes_of(opener.removeprefix(f"<{self.spelling}")):
            if name == self.dialect.argument_name and value is not None and self.proposed is None:
                self.proposed = decode_entities(value).strip(SPACES), self.start, None
            else:
                self.note_opener(Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")

    def ends_complete(self, rest: str, place: int) -> bool:
        """At the end of the reply: is `</tool>`, or the rest of it, all that is missing? `rest`, which stands at
        `place` in the stream, was not consumed."""
        end_tags = f"</{self.dialect.block}>", f"</{self.spelling}>"
        is_part = any(tag.startswith(rest) or rest.rstrip(SPACES) == tag[:-1] for tag in end_tags)
        if self.json is not None and self._state == State.JSON_END and not self.lacks_brace:
            return is_part or self._is_last_fence(rest, place)
        if self.name is None or not is_part:
            return False
        if self._ends_json:
            self.unsure = True
            self._confirm()
        return self.arguments_closed and len(self._stack) == 1 and self._state in (State.MARKUP, State.JSON_END)

    def _is_last_fence(self, rest: str, place: int) -> bool:
        """Is `rest`, with which the reply ends, a closing fence after a JSON body, or a part of one?"""
        if not rest or rest.strip("`" + SPACES):
            return False
        self.note(Code.CODE_FENCE, place, "the body of the block stood in a code fence")
        return True

    @property
    def _ends_json(self) -> bool:
        """Behind an `</arguments>` that is content, unless the one value in front of it is whole?"""
        leaf = self.leaf
        is_json = leaf is not None and leaf.element is self.json_arguments and len(self._stack) == 1
        return is_json and self._state == State.END_TAIL and self._tail_kind == OWN

    @property
    def json_start(self) -> int | None:
        """Where the JSON stands that the arguments are read from; None if they are elements."""
        if self.json is not None:
            return self.json[0]
        arguments = self.json_arguments
        return arguments.offset if isinstance(arguments, Element) else arguments and arguments[0]

    def place_of(self, path: Path, shape: Shape) -> int | None:
        """The place of the element at `path` in the arguments, or of the innermost one that there is on the way.

        `shape` is that of the arguments. None if not even the argument is there.
        """
        group, place = [self.arguments], None
        for step in path:
            group, shape = _inside(group, shape, step)
            if not group:
                break
            place = group[0].offset
        return place

    def place_of_second(self, name: str, shape: Shape) -> int | None:
        """The place of the second element of the first argument or property `name` that is repeated but no list."""
        pending: list[tuple[list[Element], Shape]] = [([self.arguments], shape)]
        seen: set[tuple[int, int]] = set()
        while pending:
            group, shape = pending.pop()
            if (array := _array(shape)) is not None:
                if len(group) == 1 and _items(group, array) == group:
                    if (id(group[0]), id(array)) in seen:
                        continue  # it would be an item of itself
                    seen.add((id(group[0]), id(array)))
                pending += [([item], array.item(number)) for number, item in enumerate(_items(group, array))][::-1]
            elif len(group) == 1:
                groups = _by_name(group[0])
                pending += [(inner, shape.child(each)) for each, inner in groups.items()][::-1]
            elif not shape.is_any and group[0].name == name:
                return group[1].offset
        return None

    def _json(self, text: str, at: int) -> int:
        """A JSON object: the body, or the text of `arguments`."""
        scanner = self._scanner
        assert scanner is not None
        end = scanner.scan(text, at)
        if self.json is not None:
            self._json_name(scanner.names)
        arguments = self.json_arguments
        if scanner.error and isinstance(arguments, tuple) and self._top.is_arguments and not scanner.too_deep:
            self._json_leaf(arguments[0])  # no JSON, but perhaps JSON with entities: its end tag ends it
        elif scanner.error and self.json is not None and scanner.in_envelope and text[end] in "<`":
            # Only the brace of the body itself is missing: if </tool> follows, that is where it belongs.
            self.json = (self.json[0], self._base + end)
            self.lacks_brace = True
            self._state = State.JSON_END
        elif scanner.error:
            code = Code.LIMIT_EXCEEDED if scanner.too_deep else Code.INVALID_JSON
            # The scanner stops at a character that cannot stand there, but behind a bracket that is wrong.
            behind = scanner.too_deep or " closes " in scanner.error
            self.give_up(code, f"the JSON could not be read: {scanner.error}", self._base + end - behind)
            self._state = State.SKIP
        elif scanner.done and self.json is not None:
            self.json = (self.json[0], self._base + end)
            self._state = State.JSON_END
        elif scanner.done and isinstance(self.json_arguments, tuple):
            self.json_arguments = (self.json_arguments[0], self._base + end)
            self.arguments_closed = len(self._stack) == 1
            self._state = State.JSON_END
        return end

    def _json_name(self, names: dict[str, str]) -> None:
        if self.name is not None or self.proposed is not None:  # if the opener says it this may be an argument
            return
        for key, value in names.items():
            value = value.strip(SPACES)
            if not value or "\\" in value or not is_valid_name(value):
                continue
            if key in self.dialect.json_server_name:
                self.server = value
            else:
                self.name = value
                self._on_name(self)
                return

    def _json_end(self, text: str, at: int) -> int:
        """After a JSON object: the body, or the text of `arguments`."""
        here = skip_space(text, at)
        if here > at:
            return here
        character = text[at]
        if character == "}" and not (self.lacks_brace or self.extra_brace):
            self.extra_brace = True
            self.note(Code.JSON_EXTRA_BRACE, self._base + at, "dropped a closing brace that closed nothing")
            return at + 1
        if self.json is None:
            return self._after_json_arguments(text, at)
        if character in "`~":
            fence = read_fence(text, at)
            if fence is MORE:
                return -1
            if fence:
                self.note(Code.CODE_FENCE, self._base + at, "the body of the block stood in a code fence")
                return fence
        if character == "<":
            return self._behind_json(text, at)
        return self._no_end(at)

    def _after_json_arguments(self, text: str, at: int) -> int:
        """Other text than JSON is stray, as everywhere between elements. More JSON is not dropped with it."""
        if text[at] in _MORE_JSON:
            message = "more JSON stands after the object with the arguments"
            self.fail(Code.INVALID_JSON, message, self._base + at)
        self._state = State.MARKUP
        return at

    def _behind_json(self, text: str, at: int) -> int:
        tag = read_end_tag(text, at) if text[at + 1 : at + 2] == "/" else NO
        if tag and self._is_block(tag.name):
            if self.lacks_brace:
                self.note(Code.JSON_MISSING_BRACE, self._base + at, "the last brace of the JSON object is missing")
            self._close(tag.name, self._base + at)
            return tag.end
        opening = f"<{self.dialect.block}"
        opens = self._opens_block(text, at) if text.startswith(opening, at) else NO
        if tag is MORE or opens is MORE or (len(text) - at < len(opening) and opening.startswith(text[at:])):
            return -1
        if opens:
            self._next_opener(self._base + at)
            return at
        return self._no_end(at)

    def _no_end(self, at: int) -> int:
        message = "something stands between the JSON object and the end of the block"
        self.give_up(Code.INVALID_JSON, message, self._base + at)
        self._state = State.SKIP
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
        if tag and self._is_block(tag.name):
            self.done = True
            return tag.end
        return at + 2


def _inside(group: list[Element], shape: Shape, step: str | int) -> tuple[list[Element], Shape]:
    """The elements of a property or item of the value that the elements of `group` are, and its shape."""
    if isinstance(step, str):
        return _by_name(group[0]).get(step, []), shape.child(step)
    array = _array(shape)
    if array is not None:
        return _items(group, array)[step : step + 1], array.item(step)
    items = group if len(group) > 1 else group[0].children or []
    return items[step : step + 1], ANY


def _array(shape: Shape) -> ArrayShape | None:
    return next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)


def _by_name(element: Element) -> dict[str, list[Element]]:
    groups: dict[str, list[Element]] = {}
    for child in element.children or ():
        groups.setdefault(child.name, []).append(child)
    return groups


def _items(group: list[Element], array: ArrayShape) -> list[Element]:
    """The items of a list: each element is one, or holds some."""
    items: list[Element] = []
    for element in group:
        inner = element.children or []
        items += inner if inner and array.holds_items(inner[0].name, element.name, len(group)) else [element]
    return items


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
"""The methods of the states, in the order of `State`."""
