"""The tools of the demo, really carried out, in one folder that they can't leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from xmltools.cli.demo.calculator import CalculatorError, calculate
from xmltools.cli.demo.patch import PatchError, apply_patch
from xmltools.models import ToolCall, ToolResult
from xmltools.tools import Tool

__all__ = ["Workspace"]


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
        except (CalculatorError, PatchError, _PathError, UnicodeDecodeError) as error:
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
            raise _PathError(f"{path} exists already; say overwrite to replace it")
        self._write(file, content)
        return f"{path}: {len(content.splitlines())} lines written"

    def _locate(self, path: str) -> Path:
        """The file that `path` names. Links are followed first, so that they lead nowhere else."""
        if "\0" in path:
            raise _PathError("expected a path without NUL characters")
        file = (self.folder / path).resolve()
        if not file.is_relative_to(self.folder) or file == self.folder:
            raise _PathError(f"expected a path inside the working folder, got {path!r}")
        return file

    def _write(self, file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="", errors="replace")
        self.changed.append(file)


class _PathError(ValueError):
    """The path can't be used."""


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
                raise PatchError(f"the diff is for {named!r}, not for {path!r}")
