"""Why a reply ended: words of APIs, of servers and of RobotLab, and what `Message.finish_reason` says for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.models.json_fields import expect

CUT_OFF = frozenset({"length", "content_filter", "error"})
"""The words of `Message.finish_reason` for a reply that was cut off."""
_WORDS: Mapping[str, str] = {
    # OpenAI's words are those of `Message.finish_reason`; so are Wolo's.
    "tool_calls": "tool_calls function_call tool_call tool_use tool",  # with Anthropic and RobotLab
    "stop": "stop eos eos_token stop_token end end_turn stop_sequence complete completed normal finish_reason_stop",
    "length": "length max_tokens max_output_tokens model_length model_context_window_exceeded",
    "content_filter": "content_filter refusal safety recitation blocklist prohibited_content spii",  # with Gemini
    "error": "error abort aborted timeout cancelled canceled network_error insufficient_system_resource"
    " malformed_function_call",
}
FINISH_REASONS: Mapping[str, str] = {word: ours for ours, words in _WORDS.items() for word in words.split()}
"""What `Message.finish_reason` says for the word of an API or a server, in small letters. No two of them mean different
things by one word."""


def our_reason(word: str) -> str:
    """What `Message.finish_reason` says for this word, in any letters; empty for one that is not in the table."""
    return FINISH_REASONS.get(word.lower(), "")


def ends_whole(word: str) -> bool:
    """Does this word say that the reply is whole? One that is not in the table does not."""
    return our_reason(word) in ("stop", "tool_calls")


def read_finish_reason(source: Mapping[str, Any], key: str, where: str = "") -> str | None:
    """Return why a reply ended, from `key` of its response; None if that doesn't say. A word that is not in the table
    stays as it is, in small letters. Raises XMLToolsError, with the place `where`, if it is no text."""
    given = source.get(key)
    if given is None:
        return None
    reason: str = expect(given, str, f"{where}{key}", "text")
    return our_reason(reason) or reason.lower() or None
