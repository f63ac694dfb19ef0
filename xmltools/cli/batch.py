"""`xmltools batch`: files of replies in, the same files with what is in the replies out.

What parses is imported when the command runs: the other commands need neither processes nor pyarrow.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from xmltools.batch.files.places import FORMATS, absolute, find_sources
from xmltools.batch.options import TALLIES, BatchOptions, BatchUsageError, check_column
from xmltools.batch.summary import BatchProgress, BatchSummary, remarks
from xmltools.cli.shared import (
    UsageError,
    add_parser_options,
    counted,
    parser_options,
    positive,
    read_tools,
    tell,
)
from xmltools.errors import XMLToolsError

_SHOWN = 5
_INTERRUPTED = 130
_HALF = r"such as \ud83d without the other half"
_EXAMPLES = (
    "examples:\n"
    "  $ xmltools batch replies.parquet calls.parquet --tools tools.json --report report.html --by model\n"
    "  $ xmltools batch 'logs/*.jsonl.gz' parsed/ --messages --column messages --tools-column tools --jobs 8"
)


def declare_batch(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools batch`."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("inputs", metavar="IN", nargs="+", help="files, folders and patterns: Parquet, Arrow, JSON Lines, CSV")
    add("output", metavar="OUT", help="a file with one of these endings, or a folder, which gets a file for each input")
    add("--format", choices=FORMATS, metavar="NAME", help="the ending of the files in a folder (default: as read)")
    add("--report", metavar="R.html", type=Path, help="write a page: figures, plots, and the worst rows")
    add("--by", metavar="COLUMN", help="give the figures of --report and --tallies for each value of a column too")
    add("--tallies", metavar="T.json", type=Path, help="write the figures for your own plots: .json, .csv or .parquet")
    add("--column", metavar="NAME", help="the column with the replies (default: reply; with --messages: messages)")
    add("--messages", action="store_true", help="the column holds chat messages, as lists or as JSON")
    add("--tools", metavar="T.json", help="the tools: a JSON list in the form of OpenAI, Anthropic, MCP or ours")
    add(
        "--tools-column",
        metavar="NAME",
        help="a column with the tools of each row, as lists or as JSON; rows that have none take --tools",
    )
    add("--prefix", metavar="TEXT", default="", help="a prefix for the names of the added columns")
    add_parser_options(parser)
    add("--jobs", metavar="N", type=positive, help="processes that parse (default: one for each core)")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="go on with a run that was stopped or killed")
    begin.add_argument("--overwrite", action="store_true", help="begin anew, and replace OUT if it is there")
    add("--fail-on-errors", action="store_true", help="exit with status 1 if a row has errors")
    add("--engine", choices=("local", "ray"), default="local", help="where to parse (default: here, in processes)")
    add("--ray-address", metavar="ADDRESS", help="the cluster (default: one on this machine)")


def batch(options: argparse.Namespace) -> int:
    """Run `xmltools batch`. Returns the exit status."""
    if options.ray_address is not None and options.engine != "ray":
        raise UsageError("--ray-address: expected --engine ray with it")
    if options.jobs is not None and options.engine == "ray":
        raise UsageError("--jobs: expected --engine local with it")
    try:
        return _run(options)
    except BatchUsageError as error:
        raise UsageError(str(error)) from None
    except ImportError as error:
        if error.name is not None and error.name.startswith("xmltools"):
            raise
        raise UsageError(str(error)) from None


def _run(options: argparse.Namespace) -> int:
    what = BatchOptions(
        column=options.column or ("messages" if options.messages else "reply"),
        messages=options.messages,
        tools=tuple(read_tools(options.tools)) if options.tools is not None else None,
        tools_column=options.tools_column,
        prefix=options.prefix,
        **parser_options(options),
    )
    _check_report(options)
    for place, times in Counter(map(absolute, options.inputs)).items():
        if times > 1:
            tell(f"xmltools: {place} is given more than once, and read once")
    try:
        summary = _parse(options, what)
    except KeyboardInterrupt:
        tell("xmltools: stopped; the same command with --resume goes on")
        return _INTERRUPTED
    _print_summary(summary, options)
    if options.report is not None or options.tallies is not None:
        try:
            _write_report(options, what, summary)
        except XMLToolsError as error:
            raise XMLToolsError(f"the output is written, but not the report: {error}") from None
    return 1 if options.fail_on_errors and summary.failed_rows else 0


def _check_report(options: argparse.Namespace) -> None:
    """Raise for what the report could not do, before the run, which may be long."""
    if options.report is None and options.tallies is None:
        if options.by is not None:
            raise UsageError("--by: expected --report or --tallies with it")
        return
    from xmltools.batch import write_report  # noqa: F401  says what is not installed
    from xmltools.batch.files.read_pieces import columns_of

    sources = find_sources(options.inputs, options.output)
    taken = {absolute(path) for path in (*(source.path for source in sources), options.output, options.tools or "-")}
    for name, place in (("report", options.report), ("tallies", options.tallies)):
        if place is None:
            continue
        # Folders that are not there are made.
        above = next(each for each in absolute(place).parents if each.exists())
        if not above.is_dir():
            raise UsageError(f"--{name}: {above} is no folder; give another place")
        if absolute(place) in taken:
            raise UsageError(f"--{name}: {place} is another file of this run; give it another name")
        if (place.suffix.lower() in TALLIES) != (name == "tallies"):
            raise UsageError(
                f"--report: a page is HTML; --tallies {place} writes the figures for your own plots"
                if name == "report"
                else f"--tallies: expected a name that ends with {', '.join(TALLIES)}, got {place}"
            )
    if options.by is not None:
        for source in sources:
            if (names := columns_of(source, [options.by])) is not None:
                check_column(options.by, names, f"--by: {source.path}")


def _write_report(options: argparse.Namespace, what: BatchOptions, summary: BatchSummary) -> None:
    from xmltools.batch import write_report
    from xmltools.batch.report.about import describe_run
    from xmltools.batch.report.tally import rows_of_file

    for place in filter(None, (options.report, options.tallies)):
        place.parent.mkdir(parents=True, exist_ok=True)
    tools = "standard input" if options.tools == "-" else options.tools
    sources = [source for path in summary.outputs for source in find_sources(path, "")]
    write_report(
        {str(source.path): rows_of_file(source, what, options.by) for source in sources},
        options.report,
        column=what.column,
        by=options.by,
        messages=what.messages,
        tallies=options.tallies,
        about=describe_run(summary, what, tools_file=tools, model=options.model),
    )


def _parse(options: argparse.Namespace, what: BatchOptions) -> BatchSummary:
    how = {name: getattr(options, name) for name in ("format", "resume", "overwrite")}
    with _progress() as tell:
        files: tuple[Any, ...] = (options.inputs, options.output, what)
        if options.engine == "ray":
            from xmltools.batch.ray import run_on_ray

            return run_on_ray(*files, address=options.ray_address, on_progress=tell, **how)
        from xmltools.batch import parse_files

        return parse_files(*files, jobs=options.jobs, on_progress=tell, **how)


@contextmanager
def _progress() -> Iterator[Callable[[BatchProgress], None] | None]:
    """Show on a terminal how far the run is, how fast, and how long it will take."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        yield None
        return
    console = Console(stderr=True)
    columns = (TaskProgressColumn(), TextColumn("{task.fields[done]}"), TimeRemainingColumn())
    start = time.monotonic()
    # On a narrow terminal the numbers need all the room.
    with Progress(*[BarColumn()] * (console.width >= 60), *columns, console=console, transient=True) as bars:
        bar = bars.add_task("", total=1.0, done="")

        def tell(progress: BatchProgress) -> None:
            speed = progress.rows / max(0.001, time.monotonic() - start)
            done = f"{progress.rows + progress.skipped_rows:,} rows, {speed:,.0f} a second"
            bars.update(bar, completed=progress.share, done=done)

        yield tell


def _print_summary(summary: BatchSummary, options: argparse.Namespace) -> None:
    if not summary.rows and summary.outputs and not summary.seconds:
        tell("Nothing was left to do: the output is complete")
        return
    rows = counted(summary.rows, "row")
    before = f", {summary.skipped_rows:,} of them in an earlier run, the others" if summary.skipped_rows else ""
    clean = f" ({summary.clean_calls / summary.calls:.1%} clean)" if summary.calls else ""
    calls = counted(summary.calls, "call") + clean
    failed = f"{summary.failed_rows:,} with errors" if summary.failed_rows else "none with errors"
    tell(f"Parsed {rows}{before} in {summary.seconds:,.1f} s: {calls}; {failed}")
    if options.tools is None and options.tools_column is None and summary.calls:
        tell("  without tools: no call is checked, and all arguments are taken as they are written (--tools)")
    if summary.untyped_rows:
        tell(f"  without tools: {counted(summary.untyped_rows, 'row')}, whose calls are not checked (--tools for them)")
    for name in summary.json_columns:
        why = f"half characters ({_HALF}) are in it" if name in summary.half_columns else "its values have no one type"
        tell(
            f"  the column {name!r:.80} became JSON text: {why} "
            "(texts are in quotes; start and end count in the text that they stand for)"
        )
    for what, counts in (("errors", summary.errors), ("repairs", summary.repairs), ("notices", summary.notices)):
        if counts:
            shown = ", ".join(f"{code} {number:,}" for code, number in list(counts.items())[:_SHOWN])
            more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
            tell(f"  {what}: {shown}{more}")
    for remark in remarks(summary):
        tell(f"  {remark}")
