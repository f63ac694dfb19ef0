"""A recorded exchange as its file has it (see `xmltools.proxy.recordings`), read back."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmltools.errors import XMLToolsError

__all__ = ["VERSION", "Recorded", "read_recording", "written"]

VERSION = 1
"""The number that the first line of a file bears."""


def written(data: bytes) -> dict[str, str]:
    """Return bytes as JSON has them: as text where they are text."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


@dataclass(frozen=True, slots=True)
class Recorded:
    """An exchange that was kept. `chunks` are pairs of a time and bytes; `error` says what broke it off, if it was."""

    method: str
    path: str
    body: dict[str, Any] | None
    status: int
    headers: dict[str, str]
    head_at: float
    chunks: tuple[tuple[float, bytes], ...]
    end_at: float
    error: str | None


def read_recording(file: Path | str) -> Recorded:
    """Return the exchange that a file holds. One without an end, as a crash leaves it, counts as broken off.

    Raises XMLToolsError, with the line, for a file that can't be read or is no recording of this version.
    """
    try:
        lines = Path(file).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise XMLToolsError(f"{file}: the recording can't be read: {error}") from None
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        # A line without its line break was cut off while it was written.
        if line and number < len(lines):
            entries.append(_entry(line, f"{file}, line {number}"))
    try:
        return _recorded(entries)
    except (KeyError, IndexError, TypeError, ValueError):
        raise XMLToolsError(
            f"{file}: expected what --record writes: a line for the request (version {VERSION}), one for the response, "
            "and one for each chunk"
        ) from None


def _entry(line: str, at: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or "type" not in entry:
        raise XMLToolsError(f"{at}: expected a JSON object with a type, as --record writes it")
    return entry


def _recorded(entries: list[dict[str, Any]]) -> Recorded:
    request, response, *rest = entries
    if (request["type"], request["version"], response["type"]) != ("request", VERSION, "response"):
        raise ValueError
    chunks = tuple((float(each["at"]), _bytes_of(each)) for each in rest if each["type"] == "chunk")
    ends = [each for each in rest if each["type"] == "end"]
    last = chunks[-1][0] if chunks else float(response["at"])
    return Recorded(
        method=str(request["method"]),
        path=str(request["path"]),
        body=request["body"],
        status=int(response["status"]),
        headers={str(name): str(value) for name, value in response["headers"].items()},
        head_at=float(response["at"]),
        chunks=chunks,
        end_at=float(ends[0]["at"]) if ends else last,
        error=ends[0]["error"] if ends else "the recording has no end",
    )


def _bytes_of(entry: dict[str, Any]) -> bytes:
    if "text" in entry:
        return str(entry["text"]).encode("utf-8")
    return base64.b64decode(entry["base64"], validate=True)
