"""Is a conversation sound, will an API take it, and may it come from outside?

    issues = check(conversation, target="anthropic")  # every problem, each with a code, a place and a hint
    require(check_user_input(from_outside))  # raises XMLToolsError

The codes are API. What is wrong anywhere:

- `empty_message`: nothing in a message but empty text; `empty_id`, `empty_name`: a call without
- `misplaced_call`, `misplaced_result`, `misplaced_reasoning`, `misplaced_media`, `misplaced_text`: a part in a message
  whose role cannot have it
- `duplicate_call_id`, `unknown_call`, `duplicate_result`, `name_mismatch`: calls and results that do not pair
- `late_result`: a reply or the user stands between a call and its result; `unanswered_call`: no result ever comes,
  though the conversation goes on
- `system_not_first`: a system message further on. It is a warning: many models take it.

What a target refuses: `no_messages`, `first_not_user`, `not_alternating`, `call_id_form`. In messages from outside:
`no_messages`, `role_not_allowed`, `empty_message`, and the misplaced parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xmltools.errors import Issue, XMLToolsError
from xmltools.models import Conversation, Message, ToolCall, ToolResult
from xmltools.models.conversation import checked_conversation

__all__ = ["TARGETS", "WARNINGS", "check", "check_user_input", "require"]

TARGETS = ("openai", "anthropic", "gemini", "wolo", "forge", "clawtools", "robotlab", "wick", "alternating")
"""What a conversation may be meant for: a format, or a chat template where user and assistant strictly alternate."""

WARNINGS = frozenset({"system_not_first"})
"""Codes of what is odd but often works; `require` lets it pass if there is nothing else."""

_APIS = ("openai", "anthropic", "gemini")
_SHOWN = 20


def check(conversation: Conversation, *, target: str | None = None) -> list[Issue]:
    """Return what is wrong with a conversation, in the order of its messages.

    With a `target`, one of TARGETS, also what this API would refuse. Calls that are still open at the end are fine.
    Raises XMLToolsError for what is no conversation, and for another target.
    """
    checked_conversation(conversation, "check")
    if target is not None and target not in TARGETS:
        raise XMLToolsError(f"target: expected one of {', '.join(TARGETS)}, got {target!r:.40}")
    issues = [issue for index, message in enumerate(conversation.messages) for issue in _in_message(message, index)]
    issues += _late_systems(conversation)
    issues += _Pairing(target).issues(conversation)
    issues += _for_target(conversation, target)
    return _in_order(issues)


def check_user_input(conversation: Conversation, *, allow_system: bool = True) -> list[Issue]:
    """Return why messages from outside may not be taken: only the user, and the system where allowed, may speak.

    Replies and results from outside would be forged, and so are calls, results and reasoning in messages of the user.
    Raises XMLToolsError for what is no conversation.
    """
    checked_conversation(conversation, "check_user_input")
    if not conversation.messages:
        return [_no_messages()]
    allowed = ("user", "system") if allow_system else ("user",)
    return [
        issue
        for index, message in enumerate(conversation.messages)
        for issue in (
            _in_message(message, index) if message.role in allowed else [_not_allowed(message, index, allowed)]
        )
    ]


def require(issues: Iterable[Issue]) -> None:
    """Raise XMLToolsError that lists the issues, at most 20 of them; if there is none but WARNINGS, do nothing."""
    listed = list(issues)
    if all(issue.code in WARNINGS for issue in listed):
        return
    lines = [str(issue) for issue in listed[:_SHOWN]]
    if len(listed) > _SHOWN:
        lines.append(f"and {len(listed) - _SHOWN} more")
    raise XMLToolsError("; ".join(lines))


def _in_order(issues: list[Issue]) -> list[Issue]:
    return sorted(issues, key=lambda issue: -1 if issue.index is None else issue.index)


def _no_messages() -> Issue:
    return Issue("no_messages", "there are no messages", None, "begin with a message of the user")


def _not_allowed(message: Message, index: int, allowed: tuple[str, ...]) -> Issue:
    hint = f"take only messages with the role {' or '.join(allowed)} from outside"
    return Issue("role_not_allowed", f"the role {message.role} is not allowed", index, hint)


# Messages by themselves

_ALLOWED = {
    "system": {"text"},
    "user": {"text", "media"},
    "assistant": {"text", "reasoning", "media", "call"},
    "tool": {"result"},
}
_PLACES = {
    "text": "put text into messages of the system, the user or the assistant",
    "media": "put images and files into messages of the user, or into results",
    "reasoning": "put reasoning into messages of the assistant",
    "call": "put calls into messages of the assistant",
    "result": "put results into messages with the role tool",
}


def _in_message(message: Message, index: int) -> Iterator[Issue]:
    if message.is_empty:
        yield Issue("empty_message", f"the {message.role} message is empty", index, "leave it out, or say something")
    kinds = dict.fromkeys(part.type for part in message.parts)
    for kind in kinds:
        if kind not in _ALLOWED[message.role]:
            yield Issue(f"misplaced_{kind}", f"a {kind} in a {message.role} message", index, _PLACES[kind])
    for call in message.calls:
        if not call.id:
            yield Issue(
                "empty_id", f"the call of {call.name!r:.80} has no id", index, "give each call an id of its own"
            )
        if not call.name:
            yield Issue("empty_name", "a call names no tool", index, "give the name of the tool")


def _late_systems(conversation: Conversation) -> Iterator[Issue]:
    begun = False
    for index, message in enumerate(conversation.messages):
        if begun and message.is_system:
            hint = "put it in front of all others"
            yield Issue("system_not_first", "a system message comes after others", index, hint)
        begun = begun or not message.is_system


# Calls and their results


@dataclass(slots=True)
class _Asked:
    """A call that was made: where, and in which turn."""

    call: ToolCall
    index: int
    turn: int
    answered: bool = False


@dataclass(slots=True)
class _Pairing:
    """Goes through a conversation and pairs results with calls. A new turn begins wherever results would be late."""

    target: str | None
    asked: list[_Asked] = field(default_factory=list)
    by_id: dict[str, _Asked] = field(default_factory=dict)
    turn: int = 0

    def issues(self, conversation: Conversation) -> Iterator[Issue]:
        """Yield what does not pair."""
        for index, message in enumerate(conversation.messages):
            for result in message.results:
                yield from self._answer(result, index)
            if message.role in ("user", "assistant") or (message.is_system and self.target == "openai"):
                self.turn += 1
            for call in message.calls:
                yield from self._ask(call, index)
        yield from self._unanswered()

    def _ask(self, call: ToolCall, index: int) -> Iterator[Issue]:
        if call.id and call.id in self.by_id:
            hint = "give each call an id of its own"
            yield Issue("duplicate_call_id", f"the id {call.id!r:.80} is that of an earlier call too", index, hint)
        self.by_id[call.id] = _Asked(call, index, self.turn)
        self.asked.append(self.by_id[call.id])

    def _answer(self, result: ToolResult, index: int) -> Iterator[Issue]:
        asked = self.by_id.get(result.call_id)
        if asked is None:
            hint = "put the message with the call in front of it, or leave the result out"
            yield Issue("unknown_call", f"no call before has the id {result.call_id!r:.80}", index, hint)
            return
        called = f"the call {result.call_id!r:.80}"
        if asked.answered:
            yield Issue("duplicate_result", f"{called} has a result already", index, "keep one result of each call")
        elif asked.turn != self.turn:
            hint = "put the result directly after the message with its call"
            yield Issue("late_result", f"between {called} and its result stand other messages", index, hint)
        if asked.call.name != result.name:
            message = f"the result is of {result.name!r:.80}, {called} of {asked.call.name!r:.80}"
            yield Issue("name_mismatch", message, index, "give the result the name of its call")
        asked.answered = True

    def _unanswered(self) -> Iterator[Issue]:
        """Yield calls that nothing answers. Those of the last turn may be open; an API wants all or none answered."""
        last = self.turn
        begun = self.target in _APIS and any(asked.answered for asked in self.asked if asked.turn == last)
        for asked in self.asked:
            if not asked.answered and (asked.turn != last or begun):
                hint = "add its result, or one that says that there is none"
                yield Issue("unanswered_call", f"the call {asked.call.id!r:.80} has no result", asked.index, hint)


# Targets

_ANTHROPIC_ID = re.compile("[a-zA-Z0-9_-]{1,64}")


def _for_target(conversation: Conversation, target: str | None) -> Iterator[Issue]:
    if target in ("anthropic", "gemini", "alternating"):
        yield from _first_is_user(conversation)
    elif target == "openai" and not conversation.messages:
        yield _no_messages()
    if target == "alternating":
        yield from _alternates(conversation)
    if target == "anthropic":
        yield from _call_ids(conversation)


def _first_is_user(conversation: Conversation) -> Iterator[Issue]:
    spoken = ((index, message) for index, message in enumerate(conversation.messages) if not message.is_system)
    index, first = next(spoken, (None, None))
    if first is None:
        yield _no_messages()
    elif not first.is_user:
        hint = "put a message of the user in front of it"
        yield Issue("first_not_user", f"the first message is of the role {first.role}", index, hint)


def _alternates(conversation: Conversation) -> Iterator[Issue]:
    """Yield each message that follows one of its own side. Results are of the user's side."""
    sides = ["user" if message.is_tool else message.role for message in conversation.messages]
    start = 1 if sides[:1] == ["system"] else 0
    for index, side in enumerate(sides[start:], start):
        before = sides[index - 1] if index > start else "system"
        if side in (before, "system"):
            hint = "merge it with the one before"
            yield Issue("not_alternating", f"a message of the {side} follows one of the {before}", index, hint)


def _call_ids(conversation: Conversation) -> Iterator[Issue]:
    for index, message in enumerate(conversation.messages):
        for call in message.calls:
            if call.id and not _ANTHROPIC_ID.fullmatch(call.id):
                hint = "use 1 to 64 of the characters a-z, A-Z, 0-9, _ and -"
                yield Issue("call_id_form", f"the API does not take the id {call.id!r:.80}", index, hint)
