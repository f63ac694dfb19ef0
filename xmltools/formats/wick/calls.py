"""Wick's calls, read and written: {"id", "name", "args"}, and `raw_args`, the text that the model wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.losses import Report
from xmltools.models import ToolCall
from xmltools.models.json_fields import expect
from xmltools.syntax.json_reader import JSONError, loads

NAME = "wick"
"""The name by which the format is asked for."""
_CALL_KEYS = ("id", "name", "args", "raw_args")


def read_call(given: Any, where: str, report: Report, index: int | None = None) -> ToolCall:
    """Read one call. `where` names it in errors; its arguments may be an object, nothing, or the text of an object."""
    right = "an object {id, name, args}"
    expect(given, Mapping, where, right)
    if isinstance(given.get("function"), Mapping) and "name" not in given:
        raise XMLToolsError(f"{where}: expected {right}, got a call of OpenAI's: load it as openai")
    kept = {key: value for key, value in given.items() if key not in _CALL_KEYS}
    if isinstance(given.get("raw_args"), str) and given["raw_args"]:
        kept["raw_args"] = given["raw_args"]
    arguments = given.get("args")
    if not isinstance(arguments, Mapping):
        kept["args"] = arguments
        arguments = _arguments(arguments, f"{where}.args", report, index, kept)
    return ToolCall(
        id=string_in(given, "id", where),
        name=string_in(given, "name", where),
        arguments=dict(arguments),
        extra={NAME: kept} if kept else {},
    )


def _arguments(given: Any, where: str, report: Report, index: int | None, kept: dict[str, Any]) -> dict[str, Any]:
    """Read arguments that are no object. What is kept of them is in `kept`, and changed there."""
    if given is None:
        return {}
    expect(given, str, where, "an object, or null")
    try:
        found, slips = loads(given)
    except JSONError:
        found, slips = None, []
    if not isinstance(found, dict) or slips:
        report.add("invalid_arguments", f"{where}: a text that is no JSON object", index, "write args as an object")
        return {}
    report.add("arguments_as_text", f"{where}: the text of an object", index, "write args as an object")
    kept.setdefault("raw_args", kept.pop("args"))
    return found


def write_call(call: ToolCall, raw_args: bool) -> dict[str, Any]:
    """Return a call as Wick spells it, if asked for with the text that the model wrote its arguments in."""
    kept = own_extra(call.extra)
    arguments: Any = dict(call.arguments)
    if not arguments and "args" in kept:
        arguments = kept["args"]
    written = {"id": call.id, "name": call.name, "args": arguments}
    if raw_args and raw_args_of(call):
        written["raw_args"] = raw_args_of(call)
    return with_others(written, kept, _CALL_KEYS)


def raw_args_of(call: ToolCall) -> str:
    """Return the text that the model wrote the arguments of a call in, nothing if it is not known."""
    found = own_extra(call.extra).get("raw_args")
    return found if isinstance(found, str) else ""


def string_in(given: Mapping[str, Any], key: str, where: str) -> str:
    """Return a field that must be text, "" if there is none. `where` is the place of the object in errors."""
    value = given.get(key)
    found: str = "" if value is None else expect(value, str, f"{where}: {key}", "a string")
    return found


def own_extra(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was kept of Wick's own, whoever wrote it."""
    kept = extra.get(NAME)
    return kept if isinstance(kept, Mapping) else {}


def with_others(written: dict[str, Any], kept: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return an object with the keys that were read beside those that Wick knows."""
    return written | {key: value for key, value in kept.items() if key not in known}
