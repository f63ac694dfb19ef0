"""What the command line takes in: files and standard input as text, as tools or as JSON.

Everything is UTF-8. Each error names the file and the place in it. Tools are the host's own and are read as `json`
reads them; calls and results hold what models and tools wrote, and are read as strictly as in a reply.
"""

from __future__ import annotations

import argparse
import codecs
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.syntax.json_reader import JSONError, loads
from xmltools.tools import Tool, load_tools

__all__ = ["UsageError", "open_file", "positive", "read_chunks", "read_text", "read_tools", "read_values"]

_READ_SIZE = 1 << 16
_DEPTH = 128
"""Levels of nesting in a JSON document: those of the arguments, and what stands around them."""


class UsageError(Exception):
    """Wrong usage that argparse can't see. The message is for one line on stderr, the exit status is 2."""


def positive(text: str) -> int:
    """Read a whole number from 1, for argparse. Raises `argparse.ArgumentTypeError` for anything else."""
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def open_file(name: str) -> AbstractContextManager[Any]:
    """Return a context with the binary file; `-` is standard input. Raises `UsageError` if it can't be opened."""
    if name == "-":
        if sys.stdin is None:
            raise UsageError("-: standard input is closed")
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: {getattr(error, 'strerror', None) or error}") from None


def read_chunks(name: str, chunk_size: int | None = None) -> Iterator[str]:
    """Yield a file's text as it comes, in pieces of at most `chunk_size` characters. Bad bytes become U+FFFD."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with open_file(name) as file:
        while data := file.read1(_READ_SIZE):
            yield from _cut(decode(data), chunk_size)
    yield from _cut(decode(b"", True), chunk_size)


def _cut(text: str, size: int | None) -> Iterator[str]:
    step = size or len(text) or 1
    return (text[at : at + step] for at in range(0, len(text), step))


def read_text(name: str) -> str:
    """Return a file's text. Raises `XMLToolsError` if it is no UTF-8."""
    with open_file(name) as file:
        data = file.read()
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise XMLToolsError(f"{name}: expected UTF-8, got the byte {data[error.start]:#04x} at {error.start}") from None


def read_tools(name: str, load: Callable[[Any], list[Tool]] = load_tools) -> list[Tool]:
    """Return the tools in a JSON file, made by `load`. Raises `XMLToolsError` for what is no JSON or no tools."""
    text = read_text(name)
    try:
        return load(json.loads(text))
    except json.JSONDecodeError as error:
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
