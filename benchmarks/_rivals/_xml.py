"""We, and rivals that read the same text as we do: XML parsers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version as installed
from platform import python_version
from types import ModuleType
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from _rivals._dialects import Call
from _rivals._rival import MissingError, Rival
from _rivals._texts import TOOL_SCHEMAS
from xmltools import CallCompleted, Parser, Tool

__all__ = ["OURS", "XML_RIVALS", "Ours", "as_call", "combine", "tree_call"]

TOOLS = [Tool(name=name, description="", parameters=schema) for name, schema in TOOL_SCHEMAS.items()]
Children = Sequence[tuple[str, Any]]


def optional(module: str, rival: Rival) -> ModuleType:
    try:
        return import_module(module)
    except ImportError:
        raise MissingError(rival.install) from None


def combine(name: str, children: Children) -> Any:
    """What an element with children means, as far as XML can know it: `files` of `file` is a list."""
    if all(f"{child}s" == name for child, _ in children):
        return [value for _, value in children]
    return dict(children)


def as_call(children: Children) -> Call:
    fields = dict(children)
    return Call(fields["tool_name"], fields.get("arguments") or {})


class Ours(Rival):
    """With the tools' schemas, as the README shows; every event is looked at."""

    name = "xmltools"
    package = "xmltools"
    json_body = True

    @property
    def version(self) -> str:
        return installed("xmltools")

    written_in = "forge"

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = Parser(TOOLS, dialect=self.written_in)
        feed = parser.feed
        calls = [event.call for chunk in chunks for event in feed(chunk) if type(event) is CallCompleted]
        calls += [event.call for event in parser.close() if type(event) is CallCompleted]
        return [Call(call.name, call.arguments) for call in calls]


class OursHermes(Ours):
    """What those for Hermes read."""

    name = "xmltools hermes"
    dialect = written_in = "hermes"
    json_body = False


class OursQwen(Ours):
    """What those for Qwen 3 Coder read."""

    name = "xmltools qwen3_coder"
    dialect = "qwen"
    written_in = "qwen3_coder"
    json_body = False


class OursGlm(Ours):
    """What those for GLM read."""

    name = "xmltools glm"
    dialect = written_in = "glm"
    json_body = False


class Expat(Rival):
    """The C parser below the standard library's others. A reply is no document, so a root is put around it."""

    name = "expat"
    package = "the standard library"

    @property
    def version(self) -> str:
        return f"{expat.EXPAT_VERSION.removeprefix('expat_')}, Python {python_version()}"

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        calls: list[Call] = []
        stack: list[tuple[list[str], list[tuple[str, Any]]]] = [([], [])]

        def start(name: str, attributes: dict[str, str]) -> None:
            stack.append(([], []))

        def data(text: str) -> None:
            stack[-1][0].append(text)

        def end(name: str) -> None:
            texts, children = stack.pop()
            if name == "tool":
                calls.append(as_call(children))
            else:
                stack[-1][1].append((name, combine(name, children) if children else "".join(texts)))

        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = start, data, end
        parser.Parse("<reply>")
        for chunk in chunks:
            parser.Parse(chunk)
        parser.Parse("</reply>", True)
        return calls


def tree_value(element: Any) -> Any:
    if len(element):
        return combine(element.tag, [(child.tag, tree_value(child)) for child in element])
    return element.text or ""


def tree_call(element: Any) -> Call:
    return as_call([(child.tag, tree_value(child)) for child in element])


class PullParser(Rival):
    """XMLPullParser of the standard library."""

    name = "ElementTree XMLPullParser"
    package = "the standard library"
    deltas = "each call"

    @property
    def version(self) -> str:
        return f"Python {python_version()}"

    def parser(self) -> Any:
        return ElementTree.XMLPullParser(["end"])

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = self.parser()
        feed, events = parser.feed, parser.read_events
        calls = []
        feed("<reply>")
        for chunk in chunks:
            feed(chunk)
            for _, element in events():
                if element.tag == "tool":
                    calls.append(tree_call(element))
                    element.clear()
        feed("</reply>")
        parser.close()
        calls += [tree_call(element) for _, element in events() if element.tag == "tool"]
        return calls


class Lxml(PullParser):
    """The same interface of lxml, asked for the ends of `tool` only. `huge_tree` lets texts of 10 MB in."""

    name = "lxml XMLPullParser"
    package = "lxml"

    def __init__(self) -> None:
        self.etree = optional("lxml.etree", self)

    @property
    def version(self) -> str:
        return installed("lxml")

    def parser(self) -> Any:
        return self.etree.XMLPullParser(
            ["end"], tag="tool", huge_tree=True, resolve_entities=False, no_network=True, load_dtd=False
        )


class Soup(Rival):
    """BeautifulSoup with its XML builder (lxml). It has no way to feed it: the reply is kept until it ends."""

    name = "BeautifulSoup"
    package = "beautifulsoup4"
    deltas = "at the end"

    def __init__(self) -> None:
        optional("lxml", self)
        self.parse = optional("bs4", self).BeautifulSoup

    @property
    def version(self) -> str:
        return installed("beautifulsoup4")

    def value(self, element: Any) -> Any:
        children = element.find_all(True, recursive=False)
        if children:
            return combine(element.name, [(child.name, self.value(child)) for child in children])
        return element.get_text()

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        soup = self.parse(f"<reply>{''.join(chunks)}</reply>", "xml")
        blocks = soup.find_all("tool")
        return [as_call([(x.name, self.value(x)) for x in b.find_all(True, recursive=False)]) for b in blocks]


class LangChain(Rival):
    """XMLOutputParser with `transform`, as for streams; also for whole replies: `parse` drops elements beside text.

    It gives one leaf at a time, without the ends of the elements around it. So a field that comes again is taken
    for the next item of the list, and a new `tool_name` for the next call.
    """

    name = "LangChain XMLOutputParser"
    package = "langchain-core"
    deltas = "each value"

    def __init__(self) -> None:
        self.parser = optional("langchain_core.output_parsers", self).XMLOutputParser()

    @property
    def version(self) -> str:
        return installed("langchain-core")

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        calls: list[Call] = []
        for found in self.parser.transform(self.rooted(chunks)):
            path, value = [], found
            while isinstance(value, dict):
                ((name, inner),) = value.items()
                path.append(name)
                value = inner[0] if isinstance(inner, list) and inner else inner
            if path[-1] == "tool_name":
                calls.append(Call(value or "", {}))
            elif "arguments" in path[:-1]:
                self.put(calls[-1].arguments, path[path.index("arguments") + 1 :], value or "")
        return calls

    def rooted(self, chunks: Iterator[str]) -> Iterator[str]:
        yield "<reply>"
        yield from chunks
        yield "</reply>"

    def put(self, arguments: dict[str, Any], path: list[str], value: str) -> None:
        if len(path) == 1:
            arguments[path[0]] = value
            return
        items = arguments.setdefault(path[0], [])
        if len(path) == 2:
            items.append(value)
        elif items and path[2] not in items[-1]:
            items[-1][path[2]] = value
        else:
            items.append({path[2]: value})


XML_RIVALS: list[type[Rival]] = [Expat, PullParser, Lxml, Soup, LangChain]
OURS: list[type[Rival]] = [Ours, OursHermes, OursQwen, OursGlm]
