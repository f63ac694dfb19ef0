"""The tools of a row, made once for all rows that have the same."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.parser.conclude import Toolbox
from xmltools.tools import Tool, load_tools

__all__ = ["Toolsets"]

_KEPT = 256
"""Toolboxes that are kept: data sets have few, and those of one have most of their rows."""


class Toolsets:
    """Finds the toolbox of a row: that of all rows, or the row's own."""

    def __init__(self, common: tuple[Tool, ...] | None) -> None:
        self._common = None if common is None else Toolbox(common)
        self._read = lru_cache(maxsize=_KEPT)(_read)

    def find(self, own: Any = None) -> Toolbox | None:
        """Return the toolbox for a row's own tools, parsed or as JSON text; that of all rows if it has none (None).

        Raises `XMLToolsError` if they cannot be read.
        """
        if own is None:
            return self._common
        return self._read(own if isinstance(own, str) else _as_text(own))


def _as_text(own: Any) -> str:
    try:
        return json.dumps(own)
    except (TypeError, ValueError, RecursionError) as error:
        raise XMLToolsError(f"expected tools, or their JSON, got {type(own).__name__}: {error}") from None


def _read(text: str) -> Toolbox:
    try:
        return Toolbox(load_tools(json.loads(text)))
    except XMLToolsError:
        raise
    except (ValueError, RecursionError) as error:
        raise XMLToolsError(f"expected tools as JSON: {error}") from None
