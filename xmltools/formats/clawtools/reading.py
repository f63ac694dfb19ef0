"""Messages of Clawtools, one by one; what was written for another API is repaired, with the right form as the hint.

The four mistakes: a message of the role "tool" (OpenAI), a `tool_result` block in a message of the user, a `tool_use`
block (both Anthropic), and `tool_calls` beside the content (OpenAI).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.formats.clawtools.blocks import NAME, RIGHT_CALL, read_block, read_medium
from xmltools.formats.shared.extra import extra_of, kept_for, plain, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Text, ToolResult
from xmltools.models.json_fields import expect, fail

RIGHT_RESULT = (
    '{"role": "toolResult", "toolCallId": "…", "toolName": "…", '
    '"content": [{"type": "text", "text": "…"}], "isError": false}'
)
_ROLES = '"user", "assistant" or "toolResult"'
_RESULT_KEYS = ("role", "toolCallId", "toolName", "content", "isError")


def usual_shape(role: str, parts: tuple[Any, ...]) -> str:
    """Return how the content of a message with these parts is written: "null", "string" or "blocks"."""
    if not parts:
        return "null" if role == "assistant" else "string"
    return "string" if len(parts) == 1 and isinstance(parts[0], Text) and not kept_for(parts[0], NAME) else "blocks"


class Reader:
    """Reads messages in order, and remembers the names of tools by the ids of their calls."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.names: dict[str, str] = {}
        self.index = 0

    def read(self, index: int, value: Any) -> list[Message]:
        """Read the message at `index`: one, or several if it held results of tools beside other content.

        Raises XMLToolsError for what is malformed, with the place inside the message.
        """
        self.index = index
        source = expect(plain(value), Mapping, "the message", f"an object with a role: {_ROLES}")
        role = source.get("role")
        if role == "toolResult":
            return [self._result(source)]
        if role == "tool":
            return [self._openai_result(source)]
        if role not in ("user", "assistant", "system"):
            fail("role", _ROLES, role, is_word=True)
        if role == "system":
            hint = 'write {"systemPrompt": "…", "messages": […]}'
            self._add("system_message", "the system prompt stands outside of the messages", hint)
        messages = self._turn(source, role)
        self.names |= {call.id: call.name for message in messages for call in message.calls}
        return messages

    def _add(self, code: str, message: str, hint: str = "") -> None:
        self.report.add(code, message, self.index, hint)

    # Turns of the user and the assistant

    def _turn(self, source: Mapping[str, Any], role: Any) -> list[Message]:
        calls = self._openai_calls(source)
        shape, parts, results, unknown = self._content(source, role, bool(calls))
        parts += calls
        if results and not parts and not unknown:
            return results
        content: dict[str, Any] = {"unknown": unknown} if unknown else {}
        if shape != usual_shape(role, tuple(parts)) and not calls and not unknown:
            content["as"] = shape
        own: dict[str, Any] = {"content": content} if content else {}
        own |= rest(source, ("role", "content", "tool_calls") if calls else ("role", "content"))
        return [*results, Message(role=role, parts=tuple(parts), extra=extra_of(NAME, own))]

    def _content(
        self, source: Mapping[str, Any], role: str, has_calls: bool
    ) -> tuple[str, list[Any], list[Message], list[list[Any]]]:
        """Return the shape of the content, its parts, the results in it, and unknown blocks with their places."""
        content = source.get("content")
        if isinstance(content, str):
            return "string", [Text(text=content)] if content else [], [], []
        if content is None:
            if not has_calls and (role != "assistant" or "content" not in source):
                self._add("missing_content", "the message has no content", 'write {"content": "…"}')
            return "null" if role == "assistant" else "string", [], [], []
        blocks = expect(content, (list, tuple), "content", "text or a list of blocks")
        return ("blocks", *self._blocks(blocks))

    def _blocks(self, blocks: Any) -> tuple[list[Any], list[Message], list[list[Any]]]:
        parts: list[Any] = []
        results: list[Message] = []
        unknown: list[list[Any]] = []
        for number, each in enumerate(blocks):
            where = f"content[{number}]"
            block, part = read_block(self._mended(each), where, "image_url", self.report, self.index)
            if block["type"] == "tool_result":
                results.append(self._anthropic_result(block, where))
            elif part is None:
                unknown.append([len(parts) + len(unknown), dict(block)])
            else:
                parts.append(part)
        return parts, results, unknown

    # Mistakes

    def _mended(self, block: Any) -> Any:
        """Return a `tool_use` block of Anthropic as a `toolCall` block, another as it is."""
        block = plain(block)
        if not isinstance(block, Mapping) or block.get("type") != "tool_use":
            return block
        self._add("anthropic_tool_use", "a tool_use block is Anthropic's form of a call", f"write {RIGHT_CALL}")
        call = {"type": "toolCall", "id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
        return {**call, **rest(block, (*call, "input"))}

    def _openai_calls(self, source: Mapping[str, Any]) -> list[Any]:
        calls = source.get("tool_calls")
        if not calls:
            return []
        hint = f'write "content": [{RIGHT_CALL}]'
        self._add("openai_tool_calls", "tool_calls beside the content are OpenAI's form of calls", hint)
        expect(calls, (list, tuple), "tool_calls", f"no such key: {hint}")
        return [self._openai_call(each, f"tool_calls[{number}]") for number, each in enumerate(calls)]

    def _openai_call(self, value: Any, where: str) -> Any:
        right = f"a call: {RIGHT_CALL}"
        call = expect(plain(value), Mapping, where, right)
        function = expect(plain(call.get("function")), Mapping, f"{where}.function", right)
        block = {"type": "toolCall", "id": call.get("id"), "name": function.get("name")}
        # That the arguments are a text is part of OpenAI's form, and so is told already.
        quiet = Report()
        block["arguments"] = function.get("arguments") or {}
        found = read_block(block, where, "image_url", quiet, self.index)[1]
        for issue in quiet.issues:
            if issue.code != "arguments_text":
                self._add(issue.code, issue.message, issue.hint)
        return found

    def _openai_result(self, source: Mapping[str, Any]) -> Message:
        self._add("openai_tool_role", 'the role "tool" is OpenAI\'s form of a result', f"write {RIGHT_RESULT}")
        call_id = expect(source.get("tool_call_id"), str, "tool_call_id", f"text; the right form is {RIGHT_RESULT}")
        own = rest(source, ("role", "tool_call_id", "name", "content"))
        return self._made(call_id, source.get("name"), source.get("content"), False, own)

    def _anthropic_result(self, block: Mapping[str, Any], where: str) -> Message:
        self._add("anthropic_tool_result", "a tool_result block is Anthropic's form of a result", _WRITE_RESULT)
        call_id = expect(block.get("tool_use_id"), str, f"{where}.tool_use_id", f"text; {_WRITE_RESULT}")
        own = rest(block, ("type", "tool_use_id", "content", "is_error"))
        return self._made(call_id, None, block.get("content"), bool(block.get("is_error")), own)

    def _made(self, call_id: str, name: Any, value: Any, is_error: bool, own: dict[str, Any]) -> Message:
        """Return the result that was written for another API."""
        name = name if isinstance(name, str) else self._name(call_id)
        content, unknown = self._parts(value)
        return _message(call_id, name, content, is_error, _with_unknown(own, unknown))

    # Results

    def _result(self, source: Mapping[str, Any]) -> Message:
        call_id = expect(source.get("toolCallId"), str, "toolCallId", f"text, as in {RIGHT_RESULT}")
        name = source.get("toolName")
        if name is None:
            self._add("missing_tool_name", "the result does not name its tool", _WRITE_RESULT)
            name = self._name(call_id)
        expect(name, str, "toolName", f"text, as in {RIGHT_RESULT}")
        content, unknown = self._parts(self._result_content(source))
        is_error = source.get("isError")
        if is_error is None:
            self._add("missing_is_error", "the result does not say whether it is an error", 'write "isError": false')
        elif not isinstance(is_error, bool):
            fail("isError", "true or false", is_error)
        return _message(call_id, name, content, bool(is_error), _with_unknown(rest(source, _RESULT_KEYS), unknown))

    def _result_content(self, source: Mapping[str, Any]) -> Any:
        content = source.get("content")
        if content is None:
            self._add("missing_content", "the result has no content", 'write "content": []')
        elif isinstance(content, str):
            hint = 'write "content": [{"type": "text", "text": "…"}]'
            self._add("result_text", "the content of a result is a text, not a list of blocks", hint)
        return content

    def _name(self, call_id: str) -> str:
        """Return the name of the tool that was called with this id, "" with an issue if there is no such call."""
        if call_id not in self.names:
            self._add("orphan_result", f"there is no call with the id {call_id!r:.80} before its result")
        return self.names.get(call_id, "")

    def _parts(self, content: Any) -> tuple[str | tuple[Text | Media, ...], list[list[Any]]]:
        """Return the content of a result, and unknown blocks with their places."""
        if isinstance(content, str):
            return content, []
        parts: list[Text | Media] = []
        unknown: list[list[Any]] = []
        blocks = expect(content or (), (list, tuple), "content", 'a list, as in [{"type": "text", "text": "…"}]')
        for number, each in enumerate(blocks):
            block, part = self._result_block(each, f"content[{number}]")
            if isinstance(part, (Text, Media)):
                parts.append(part)
            else:
                unknown.append([number, dict(block)])
        if len(parts) == 1 and not unknown and isinstance(parts[0], Text) and not kept_for(parts[0], NAME):
            return parts[0].text, []
        return tuple(parts), unknown

    def _result_block(self, value: Any, where: str) -> tuple[Mapping[str, Any], Any]:
        medium = _anthropic_medium(plain(value))
        return (plain(value), medium) if medium else read_block(value, where, "image", self.report, self.index)


_WRITE_RESULT = f"write {RIGHT_RESULT}"


def _message(call_id: str, name: str, content: Any, is_error: bool, own: dict[str, Any]) -> Message:
    extra = extra_of(NAME, own)
    result = ToolResult(call_id=call_id, name=name, content=content, is_error=is_error, extra=extra)
    return Message(role="tool", parts=(result,))


def _with_unknown(own: dict[str, Any], unknown: list[list[Any]]) -> dict[str, Any]:
    return {"content": {"unknown": unknown}, **own} if unknown else own


def _anthropic_medium(block: Any) -> Media | None:
    """Return the medium of an image block of Anthropic, None for another block."""
    source = block.get("source") if isinstance(block, Mapping) and block.get("type") == "image" else None
    if not isinstance(source, Mapping):
        return None
    data, url, media_type = source.get("data"), source.get("url"), source.get("media_type")
    if isinstance(data, str) and isinstance(media_type, str):
        return Media(media_type=media_type, data=data)
    return read_medium(url, media_type) if isinstance(url, str) else None
