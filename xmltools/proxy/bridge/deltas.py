"""What a delta of the upstream says, or the message of a whole reply, in the forms that servers have for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["calls_of", "details_of", "is_silent", "reasoning_of", "text_of"]

_REASONING = ("reasoning_content", "reasoning")


def text_of(delta: Mapping[str, Any]) -> str:
    """Return the text for the reader."""
    text = delta.get("content") or delta.get("refusal")
    if isinstance(text, list):
        text = _joined(text, "text")
    return text if isinstance(text, str) else ""


def reasoning_of(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Return where the model's thoughts stand, and these; two empty strings if there are none."""
    for key in _REASONING:
        text = delta.get(key)
        if isinstance(text, str) and text:
            return key, text
    return "", ""


def details_of(delta: Mapping[str, Any]) -> str:
    """Return what can be read of `reasoning_details`: text and summaries. What is encrypted is for the server alone."""
    details = delta.get("reasoning_details")
    return _joined(details, "text", "summary") if isinstance(details, list) else ""


def calls_of(delta: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls, or parts of calls, that a server has made of the reply itself."""
    calls = delta.get("tool_calls")
    if not calls:
        old = delta.get("function_call")
        calls = [{"index": 0, "function": old}] if old else []
    found = [each for each in calls if isinstance(each, dict)] if isinstance(calls, list) else []
    return [{**each, "function": _function(each.get("function"))} for each in found]


def _function(function: Any) -> dict[str, Any]:
    """Return the function of a call with its arguments as text: some servers give an object."""
    if not isinstance(function, dict):
        return {}
    arguments = function.get("arguments")
    return {**function, "arguments": json.dumps(arguments)} if isinstance(arguments, (dict, list)) else function


def is_silent(delta: Mapping[str, Any]) -> bool:
    """Whether a delta says nothing: not a word, not a thought, not a call."""
    said = text_of(delta).strip() or reasoning_of(delta)[1] or details_of(delta)
    return not (said or delta.get("tool_calls") or delta.get("function_call"))


def _joined(parts: list[Any], *keys: str) -> str:
    """Return the texts of parts, each of which has its own under one of the keys."""
    texts = (part.get(key) for part in parts if isinstance(part, dict) for key in keys)
    return "".join(text for text in texts if isinstance(text, str))
