"""Types of arguments as instructions spell them, read back to JSON Schema.

Both styles are read: the lines of a list, `- days (integer, 1 to 5, optional, default 1): For how long.`, and a tool
on one line, `- get_weather(city: string, days?: integer (1 to 5) = 1): Get the weather.` What can't be read gives no
schema, and never an error: a prompt is text, and its sentences may be anybody's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.render.names import refuse_unsayable
from xmltools.tools import Tool

__all__ = ["Schema", "make_tool", "read_listed", "read_signature"]

Schema = dict[str, Any]

MAX_DEPTH = 16
"""Types inside each other."""
MAX_LINE = 20_000
"""Characters of a line that are looked at: a longer one is no line about a tool."""

_WORDS = ("string", "integer", "number", "boolean", "null", "object")
_PLURALS = {f"{word}s": word for word in _WORDS}
_UNITS = {"": "imum", "character": "Length", "item": "Items", "propert": "Properties"}
_NUMBER = r"(-?\d[\d.eE+-]*)"
_UNIT = r"(?: (character|item|propert)\w*)?"
_RANGE = re.compile(f"{_NUMBER} to {_NUMBER}{_UNIT}")
_LIMIT = re.compile(f"(at least|at most|exactly) {_NUMBER}{_UNIT}")
_OTHERS: tuple[tuple[re.Pattern[str], str, Callable[[str], Any]], ...] = (
    (re.compile(f"more than {_NUMBER}"), "exclusiveMinimum", json.loads),
    (re.compile(f"less than {_NUMBER}"), "exclusiveMaximum", json.loads),
    (re.compile(f"a multiple of {_NUMBER}"), "multipleOf", json.loads),
    (re.compile(r"format (\S+)"), "format", str),
    (re.compile(r"matching (.+)"), "pattern", str),
    (re.compile(r"(no duplicates)"), "uniqueItems", bool),
)
_FLAG = re.compile(", (required|optional)(?=[,)])(?:, default )?")
_OR = re.compile(r" or |, |\Z")
_SIGNATURE = re.compile(r"- ((?:[^\s(]| (?=[^\s(]))+)\(")
_SERVER = re.compile(r" \(\w+: ([^()]*)\)(?=: |\Z)")
_LABEL = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|\[name\]|[^\s:?,(){}\[\]\"]+)(\??): ")
_WORD = re.compile("[a-z]+")
_LIKE = re.compile(r"like [^\[\](),{}|=]+(?=\[\]|[,)\]}|=( ]|\Z)")
_BRACKET = re.compile(r"\\.|[()]")
_decoder = json.JSONDecoder()


class _UnreadableError(Exception):
    """The text is no type."""


def make_tool(name: str, description: str, server: str, properties: dict[str, Schema], required: list[str]) -> Tool:
    """Return a tool, without arguments if what was read of them is no schema after all.

    Raises XMLToolsError for a name, of it or of its server, that no call can say.
    """
    refuse_unsayable(name, "a tool")
    refuse_unsayable(server, "a server")
    parameters = {"type": "object", "properties": properties, "required": required}
    try:
        tool = Tool(name=name, description=description, parameters=parameters, server=server)
        _ = tool.shape
        return tool
    except XMLToolsError:
        return Tool(name=name, description=description, server=server)


def read_listed(line: str) -> tuple[str, Schema, bool] | None:
    """Return the name, the schema and whether it is required, of an argument in a list; None for any other line."""
    name, bracket, rest = line[:MAX_LINE].removeprefix("- ").partition(" (")
    flag = _FLAG.search(rest)
    if not bracket or flag is None:
        return None
    schema = _listed_type(rest[: flag.start()])
    closed = rest.find("): ", flag.end())
    if closed >= 0:
        schema["description"] = rest[closed + 3 :]
    return _plain_name(name), schema, flag[1] == "required"


def _plain_name(label: str) -> str:
    """Return the name that `<argument name="…">` says; any other as it is."""
    if not label.startswith("<"):
        return label
    name = label.partition('"')[2].rpartition('"')[0]
    return name.replace("&quot;", '"').replace("&amp;", "&")


def _listed_type(text: str) -> Schema:
    """Return the schema of `"a" or "b"`, `integer or null, at least 1`, `list of strings, each in <tag>`."""
    found: list[Schema] = []
    at, joint = 0, " or "
    while joint == " or ":
        schema, at = _listed_alternative(text, at)
        found.append(schema)
        stop = _OR.match(text, at)
        if stop is None:
            return {}
        at, joint = stop.end(), stop[0]
    bounds = _bounds(text[at:])
    return _union([{**each, **bounds} if each.keys() == {"type"} else each for each in found])


def _listed_alternative(text: str, at: int) -> tuple[Schema, int]:
    try:
        value, end = _decoder.raw_decode(text, at)
        return {"enum": [value]}, end
    except (ValueError, RecursionError):
        stop = _OR.search(text, at)
        end = stop.start() if stop else len(text)
        return _word_schema(text[at:end]), end


def _word_schema(word: str) -> Schema:
    if word in _WORDS:
        return {"type": word}
    if word == "list" or word.startswith("list of "):
        inner = _PLURALS.get(word.removeprefix("list of "))
        return {"type": "array", "items": {"type": inner}} if inner else {"type": "array"}
    return {}


def _union(schemas: list[Schema]) -> Schema:
    """Return one schema for the alternatives; values that are listed are one alternative together."""
    if len(schemas) == 1:
        return schemas[0]
    if all(each.keys() == {"enum"} for each in schemas):
        return {"enum": [value for each in schemas for value in each["enum"]]}
    return {"anyOf": schemas}


def _bounds(text: str) -> Schema:
    """Return what the bounds after a type say, such as `1 to 5 items, no duplicates`; unknown words say nothing."""
    schema: Schema = {}
    while text:
        if text.startswith("matching "):
            piece, text = text, ""  # a pattern may hold commas, and comes last
        else:
            piece, _, text = text.partition(", ")
        schema |= _bound(piece)
    return schema


def _bound(piece: str) -> Schema:
    try:
        if found := _RANGE.fullmatch(piece):
            return _limits(found[3], json.loads(found[1]), json.loads(found[2]))
        if found := _LIMIT.fullmatch(piece):
            value = json.loads(found[2])
            return _limits(found[3], *{"at least": (value, None), "at most": (None, value)}.get(found[1], (value,) * 2))
        for pattern, keyword, convert in _OTHERS:
            if found := pattern.fullmatch(piece):
                return {keyword: convert(found[1])}
    except ValueError:
        pass  # 1.2.3 is no number
    return {}


def _limits(unit: str | None, low: Any, high: Any) -> Schema:
    keyword = _UNITS[unit or ""]
    return {f"{side}{keyword}": value for side, value in (("min", low), ("max", high)) if value is not None}


def read_signature(line: str) -> Tool | None:
    """Return the tool that a line such as `- add(a: integer, b: integer) (Server: sums): Add two numbers.` tells of.

    Returns None for any other line.
    """
    begin = _SIGNATURE.match(line)
    if begin is None or len(line) > MAX_LINE:
        return None
    reader = _Reader(line, begin.end())
    try:
        properties, required = reader.members(")", 0)
    except (_UnreadableError, RecursionError):
        return None
    server = _SERVER.match(line, reader.at)
    end = server.end() if server else reader.at
    if end < len(line) and not line.startswith(": ", end):
        return None
    try:
        return make_tool(begin[1], line[end + 2 :], server[1] if server else "local", properties, required)
    except XMLToolsError:
        return None


class _Reader:
    """Reads types in the notation of TypeScript. `at` is how far it got; it raises _UnreadableError for other text."""

    __slots__ = ("at", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def _take(self, word: str) -> bool:
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def _need(self, word: str) -> None:
        if not self._take(word):
            raise _UnreadableError

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def _json(self) -> Any:
        try:
            value, self.at = _decoder.raw_decode(self.text, self.at)
        except ValueError:
            raise _UnreadableError from None
        return value

    def members(self, closer: str, depth: int) -> tuple[dict[str, Schema], list[str]]:
        """Read properties to the bracket that closes them. Returns their schemas, and the names of the required."""
        properties: dict[str, Schema] = {}
        required: list[str] = []
        more = not self._take(closer)
        while more:
            name, schema, needed = self._member(depth)
            if name is not None:
                properties[name] = schema
                required += [name] if needed else []
            more = self._take(", ")
            if not more:
                self._need(closer)
        return properties, required

    def _member(self, depth: int) -> tuple[str | None, Schema, bool]:
        found = self._match(_LABEL)
        if found is None:
            raise _UnreadableError
        name = None if found[1] == "[name]" else found[1]
        if name is not None and name.startswith('"'):
            name = str(json.loads(name))
        schema = self._type(depth)
        if self._take(" = "):
            schema = {**schema, "default": self._json()}
        return name, schema, not found[2]

    def _type(self, depth: int) -> Schema:
        if depth > MAX_DEPTH:
            raise _UnreadableError
        found = [self._single(depth)]
        while self._take(" | "):
            found.append(self._single(depth))
        return _union(found)

    def _single(self, depth: int) -> Schema:
        schema = self._base(depth)
        while True:
            if self._take("[]"):
                schema = {"type": "array", "items": schema}
            elif self._take(" ("):
                schema = {**schema, **_bounds(self._bracketed())}
            else:
                return schema

    def _base(self, depth: int) -> Schema:
        if self._take("("):
            schema = self._type(depth + 1)
            self._need(")")
            return schema
        if self._take("["):
            return self._tuple(depth + 1)
        if self._take("{"):
            properties, required = self.members("}", depth + 1)
            return {"type": "object", "properties": properties, "required": required}
        if found := self._match(_LIKE):
            self.at -= len(found[0]) - len(found[0].rstrip())  # the space belongs to the mark after it
            return {}
        word = _WORD.match(self.text, self.at)
        if word and word[0] in (*_WORDS, "any"):
            self.at = word.end()
            return {} if word[0] == "any" else {"type": word[0]}
        return {"enum": [self._json()]}

    def _tuple(self, depth: int) -> Schema:
        first: list[Schema] = []
        while not self._take("]"):
            self._take("...")
            first.append(self._type(depth))
            self._take(", ")
        return {"type": "array", "prefixItems": first}

    def _bracketed(self) -> str:
        """Return what stands before the bracket that closes, which a pattern in it may hold after a backslash."""
        start, depth = self.at, 1
        for found in _BRACKET.finditer(self.text, start):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if not depth:
                self.at = found.end()
                return self.text[start : found.start()]
        raise _UnreadableError
