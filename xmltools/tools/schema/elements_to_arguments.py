"""Reading: elements or JSON, and a shape, to typed arguments.

Shapes read what is clean. This module reads the rest: what takes a repair, nests deep, or may have several meanings.
Reading converts and never complains: what cannot be converted stays as it came, and the check of the finished value
says what was expected in its place. An alternative of a union is chosen by trying: the first that fits without a
guess. Answers are remembered, since nested unions ask for the same element again and again. Containers are read by
generators that ask for what is inside, not by functions that call each other, so that the depth of a value takes no
stack.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from xmltools.errors import Code, Repair
from xmltools.syntax.element_tree import JSON, TEXT, Element
from xmltools.syntax.json_reader import JSONDepthError, JSONError, loads, loads_lenient
from xmltools.syntax.markup import SPACES
from xmltools.tools.schema.check import Checker
from xmltools.tools.schema.equality import Path, Problem, equal, fits_type, place_in_words
from xmltools.tools.schema.item_names import ITEM, singular_of
from xmltools.tools.schema.shapes import ANY, LEVELS, ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape, UnionShape
from xmltools.tools.schema.text_to_scalar import UNREAD
from xmltools.tools.schema.wrapped_arguments import unwrapped
from xmltools.tools.schema.written_numbers import loads_written, settled, text_of

# Elements that no schema describes: strings, lists and objects, as the tags say


def _without_schema(element: Element) -> Any:
    """Return the value of an element that no schema describes: a string, list or object."""
    if element.nil:
        return None
    if not element.children:
        said = _json_of(element) if element.kind == JSON else None
        return said[0] if said else element.text
    if _has_items(element.name, element.children):
        return [_without_schema(child) for child in element.children]
    return _object_without_schema(element.children)


def _object_without_schema(children: Iterable[Element]) -> dict[str, Any]:
    """Return elements as an object, in which a repeated name has a list."""
    groups = _by_name(children)
    return {
        name: _without_schema(group[0]) if len(group) == 1 else list(map(_without_schema, group))
        for name, group in groups.items()
    }


def _json_of(element: Element, depth: int = 64) -> tuple[Any] | None:
    """Return what the text of an element is as JSON; None if it is none."""
    try:
        value, slips = loads(element.text.strip(SPACES), depth=depth)
    except JSONError:
        return None
    return None if slips else (value,)


def _has_items(name: str, children: Iterable[Element]) -> bool:
    """Return whether all children of an element are called as items of a list of its name are."""
    tags = {child.name for child in children}
    return len(tags) == 1 and tags <= {ITEM, *singular_of(name)}


def _by_name(elements: Iterable[Element]) -> dict[str, list[Element]]:
    """Return the elements of each name, names in the order of their first."""
    groups: dict[str, list[Element]] = {}
    for element in elements:
        groups.setdefault(element.name, []).append(element)
    return groups


def _array_of(shape: Shape) -> ArrayShape | None:
    return next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)


def _items(elements: list[Element], shape: ArrayShape) -> list[Element]:
    """Return the items of a list: each of the elements of its name is one, or holds some."""
    items: list[Element] = []
    for element in elements:
        inner = element.children
        items += inner if inner and shape.holds_items(inner[0].name, element.name, len(elements)) else (element,)
    return items


def place_of(arguments: Element, path: Sequence[str | int], shape: Shape) -> int | None:
    """Return the place of the element at `path` in the arguments, or of the innermost one that there is on the way.

    `shape` is that of the arguments. None if there is not even the argument.
    """
    group, place = [arguments], None
    for step in path:
        if isinstance(step, str):
            group, shape = _by_name(group[0].children or ()).get(step, []), shape.child(step)
        elif (array := _array_of(shape)) is not None:
            group, shape = _items(group, array)[step : step + 1], array.item(step)
        else:
            group, shape = (group if len(group) > 1 else group[0].children or [])[step : step + 1], ANY
        if not group:
            break
        place = group[0].offset
    return place


# Reading by a shape


_DOUBTFUL = frozenset((Code.JSON_ESCAPE, Code.JSON_EXTRA_BRACE))
"""Slips of JSON after which a text may as well be a string, where the schema takes one."""
_TOLD = frozenset((Code.JSON_VALUE, Code.COMMA_LIST))
"""What says of a string in JSON that it was converted."""
_PLACE = "\0"
"""Stands around the place of a value in its JSON, in the message of a repair that is not told yet."""
MAX_NAMED = 10
"""Values of one JSON text of which a repair says what became of them."""
MAX_PROBLEMS = 100
"""Problems that are reported of one call; a model repairs no more than that at once."""


class Reading(NamedTuple):
    """What came of reading: typed arguments, what was repaired, what does not fit, names that were repeated, with the
    place of the second.

    `too_deep`: a value held JSON that nests deeper than the limit.
    """

    arguments: dict[str, Any]
    repairs: list[Repair]
    problems: list[Problem]
    duplicates: dict[str, int]
    too_deep: bool = False


class _Value(NamedTuple):
    """A value with what happened on the way. `guessed`: the text could as well mean something else.

    `lost`: it is nothing, since it would have to hold itself. `equal`: it is what its JSON says, though in other types.
    """

    value: Any
    repairs: tuple[Repair, ...] = ()
    duplicates: tuple[tuple[str, int], ...] = ()
    guessed: bool = False
    lost: bool = False
    equal: bool = False

    @property
    def tidy(self) -> bool:
        """Whether it is surely what was meant. That JSON says 2.0 where an integer is to be is no reason to doubt."""
        is_plain = all(repair.code is not Code.COERCED_VALUE for repair in self.repairs)
        return not self.guessed and (self.equal or is_plain)


class _Request(NamedTuple):
    """Something that must be read first: an element or a JSON value, by a shape."""

    source: Any
    shape: Shape
    offset: int


_Steps = Generator[_Request, _Value, _Value]
"""Reading that asks for parts to be read, and returns what came of them."""

_Key = tuple[int, int, int]


def read_arguments(
    children: Sequence[Element],
    shape: Shape | None,
    *,
    depth: int = 64,
    check: bool = True,
    json_is_usual: bool = False,
    tool: str = "",
) -> Reading:
    """Read the elements inside `arguments`: by the shape of the tool's schema, or by none.

    JSON in them may nest `depth` levels. Without `check` nothing is said about problems. `json_is_usual`: that is how
    lists and objects are written, and no deviation. `tool`: its name.
    """
    if shape is None:
        return Reading(_object_without_schema(children), [], [], {})
    texts = {child.name: child.children or child.text for child in children} if len(children) <= 2 else {}
    if texts and len(texts) == len(children) and (found := unwrapped(texts, shape, tool, children[-1].offset, depth)):
        value, repairs = found
        if isinstance(value, dict):
            return _add(repairs, read_object(value, shape, repairs[0].offset, check=check, written=True))
        return _add(repairs, read_arguments(value, shape, depth=depth, check=check, json_is_usual=json_is_usual))
    try:
        values = shape.clean_children(children, "", LEVELS)
        if values is not UNREAD and shape.is_valid(values):
            return Reading(values, [], [], {})
    except RecursionError:
        pass  # nobody is so deep in the stack but a caller
    usual = {child.offset: child.text.strip(SPACES) for child in children} if json_is_usual else {}
    offsets = {child.name: child.offset for child in reversed(children)}
    return _finish(
        shape, lambda reader: reader.arguments(children, shape, usual), lambda path: offsets[str(path[0])], depth, check
    )


def _add(repairs: list[Repair], reading: Reading) -> Reading:
    return reading._replace(repairs=[*repairs, *reading.repairs])


def read_object(
    value: dict[str, Any],
    shape: Shape | None,
    offset: int,
    *,
    check: bool = True,
    tool: str = "",
    written: bool = False,
) -> Reading:
    """Read arguments that came as JSON: strings become declared types. Repairs get the given offset.

    Without `check` nothing is said about problems. `tool`: its name. `written`: the numbers are `written_number`s, and
    become strings where these are declared.
    """
    if shape is None:
        reading = Reading(value, [], [], {})
    elif found := unwrapped(value, shape, tool, offset):
        assert isinstance(found[0], dict)  # JSON has no elements
        reading = _add(found[1], read_object(found[0], shape, offset, check=check, written=True))
    elif _is_clean(value, shape):
        reading = Reading(value, [], [], {})
    else:
        reading = _finish(shape, lambda reader: reader.members(value, shape, offset), lambda _: offset, check=check)
    return _settled(reading, lambda _: offset) if written else reading


def _settled(reading: Reading, offset_of: Callable[[Path], int]) -> Reading:
    """Return the reading with plain numbers. One that is too large, and is no string, is a problem."""
    arguments, lost, zeros = settled(reading.arguments)
    problems = {problem.path: problem for problem in reading.problems}
    for path, text in lost:
        problems[path] = Problem(path, "a number that is not too large", text[:60])
    repairs = reading.repairs
    if zeros:
        said = ((offset_of(path), f"{place_in_words(path)}: read {text[:40]!r} as a number") for path, text in zeros)
        repairs = _merged([*repairs, *(Repair(Code.COERCED_VALUE, offset, message) for offset, message in said)])
    return reading._replace(arguments=arguments, repairs=repairs, problems=list(problems.values())[:MAX_PROBLEMS])


def find_problems(arguments: dict[str, Any], shape: Shape) -> list[Problem]:
    """Return what in typed arguments does not fit the schema."""
    return [] if _is_clean(arguments, shape) else _finish(shape, lambda reader: _Value(arguments), lambda _: 0).problems


def _is_clean(value: Any, shape: Shape) -> bool:
    try:
        return shape.is_clean(value, LEVELS)
    except RecursionError:
        return False


def _finish(
    shape: Shape,
    read: Callable[[_Reader], _Value],
    offset_of: Callable[[Path], int],
    depth: int = 64,
    check: bool = True,
    written: bool = False,
) -> Reading:
    """Return what the reading came to. Where a problem may be that a number is written for a string in the JSON of a
    leaf, all is read again, with numbers as they are `written`. `offset_of` finds the offset of repairs at a place."""
    reader = _Reader(shape, depth, written=written)
    try:
        result = read(reader)
        problems = []
        if check and not shape.is_clean(result.value, LEVELS):
            problems = list(islice(reader.problems(shape, result.value), MAX_PROBLEMS))
    except RecursionError:
        # Elements and JSON are bounded in depth; only a caller who is deep in the stack himself gets here.
        return Reading({}, [], [Problem((), "arguments that are nested less deeply", "too many levels")], {})
    if problems and reader.has_loaded and not written:
        again = _settled(_finish(shape, read, offset_of, depth, check, written=True), offset_of)
        if len(again.problems) < len(problems):
            return again
    duplicates: dict[str, int] = {}
    for name, place in result.duplicates:
        duplicates.setdefault(name, place)
    return Reading(result.value, _merged(result.repairs), problems, duplicates, reader.too_deep)


def _merged(repairs: Iterable[Repair]) -> list[Repair]:
    """Return each code once at each place, in the order of the last ones, with what all of them say."""
    places: dict[tuple[Code, int], dict[str, None]] = {}
    for repair in repairs:
        messages = places.pop((repair.code, repair.offset), {})
        places[repair.code, repair.offset] = messages
        messages[repair.message.replace(_PLACE, "", 1).replace(_PLACE, ": ", 1)] = None
    return [Repair(code, offset, _joint(list(messages))) for (code, offset), messages in places.items()]


def _joint(messages: list[str]) -> str:
    more = len(messages) - MAX_NAMED
    return "; ".join(messages[:MAX_NAMED]) + (f"; and {more} more" if more > 0 else "")


class _Reader:
    """Reads one call. It remembers by identity, and lives no longer than the call."""

    __slots__ = ("_checker", "_depth", "_loaded", "_open", "_seen", "_written", "too_deep", "usual")

    def __init__(self, shape: Shape, depth: int, *, written: bool) -> None:
        self._depth = depth
        self._written = written
        self.too_deep = False
        self.usual: dict[int, str] = {}
        self._checker = Checker(shape.maker.document)  # type: ignore[union-attr] # what was compiled has one
        self._seen: dict[_Key, tuple[object, Shape, _Value]] = {}
        self._open: set[_Key] = set()
        self._loaded: dict[tuple[str, int], _Value] = {}

    @property
    def has_loaded(self) -> bool:
        """Whether the text of a leaf was read as JSON."""
        return bool(self._loaded)

    def problems(self, shape: Shape, value: Any) -> Iterator[Problem]:
        """Return what is wrong with `value`."""
        return chain.from_iterable(self._checker.problems(node, value) for node in shape.nodes)

    def fits(self, shape: Shape, value: Any) -> bool:
        """Return whether `value` is valid."""
        return all(self._checker.fits(node, value) for node in shape.nodes)

    def _load_text(self, text: str, offset: int) -> _Value:
        try:
            if self._written and text.lstrip(SPACES).startswith(("{", "[", "(")):
                value, slips = loads_written(text, self._depth)
            else:
                value, slips = loads_lenient(text, depth=self._depth)
        except JSONError as error:
            self.too_deep = self.too_deep or isinstance(error, JSONDepthError)
            return _Value(text)
        repairs = [Repair(code, offset, message) for code, _, message in slips]
        if not self._is_usual(text, offset):
            # That it is a Python literal is no second deviation: JSON does not belong there either.
            repairs = [repair for repair in repairs if repair.code is not Code.PYTHON_LITERAL]
            repairs.insert(0, Repair(Code.JSON_VALUE, offset, "read the text as JSON"))
        return _Value(value, tuple(repairs), guessed=any(code in _DOUBTFUL for code, _, _ in slips))

    def _is_usual(self, text: str, offset: int) -> bool:
        return offset in self.usual and self.usual[offset] == text.strip(SPACES)

    def arguments(self, children: Iterable[Element], shape: Shape, usual: dict[int, str]) -> _Value:
        """Read elements as the arguments of a call. `usual`: by their offsets, the texts that may be JSON."""
        self.usual = usual
        return self._of_forms(shape, lambda each: self._properties(children, each))

    def members(self, value: dict[str, Any], shape: Shape, offset: int) -> _Value:
        """Read an object in JSON as the arguments of a call."""
        return self._of_forms(shape, lambda each: self._json(value, each, offset))

    def _of_forms(self, shape: Shape, read: Callable[[Shape], _Steps]) -> _Value:
        """Read arguments by their shape; if they don't fit that without a guess, by each of its forms: in one of them a
        text may be of another type."""
        found = self._finished(read(shape), None)
        forms = shape.forms.alternatives if isinstance(shape, ObjectShape) else ()
        if len(forms) < 2 or (found.tidy and self.fits(shape, found.value)):
            return found
        reads = [found, *(self._finished(read(each), None) for each in forms)]
        fitting = [each for each in reads if self.fits(shape, each.value)]
        return min(fitting, key=lambda each: (not each.tidy, each.guessed), default=found)

    # Requests

    def read(self, source: Any, shape: Shape, offset: int) -> _Value:
        """Read an element or a JSON value."""
        request = _Request(source, shape, offset)
        begun = self._begin(request)
        return begun if isinstance(begun, _Value) else self._finished(begun, request)

    def _finished(self, steps: _Steps, request: _Request | None) -> _Value:
        """Run steps to their end, and all that they ask for."""
        stack = [(steps, request)]
        answer: _Value | None = None
        while True:
            try:
                wanted = stack[-1][0].send(answer)  # type: ignore[arg-type]
            except StopIteration as stop:
                answer = stop.value
                request = stack.pop()[1]
                if request is not None:
                    key = _key(request)
                    self._open.discard(key)
                    # Source and shape are kept with the answer, so that no other object gets their identity.
                    self._seen[key] = request.source, request.shape, stop.value
                if not stack:
                    return stop.value  # type: ignore[no-any-return]
                continue
            begun = self._begin(wanted)
            if isinstance(begun, _Value):
                answer = begun
            else:
                stack.append((begun, wanted))
                answer = None

    def _begin(self, request: _Request) -> _Value | _Steps:
        """Return what was asked for, or the steps to it if there is more to it than a leaf."""
        source, shape, offset = request
        is_element, is_simple = isinstance(source, Element), not isinstance(shape, (UnionShape, ArrayShape))
        if is_element and not source.children:
            if source.nil:
                return _Value(None)
            if is_simple:
                return self._leaf(source.text, shape, offset)
        if not is_element:
            if shape.is_clean(source, LEVELS):
                return _Value(source)
            if is_simple and not isinstance(source, (dict, list)):
                return self._json_scalar(source, shape, offset)
        key = _key(request)
        if key in self._seen:
            return self._seen[key][2]
        if key in self._open:
            # A list of lists of … one item each, which all are this very text: there is no such value.
            return _Value(source.text if is_element else source, lost=True)
        self._open.add(key)
        return self._element(source, shape) if is_element else self._json(source, shape, offset)

    # Elements

    def _element(self, element: Element, shape: Shape) -> _Steps:
        if element.nil:
            return _Value(None)
        if isinstance(shape, UnionShape):
            return (yield from self._choose_for(element, shape))
        if isinstance(shape, ArrayShape):
            return (yield from self._array([element], shape))
        if isinstance(shape, ObjectShape):
            return (yield from self._properties(element.children or (), shape))
        if shape.is_text:
            # It stood before the tool's name, when nobody knew that it was text.
            repair = Repair(Code.BARE_LESS_THAN, element.offset, f"read the markup in {element.name} as text")
            return _Value(element.inner, (repair,))
        return _Value(_without_schema(element))

    def _properties(self, children: Iterable[Element], shape: Shape) -> _Steps:
        """Read elements as the properties of an object."""
        values: dict[str, Any] = {}
        repairs: list[Repair] = []
        duplicates: list[tuple[str, int]] = []
        lost = False
        for name, group in _by_name(children).items():
            child = shape.child(name)
            # In an alternative of a union a value may be read otherwise, for what the other ones made of its text.
            value = UNREAD if self._open or len(group) > 1 else child.clean(group[0], LEVELS)
            if value is not UNREAD:
                values[name] = value
                continue
            if len(group) > 1:
                read = yield from self._group(group, child)
            elif group[0].kind and (said := self._said(group[0], child)) is not None:
                read = yield _Request(said[0], child, group[0].offset)
            elif child.exact and _is_open(child) and shape.has_property(name):
                read = yield from self._open_value(group[0], child)
            else:
                read = yield _Request(group[0], child, group[0].offset)
            values[name] = read.value
            repairs += read.repairs
            duplicates += read.duplicates
            lost = lost or read.lost
        return _Value(values, tuple(repairs), tuple(duplicates), lost=lost)

    def _said(self, element: Element, shape: Shape) -> tuple[Any] | None:
        """Return the value of an element that says what it is: its text, or what that is as JSON. None if the schema
        wants something else, or that is no JSON."""
        if element.kind == TEXT:
            fits = any(each.is_any or each.is_text for each in shape.alternatives)
            return (element.text,) if fits and self.fits(shape, element.text) else None
        return None if shape.is_text else _json_of(element, self._depth)

    def _open_value(self, element: Element, shape: Shape) -> _Steps:
        """Read an element that is declared to hold any value: text that is JSON as a whole, or a Python literal, is the
        list or object."""
        text = element.text.strip(SPACES)
        if not element.children and text[:1] in ("{", "[") and text[-1:] in ("}", "]"):
            try:
                value, slips = loads_lenient(text, depth=self._depth)
            except JSONError:
                slips = [(Code.JSON_VALUE, 0, "")]
            if all(code is Code.PYTHON_LITERAL for code, _, _ in slips) and self.fits(shape, value):
                repairs = [Repair(code, element.offset, message) for code, _, message in slips]
                if not self._is_usual(text, element.offset):
                    repairs.insert(0, Repair(Code.JSON_VALUE, element.offset, "read the text as JSON"))
                return _Value(value, tuple(repairs))
        return (yield _Request(element, shape, element.offset))

    def _group(self, group: list[Element], shape: Shape) -> _Steps:
        """Read several elements of one name."""
        if (array := _array_of(shape)) is not None:
            return (yield from self._array(group, array))
        if shape.is_any:
            return _Value(list(map(_without_schema, group)))
        read = yield _Request(group[0], shape, group[0].offset)
        return read._replace(duplicates=((group[0].name, group[1].offset),))

    def _array(self, elements: list[Element], shape: ArrayShape) -> _Steps:
        """Read the elements of a list's name: each is an item, or holds items, or is a leaf with JSON."""
        if len(elements) == 1:
            element = elements[0]
            if element.nil:
                return _Value(None)
            if not element.children:
                return self._list_leaf(element.text, shape, element.offset, element)
        reads = []
        for number, item in enumerate(_items(elements, shape)):
            reads.append((yield _Request(item, shape.item(number), item.offset)))
        return _joined(reads)

    # Leaves

    def _leaf(self, text: str, shape: Shape, offset: int) -> _Value:
        value = shape.read_text(text)
        if value is not UNREAD:
            return _Value(value)
        if isinstance(shape, ObjectShape):
            return self._object_leaf(text, shape, offset)
        if isinstance(shape, (ScalarShape, EnumShape)):
            value = shape.read_unusual(text)
            if value is not UNREAD:
                return _Value(value, (_coerced(text, value, offset),))
        if isinstance(shape, EnumShape) and shape.has_containers:
            loaded = self._load(text, offset)
            if self.fits(shape, loaded.value):
                return loaded
        return _Value(text)

    def _object_leaf(self, text: str, shape: Shape, offset: int) -> _Value:
        if not text.strip(SPACES):
            return _Value({})
        loaded = self._load(text, offset)
        if not isinstance(loaded.value, dict):
            return _Value(text)
        return _after_loading(loaded, self.read(loaded.value, shape, offset))

    def _list_leaf(self, text: str, shape: ArrayShape, offset: int, source: object) -> _Value:
        value = shape.read_text(text)
        if value is not UNREAD:
            return _Value(value)
        trimmed = text.strip(SPACES)
        if trimmed[0] in "[{(":
            loaded = self._load(text, offset)
            if isinstance(loaded.value, list):
                read = _after_loading(loaded, self.read(loaded.value, shape, offset))
                # A set or a tuple may as well be the text of one item.
                if trimmed[0] == "[" or (read.tidy and self.fits(shape, read.value)):
                    return read
            if trimmed[0] == "[" and trimmed[-1] == "]":
                return _Value(text)  # a list was meant, but nobody can say which
        read = self._one_item(text, shape, offset, source)
        if "," in trimmed and not self.fits(shape.item(0), read.value[0]):
            return self._comma_list(trimmed, shape, offset) or read
        return read

    def _one_item(self, text: str, shape: ArrayShape, offset: int, source: object) -> _Value:
        read = self.read(source, shape.item(0), offset)
        repairs = read.repairs
        if isinstance(source, Element):
            repairs += (Repair(Code.SINGLE_ITEM, offset, f"read {text[:40]!r} as a list of one item"),)
        return read._replace(value=[read.value], repairs=repairs, guessed=True)

    def _comma_list(self, text: str, shape: ArrayShape, offset: int) -> _Value | None:
        """Read numbers and the like that are separated by commas; None if they are none. Text may hold commas."""
        reads: list[_Value] = []
        for number, part in enumerate(text.split(",")):
            item = shape.item(number)
            if not all(isinstance(each, (ScalarShape, EnumShape)) for each in item.alternatives):
                return None
            read = self._plain_item(part.strip(SPACES), item, offset)
            if read is None:
                return None
            reads.append(read)
        joined = _joined(reads)
        repair = Repair(Code.COMMA_LIST, offset, f"read {text[:40]!r} as a list of {len(reads)} items")
        return joined._replace(repairs=(*joined.repairs, repair), guessed=True)

    def _plain_item(self, text: str, item: Shape, offset: int) -> _Value | None:
        """Read an item without an element of its own; None if it is none."""
        reads = ((each, self._leaf(text, each, offset)) for each in item.alternatives) if text else ()
        fitting = [read for each, read in reads if self.fits(each, read.value)]
        return min(fitting, key=lambda read: (not read.tidy, read.guessed), default=None)

    def _load(self, text: str, offset: int) -> _Value:
        """Read JSON or a Python literal, once for all alternatives that ask; other text stays itself."""
        key = text, offset
        if key not in self._loaded:
            self._loaded[key] = self._load_text(text, offset)
        return self._loaded[key]

    # JSON

    def _json(self, value: Any, shape: Shape, offset: int) -> _Steps:
        if isinstance(shape, UnionShape):
            requests = [_Request(value, each, offset) for each in shape.tries]
            return (yield from self._choose(requests, typed=True))
        if isinstance(shape, ArrayShape) and value is not None and not isinstance(value, str):
            return (yield from self._json_items(value, shape, offset))
        if isinstance(shape, ObjectShape) and isinstance(value, dict):
            names: dict[str, _Value] = {}
            for name, each in value.items():
                names[name] = _placed((yield _Request(each, shape.child(name), offset)), name)
            return _joined(list(names.values()))._replace(value={name: each.value for name, each in names.items()})
        return self._json_scalar(value, shape, offset)

    def _json_scalar(self, value: Any, shape: Shape, offset: int) -> _Value:
        if isinstance(value, str):
            return self._json_text(value, shape, offset)
        if (text := text_of(value)) is not None and (
            shape.is_text or (isinstance(shape, EnumShape) and self.fits(shape, text))
        ):
            return _Value(text, (Repair(Code.COERCED_VALUE, offset, f"read the number {text[:40]} as a string"),))
        if isinstance(shape, ScalarShape) and isinstance(value, (int, float)):
            return _convert_number(value, shape.type, offset)
        return _Value(value)

    def _json_text(self, text: str, shape: Shape, offset: int) -> _Value:
        if isinstance(shape, ArrayShape):
            read = self._list_leaf(text, shape, offset, text)
        else:
            read = self._leaf(text, shape, offset)
        # In JSON the types are plain to see, so that a string for anything else is never as it should be.
        if read.value == text or any(repair.code in _TOLD for repair in read.repairs):
            return read
        return read._replace(repairs=(*read.repairs, _coerced(text, read.value, offset)))

    def _json_items(self, value: Any, shape: ArrayShape, offset: int) -> _Steps:
        if isinstance(value, list):
            reads = []
            for number, each in enumerate(value):
                reads.append(_placed((yield _Request(each, shape.item(number), offset)), f"[{number}]"))
            return _joined(reads)
        item = yield _Request(value, shape.item(0), offset)
        if item.lost or not self.fits(shape.item(0), item.value):
            return _Value(value, lost=item.lost)
        repair = _coerced(str(value)[:40], "a list of one item", offset)
        return item._replace(value=[item.value], repairs=(*item.repairs, repair), guessed=True)

    # Unions

    def _choose_for(self, element: Element, shape: UnionShape) -> _Steps:
        shapes = shape.tries
        if element.children:
            # What the parser read as elements is none of the strings, and the other way round.
            is_node = shape.opens(element.children[0].name, element.name) is not None
            shapes = [each for each in shapes if each.is_text is not is_node] or shapes
        requests = [_Request(element, each, element.offset) for each in shapes]
        return (yield from self._choose(requests))

    def _choose(self, requests: list[_Request], *, typed: bool = False) -> _Steps:
        """Return the first tidy alternative that fits, else the first that fits, else the likeliest.

        `typed`: the value came with a type, so that an alternative of that very type comes before all others.
        """
        fitting: list[_Value] = []
        reads: list[_Value] = []
        for request in requests:
            result = _judged(request, (yield request))
            if not result.lost and not result.duplicates and self.fits(request.shape, result.value):
                if result.tidy and not (typed and result.repairs):
                    return result
                fitting.append(result)
            reads.append(result)
        if fitting:
            return min(fitting, key=lambda result: (not result.tidy, result.guessed))
        return self._likeliest([request.shape for request in requests], reads)

    def _likeliest(self, shapes: list[Shape], reads: list[_Value]) -> _Value:
        """Return the reading whose problems are worth telling: that of a container of its own kind."""
        of_kind = [
            (shape.nodes[-1], read)
            for shape, read in zip(shapes, reads, strict=True)
            if shape.nodes and not read.lost and not isinstance(read.value, str)
        ]
        for node, read in of_kind:
            if self._checker.likely([each for each, _ in of_kind], read.value) is node:
                return read
        return reads[-1]


def _key(request: _Request) -> _Key:
    return id(request.source), id(request.shape), request.offset


def _judged(request: _Request, result: _Value) -> _Value:
    """Return what an alternative made of something, as a guess if the tags speak for another kind of container.

    Children that are called as items are (3.5) make a list, others the properties of an object.
    """
    source, shape, _ = request
    if not isinstance(source, Element) or not source.children:
        return result
    listed = _has_items(source.name, source.children)
    if isinstance(shape, ArrayShape):
        return result if listed else result._replace(guessed=True)
    if isinstance(shape, ObjectShape) and listed and not shape.has_property(source.children[0].name):
        return result._replace(guessed=True)
    return result


def _after_loading(loaded: _Value, read: _Value) -> _Value:
    """Return what was read of a text that was loaded as JSON."""
    is_equal = not read.tidy and equal(loaded.value, read.value)
    guessed = loaded.guessed or read.guessed
    return read._replace(repairs=(*loaded.repairs, *read.repairs), guessed=guessed, equal=is_equal)


def _placed(read: _Value, step: str) -> _Value:
    """Return what was read of a part of a list or object in JSON: what was repaired in it has a place there, for it has
    none in the text."""
    if not read.repairs:
        return read
    repairs = []
    for code, offset, message in ((each.code, each.offset, each.message) for each in read.repairs):
        begun = message[:1] == _PLACE
        rest = message[1:] if begun else _PLACE + message
        joint = "." if begun and rest[0] != "[" else ""
        repairs.append(Repair(code, offset, f"{_PLACE}{step.replace(_PLACE, '')[:100]}{joint}{rest}"))
    return read._replace(repairs=tuple(repairs))


def _is_open(shape: Shape) -> bool:
    """Return whether a value may have any type, and no alternative says that text is a string."""
    if isinstance(shape, UnionShape):
        return any(each.is_any for each in shape.alternatives) and not any(each.is_text for each in shape.alternatives)
    return shape.is_any


def _joined(reads: list[_Value]) -> _Value:
    """Return the values as a list, with all that happened to them."""
    return _Value(
        [read.value for read in reads],
        tuple(repair for read in reads for repair in read.repairs),
        tuple(duplicate for read in reads for duplicate in read.duplicates),
        lost=any(read.lost for read in reads),
    )


def _convert_number(value: float, type: str, offset: int) -> _Value:
    """Convert a JSON number or boolean to a declared scalar type, where that loses nothing."""
    if type == "integer" and isinstance(value, float) and fits_type(value, "integer"):
        return _Value(int(value), (_coerced(repr(value), int(value), offset),))
    if type == "boolean" and not isinstance(value, bool) and value in (0, 1):
        return _Value(bool(value), (_coerced(repr(value), bool(value), offset),))
    return _Value(value)


def _coerced(text: str, value: Any, offset: int) -> Repair:
    return Repair(Code.COERCED_VALUE, offset, f"read {text[:40]!r} as {value!r:.40}")
