"""`load_tools` and `ToolResult` take the objects of MCP, LangChain, pydantic-ai and the OpenAI Agents SDK."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PYTHON = os.environ.get("XMLTOOLS_AGENTS_PYTHON", sys.executable)
IMAGE = {"media_type": "image/png", "data": "iVBORw0KGgo=", "type": "media"}


@pytest.fixture(scope="module")
def held() -> Any:
    """What `held_objects` prints."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    run = subprocess.run([PYTHON, HERE / "held_objects.py"], capture_output=True, text=True, env=environment)
    missing = re.search("ModuleNotFoundError: .*", run.stderr)
    if missing is not None and "xmltools" not in missing[0]:
        pytest.skip(missing[0])
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_tools_of_other_libraries_are_loaded(held: Any) -> None:
    names = ["of_mcp", "of_langchain", "of_structured", "of_pydantic_ai", "of_definition", "of_agents", "weather"]
    assert [each["name"] for each in held["tools"]] == [*names, "Forecast", "of_json", "of_mcp"]
    for each in held["tools"]:
        assert each["parameters"]["properties"]["city"]["type"] == "string", each
        assert each["parameters"]["required"] == ["city"], each
        assert "user" not in each["parameters"]["properties"], "LangChain fills it in itself"
    assert [each["description"] for each in held["tools"] if each["name"].startswith("of_")] == [
        "The weather.",
        "The weather of a city.",
        "The weather of a city.",
        "The weather of a city.",
        "",
        "The weather of a city.",
        "",
        "The weather.",
    ]
    assert held["listed"] == ["of_mcp"], "the answer of a session may take the place of the list"


def test_results_of_other_libraries_are_read(held: Any) -> None:
    def result(call_id: str, content: Any, **others: Any) -> dict[str, Any]:
        return {"call_id": call_id, "name": "shot", "content": content, **others, "type": "result"}

    text, line = {"text": "a", "type": "text"}, {"text": "\n", "type": "text"}
    assert held["results"] == [
        result("call_1", [text, line, IMAGE]),
        result("call_1", "a", is_error=True),
        result("call_1", '{"a": 1}'),
        result("call_2", "a"),
        result("call_1", "a", is_error=True),
        result("call_1", [text, line, IMAGE]),
        result("call_1", [IMAGE]),
    ]
