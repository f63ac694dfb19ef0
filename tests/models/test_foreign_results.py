"""`ToolResult.from_mcp` and `from_langchain` with JSON. `tests/agents/test_held_objects.py` has the real objects."""

from __future__ import annotations

from typing import Any

import pytest

from xmltools import ToolCall, ToolResult, XMLToolsError
from xmltools.models import Media, Text

CALL = ToolCall(id="c1", name="shot", arguments={})


def test_a_result_of_mcp() -> None:
    given = {"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
    image = Media(media_type="image/png", data="aGk=")
    assert ToolResult.from_mcp(given, CALL) == ToolResult(
        call_id="c1", name="shot", content=(Text(text="a"), Text(text="\n"), image)
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source_type": "base64", "data": "aGk=", "mime_type": "image/png"},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
    ],
)
def test_all_images_of_langchain(block: dict[str, Any]) -> None:
    message = {"tool_call_id": "c2", "name": "shot", "content": [block], "status": "success"}
    result = ToolResult.from_langchain(message)
    assert result.content == (Media(media_type="image/png", data="aGk="),)
    assert (result.call_id, result.name, result.is_error) == ("c2", "shot", False)


def test_a_message_without_a_name_takes_that_of_the_call() -> None:
    message = {"tool_call_id": "c2", "content": "a", "status": "error"}
    assert ToolResult.from_langchain(message, CALL) == ToolResult(call_id="c1", name="shot", content="a", is_error=True)
    with pytest.raises(XMLToolsError, match="does not say which tool it is of: give the call"):
        ToolResult.from_langchain(message)


@pytest.mark.parametrize("given", ["text", 1, None, {"content": "a"}, ToolCall(id="", name="a", arguments={})])
def test_anything_else_is_refused(given: Any) -> None:
    with pytest.raises(XMLToolsError, match="expected a ToolMessage of LangChain, got"):
        ToolResult.from_langchain(given, CALL)


@pytest.mark.parametrize("given", ["text", 1, None, {"result": "a"}, object()])
def test_anything_else_is_no_result_of_mcp(given: Any) -> None:
    with pytest.raises(XMLToolsError, match="expected a result of MCP, "):
        ToolResult.from_mcp(given, CALL)
