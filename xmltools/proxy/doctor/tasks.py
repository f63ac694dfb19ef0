"""A handful of tasks that show how well a model calls tools. No tool is run: what counts is the call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.doctor.case import Case, NoAnswerError
from xmltools.proxy.doctor.report import Tried, Way, short
from xmltools.tools import load_tools

Calls = list[tuple[str, Any]]


class Task(NamedTuple):
    """A task: its name, what the user says, and the calls that are right, each with its tool and arguments."""

    name: str
    words: str
    calls: Calls


_DATA = json.loads(files(__package__).joinpath("data", "tasks.json").read_text(encoding="utf-8"))
DEFINITIONS: list[dict[str, Any]] = _DATA["tools"]
"""The tools as chat completions have them. All tasks have the same, so that a server which keeps the beginning of
prompts reads them once."""
TOOLS = load_tools(DEFINITIONS)
TASKS = [Task(**each) for each in _DATA["tasks"]]
_EDGE = re.compile(r'(?:\\[nrt]|\s)*"(?:\\[nrt]|\s)*')
"""The white space around strings in JSON, which does not count."""


async def try_tasks(case: Case, way: Way) -> None:
    """Give the model all tasks in one way, just as `serve` would. The first that gets no reply ends it. Raises
    XMLToolsError for a way that there is not."""
    settings = Settings(
        dialect=way.dialect or "auto",
        prompt=way.prompt,  # type: ignore[arg-type]
        upstream_tool_choice=way.upstream_tool_choice,  # type: ignore[arg-type]
        engine=way.grammar,
        starts_in_reasoning=case.starts_in_reasoning,
        retries=0,
    )
    tried = Tried(way)
    case.report.tasks.append(tried)
    for name, words, calls in TASKS:
        case.tell(f"tasks: {way.words}, {name}")
        heard: list[Event] = []
        asked = case.question(words, tools=DEFINITIONS, stream="answer" not in case.replies)
        try:
            exchange = Exchange("chat", asked, settings)
            exchange.on_event = lambda _, event, heard=heard: heard.append(event)
            reply = await case.chat(exchange.request)
            tried.said[name] = reply.text + "".join(f" [call of {each}]" for each in reply.calls)
            for chunk in reply.chunks:
                exchange.feed(chunk)
            exchange.end(is_whole=reply.is_ended)
        except (NoAnswerError, XMLToolsError) as trouble:
            tried.results[name], tried.trouble = "error", short(str(trouble))
            break
        tried.results[name] = judge(calls, heard, is_cut=reply.finish == "length")


def judge(right: Calls, events: Sequence[Event], *, is_cut: bool = False) -> str:
    """Return what came of a task with these calls, by the events of the reply; `is_cut`: its length ended it."""
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    failed = any(isinstance(event, CallFailed) for event in events)
    if not failed and _spelled((call.name, call.arguments) for call in calls) == _spelled(right):
        return "repaired" if any(call.repairs for call in calls) else "right"
    return "cut" if is_cut else "rejected" if failed else "wrong" if calls else "no_call"


def _spelled(calls: Iterable[tuple[str, Any]]) -> list[str]:
    """Return calls as texts by which they can be compared."""
    return sorted(_EDGE.sub('"', json.dumps(each, sort_keys=True, default=str)) for each in calls)
