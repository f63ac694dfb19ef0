"""What a parser says of replies, as plain data that two versions can be compared by.

`python record.py` answers for one version: `against` starts it once with our Python, and once with that of another
checkout. So it imports only public names of `xmltools`. It takes and gives plain lists, dictionaries, strings and
numbers, as pickles: JSON would make one character of two lone surrogates.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
from array import array
from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

import xmltools
from xmltools import (
    ArgumentDelta,
    CallCompleted,
    CallError,
    CallFailed,
    CallStarted,
    Event,
    Limits,
    Noticed,
    Parser,
    ReasoningDelta,
    Skipped,
    TextDelta,
    Tool,
    ToolCall,
    parse,
)

__all__ = ["FIELDS", "Item", "Record", "Trial", "normal", "record"]

Trial = tuple[list[str], str | None, dict[str, Any]]
"""A reply in chunks, the definitions of the tools as JSON, and the options of `Parser`: `limits` as a dictionary."""
Item = tuple[Any, ...]
"""The kind of a thing that was said, and what was said."""
Record = tuple[list[Item], list[int], list[int]]
"""What was said in all, and behind each chunk: how many characters and how many events of calls there were so far."""

FIELDS = {
    "TextDelta": ("", "text", "end"),
    "ReasoningDelta": ("", "text", "end"),
    "ArgumentDelta": ("path", "text", ""),
    "Skipped": ("end",),
    "CallStarted": ("id", "name", "server"),
    "CallCompleted": ("id", "name", "server", "arguments", "repairs", "legacy_json", "dialect", "span"),
    "CallFailed": ("id", "code", "span", "message", "hint", "name", "server", "arguments", "source", "offset"),
    "Noticed": ("code", "span", "message", "notation", "name", "is_whole", "is_fenced"),
}
"""The names of what an item holds behind its kind."""
_DELTAS = {TextDelta, ReasoningDelta, ArgumentDelta}
_STEPS = {CallStarted, CallCompleted, CallFailed}
_SECONDS = 30
"""A reply that takes longer makes the parser hang."""


def normal(events: Iterable[Event]) -> list[Item]:
    """Return events as tuples with all that is in them, adjacent deltas joined, empty ones left out. Notices come
    first: how long after its text one is given depends on the chunks."""
    seen: list[Item] = []
    notices: list[Item] = []
    for event in events:
        kind = event.__class__
        if kind is TextDelta or kind is ReasoningDelta:
            _join(seen, kind.__name__, None, event.text, event.span[1])  # type: ignore[attr-defined]
        elif kind is ArgumentDelta:
            _join(seen, "ArgumentDelta", event.path, event.text, None)  # type: ignore[attr-defined]
        elif kind is Skipped:
            if seen and seen[-1][0] == "Skipped":
                seen.pop()
            seen.append(("Skipped", event.span[1]))  # type: ignore[attr-defined]
        elif isinstance(event, Noticed):
            notices.append(_notice(event.notice))
        else:
            seen.append(_told(event))
    return notices + seen


def _join(seen: list[Item], kind: str, key: Any, text: str, end: int | None) -> None:
    if seen and seen[-1][0] == kind and seen[-1][1] == key:
        seen[-1] = (kind, key, seen[-1][2] + text, end)
    elif text or kind == "ReasoningDelta":
        seen.append((kind, key, text, end))


def _told(event: Event) -> Item:
    if isinstance(event, CallCompleted):
        return _call(event.call)
    if isinstance(event, CallFailed):
        return _error(event.id, event.error)
    assert isinstance(event, CallStarted)
    return "CallStarted", event.id, event.name, event.server


def _call(call: ToolCall) -> Item:
    """Arguments are their `repr`, in which 1 and True differ."""
    repairs = [(each.code.value, each.offset, each.message) for each in call.repairs]
    arguments = repr(call.arguments)
    rest = call.legacy_json, call.dialect, call.span
    return ("CallCompleted", call.id, call.name, call.server, arguments, repairs, *rest)


def _error(id: str | None, error: CallError) -> Item:
    told = error.code.value, error.span, error.message, error.hint, error.name, error.server
    return ("CallFailed", id, *told, repr(error.arguments), error.source, error.offset)


def _notice(notice: Any) -> Item:
    told = notice.code.value, notice.span, notice.message, notice.notation, notice.name
    return ("Noticed", *told, notice.is_whole, notice.is_fenced)


def record(trial: Trial) -> Record:
    """Return what the parser says of the chunks, and `parse` of the whole reply. Nothing is raised: it is told."""
    chunks, definitions, options = trial
    limits = {"limits": Limits(**options["limits"])} if "limits" in options else {}
    options, tools = {**options, **limits}, _tools(definitions)
    events: list[Event] = []
    characters: list[int] = []
    calls: list[int] = []
    said: list[Item] = []
    signal.alarm(_SECONDS)
    try:
        ids = count()
        parser = Parser(tools, new_id=lambda: f"c{next(ids)}", **options)
        total = steps = 0
        for chunk in chunks:
            for event in parser.feed(chunk):
                events.append(event)
                if event.__class__ in _DELTAS:
                    total += len(event.text)  # type: ignore[attr-defined]
                elif event.__class__ in _STEPS:
                    steps += 1
            characters.append(total)
            calls.append(steps)
        events += parser.close()
        said += normal(events)
        said.append(("unclosed_reasoning", parser.unclosed_reasoning))
        options.pop("argument_deltas", None)
        said += _parsed("".join(chunks), tools, options)
    except Exception as error:  # no text raises anything, but a version may have a defect
        said += [*normal(events), ("raised", type(error).__name__, str(error))]
    finally:
        signal.alarm(0)
    return said, characters, calls


def _parsed(text: str, tools: list[Tool] | None, options: dict[str, Any]) -> list[Item]:
    ids = count()
    reply = parse(text, tools, new_id=lambda: f"c{next(ids)}", **options)
    said: list[Item] = []
    for part in reply.parts:
        if isinstance(part, ToolCall):
            said.append(_call(part))
        elif isinstance(part, CallError):
            said.append(_error(None, part))
        else:
            said.append((part.__class__.__name__, part.text))
    said = [*said, *map(_notice, reply.notices), ("unclosed_reasoning", reply.unclosed_reasoning)]
    return [(f"parse {kind}", *rest) for kind, *rest in said]


@lru_cache(maxsize=300)
def _tools(definitions: str | None) -> list[Tool] | None:
    return None if definitions is None else [Tool(**tool) for tool in json.loads(definitions)]


def _number(said: list[Item], characters: list[int], calls: list[int]) -> int:
    """A number for a record: one that differs has another."""
    progress = array("q", characters + calls).tobytes()
    return crc32(progress, crc32(repr(said).encode("utf-8", "surrogatepass")))


def _hang(*_: object) -> None:
    raise TimeoutError(f"it took more than {_SECONDS} seconds")


def _answer() -> None:
    """Say which version this is; then give records for lists of trials, or only numbers of records, to the end."""
    signal.signal(signal.SIGALRM, _hang)
    with os.fdopen(os.dup(1), "wb") as to_us:
        os.dup2(2, 1)  # what anybody prints is not an answer
        answer: Any = f"xmltools {xmltools.__version__} in {Path(xmltools.__file__).parent}"
        while True:
            pickle.dump(answer, to_us)
            to_us.flush()
            try:
                trials, in_full = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            answer = [record(each) if in_full else _number(*record(each)) for each in trials]


if __name__ == "__main__":
    _answer()
