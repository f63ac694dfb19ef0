"""What clients send back of earlier turns, in forms that they should not: the model sees what was meant."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from proxy.test_system_messages import PATHS, asked, call, result, user
from xmltools.bridge import Settings
from xmltools.proxy.bridge import Exchange

OURS, THEIRS = Settings(), Settings(dialect="hermes", prompt="upstream")
BOTH = pytest.mark.parametrize(("api", "settings"), list(product(PATHS, (OURS, THEIRS))))


def with_arguments(api: str, text: str) -> dict[str, Any]:
    made = call(api)
    if api == "responses":
        return {**made, "arguments": text}
    if api == "messages":
        return {**made, "content": [{**made["content"][0], "input": text}]}
    made["tool_calls"][0]["function"]["arguments"] = text
    return made


GIVEN = {"path": "it's a.py", "more": [None, True]}


@pytest.mark.parametrize(
    "text",
    [
        str(GIVEN),
        json.dumps(json.dumps(GIVEN)),
        json.dumps(str(GIVEN)),
        '{path: "it\'s a.py", more: [null, true],}',
    ],
)
@BOTH
def test_arguments_are_read_as_in_replies(api: Any, settings: Settings, text: str) -> None:
    history = [user("Go."), with_arguments(api, text), result(api)]
    exchange = Exchange(api, asked(api, history), settings)
    *_, said, _ = exchange.request["messages"]
    if settings is THEIRS:
        assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == GIVEN
    else:
        assert "it's a.py" in said["content"]
    assert exchange.stats.bad_arguments == 0


@pytest.mark.parametrize("text", ["{not JSON", "[1]", '"path"', '"{not JSON"', '""', json.dumps(json.dumps("{}"))])
@pytest.mark.parametrize("api", PATHS)
def test_what_is_no_object_is_counted(api: Any, text: str) -> None:
    exchange = Exchange(api, asked(api, [user("Go."), with_arguments(api, text), result(api)]))
    assert exchange.stats.bad_arguments == 1


def test_the_upstream_gets_them(open_client: Any) -> None:
    client, upstream = open_client("Hi")
    client.chat.completions.create(**asked("chat", [user("Go."), with_arguments("chat", str(GIVEN)), result("chat")]))
    assert "it's a.py" in upstream.seen[0].json["messages"][2]["content"]
