"""`xmltools conformance`: cases in, answers out, one JSON object a line; so any program can test the parser.

A case is `{"id", "chunks": [str…], "tools": [{"name", "description", "parameters", "server"?}…] | null,
"options": {…}}`; the chunks are fed exactly as given. What is no case, a blank line too, is answered with
`usage_error`, and with the id if it has one: there is always one line out for each line in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from xmltools.dialects import for_model, named, opens_reasoning
from xmltools.errors import CallError, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, ReasoningDelta, TextDelta
from xmltools.parser import Limits, Parser
from xmltools.tools import Tool, load_tools

_CACHED_TOOLS = 256
_FLAGS = ("strict", "starts_in_reasoning", "bracket_reasoning")
_LIMITS = ("block_size", "depth", "elements", "blocks")
_WORDS = ("dialect", "model", "generation_prompt")
_OPTIONS = (*_FLAGS, *_WORDS, "also", "reasoning_tags", "code_fences", "limits")


class Runner:
    """Answers cases. Tools are made once for all cases that have the same."""

    def __init__(self) -> None:
        self._tools: dict[str, list[Tool]] = {}

    def run(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Answer each line, in order, before the next is read."""
        return map(self.answer, lines)

    def answer(self, line: bytes) -> str:
        """Answer one line: the result of the case, or a usage error if the line is no case. Never raises."""
        name = None
        try:
            case = _read_object(line)
            name = case.get("id")
            _check_chunks(case)
            parser = Parser(tools=self._load(case.get("tools")), **_read_options(case.get("options")))
        except RecursionError:
            return _usage_error(name, "expected a case, got JSON that is nested too deeply")
        except ValueError as error:  # XMLToolsError is one, and so is what json raises.
            return _usage_error(name, str(error))
        events = [event for chunk in case["chunks"] for event in parser.feed(chunk)] + parser.close()
        return json.dumps({"id": name, **_outcome(events), "unclosed_reasoning": parser.unclosed_reasoning})

    def _load(self, tools: Any) -> list[Tool] | None:
        if tools is None:
            return None
        key = json.dumps(tools)
        if key not in self._tools:
            if len(self._tools) >= _CACHED_TOOLS:
                self._tools.clear()
            self._tools[key] = load_tools(tools)
        return self._tools[key]


def _usage_error(name: Any, message: str) -> str:
    return json.dumps({"id": name, "usage_error": message})


def _outcome(events: list[Event]) -> dict[str, Any]:
    return {
        "text": "".join(event.text for event in events if isinstance(event, TextDelta)),
        "reasoning": "".join(event.text for event in events if isinstance(event, ReasoningDelta)),
        "calls": [_call(event.call) for event in events if isinstance(event, CallCompleted)],
        "errors": [_error(event.error) for event in events if isinstance(event, CallFailed)],
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "server": call.server,
        "name": call.name,
        "arguments": call.arguments,
        "repairs": [repair.code for repair in call.repairs],
        "clean": call.clean,
        "legacy_json": call.legacy_json,
        "dialect": call.dialect,
        "span": call.span,
    }


def _error(error: CallError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint, "span": error.span}


def _read_object(line: bytes) -> dict[str, Any]:
    try:
        case = json.loads(line.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise XMLToolsError(f"expected UTF-8, got the byte {line[error.start]:#04x} at {error.start}") from None
    except json.JSONDecodeError as error:
        raise XMLToolsError(
            f"expected a JSON object, got something else at column {error.colno}: {error.msg}"
        ) from None
    return _expect(case, dict, "a case: a JSON object")  # type: ignore[no-any-return]


def _check_chunks(case: dict[str, Any]) -> None:
    for i, chunk in enumerate(_expect(case.get("chunks"), list, "chunks: a list of strings")):
        _expect(chunk, str, f"chunks[{i}]: a string")


def _refuse(constant: str) -> NoReturn:
    raise XMLToolsError(f"expected JSON, got {constant}")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number[:20])


def _read_options(given: Any) -> dict[str, Any]:
    options = dict(_expect({} if given is None else given, dict, "options: a JSON object"))
    _expect_known(options, _OPTIONS, "options")
    for name in _FLAGS:
        _expect(options.get(name, False), bool, f"options.{name}: true or false")
    if options.get("code_fences", "last") not in ("last", "call", "text"):
        raise XMLToolsError(f"expected options.code_fences: last, call or text, got {_shown(options['code_fences'])}")
    for i, tag in enumerate(_expect(options.get("reasoning_tags") or [], list, "options.reasoning_tags: a list")):
        _expect(tag, str, f"options.reasoning_tags[{i}]: a string")
    for name in _WORDS:
        _expect(options.get(name, ""), str, f"options.{name}: a string")
    also = options.get("also")
    for i, name in enumerate(also if isinstance(also, list) else [also] if also is not None else []):
        _expect(name, str, f"options.also[{i}]: the name of a dialect")
    dialect = for_model(options.pop("model")) if "model" in options else named(options.get("dialect", "forge"))
    if opens_reasoning(dialect, options.pop("generation_prompt", "")):
        options.setdefault("starts_in_reasoning", True)
    return {**options, "dialect": dialect, "limits": _read_limits(options.get("limits"))}


def _read_limits(given: Any) -> Limits:
    limits = _expect({} if given is None else given, dict, "options.limits: a JSON object")
    _expect_known(limits, _LIMITS, "options.limits")
    for name, value in limits.items():
        if type(value) is not int or value < 1:
            raise XMLToolsError(f"expected options.limits.{name}: a whole number from 1, got {_shown(value)}")
    return Limits(**limits)


def _expect(value: Any, kind: type, expected: str) -> Any:
    if not isinstance(value, kind):
        raise XMLToolsError(f"expected {expected}, got {_shown(value)}")
    return value


def _expect_known(given: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for name in given:
        if name not in known:
            raise XMLToolsError(f"expected in {where} only {', '.join(known)}, got {_shown(name)}")


def _shown(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:40] + "…"
