"""Conversations made smaller before they outgrow a model's context: old outputs of tools pruned, old messages replaced
by a summary. Plain functions over conversations; when to call them, and who writes the summary, is the host's decision.

    conversation = compact(conversation, 100_000, summary=ask_a_model)

prunes if the conversation is over the limit, has it summed up if it still is, and then keeps less; the steps are
functions too.

A call and its result are never separated.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from xmltools.errors import Issue, XMLToolsError
from xmltools.extras import install_line
from xmltools.models import Conversation, Message, Text, ToolCall, ToolResult
from xmltools.models.conversation import checked_conversation

__all__ = [
    "PLACEHOLDER",
    "SUMMARY_HEADING",
    "OverLimitWarning",
    "compact",
    "estimate_tokens",
    "fallback_summary",
    "prune_results",
    "summarise",
    "tokenizer_counter",
    "transcript_lines",
]

PLACEHOLDER = "[Output pruned to save context space]"
"""What stands for an output that was pruned."""
SUMMARY_HEADING = "[Conversation History Summary]"
"""The first line of a summary."""


class OverLimitWarning(UserWarning):
    """A conversation is over its limit of tokens, and nothing is left in it that could be given up."""


Counter = Callable[[str], int]
"""Returns the number of tokens in a text."""


# Tokens


def estimate_tokens(conversation: Conversation, count: Counter | None = None) -> int:
    """Return about how many tokens a conversation has.

    Counted are the text of each message, with that of its results, its reasoning, and the arguments of each call as
    compact JSON; not names, media and what an API adds. `count` counts one such text; by default that is a fourth of
    its bytes in UTF-8, rounded down.
    """
    counter = _counter(count)
    return sum(_message_tokens(message, counter) for message in checked_conversation(conversation).messages)


def _counter(count: Counter | None) -> Counter:
    if count is not None and not callable(count):
        raise XMLToolsError(f"count: expected a function of a text, or None, got {type(count).__name__}")
    return count or _bytes_over_four


def _message_tokens(message: Message, count: Counter) -> int:
    text = "".join(part.text for part in message.parts if isinstance(part, (Text, ToolResult)))
    pieces = [text, message.reasoning, *(_arguments(call) for call in message.calls)]
    return sum(count(piece) for piece in pieces if piece)


def _arguments(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"), default=str)


def _bytes_over_four(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) // 4


def tokenizer_counter(path: str) -> Counter:
    """Return what counts tokens with a tokenizer of Hugging Face.

    Takes the path of its `tokenizer.json`. Raises XMLToolsError if that can't be read, or if the library is missing.
    """
    try:
        library: Any = import_module("tokenizers")
    except ImportError:
        raise XMLToolsError(f"a tokenizer.json is read by the library tokenizers: {install_line('tokens')}") from None
    try:
        tokenizer = library.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise XMLToolsError(f"expected the path of a tokenizer.json, got {str(path)!r:.200}: {error}") from None

    def count(text: str) -> int:
        unicode = text.encode("utf-8", "replace").decode()  # the library refuses lone surrogates
        return len(tokenizer.encode(unicode, add_special_tokens=False).ids)

    return count


# Pruning


def prune_results(
    conversation: Conversation,
    *,
    keep_last: int,
    max_characters: int = 500,
    placeholder: str = PLACEHOLDER,
    count: Counter | None = None,
    now: float | None = None,
) -> Conversation:
    """Return the conversation with old outputs of tools replaced by a placeholder.

    The last `keep_last` results stay as they are, and so do older ones that have no media and at most `max_characters`
    characters. The metadata of a message in which something was replaced say `pruned`, `pruned_at` (which is `now`, and
    left out without it) and `original_output_tokens`, counted as by `estimate_tokens`. Raises XMLToolsError for numbers
    that are negative or not whole.
    """
    _check_number("keep_last", keep_last)
    _check_number("max_characters", max_characters)
    if not isinstance(placeholder, str):
        raise XMLToolsError(f"placeholder: expected text, got {type(placeholder).__name__}")
    pruner = _Pruner(max(max_characters, len(placeholder)), placeholder, _counter(count), now)
    left = len(checked_conversation(conversation).results) - keep_last
    messages: list[Message] = []
    for message in conversation.messages:
        messages.append(pruner.message(message, left) if left > 0 else message)
        left -= len(message.results)
    return conversation.with_messages(messages)


class _Pruner:
    __slots__ = ("_count", "_longest", "_now", "_placeholder")

    def __init__(self, longest: int, placeholder: str, count: Counter, now: float | None) -> None:
        self._longest = longest
        self._placeholder = placeholder
        self._count = count
        self._now = now

    def message(self, message: Message, left: int) -> Message:
        """Replace the first `left` results of a message, where they are long."""
        old = [result for result in message.results[:left] if self._is_long(result)]
        if not old:
            return message
        pruned = {id(result): result.model_copy(update={"content": self._placeholder}) for result in old}
        parts = tuple(pruned.get(id(part), part) for part in message.parts)
        return message.model_copy(update={"parts": parts, "metadata": {**message.metadata, **self._note(old)}})

    def _is_long(self, result: ToolResult) -> bool:
        # Content in parts may hold media, of which no text says how large they are.
        has_media = not isinstance(result.content, str) and any(not isinstance(part, Text) for part in result.content)
        return has_media or len(result.text) > self._longest

    def _note(self, old: Sequence[ToolResult]) -> dict[str, Any]:
        note: dict[str, Any] = {"pruned": True}
        if self._now is not None:
            note["pruned_at"] = self._now
        note["original_output_tokens"] = sum(self._count(result.text) for result in old)
        return note


# Summaries


def summarise(conversation: Conversation, summary: str, *, keep: int, heading: str = SUMMARY_HEADING) -> Conversation:
    """Return the conversation with all but its last messages replaced by a summary.

    It begins with the system messages that were among those replaced; then comes a message of the user with `heading`,
    an empty line and `summary`, whose metadata say `compaction.is_summary`; then the last `keep` messages, and more if
    one of them holds the result of an earlier call, or if calls at the end wait for theirs. Where only system messages
    would be replaced, nothing is. Raises XMLToolsError if `keep` is negative or no whole number.
    """
    old, recent = _parted(conversation, keep)
    if not old:
        return conversation
    system = [message for message in old if message.is_system]
    text = Text.unchecked(f"{heading}\n\n{summary}")
    replaced = Message(role="user", parts=(text,), metadata={"compaction": {"is_summary": True}})
    return conversation.with_messages((*system, replaced, *recent))


def _parted(conversation: Conversation, keep: int) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the messages that a summary replaces, none if these are only system messages, and those that stay."""
    _check_number("keep", keep)
    checked_conversation(conversation)
    cut = _cut(conversation.messages, max(len(conversation) - keep, 0))
    if all(message.is_system for message in conversation.messages[:cut]):
        cut = 0
    return conversation.messages[:cut], conversation.messages[cut:]


def _cut(messages: Sequence[Message], cut: int) -> int:
    """Return the last place, at most `cut`, after which no result answers a call in front of it."""
    needed = _first_needed(messages)
    while needed[cut] < cut:
        cut = needed[cut]
    return cut


def _first_needed(messages: Sequence[Message]) -> list[int]:
    """Return for each place, and for the end, the first message that what stands from there on refers to."""
    asked: dict[str, int] = {}
    needed = list(range(len(messages) + 1))
    for index, message in enumerate(messages):
        asked.update((call.id, index) for call in message.calls)
        needed[index] = min((asked.get(result.call_id, index) for result in message.results), default=index)
    needed[-1] = _first_waiting(messages)
    for index in reversed(range(len(messages))):
        needed[index] = min(needed[index], needed[index + 1])
    return needed


def _first_waiting(messages: Sequence[Message]) -> int:
    """Return the last reply if nobody has spoken since and a call of it has no result, else the end."""
    last = next((index for index in reversed(range(len(messages))) if not messages[index].is_tool), 0)
    answered = {result.call_id for message in messages[last:] for result in message.results}
    is_open = any(call.id not in answered for message in messages[last : last + 1] for call in message.calls)
    return last if is_open else len(messages)


def fallback_summary(conversation: Conversation) -> str:
    """Return a sentence that stands for a summary when no model could write one."""
    users = sum(message.is_user for message in checked_conversation(conversation).messages)
    replies = sum(message.is_assistant for message in conversation.messages)
    return f"Previous conversation containing {users} user messages and {replies} assistant responses."


def transcript_lines(conversation: Conversation) -> list[str]:
    """Return what was said, for a model that sums it up: a line for each text of the user and the assistant, and for
    each call the name of its tool. Results and the system's messages are left out."""
    return [line for message in checked_conversation(conversation).messages for line in _lines(message)]


def _lines(message: Message) -> list[str]:
    speaker = {"user": "User", "assistant": "Assistant"}.get(message.role)
    if speaker is None:
        return []
    said = [f"{speaker}: {message.text}"] if message.text else []
    return said + [f"{speaker}: [Used tool: {call.name}]" for call in message.calls]


# Both


def compact(
    conversation: Conversation,
    limit: int,
    *,
    summary: Callable[[Conversation], str] = fallback_summary,
    keep: int = 10,
    keep_last: int = 5,
    max_characters: int = 500,
    count: Counter | None = None,
    now: float | None = None,
    issues: list[Issue] | None = None,
) -> Conversation:
    """Return the conversation, made smaller if it has more than `limit` tokens: the outputs of tools pruned, and if
    that is not enough, its old messages replaced by a summary.

    `keep_last` outputs (see `prune_results`) and `keep` messages (see `summarise`) stay if they fit. If they don't,
    fewer outputs do, then fewer messages, half as many each time; at last no output, but always the last message, and
    more only where a call would lose its result. `summary` is called with the messages that are replaced, and returns
    the text (see `transcript_lines`); it is called again, with more of them, if that text was too long.
    `max_characters` and `now` are for `prune_results`, `count` is for `estimate_tokens`. No step is taken that makes
    the conversation larger, but that files in outputs, which count as no tokens, give way to a placeholder.

    What is over the limit all the same, such as a long system prompt, is put into `issues` as `over_limit`, or comes
    as an OverLimitWarning. Raises XMLToolsError for numbers that are negative or not whole, and if the summary is no
    text.
    """
    for name, number in (("limit", limit), ("keep", keep), ("keep_last", keep_last)):
        _check_number(name, number)
    if estimate_tokens(conversation, count) <= limit:
        return conversation
    steps = list(_steps(keep_last, keep))
    smallest = _Smallest(limit, count)
    for last, kept in steps:
        pruned = prune_results(conversation, keep_last=last, max_characters=max_characters, count=count, now=now)
        if smallest.fits(pruned):
            return pruned
        old, _ = _parted(pruned, kept)
        if not old:
            continue
        # A summary without a word shows what the rest takes: nobody need write one in vain.
        if (last, kept) != steps[-1] and estimate_tokens(summarise(pruned, "", keep=kept), count) > limit:
            continue
        shorter = summarise(pruned, _checked_text(summary(pruned.with_messages(old))), keep=kept)
        if smallest.fits(shorter):
            return shorter
    what = f"{smallest.tokens:,} tokens are left, over the limit of {limit:,}, and nothing more can be left out"
    if issues is None:
        warnings.warn(what, OverLimitWarning, stacklevel=2)
    else:
        issues.append(Issue("over_limit", what, None, "make the messages of the system, or the last one, shorter"))
    return smallest.conversation


class _Smallest:
    """The smallest conversation that was found so far; of the same size, the first."""

    __slots__ = ("_count", "_limit", "conversation", "tokens")

    def __init__(self, limit: int, count: Counter | None) -> None:
        self._limit = limit
        self._count = count
        self.conversation = Conversation()
        self.tokens = -1

    def fits(self, conversation: Conversation) -> bool:
        """Look at a conversation, and return whether it is within the limit."""
        tokens = estimate_tokens(conversation, self._count)
        if self.tokens < 0 or tokens < self.tokens:
            self.conversation, self.tokens = conversation, tokens
        return tokens <= self._limit


def _checked_text(summary: Any) -> str:
    if not isinstance(summary, str):
        raise XMLToolsError(f"summary: expected text, got {type(summary).__name__}")
    return summary


def _steps(keep_last: int, keep: int) -> Iterator[tuple[int, int]]:
    """Yield how many outputs and messages to keep, always fewer: the last output goes when all else was tried."""
    messages = list(_halves(keep))
    outputs = [each for each in _halves(keep_last) if each] or [0]
    yield from ((each, keep) for each in outputs)
    yield from ((outputs[-1], each) for each in messages[1:])
    if outputs[-1]:
        yield from ((0, each) for each in messages)


def _halves(number: int) -> Iterator[int]:
    """Yield a number and its halves down to 1; 0 if it is that."""
    yield number
    while number > 1:
        number //= 2
        yield number


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise XMLToolsError(f"{name}: expected a whole number from 0, got {value!r:.40}")
