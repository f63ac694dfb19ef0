"""The walk over the messages of the three large APIs, in reading and in writing, which is the same for all of them.

A format says which keys and words it has, and how it reads and writes one block. Anthropic and Gemini have messages of
blocks, and results of tools in messages of the user: here these are a tool message of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, TypeVar

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.api_turns import Ledger
from xmltools.formats.shared.api_values import insert, objects, type_of_url
from xmltools.formats.shared.extra import at, extra_of, kept_for, rest, under
from xmltools.formats.shared.losses import WORDS, Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import fail

Object = dict[str, Any]
Blocks = Iterable[tuple[int, Mapping[str, Any]]]
"""Objects with their places in a list."""
_Part = TypeVar("_Part")

# Responses


def first_of(source: Mapping[str, Any], key: str, word: str, report: Report) -> Mapping[str, Any]:
    """Return the first of the answers that a response has under `key`, each of which is a `word`."""
    found = [each for _, each in objects(source[key], key, f"a list of {key}")]
    if not found:
        raise XMLToolsError(f"{key}: expected one {word} at least, got none")
    if len(found) > 1:
        report.add(key, f"only the first of {len(found)} {key} is read", 0)
    return found[0]


def of_response(message: Message, name: str, beside: Object, **fields: Any) -> Message:
    """Return the message of a response with fields from it, and what it says beside the message kept."""
    extra = extra_of(name, kept_for(message, name) | {"response": beside})
    return message.model_copy(update={**fields, "extra": extra})


# Reading


class ApiReader(Ledger, ABC):
    """Reads messages one after the other: results take their names from the calls before them."""

    name: ClassVar[str]
    """The name of the format."""
    word: ClassVar[str] = "message"
    """What the API calls a message, in places."""

    def read_all(self, source: Any, where: str, right: str) -> list[Message]:
        """Read a list of messages. Raises XMLToolsError for what is malformed, with the place."""
        messages: list[Message] = []
        for self.index, each in objects(source, where, right):
            with at(f"{self.word} {self.index}: "):
                messages += self.read(each)
        return messages

    @abstractmethod
    def read(self, source: Mapping[str, Any]) -> list[Message]:
        """Read a message. Raises XMLToolsError for what is malformed, with the place inside the message."""

    def keep(self, fields: Mapping[str, Any]) -> Object:
        """Return the `extra` in which the format keeps these fields."""
        return extra_of(self.name, fields)

    def text(self, text: str, source: Mapping[str, Any], *known: str) -> Text:
        """Return a text with what else the object says."""
        return Text(text=text, extra=self.keep(rest(source, known)))

    def whose(self, id: str | None, name: str | None, key: str) -> tuple[str, str]:
        """Return the id and the name of the call that a result belongs to; `key` is where its id should be."""
        if not id:
            self.add("missing_id", f"a result without {key} is that of the first call without one")
            id = self.claim(name, of_made=id == "")
        return id, self.answer(id) if id else ""


def read_blocks(
    blocks: Blocks, where: str, read: Callable[[Mapping[str, Any]], _Part | None]
) -> tuple[list[_Part], list[Any]]:
    """Read blocks. Returns what they are, and those to be kept as they are (where `read` returns None), each with its
    number."""
    found: list[_Part] = []
    others = []
    for number, (place, each) in enumerate(blocks):
        with at(f"{where}[{place}]."):
            part = read(each)
        if part is None:
            others.append([number, dict(each)])
        else:
            found.append(part)
    return found, others


class BlockReader(ApiReader):
    """Reads messages of blocks."""

    key: ClassVar[str]
    """The key of a message's blocks."""
    result: ClassVar[str]
    """What the block of a result is called."""
    result_place: ClassVar[str] = ""
    """The place of that word in the block."""
    has_strings: ClassVar[bool] = False
    """Whether one text without anything else is written as a string."""
    after_results = False

    @abstractmethod
    def is_result(self, block: Mapping[str, Any]) -> bool:
        """Return whether a block is a result."""

    @abstractmethod
    def block(self, source: Mapping[str, Any]) -> Part | None:
        """Read a block; None if it is to be kept as it is."""

    def runs(self, role: Any, blocks: Blocks, fields: Object) -> list[Message]:
        """Read the blocks of a message: one message for each run of results and of other blocks."""
        runs = [(is_results, list(run)) for is_results, run in groupby(blocks, lambda each: self.is_result(each[1]))]
        messages = []
        for place, (is_results, run) in enumerate(runs or [(False, [])]):
            if is_results and role != "user":
                what = f"no {self.result} in a {self.word} of the {role}"
                fail(f"{self.key}[{run[0][0]}]{self.result_place}", what, self.result, is_word=True)
            parts: list[Part]
            parts, others = read_blocks(run, self.key, self.block)
            spelled: Object = {"others": others} if others else {}
            if self.has_strings and len(runs) == 1 and not others and _is_one_text(parts):
                spelled["as"] = "blocks"
            if place or (is_results and self.after_results):
                spelled["joined"] = place > 0
            kept = {**(fields if place == 0 else {}), **({self.key: spelled} if spelled else {})}
            messages.append(Message(role="tool" if is_results else role, parts=tuple(parts), extra=self.keep(kept)))
        self.after_results = messages[-1].is_tool
        return messages


def _is_one_text(parts: Sequence[Part]) -> bool:
    return len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].extra


# Writing


class ApiWriter:
    """Writes messages one after the other."""

    name: ClassVar[str]
    """The name of the format."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.index = 0

    def add(self, code: str, message: str, hint: str = "") -> None:
        """Report something about the message that is being written."""
        self.report.add(code, message, self.index, hint)

    def kept(self, value: Message | Part) -> Object:
        """Return what the format keeps of a value."""
        return kept_for(value, self.name)

    def fitting(self, message: Message, kinds: tuple[type, ...]) -> list[Part]:
        """Return the parts of a message that are of these kinds; the others are left out and reported."""
        for kind in {type(part): None for part in message.parts if not isinstance(part, kinds)}:
            what = f"{_KINDS[kind]} in a message of the role {message.role!r}"
            self.add("misplaced_part", f"{what} cannot be written there, and are left out")
        return [part for part in message.parts if isinstance(part, kinds)]

    def tell_type(self, medium: Media, usual: str) -> None:
        """Report the type of a file that is a URL, if it is read back as another; `usual` if its ending tells none."""
        if medium.url and medium.media_type not in (usual, type_of_url(medium.url, usual)):
            self.add("media_type", f"{self.name} has no place for the type of a file that is a URL")


_KINDS: dict[type, str] = {
    Text: "text",
    Reasoning: "reasoning",
    Media: WORDS["media"],
    ToolCall: "calls",
    ToolResult: "results",
}


class BlockWriter(ApiWriter, ABC):
    """Writes messages of blocks."""

    key: ClassVar[str]
    """The key of a message's blocks."""
    roles: ClassVar[Mapping[str, str]] = {"tool": "user"}
    """What the API calls a role, where it is not the same."""
    kinds: ClassVar[Mapping[str, tuple[type, ...]]] = {
        "system": (Text,),
        "user": (Text, Media),
        "assistant": (Text, Reasoning, ToolCall),
        "tool": (ToolResult,),
    }
    """The parts that a role may say."""

    @abstractmethod
    def block(self, part: Part) -> Object | None:
        """Write a part; None if it says nothing, or was reported."""

    def listed(self, parts: Iterable[Part], spelled: Mapping[str, Any]) -> list[Object]:
        """Write parts, with the blocks that were kept as they were."""
        return insert([block for part in parts if (block := self.block(part)) is not None], spelled.get("others"))

    def blocks(self, index: int, message: Message) -> list[Object]:
        """Write the parts of a message."""
        self.index = index
        return self.listed(self.fitting(message, self.kinds[message.role]), under(self.kept(message), self.key))

    def content(self, message: Message, blocks: list[Object]) -> Any:
        """Return the blocks of a message as its content."""
        return blocks

    def messages(self, messages: Iterable[tuple[int, Message]]) -> list[Object]:
        """Return the messages of the API. Results that follow each other are in one."""
        turns: list[tuple[Message, Object]] = []
        after_results = False
        for index, message in messages:
            blocks = self.blocks(index, message)
            if not blocks:
                self.add("empty_message", "the message has nothing in it and is left out")
                continue
            own, usual = self.kept(message), self.roles.get(message.role, message.role)
            joined = under(own, self.key).get("joined", message.is_tool and after_results)
            after_results = message.is_tool
            if joined and turns and turns[-1][1].get("role") in (usual, "function", None):
                turns[-1][1][self.key] += blocks
            else:
                role = own.get("role", usual)
                turns.append((message, {**({} if role is None else {"role": role}), self.key: blocks}))
            turns[-1][1].update(rest(own, ("role", self.key, "response")))
        for message, turn in turns:
            turn[self.key] = self.content(message, turn[self.key])
        return [turn for _, turn in turns]
