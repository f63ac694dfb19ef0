"""What the scripted model says if there are no tools: prepared replies with times, each about a few words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from xmltools.proxy.scripted import demo_recording as recording
from xmltools.proxy.scripted.pace import Piece
from xmltools.proxy.scripted.words import stems

__all__ = ["Transcript", "find_transcript", "transcripts"]

_LEAST_PART = 0.5
"""The part of the words of the demo's task that must be said to get its reply."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A prepared reply. `about`: words, one of which must be said; `pieces`: its tokens with their times."""

    about: frozenset[str]
    pieces: tuple[Piece, ...]


@cache
def transcripts() -> tuple[Transcript, ...]:
    """Return the prepared replies of this package."""
    folder = files(__package__).joinpath("data")
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".json"))
    return tuple(_load(folder.joinpath(name).read_text(encoding="utf-8")) for name in names)


def _load(text: str) -> Transcript:
    data = json.loads(text)
    return Transcript(stems(data["about"]), tuple(Piece(at, piece) for at, piece in data["chunks"]))


def find_transcript(said: str) -> Transcript | str | None:
    """Return the prepared reply that shares most words with what the user said, None if none shares any.

    To the task of `xmltools demo` it is the text of the first reply there, which has no times.
    """
    spoken = stems(said)
    task = stems(recording.TASK)
    if len(spoken & task) >= _LEAST_PART * len(task):
        return recording.replies()[0]
    best = max(transcripts(), key=lambda each: len(spoken & each.about))
    return best if spoken & best.about else None
