"""`xmltools convert`: a conversation from one format to another, and what was lost on the way."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from xmltools.cli.shared import UsageError, number, one_standard_input, read_tools, read_values, tell
from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import FORMATS, dump, load, new_issues, own_options, recognise
from xmltools.formats.forge import json_to_xml
from xmltools.models.foreign_fields import at
from xmltools.tools import Tool

_LONG = 1_000
"""Messages from which on a terminal shows how far it is."""
_SHOWN = 20
"""Issues of one kind that are printed."""


def declare_convert(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools convert`."""
    add = parser.add_argument
    add("file", metavar="FILE", nargs="?", default="-", help="one conversation as JSON; - is standard input (default)")
    add(
        "--from",
        dest="source",
        choices=FORMATS,
        help="the format it is in (default: the one whose marks it bears; plain texts bear none)",
    )
    add("--to", dest="target", choices=FORMATS, required=True, help="the format to write")
    add("--tools", metavar="T.json", help="the tools, whose schemas give types to calls that are text (forge)")
    add(
        "--bracket-reasoning",
        action="store_true",
        help="paragraphs in [brackets] are reasoning; in forge it is read, and written, so",
    )
    add(
        "--json-to-xml",
        action="store_true",
        help="calls that are JSON in their blocks become elements (forge to forge)",
    )
    add(
        "--now",
        type=number,
        metavar="SECONDS",
        help="the time (since 1970) of messages that have none; ids that are made are id_1, id_2, … then (to wolo)",
    )
    add("--strict", action="store_true", help="write nothing if anything would be lost, but ids and times of a store")


def convert(options: argparse.Namespace) -> int:
    """Run `xmltools convert`. Returns the exit status."""
    one_standard_input("FILE and --tools", options.file, options.tools)
    if options.now is not None and options.target != "wolo":
        raise UsageError("--now is for wolo, which stores ids and times: give --to wolo")
    tools = read_tools(options.tools) if options.tools else None
    (place, value), *others = read_values(options.file, "a conversation", lines=True)
    if others:
        many = f"got JSON Lines, {len(others) + 1:,} values"
        raise XMLToolsError(f"{options.file}: expected one conversation as JSON, {many}: give one conversation a file")
    issues: list[Issue] = []
    lost: list[Issue] = []
    with at(place):
        source = options.source or _recognise(value)
        if options.bracket_reasoning and "forge" not in (source, options.target):
            raise UsageError("--bracket-reasoning is for forge: give --from forge or --to forge")
        if options.json_to_xml and (source, options.target) != ("forge", "forge"):
            raise UsageError("--json-to-xml is for forge: give --from forge --to forge")
        strict: dict[str, Any] = {"strict": options.strict}
        with _progress(value) as watch:
            if options.json_to_xml:
                written: Any = json_to_xml(watch("reading", value), tools=tools, issues=lost, **strict)
            else:
                read = load(
                    watch("reading", value), source, issues=issues, **strict, **_of_text(source, options, tools)
                )
                read = read.model_copy(update={"messages": watch("writing", read.messages)})
                own = own_options(options.target) | _of_text(options.target, options, tools)
                if options.now is not None:  # the same ids and times each time
                    numbers = itertools.count(1)
                    own |= {"now": options.now, "new_id": lambda: f"id_{next(numbers)}"}
                written = dump(read, options.target, issues=lost, **strict, **own)
    _tell(place, [*issues, *new_issues(lost, issues, options.target)])
    try:
        data = json.dumps(written, ensure_ascii=False, indent=2).encode()
    except UnicodeEncodeError:  # lone surrogates have no other spelling
        data = json.dumps(written, indent=2).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    return 0


def _recognise(value: Any) -> str:
    try:
        return recognise(value)
    except XMLToolsError as error:
        raise XMLToolsError(f"{error}; give it as --from") from None


def _of_text(format: str, options: argparse.Namespace, tools: list[Tool] | None) -> dict[str, Any]:
    # In the other formats values have types of their own, and reasoning its place.
    if format != "forge":
        return {}
    return {"bracket_reasoning": options.bracket_reasoning} | ({"tools": tools} if tools is not None else {})


def _tell(place: str, issues: list[Issue]) -> None:
    """Say on stderr what was lost: each place, but no more than some of one kind."""
    told = Counter[str]()
    for issue in issues:
        told[issue.code] += 1
        if told[issue.code] <= _SHOWN:
            tell(f"{place}: {issue.code}: {issue}")
    for code, count in told.items():
        if count > _SHOWN:
            tell(f"{place}: {code}: {count - _SHOWN:,} more of this kind")


# Progress


Watch = Callable[[str, Any], Any]


@contextmanager
def _progress(value: Any) -> Iterator[Watch]:
    """Give a function that returns a sequence which shows how far it has been read, if it is long and watched."""
    inner = value.values() if isinstance(value, dict) else ()
    messages = value if isinstance(value, list) else next((each for each in inner if isinstance(each, list)), [])
    if len(messages) < _LONG or not sys.stderr.isatty():
        yield lambda words, sequence: sequence
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield lambda words, sequence: sequence
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:

        def watch(words: str, sequence: Any) -> Any:
            if not isinstance(sequence, (list, tuple)):
                return sequence
            task = progress.add_task(words, total=len(sequence))
            base: Any = type(sequence)

            def walk(watched: Any) -> Iterator[Any]:
                for place, each in enumerate(base.__iter__(watched)):
                    if place % 100 == 0:
                        progress.update(task, completed=place)
                    yield each

            return type("Watched", (base,), {"__iter__": walk})(sequence)

        yield watch
