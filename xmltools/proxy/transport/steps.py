"""What a request on its way asks for, and what it gives: the words between a course and whoever does what it says."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import httpx2

__all__ = ["Given", "Head", "Step", "Steps", "Take"]


class Take(Enum):
    """The step that asks for the next bytes of what is being read: of the request, then of the open response. They are
    None at its end."""

    TAKE = "take"


@dataclass(frozen=True, slots=True)
class Head:
    """What the client gets first, unless a response passes through as it is. Bytes follow."""

    status: int
    headers: httpx2.Headers


Step = httpx2.Request | Take
Given = Head | httpx2.Response | bytes
Steps = Generator[Step | Given, Any, None]
"""What to do, and what to give to the client. A request that is to be sent is answered by its response."""
