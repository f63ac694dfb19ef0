"""How a message is shown to people: a line that says who speaks, then what was said, as Wick's PrettyPrint has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xmltools.models.go_values import value_text
from xmltools.models.message import Message

__all__ = ["shown", "shown_message", "shown_result"]

_LABELS = {"system": "System", "user": "Human", "assistant": "AI"}


def shown(message: Message) -> Iterator[str]:
    """Yield a message as text, and each of its results. Reasoning and files are not shown."""
    if not message.is_tool and (not message.results or message.text or message.calls):
        yield shown_message(
            message.role, message.text, ((call.name, call.id, call.arguments) for call in message.calls)
        )
    for result in message.results:
        yield shown_result(result.call_id, result.name, result.text)


def shown_message(role: str, content: str, calls: Iterable[tuple[str, str, Any]] = ()) -> str:
    """Return a message as text that ends with an empty line. `calls` are the name, id and arguments of each."""
    return _block(_LABELS.get(role, role), content, calls)


def shown_result(call_id: str, name: str, content: str, calls: Iterable[tuple[str, str, Any]] = ()) -> str:
    """Return a result as text that ends with an empty line."""
    return _block(f"Tool: {name} (call_id={call_id})", content, calls)


def _block(label: str, content: str, calls: Iterable[tuple[str, str, Any]]) -> str:
    said = f"{content}\n" if content else ""
    called = (
        f"  → tool_call: {name}(id={call_id}, args={value_text({} if arguments is None else arguments)})\n"
        for name, call_id, arguments in calls
    )
    return f"[{label}]\n{said}{''.join(called)}\n"
