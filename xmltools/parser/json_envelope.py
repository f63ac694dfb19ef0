"""The envelope of a call in JSON: which keys of its object are the tool, its server and its arguments, and what else
there is (protocol, section 6).

Models know many forms of a call in JSON. What is read here is an object that names one tool and has one value for its
arguments, or the arguments beside the name. No key is dropped that may be an argument.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from xmltools.dialects import Dialect
from xmltools.errors import Code
from xmltools.tools.schema import Shape

_TYPES: Final = ("function", "function_call", "tool", "tool_call", "tool_use")
_IDS: Final = ("id", "call_id", "tool_call_id", "tool_use_id", "index")
_ID: Final = re.compile("call|toolu|tool_|fc_|chatcmpl")
_THOUGHTS: Final = ("thought", "thoughts", "thinking", "reasoning", "rationale", "explanation", "comment")


class EnvelopeError(Exception):
    """The keys give no call: `code`, `message`, and a `hint` if there is a better one than that of the code."""

    def __init__(self, code: Code, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Envelope:
    """A JSON body. Its owner asks for the name, then for the server, and then for the arguments.

    `repairs` is what was read in another spelling, or ignored: a message for each code.
    """

    def __init__(self, body: dict[str, Any], dialect: Dialect) -> None:
        self._dialect = dialect
        self._rest = dict(body)
        if dialect.json_name_is_key and len(body) == 1:
            ((name, arguments),) = body.items()
            self._rest = {dialect.json_tool_name[0]: name, dialect.json_arguments[0]: arguments}
        self._nested = False
        self._wrapper: str | None = None
        self.repairs: dict[Code, str] = {}
        self._unwrap()

    def _unwrap(self) -> None:
        """Take the members of `{"function": {"name": …, "arguments": …}}` for those of the body."""
        dialect = self._dialect
        if not self._rest.keys().isdisjoint(dialect.json_tool_name):
            return
        for key in dialect.json_wrappers:
            inner = self._rest.get(key)
            if not isinstance(inner, dict):
                continue
            del self._rest[key]
            twice = [name for name in inner if name in self._rest and not _is_of_an_api(name, self._rest[name])]
            if twice:
                raise EnvelopeError(Code.DUPLICATE_FIELD, f"{twice[0]!r} is in {key!r} and beside it")
            self._rest |= inner
            self._nested = True
            self.repairs.setdefault(Code.JSON_KEY, f"the call was read from the key {key!r}")
            return

    def name(self, is_tool: Callable[[str], bool], declares: Callable[[str, str], bool]) -> Any:
        """Return what names the tool, None if nothing does.

        `is_tool` says whether there is a tool of a name, `declares` whether the tool of a name has such an argument.
        """
        rest, fields = self._rest, (*self._dialect.json_tool_name, *self._dialect.json_other_tool_name)
        found = [key for key in fields if key in rest]
        if len(found) > 1:
            tools = [key for key in found if isinstance(rest[key], str) and is_tool(rest[key].strip())]
            chosen = tools[0] if len(tools) == 1 else found[0]
            named = rest[chosen].strip() if isinstance(rest[chosen], str) else ""
            self._refuse_twins([chosen], [key for key in found if key != chosen and not declares(named, key)])
            found = [chosen]
        if not found:
            return None
        return self._take(found[0], self._dialect.json_tool_name)

    def server(self, is_argument: Callable[[str, Any], bool]) -> Any:
        """Return what names the server, None if nothing does. `is_argument` is asked for a key and its value."""
        found = [key for key in self._dialect.json_server_name if key in self._rest]
        for key in found[::-1]:
            if key != self._dialect.json_server_name[0] and is_argument(key, self._rest[key]):
                found.remove(key)
        self._refuse_twins(found[:1], found[1:])
        return self._rest.pop(found[0]) if found else None

    def wrapped(self, shape: Shape | None) -> Any:
        """Return the value with the arguments, None if there is none. `shape` is that of the tool, if known."""
        fields, others = self._dialect.json_arguments, self._dialect.json_other_arguments
        found = [key for key in fields if key in self._rest]
        found = found[:1] + [key for key in (*found[1:], *others) if key in self._rest and not _declares(shape, key)]
        self._refuse_twins(found[:1], found[1:])
        if not found:
            return None
        self._wrapper = found[0]
        return self._take(self._wrapper, fields)

    def unwrapped(self, wrapped: dict[str, Any], shape: Shape | None) -> dict[str, Any]:
        """Return the arguments beside the name, and judge all other keys.

        `wrapped` holds the arguments that stand where they should.
        """
        found: dict[str, Any] = {}
        for key, value in self._rest.items():
            if key in self._dialect.json_other_keys and not (_declares(shape, key) and self._wrapper is None):
                continue
            if self._is_ignored(key, value, wrapped, shape):
                self.repairs.setdefault(Code.IGNORED_ATTRIBUTE, f"the key {key!r} means nothing")
            elif not self._is_argument(key, shape):
                hint = f'Put {key!r} into "{self._dialect.json_arguments[0]}" if it is an argument, or leave it out.'
                raise EnvelopeError(Code.INVALID_ARGUMENTS, f"the key {key!r} is outside the arguments", hint)
            elif key in wrapped:
                hint = f"Give {key} only once."
                raise EnvelopeError(Code.DUPLICATE_ARGUMENT, f"given more than once: {key}", hint)
            else:
                self.repairs.setdefault(Code.UNWRAPPED_ARGUMENT, f"{key!r} was outside the arguments")
                found[key] = value
        return found

    def in_arguments(self, wrapped: dict[str, Any], shape: Shape | None) -> bool:
        """Return whether keys of the body are in the arguments, as they do if these were not closed."""
        dialect = self._dialect
        fields = (dialect.json_tool_name[0], *dialect.json_server_name[:1], *dialect.json_arguments)
        return any(key in wrapped and not _declares(shape, key) for key in fields)

    def _is_ignored(self, key: str, value: Any, wrapped: dict[str, Any], shape: Shape | None) -> bool:
        is_wrapped = self._wrapper is not None or self._nested
        declared = _declares(shape, key)
        if key == "type" or key in _IDS:
            if _is_of_an_api(key, value):
                return is_wrapped or not declared
            return is_wrapped and (not declared or key in wrapped)
        if declared and key not in wrapped:
            return False
        if key in _THOUGHTS:
            return is_wrapped or (shape is not None and not declared)
        # What the schema does not know is no argument, if it lists the arguments.
        return is_wrapped and not declared and shape is not None and not shape.knows(key, "")

    def _is_argument(self, key: str, shape: Shape | None) -> bool:
        if shape is None:
            return False
        return _declares(shape, key) or (shape.knows(key, "") and key not in (*_IDS, *_THOUGHTS, "type"))

    def _take(self, key: str, usual: tuple[str, ...]) -> Any:
        if key not in usual:
            self.repairs.setdefault(Code.JSON_KEY, f"the key {key!r} was read as {usual[0]!r}")
        return self._rest.pop(key)

    def _refuse_twins(self, one: list[str], others: list[str]) -> None:
        if others:
            raise EnvelopeError(Code.DUPLICATE_FIELD, f"{' and '.join(one + others)} mean the same")


def _declares(shape: Shape | None, key: str) -> bool:
    return shape is not None and shape.has_property(key)


def _is_of_an_api(key: str, value: Any) -> bool:
    """Is this what APIs write beside a call: its type, its id, its place in a list of calls?"""
    if key == "type":
        return value in _TYPES
    return key in _IDS and (
        isinstance(value, int) if key == "index" else isinstance(value, str) and bool(_ID.match(value))
    )
