"""The recorded conversation: the task, the model's two replies, and how a model would have streamed them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from importlib.resources import files

TASK = (
    "src/transcript.ts keeps every entry in memory for ever, and it writes broken "
    "XML when an entry holds ]]>. Fix both; keep at most 256 KiB."
)
"""What the user asks for."""
SOURCE = "src/transcript.ts"
"""The file that the task is about."""

_SEED = 7
_LONGEST_TOKEN = 7
_PIECE = re.compile(r" ?[^\W\d_]+| ?\d{1,3}|\n+ *|[^\w\s]{1,3}|\s+|.", re.DOTALL)


def replies() -> list[str]:
    """The model's replies, in order: the first holds calls, the last none."""
    return [_read("reply-1.txt"), _read("reply-2.txt")]


def source() -> str:
    """The file that the task is about, as it is before the first reply."""
    return _read(SOURCE)


def tokens(text: str, seed: int = _SEED) -> Iterator[str]:
    """Cut `text` as a tokenizer might: short words whole, long ones in pieces. One seed, one cutting."""
    rng = random.Random(seed)
    for piece in _PIECE.findall(text):
        at = 0
        while at < len(piece):
            size = rng.randint(2, _LONGEST_TOKEN) if len(piece) - at > _LONGEST_TOKEN else len(piece)
            yield piece[at : at + size]
            at += size


def _read(name: str) -> str:
    return files(__package__).joinpath("data", *name.split("/")).read_text(encoding="utf-8")
