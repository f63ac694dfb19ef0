"""Reading messages of Anthropic's API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.formats.shared.api_messages import BlockReader, read_blocks
from xmltools.formats.shared.api_values import objects, read_arguments, type_of_url
from xmltools.formats.shared.extra import nested, rest
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail

NAME = "anthropic"
"""The name by which the format is asked for."""
URL_TYPES = {"image": "image/*", "document": "application/pdf"}
"""The type of a file that is a URL, if its ending does not tell."""

_CONTENT = 'text or a list of blocks, [{"type": "text", "text": "…"}]'
_Block = Mapping[str, Any]


class Reader(BlockReader):
    """Reads messages of Anthropic's API."""

    name = NAME
    key = "content"
    result = "tool_result"
    result_place = ".type"
    has_strings = True

    def read(self, source: _Block) -> list[Message]:
        """Read a message: one, or one for each run of results and of other blocks."""
        role = source.get("role")
        if role not in ("user", "assistant", "system"):
            fail("role", "user or assistant", role, is_word=True)
        if role != "assistant":
            self.end_turn()
        fields = rest(source, ("role", "content"))
        content = expect(source.get("content"), (str, list, tuple), "content", _CONTENT)
        if not isinstance(content, str):
            return self.runs(role, list(objects(content, "content", _CONTENT)), fields)
        self.after_results = False
        parts = (Text(text=content),) if content else ()
        return [Message(role=role, parts=parts, extra=self.keep(fields))]

    def is_result(self, block: _Block) -> bool:
        """Return whether a block is a result."""
        return block.get("type") == "tool_result"

    def block(self, source: _Block) -> Part | None:
        """Read a block; None if it is to be kept as it is."""
        match source.get("type"):
            case "tool_use":
                return self._call(source)
            case "tool_result":
                return self._result(source)
            case "thinking":
                text = expect(source.get("thinking"), str, "thinking", "text")
                kept = rest(source, ("type", "thinking", "signature"))
                if source.get("signature"):
                    kept["signature"] = source["signature"]
                return Reasoning(text=text, extra=self.keep(kept))
        return self._said(source)

    def _call(self, source: _Block) -> ToolCall:
        name = expect(source.get("name"), str, "name", "the name of a tool")
        id = source.get("id")
        if not id:
            self.add("missing_id", "a call without an id gets one")
        id = self.note(expect("" if id is None else id, str, "id", "text"), name)
        arguments, spelled = self._arguments(source.get("input"), name)
        extra = self.keep(rest(source, ("type", "id", "name", "input")) | spelled)
        return ToolCall(id=id, name=name, arguments=arguments, extra=extra)

    def _arguments(self, given: Any, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read the input of a call, which is an object; some servers write its JSON text."""
        if isinstance(given, str):
            self.add("arguments_text", f"the input of {name!r:.80} is a text, and not an object")
            arguments, _ = read_arguments(given, name, self.report, self.index)
            return arguments, {"arguments": given}
        if given is None:
            self.add("missing_input", f"the call of {name!r:.80} has no input, and gets an empty one")
            return {}, {}
        return dict(expect(given, Mapping, "input", "an object")), {}

    def _result(self, source: _Block) -> ToolResult:
        id = source.get("tool_use_id")
        expect("" if id is None else id, str, "tool_use_id", "text")
        id, name = self.whose(id, None, "tool_use_id")
        fields = rest(source, ("type", "tool_use_id", "content", "is_error"))
        if source.get("is_error") is False:
            fields["is_error"] = False
        content, spelled = self._result_content(source)
        flag = expect(source.get("is_error") or False, bool, "is_error", "true or false")
        return ToolResult(call_id=id, name=name, content=content, is_error=flag, extra=self.keep(fields | spelled))

    def _result_content(self, source: _Block) -> tuple[str | tuple[Text | Media, ...], dict[str, Any]]:
        """Return the content of a result, and what is to be kept of how it was spelled."""
        given = source.get("content")
        if given is None:
            return "", {"content": {"as": "null" if "content" in source else "absent"}}
        if isinstance(given, str):
            return given, {}
        parts: list[Text | Media]
        parts, others = read_blocks(objects(given, "content", _CONTENT), "content", self._said)
        return tuple(parts), {"content": {"others": others}} if others else {}

    def _said(self, source: _Block) -> Text | Media | None:
        """Read a block that may be in a result as well."""
        match source.get("type"):
            case "text":
                return self.text(expect(source.get("text"), str, "text", "text"), source, "type", "text")
            case "image" | "document":
                return self._file(source)
        if not isinstance(source.get("type"), str):
            fail("type", "text, image, tool_use or another type of block", source.get("type"), is_word=True)
        return None

    def _file(self, source: _Block) -> Media | None:
        """Read an image or a document; None if it is neither data nor a URL."""
        kind = source["type"]
        origin = expect(source.get("source"), Mapping, "source", 'an object, {"type": "base64", "media_type", "data"}')
        keys: tuple[str, ...] = ()
        medium = None
        if origin.get("type") == "base64":
            keys = ("type", "media_type", "data")
            data = expect(origin.get("data"), str, "source.data", "base64")
            medium = Media(
                media_type=expect(origin.get("media_type"), str, "source.media_type", "a MIME type"), data=data
            )
        elif origin.get("type") == "url":
            keys = ("type", "url")
            url = expect(origin.get("url"), str, "source.url", "a URL")
            medium = Media(media_type=type_of_url(url, URL_TYPES[kind]), url=url)
        if medium is None or not _is_of(kind, medium.media_type):
            return None
        return medium.model_copy(update={"extra": self.keep(nested(source, "source", rest(origin, keys), "type"))})


def _is_of(kind: str, media_type: str) -> bool:
    return media_type.startswith("image/") if kind == "image" else media_type == "application/pdf"
