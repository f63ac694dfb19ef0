"""What the checks of the integrations share: a schema, and replies with calls of a tool, a good one and a bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


def call_of(days: Any, city: str = "Oslo", name: str = "weather") -> str:
    """A call as a model writes it."""
    arguments = f"<city>{city}</city>\n<days>{days}</days>\n"
    return f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}</arguments>\n</tool>"


GOOD = f"I look.\n{call_of(2)}"
BAD = f"I look.\n{call_of('two')}"
ARGUMENTS = {"city": "Oslo", "days": 2}
DONE = "It is sunny."


def raised(kind: type[Exception], run: Callable[[], Any]) -> str:
    """What is said by the error that is raised."""
    try:
        run()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")
