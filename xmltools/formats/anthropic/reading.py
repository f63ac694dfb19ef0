"""Reading messages of Anthropic's API."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from xmltools.formats.shared.api_turns import Ledger
from xmltools.formats.shared.api_values import objects, read_arguments, type_of_url
from xmltools.formats.shared.extra import at, extra_of, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail

NAME = "anthropic"
"""The name by which the format is asked for."""
URL_TYPES = {"image": "image/*", "document": "application/pdf"}
"""The type of a file that is a URL, if its ending does not tell."""

_CONTENT = 'text or a list of blocks, [{"type": "text", "text": "…"}]'
_Block = Mapping[str, Any]


class Reader:
    """Reads messages one after the other: results take their names from the calls before them."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.ledger = Ledger(report)
        self.after_results = False

    def read(self, index: int, source: _Block) -> list[Message]:
        """Read a message: one, or one for each run of results and of other blocks."""
        role = source.get("role")
        if role not in ("user", "assistant", "system"):
            fail("role", "user or assistant", role, is_word=True)
        if role != "assistant":
            self.ledger.end_turn()
        fields = rest(source, ("role", "content"))
        content = expect(source.get("content"), (str, list, tuple), "content", _CONTENT)
        if isinstance(content, str):
            parts = (Text(text=content),) if content else ()
            messages = [Message(role=role, parts=parts, extra=extra_of(NAME, fields))]
        else:
            messages = self._runs(index, role, content, fields)
        self.after_results = messages[-1].is_tool
        return messages

    def _runs(self, index: int, role: Any, content: Any, fields: dict[str, Any]) -> list[Message]:
        blocks = list(objects(content, "content", _CONTENT))
        runs = [(is_results, list(run)) for is_results, run in groupby(blocks, lambda each: _is_result(each[1]))]
        messages = []
        for place, (is_results, run) in enumerate(runs or [(False, [])]):
            if is_results and role != "user":
                fail(
                    f"content[{run[0][0]}].type",
                    f"no tool_result in a message of the {role}",
                    "tool_result",
                    is_word=True,
                )
            parts, others = self._parts(index, run)
            spelled: dict[str, Any] = {"others": others} if others else {}
            if len(runs) == 1 and not others and _would_be_text(parts):
                spelled["as"] = "blocks"
            if place or (is_results and self.after_results):
                spelled["joined"] = place > 0
            kept = {**(fields if place == 0 else {}), **({"content": spelled} if spelled else {})}
            messages.append(
                Message(role="tool" if is_results else role, parts=tuple(parts), extra=extra_of(NAME, kept))
            )
        return messages

    def _parts(self, index: int, run: list[tuple[int, _Block]]) -> tuple[list[Part], list[Any]]:
        """Read blocks. Returns the parts, and what is to be kept as it is, [place, block] each."""
        parts: list[Part] = []
        others = []
        for number, (place, each) in enumerate(run):
            with at(f"content[{place}]."):
                part = self._result(index, each) if _is_result(each) else self._block(index, each)
            if part is None:
                others.append([number, dict(each)])
            else:
                parts.append(part)
        return parts, others

    def _block(self, index: int, source: _Block) -> Part | None:
        """Read a block; None if it is to be kept as it is."""
        match source.get("type"):
            case "tool_use":
                return self._call(index, source)
            case "thinking":
                text = expect(source.get("thinking"), str, "thinking", "text")
                kept = rest(source, ("type", "thinking", "signature"))
                if source.get("signature"):
                    kept["signature"] = source["signature"]
                return Reasoning(text=text, extra=extra_of(NAME, kept))
        return _content_block(source)

    def _call(self, index: int, source: _Block) -> ToolCall:
        name = expect(source.get("name"), str, "name", "the name of a tool")
        id = source.get("id")
        if not id:
            self.report.add("missing_id", "a call without an id gets one", index)
        id = self.ledger.note(expect("" if id is None else id, str, "id", "text"), name)
        arguments, spelled = self._arguments(index, source.get("input"), name)
        fields = rest(source, ("type", "id", "name", "input")) | spelled
        return ToolCall(id=id, name=name, arguments=arguments, extra=extra_of(NAME, fields))

    def _arguments(self, index: int, given: Any, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the input of a call, which is an object; some servers write its JSON text."""
        if isinstance(given, str):
            self.report.add("arguments_text", f"the input of {name!r:.80} is a text, and not an object", index)
            arguments, _ = read_arguments(given, name, self.report, index)
            return arguments, {"arguments": given}
        if given is None:
            self.report.add("missing_input", f"the call of {name!r:.80} has no input, and gets an empty one", index)
            return {}, {}
        return dict(expect(given, Mapping, "input", "an object")), {}

    def _result(self, index: int, source: _Block) -> ToolResult:
        id = source.get("tool_use_id")
        expect("" if id is None else id, str, "tool_use_id", "text")
        if not id:
            self.report.add("missing_id", "a result without tool_use_id is that of the first call without one", index)
            id = self.ledger.claim(None, index, of_made=id == "")
        name = self.ledger.name(id, index) if id else ""
        fields = rest(source, ("type", "tool_use_id", "content", "is_error"))
        if source.get("is_error") is False:
            fields["is_error"] = False
        content, spelled = _result_content(source)
        flag = expect(source.get("is_error") or False, bool, "is_error", "true or false")
        return ToolResult(call_id=id, name=name, content=content, is_error=flag, extra=extra_of(NAME, fields | spelled))


def _is_result(block: _Block) -> bool:
    return block.get("type") == "tool_result"


def _would_be_text(parts: list[Part]) -> bool:
    """Return whether these parts are written as a string if nothing else is said."""
    return len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].extra


# Blocks that may stand in results as well


def _content_block(source: _Block) -> Text | Media | None:
    match source.get("type"):
        case "text":
            text = expect(source.get("text"), str, "text", "text")
            return Text(text=text, extra=extra_of(NAME, rest(source, ("type", "text"))))
        case "image" | "document":
            return _file(source)
    if not isinstance(source.get("type"), str):
        fail("type", "text, image, tool_use or another type of block", source.get("type"), is_word=True)
    return None


def _file(source: _Block) -> Media | None:
    """Read an image or a document; None if it is neither data nor a URL."""
    kind = source["type"]
    origin = expect(source.get("source"), Mapping, "source", 'an object, {"type": "base64", "media_type", "data"}')
    keys: tuple[str, ...] = ()
    medium = None
    if origin.get("type") == "base64":
        keys = ("type", "media_type", "data")
        data = expect(origin.get("data"), str, "source.data", "base64")
        medium = Media(media_type=expect(origin.get("media_type"), str, "source.media_type", "a MIME type"), data=data)
    elif origin.get("type") == "url":
        keys = ("type", "url")
        url = expect(origin.get("url"), str, "source.url", "a URL")
        medium = Media(media_type=type_of_url(url, URL_TYPES[kind]), url=url)
    if medium is None or not _is_of(kind, medium.media_type):
        return None
    fields = rest(source, ("type", "source"))
    if others := rest(origin, keys):
        fields["source"] = others
    return medium.model_copy(update={"extra": extra_of(NAME, fields)})


def _is_of(kind: str, media_type: str) -> bool:
    return media_type.startswith("image/") if kind == "image" else media_type == "application/pdf"


def _result_content(source: _Block) -> tuple[str | tuple[Text | Media, ...], dict[str, Any]]:
    """Return the content of a result, and what is to be kept of how it was spelled."""
    given = source.get("content")
    if given is None:
        return "", {"content": {"as": "null" if "content" in source else "absent"}}
    if isinstance(given, str):
        return given, {}
    parts: list[Text | Media] = []
    others = []
    for place, each in objects(given, "content", _CONTENT):
        with at(f"content[{place}]."):
            part = _content_block(each)
        if part is None:
            others.append([place, dict(each)])
        else:
            parts.append(part)
    return tuple(parts), {"content": {"others": others}} if others else {}
