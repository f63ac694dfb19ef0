"""Real constrained-decoding engines without a model: judges of texts, and walkers through their masks.

Each `*_judge` module has `available()`, which gives the reason why its engine can't be used here (empty if it can),
and one class with the same methods: `accepts`, `prefix`, `walk` and, but for llama.cpp, `mask_times`.
"""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["missing"]


def missing(*modules: str) -> str:
    """Return which of the modules are not installed, as a sentence; nothing if all are."""
    absent = [module for module in modules if find_spec(module) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""
