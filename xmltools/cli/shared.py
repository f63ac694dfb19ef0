"""What the commands share: types of arguments, reading files and standard input, and printing.

Everything is UTF-8, and may begin with a byte order mark. Each error names the file and the place in it. Tools are the
host's own and are read as `json` reads them; calls and results hold what models and tools wrote, and are read as
strictly as in a reply.
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from xmltools.dialects import FORGE, Dialect, for_model, named
from xmltools.errors import XMLToolsError, no_utf8
from xmltools.syntax.json_reader import JSONError, loads
from xmltools.syntax.markup import is_xml_name
from xmltools.terminal import VISIBLE, say, wrapped
from xmltools.tools import Tool, load_tools

_UTF8 = "utf-8-sig"
"""UTF-8, without the byte order mark that Windows writes before it."""
_READ_SIZE = 1 << 16
_AS_JSON = "json.dumps([tool.model_dump() for tool in load_tools(functions)]) writes JSON of its functions"
_LEAST_PREFIX = 3
"""Characters from which on the beginning of a name says which is meant."""
_DEPTH = 128
"""Levels of nesting in a JSON document: those of the arguments, and what is around them."""


class UsageError(Exception):
    """Wrong usage that argparse can't see. The message is for one line on stderr, the exit status is 2."""


# Arguments


def whole_number(least: int, most: int = 999_999_999) -> Callable[[str], int]:
    """Return a type for argparse: a whole number within these bounds."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= 9 and least <= int(text) <= most:
            return int(text)
        through = f" through {most}" if most != 999_999_999 else ""
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}{through}, got {text!r:.80}")

    return read


positive = whole_number(1)


def number(text: str) -> float:
    """Read a number from 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number from 0, got {text!r:.80}")
    return value


def above_zero(text: str) -> float:
    """Read a number above 0, for argparse."""
    with suppress(argparse.ArgumentTypeError):
        if value := number(text):
            return value
    raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r:.80}")


def size(text: str) -> int:
    """Read a number of bytes, for argparse."""
    try:
        return positive(text)
    except argparse.ArgumentTypeError:
        message = f"expected a number of bytes from 1, such as {16 << 20} for 16 MiB, got {text!r:.80}"
        raise argparse.ArgumentTypeError(message) from None


def element_name(text: str) -> str:
    """Read the name of an element, for argparse."""
    if not is_xml_name(text):
        raise argparse.ArgumentTypeError(f"expected the name of an element, got {text!r:.80}; give one such as think")
    return text


def add_parser_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the parser that `parse` and `batch` have."""
    add = parser.add_argument
    add("--strict", action="store_true", help="make the first repair of a call an error")
    add("--starts-in-reasoning", action="store_true", help="a reply begins inside a reasoning region")
    add("--bracket-reasoning", action="store_true", help="paragraphs in [brackets] are reasoning")
    fences = "what a block in a code fence is; last: a call if the reply ends with it"
    add("--code-fences", choices=("last", "call", "text"), default="last", help=fences)
    add_dialect_options(parser)
    add_also(parser)


def add_also(parser: argparse.ArgumentParser) -> None:
    """Add the option for calls in other dialects."""
    words = "read calls of given tools in this dialect too, with a repair; known means in all; may be repeated"
    parser.add_argument("--also", metavar="NAME", action="append", default=[], help=words)


def chosen_others(options: argparse.Namespace) -> str | tuple[str, ...] | None:
    """Return what that option says, as `Parser` takes it. Raises `UsageError` for names that are not known."""
    if "known" in options.also:
        return "known"
    try:
        return tuple(named(name).name for name in options.also) or None
    except XMLToolsError as error:
        raise UsageError(f"--also: {str(error).removeprefix('dialect: ')}") from None


def add_dialect_options(
    parser: argparse.ArgumentParser,
    *,
    dialect: str = "how calls are written: see xmltools dialects",
    model: str = "the model that wrote it, by its name on Hugging Face or its tokenizer_config.json: picks the dialect",
    several: bool = False,
) -> None:
    """Add the options that pick a dialect, with their help. `several`: the first may be repeated, and is a list."""
    group = parser.add_mutually_exclusive_group()
    if several:
        group.add_argument("--dialect", metavar="NAME", action="append", default=[], help=dialect)
    else:
        group.add_argument("--dialect", metavar="NAME", help=dialect)
    group.add_argument("--model", metavar="ID", help=model)


def chosen_dialect(options: argparse.Namespace, *, default: str = FORGE.name) -> str:
    """Return the name of the dialect that these options pick, or else the default, which `--dialect` takes too. Raises
    `UsageError` for names that are not known."""
    try:
        if options.model is not None:
            return _dialect_of(options.model).name
        if options.dialect in (None, default):
            return default
        return named(options.dialect, more=() if default == FORGE.name else (default,)).name
    except XMLToolsError as error:
        option = "model" if options.model is not None else "dialect"
        raise UsageError(f"--{option}: {re.sub(f'^({option}|vocabulary): ', '', str(error))}") from None


def _dialect_of(model: str) -> Dialect:
    """Return the dialect of a model by its name, or by its `tokenizer_config.json` or the folder with that."""
    path = Path(model) / "tokenizer_config.json"
    if model.endswith(".json"):
        return for_model(vocabulary=model)
    return for_model(model, vocabulary=path if path.is_file() else None)


def parser_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the values of these options."""
    names = ("strict", "starts_in_reasoning", "bracket_reasoning", "code_fences")
    chosen: dict[str, Any] = {name: getattr(options, name) for name in names}
    return {**chosen, "dialect": chosen_dialect(options), "also": chosen_others(options)}


def one_standard_input(names: str, *given: str | None) -> None:
    """Raise `UsageError` if more than one of the arguments that are named is `-`."""
    if given.count("-") > 1:
        raise UsageError(f"only one of {names} can be standard input")


def did_you_mean(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.5) -> str:
    """Return a question for the known names that are most like this one, "" if none is; first for those that begin
    with it."""
    names = list(known)
    begun = [each for each in names if each.startswith(name)] if len(name) >= _LEAST_PREFIX else []
    near = begun[:most] or get_close_matches(name[:100], names, n=most, cutoff=cutoff)
    return f"did you mean {' or '.join(near)}?" if near else ""


# Input


def _open_file(name: str) -> AbstractContextManager[Any]:
    """Return a context with the binary file; `-` is standard input. Raises `UsageError` if it can't be opened."""
    if name == "-":
        if sys.stdin is None:
            raise UsageError("-: standard input is closed")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        found = f"{name}: {getattr(error, 'strerror', None) or error}"
        raise UsageError("; ".join(filter(None, (found, _file_like(name))))) from None


def _file_like(name: str) -> str:
    """Ask whether another file in the same folder is meant."""
    try:
        return did_you_mean(Path(name).name, (each.name for each in Path(name).parent.iterdir()), cutoff=0.75)
    except (OSError, ValueError):
        return ""


def read_chunks(name: str, chunk_size: int | None = None) -> Iterator[str]:
    """Yield a file's text as it comes, in pieces of at most `chunk_size` characters.

    Raises `XMLToolsError` if it is no UTF-8. A character whose last bytes are missing at the end becomes U+FFFD: that
    is where a reply was cut off.
    """
    decoder = codecs.getincrementaldecoder(_UTF8)()
    size = 0
    with _open_file(name) as file:
        while data := file.read1(_READ_SIZE):
            size += len(data)
            try:
                text = decoder.decode(data)
            except UnicodeDecodeError as error:
                raise _no_utf8(name, error, size) from None
            yield from _cut(text, chunk_size)
    yield "\ufffd" if decoder.getstate()[0] else ""


def _cut(text: str, size: int | None) -> Iterator[str]:
    step = size or len(text) or 1
    return (text[at : at + step] for at in range(0, len(text), step))


def read_bytes(name: str) -> bytes:
    """Return what is in a file, as it is."""
    with _open_file(name) as file:
        return bytes(file.read())


def read_text(name: str) -> str:
    """Return a file's text. Raises `XMLToolsError` if it is no UTF-8."""
    data = read_bytes(name)
    try:
        return str(data, _UTF8)
    except UnicodeDecodeError as error:
        raise _no_utf8(name, error, len(data)) from None


def _no_utf8(name: str, error: UnicodeDecodeError, size: int) -> XMLToolsError:
    """Return the error for a file of which `size` bytes were read."""
    return XMLToolsError(f"{name}: {no_utf8(error.object[error.start], size - len(error.object) + error.start)}")


def read_tools(name: str, load: Callable[[Any], list[Tool]] = load_tools) -> list[Tool]:
    """Return the tools in a JSON file, made by `load`. Raises `XMLToolsError` for what is no JSON or no tools."""
    text = read_text(name)
    try:
        return load(json.loads(text))
    except json.JSONDecodeError as error:
        if name.endswith(".py"):
            raise XMLToolsError(f"{name}: expected tools as JSON, got Python; {_AS_JSON}") from None
        raise XMLToolsError(f"{name}:{error.lineno}:{error.colno}: expected tools as JSON: {error.msg}") from None
    except RecursionError:
        raise XMLToolsError(f"{name}: expected tools as JSON, got JSON that is nested too deeply") from None
    except XMLToolsError as error:
        raise XMLToolsError(f"{name}: {error}") from None


def read_values(name: str, what: str, *, lines: bool = False) -> list[tuple[str, Any]]:
    """Return the JSON value in a file, or those of its lines, each after its place (`name` or `name:line`).

    Takes `what` the file should hold, for the messages, and with `lines` JSON Lines too. Raises `XMLToolsError` for
    what is no JSON, an empty file, and what `xmltools.syntax.json_reader.loads` refuses or would have to fix.
    """
    text = read_text(name)
    if not text.strip():
        raise XMLToolsError(f"{name}: expected {what} as JSON, got nothing")
    if not lines or not _is_json_lines(text):
        return [(name, _load(text, name, 1, what))]
    numbered = enumerate(text.split("\n"), 1)
    return [(f"{name}:{number}", _load(line, name, number, what)) for number, line in numbered if line.strip()]


def _is_json_lines(text: str) -> bool:
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        loads(first, depth=_DEPTH)
    except JSONError:
        return False
    return True


def _load(text: str, name: str, line: int, what: str) -> Any:
    try:
        value, slips = loads(text, depth=_DEPTH)
    except JSONError as error:
        raise XMLToolsError(
            f"{name}:{_place(text, error.offset, line)}: expected {what} as JSON: {error.message}"
        ) from None
    for code, offset, _ in slips:
        raise XMLToolsError(f"{name}:{_place(text, offset, line)}: expected {what} as JSON: {code.hint}")
    return value


def _place(text: str, offset: int, line: int) -> str:
    """Return line and column, from 1, of an offset in text that begins on `line`."""
    return f"{line + text.count(chr(10), 0, offset)}:{offset - text.rfind(chr(10), 0, offset)}"


# Help


class Help(argparse.HelpFormatter):
    """Help in lines that end between words. Its texts keep their line breaks; commands, after `$`, are not broken."""

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        text = super()._format_usage(usage, actions, groups, prefix)
        if all(len(line) <= self._width for line in text.split("\n")):
            return text
        return wrapped(" ".join(text.split()), self._width, "  ") + "\n\n"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + self._filled(line, width - len(indent)) for line in text.split("\n"))

    def _filled(self, line: str, width: int) -> str:
        if line.lstrip().startswith("$ "):
            return line
        first = _FIRST_COLUMN.match(line)
        return wrapped(line, width, " " * (len(first[0]) - len(first[1])) if first else "")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width).split("\n")


_FIRST_COLUMN = re.compile(r"( +)\S+ {2,}")
"""What stands in front of the second column, where a line has two."""

# Output


def one_line(message: str) -> str:
    """Return a message as it may be shown in one line of a terminal."""
    return " ".join(message.split("\n")).translate(VISIBLE)


def tell(message: str, *, flush: bool = False) -> None:
    """Print a message on standard error, in one line, or on a terminal in lines that end between words."""
    say(one_line(message), sys.stderr, "  ", flush=flush)


def show(line: str, hanging: str = "") -> None:
    """Print a line for people on standard output, on a terminal in lines that end between words."""
    say(one_line(line), sys.stdout, hanging)


def write_text(text: str) -> None:
    """Print text, with a line break at its end: for a program as it is, in UTF-8; on a terminal without controls."""
    if sys.stdout.isatty():
        text = "\n".join(map(one_line, text.split("\n")))
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
    sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")


def styled_printer() -> Callable[[str, str], None]:
    """Return a function that prints text in a style, or without one if rich is not installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return lambda text, style: print(text, end="", flush=True)
    console = Console(highlight=False)
    return lambda text, style: console.print(Text(text, style), end="", soft_wrap=True)


def counted(number: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
