"""A JSON Schema, checked once and put into one form.

`Document` walks over a schema as people write it (draft 2020-12, draft 7's older words, OpenAPI's
`nullable`) and makes *nodes*: plain dicts with only the keywords that we know, in the words of 2020-12.
References become the pointers of nodes, patterns are compiled, and whatever could fail later fails here,
with the place and what to do. So the readers of nodes need no error handling at all. Only patterns never fail: one that
can't be checked is not, and `unchecked` says so.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from xmltools.errors import XMLToolsError

if TYPE_CHECKING:
    from xmltools.tools.schema.patterns import Pattern

Node = dict[str, Any]
"""A schema, or a part of one, that is an object."""
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")

MAX_DEPTH = 200
"""Steps from the root of a schema to any place in it."""
MAX_CHAIN = 100
"""Schemas that may apply to one value through each other: it bounds the recursion of all readers."""

MAX_PATTERNS = 50_000
"""Units of all patterns of a schema together."""

_NOT_NULL = "/~"
"""Ends the place of the schema that `nullable` stands beside, without it: no reference names such a place."""

NEVER = "never"
"""Our keyword for the schema `false`."""

_IN_PLACE = ("not", "if", "then", "else")
_ONE = (*_IN_PLACE, "additionalProperties", "propertyNames", "contains", "items", "additionalItems")
_ONE_TOO = ("unevaluatedProperties", "unevaluatedItems")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_REACHING = frozenset((*_IN_PLACE, "dependentSchemas", "allOf", "anyOf", "oneOf", "$ref"))
"""Keywords by which other schemas apply to the same value."""
_WORDS = frozenset(("description", "title", "default", "examples", "$defs", "definitions"))
PLAIN = _WORDS | {"type"}
"""Keywords that ask for a type, or for nothing."""
_COUNTED = ("Length", "Items", "Properties", "Contains")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRINGS = ("description", "title", "format")


_OLDER = frozenset(("additionalItems", "dependencies", "exclusiveMinimum", "exclusiveMaximum"))
"""Keywords that are there in older words, or may be."""


class Document:
    """A schema and all that it refers to. Raises XMLToolsError if any of it is invalid.

    The schema is kept, and must not change: `json_copy` or `read_json` makes one that nobody else has.
    """

    __slots__ = ("_pending", "_raw", "_room", "linked", "nodes", "patterns", "plain", "root", "unchecked")

    def __init__(self, schema: Node) -> None:
        self._raw = schema
        self._pending: list[tuple[str, str]] = []
        self.nodes: dict[str, Node] = {}
        self.patterns: dict[str, Pattern] = {}
        self._room = MAX_PATTERNS
        self.unchecked: dict[str, str] = {}
        """The places of patterns that are not checked, and what is to be said of each."""
        self.root = self._node(self._raw, "")
        self._follow_references()
        if self.unchecked:
            self._loosen()
        linked = {at: node for at, node in self.nodes.items() if not node.keys().isdisjoint(_REACHING)}
        if linked:
            self._refuse_endless(linked)
        self.linked = frozenset(map(id, linked.values()))
        """The identities of nodes through which others apply to the same value."""
        self.plain = {id(node): node["type"] for node in self.nodes.values() if "type" in node and node.keys() <= PLAIN}
        """The types of nodes that ask for nothing else, by their identities."""

    def target(self, node: Node) -> Node:
        """Return the node that `node` refers to by its `$ref`."""
        return self.nodes[node["$ref"]]

    def matching(self, patterns: Iterable[str], name: str) -> list[str]:
        """Return those of the `patterns` of names that `name` matches, of those that are checked."""
        known = self.patterns
        return [each for each in patterns if each in known and known[each].found(name)]

    def in_place(self, node: Node) -> list[Node]:
        """Return the nodes that apply to the same value as `node`."""
        found = [node[word] for word in _IN_PLACE if word in node]
        found += node.get("dependentSchemas", {}).values()
        for word in ("allOf", "anyOf", "oneOf"):
            found += node.get(word, ())
        if "$ref" in node:
            found.append(self.target(node))
        return found

    # The walk. Every method takes a place (a JSON pointer) to name it in messages.

    def _node(self, schema: Any, at: str) -> Node:
        if schema is True or schema is False:
            node: Node = {} if schema else {NEVER: True}
        elif isinstance(schema, dict):
            node = self._keywords(schema, at)
            if "prefixItems" in node or "items" in node or not node.keys().isdisjoint(_OLDER):
                _modernise(node)
        else:
            _fail(at, f"expected a schema (an object, true or false), found {_name(schema)}")
        self.nodes[at] = node
        if node.pop("nullable", False):
            self._allow_null(node, at)
        return node

    def _allow_null(self, node: Node, at: str) -> None:
        # OpenAPI's `nullable` stands above everything else in its schema.
        rest = {word: node.pop(word) for word in list(node) if word not in _WORDS}
        if rest:
            node["anyOf"] = [rest, {"type": ["null"]}]
            self.nodes[at + _NOT_NULL] = rest

    def _keywords(self, schema: dict[str, Any], at: str) -> Node:
        node: Node = {}
        for word, value in schema.items():
            if type(value) is str:  # most keywords are words, and right: their place need not be known
                if word in _STRINGS:
                    node[word] = value
                    continue
                if word == "type" and value in TYPES:
                    node[word] = [value]
                    continue
            read = _READERS.get(word)
            if read:
                node[word] = read(self, value, f"{at}/{_escape(word)}")
        if "patternProperties" in node and not node["patternProperties"].keys() <= self.patterns.keys():
            node["additionalProperties"] = {}  # any name may be one that is meant
        return node

    def _one(self, value: Any, at: str) -> Node | list[Node]:
        if isinstance(value, list) and at.endswith("/items"):
            return self._many(value, at)
        return self._node(value, at)

    def _many(self, value: Any, at: str) -> list[Node]:
        if not isinstance(value, list):
            _fail(at, f"expected a list of schemas, found {_name(value)}")
        return [self._node(each, f"{at}/{number}") for number, each in enumerate(value)]

    def _named(self, value: Any, at: str) -> dict[str, Node]:
        if not isinstance(value, dict):
            _fail(at, f"expected an object that maps names to schemas, found {_name(value)}")
        return {name: self._node(each, f"{at}/{_escape(name)}") for name, each in value.items()}

    def _patterned(self, value: Any, at: str) -> dict[str, Node]:
        for pattern in value if isinstance(value, dict) else ():
            self._pattern(pattern, f"{at}/{_escape(pattern)}")
        return self._named(value, at)

    def _pattern(self, value: Any, at: str) -> str:
        from xmltools.tools.schema.patterns import Pattern, UncheckedError  # only here: few schemas have patterns

        text: str = _string(self, value, at)
        try:
            if text not in self.patterns:
                pattern = Pattern(text)
                self._room -= pattern.size
                if self._room < 0:
                    raise UncheckedError("the patterns of the schema are too large together")
                pattern.compile()
                self.patterns[text] = pattern
        except UncheckedError as error:
            self.unchecked[at] = f"#{at}: the pattern {text[:80]!r} is not checked: {error}"
        return text

    def _dependencies(self, value: Any, at: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            _fail(at, f"expected an object, found {_name(value)}")
        names = {name: each for name, each in value.items() if isinstance(each, list)}
        schemas = {name: each for name, each in value.items() if not isinstance(each, list)}
        return {"names": _names_by_name(self, names, at), "schemas": self._named(schemas, at)}

    def _reference(self, value: Any, at: str) -> str:
        text: str = _string(self, value, at)
        if text != "#" and not text.startswith("#/"):
            _fail(at, f"{text!r} is out of reach; use a reference inside the schema, such as #/$defs/name")
        pointer = unquote(text[1:])
        self._pending.append((pointer, at))
        return pointer

    def _follow_references(self) -> None:
        while self._pending:
            pointer, at = self._pending.pop()
            if pointer not in self.nodes:
                self._node(self._lookup(pointer, at), pointer)

    def _lookup(self, pointer: str, at: str) -> Any:
        value: Any = self._raw
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", key) and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                _fail(at, f"there is nothing at #{pointer}; define it or correct the reference")
        return value

    def _loosen(self) -> None:
        """Take from nodes what would refuse a value because it fits a schema of which a part is not checked."""
        referring: dict[str, list[str]] = {}
        for at, node in self.nodes.items():
            if "$ref" in node:
                referring.setdefault(node["$ref"], []).append(at)
        parts: set[str] = set()
        pending = list(self.unchecked)
        while pending:
            at = pending.pop()
            while at not in parts:  # the schema around it is not checked in full either
                parts.add(at)
                pending += referring.get(at, ())
                at = at.rpartition("/")[0]
        lost_if = False
        for at, node in self.nodes.items():
            for word in ("not", "if", "oneOf", "contains"):
                if word in node and f"{at.removesuffix(_NOT_NULL)}/{word}" in parts:
                    if word == "oneOf":
                        node["anyOf"] = node.get("anyOf", []) + node[word]
                    node.pop("maxContains" if word == "contains" else word, None)
                    lost_if |= word == "if"
        for node in self.nodes.values() if lost_if else ():  # by what the `if` would say, or leads to
            node.pop("unevaluatedProperties", None)
            node.pop("unevaluatedItems", None)

    def _refuse_endless(self, linked: dict[str, Node]) -> None:
        """Refuse schemas that apply to a value by way of themselves, or by too long a way. `linked`: those that apply
        others at all, by their places."""
        places = {id(node): at.removesuffix(_NOT_NULL) for at, node in linked.items()}
        heights: dict[int, int] = {}
        for at, node in linked.items():
            if self._height(node, 0, heights, places) > MAX_CHAIN:
                _fail(at, f"more than {MAX_CHAIN} schemas apply through each other; shorten the chain")

    def _height(self, node: Node, chain: int, heights: dict[int, int], places: dict[int, str]) -> int:
        known = heights.get(id(node))
        if known == 0:  # it is being found
            _fail(places.get(id(node), ""), "this schema refers to itself without a property or item in between")
        if known is None:
            if node.keys().isdisjoint(_REACHING):
                known = 1
            else:
                if chain > MAX_CHAIN:
                    _fail(
                        places[id(node)],
                        f"more than {MAX_CHAIN} schemas apply through each other; shorten the chain",
                    )
                heights[id(node)] = 0
                inner = self.in_place(node)
                known = 1 + max((self._height(each, chain + 1, heights, places) for each in inner), default=0)
            heights[id(node)] = known
        return known


def _modernise(node: Node) -> None:
    """Put the older words into those of draft 2020-12."""
    if isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in node:
            node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)
    dependencies = node.pop("dependencies", None)
    if dependencies:
        node["dependentRequired"] = dependencies["names"] | node.get("dependentRequired", {})
        node["dependentSchemas"] = dependencies["schemas"] | node.get("dependentSchemas", {})
    for word, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        flag = node.get(word)
        if isinstance(flag, bool):
            del node[word]
            if flag and limit in node:
                node[word] = node.pop(limit)


# Readers of keywords whose values are no schemas. They take (document, value, place) like the methods above.


def _types(_: Document, value: Any, at: str) -> list[str]:
    types = [value] if isinstance(value, str) else value
    if not isinstance(types, list) or not types:
        _fail(at, f"expected the name of a type or a list of names, found {_name(value)}")
    for each in types:
        if each not in TYPES:
            _fail(at, f"there is no type {each!r}; the types are {', '.join(TYPES)}")
    return list(dict.fromkeys(types))


def _wanted(fits: Callable[[Any], bool], words: str) -> Callable[[Document, Any, str], Any]:
    """Return a reader that takes what fits as it is; `words` say what that is."""

    def read(_: Document, value: Any, at: str) -> Any:
        return value if fits(value) else _fail(at, f"expected {words}, found {_name(value)}")

    return read


_string = _wanted(lambda value: isinstance(value, str), "a string")
_flag = _wanted(lambda value: isinstance(value, bool), "true or false")
_values = _wanted(lambda value: isinstance(value, list) and bool(value), "a list of at least one value")
_names = _wanted(
    lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "a list of names of properties",
)


def _names_by_name(document: Document, value: Any, at: str) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        _fail(at, f"expected an object that maps names to lists of names, found {_name(value)}")
    return {name: _names(document, each, f"{at}/{_escape(name)}") for name, each in value.items()}


def _count(_: Document, value: Any, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0 or value != int(value):
        _fail(at, f"expected a whole number of at least 0, found {value!r}")
    return int(value)


def _limit(_: Document, value: Any, at: str) -> int | float | bool:
    exclusive = isinstance(value, bool) and at.rpartition("/")[2].startswith("exclusive")
    if not exclusive and (isinstance(value, bool) or not isinstance(value, (int, float))):
        _fail(at, f"expected a number, found {_name(value)}")
    if at.endswith("/multipleOf") and value <= 0:
        _fail(at, f"expected a number above 0, found {value!r}")
    return value  # type: ignore[no-any-return]


def _anything(_: Document, value: Any, at: str) -> Any:
    return value


_READERS: dict[str, Callable[[Document, Any, str], Any]] = {
    **dict.fromkeys((*_ONE, *_ONE_TOO), Document._one),
    **dict.fromkeys(_MANY, Document._many),
    **dict.fromkeys(_NAMED, Document._named),
    **{f"{bound}{what}": _count for what in _COUNTED for bound in ("min", "max")},
    **dict.fromkeys(_NUMBERS, _limit),
    **dict.fromkeys(_STRINGS, _string),
    "type": _types,
    "enum": _values,
    "const": _anything,
    "default": _anything,
    "examples": _anything,
    "required": _names,
    "dependentRequired": _names_by_name,
    "dependencies": Document._dependencies,
    "patternProperties": Document._patterned,
    "pattern": Document._pattern,
    "uniqueItems": _flag,
    "nullable": _flag,
    "$ref": Document._reference,
}


def json_copy(schema: Mapping[str, Any]) -> Node:
    """Return a deep copy of a schema; refuse what is no JSON object, and what never ends."""
    if not isinstance(schema, Mapping):
        _fail("", f"expected a JSON Schema object, found {type(schema).__name__}")
    copied = _quick_copy(schema, 0)
    return _careful_copy(schema, "") if copied is _UNSURE else copied  # type: ignore[no-any-return]


def read_json(text: str) -> Node:
    """Return the schema that `json.dumps` wrote as `text`; refuse the same as `json_copy`."""
    schema = json.loads(text)
    # Few brackets cannot nest deeply, and what has no name of a number that JSON lacks has no such number.
    is_sure = text.count("{") + text.count("[") <= MAX_DEPTH and "NaN" not in text and "Infinity" not in text
    return schema if is_sure and type(schema) is dict else json_copy(schema)


_UNSURE = object()


def _quick_copy(value: Any, depth: int) -> Any:
    """Return a deep copy, or _UNSURE if there is anything in it that is worth a message with its place."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if kind is dict and depth < MAX_DEPTH:
        copied = {key: _quick_copy(each, depth + 1) for key, each in value.items() if type(key) is str}
        sure = len(copied) == len(value) and _UNSURE not in copied.values()
        return copied if sure else _UNSURE
    if kind is list and depth < MAX_DEPTH:
        items = [_quick_copy(each, depth + 1) for each in value]
        return _UNSURE if _UNSURE in items else items
    return value if kind is float and math.isfinite(value) else _UNSURE


def _careful_copy(value: Any, at: str) -> Any:
    if at.count("/") > MAX_DEPTH:
        _fail(at[:100] + "…", f"more than {MAX_DEPTH} levels deep; use $defs and $ref, or a simpler schema")
    if isinstance(value, Mapping):
        return {_key(key, at): _careful_copy(each, f"{at}/{_escape(key)}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_careful_copy(each, f"{at}/{number}") for number, each in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return _fail(at, f"{value!r:.80} is no JSON value")


def _key(key: Any, at: str) -> str:
    return key if isinstance(key, str) else _fail(at, f"the key {key!r:.80} is no string")


def _escape(key: object) -> str:
    text = str(key)
    return text.replace("~", "~0").replace("/", "~1") if "~" in text or "/" in text else text


def _name(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, str)):
        return f"{value!r:.80}" if value is not None else "null"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object"


def _fail(at: str, message: str) -> NoReturn:
    raise XMLToolsError(f"invalid schema at #{at}: {message}")
