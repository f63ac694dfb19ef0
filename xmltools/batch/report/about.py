"""What a report says of the run itself: what was read, what was written, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from jinja2.filters import do_filesizeformat

from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import BatchSummary, remarks

_FILES = 20  # files that are named one by one
_TOOLS = 40
_ELSEWHERE = {"column", "messages", "tools", "tools_column", "dialect", "also"}  # these have lines of their own


def describe_run(
    summary: BatchSummary, options: BatchOptions, *, tools_file: str | None = None, model: str | None = None
) -> dict[str, Sequence[str]]:
    """Return what `write_report` takes as `about`: names, and the lines of each.

    Takes the summary of the run and its options, the file that the tools came from, and the name of the model that
    picked the dialect, if one did.
    """
    what = "chat messages" if options.messages else "replies"
    named = (options.also,) if isinstance(options.also, str) else options.also or ()
    also = ["all that are known" if name == "known" else name for name in named]
    others = f"; also read: {', '.join(also)}" if also else ""
    said: dict[str, Sequence[str]] = {
        "Input": _files(summary.inputs),
        "Column": [f"{options.column} ({what})"],
        "Output": _files(summary.outputs),
        "Tools": list(_tools(options, tools_file)),
        "Dialect": [options.dialect + (f", that of {model}" if model else "") + others],
        "Options": list(_options(options)) or ["as they are by default"],
    }
    if summary.untyped_rows:
        said["Tools"] = [*said["Tools"], f"{summary.untyped_rows:,} rows have no tools: their calls are not checked"]
    if found := remarks(summary):
        said["Remarks"] = found
    if summary.seconds:
        before = f"; {summary.skipped_rows:,} rows were done before it was resumed" if summary.skipped_rows else ""
        said["Time"] = [f"{summary.seconds:,.1f} s{before}"]
    return said


def _files(paths: Sequence[Path]) -> list[str]:
    named = [f"{path} ({do_filesizeformat(path.stat().st_size)})" for path in paths[:_FILES] if path.exists()]
    return [*named, *([f"and {len(paths) - _FILES:,} more files"] if len(paths) > _FILES else [])]


def _tools(options: BatchOptions, file: str | None) -> Iterator[str]:
    if options.tools_column is not None:
        yield f"those in the column {options.tools_column} of each row; where it has none:"
    if options.tools is not None:
        names = [tool.name for tool in options.tools]
        more = f" and {len(names) - _TOOLS:,} more" if len(names) > _TOOLS else ""
        yield f"{file or 'given'}: {', '.join(names[:_TOOLS])}{more}" if names else f"{file or 'given'}: none"
    else:
        yield "none given: calls of any name and with any arguments are taken"


def _options(options: BatchOptions) -> Iterator[str]:
    """Yield the options that are not as they are by default."""
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name not in _ELSEWHERE and value != field.default:
            name = field.name.replace("_", " ")
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            yield name if value is True else f"{name}: {shown}"
