"""The results of a turn: those that follow a message with calls, in one message or in several.

Text, and some formats, hold no ids: a reader takes the results of a turn in the order of its calls. Clients that run
calls at once send them as they come, so two of one tool would be taken for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xmltools.models import Message, ToolCall, ToolResult


def in_order_of_calls(
    messages: Iterable[Message],
    *,
    are_named: bool = False,
    across_replies: bool = False,
    is_moved: Callable[[ToolResult], bool] = lambda result: True,
) -> list[Message]:
    """Return messages with the results of each turn in the order of its calls, those of other calls behind them.

    Messages stay where they are, and change the results in them; what is in order already is the same object as before.
    With `are_named` results say the names of their tools: a turn in which each name has its results in order stays as
    it is. With `across_replies` the calls of replies that follow each other are those of one turn, else only the last
    one's are. `is_moved` says which results may change their place.
    """
    listed = list(messages)
    asked: list[str] = []
    start = 0
    while start < len(listed):
        if not _has_results(listed[start]):
            if listed[start].role == "assistant":
                is_first = not across_replies or start == 0 or listed[start - 1].role != "assistant"
                asked = [*([] if is_first else asked), *_ids(listed[start])]
            start += 1
            continue
        end = next((at for at in range(start, len(listed)) if not _has_results(listed[at])), len(listed))
        listed[start:end] = _in_order(listed[start:end], asked, are_named, is_moved)
        start = end
    return listed


def moved(before: Sequence[Message], after: Sequence[Message]) -> list[int]:
    """Return the places of the messages in which `in_order_of_calls` put other results."""
    return [place for place, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new]


def results_before(messages: Iterable[Message]) -> list[int]:
    """Return for each message how many results of its turn stand in the messages before it."""
    counts: list[int] = []
    count = 0
    for message in messages:
        count = count if _has_results(message) else 0
        counts.append(count)
        count += sum(isinstance(part, ToolResult) for part in message.parts)
    return counts


def _has_results(message: Message) -> bool:
    return message.role == "tool" or (message.role == "user" and bool(message.results))


def _ids(message: Message) -> list[str]:
    return [part.id for part in message.parts if isinstance(part, ToolCall)]


def _in_order(
    messages: list[Message], asked: list[str], are_named: bool, is_moved: Callable[[ToolResult], bool]
) -> list[Message]:
    places = {id: place for place, id in reversed([*enumerate(asked)])}
    given = [part for each in messages for part in each.parts if isinstance(part, ToolResult) and is_moved(part)]
    ordered = sorted(given, key=lambda result: places.get(result.call_id, len(places)))
    if _reads_the_same(given, ordered, are_named):
        return messages
    left = iter(ordered)
    return [_with_results(each, left, is_moved) for each in messages]


def _reads_the_same(given: Sequence[ToolResult], ordered: Sequence[ToolResult], are_named: bool) -> bool:
    if not are_named or any(not result.name for result in given):
        return all(one is other for one, other in zip(given, ordered, strict=True))
    return _by_name(given) == _by_name(ordered)


def _by_name(results: Iterable[ToolResult]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for result in results:
        found.setdefault(result.name, []).append(id(result))
    return found


def _with_results(message: Message, left: Iterable[ToolResult], is_moved: Callable[[ToolResult], bool]) -> Message:
    results = iter(left)
    parts = tuple(next(results) if isinstance(part, ToolResult) and is_moved(part) else part for part in message.parts)
    if all(one is other for one, other in zip(parts, message.parts, strict=True)):
        return message
    return message.model_copy(update={"parts": parts})
