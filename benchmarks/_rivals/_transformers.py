"""The parser of replies in transformers, which a checkpoint tells by a `response_template` how its calls are written.

The templates here are our own, written as its documentation says: literal delimiters where it takes them, which it
reads fastest, and the text between calls kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from _rivals._dialects import Call
from _rivals._install import TRANSFORMERS
from _rivals._rival import Rival
from _rivals._servers import Server
from _rivals._texts import TOOL_SCHEMAS

__all__ = ["TRANSFORMERS_RIVALS"]


class Transformers(Server):
    """`ResponseParser`, made anew for each reply with template and tools, as `transformers serve` does.

    Its events also have the raw text of a call chunk by chunk, but the server shows a call when it is parsed.
    """

    package = "transformers"
    folder = "transformers"
    version = TRANSFORMERS
    deltas = "each call"
    calls: ClassVar[dict[str, Any]]
    """The field of the template that says how a call is written."""

    def load(self) -> None:
        from transformers.utils.chat_parsing.response_parser import ResponseParser, parse_response

        self.parser, self.parse = ResponseParser, parse_response
        self.template = {
            "start_anchor": "<|im_start|>assistant\n",
            "fields": {"tool_calls": {**self.calls, "repeats": True}, "content": {"repeats": True, "join": ""}},
        }
        self.tools = [
            {"type": "function", "function": {"name": name, "parameters": schema}}
            for name, schema in TOOL_SCHEMAS.items()
        ]

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        parser = self.parser(self.template, prefix="", tools=self.tools)
        closed = [event["value"] for chunk in chunks for event in parser.feed(chunk) if is_call(event)]
        _, events = parser.finalize()
        return found(closed + [event["value"] for event in events if is_call(event)])

    def whole(self, text: str) -> list[Call]:
        return found(self.parse(text, self.template, prefix="", tools=self.tools).get("tool_calls", []))


def is_call(event: dict[str, Any]) -> bool:
    return bool(event["type"] == "region_close" and event["field"] == "tool_calls")


def found(values: list[dict[str, Any]]) -> list[Call]:
    return [Call(value["function"]["name"], value["function"]["arguments"]) for value in values]


NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}


class TransformersHermes(Transformers):
    name = "transformers hermes"
    dialect = "hermes"
    calls: ClassVar[dict[str, Any]] = {
        "open": "<tool_call>",
        "close": "</tool_call>",
        "content": "json",
        "transform": {"type": "function", "function": "{content}"},
    }


class TransformersQwen(Transformers):
    name = "transformers qwen3_coder"
    dialect = "qwen"
    calls: ClassVar[dict[str, Any]] = {
        "open_pattern": r"<tool_call>\s*<function=(?P<name>[^>\n]+)>",
        "close_pattern": r"</function>\s*</tool_call>",
        "content": "xml-inline",
        "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\n(?P<value>.*?)\n</parameter>"},
        "transform": NAMED,
    }


class TransformersGlm(Transformers):
    name = "transformers glm"
    dialect = "glm"
    calls: ClassVar[dict[str, Any]] = {
        "open_pattern": r"<tool_call>(?P<name>[\w.-]+)",
        "close": "</tool_call>",
        "content": "xml-inline",
        "content_args": {
            "tag_pattern": r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>",
        },
        "transform": NAMED,
    }


TRANSFORMERS_RIVALS: list[type[Rival]] = [TransformersHermes, TransformersQwen, TransformersGlm]
