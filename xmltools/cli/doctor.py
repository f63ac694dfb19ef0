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
from dataclasses import astuple
from itertools import groupby
from typing import TYPE_CHECKING

from xmltools.cli.serve import as_typed, load, read_key
from xmltools.cli.shared import UsageError, above_zero, counted, one_line, positive, styled_printer
from xmltools.errors import XMLToolsError
from xmltools.terminal import wrapped

if TYPE_CHECKING:
    from xmltools.proxy.doctor import Case
    from xmltools.proxy.doctor.report import Report
    from xmltools.proxy.server import ServeConfig

_MOST_DIALECTS = 8
_STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}


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
    add("--timeout", metavar="SECONDS", type=above_zero, default=120.0, help="for each request (default: 120)")
    add("--max-tokens", metavar="N", type=positive, default=1024, help="of each reply (default: 1024)")
    add("--json", action="store_true", help="print the report as one JSON object")
    add("--show", action="store_true", help="show the beginning of what the model said to tasks that it got wrong")


def doctor(options: argparse.Namespace) -> int:
    """Run `xmltools doctor`. Returns the exit status: 1 if something that `serve` needs does not work."""
    module = load("xmltools.proxy.doctor")
    case: Case = module.Case(
        *_checked(options),
        wanted=options.model,
        key_name=options.upstream_key_env,
        timeout=options.timeout,
        max_tokens=options.max_tokens,
    )
    case.tell = lambda words: _tell(f"{words} ({counted(case.report.requests, 'request')} so far; Ctrl-C ends it)")
    try:
        asyncio.run(module.examine(case))
    finally:
        _tell("")
        if options.json:
            print(json.dumps(case.report.to_json(show=options.show), indent=2))
        else:
            _print(case.report, show=options.show)
    return 0 if case.report.ok else 1


def _checked(options: argparse.Namespace) -> tuple[ServeConfig, list[str]]:
    """Return the configuration, and the dialects to try. Raises `UsageError` for what can't be meant."""
    from xmltools.proxy.bridge import Settings
    from xmltools.proxy.server import ServeConfig

    if options.model is not None and not (options.model.strip() and options.model.isprintable()):
        raise UsageError("--model: expected the name of a model")
    names = list(dict.fromkeys(filter(None, map(str.strip, (options.dialects or "").split(",")))))
    if options.dialects is not None and not 0 < len(names) <= _MOST_DIALECTS:
        raise UsageError(f"--dialects: expected 1 to {_MOST_DIALECTS} names, as in --dialects forge,hermes")
    key = read_key(options.upstream_key_env, "--upstream-key-env")
    try:
        for name in names:
            Settings(dialect=name)
        return ServeConfig(options.upstream, upstream_key=key, connect_timeout=min(10.0, options.timeout)), names
    except XMLToolsError as error:
        raise UsageError(as_typed(str(error))) from None


def _tell(words: str) -> None:
    """Show on a terminal which check is being made."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + words[: shutil.get_terminal_size().columns - 1])
        sys.stderr.flush()


def _print(report: Report, *, show: bool) -> None:
    """Print the report for people."""
    width = min(shutil.get_terminal_size().columns, 110) - 1
    put = styled_printer()

    def row(first: str, text: str, style: str = "") -> None:
        """Print a line that begins in a style, and whose text goes on below itself."""
        put(first, style)
        put(wrapped(" " * len(first) + one_line(text), width)[len(first) :] + "\n", "")

    row("", f"{report.upstream}, model {report.model}" if report.model else report.upstream)
    print()
    # Those of which the same came take one line, such as all that were skipped for one reason.
    for (outcome, detail, advice), checks in groupby(report.checks, lambda each: astuple(each)[1:]):
        names = [_words(check.name) for check in checks]
        if len(names) > 1:
            row(f"{outcome:<9}", f"{', '.join(names)}: {detail}", _STYLES[outcome])
        else:
            row(f"{outcome:<9}{names[0]:<17}", detail, _STYLES[outcome])
        if advice:
            row(f"{'-> ':>29}", advice)
    if report.tasks:
        print("\ntasks")
    for each in report.tasks:
        kinds = {kind: [name for name, found in each.results.items() if found == kind] for kind in each.counts}
        said = [
            f"{len(names)} {_words(kind)}" + f" ({', '.join(names)})" * (kind != "right")
            for kind, names in kinds.items()
            if names
        ]
        row(f"  {each.way.words:<32}", ", ".join(said) + (f": {each.trouble}" if each.trouble else ""))
        for name, text in each.said.items() if show else ():
            if each.results.get(name) != "right":
                row(" " * 6, f"{name}: {text[:200]!r}")
    failed = ", ".join(map(_words, report.failed))
    works = f"{failed} failed" if failed else "nothing failed" if report.interrupted else "all that serve needs works"
    print(f"\n{counted(report.requests, 'request')}{', interrupted' * report.interrupted}; {works}")
    if report.serve is not None:
        print(f"\n{shlex.join(report.serve)}")


def _words(name: str) -> str:
    return name.replace("_", " ")
