"""What the check of a keyword asks for while it runs.

Checks do not call each other: they are generators that yield problems and these requests, and the checker runs them one
after the other. So values may nest as deep as they like, and the checker remembers what it has seen.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from xmltools.tools.schema.document import Node
from xmltools.tools.schema.equality import Path, Problem

__all__ = ["Ask", "Steps", "Sub"]


class Ask(NamedTuple):
    """Does the value fit the node? The answer is sent back."""

    node: Node
    value: Any
    path: None = None


class Sub(NamedTuple):
    """Report all problems that the value, which stands at `path`, has with the node. The answer means nothing."""

    node: Node
    value: Any
    path: Path


Steps = Generator[Problem | Ask | Sub, bool | None, None]
"""A check that runs."""
