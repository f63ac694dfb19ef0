"""How deep the stack may get in a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["frames"]


@contextmanager
def frames(count: int) -> Iterator[None]:
    """Leave so many frames of the stack."""
    used, frame = 0, sys._getframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back  # type: ignore[assignment]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(used + count)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
