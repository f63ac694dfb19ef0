"""One tool of a request that can't be read: it is mended or left out, and the others can be called."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.test_passed_over import lines  # noqa: F401 - a fixture
from proxy.test_server_upstream import BODIES
from xmltools.proxy.bridge import Exchange


def tool(path: str, schema: Any, name: str = "broken", **more: Any) -> dict[str, Any]:
    if path == "/v1/messages":
        return {"name": name, "description": "Break.", "input_schema": schema, **more}
    function = {"name": name, "description": "Break.", "parameters": schema, **more}
    return {"type": "function", **function} if path == "/v1/responses" else {"type": "function", "function": function}


def beside(path: str, schema: Any) -> list[Any]:
    return [tool(path, schema), *BODIES[path]["tools"]]


@pytest.mark.parametrize("depth", [100, 300])
def test_deep_schemas_do_no_harm(depth: int) -> None:
    schema: Any = {"type": "dict"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": None}
    path = "/v1/chat/completions"
    exchange = Exchange("chat", {**BODIES[path], "tools": beside(path, schema)})
    assert len(exchange.warnings) == 1
