"""The tools of the demo, really carried out, in one folder that they can't leave: a calculator, diffs and files."""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from xmltools.models import ToolCall, ToolResult
from xmltools.tools import Tool

_TOKEN = re.compile(r"\s*(?:(\d{1,30}(?:\.\d{1,30})?)|([-+*/%()]))")
_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_LONGEST = 100  # Bounds the depth of parentheses, and so the recursion.
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NO_BREAK = "\\ No newline at end of file"


class ToolError(ValueError):
    """What a tool was asked for can't be done; the message says why, for the model to read."""


class Workspace:
    """A folder, and the tools that work in it. `changed` lists the files that were written, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.changed: list[Path] = []
        self._functions: dict[str, Callable[..., str]] = {
            function.__name__: function for function in (self.calculator, self.apply_diff, self.write_file)
        }

    @property
    def tools(self) -> list[Tool]:
        """The tools, described from the signatures and docstrings of the methods below."""
        return [Tool.of(function) for function in self._functions.values()]

    def run(self, call: ToolCall) -> ToolResult:
        """Carry out a call. What goes wrong is a result too, for the model to read."""
        try:
            content, failed = self._functions[call.name](**call.arguments), False
        except (ToolError, UnicodeDecodeError) as error:
            content, failed = str(error), True
        except OSError as error:
            content, failed = error.strerror or type(error).__name__, True
        return ToolResult(call_id=call.id, name=call.name, content=content, is_error=failed)

    def calculator(self, expression: str) -> str:
        """Calculate.

        Args:
            expression: Numbers, + - * / % and parentheses.
        """
        return calculate(expression)

    def apply_diff(self, path: str, diff: str, strip: int = 0) -> str:
        """Apply a unified diff to a file.

        Args:
            path: The file, from the working folder.
            diff: The diff; its context must fit exactly.
            strip: How many folders to take off the paths in the diff's header.
        """
        file = self._locate(path)
        _check_header(diff, path, strip)
        patched = apply_patch(_read(file), diff)
        self._write(file, patched.text)
        return f"{path}: {patched.hunks} hunks applied, +{patched.added} -{patched.removed} lines"

    def write_file(self, path: str, content: str, overwrite: bool = False) -> str:
        """Write a text file.

        Args:
            path: The file, from the working folder. Folders are made as needed.
            content: All of its text.
            overwrite: Replace a file that exists.
        """
        file = self._locate(path)
        if file.exists() and not overwrite:
            raise ToolError(f"{path} exists already; say overwrite to replace it")
        self._write(file, content)
        return f"{path}: {len(content.splitlines())} lines written"

    def _locate(self, path: str) -> Path:
        """The file that `path` names. Links are followed first, so that they lead nowhere else."""
        if "\0" in path:
            raise ToolError("expected a path without NUL characters")
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder) or file == self.folder:
            raise ToolError(f"expected a path inside the working folder, got {path!r}")
        return file

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="", errors="replace")
        self.changed.append(file)


def _read(file: Path) -> str:
    # newline="": line ends are content.
    with file.open(encoding="utf-8", newline="") as stream:
        return stream.read()


def _check_header(diff: str, path: str, strip: int) -> None:
    """Refuse a diff whose header names another file."""
    for line in diff.split("\n", 2)[:2]:
        if line.startswith(("--- ", "+++ ")):
            named = line[4:].split("\t")[0].strip()
            if named.split("/", max(strip, 0))[-1] != path:
                raise ToolError(f"the diff is for {named!r}, not for {path!r}")


# The calculator: it has its own parser, and nothing is ever evaluated


def calculate(expression: str) -> str:
    """Take an expression such as `2 * (3 + 4)`; return its value, exact if it is a whole number.

    Raises `ToolError` if it can't be read, is longer than 100 characters, or divides by zero.
    """
    if len(expression) > _LONGEST:
        raise ToolError(f"expected at most {_LONGEST} characters")
    tokens = _tokens(expression.strip())
    value = _sum(tokens)
    if tokens:
        raise ToolError(f"expected an operator or the end, got {tokens[0]!r}")
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def _tokens(expression: str) -> list[str]:
    tokens, at = [], 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if not match:
            found = expression[at:].strip()[:10]
            raise ToolError(f"expected a number or one of + - * / % ( ), got {found!r}")
        tokens.append(match[1] or match[2])
        at = match.end()
    return tokens


def _sum(tokens: list[str]) -> Fraction:
    """Take the tokens of a sum of products of values from the front."""
    total = _product(tokens)
    while tokens and tokens[0] in "+-":
        total = _OPERATORS[tokens.pop(0)](total, _product(tokens))
    return total


def _product(tokens: list[str]) -> Fraction:
    total = _value(tokens)
    while tokens and tokens[0] in "*/%":
        apply, value = _OPERATORS[tokens.pop(0)], _value(tokens)
        if not value and apply is not operator.mul:
            raise ToolError("division by zero")
        total = apply(total, value)
    return total


def _value(tokens: list[str]) -> Fraction:
    token = tokens.pop(0) if tokens else "the end"
    if token == "-":
        return -_value(tokens)
    if token == "(":
        value = _sum(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ToolError("expected )")
        return value
    if not token[0].isdigit():
        raise ToolError(f"expected a number, got {token!r}")
    return Fraction(token)


# Diffs: every context line must be where the diff has it, without fuzz and offsets. If one does not fit, the error
# names the line that was expected and the one that was found; a model can correct that.


class Patched(NamedTuple):
    """The file after the change, and how much was changed."""

    text: str
    hunks: int
    added: int
    removed: int


class _Hunk(NamedTuple):
    """Changes at one place: the line of the file where it begins (from 0), and its lines, each after its mark."""

    start: int
    lines: list[tuple[str, str]]

    def without(self, mark: str) -> list[str]:
        """Return one side: all lines but those with the mark of the other side."""
        return [content for each, content in self.lines if each != mark]


def apply_patch(text: str, diff: str) -> Patched:
    """Change `text` by `diff`, a unified diff of one file.

    Returns the changed text and the number of hunks, added and removed lines. Raises `ToolError` if the diff
    can't be read, has no hunk, or shows a line that is not in the file at that place.
    """
    lines = _split(text)
    # Who writes a diff into an argument often leaves out its last line break.
    hunks = _read_hunks(_split(diff if diff.endswith("\n") else diff + "\n"))
    out: list[str] = []
    done = 0
    for number, hunk in enumerate(hunks, 1):
        if hunk.start < done:
            raise ToolError(f"hunk {number} begins before the end of the one before it")
        old = hunk.without("+")
        for place, expected in enumerate(old, hunk.start):
            found = lines[place] if place < len(lines) else None
            if found != expected:
                shown = "the end of the file" if found is None else repr(found)
                raise ToolError(f"hunk {number}, line {place + 1} of the file: expected {expected!r}, found {shown}")
        out += lines[done : hunk.start] + hunk.without("-")
        done = hunk.start + len(old)
    marks = Counter(mark for hunk in hunks for mark, _ in hunk.lines)
    return Patched("".join(out + lines[done:]), len(hunks), marks["+"], marks["-"])


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
            raise ToolError(f"line {at} of the diff: expected a hunk (@@ -1,2 +1,3 @@), got {found!r}")
    if not hunks:
        raise ToolError("the diff has no hunk: expected a line such as @@ -1,2 +1,3 @@")
    return hunks


def _read_hunk(lines: list[str], at: int, header: re.Match[str]) -> tuple[int, _Hunk]:
    """Read the body of a hunk that begins at line `at`. Returns the line after it, and the hunk."""
    old_count, new_count = (int(count or 1) for count in header.group(2, 4))
    # An empty side is placed after the line that its header names.
    hunk = _Hunk(int(header[1]) - (old_count > 0), [])
    old = new = 0
    while old < old_count or new < new_count:
        if at == len(lines):
            raise ToolError(f"the diff ends inside the hunk {header[0]}")
        mark, content = lines[at][:1].strip("\n"), lines[at][1:] or "\n"
        if mark not in ("", " ", "-", "+"):
            raise ToolError(f"expected a line that begins with a space, - or +, got {lines[at].rstrip()!r}")
        old += mark != "+"
        new += mark != "-"
        at += 1
        if at < len(lines) and lines[at].startswith(_NO_BREAK):
            content = content.removesuffix("\n")
            at += 1
        hunk.lines.append((mark, content))
    if (old, new) != (old_count, new_count):
        raise ToolError(f"the body of the hunk {header[0]} is longer or shorter than its header says")
    return at, hunk
