"""Apply a unified diff, strictly: every context line must stand where the diff says it stands.

No fuzz, no offsets: a diff that does not fit is an error that says which line was expected and which was
found; a model can correct that.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["PatchError", "Patched", "apply_patch"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_BREAK = "\\ No newline at end of file"


class PatchError(ValueError):
    """The diff can't be read or does not fit the file; the message says where and why."""


class Patched(NamedTuple):
    """The file after the change, and how much was changed."""

    text: str
    hunks: int
    added: int
    removed: int


class _Hunk:
    """One hunk: where it begins (counted from 0), the lines that are expected there, and the new ones."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.old: list[str] = []
        self.new: list[str] = []
        self.added = self.removed = 0

    def take(self, line: str) -> None:
        """Read one line of the body: its first character says which side it belongs to."""
        mark, content = line[:1].strip("\n"), line[1:]
        if mark not in ("", " ", "-", "+"):
            raise PatchError(f"expected a line that begins with a space, - or +, got {line.rstrip()!r}")
        if mark != "+":
            self.old.append(content or "\n")
        if mark != "-":
            self.new.append(content or "\n")
        self.added += mark == "+"
        self.removed += mark == "-"

    def cut_line_break(self, mark: str) -> None:
        """The line before (its mark is given) has no line break at its end."""
        for side in ([self.old] if mark != "+" else []) + ([self.new] if mark != "-" else []):
            side[-1] = side[-1].removesuffix("\n")

    def check(self, lines: list[str], number: int) -> None:
        """Compare what the hunk expects with what the file holds."""
        for i, expected in enumerate(self.old, self.start):
            found = lines[i] if i < len(lines) else None
            if found != expected:
                shown = "the end of the file" if found is None else repr(found)
                raise PatchError(f"hunk {number}, line {i + 1} of the file: expected {expected!r}, found {shown}")


def apply_patch(text: str, diff: str) -> Patched:
    """Change `text` by `diff`, a unified diff of one file.

    Returns the changed text and the number of hunks, added and removed lines. Raises `PatchError` if the diff
    can't be read, has no hunk, or shows a line that does not stand in the file at that place.
    """
    lines = _split(text)
    # Who writes a diff into an argument often leaves out its last line break.
    hunks = _read_hunks(_split(diff if diff.endswith("\n") else diff + "\n"))
    out: list[str] = []
    done = 0
    for number, hunk in enumerate(hunks, 1):
        if hunk.start < done:
            raise PatchError(f"hunk {number} begins before the end of the one before it")
        hunk.check(lines, number)
        out += lines[done : hunk.start] + hunk.new
        done = hunk.start + len(hunk.old)
    changed = "".join(out + lines[done:])
    added, removed = sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks)
    return Patched(changed, len(hunks), added, removed)


def _split(text: str) -> list[str]:
    # Not splitlines: it cuts at characters that are content here.
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _read_hunks(lines: list[str]) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    at = 0
    while at < len(lines):
        header = _HUNK.match(lines[at])
        at += 1
        if header:
            at, hunk = _read_hunk(lines, at, header)
            hunks.append(hunk)
        elif hunks and lines[at - 1].strip():
            found = lines[at - 1].rstrip()
            raise PatchError(f"line {at} of the diff: expected a hunk (@@ -1,2 +1,3 @@), got {found!r}")
    if not hunks:
        raise PatchError("the diff has no hunk: expected a line such as @@ -1,2 +1,3 @@")
    return hunks


def _read_hunk(lines: list[str], at: int, header: re.Match[str]) -> tuple[int, _Hunk]:
    """Read the body of a hunk that begins at line `at`. Returns the line after it, and the hunk."""
    old_count, new_count = (int(count or 1) for count in header.group(2, 4))
    # An empty side is placed after the line that its header names.
    hunk = _Hunk(int(header[1]) - (old_count > 0))
    while len(hunk.old) < old_count or len(hunk.new) < new_count:
        if at == len(lines):
            raise PatchError(f"the diff ends inside the hunk {header[0]}")
        hunk.take(lines[at])
        at += 1
        if at < len(lines) and lines[at].startswith(_NO_BREAK):
            hunk.cut_line_break(lines[at - 1][:1])
            at += 1
    if (len(hunk.old), len(hunk.new)) != (old_count, new_count):
        raise PatchError(f"the body of the hunk {header[0]} is longer or shorter than its header says")
    return at, hunk
