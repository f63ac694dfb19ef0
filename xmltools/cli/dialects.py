"""`xmltools dialects`: lists the dialects, and finds out in which one replies are written.

A file is a reply, or has one in each row, as `xmltools batch` reads it.
"""

from __future__ import annotations

import argparse
import sys
from itertools import chain

from xmltools import dialects
from xmltools.cli.reply_rows import NO_ROWS, looks_like_json, replies_in
from xmltools.cli.shared import UsageError, counted, one_standard_input, read_chunks, read_tools, tell
from xmltools.dialects.models import match_of
from xmltools.errors import XMLToolsError
from xmltools.parser import detect
from xmltools.terminal import say

_WIDTH, _SHOWN = 13, 3


def declare_dialects(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools dialects`."""
    words = "the dialect whose models are listed; or detect, to report in which dialect replies are written"
    parser.add_argument("what", metavar="NAME|detect", nargs="?", help=words)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="after detect, a file with a reply, or with one in each row: .jsonl, .csv, .parquet; - is standard input",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="the column with the replies of files with rows (default: reply, or the only one with text)",
    )
    parser.add_argument("--tools", metavar="T.json", help="the tools; without them none is found where tags are tools")
    parser.add_argument(
        "--model",
        metavar="ID",
        help="show the dialect of this model only, by its name on Hugging Face or in Ollama; its family in brackets",
    )


def list_dialects(options: argparse.Namespace) -> int:
    """Run `xmltools dialects`. Returns the exit status: 1 if no dialect was detected."""
    if options.model is not None:
        if options.what is not None:
            raise UsageError("--model: give it alone, as in xmltools dialects --model Qwen/Qwen3-8B")
        return _show_dialect_of(options.model)
    if options.what == "detect":
        if not options.files:
            raise UsageError("detect: name the files with the replies, as in xmltools dialects detect reply.txt")
        one_standard_input("the FILEs and --tools", *options.files, options.tools)
        return _detect(options.files, options.tools, options.column)
    if options.column is not None:
        raise UsageError("--column: it is about files for detect, as in xmltools dialects detect replies.jsonl")
    if options.files:
        raise UsageError("files are read with detect only, as in xmltools dialects detect reply.txt")
    if options.what is not None:
        return _show(options.what)
    for dialect in dialects.all():
        _show_beside(dialect.name, dialect.example)
        if models := dialects.ids_of(dialect.name):
            more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
            _show_beside("", f"{', '.join(models[:_SHOWN])}{more}")
    return 0


def _show_beside(name: str, text: str) -> None:
    say(f"{name:<{_WIDTH}} {text}", sys.stdout, " " * (_WIDTH + 1) if name else "")


def _show_dialect_of(model: str) -> int:
    try:
        dialect = dialects.for_model(model)
    except XMLToolsError as error:
        raise UsageError(str(error)) from None
    found = match_of(model)
    _show_beside(f"{dialect.name} ({found.name})" if found else dialect.name, dialect.example)
    return 0


def _show(name: str) -> int:
    try:
        dialect = dialects.named(name)
    except XMLToolsError as error:
        raise UsageError(str(error)) from None
    _show_beside(dialect.name, dialect.example)
    for family in dialects.FAMILIES:
        if family.dialect == dialect.name:
            print()
            say(f"{', '.join(family.names)} ({family.source})", sys.stdout)
            for each in family.ids:
                say(f"  {each}", sys.stdout)
    return 0


def _detect(files: list[str], tools: str | None, column: str | None) -> int:
    known = read_tools(tools) if tools is not None else None
    rows = {name: replies_in(name, column) for name in files}
    texts = {name: "".join(read_chunks(name)) for name, replies in rows.items() if replies is None}
    found = detect(chain.from_iterable(replies or (texts[name],) for name, replies in rows.items()), known)
    for dialect, calls, errors in found:
        _show_beside(dialect.name, f"{counted(calls, 'call')}, {counted(errors, 'block')} without one")
    if not any(form.is_bare for dialect, _, _ in found for form in dialect.forms):  # in these a call is JSON itself
        for name in (name for name, text in texts.items() if looks_like_json(text)):
            tell(f"xmltools: {name}: {NO_ROWS} whose names end with .jsonl, or with --column")
    if not found:
        print("no calls in any of the dialects")
    return 0 if found else 1
