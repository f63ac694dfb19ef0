"""The JSON of a call: its text is read, and of the object of a body, which keys are the tool, its server and its
arguments, and what else there is (protocol, section 6).

Models know many forms of a call in JSON. What is read here is an object that names one tool and has one value for its
arguments, or the arguments beside the name. No key is dropped that may be an argument.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from xmltools.dialects import Body, hint_of
from xmltools.errors import Code
from xmltools.parser.elements import take_name
from xmltools.parser.json_deltas import JSONObject
from xmltools.parser.open_call import Block, Failure
from xmltools.syntax.json_reader import (
    JSONDepthError,
    JSONError,
    JSONEscapeError,
    JSONNumberError,
    LenientReader,
    loads_lenient,
    read_number,
)
from xmltools.syntax.markup import SPACES, is_valid_name
from xmltools.tools.schema import ANY, Shape, written_number

_OF_APIS: Final = ("type", "id", "call_id", "tool_call_id", "tool_use_id", "index")
_TYPES: Final = ("function", "function_call", "tool", "tool_call", "tool_use")
_ID: Final = re.compile("call|toolu|tool_|fc_|chatcmpl")
_THOUGHTS: Final = ("thought", "thoughts", "thinking", "reasoning", "rationale", "explanation", "comment")
_NO_BRACE: Final = "the last brace of the JSON object is missing"


class NoCallError(Exception):
    """The block gives no call, for this failure."""

    def __init__(self, code: Code, message: str, place: int | None = None, hint: str | None = None) -> None:
        self.failure = Failure(code, message, place, hint)


def read_object_of(block: Block, json: JSONObject, text: str | None = None, written: int = -1) -> dict[str, Any]:
    """The JSON object in `text`, part of the JSON in the block, or all of that.

    Character by character the text is at `written` in the stream; before that of the JSON means nowhere, since it was
    decoded. In a body JSON is right, and a Python literal is not. In its parts, and elsewhere, a repair has reported
    already that elements belong there.
    """
    pairs, is_forge, place = block.pairs, block.dialect.body is Body.ELEMENTS, json.start
    if text is None:
        text, written = block.source_of(place, json.end) + "}" * json.lacks_brace, place
    depth, is_exact = block.reading.limits.depth, written >= place
    try:
        if pairs.python or pairs.quote or json.is_written:
            number = written_number if json.is_written else read_number
            reader = LenientReader(text, depth, number, loose=True, is_call=pairs.python, marks=json.marks)
            value, slips = reader.read()
        else:
            value, slips = loads_lenient(text, depth=depth, loose=True)
    except JSONError as error:
        if isinstance(error, JSONNumberError) and block.reading.toolbox:
            json.is_written = True  # it may be a string without its quotes
            return read_object_of(block, json, text, written)
        code = Code.LIMIT_EXCEEDED if isinstance(error, JSONDepthError) else Code.INVALID_JSON
        hint = None
        if isinstance(error, JSONEscapeError):
            hint = error.hint if is_forge else hint_of(Code.JSON_ESCAPE, block.dialect)
        message = f"the {block.dialect.notation} could not be read: {error}"
        raise NoCallError(code, message, written + error.offset if is_exact else place, hint) from None
    if not isinstance(value, dict):
        raise NoCallError(Code.INVALID_JSON, "the JSON is no object", place)
    tells_python = ((json.is_body and is_exact) or pairs.json) and not block.dialect.json_is_python
    for code, offset, message in slips:
        if tells_python or code is not Code.PYTHON_LITERAL:
            block.add_repair(code, place + offset, message)
    return value


class Envelope:
    """A JSON body. When it is made, its name and server are set on the block; its owner asks for the arguments then."""

    def __init__(self, block: Block, json: JSONObject) -> None:
        self._block = block
        self._dialect = dialect = block.dialect
        self._json = json
        self._said: dict[Code, str] = {}  # what was read in another spelling, or ignored
        self._is_wrapped = False  # what is beside the arguments is not one of them
        members = read_object_of(block, json)
        announced, proposed = block.name, block.proposed
        if proposed is not None and not self._says_name(proposed[0], members):
            take_name(block)
            announced = block.name
            self._rest = self._unwrap(self._with_arguments(members))
        else:
            if proposed is not None:
                block.note_opener(Code.IGNORED_ATTRIBUTE, "attributes of the block were skipped")
            self._rest = self._unwrap(members)
            block.name = self._take_name(self._tool_keys(), dialect.json_tool_name)
        block.resolve_name()
        if block.reading.call_id is not None and block.name != announced:
            self._refuse(Code.DUPLICATE_FIELD, f"both {announced} and {block.name} are named as the tool")
        servers = [key for key in dialect.json_server_name if key in self._rest and self._names_server(key)]
        block.server = self._take_name(servers, dialect.json_server_name)

    def arguments(self, shape: Shape) -> dict[str, Any]:
        """The arguments: the value of their key, and those beside the name. `shape` is that of the tool, or ANY."""
        block, json, dialect, rest = self._block, self._json, self._dialect, self._rest
        usual = [key for key in dialect.json_arguments if key in rest][:1]
        others = [key for key in dialect.json_arguments_names if key in rest and not shape.has_property(key)]
        wrapper, value = self._take([*usual, *others], dialect.json_arguments)
        if isinstance(value, str):
            block.note(Code.JSON_STRING, json.start, "the arguments were a string that contains JSON")
            value = read_object_of(block, json, value)
        elif value is not None and not isinstance(value, dict):
            self._refuse(Code.INVALID_ARGUMENTS, f"expected an object with the arguments, got {value!r:.60}")
        inside: dict[str, Any] = value or {}
        self._is_wrapped |= wrapper is not None
        beside = {
            key: rest[key]
            for key in rest
            if not (key in dialect.json_other_keys and (wrapper is not None or not shape.has_property(key)))
            and self._is_beside(key, key in inside, shape)
        }
        keys = dialect.json_tool_name[0], *dialect.json_server_name[:1], *dialect.json_arguments
        if json.lacks_brace and (beside or any(key in inside and not shape.has_property(key) for key in keys)):
            # A brace of the arguments is missing, and nobody knows where it belongs.
            raise NoCallError(Code.INVALID_JSON, _NO_BRACE, json.end)
        for code, message in self._said.items():
            block.add_repair(code, json.start, message)
        return inside | beside if beside else inside

    def _is_beside(self, key: str, is_given: bool, shape: Shape) -> bool:
        """Is this key of the body an argument? `is_given`: it is one of those in their place."""
        is_typed, is_wrapped, is_declared = not shape.is_any, self._is_wrapped, shape.has_property(key)
        is_known, is_missing = is_declared, is_declared and not is_given
        if _is_of_an_api(key, self._rest[key]):
            is_ignored = is_wrapped or not is_declared
        elif key in _OF_APIS or key in _THOUGHTS:
            is_thought = key in _THOUGHTS and is_typed and not is_declared
            is_ignored = not is_missing and (is_wrapped or is_thought)
        else:  # if the schema lists the arguments, what it does not know is none
            is_known = is_typed and shape.knows(key, "")
            is_ignored = is_wrapped and is_typed and not is_known
        if is_ignored:
            self._said.setdefault(Code.IGNORED_ATTRIBUTE, f"the key {key!r} means nothing")
            return False
        if not is_known:
            hint = f'Put {key!r} into "{self._dialect.json_arguments[0]}" if it is an argument, or leave it out.'
            self._refuse(Code.INVALID_ARGUMENTS, f"the key {key!r} is outside the arguments", hint)
        if is_given:
            self._refuse(Code.DUPLICATE_ARGUMENT, f"given more than once: {key}", f"Give {key} only once.")
        self._said.setdefault(Code.UNWRAPPED_ARGUMENT, f"{key!r} was outside the arguments")
        return True

    # -- a body whose tool the opener names ----------------------------------------------------------------------------

    def _says_name(self, proposed: str, members: dict[str, Any]) -> bool:
        """Does the body name the tool, as the opener does? A key that may be an argument does not count (protocol,
        2.6)."""
        block, dialect = self._block, self._dialect
        toolbox = block.reading.toolbox
        if tool := toolbox and toolbox.resolve(proposed):
            shape = self._shape(tool)
            named = [_text(members, key) for key in dialect.json_tool_names if not shape.has_property(key)]
            return any(map(block.tool_named, named))
        wrapper = self._wrapper_in(members)
        keys = (members if wrapper is None else members[wrapper]).keys()
        return not (keys.isdisjoint(dialect.json_tool_names) or keys.isdisjoint(dialect.json_arguments_names))

    def _with_arguments(self, members: dict[str, Any]) -> dict[str, Any]:
        """The body with a key for the arguments: where it has none, its members are those."""
        json, keys, shape = self._json, self._dialect.json_arguments_names, self._shape(self._block.name)
        if any(key in members and not shape.has_property(key) for key in keys):
            return members
        if json.lacks_brace:
            raise NoCallError(Code.INVALID_JSON, _NO_BRACE, json.end)
        self._block.note(Code.JSON_ARGUMENTS, json.start, "the arguments were read from JSON")
        return {keys[0]: members}

    # -- keys ----------------------------------------------------------------------------------------------------------

    def _unwrap(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members, with those of `{"function": {"name": …, "arguments": …}}` in place of that."""
        dialect, wrapper = self._dialect, self._wrapper_in(members)
        if dialect.json_name_is_key and len(members) == 1:
            ((name, arguments),) = members.items()
            return {dialect.json_tool_name[0]: name, dialect.json_arguments[0]: arguments}
        rest = dict(members)
        if wrapper is None or not rest.keys().isdisjoint(dialect.json_tool_name):
            return rest
        inner: dict[str, Any] = rest.pop(wrapper)
        for key in inner:
            if key in rest and not _is_of_an_api(key, rest[key]):
                self._refuse(Code.DUPLICATE_FIELD, f"{key!r} is in {wrapper!r} and beside it")
        self._is_wrapped = True
        self._said[Code.JSON_KEY] = f"the call was read from the key {wrapper!r}"
        return rest | inner

    def _wrapper_in(self, members: dict[str, Any]) -> str | None:
        return next((key for key in self._dialect.json_wrappers if isinstance(members.get(key), dict)), None)

    def _tool_keys(self) -> list[str]:
        """The keys that name the tool."""
        rest, dialect = self._rest, self._dialect
        found = [key for key in dialect.json_tool_names if key in rest]
        if len(found) > 1:
            tools = [key for key in found if self._block.tool_named(_text(rest, key)) is not None]
            chosen = tools[0] if len(tools) == 1 else found[0]
            shape = self._shape(_text(rest, chosen))
            found = [chosen, *(key for key in found if not shape.has_property(key))]
        return found

    def _names_server(self, key: str) -> bool:
        """Does the key name the server, rather than an argument?"""
        name, toolbox, default = self._block.name, self._block.reading.toolbox, self._dialect.default_server
        if key == self._dialect.json_server_name[0] or not self._shape(name).has_property(key):
            return True
        return bool(toolbox and name and toolbox.find_plain(name, str(self._rest[key]), default))

    def _shape(self, name: str | None) -> Shape:
        """The shape of the arguments of a tool, as far as its name says which."""
        toolbox = self._block.reading.toolbox
        return (toolbox and toolbox.guess(name or "", None, self._dialect.default_server)) or ANY

    def _take(self, keys: list[str], usual: tuple[str, ...]) -> tuple[str | None, Any]:
        """The one key of these and its value, which are taken out of the body; None if there is none."""
        found = list(dict.fromkeys(keys))
        if len(found) > 1:
            self._refuse(Code.DUPLICATE_FIELD, f"{' and '.join(found)} mean the same")
        if not found:
            return None, None
        if found[0] not in usual:
            self._said.setdefault(Code.JSON_KEY, f"the key {found[0]!r} was read as {usual[0]!r}")
        return found[0], self._rest.pop(found[0])

    def _take_name(self, keys: list[str], usual: tuple[str, ...]) -> str | None:
        _, value = self._take(keys, usual)
        if value is None:
            return None
        if not isinstance(value, str) or not is_valid_name(name := value.strip(SPACES)):
            self._refuse(Code.INVALID_NAME, f"{value!r:.60} is no name")
        return name or None

    def _refuse(self, code: Code, message: str, hint: str | None = None) -> NoReturn:
        raise NoCallError(code, message, self._json.start, hint)


def _text(members: dict[str, Any], key: str) -> str:
    value = members.get(key)
    return value.strip(SPACES) if isinstance(value, str) else ""


def _is_of_an_api(key: str, value: Any) -> bool:
    """Is this what APIs write beside a call: its type, its id, its place in a list of calls?"""
    if key == "type":
        return value in _TYPES
    if key == "index":
        return isinstance(value, int)
    return key in _OF_APIS and isinstance(value, str) and bool(_ID.match(value))
