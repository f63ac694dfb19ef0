"""What agents do with regular expressions, written here: they read the same text as we do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import unescape
from platform import python_version
from typing import Any
from xml.etree import ElementTree

from _rivals._dialects import Call
from _rivals._rival import Rival
from _rivals._xml import as_call, combine, tree_call

__all__ = ["REGEX_RIVALS"]

BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)")
BLOCK = re.compile(r"<tool>(.*?)</tool>", re.DOTALL)


def body_calls(body: str) -> list[Call]:
    """The JSON form of the protocol."""
    fields = json.loads(body)
    return [Call(fields["tool_name"], fields.get("arguments") or {})]


class RegexThenXML(Rival):
    """What Forge does, written anew in Python: a regular expression finds the blocks of a complete reply, an XML
    parser reads them, and if it fails, bare ampersands are escaped and it tries again. (Forge takes the first block
    only; here all are taken.)
    """

    name = "regex, then ElementTree (as Forge)"
    package = "written here"
    deltas = "at the end"
    json_body = True

    @property
    def version(self) -> str:
        return f"Python {python_version()}"

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        return [call for match in BLOCK.finditer("".join(chunks)) for call in self.read(match)]

    def read(self, match: re.Match[str]) -> Iterable[Call]:
        if match[1].lstrip().startswith("{"):
            return body_calls(match[1])
        try:
            return [tree_call(ElementTree.fromstring(match[0]))]
        except ElementTree.ParseError:
            return [tree_call(ElementTree.fromstring(BARE_AMPERSAND.sub("&amp;", match[0])))]


FIELD = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)
CDATA = re.compile(r"\s*<!\[CDATA\[(.*?)\]\]>\s*", re.DOTALL)


class Naive(Rival):
    """What many agents do: keep the reply, and search all of it again with `re.findall` whenever a chunk comes."""

    name = "re.findall on all text so far"
    package = "written here"
    deltas = "each call"
    json_body = True

    @property
    def version(self) -> str:
        return f"Python {python_version()}"

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        calls: list[Call] = []
        text = ""
        for chunk in chunks:
            text += chunk
            for body in BLOCK.findall(text)[len(calls) :]:
                calls += body_calls(body) if body.lstrip().startswith("{") else [as_call(self.fields(body))]
        return calls

    def fields(self, body: str) -> list[tuple[str, Any]]:
        return [(name, self.value(name, text)) for name, text in FIELD.findall(body)]

    def value(self, name: str, text: str) -> Any:
        if sections := CDATA.fullmatch(text):
            return sections[1]
        inner = self.fields(text) if text.lstrip().startswith("<") else []
        return combine(name, inner) if inner else unescape(text)


REGEX_RIVALS: list[type[Rival]] = [RegexThenXML, Naive]
