"""`xmltools doctor`: what an upstream and its model can do, and how to start `xmltools serve` in front of it.

What it needs is imported when it runs: it is not installed for everybody, and takes a while to load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from xmltools.cli.serve import as_typed, load, read_key
from xmltools.cli.shared import UsageError, counted, number, one_line, positive, styled_printer
from xmltools.errors import XMLToolsError
from xmltools.terminal import Wrapper

if TYPE_CHECKING:
    from xmltools.proxy.doctor import Check, Report, Tried

_MOST_DIALECTS = 8
_NARROWEST, _WIDEST = 40, 110
_OUTCOME, _NAME = 9, 17
"""Widths of columns."""
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_SHOWN = 200

Print = Callable[[str, str], None]


def declare_doctor(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools doctor`."""
    add = parser.add_argument
    add(
        "--upstream",
        metavar="URL",
        required=True,
        help="a server with OpenAI's chat completions, such as http://localhost:8000/v1",
    )
    add("--model", metavar="M", help="the model to ask for, by its name there (default: the first that is listed)")
    add(
        "--dialects",
        metavar="NAMES",
        help="the dialects to try, with commas between them (default: the model's own, forge and hermes)",
    )
    add("--upstream-key-env", metavar="NAME", help="the upstream gets the key in this environment variable")
    add("--timeout", metavar="SECONDS", type=number, default=120.0, help="for each request (default: 120)")
    add("--max-tokens", metavar="N", type=positive, default=1024, help="of each reply (default: 1024)")
    add("--json", action="store_true", help="print the report as one JSON object")
    add("--show", action="store_true", help="show the beginning of what the model said to tasks that it got wrong")


def doctor(options: argparse.Namespace) -> int:
    """Run `xmltools doctor`. Returns the exit status: 1 if something that `serve` needs does not work."""
    module = load("xmltools.proxy.doctor")
    config, dialects = _config(options), _dialects(options.dialects)
    report: Report = module.Report(config.base_url)
    interrupted = False
    with _progress() as tell:
        try:
            asyncio.run(
                module.examine(
                    report,
                    config,
                    model=options.model,
                    dialects=dialects,
                    key_name=options.upstream_key_env,
                    timeout=options.timeout,
                    max_tokens=options.max_tokens,
                    on_progress=tell,
                )
            )
        except KeyboardInterrupt:
            interrupted = True
    if options.json:
        print(json.dumps(report.to_json(show=options.show), indent=2))
    else:
        _print(report, show=options.show)
    if interrupted:
        raise KeyboardInterrupt
    return 0 if report.is_ok else 1


def _config(options: argparse.Namespace) -> Any:
    from xmltools.proxy.server import ServeConfig

    if not options.timeout:
        raise UsageError("--timeout: expected a number above 0")
    if options.model is not None and not (options.model.strip() and options.model.isprintable()):
        raise UsageError("--model: expected the name of a model")
    try:
        return ServeConfig(
            upstream=options.upstream,
            upstream_key=read_key(options.upstream_key_env, "--upstream-key-env"),
            connect_timeout=min(10.0, options.timeout),
        )
    except XMLToolsError as error:
        raise UsageError(as_typed(str(error))) from None


def _dialects(given: str | None) -> tuple[str, ...] | None:
    from xmltools.proxy.bridge import Settings

    if given is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    if not 0 < len(names) <= _MOST_DIALECTS:
        raise UsageError(f"--dialects: expected 1 to {_MOST_DIALECTS} names, as in --dialects forge,hermes")
    for name in names:
        try:
            Settings(dialect=name)
        except XMLToolsError as error:
            raise UsageError(f"--dialects: {error}") from None
    return names


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None] | None]:
    """Show on a terminal which check is being made."""
    if not sys.stderr.isatty():
        yield None
        return
    clear = "\r\x1b[K"

    def tell(words: str, requests: int) -> None:
        line = f"{words} ({counted(requests, 'request')} so far; Ctrl-C ends it)"
        sys.stderr.write(clear + line[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(clear)
        sys.stderr.flush()


# The report for people


def _print(report: Report, *, show: bool) -> None:
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST) - 1
    put = styled_printer()
    model = f", model {report.model}" if report.model else ""
    _wrapped(put, f"{report.upstream}{model}", width, first="", rest="  ", style="bold")
    put("\n", "")
    # Checks that were all skipped for one reason take one line.
    for (outcome, reason), checks in groupby(report.checks, _group):
        found = list(checks)
        names = [_words(check.name) for check in found]
        put(f"{outcome:<{_OUTCOME}}", _STYLES[outcome])
        if len(names) > 1:
            _wrapped(put, f"{', '.join(names)}: {reason}", width, rest=" " * _OUTCOME, column=_OUTCOME)
            continue
        indent = " " * (_OUTCOME + _NAME)
        _wrapped(put, found[0].detail, width, first=f"{names[0]:<{_NAME}}", rest=indent, column=_OUTCOME)
        if found[0].advice:
            _wrapped(put, found[0].advice, width, first=f"{indent}-> ", rest=f"{indent}   ", style="cyan")
    if report.tried:
        put("\n", "")
        _print_tasks(report.tried, put, width, show=show)
    put("\n", "")
    _print_end(report, put, width)


def _group(check: Check) -> tuple[str, str]:
    return check.outcome, check.detail if check.outcome == "skipped" else check.name


def _words(name: str) -> str:
    return name.replace("_", " ")


def _wrapped(
    put: Print, text: str, width: int, *, first: str = "", rest: str = "", style: str = "", column: int = 0
) -> None:
    """Print a text in lines, none of which breaks a word. `first` and `rest` stand before the first and the others;
    `column` is where the first begins."""
    wrapper = Wrapper(width, rest)
    lines = wrapper.feed(" " * column + first + one_line(text)) + wrapper.flush()
    put(lines[column:] + "\n", style)


def _print_tasks(tried: list[Tried], put: Print, width: int, *, show: bool) -> None:
    put("tasks\n", "bold")
    column = max(len(each.way.words) for each in tried) + 4
    for each in tried:
        _wrapped(put, _results(each), width, first=f"  {each.way.words}".ljust(column), rest=" " * column)
        for name, said in each.said.items() if show else ():
            if each.results.get(name) != "right":
                _wrapped(put, f"{name}: {said[:_SHOWN]!r}", width, first="      ", rest="      ", style="dim")


def _results(tried: Tried) -> str:
    """Return how often there was which result, and in which tasks where it was not right."""
    said = []
    for result, names in tried.by_result.items():
        where = "" if result == "right" else f" ({', '.join(names)})"
        said.append(f"{len(names)} {_words(result)}{where}")
    return ", ".join(said) + (f": {tried.trouble}" if tried.trouble else "")


def _print_end(report: Report, put: Print, width: int) -> None:
    ended = "interrupted; " if report.is_interrupted else ""
    failed = [_words(check.name) for check in report.checks if check.outcome.value == "failed"]
    works = f"{', '.join(failed)} failed" if failed else "all that serve needs works"
    if report.is_interrupted and not failed:
        works = "nothing had failed"
    put(f"{counted(report.requests, 'request')}; {ended}{works}\n", "bold red" if failed else "bold")
    if report.serve is not None:
        put("\nas far as is known:\n" if report.is_interrupted else "\n", "")
        put(_command(report.serve, width) + "\n", "")


def _command(words: list[str], width: int) -> str:
    """Return a command line to copy, in several lines if it is long."""
    parts: list[str] = []
    for word in words[2:]:
        if word.startswith("--"):
            parts.append(word)
        else:
            parts[-1] += f" {shlex.quote(word)}"
    lines = [" ".join(words[:2])]
    for part in parts:
        if len(lines[-1]) + len(part) + 3 > width:
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return " \\\n".join(lines)
