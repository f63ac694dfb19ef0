"""The command line: one module for each group of commands, `commands` for the table of them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (default: those of the process). Returns the exit status."""
    from xmltools.cli.commands import main as run

    return run(arguments)
