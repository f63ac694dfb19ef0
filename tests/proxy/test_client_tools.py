"""Tools that the client runs and that models know by their type: OpenAI's shells and patches, through its own client.

"Only tools that the provider itself runs are left out": the others are tools for the model, and calls of them are items
of the API.
"""

from __future__ import annotations

import pytest

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from xmltools.conversations.streams import ResponsesStream  # noqa: E402
from xmltools.errors import XMLToolsError  # noqa: E402
from xmltools.models.events import CallFailed  # noqa: E402
from xmltools.parser import Parser  # noqa: E402
from xmltools.tools import Tool  # noqa: E402


def block(name: str, arguments: str) -> str:
    return f"<tool><tool_name>{name}</tool_name><arguments>{arguments}</arguments></tool>"


# What the client ran


# The tools of a request


# The stream by itself


@pytest.mark.parametrize("on_failure", ["leave", "text", "drop", "spoil"])
def test_what_failed_is_no_item_of_a_stream_whatever_becomes_of_its_text(on_failure: str) -> None:
    tool = Tool(name="sh", parameters={"type": "object", "properties": {"commands": {"type": "array"}}})
    parser = Parser([tool])
    stream = ResponsesStream(
        id="resp_1", model="m", created_at=1, tools=[tool], client_tools={"sh": "shell"}, on_failure=on_failure
    )
    events = [*parser.feed(block("sh", "<commands><item>ls</item></commands>")[:-20]), *parser.close()]
    assert isinstance(events[-1], CallFailed)
    sent = [*stream.feed(events), *stream.close()]
    assert not [data for _, data in sent if data.get("item", {}).get("type") == "shell_call"]


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(XMLToolsError, match="client_tools: expected one of the types tool_search"):
        ResponsesStream(id="resp_1", model="m", created_at=1, client_tools={"a": "browser"})
