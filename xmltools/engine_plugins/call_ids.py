"""Ids of calls for models whose chat templates read them; for all others any id will do."""

from __future__ import annotations

from uuid import uuid4

from xmltools.dialects import Dialect


def call_id(dialect: Dialect, name: str, number: int) -> str | None:
    """Return the id of a call, the `number`-th of a conversation from 0 on; None if any will do."""
    match dialect.name:
        case "kimi_k2":
            return f"functions.{name}:{number}"
        case "kimi_k3":
            return f"{name}:{number}"
        case "mistral":
            return uuid4().hex[:9]  # nine letters and digits, or the template refuses it
        case _:
            return None
