"""A handful of tasks that show how well a model calls tools. No tool is run: what counts is the call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.doctor.asking import NoAnswerError, Reply
from xmltools.proxy.doctor.case import Case
from xmltools.proxy.doctor.report import Result, Tried, Way, short
from xmltools.tools import Tool


def _tool(name: str, description: str, **properties: dict[str, Any]) -> Tool:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return Tool(name=name, description=description, parameters=parameters)


_TEXT = {"type": "string"}
_ROOM = {"type": "object", "properties": {"name": _TEXT, "city": _TEXT}, "required": ["name", "city"]}

TOOLS = (
    _tool("set_timer", "Start a timer.", minutes={"type": "integer"}, label=_TEXT),
    _tool("write_file", "Write a text file.", path=_TEXT, content=_TEXT),
    _tool(
        "book_room",
        "Book a meeting room.",
        room=_ROOM,
        people={"type": "integer"},
        tags={"type": "array", "items": _TEXT},
    ),
    _tool("get_weather", "Tell the weather in a city.", city=_TEXT),
)
"""All tasks have the same tools, so that a server which keeps the beginning of prompts reads them once."""


class Task(NamedTuple):
    """A task: its name, what the user says, and the calls that are right, each with its tool and arguments."""

    name: str
    words: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


_MARKUP = '<p class="note">if a < b && c > d</p>\n<!-- done -->'

TASKS = (
    Task(
        "typed",
        'Set a timer of 25 minutes with the label "green tea".',
        (("set_timer", {"minutes": 25, "label": "green tea"}),),
    ),
    Task(
        "text",
        f"Write the file notes.html. Its content is exactly these two lines:\n\n{_MARKUP}",
        (("write_file", {"path": "notes.html", "content": _MARKUP}),),
    ),
    Task(
        "nested",
        'Book the room named "Blue" in the city "Oslo" for 12 people, with the tags "board" and "video".',
        (("book_room", {"room": {"name": "Blue", "city": "Oslo"}, "people": 12, "tags": ["board", "video"]}),),
    ),
    Task(
        "two",
        'What is the weather in "Oslo" and in "Lima"? Ask for both at once.',
        (("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Lima"})),
    ),
    Task("none", 'Reply with the word "hello", and do nothing else.'),
)


def definitions() -> list[dict[str, Any]]:
    """Return the tools as chat completions have them."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in TOOLS
    ]


async def try_tasks(case: Case, way: Way) -> Tried:
    """Give the model all tasks in one way, just as `serve` would. The first that gets no reply ends it."""
    tried = Tried(way)
    case.report.tried.append(tried)
    settings = _settings(case, way)
    for task in TASKS:
        case.tell(f"tasks: {way.words}, {task.name}")
        heard: list[Event] = []
        try:
            exchange = Exchange("chat", _request(case, task), settings)
            exchange.on_event = lambda _, event, heard=heard: heard.append(event)
            reply = await case.asking.chat(exchange.request)
            tried.said[task.name] = reply.text + "".join(f" [call of {name}]" for name in reply.calls)
            _read(exchange, reply)
        except (NoAnswerError, XMLToolsError) as trouble:
            tried.results[task.name] = Result.ERROR
            tried.trouble = short(str(trouble))
            break
        tried.results[task.name] = judge(task, heard, is_cut=reply.finish == "length")
    return tried


def _settings(case: Case, way: Way) -> Settings:
    return Settings(
        dialect=way.dialect,
        prompt=way.prompt,  # type: ignore[arg-type]
        upstream_tool_choice=way.tool_choice,  # type: ignore[arg-type]
        engine=way.grammar,
        starts_in_reasoning=case.starts_in_reasoning,
        retries=0,
    )


def _request(case: Case, task: Task) -> dict[str, Any]:
    streams = case.answer is None
    return case.asking.question(task.words, tools=definitions(), stream=streams)


def _read(exchange: Exchange, reply: Reply) -> None:
    """Give the reply to the exchange, which reads it as `serve` does."""
    if not reply.is_stream:
        exchange.answer(reply.chunks[0])
        return
    for chunk in reply.chunks:
        exchange.feed(chunk)
    exchange.end(is_whole=reply.is_ended)


def judge(task: Task, events: Iterable[Event], *, is_cut: bool = False) -> Result:
    """Return what came of a task, by the events of the reply; `is_cut`: its length ended it."""
    calls: list[ToolCall] = []
    failed = False
    for event in events:
        if isinstance(event, CallCompleted):
            calls.append(event.call)
        failed |= isinstance(event, CallFailed)
    if _are_right(calls, task) and not failed:
        return Result.REPAIRED if any(call.repairs for call in calls) else Result.RIGHT
    if is_cut:
        return Result.CUT
    if failed:
        return Result.REJECTED
    return Result.WRONG if calls else Result.NO_CALL


def _are_right(calls: list[ToolCall], task: Task) -> bool:
    return sorted(_spelled(call.name, call.arguments) for call in calls) == sorted(
        _spelled(name, arguments) for name, arguments in task.calls
    )


def _spelled(name: str, arguments: Any) -> str:
    """Return a call as text by which it can be compared; white space around strings does not count."""
    return json.dumps([name, _stripped(arguments)], sort_keys=True, default=str)


def _stripped(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        return {name: _stripped(each) for name, each in value.items()}
    return [_stripped(each) for each in value] if isinstance(value, (list, tuple)) else value
