"""The models that an upstream lists."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class ListedModel(NamedTuple):
    """A model: the name to ask for it, and who owns it, where many servers write their own name."""

    id: str
    owner: str = ""


def listed_models(body: bytes) -> list[ListedModel]:
    """Return the models in an answer to `GET /models`, those with names that can be printed; none if it is no list."""
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return []
    models = answer.get("data") if isinstance(answer, dict) else None
    found = [model for model in (models if isinstance(models, list) else ()) if isinstance(model, dict)]
    return [
        ListedModel(name, owner if isinstance(owner := model.get("owned_by"), str) else "")
        for model in found
        if isinstance(name := model.get("id"), str) and name and name.isprintable()
    ]
