"""The list of models, in the words of Anthropic's API for clients that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["anthropic_model", "anthropic_models"]


def anthropic_models(listed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of Anthropic's API with the models of OpenAI's list."""
    data = listed.get("data")
    models = [anthropic_model(each) for each in (data if isinstance(data, list) else ()) if isinstance(each, dict)]
    ids = [model["id"] for model in models]
    return {
        "data": models,
        "has_more": False,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }


def anthropic_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model of OpenAI's API in the words of Anthropic's."""
    id = str(model.get("id", ""))
    return {"type": "model", "id": id, "display_name": id, "created_at": _time(model.get("created"))}


def _time(seconds: Any) -> str:
    try:
        when = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        when = datetime.fromtimestamp(0, UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
