"""One tool of a request that can't be read: it is mended or left out, and the others can be called."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from proxy.test_passed_over import lines  # noqa: F401 - a fixture
from proxy.test_server_upstream import ARGUMENTS, BODIES, CALL, Upstream, reply, world
from xmltools.bridge import Settings
from xmltools.proxy.bridge import Exchange, Refusal
from xmltools.transport import XMLToolsTransport

APIS = {"/v1/chat/completions": "chat", "/v1/messages": "messages", "/v1/responses": "responses"}
TEXT = {"type": "string"}


def tool(path: str, schema: Any, name: str = "broken", **more: Any) -> dict[str, Any]:
    if path == "/v1/messages":
        return {"name": name, "description": "Break.", "input_schema": schema, **more}
    function = {"name": name, "description": "Break.", "parameters": schema, **more}
    return {"type": "function", **function} if path == "/v1/responses" else {"type": "function", "function": function}


def beside(path: str, schema: Any) -> list[Any]:
    return [tool(path, schema), *BODIES[path]["tools"]]


DANGLING = {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}


@pytest.mark.parametrize("schema", [DANGLING, {"type": "strin"}, "{}", {"type": "object", "required": 7}])
@pytest.mark.parametrize("path", BODIES)
def test_a_tool_that_cannot_be_read_is_left_out_and_the_others_are_called(path: str, schema: Any, lines: Any) -> None:  # noqa: F811
    with world(Upstream(make=reply(CALL)), live=True) as it:
        answer = it.post(path, tools=beside(path, schema))
        assert answer.status_code == 200, answer.text
        assert "a b.py" in answer.text and '"write"' in answer.text
        (seen,) = it.upstream.seen
        assert it.metric("xmltools_left_out_tools_total", type="unreadable") == 1
        shown = it.client.get("/live/exchange?number=1").json()
    assert shown["warnings"].startswith("tools[0]: ") and shown["warnings"].endswith("the tool was left out")
    assert "write" in seen.body.decode() and "broken" not in seen.body.decode()
    assert [line["tool"] for line in lines("left_out")] == ["unreadable"]


@pytest.mark.parametrize("path", BODIES)
def test_strict_requests_refuse_it(path: str) -> None:
    with world(Upstream(make=reply(CALL)), settings=Settings(strict_requests=True)) as it:
        for schema in (DANGLING, {"type": "object", "required": None}):
            answer = it.post(path, tools=beside(path, schema))
            assert answer.status_code == 400 and answer.json()["error"]["message"].startswith("tools[0]: ")
        assert it.upstream.seen == []


@pytest.mark.parametrize(
    ("schema", "meant"),
    [
        ({"type": "object", "properties": {"a": TEXT}, "required": None}, {"properties": {"a": TEXT}}),
        ({"type": "object", "properties": None}, {}),
        ({"type": "object", "properties": []}, {}),
        ([], {}),
        ({"type": None, "properties": {"a": {"type": "string", "enum": None}}}, {"properties": {"a": TEXT}}),
        (
            {"type": "object", "properties": {"a": {**TEXT, "description": None, "default": None}}},
            {"properties": {"a": {**TEXT, "default": None}}},
        ),
        ({"type": "object", "properties": {"a": None}}, {"properties": {"a": {}}}),
        (
            {"type": "dict", "properties": {"a": {"type": "str"}, "b": {"type": "list", "items": {"type": "any"}}}},
            {"properties": {"a": TEXT, "b": {"type": "array", "items": {}}}},
        ),
        (
            {"type": "object", "properties": {"a": {**TEXT, "required": True}, "b": {**TEXT, "required": False}}},
            {"properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "properties": {"a": {**TEXT, "required": True}, "c": {"enum": [None]}},
            },
            {"properties": {"a": TEXT, "c": {"enum": [None]}}, "required": ["a"]},
        ),
    ],
)
@pytest.mark.parametrize("path", BODIES)
def test_what_can_only_mean_one_thing_is_mended(path: str, schema: Any, meant: Any) -> None:
    body = {**BODIES[path], "tools": beside(path, schema)}
    exchange = Exchange(APIS[path], body, Settings(prompt="upstream"))  # type: ignore[arg-type]
    told = exchange.request["tools"][0]["function"]
    assert told["parameters"] == {"type": "object", "properties": {}, **meant} or told["parameters"] == meant
    assert exchange.stats.left_out == [] and exchange.stats.ignored
    assert all(each.startswith("tools.") for each in exchange.stats.ignored)
    assert exchange.warnings[0].startswith("tools[0]: ")
    ours = Exchange(APIS[path], body)  # type: ignore[arg-type]
    assert "broken" in ours.request["messages"][0]["content"]


@pytest.mark.parametrize("depth", [100, 300])
def test_deep_schemas_do_no_harm(depth: int) -> None:
    schema: Any = {"type": "dict"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": None}
    path = "/v1/chat/completions"
    exchange = Exchange("chat", {**BODIES[path], "tools": beside(path, schema)})
    assert len(exchange.warnings) == 1


def test_in_a_namespace_the_others_stay() -> None:
    path = "/v1/responses"
    group = {"type": "namespace", "name": "files", "description": "All.", "tools": beside(path, DANGLING)}
    exchange = Exchange("responses", {**BODIES[path], "tools": [group]})
    system = exchange.request["messages"][0]["content"]
    assert "files__write" in system and "About files: All." in system and "broken" not in system
    assert exchange.warnings[0].startswith("tools[0].tools[0]: ")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
def test_it_is_not_missed_among_those_that_a_choice_allows(path: str) -> None:
    def choice(*names: str) -> dict[str, Any]:
        allowed = {"mode": "required", "tools": [{"type": "function", "name": name} for name in names]}
        return {"type": "allowed_tools", **allowed}

    body = {**BODIES[path], "tools": beside(path, DANGLING)}
    exchange = Exchange(APIS[path], {**body, "tool_choice": choice("broken", "write")})  # type: ignore[arg-type]
    assert [tool.name for tool in exchange.turn.tools] == ["write"] and exchange.turn.must_call
    for wrong in (choice("broken"), choice("write", "other")):
        with pytest.raises(Refusal, match=r"tool_choice: .*tool"):
            Exchange(APIS[path], {**body, "tool_choice": wrong})  # type: ignore[arg-type]


def test_one_without_a_name_is_refused() -> None:
    with pytest.raises(Refusal, match=r"tools\[0\]: expected a tool definition"):
        Exchange("chat", {**BODIES["/v1/chat/completions"], "tools": [{"type": "function", "function": {}}]})


def test_the_transport_and_the_client_do_the_same() -> None:
    openai = pytest.importorskip("openai")
    from proxy.running import running

    upstream = Upstream(make=reply(CALL))
    with running(upstream) as url, httpx2.Client(transport=XMLToolsTransport()) as http:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", http_client=http)
        path = "/v1/chat/completions"
        made = client.chat.completions.create(**{**BODIES[path], "tools": beside(path, DANGLING)})
        assert json.loads(made.choices[0].message.tool_calls[0].function.arguments) == ARGUMENTS
