"""Requests that nobody would send on purpose: each gets an answer, or one refusal that says which field is meant.

"Every refusal is one API-shaped error that says which field, what was expected, and what to do. No request crashes a
worker; nothing of a request's content is logged."
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples

from proxy.test_server_upstream import BODIES, CALL, Upstream, reply, world
from proxy.wire import FOLDER, PATHS, read
from xmltools.proxy.bridge import Exchange, Refusal, Settings
from xmltools.proxy.server.logging import _JSONFormatter, _TextFormatter

REQUESTS = {api: read(FOLDER / api / "strange.json")[0]["request"] for api in PATHS}
"""Requests with a bit of all that there is."""
TYPES = ["x", None, [], "function", "custom", "shell", "namespace", "document", "tool_result"]
STRANGE: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, "", "x", "\ud800", "x" * 3_000, [], [None], [[]], ["a"], [{}], {}, {"a": 1}),
    *({"type": kind} for kind in TYPES),
    {"name": []},
]
GONE = object()
REPLIES = (
    "On it.",
    "<tool><tool_name>read</tool_name><arguments><path>a</path></arguments></tool>",
    "<tool><tool_name>read</tool_name><arguments></arguments></tool>",
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in members:
        yield from places(each, (*place, key))


PLACES = [(api, place) for api, body in REQUESTS.items() for place in places(body)]


def changed(body: dict[str, Any], place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    body = copy.deepcopy(body)
    holder: Any = body
    for key in place[:-1]:
        holder = holder[key]
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return body


@examples(400)
@given(
    st.sampled_from(PLACES), st.sampled_from([*STRANGE, GONE]), st.sampled_from(REPLIES), st.booleans(), st.booleans()
)
def test_a_strange_value_is_refused_with_its_field_or_answered(
    at: tuple[Any, tuple[Any, ...]], value: Any, text: str, stream: bool, strict: bool
) -> None:
    api, place = at
    body = changed({**REQUESTS[api], "stream": stream}, place, value)
    try:
        exchange = Exchange(api, body, Settings(strict_requests=strict))
    except Refusal as refusal:
        assert refusal.status == 400 and refusal.param
        field = refusal.param.partition("[")[0].partition(".")[0]
        assert field in body or value is GONE or field == place[0]
        assert str(refusal).startswith(field)
        json.dumps(refusal.body(api))
        return
    json.dumps(exchange.request)
    try:
        for said in (text, "Well."):  # a call that failed is tried again
            if exchange.streams:
                exchange.feed({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": "stop"}]})
                exchange.end()
            else:
                message = {"role": "assistant", "content": said}
                exchange.answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
            if not exchange.next_turn:
                break
    except Refusal as refusal:
        assert refusal.status in (422, 502)  # a call that was required, or `n` that was not given


CANARY = "canary-e77a"


@pytest.mark.parametrize("path", BODIES)
def test_the_server_answers_each_with_one_error_and_logs_nothing_of_it(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "xmltools")
    strange: list[dict[str, Any]] = [
        {"model": "a\ud800"},  # names of models and of types are logged
        {"model": [CANARY]},
        {"tools": [{"type": "browser", "name": CANARY}]},
        {"tools": [{"type": "function", "name": CANARY, "parameters": {"$ref": CANARY}}]},
        {"tools": CANARY},
        {"tool_choice": {"type": "function", "name": CANARY, "function": {"name": CANARY}}},
        {"messages": [{"role": CANARY, "content": CANARY}], "input": [{"role": CANARY, "content": CANARY}]},
        {"messages": [{"role": "user"}], "input": [{"role": "user", "content": {CANARY: 1}}]},
        {"messages": None, "input": None},
        {"stream": CANARY},
        {"stop": [CANARY, 1], "stop_sequences": [CANARY, 1]},
        {"n": CANARY},
    ]
    with world(Upstream(make=reply(CALL))) as it:
        for more in strange:
            body = json.dumps({**BODIES[path], **more}).encode()
            answer = it.client.post(path, content=body, headers={"content-type": "application/json"})
            assert answer.status_code in (200, 400), (more, answer.text)
            if answer.status_code == 400:
                error = answer.json()["error"]
                assert error["type"] == "invalid_request_error" and error["message"]
                assert path == "/v1/messages" or error["param"]
    for formatter in (_TextFormatter(), _JSONFormatter()):
        lines = [formatter.format(record) for record in caplog.records]
        assert [line for line in lines if CANARY in line] == []
