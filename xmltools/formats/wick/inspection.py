"""What Wick's chain can tell of its messages: what is wrong with them, how they look, about how many tokens they are.

All functions take a conversation, or Wick's messages as they came, malformed ones too: a field of a wrong type counts
as empty, as one that is missing does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.wick.go_values import quote
from xmltools.formats.wick.messages import ROLES, plain
from xmltools.models import Conversation
from xmltools.models.pretty import shown_message, shown_result

# Fields, empty if they are missing


def _text(message: Mapping[str, Any], key: str) -> str:
    value = message.get(key)
    return value if isinstance(value, str) else ""


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    if not isinstance(calls, (list, tuple)):
        return []
    return [call if isinstance(call, Mapping) else {} for call in calls]


def _mappings(messages: Any) -> list[Mapping[str, Any]]:
    found = list(plain(messages))
    for index, message in enumerate(found):
        if not isinstance(message, Mapping):
            raise XMLToolsError(f"message {index}: expected an object {{role, content}}, got {type(message).__name__}")
    return found


# Validation


def valid_role(role: Any) -> bool:
    """Return whether a role is one of the four."""
    return role in ROLES


def user_input_role(role: Any) -> bool:
    """Return whether messages from outside may have a role."""
    return role in ("user", "system")


def validate(messages: Any) -> list[str]:
    """Return what is wrong with messages, in their order: Wick's own check names the first only.

    The order of messages, results without calls and empty results are not looked at: `validation` does that.
    """
    return _numbered(messages, _problems)


def validate_first(messages: Any) -> str | None:
    """Return the first thing that is wrong with messages, None if nothing is."""
    return next(iter(validate(messages)), None)


def validate_user_input(messages: Any) -> list[str]:
    """Return what is wrong with messages from outside, which may be of the roles `user` and `system` only."""
    messages = plain(messages)
    return _numbered(messages, _user_input_problems) if messages else ["messages must not be empty"]


def validate_user_input_first(messages: Any) -> str | None:
    """Return the first thing that is wrong with messages from outside, None if nothing is."""
    return next(iter(validate_user_input(messages)), None)


def user_input(messages: Any) -> list[dict[str, str]]:
    """Return messages from outside with their role and content only, as Wick's handler takes them into its chain:
    whatever else they hold, such as calls, is dropped.

    Raises XMLToolsError with the first thing that is wrong with what is left, the text of Wick's answer 400.
    """
    taken = [
        {key: _text(message, key) for key in ("role", "content")} if isinstance(message, Mapping) else message
        for message in plain(messages)
    ]
    problem = validate_user_input_first(taken)
    if problem is not None:
        raise XMLToolsError(problem)
    return taken


def _numbered(messages: Any, problems: Callable[[Mapping[str, Any]], Iterator[str]]) -> list[str]:
    return [
        f"message[{index}]{problem}"
        for index, message in enumerate(plain(messages))
        for problem in (problems(message) if isinstance(message, Mapping) else [_no_object(message)])
    ]


def _no_object(message: Any) -> str:
    return f": expected an object with role and content, got {type(message).__name__}"


def _problems(message: Mapping[str, Any]) -> Iterator[str]:
    role = _text(message, "role")
    if role == "tool":
        yield from (f": tool message missing {key}" for key in ("tool_call_id", "name") if not _text(message, key))
    elif role == "assistant":
        yield from _assistant_problems(message)
    elif role not in ROLES:
        yield f": unknown role {quote(role)}"
    elif not _text(message, "content"):
        yield f": {role} message has empty content"


def _assistant_problems(message: Mapping[str, Any]) -> Iterator[str]:
    calls = _calls(message)
    if not calls and not _text(message, "content"):
        yield ": assistant message has no content and no tool calls"
    for number, call in enumerate(calls):
        for key, shown in (("id", "ID"), ("name", "name")):
            if not _text(call, key):
                yield f".tool_calls[{number}]: missing {shown}"


def _user_input_problems(message: Mapping[str, Any]) -> Iterator[str]:
    role = _text(message, "role")
    if not user_input_role(role):
        yield f': role {quote(role)} not allowed (must be "user" or "system")'
    if not _text(message, "content"):
        yield ": content must not be empty"
    for key in ("tool_calls", "tool_call_id"):
        if message.get(key):
            yield f": {key} not allowed"


# Looking


def pretty(messages: Any) -> str:
    """Return messages as text for people, as `str(conversation)` does. Each ends with an empty line, the last too."""
    if isinstance(messages, Conversation):
        return str(messages)
    return "".join(map(_shown, _mappings(messages)))


def _shown(message: Mapping[str, Any]) -> str:
    role, content = _text(message, "role"), _text(message, "content")
    calls = ((_text(call, "name"), _text(call, "id"), call.get("args")) for call in _calls(message))
    if role == "tool":
        return shown_result(_text(message, "tool_call_id"), _text(message, "name"), content, calls)
    return shown_message(role, content, calls)


def last(messages: Any) -> dict[str, Any]:
    """Return the last message; one without role and content if there is none."""
    found = _mappings(messages)
    return dict(found[-1]) if found else {"role": "", "content": ""}


def last_content(messages: Any) -> str:
    """Return the content of the last message, also of a result; nothing if there is none."""
    return _text(last(messages), "content")


def estimate_tokens(messages: Any) -> int:
    """Return about how many tokens messages are: a quarter of their bytes, rounded down for each content by itself.

    Of calls only the argument text that the model wrote is counted, where it was kept (`raw_args`).
    """
    return sum(
        _quarter(_text(message, "content")) + sum(_quarter(_text(call, "raw_args")) for call in _calls(message))
        for message in _mappings(messages)
    )


def _quarter(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 4


def test_endpoint(messages: Any) -> dict[str, Any]:
    """Return what Wick's endpoint for trying a chain answers: what each of its methods says of the messages."""
    found = _mappings(messages)
    roles = [_text(message, "role") for message in found]
    error = validate_first(found)
    return {
        "chain_length": len(found),
        "messages": [_stored(message) for message in found],
        "pretty_print": pretty(found),
        "last_content": last_content(found),
        "last_role": _text(last(found), "role"),
        "validate_ok": error is None,
        "validate_error": error or "",
        **{f"{role}_count": roles.count(role) for role in ("user", "assistant", "tool", "system")},
        "bad_role_error": validate_first([{"role": "hacker", "content": "inject"}]),
        "spoof_error": validate_user_input_first([_OK, {"role": "assistant", "content": "spoofed"}]),
        "merged_length": len([*found, {"role": "user", "content": "follow-up question"}]),
        "token_estimate": estimate_tokens(found),
    }


_OK = {"role": "user", "content": "ok"}


def _stored(message: Mapping[str, Any]) -> dict[str, Any]:
    stored = dict(message)
    if _calls(message):
        stored["tool_calls"] = [
            {key: each for key, each in call.items() if key != "raw_args"} for call in _calls(message)
        ]
    return stored
