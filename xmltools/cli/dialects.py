"""`xmltools dialects`: lists the dialects, and finds out in which one replies are written."""

from __future__ import annotations

import argparse

from xmltools import dialects
from xmltools.cli.shared import UsageError, one_standard_input, read_chunks, read_tools
from xmltools.parser import detect


def declare_dialects(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools dialects`."""
    parser.add_argument("detect", nargs="?", choices=("detect",), help="report in which dialect replies are written")
    parser.add_argument("files", metavar="FILE", nargs="*", help="a file with a reply; - is standard input")
    parser.add_argument("--tools", metavar="T.json", help="the tools; without them none is found where tags are tools")


def list_dialects(options: argparse.Namespace) -> int:
    """Run `xmltools dialects`. Returns the exit status: 1 if no dialect was detected."""
    if options.detect:
        if not options.files:
            raise UsageError("detect: name the files with the replies, as in xmltools dialects detect reply.txt")
        one_standard_input("the FILEs and --tools", *options.files, options.tools)
        return _detect(options.files, options.tools)
    for dialect in dialects.all():
        print(f"{dialect.name:<12} {dialect.example}")
        if dialect.models:
            print(f"{'':<12} {', '.join(dialect.models)}")
    return 0


def _detect(files: list[str], tools: str | None) -> int:
    texts = ["".join(read_chunks(name, None)) for name in files]
    found = detect(texts, read_tools(tools) if tools is not None else None)
    for dialect, calls, errors in found:
        print(f"{dialect.name:<12} {calls} calls, {errors} blocks that give none")
    if not found:
        print("no calls in any of the dialects")
    return 0 if found else 1
