"""The command line: thin loops around the parser and the renderer. `-` is standard input.

What is read is printed as JSON Lines, what is written as text for a model. Exit status: 0 fine, 1 something was wrong
in the input (and said so on stderr), 2 wrong usage. rich is imported only where colours are shown; without it they are
left out.
"""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from xmltools import __version__
from xmltools.cli import batch as _cli_batch
from xmltools.cli import convert as _cli_convert
from xmltools.cli import grammar as _cli_grammar
from xmltools.cli import lint as _cli_lint
from xmltools.cli import render as _cli_render
from xmltools.cli import serve as _cli_serve
from xmltools.cli.inputs import UsageError, positive, read_chunks, read_tools
from xmltools.cli.printing import Coloured, EventLines, PartLines, Sink, one_line
from xmltools.errors import XMLToolsError
from xmltools.models.events import CallFailed, Event
from xmltools.parser import COMPILED, Parser
from xmltools.syntax.lines import Lines

__all__ = ["main"]

_INTERRUPTED, _CLOSED_PIPE = 130, 141  # What a shell reports for SIGINT and SIGPIPE.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with `arguments` (default: those of the process). Returns the exit status.

    Raises `SystemExit` for wrong usage, `--help` and `--version`, as argparse does.
    """
    if sys.stdout is None:
        return _complain("standard output is closed", 2)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # What a terminal can't show is no reason to stop.
    options = _parse_arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        status = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except UsageError as error:
        return _complain(str(error), 2)
    except XMLToolsError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return _CLOSED_PIPE
    except OSError as error:
        _drop_output()
        return _complain(f"input or output failed: {error.strerror or error}")
    return status


def _drop_output() -> None:
    # Python flushes once more when it ends: let it flush into nothing.
    with suppress(OSError):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
        description="Read and write tool calls as XML in the text of models.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xmltools {__version__}{' (compiled)' * COMPILED}")
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
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        # Said by the command's own parser, whose help tells what there is.
        commands.choices[options.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _overview() -> str:
    lines = ["commands:"]
    for name, command in COMMANDS.items():
        lines += [f"  {name:<12} {command.summary}", f"               $ {command.example}"]
    return "\n".join(
        [
            *lines,
            "",
            "Text is UTF-8, a file named - is standard input. What parse does not show on a terminal is JSON Lines.",
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
    add("--chunk-size", metavar="N", type=positive, help="feed the parser at most N characters at a time")
    add("--starts-in-reasoning", action="store_true", help="the reply begins inside a reasoning region")
    add("--bracket-reasoning", action="store_true", help="paragraphs in [brackets] are reasoning")
    add("--code-fences", choices=("call", "text"), default="call", help="what a block in a code fence is")


def _declare_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--speed",
        metavar="X",
        type=_speed,
        default=1.0,
        help="2 is twice as fast, 0 does not wait at all (default: 1)",
    )
    parser.add_argument("--plain", action="store_true", help="no colours, no live view; as where there is no terminal")


def _declare_conformance(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--runner", metavar="COMMAND", help="a program that reads cases and answers them as this command does")
    add("--corpus", metavar="DIR", help="the folder with the cases (default, in a checkout: tests/corpus)")
    add("--timeout", metavar="N", type=positive, help="seconds that an answer may take (default: 10)")
    add("--json", action="store_true", help="print the score, and all failures, as JSON")


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
        raise UsageError("only one of FILE and --tools can be standard input")
    parser = Parser(
        tools=read_tools(options.tools) if options.tools is not None else None,
        strict=options.strict,
        starts_in_reasoning=options.starts_in_reasoning,
        bracket_reasoning=options.bracket_reasoning,
        code_fences=options.code_fences,
    )
    lines = Lines()
    sink = _choose_sink(options, lines)
    failures = 0
    for chunk in read_chunks(options.file, options.chunk_size):
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
    if options.runner is not None:
        return _run_conformance(options)
    for name in ("corpus", "timeout", "json"):
        if getattr(options, name) not in (None, False):
            raise UsageError(f"--{name}: expected --runner with it")
    from xmltools.cli.conformance.answers import Runner

    for answer in Runner().run(sys.stdin.buffer):
        print(answer, flush=True)
    return 0


def _run_conformance(options: argparse.Namespace) -> int:
    """`xmltools conformance --runner`."""
    from xmltools.cli.conformance import find_corpus, read_corpus, report, run_program, write_failures, write_table

    try:
        cases = read_corpus(find_corpus() if options.corpus is None else Path(options.corpus))
        results = list(run_program(options.runner, cases, timeout=options.timeout or 10.0))
    except XMLToolsError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print(json.dumps(report(results)))
    else:
        for line in (*write_table(results), *write_failures(results)):
            print(one_line(line))
    return 1 if any(result.verdict != "passed" and not result.case.optional for result in results) else 0


def _demo(options: argparse.Namespace) -> int:
    """`xmltools demo`."""
    from xmltools.cli.demo import run

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
    "docs": _Command(
        "write the part of a system prompt that teaches the calls and documents the tools",
        "Print instructions for a system prompt: how to call tools, and which there are. TOOLS is a JSON file with "
        "a list of tools, or with --from python the names of functions. These are imported, never called.",
        "xmltools docs tools.json --style compact",
        _cli_render.declare_docs,
        _cli_render.docs,
    ),
    "call": _Command(
        "write calls in JSON, ours or those of an API, as blocks",
        "Read calls as JSON: one, a list, or one a line; those of OpenAI and Anthropic also in a whole message. Print "
        "each as a block, as the model would have written it, with a blank line between two.",
        "xmltools call calls.json --tools tools.json",
        _cli_render.declare_call,
        _cli_render.call,
    ),
    "result": _Command(
        "write what a tool gave back as text that nobody can forge",
        "Read the output of the tool NAME from standard input and print it as the model is to see it. What could pass "
        "for a call, for another result or for an attachment is changed so that it can't.",
        "xmltools result read_file --max-characters 20000 < output.txt",
        _cli_render.declare_result,
        _cli_render.result,
    ),
    "convert": _Command(
        "write a conversation in another format, and say what it cannot hold",
        "Read a conversation in one of the formats and print it in another as JSON: a list of messages, or the API's "
        "request object where system and messages are apart. What the other format cannot hold is named on stderr.",
        "xmltools convert history.json --to anthropic",
        _cli_convert.declare_convert,
        _cli_convert.convert,
    ),
    "grammar": _Command(
        "write a grammar by which an engine decodes only text and valid calls",
        "Print a grammar for the tools: text in which every call is well-formed and fits its schema; with --engine, "
        "the fields of a request that give it to the engine. What a grammar can't say of a schema is noted on stderr.",
        "xmltools grammar tools.json --engine vllm",
        _cli_grammar.declare_grammar,
        _cli_grammar.grammar,
    ),
    "validate": _Command(
        "check stored blocks or whole replies: where, what, and how to fix it",
        "Read replies, or stored blocks, and say what is wrong in each: errors, where a block gives no call, and "
        "warnings, where the parser repairs it. Clean blocks are also checked by RELAX NG, and with --strict read by "
        "two more XML parsers. The exit status is 1 if there were errors. xmltools explain says what a code means.",
        "xmltools validate reply.txt --tools tools.json",
        _cli_lint.declare_validate,
        _cli_lint.run_validate,
    ),
    "explain": _Command(
        "say what the code of an error or a repair means, with an example",
        "Say what a code means, with a block that has it and the same block repaired. Without CODE, list all codes "
        "with their hints.",
        "xmltools explain bare_ampersand",
        _cli_lint.declare_explain,
        _cli_lint.run_explain,
    ),
    "batch": _Command(
        "parse the replies in whole files, on all cores: Parquet, Arrow, JSON Lines, CSV",
        "Read a column of replies, or of chat messages, and write the same rows with five columns more: text, "
        "reasoning, calls, errors and repairs. No row is lost: one that can't be read has an error. A run that was "
        "killed goes on with --resume. Errors in rows are counted on stderr, and the exit status is 1 for them only "
        "with --fail-on-errors. Needs the extra batch for all but JSON Lines: pip install 'xmltools[batch]'.",
        "xmltools batch replies.parquet calls.parquet --tools tools.json",
        _cli_batch.declare_batch,
        _cli_batch.run_batch,
    ),
    "serve": _Command(
        "give any model function calling: an endpoint for OpenAI's and Anthropic's clients",
        "Listen for requests with tools, ask the upstream for text, and answer with calls. --demo needs no upstream. "
        "The page /playground shows what the parser sees. Needs the extra serve: pip install 'xmltools[serve]'.",
        "xmltools serve --upstream http://localhost:8000/v1",
        _cli_serve.declare_serve,
        _cli_serve.serve,
    ),
    "replay": _Command(
        "play what serve --record kept, as an upstream",
        "Listen like the server that was recorded, and say what it said: the same bytes, at the same times.",
        "xmltools replay recordings/ --port 8000",
        _cli_serve.declare_replay,
        _cli_serve.replay,
    ),
    "conformance": _Command(
        "run test cases: one JSON object a line in, one answer a line out",
        'Read cases, one a line: {"id", "chunks": ["..."], "tools": [...] or null, "options": {...}}. Answer '
        "each with what the parser found, or with usage_error if it is no case. With --runner, ask another program "
        "the cases of the corpus, and print its score; the exit status is 1 if it failed one that is not optional.",
        "xmltools conformance < cases.jsonl",
        _declare_conformance,
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
