"""What a reply may contain: the bounds of the parser (protocol, section 7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xmltools.errors import XMLToolsError

MAX_DEPTH: Final = 128
"""The greatest `depth`. Values as deep as this can be written, copied, compared and read again by all who recurse:
renderers and formats need up to 400 frames of the 1,000 that Python allows, and pydantic reads 200 levels of JSON."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a block and a reply may contain; more of it is the error `limit_exceeded`. All are at least 1.

    `block_size` is in characters, from `<tool` through `</tool>`; `depth` is elements open at once inside the
    block, and nesting in JSON, and at most 128; `elements` is start tags in a block; `blocks` is blocks in a reply.

    Raises `XMLToolsError` for everything else than whole numbers in these bounds.
    """

    block_size: int = 10 * 1024 * 1024
    depth: int = 64
    elements: int = 10_000
    blocks: int = 1_000

    def __post_init__(self) -> None:
        for name in ("block_size", "depth", "elements", "blocks"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise XMLToolsError(f"limits: {name} is expected to be a whole number from 1 on, got {value!r:.40}")
        if self.depth > MAX_DEPTH:
            raise XMLToolsError(
                f"limits: depth is expected to be at most {MAX_DEPTH}, since whoever reads nested values recurses; "
                "pass deeper data as one string"
            )
