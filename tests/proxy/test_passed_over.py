"""What requests of agents hold that nobody here knows: it is passed over, counted and told once; or refused.

The requests have the fields that Claude Code, Codex and opencode were seen to send, with little in them.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from proxy.test_server_upstream import Upstream, eventually, reply, world
from xmltools.proxy.server.logging import _JSONFormatter, _TextFormatter

TEXT = {"type": "string"}
CANARY = "canary-51c0"


def schema(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": list(names)}


def function(name: str, *arguments: str) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": f"{name}.",
        "strict": False,
        "parameters": schema(*arguments),
    }


# What agents send


def agent_message(*content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What Codex 0.169 sends where one of its agents tells another something."""
    item = {"type": "agent_message", "id": "amsg_1", "author": "/root", "recipient": "/root/sub"}
    return {**item, "content": list(content), **fields}


# Tools that only the provider runs, and those that the client does


# Custom tools


# Namespaces


# Tools that the client finds


# Counted, and told once


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO, "xmltools.serve")

    def found(message: str) -> list[dict[str, Any]]:
        return [record.fields for record in caplog.records if record.getMessage() == message]  # type: ignore[attr-defined]

    return found


ODD: dict[str, Any] = {"frobnicate": CANARY, "client_metadata": {CANARY: 1}}


@pytest.mark.parametrize("stream", [False, True])
def test_fields_are_counted_each_time_and_told_once(lines: Any, stream: bool) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        for path in ("/v1/responses", "/v1/messages", "/v1/responses"):
            assert it.post(path, stream=stream, **ODD).status_code == 200
        for name in ODD:  # a stream is counted behind its last byte, which the client may have first
            eventually(
                lambda name=name: it.metric("xmltools_ignored_fields_total", field=name) == 3, f"{name} was counted"
            )
    assert lines("ignored") == [
        {"field": "frobnicate", "route": "/v1/responses"},
        {"field": "client_metadata", "route": "/v1/responses"},
    ]


def test_tools_that_are_left_out_are_counted_and_told_once_a_kind(lines: Any) -> None:
    tools = [{"type": "web_search"}, {"type": "image_generation"}]
    with world(Upstream(make=reply("Hi"))) as it:
        for _ in range(2):
            it.post("/v1/responses", tools=tools)
        found = it.client.get("/metrics").text
    assert 'xmltools_left_out_tools_total{type="web_search"} 2' in found
    assert [line["tool"] for line in lines("left_out")] == ["web_search", "image_generation"]


def test_values_are_never_told_and_names_are_bounded(lines: Any, caplog: pytest.LogCaptureFixture) -> None:
    strange = {f"my {CANARY}\n": 1, CANARY * 20: 2, "é": 3}
    with world(Upstream(make=reply("Hi"))) as it:
        it.post("/v1/responses", **strange, **{f"f{number}": CANARY for number in range(150)})
        it.post("/v1/responses", tools=[{"type": f"t{number}"} for number in range(150)])
        page = it.client.get("/metrics").text
    assert len(lines("ignored")) == len(lines("left_out")) == 101  # and "other" for the rest
    assert page.count("xmltools_ignored_fields_total{") == page.count("xmltools_left_out_tools_total{") == 101
    assert 'xmltools_ignored_fields_total{field="other"} 53' in page
    for formatter in (_TextFormatter(), _JSONFormatter()):
        assert not any(CANARY in formatter.format(record) for record in caplog.records)
    assert CANARY not in page
