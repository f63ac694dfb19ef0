"""Why a reply ended: the words of the APIs and of RobotLab, and what they are called in `Message.finish_reason`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.models.json_fields import expect

FINISH_REASONS: Mapping[str, str] = {
    # OpenAI, whose words are those of `Message.finish_reason`; so are Wolo's.
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    # Anthropic
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    # Gemini
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MALFORMED_FUNCTION_CALL": "error",
    # RobotLab, which has "stop" and this one
    "tool": "tool_calls",
}
"""What `Message.finish_reason` says for the word of an API. No two of them mean different things by one word."""


def read_finish_reason(source: Mapping[str, Any], key: str, where: str = "") -> str | None:
    """Return why a reply ended, from `key` of its response; None if that doesn't say. A word that is not in the table
    stays as it is, in small letters. Raises XMLToolsError, with the place `where`, if it is no text."""
    given = source.get(key)
    if given is None:
        return None
    reason: str = expect(given, str, f"{where}{key}", "text")
    return FINISH_REASONS.get(reason, reason.lower()) or None
