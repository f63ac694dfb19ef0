"""The command line: thin loops around the parser. JSON in, JSON Lines out, `-` is standard input.

Exit status: 0 fine, 1 something was wrong in the input (and said so on stderr), 2 wrong usage. rich is
imported only where colours are shown; without it they are left out.
"""

from __future__ import annotations

import argparse
import codecs
import difflib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from xmltools import __version__
from xmltools._output import Coloured, EventLines, Lines, PartLines, Sink, one_line
from xmltools.errors import XMLToolsError
from xmltools.events import CallFailed, Event
from xmltools.parser import Parser
from xmltools.tools import Tool, load_tools

__all__ = ["main"]

_INTERRUPTED, _CLOSED_PIPE = 130, 141  # What a shell reports for SIGINT and SIGPIPE.
_READ_SIZE = 1 << 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (default: those of the process). Returns the exit status.

    Raises `SystemExit` for wrong usage, `--help` and `--version`, as argparse does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # What a terminal can't show is no reason to stop.
    options = _parse_arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        status = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except XMLToolsError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more when it ends: let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _CLOSED_PIPE
    return status


def _complain(message: str, status: int = 1) -> int:
    print(f"xmltools: {one_line(message)}", file=sys.stderr)
    return status


# --- arguments ---


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} ({self.prog} --help says more)\n")


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _ArgumentParser(
        prog="xmltools",
        usage="xmltools [--help] [--version] COMMAND ...",
        description="Read tool calls that a model wrote as XML.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xmltools {__version__}")
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        nearest = difflib.get_close_matches(arguments[0], COMMANDS, n=1, cutoff=0.5)
        suggestion = f"; did you mean {nearest[0]}?" if nearest else f"; there are {', '.join(COMMANDS)}"
        parser.error(f"there is no command {arguments[0]!r}{suggestion}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="xmltools", help=argparse.SUPPRESS
    )
    for name, command in COMMANDS.items():
        command.declare(
            commands.add_parser(
                name,
                description=command.description,
                epilog=f"example: {command.example}",
                allow_abbrev=False,
            )
        )
    return parser.parse_args(arguments)


def _overview() -> str:
    lines = ["commands:"]
    for name, command in COMMANDS.items():
        lines += [f"  {name:<12} {command.summary}", f"               $ {command.example}"]
    return "\n".join(
        [
            *lines,
            "",
            "Text is UTF-8, a file named - is standard input. What is not shown on a terminal is JSON Lines.",
            "Exit status: 0 fine, 1 something was wrong in the input, 2 wrong usage.",
        ]
    )


def _declare_parse(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE", help="the model's reply; - is standard input, read as it comes")
    add(
        "--tools",
        metavar="T.json",
        help="the tools: a JSON list in the form of OpenAI, Anthropic, MCP or ours",
    )
    add("--strict", action="store_true", help="make the first repair of a call an error")
    add("--events", action="store_true", help="print the parser's events as they come, not finished parts")
    add("--chunk-size", metavar="N", type=_positive, help="feed the parser at most N characters at a time")
    add("--starts-in-reasoning", action="store_true", help="the reply begins inside a reasoning region")
    add("--bracket-reasoning", action="store_true", help="paragraphs in [brackets] are reasoning")
    add("--code-fences", choices=("call", "text"), default="call", help="what a block in a code fence is")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def _declare_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--speed",
        metavar="X",
        type=_speed,
        default=1.0,
        help="2 is twice as fast, 0 does not wait at all (default: 1)",
    )
    parser.add_argument("--plain", action="store_true", help="no colours, no live view; as where there is no terminal")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number from 0, got {text!r}")
    return speed


# --- parse ---


def _parse(options: argparse.Namespace) -> int:
    """`xmltools parse`."""
    if options.file == options.tools == "-":
        return _complain("only one of FILE and --tools can be standard input", 2)
    parser = Parser(
        tools=_read_tools(options.tools) if options.tools else None,
        strict=options.strict,
        starts_in_reasoning=options.starts_in_reasoning,
        bracket_reasoning=options.bracket_reasoning,
        code_fences=options.code_fences,
    )
    lines = Lines()
    sink = _choose_sink(options, lines)
    failures = 0
    for chunk in _read_text(options.file, options.chunk_size):
        lines.add(chunk)
        failures += _show(parser.feed(chunk), sink, lines, options.file)
    failures += _show(parser.close(), sink, lines, options.file)
    sink.end(parser.unclosed_reasoning)
    return 1 if failures else 0


def _show(events: list[Event], sink: Sink, lines: Lines, name: str) -> int:
    """Print events; say on stderr what failed. Returns how many failed."""
    failures = 0
    for event in events:
        sink.show(event)
        if isinstance(event, CallFailed):
            failures += 1
            line, column = lines.locate(event.error.span[0])
            print(
                one_line(f"{name}:{line}:{column}: {event.error.code}: {event.error.message}"),
                file=sys.stderr,
            )
    return failures


def _read_text(name: str, chunk_size: int | None) -> Iterator[str]:
    """A file's text as it comes, in pieces of at most `chunk_size` characters. Bad bytes become U+FFFD."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with _open(name) as file:
        while data := file.read1(_READ_SIZE):
            yield from _cut(decode(data), chunk_size)
    yield from _cut(decode(b"", True), chunk_size)


def _cut(text: str, size: int | None) -> Iterator[str]:
    step = size or len(text) or 1
    return (text[at : at + step] for at in range(0, len(text), step))


def _open(name: str) -> Any:
    """A context with the binary file; ends the process with status 2 if it can't be opened."""
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        raise SystemExit(_complain(f"{name}: {getattr(error, 'strerror', None) or error}", 2)) from None


def _read_tools(name: str) -> list[Tool]:
    with _open(name) as file:
        data = file.read()
    try:
        return load_tools(json.loads(data.decode("utf-8")))
    except json.JSONDecodeError as error:
        raise XMLToolsError(f"{name}:{error.lineno}:{error.colno}: expected tools as JSON: {error.msg}") from None
    except RecursionError:
        raise XMLToolsError(f"{name}: expected tools as JSON, got JSON that is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise XMLToolsError(f"{name}: expected UTF-8, got the byte {data[error.start]:#04x} at {error.start}") from None
    except XMLToolsError as error:
        raise XMLToolsError(f"{name}: {error}") from None


def _choose_sink(options: argparse.Namespace, lines: Lines) -> Sink:
    def write(value: dict[str, Any]) -> None:
        # Who reads a stream wants each line at once.
        print(json.dumps(value), flush=options.file == "-")

    if options.events:
        return EventLines(write)
    return Coloured(lines) if sys.stdout.isatty() else PartLines(write, lines)


# --- the other commands ---


def _conformance(options: argparse.Namespace) -> int:
    """`xmltools conformance`."""
    from xmltools._conformance import Runner

    for answer in Runner().run(sys.stdin.buffer):
        print(answer, flush=True)
    return 0


def _demo(options: argparse.Namespace) -> int:
    """`xmltools demo`."""
    from xmltools.demo import run

    return run(speed=options.speed, plain=options.plain)


class _Command(NamedTuple):
    summary: str
    description: str
    example: str
    declare: Callable[[argparse.ArgumentParser], object]
    run: Callable[[argparse.Namespace], int]


COMMANDS = {
    "parse": _Command(
        "say what a reply holds: text, reasoning, calls and errors, in order",
        "Read a model's reply and print one JSON object a part, as soon as it is complete; on a "
        "terminal, print it for people. The exit status is 1 if a block in it gave no call; each is named on "
        "stderr, with its place.",
        "xmltools parse reply.txt --tools tools.json",
        _declare_parse,
        _parse,
    ),
    "conformance": _Command(
        "run test cases: one JSON object a line in, one answer a line out",
        'Read cases, one a line: {"id", "chunks": ["..."], "tools": [...] or null, "options": {...}}. Answer '
        "each with what the parser found, or with usage_error if it is no case.",
        "xmltools conformance < cases.jsonl",
        lambda parser: None,
        _conformance,
    ),
    "demo": _Command(
        "watch a recorded coding task: streamed, parsed, carried out",
        "Stream a recorded model reply, show what the parser sees in it, carry its calls out in a scratch "
        "folder and give the results back. Needs no network and no model.",
        "xmltools demo --speed 2",
        _declare_demo,
        _demo,
    ),
}
