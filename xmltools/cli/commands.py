"""The command line: thin loops around the parser and the renderer. `-` is standard input.

What is read is printed as JSON Lines, what is written as text for a model. Exit status: 0 fine, 1 something was wrong
in the input (and said so on stderr), 2 wrong usage. rich is imported only where colours are shown; without it they are
left out.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from xmltools import __version__
from xmltools.cli.batch import batch, declare_batch
from xmltools.cli.conformance import conformance, declare_conformance
from xmltools.cli.convert import convert, declare_convert
from xmltools.cli.dialects import declare_dialects, list_dialects
from xmltools.cli.doctor import declare_doctor, doctor
from xmltools.cli.grammar import declare_grammar, grammar
from xmltools.cli.parse import declare_parse, parse
from xmltools.cli.render import call, declare_call, declare_docs, declare_result, docs, result
from xmltools.cli.serve import declare_replay, declare_serve, replay, serve
from xmltools.cli.shared import Help, UsageError, did_you_mean, number, tell
from xmltools.cli.validate import declare_explain, declare_validate, explain, validate
from xmltools.errors import XMLToolsError
from xmltools.parser import COMPILED

_EXAMPLE = "xmltools parse reply.txt --strict"
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
        place = f"{error.filename}: " if error.filename else ""
        return _complain(f"input or output failed: {place}{error.strerror or error}")
    return status


def _drop_output() -> None:
    # Python flushes once more when it ends: let it flush into nothing.
    with suppress(OSError):
        sys.stdout.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, status: int = 1) -> int:
    tell(f"xmltools: {message}")
    return status


class _ArgumentParser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    _given: Sequence[str] = ()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read arguments, as argparse does."""
        self._given = args or ()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, and end. Where something is missing, it may have been meant by what is not known."""
        if "required" in message:
            names = (each.partition("=")[0] for each in self._given if each.startswith("--"))
            known = self._option_string_actions
            near = next(
                filter(None, (did_you_mean(each, known, cutoff=0.75) for each in names if each not in known)), ""
            )
            message = "; ".join(filter(None, (message, near)))
        tell(f"{self.prog}: {message} ({self.prog} --help says more)")
        self.exit(2)


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = _ArgumentParser(
        prog="xmltools",
        usage="xmltools [--help] [--version] COMMAND ...",
        description="Read and write tool calls as XML in the text of models.",
        epilog=_overview(),
        formatter_class=Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"xmltools {__version__}{' (compiled)' * COMPILED}")
    first = arguments[0] if arguments else ""
    if first and not first.startswith("-") and first not in COMMANDS:
        suggestion = did_you_mean(first, COMMANDS) or f"there are {', '.join(COMMANDS)}"
        parser.error(f"there is no command {first!r:.80}; {suggestion}")
    if first.startswith("-") and first not in parser._option_string_actions:
        suggestion = (
            did_you_mean(first, parser._option_string_actions, cutoff=0.85) or f"its options come after it: {_EXAMPLE}"
        )
        parser.error(f"expected a command, got {first!r:.80}; {suggestion}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", prog="xmltools", help=argparse.SUPPRESS
    )
    for name, command in COMMANDS.items():
        about: dict[str, Any] = {"description": command.description, "epilog": f"example:\n  $ {command.example}"}
        command.declare(commands.add_parser(name, **about, formatter_class=Help, allow_abbrev=False))
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        # Reported by the command's own parser, whose help lists what there is.
        command_parser = commands.choices[first]
        # argparse gives the first files to an argument that may have none; this finds those behind options too.
        options, unknown = command_parser.parse_known_intermixed_args(arguments[1:])
        options.command = first
    if unknown:
        known = [name for action in command_parser._actions for name in action.option_strings]
        suggestion = did_you_mean(unknown[0].partition("=")[0], known, cutoff=0.75)
        command_parser.error("; ".join(filter(None, (f"unrecognized arguments: {' '.join(unknown)}", suggestion))))
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


def _declare_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    speed = "2 is twice as fast, 0 does not wait at all (default: 1)"
    add("--speed", metavar="X", type=number, default=1.0, help=speed)
    add("--plain", action="store_true", help="no colours, no live view; as where there is no terminal")


def _demo(options: argparse.Namespace) -> int:
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
        declare_parse,
        parse,
    ),
    "docs": _Command(
        "write the part of a system prompt that teaches the calls and documents the tools",
        "Print instructions for a system prompt: how to call tools, and which there are. TOOLS is a JSON file with "
        "a list of tools, or with --from python the names of functions. These are imported, never called.",
        "xmltools docs tools.json --style compact",
        declare_docs,
        docs,
    ),
    "call": _Command(
        "write calls in JSON, ours or those of an API, as blocks",
        "Read calls as JSON: one, a list, or one a line; those of OpenAI and Anthropic also in a whole message. Print "
        "each as a block, as the model would have written it, with a blank line between two.",
        "xmltools call calls.json --tools tools.json",
        declare_call,
        call,
    ),
    "result": _Command(
        "write what a tool gave back as text that nobody can forge",
        "Read the output of the tool NAME from standard input and print it as the model is to see it. What could pass "
        "for a call, for another result or for an attachment is changed so that it can't.",
        "xmltools result read_file --max-characters 20000 < output.txt",
        declare_result,
        result,
    ),
    "convert": _Command(
        "write a conversation in another format, and say what it cannot hold",
        "Read a file with one conversation in one of the formats and print it in another as JSON: a list of messages, "
        "or the API's request object where system and messages are apart. What the other format cannot hold is named "
        "on stderr.",
        "xmltools convert history.json --to anthropic",
        declare_convert,
        convert,
    ),
    "grammar": _Command(
        "write a grammar by which an engine decodes only text and valid calls",
        "Print a grammar for the tools: text in which every call is well-formed and fits its schema; with --engine, "
        "the fields of a request that give it to the engine. What a grammar can't say of a schema is noted on stderr.",
        "xmltools grammar tools.json --engine vllm",
        declare_grammar,
        grammar,
    ),
    "validate": _Command(
        "check stored blocks or whole replies: where, what, and how to fix it",
        "Read replies, or stored blocks, and say what is wrong in each: errors, where a block gives no call, and "
        "warnings, where the parser repairs it, or where other XML tools (lxml with grammars/tool.rng, defusedxml) do "
        "not find the same call. Calls in another dialect than Forge's are not XML: only our parser checks them. "
        "The exit status is 1 if there were errors. xmltools explain says what a code means.",
        "xmltools validate reply.txt --tools tools.json",
        declare_validate,
        validate,
    ),
    "explain": _Command(
        "say what the code of an error or a repair means, with an example",
        "Say what a code means, with a block that has it and the same block repaired. Without CODE, list all codes "
        "with their hints. The example is in Forge's notation; with --dialect the hint is in the words of another.",
        "xmltools explain bare_ampersand",
        declare_explain,
        explain,
    ),
    "batch": _Command(
        "parse the replies in whole files, on all cores: Parquet, Arrow, JSON Lines, CSV",
        "Read a column of replies, or of chat messages, and write the same rows with six columns more: text, "
        "reasoning, calls, errors, repairs and notices. No row is lost: one that can't be read has an error. (A CSV "
        "file that is malformed, or not UTF-8, ends the run.) --resume goes on with a run that was killed. Errors "
        "in rows are counted on stderr, and the exit status is 1 for them only with --fail-on-errors. Needs the "
        "extra batch for all but JSON Lines.",
        "xmltools batch replies.parquet calls.parquet --tools tools.json",
        declare_batch,
        batch,
    ),
    "dialects": _Command(
        "list the notations of calls that can be read, and tell which one replies are in",
        "List the dialects: how each writes a call, and some of its models; with NAME, all of them, and who says so. "
        "With --model, show the dialect of one model. With detect, read replies from files, and say in which dialects "
        "there are calls in them, the likeliest first; the exit status is 1 if in none. A file of rows, such as JSON "
        "Lines, has a reply in each.",
        "xmltools dialects detect reply.txt",
        declare_dialects,
        list_dialects,
    ),
    "serve": _Command(
        "give any model function calling: an endpoint for OpenAI's and Anthropic's clients",
        "Listen for requests with tools, ask the upstream for text, and answer with calls. --demo needs no upstream. "
        "The page /playground shows what the parser sees. Needs the extra serve.",
        "xmltools serve --upstream http://localhost:8000/v1",
        declare_serve,
        serve,
    ),
    "doctor": _Command(
        "find out what an upstream and its model can do, and how to serve them",
        "Ask an upstream small questions, and report what works: the address, the list of models, streams, finish "
        "reasons, stop sequences, grammars, native tools, and in which dialect the model calls tools best. The report "
        "ends with the serve command to use. No tool is run. It takes at most 61 requests with the usual dialects, and "
        "5 for each more that --dialects names. The exit status is 1 if something that serve needs does not work. "
        "Needs the extra serve.",
        "xmltools doctor --upstream http://localhost:8000/v1",
        declare_doctor,
        doctor,
    ),
    "replay": _Command(
        "play what serve --record kept, as an upstream",
        "Listen like the server that was recorded, and say what it said: the same bytes, at the same times. A request "
        "gets the recording with the same body (exact). Else, of those with the same model, streamed or not as asked, "
        "behind as many replies of the model, it gets one in which the user said the same last (by the user's words), "
        "or, later in a conversation, one that began with the same words (in order); the one that was played least "
        "comes first. Where none fits the answer is 404, with the reason. A line for each request says which "
        "recording is played, and why.",
        "xmltools replay recordings/ --port 8000",
        declare_replay,
        replay,
    ),
    "conformance": _Command(
        "run test cases: one JSON object a line in, one answer a line out",
        'Read cases, one a line: {"id", "chunks": ["..."], "tools": [...] or null, "options": {...}}. Answer '
        "each with what the parser found, or with usage_error if it is no case. With --runner, ask another program "
        "the cases of the corpus, and print its score; the exit status is 1 if it failed one that is not optional.",
        "xmltools conformance < cases.jsonl",
        declare_conformance,
        conformance,
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
