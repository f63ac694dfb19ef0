"""xgrammar without torch, transformers and triton.

It imports them for types and for kernels that run on graphics cards. Grammars, matchers and masks need none of them,
so while xgrammar is imported, empty classes stand in for whatever it takes from them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["import_xgrammar"]

_ABSENT = ("torch", "transformers", "triton", "triton.language")


class _StandIn:
    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class _EmptyModule(ModuleType):
    def __getattr__(self, name: str) -> type[_StandIn]:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StandIn


def import_xgrammar() -> Any:
    """Return the module `xgrammar`, with the real torch if that is installed."""
    if "xgrammar" in sys.modules or find_spec("torch"):
        return import_module("xgrammar")
    # This one does without torch if it does not find it, and would take the stand-in for the real one.
    import_module("tvm_ffi")
    sys.modules.update({name: _EmptyModule(name) for name in _ABSENT})
    try:
        return import_module("xgrammar")
    finally:
        # Others ask whether torch has been imported.
        for name in _ABSENT:
            del sys.modules[name]
