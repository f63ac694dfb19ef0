"""What a response says beside its output: the fields of its request, and the usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["echoed", "usage_of"]


def echoed(echo: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a response repeats of its request, with the API's word for what the request left open."""
    usual: dict[str, Any] = {
        "background": False,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "store": False,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
        "user": None,
    }
    for name, value in usual.items():
        given = echo.get(name)
        if isinstance(value, dict) and isinstance(given, Mapping):
            usual[name] = {**value, **{key: each for key, each in given.items() if each is not None}}
        elif given is not None:
            usual[name] = given
    return usual


def usage_of(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return usage in the words of this API. What a server left out, or is no number, is 0."""
    if usage is None:
        return None
    taken, given = _count(usage, "input_tokens", "prompt_tokens"), _count(usage, "output_tokens", "completion_tokens")
    of_input = _details(usage, "input_tokens_details", "prompt_tokens_details")
    of_output = _details(usage, "output_tokens_details", "completion_tokens_details")
    return {
        "input_tokens": taken,
        "input_tokens_details": {name: _count(of_input, name) for name in ("cached_tokens", "cache_write_tokens")},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": _count(of_output, "reasoning_tokens")},
        "total_tokens": _count(usage, "total_tokens") or taken + given,
    }


def _count(source: Mapping[str, Any], *names: str) -> int:
    return next((source[name] for name in names if type(source.get(name)) is int), 0)


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((usage[name] for name in names if isinstance(usage.get(name), Mapping)), {})
