"""Reading: elements or JSON, and a shape, to typed arguments.

Reading converts and never complains: what cannot be converted stays as it came, and the check of the
finished value says what was expected in its place. An alternative of a union is chosen by trying: the first
that fits without a guess. Answers are remembered, since nested unions ask for the same element again and
again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from xmltools._json import JSONDepthError, JSONError, loads, loads_lenient
from xmltools._tree import Element
from xmltools.errors import Code, Repair
from xmltools.schema._check import Checker
from xmltools.schema._scalars import WHITE_SPACE, read_enum, read_scalar
from xmltools.schema._shapes import ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape, UnionShape
from xmltools.schema._untyped import by_name, untyped, untyped_object
from xmltools.schema._values import Problem, fits_type

__all__ = ["Reading", "find_problems", "read_arguments", "read_object"]

_DOUBTFUL = frozenset((Code.JSON_ESCAPE, Code.JSON_EXTRA_BRACE))
"""Slips of JSON after which a text may as well be a string, where the schema takes one."""
_TOLD = frozenset((Code.JSON_VALUE, Code.COMMA_LIST))
"""What says of a string in JSON that it was converted."""
MAX_PROBLEMS = 100
"""Problems that are reported of one call; a model mends no more than that at once."""


class Reading(NamedTuple):
    """What came of reading: typed arguments, what was mended, what does not fit, names that were repeated.

    `too_deep`: a value held JSON that nests deeper than the limit.
    """

    arguments: dict[str, Any]
    repairs: list[Repair]
    problems: list[Problem]
    duplicates: list[str]
    too_deep: bool = False


class _Value(NamedTuple):
    """A value with what happened on the way. `guessed`: the text could as well mean something else."""

    value: Any
    repairs: tuple[Repair, ...] = ()
    duplicates: tuple[str, ...] = ()
    guessed: bool = False

    @property
    def tidy(self) -> bool:
        return not self.guessed and all(repair.code is not Code.COERCED_VALUE for repair in self.repairs)


def read_arguments(children: Sequence[Element], shape: Shape | None, *, depth: int = 64, check: bool = True) -> Reading:
    """Read the elements inside `arguments`: by the shape of the tool's schema, or by none.

    JSON in them may nest `depth` levels. Without `check` nothing is said about problems.
    """
    if shape is None:
        return Reading(untyped_object(children), [], [], [])
    return _finish(shape, lambda reader: reader.properties(children, shape), depth, check)


def read_object(value: dict[str, Any], shape: Shape | None, offset: int, *, check: bool = True) -> Reading:
    """Read arguments that came as JSON: strings become declared types. Repairs get the given offset.

    Without `check` nothing is said about problems.
    """
    if shape is None:
        return Reading(value, [], [], [])
    return _finish(shape, lambda reader: reader.json(value, shape, offset), check=check)


def find_problems(arguments: dict[str, Any], shape: Shape) -> list[Problem]:
    """Return what in typed arguments does not fit the schema."""
    return _finish(shape, lambda reader: _Value(arguments)).problems


def _finish(shape: Shape, read: Callable[[_Reader], _Value], depth: int = 64, check: bool = True) -> Reading:
    reader = _Reader(shape, depth)
    try:
        result = read(reader)
        problems = list(islice(reader.problems(shape, result.value), MAX_PROBLEMS if check else 0))
    except RecursionError:
        # Elements and JSON are bounded in depth; only a caller who is deep in the stack himself gets here.
        return Reading({}, [], [Problem((), "arguments that are nested less deeply", "too many levels")], [])
    repairs = {(repair.code, repair.offset): repair for repair in reversed(result.repairs)}
    duplicates = list(dict.fromkeys(result.duplicates))
    return Reading(result.value, list(repairs.values())[::-1], problems, duplicates, reader.too_deep)


class _Reader:
    """Reads one call. It remembers by identity, and lives no longer than the call."""

    __slots__ = ("_checker", "_depth", "_loaded", "_seen", "too_deep")

    def __init__(self, shape: Shape, depth: int) -> None:
        self._depth = depth
        self.too_deep = False
        self._checker = Checker(shape.maker.document) if shape.maker else None
        self._seen: dict[tuple[int, int, int], tuple[object, Shape, _Value]] = {}
        self._loaded: dict[tuple[str, int], _Value] = {}

    def problems(self, shape: Shape, value: Any) -> Iterable[Problem]:
        """Return what is wrong with `value`."""
        return (
            problem
            for node in (shape.nodes if self._checker else ())
            for problem in self._checker.problems(node, value)  # type: ignore[union-attr]
        )

    def fits(self, shape: Shape, value: Any) -> bool:
        """Return whether `value` is valid."""
        return self._checker is None or all(self._checker.fits(node, value) for node in shape.nodes)

    def _once(self, source: object, shape: Shape, offset: int, read: Callable[[], _Value]) -> _Value:
        key = id(source), id(shape), offset
        if key not in self._seen:
            # Source and shape are kept with the answer, so that no other object gets their identity.
            self._seen[key] = source, shape, read()
        return self._seen[key][2]

    def _load_text(self, text: str, offset: int) -> _Value:
        try:
            value, slips = loads_lenient(text, depth=self._depth)
        except JSONError as error:
            self.too_deep = self.too_deep or isinstance(error, JSONDepthError)
            return _Value(text)
        repairs = [Repair(Code.JSON_VALUE, offset, "read the text as JSON")]
        # That it is a Python literal is no second deviation: JSON does not belong there either.
        repairs += (Repair(code, offset, message) for code, _, message in slips if code is not Code.PYTHON_LITERAL)
        return _Value(value, tuple(repairs), guessed=any(code in _DOUBTFUL for code, _, _ in slips))

    # Elements

    def element(self, element: Element, shape: Shape) -> _Value:
        """Read one element."""
        return self._once(element, shape, element.offset, lambda: self._element(element, shape))

    def _element(self, element: Element, shape: Shape) -> _Value:
        if element.nil:
            return _Value(None)
        if isinstance(shape, UnionShape):
            return self._choose_for(element, shape)
        if isinstance(shape, ArrayShape):
            return self.array([element], shape)
        if element.children:
            return self._node(element, shape)
        return self._leaf(element.text, shape, element.offset)

    def _node(self, element: Element, shape: Shape) -> _Value:
        if isinstance(shape, ObjectShape):
            return self.properties(element.children or (), shape)
        if shape.is_text:
            # It stood before the tool's name, when nobody knew that it was text.
            repair = Repair(Code.BARE_LESS_THAN, element.offset, f"read the markup in {element.name} as text")
            return _Value(element.inner, (repair,))
        return _Value(untyped(element))

    def properties(self, children: Iterable[Element], shape: Shape) -> _Value:
        """Read elements as the properties of an object."""
        values: dict[str, Any] = {}
        repairs: list[Repair] = []
        duplicates: list[str] = []
        for name, group in by_name(children).items():
            child = shape.child(name)
            if child.exact and len(group) == 1 and _is_open(child) and shape.has_property(name):
                read = self._open_value(group[0], child)
            else:
                read = self._group(group, child)
            values[name] = read.value
            repairs += read.repairs
            duplicates += read.duplicates
        return _Value(values, tuple(repairs), tuple(duplicates))

    def _open_value(self, element: Element, shape: Shape) -> _Value:
        """Read an element that is declared to hold any value: text that is JSON as a whole is the list or object."""
        text = element.text.strip(WHITE_SPACE)
        if not element.children and text[:1] in ("{", "[") and text[-1:] in ("}", "]"):
            try:
                value, slips = loads(text, depth=self._depth)
            except JSONError:
                slips = [(Code.JSON_VALUE, 0, "")]
            if not slips and self.fits(shape, value):
                return _Value(value, (Repair(Code.JSON_VALUE, element.offset, "read the text as JSON"),))
        return self.element(element, shape)

    def _group(self, group: list[Element], shape: Shape) -> _Value:
        """Read the elements of one name."""
        if len(group) == 1:
            return self.element(group[0], shape)
        array = next((each for each in shape.alternatives if isinstance(each, ArrayShape)), None)
        if array:
            return self.array(group, array)
        if shape.is_any:
            return _Value(list(map(untyped, group)))
        return self.element(group[0], shape)._replace(duplicates=(group[0].name,))

    def array(self, elements: list[Element], shape: ArrayShape) -> _Value:
        """Read the elements of a list's name: each is an item, or holds items, or is a leaf with JSON."""
        if len(elements) == 1:
            element = elements[0]
            if element.nil:
                return _Value(None)
            if not element.children:
                return self._list_leaf(element.text, shape, element.offset, element)
        items: list[Element] = []
        for element in elements:
            items += (element.children or ()) if self._holds_items(element, len(elements), shape) else (element,)
        return _joined([self.element(item, shape.item(number)) for number, item in enumerate(items)])

    def _holds_items(self, element: Element, count: int, shape: ArrayShape) -> bool:
        if not element.children or (count > 1 and shape.items.is_list):
            return False
        return shape.opens(element.children[0].name, element.name) is shape

    # Leaves

    def _leaf(self, text: str, shape: Shape, offset: int) -> _Value:
        if isinstance(shape, ScalarShape):
            read = read_scalar(text.strip(WHITE_SPACE), shape.type)
        elif isinstance(shape, EnumShape):
            read = read_enum(text, shape.values)
        elif isinstance(shape, ObjectShape):
            return self._object_leaf(text, shape, offset)
        else:
            return _Value(text)
        if not read:
            return self._enum_leaf(text, shape, offset)
        value, unusual = read
        return _Value(value, (_coerced(text, value, offset),) if unusual else ())

    def _enum_leaf(self, text: str, shape: Shape, offset: int) -> _Value:
        """Read what is no scalar: an enum may have lists and objects among its values."""
        if isinstance(shape, EnumShape) and any(isinstance(each, (list, dict)) for each in shape.values):
            loaded = self._load(text, offset)
            if self.fits(shape, loaded.value):
                return loaded
        return _Value(text)

    def _object_leaf(self, text: str, shape: Shape, offset: int) -> _Value:
        if not text.strip(WHITE_SPACE):
            return _Value({})
        loaded = self._load(text, offset)
        if not isinstance(loaded.value, dict):
            return _Value(text)
        return _behind(loaded, self.json(loaded.value, shape, offset))

    def _list_leaf(self, text: str, shape: ArrayShape, offset: int, source: object) -> _Value:
        trimmed = text.strip(WHITE_SPACE)
        if not trimmed:
            return _Value([])
        if trimmed[0] == "[":
            loaded = self._load(text, offset)
            if isinstance(loaded.value, list):
                return _behind(loaded, self.json(loaded.value, shape, offset))
            if trimmed[-1] == "]":
                return _Value(text)  # a list was meant, but nobody can say which
        read = self._one_item(text, shape, offset, source)
        if "," in trimmed and not self.fits(shape.item(0), read.value[0]):
            return self._comma_list(trimmed, shape, offset) or read
        return read

    def _one_item(self, text: str, shape: ArrayShape, offset: int, source: object) -> _Value:
        item = shape.item(0)
        if not isinstance(source, Element):
            read = self.json(source, item, offset)
            return read._replace(value=[read.value], guessed=True)
        read = self.element(source, item)
        repair = Repair(Code.SINGLE_ITEM, offset, f"read {text[:40]!r} as a list of one item")
        return read._replace(value=[read.value], repairs=(*read.repairs, repair), guessed=True)

    def _comma_list(self, text: str, shape: ArrayShape, offset: int) -> _Value | None:
        """Read numbers and the like that are separated by commas; None if they are none. Text may hold commas."""
        reads: list[_Value] = []
        for number, part in enumerate(text.split(",")):
            item = shape.item(number)
            if not all(isinstance(each, (ScalarShape, EnumShape)) for each in item.alternatives):
                return None
            read = self._plain_item(part.strip(WHITE_SPACE), item, offset)
            if read is None:
                return None
            reads.append(read)
        joined = _joined(reads)
        repair = Repair(Code.COMMA_LIST, offset, f"read {text[:40]!r} as a list of {len(reads)} items")
        return joined._replace(repairs=(*joined.repairs, repair), guessed=True)

    def _plain_item(self, text: str, item: Shape, offset: int) -> _Value | None:
        """Read an item without an element of its own; None if it is none."""
        read = self._choose(item.alternatives, lambda each: self._leaf(text, each, offset))
        return read if text and self.fits(item, read.value) else None

    def _load(self, text: str, offset: int) -> _Value:
        """Read JSON or a Python literal, once for all alternatives that ask; other text stays itself."""
        key = text, offset
        if key not in self._loaded:
            self._loaded[key] = self._load_text(text, offset)
        return self._loaded[key]

    # JSON

    def json(self, value: Any, shape: Shape, offset: int) -> _Value:
        """Read a JSON value."""
        if isinstance(value, (dict, list)) or isinstance(shape, UnionShape):
            return self._once(value, shape, offset, lambda: self._json(value, shape, offset))
        return self._json(value, shape, offset)

    def _json(self, value: Any, shape: Shape, offset: int) -> _Value:
        if isinstance(shape, UnionShape):
            return self._choose(shape.alternatives, lambda each: self.json(value, each, offset), typed=True)
        if isinstance(value, str):
            return self._json_text(value, shape, offset)
        if isinstance(shape, ScalarShape) and isinstance(value, (int, float)):
            return _convert_number(value, shape.type, offset)
        if isinstance(shape, ArrayShape) and value is not None:
            return self._json_items(value, shape, offset)
        if isinstance(shape, ObjectShape) and isinstance(value, dict):
            read = {name: self.json(each, shape.child(name), offset) for name, each in value.items()}
            return _joined(list(read.values()))._replace(value={name: each.value for name, each in read.items()})
        return _Value(value)

    def _json_text(self, text: str, shape: Shape, offset: int) -> _Value:
        if shape.is_text or isinstance(shape, EnumShape):
            read = self._leaf(text, shape, offset)
        elif isinstance(shape, ArrayShape):
            read = self._list_leaf(text, shape, offset, text)
        else:
            read = self._leaf(text, shape, offset)
        # In JSON the types are plain to see, so that a string for anything else is never as it should be.
        if read.value == text or any(repair.code in _TOLD for repair in read.repairs):
            return read
        return read._replace(repairs=(*read.repairs, _coerced(text, read.value, offset)))

    def _json_items(self, value: Any, shape: ArrayShape, offset: int) -> _Value:
        if isinstance(value, list):
            return _joined([self.json(each, shape.item(number), offset) for number, each in enumerate(value)])
        item = self.json(value, shape.item(0), offset)
        if not self.fits(shape.item(0), item.value):
            return _Value(value)
        repair = _coerced(str(value)[:40], "a list of one item", offset)
        return item._replace(value=[item.value], repairs=(*item.repairs, repair), guessed=True)

    # Unions

    def _choose_for(self, element: Element, shape: UnionShape) -> _Value:
        shapes = shape.alternatives
        if element.children:
            # What the parser read as elements is none of the strings, and the other way round.
            is_node = shape.opens(element.children[0].name, element.name) is not None
            shapes = tuple(each for each in shapes if each.is_text is not is_node) or shapes
        return self._choose(shapes, lambda each: self.element(element, each))

    def _choose(self, shapes: tuple[Shape, ...], read: Callable[[Shape], _Value], *, typed: bool = False) -> _Value:
        """Return the first tidy alternative that fits, else the first that fits, else the likeliest.

        `typed`: the value came with a type, so that an alternative of that very type comes before all others.
        """
        ordered = sorted(shapes, key=lambda shape: shape.is_text or shape.is_any)
        fitting: list[_Value] = []
        reads: list[_Value] = []
        for shape in ordered:
            result = read(shape)
            if not result.duplicates and self.fits(shape, result.value):
                if result.tidy and not (typed and result.repairs):
                    return result
                fitting.append(result)
            reads.append(result)
        if fitting:
            return min(fitting, key=lambda result: (not result.tidy, result.guessed))
        return self._likeliest(ordered, reads)

    def _likeliest(self, shapes: list[Shape], reads: list[_Value]) -> _Value:
        """Return the reading whose problems are worth telling: that of a container of its own kind."""
        pairs = list(zip(shapes, reads, strict=True))
        nodes = [shape.nodes[0] for shape, each in pairs if shape.nodes and not isinstance(each.value, str)]
        of_kind = [each for shape, each in pairs if shape.nodes and not isinstance(each.value, str)]
        if self._checker:
            for node, each in zip(nodes, of_kind, strict=True):
                if self._checker.likely(nodes, each.value) is node:
                    return each
        return reads[-1]


def _behind(loaded: _Value, read: _Value) -> _Value:
    return read._replace(repairs=(*loaded.repairs, *read.repairs), guessed=loaded.guessed or read.guessed)


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
        tuple(name for read in reads for name in read.duplicates),
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
