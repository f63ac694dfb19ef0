"""How fast streams of structured calls are: `python benchmarks/streams.py [--quick]`.

As in `parser.py`, one U is the cost of a method that returns a list with one new 2-tuple, and everything is a ratio
inside one run. Growth is the slope of log time over log size, while the text doubles: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Iterator
from functools import partial
from html import escape
from typing import Any

from parser import (
    CDATA,
    FREE,
    MB,
    OPEN,
    TOOL,
    VALUE,
    WIDE,
    Figure,
    block,
    careful,
    cut,
    diff,
    feed_floor,
    line,
    ratio,
)

from xmltools.conversations.streams import AnthropicStream, ArgumentStream, OpenAIReader, OpenAIStream, to_sse
from xmltools.parser import Parser


def encode(chunks: list[str]) -> None:
    """Parse, and make fragments of JSON."""
    parser, arguments = Parser([TOOL], limits=WIDE), ArgumentStream([TOOL])
    feed, encoded = parser.feed, arguments.feed
    for chunk in chunks:
        for event in feed(chunk):
            encoded(event)
    for event in parser.close():
        encoded(event)


def serve_openai(chunks: list[str]) -> None:
    """Parse, and make the bytes of OpenAI's stream."""
    parser = Parser([TOOL], limits=WIDE)
    stream = OpenAIStream(id="chatcmpl-1", model="m", created=1, tools=[TOOL])
    for chunk in chunks:
        to_sse(stream.feed(parser.feed(chunk)))
    to_sse([*stream.feed(parser.close()), *stream.close()])


def serve_anthropic(chunks: list[str]) -> None:
    """Parse, and make the bytes of Anthropic's stream."""
    parser = Parser([TOOL], limits=WIDE)
    stream = AnthropicStream(id="msg_1", model="m", tools=[TOOL])
    for chunk in chunks:
        to_sse(stream.feed(parser.feed(chunk)))
    to_sse([*stream.feed(parser.close()), *stream.close()])


def delta(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}]}


def read(fragments: list[str]) -> None:
    """Read a native call whose arguments come in these fragments."""
    reader = OpenAIReader([TOOL])
    reader.feed({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": TOOL.name}}]}}]})
    for fragment in fragments:
        reader.feed(delta(fragment))
    reader.close()


def read_mixed(fragments: list[str]) -> None:
    """Read native calls whose fragments are mixed, so that all but the first one wait."""
    reader = OpenAIReader()
    for number, fragment in enumerate(fragments):
        call = {"index": number % 8, "function": {"name": "f", "arguments": fragment}}
        reader.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
    reader.close()


Run = Callable[[list[str]], None]
STRING = '{"diff": "'

# What is written, how it begins, and what is repeated behind that.
FAMILIES: dict[str, tuple[Run, tuple[str, str]]] = {
    "text": (encode, (CDATA, "x = 1\n")),
    "spaces": (encode, (CDATA, " ")),
    "quotes and backslashes": (encode, (CDATA, '"\\')),
    "control characters": (encode, (CDATA, "\x1b")),
    "not ASCII": (encode, (CDATA, "é表😀")),
    "lone surrogates": (encode, (CDATA, "\ud800")),
    "entities": (encode, (VALUE, "&quot;")),
    "list items": (encode, (f"{OPEN}<files>", "<file>x</file>")),
    "arguments": (encode, (OPEN, "<b>1</b>")),
    "no schema": (encode, (FREE, "x ")),
    "strings in turn": (encode, (OPEN, "<diff>x</diff><path>x</path>")),
    "small calls, as chunks": (serve_openai, ("", f"{OPEN}<diff>x</diff></arguments></tool>\n")),
    "small calls, as blocks": (serve_anthropic, ("", f"{OPEN}<diff>x</diff></arguments></tool>\n")),
    "broken calls, as chunks": (serve_openai, ("", f"{OPEN}<diff>x</diff><!DOCTYPE></arguments></tool>\n")),
    "read: text": (read, (STRING, "x = 1 ")),
    "read: escapes": (read, (STRING, "\\n\\u00e9")),
    "read: surrogate pairs": (read, (STRING, "\\ud83d\\ude00")),
    "read: half pairs": (read, (STRING, "\\ud83d")),
    "read: broken escapes": (read, (STRING, "\\x")),
    "read: a name": (read, ("{", "x")),
    "read: a long name": (read, ('{"', "x")),
    "read: members": (read, ('{"a": 1', ', "b": "x"')),
    "read: nested": (read, ("{", "[{")),
    "read: white space": (read, ("{", " ")),
    "read: behind the end": (read, ("{}", " ")),
    "read: mixed calls": (read_mixed, ("", '{"a": "x"} ')),
}


def speed(quick: bool) -> Iterator[Figure]:
    rounds, size = (5, MB // 5) if quick else (9, MB)
    shapes: list[tuple[str, float, Run, list[str]]] = [
        ("a fragments, diff in CDATA", 9, encode, cut(block(f"<![CDATA[{diff(size)}]]>"), 4)),
        ("a fragments, not ASCII", 14, encode, cut(block(f"<![CDATA[{diff(size).replace('e', 'é')}]]>"), 4)),
        ("a fragments, escaped diff", 20, encode, cut(block(escape(diff(size))), 4)),
        ("b OpenAI chunks, as bytes", 200, serve_openai, cut(block(f"<![CDATA[{diff(size // 5)}]]>"), 4)),
        ("b Anthropic events, as bytes", 200, serve_anthropic, cut(block(f"<![CDATA[{diff(size // 5)}]]>"), 4)),
        ("c native call read", 200, read, cut(json.dumps({"diff": diff(size // 5)}), 4)),
    ]
    for name, asked, run, chunks in shapes:
        measured = ratio(partial(run, chunks), partial(feed_floor, chunks), rounds)
        yield Figure(name, asked, measured, "U", "a chunk of 4 characters")


def growth(quick: bool) -> Iterator[Figure]:
    for name, (run, shape) in FAMILIES.items():
        found = [careful(run, shape, chunk, quick) for chunk in (1, 4, 0)]
        tops = "/".join(str(slope.top >> 10) for slope in found)
        yield Figure(f"d {name}", 1.1, max(found).slope, "slope", f"1-char/4-char/whole to {tops} K")


def main() -> int:
    """Print the table; the exit status is 1 if a figure was missed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--quick", action="store_true", help="smaller texts, fewer rounds")
    quick = options.parse_args().quick
    gc.freeze()  # what was imported need not be looked through before each run
    missed = False
    for figures in (speed, growth):
        for figure in figures(quick):
            missed = missed or figure.verdict != "ok"
            print(line(figure), flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
