"""Dialects that are made up, and known by name only where a test asks for them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from xmltools import dialects
from xmltools.dialects import Dialect

__all__ = ["registered"]


@contextmanager
def registered(*made_up: Dialect) -> Iterator[None]:
    """Within it, these are known as if each had a line in `xmltools/dialects/__init__.py`."""
    known = {**dialects._KNOWN}
    for each in made_up:
        module = ModuleType(f"xmltools.dialects.made_up_{each.name}")
        module.RECORD = each  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        dialects._KNOWN[each.name] = (f"made_up_{each.name}", "RECORD")
    _forget()
    try:
        yield
    finally:
        dialects._KNOWN.clear()
        dialects._KNOWN.update(known)
        for each in made_up:
            del sys.modules[f"xmltools.dialects.made_up_{each.name}"]
        _forget()


def _forget() -> None:
    """Clear what was made of all dialects and kept."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "xmltools":
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
