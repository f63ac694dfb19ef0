"""What goes wrong on either side: the client hears of it in its own words, and nobody waits for nothing."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from proxy.running import serving
from proxy.test_server_upstream import (
    BODIES,
    CALL,
    DONE,
    PATIENCE,
    Answer,
    Cut,
    Gate,
    Seen,
    Step,
    Upstream,
    World,
    as_json,
    chunk,
    eventually,
    reply,
    stream,
    whole,
    world,
)
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

CHAT = "/v1/chat/completions"
apis = pytest.mark.parametrize("path", BODIES)
streams = pytest.mark.parametrize("streams", [False, True])
REFUSAL = {"error": {"message": "slow down", "type": "limit", "param": None, "code": "x"}}


def error_in(body: bytes) -> dict[str, Any]:
    """The error event of a stream."""
    lines = body.decode().split("\n")
    errors = [json.loads(line[6:]) for line in lines if line.startswith('data: {"') and '"error":{' in line]
    return errors[-1].get("error") or errors[-1]["response"]["error"]


# Before the first byte


@apis
@streams
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_an_error_of_the_upstream_keeps_its_status_and_what_it_says(path: str, streams: bool, status: int) -> None:
    with world(Upstream(as_json(REFUSAL, status, **{"retry-after": "7", "x-ratelimit-limit": "1"}))) as it:
        response = it.post(path, stream=streams)
    assert response.status_code == status
    assert (response.headers["retry-after"], response.headers["x-ratelimit-limit"]) == ("7", "1")
    if path == "/v1/messages":
        assert response.json()["type"] == "error"
        assert response.json()["error"]["message"] == "slow down"
        assert response.json()["request_id"] == response.headers["request-id"]
    else:
        assert response.json() == REFUSAL


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (b'{"message": "no such model"}', "no such model"),
        (b'{"detail": "wrong"}', "wrong"),
        (b'{"error": "plain"}', "plain"),
        (b"<html>", "the upstream answered with status 502"),
        (b"[" * 100_000, "the upstream answered with status 502"),
    ],
)
def test_errors_in_other_forms_are_understood(said: bytes, heard: str) -> None:
    with world(Upstream(Answer([said], 502, {"content-type": "text/html"}))) as it:
        assert it.post("/v1/messages").json()["error"]["message"] == heard


def test_the_official_clients_raise_their_own_errors() -> None:
    with world(Upstream(as_json(REFUSAL, 429), as_json(REFUSAL, 401))) as it:
        with pytest.raises(openai.RateLimitError, match="slow down"):
            client = openai.OpenAI(base_url=it.url + "/v1", api_key="k", max_retries=0)
            client.chat.completions.create(**BODIES[CHAT], stream=True)
        with pytest.raises(anthropic.AuthenticationError, match="slow down"):
            anthropic.Anthropic(base_url=it.url, api_key="k", max_retries=0).messages.create(**BODIES["/v1/messages"])


BROKEN: dict[str, Answer] = {
    "no JSON": Answer([b"data: {nonsense\n\n"]),
    "no object": Answer([b"data: [1]\n\n"]),
    "deep": Answer([b"data: " + b"[" * 100_000 + b"\n\n"]),
    "nothing": Answer([]),
    "cut": Answer([Cut()]),
    "only the end": Answer([DONE]),
    "in one piece": whole(CALL),
    "a redirect": Answer([], 302, {"location": "http://127.0.0.1:1/"}),
}
NO_COMPLETION: dict[str, Answer] = {
    "no JSON": Answer([b"{nonsense"], headers={"content-type": "application/json"}),
    "no object": as_json([1]),
    "no completion": as_json({}),
    "no choices": as_json({"choices": []}),
    "cut": Answer([b'{"choices"', Cut()], headers={"content-type": "application/json"}),
    "a redirect": Answer([], 307, {"location": "http://127.0.0.1:1/"}),
}


@apis
@pytest.mark.parametrize("broken", BROKEN)
def test_a_stream_that_never_begins_is_a_bad_gateway(path: str, broken: str) -> None:
    with world(Upstream(BROKEN[broken])) as it:
        response = it.post(path, stream=True)
    assert (response.status_code, "error" in response.json()) == (502, True)


@apis
@pytest.mark.parametrize("broken", NO_COMPLETION)
def test_an_answer_that_is_none_is_a_bad_gateway(path: str, broken: str) -> None:
    with world(Upstream(NO_COMPLETION[broken])) as it:
        response = it.post(path)
    assert (response.status_code, "error" in response.json()) == (502, True)


@apis
@streams
def test_an_upstream_that_is_not_there_is_a_bad_gateway(
    path: str, streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    app = create_app(ServeConfig(upstream=f"http://127.0.0.1:{port}/v1"))
    with serving(app) as server:
        response = httpx2.post(server.url + path, json={**BODIES[path], "stream": streams}, trust_env=False)
    assert response.status_code == 502
    assert response.json()["error"]["message"] == (
        "the upstream can't be reached (connection refused); the log of this server says more"
    )
    (line,) = [each.fields for each in caplog.records if "outcome" in getattr(each, "fields", {})]  # type: ignore[attr-defined]
    assert line["error"] == f"the upstream at http://127.0.0.1:{port}/v1 can't be reached: Connection refused"


PAGE = Answer([b"<!DOCTYPE html><title>Log in</title>"], headers={"content-type": "text/html"})
LOADING = {"error": {"message": "the model is loading"}}


@apis
@streams
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (PAGE, "the upstream's answer is a web page, no JSON"),
        (Answer(PAGE.steps, headers={"content-type": "text/plain"}), "the upstream's answer is a web page, no JSON"),
        (as_json(LOADING), "the model is loading"),
    ],
    ids=["a page", "a page of no type", "an error"],
)
def test_an_answer_with_status_200_that_is_none_says_what_it_is(
    path: str, streams: bool, answer: Answer, told: str
) -> None:
    with world(Upstream(answer)) as it:
        response = it.post(path, stream=streams)
    assert response.status_code == 502 and told in response.json()["error"]["message"]


def test_an_answer_of_another_kind_than_a_stream_says_so() -> None:
    with world(Upstream(Answer([b"Hello!"], headers={"content-type": "text/plain"}))) as it:
        response = it.post(stream=True)
    assert response.json()["error"]["message"] == "the upstream's answer has no server-sent events"


def test_an_error_in_place_of_models_is_an_error_in_the_words_of_anthropic() -> None:
    with world(Upstream(as_json(LOADING))) as it, pytest.raises(anthropic.APIStatusError, match="model is loading"):
        anthropic.Anthropic(base_url=it.url, api_key="k", max_retries=0).models.list()


def test_an_upstream_that_makes_fewer_replies_than_were_asked_for_has_failed() -> None:
    with world(Upstream(whole("Hi"))) as it:
        assert it.post(n=2).status_code == 502
        eventually(lambda: it.metric("xmltools_requests_total", route=CHAT, outcome="upstream_error"), "it was counted")


def test_an_answer_that_is_too_large_is_a_bad_gateway() -> None:
    with world(Upstream(make=reply("x" * 5000)), max_answer=4000) as it:
        assert it.post().status_code == 502


# After the first byte


@apis
@pytest.mark.parametrize(
    "end", [[Cut()], [], [b"data: {nonsense\n\n"], [b'data: {"error": {"message": "no memory"}}\n\n']], ids=str
)
def test_a_stream_that_breaks_off_ends_with_the_protocols_error(path: str, end: list[Step]) -> None:
    with world(Upstream(Answer([chunk("Half a "), *end]))) as it:
        response = it.post(path, stream=True)
        eventually(lambda: it.metric("xmltools_requests_total", route=path) == 1, "the request was counted")
    assert response.status_code == 200
    assert b"Half a " in response.content
    assert "upstream" in error_in(response.content)["message"] or "no memory" in error_in(response.content)["message"]


@pytest.mark.parametrize("text", ["Half a ", '"pattern" ' * 500], ids=["here", "in another process"])
def test_the_error_of_a_stream_of_anthropic_has_the_id_of_the_request(text: str) -> None:
    messages = [{"role": "user", "content": text}]
    with world(Upstream(Answer([chunk("Half a "), Cut()]))) as it:
        response = it.post("/v1/messages", stream=True, messages=messages)
    event = next(line for line in response.text.split("\n") if line.startswith('data: {"type":"error"'))
    assert json.loads(event[6:])["request_id"] == response.headers["request-id"]


@pytest.mark.parametrize("cut", [Cut(), b"data: {nonsense\n\n"], ids=str)
def test_the_official_clients_hear_of_a_stream_that_breaks_off(cut: Step) -> None:
    answer = Answer([chunk(CALL[:90]), cut])
    with world(Upstream(answer, answer, answer)) as it:
        client = openai.OpenAI(base_url=it.url + "/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.APIError, match="upstream"):
            list(client.chat.completions.create(**BODIES[CHAT], stream=True))
        *_, last = client.responses.create(**BODIES["/v1/responses"], stream=True)
        assert last.type == "response.failed" and "upstream" in last.response.error.message
        with pytest.raises(anthropic.APIStatusError, match="upstream"):
            second = anthropic.Anthropic(base_url=it.url, api_key="k", max_retries=0)
            list(second.messages.create(**BODIES["/v1/messages"], stream=True))


def test_an_upstream_that_refuses_the_second_turn_ends_the_stream_with_its_words() -> None:
    wrong = "Hm. <tool><tool_name>write</tool_name></tool>"
    upstream = Upstream(Answer(stream(wrong)), as_json(REFUSAL, 429))
    with world(upstream, settings=Settings(retries=1)) as it:
        response = it.post(stream=True)
    assert (response.status_code, error_in(response.content)["message"]) == (200, "slow down")


# Silence


@apis
@streams
def test_an_upstream_that_does_not_begin_is_given_up(path: str, streams: bool) -> None:
    upstream = Upstream(Answer([], before=Gate()))
    with world(upstream, first_byte_timeout=0.1, connect_timeout=10 * PATIENCE) as it:
        answer = it.post(path, stream=streams)
        assert answer.status_code == 504
        assert answer.json()["error"]["message"] == "the upstream gave no answer within 0.1 seconds (--timeout)"
        assert upstream.seen[0].left.wait(PATIENCE)
        eventually(lambda: it.metric("xmltools_requests_total", route=path) == 1, "the request was counted")


@apis
def test_an_upstream_that_stops_in_the_middle_is_given_up(path: str) -> None:
    upstream = Upstream(Answer([chunk("Half "), Gate()]))
    with world(upstream, idle_timeout=0.2) as it:
        response = it.post(path, stream=True)
        assert upstream.seen[0].left.wait(PATIENCE)
    assert b"Half " in response.content
    assert "said nothing for 0.2 seconds (--idle-timeout)" in error_in(response.content)["message"]


@apis
def test_a_client_that_waits_long_for_the_first_token_hears_that_we_are_here(path: str) -> None:
    gate = Gate()
    with (
        world(Upstream(Answer(stream(CALL), before=gate)), keepalive=0.02) as it,
        it.client.stream("POST", path, json={**BODIES[path], "stream": True}) as response,
    ):
        pieces = response.iter_raw()
        first = next(pieces) + next(pieces)
        gate.open()
        rest = b"".join(pieces)
    assert response.status_code == 200
    beat = b"event: ping" if path == "/v1/messages" else b": keep-alive"
    assert first.count(beat) >= 2 and b"write" not in first
    assert b"write" in rest


@apis
def test_a_client_hears_that_we_are_here_while_a_call_is_held_that_goes_on_and_on(path: str) -> None:
    heard = threading.Event()

    def steps() -> Iterator[bytes]:
        begin, end = CALL[:-40], CALL[-40:]
        yield chunk(begin)
        for _ in range(30_000):
            if not heard.is_set():
                yield chunk("more ")
        yield from stream(end)

    with (
        world(Upstream(Answer(steps())), keepalive=0.02) as it,
        it.client.stream("POST", path, json={**BODIES[path], "stream": True}) as response,
    ):
        beat = b"event: ping" if path == "/v1/messages" else b": keep-alive"
        first, pieces = b"", response.iter_raw()
        while first.count(beat) < 2:
            first += next(pieces)
        heard.set()
        rest = b"".join(pieces)
    assert b"a b.py" not in first
    assert b"write" in rest and b"more more" in rest


def test_an_error_behind_a_keep_alive_is_an_event() -> None:
    gate = Gate()
    with world(Upstream(as_json(REFUSAL, 429)), keepalive=0.02) as it:
        it.upstream._answers[0].before = gate
        with it.client.stream("POST", CHAT, json={**BODIES[CHAT], "stream": True}) as response:
            pieces = response.iter_raw()
            next(pieces)
            gate.open()
            rest = b"".join(pieces)
    assert (response.status_code, error_in(rest)["message"]) == (200, "slow down")


def test_an_upstream_that_does_not_close_its_stream_keeps_nobody_waiting() -> None:
    upstream = Upstream(Answer([*stream(CALL), Gate()]))
    with world(upstream) as it:
        begun = time.monotonic()
        response = it.post(stream=True)
        assert response.content.endswith(DONE)
        assert time.monotonic() - begun < PATIENCE / 4
        assert upstream.seen[0].left.wait(PATIENCE)


# Clients that leave, or are slow


@contextmanager
def asking(it: World, path: str, room: int = 0, **more: Any) -> Iterator[socket.socket]:
    """A bare connection with a request on it; `room` is for what has come and is not read yet."""
    body = json.dumps({**BODIES.get(path, {}), **more}).encode()
    host, port = it.url.removeprefix("http://").split(":")
    head = (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as connection:
        if room:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        connection.settimeout(PATIENCE)
        connection.connect((host, int(port)))
        connection.sendall(head.encode() + body)
        yield connection


def read_until(connection: socket.socket, words: bytes) -> bytes:
    data = b""
    while words not in data:
        piece = connection.recv(65536)
        assert piece, "the connection was closed"
        data += piece
    return data


def assert_left(seen: Seen, since: float) -> None:
    assert seen.left.wait(PATIENCE)
    assert time.monotonic() - since < 1


@apis
@streams
def test_a_client_that_leaves_before_the_first_token_cancels_the_upstream(path: str, streams: bool) -> None:
    gate = Gate()
    with world(Upstream(Answer([], before=gate))) as it:
        with asking(it, path, stream=streams):
            assert gate.reached.wait(PATIENCE)
            since = time.monotonic()
        assert_left(it.upstream.seen[0], since)
        eventually(lambda: it.metric("xmltools_requests_total", route=path) == 1, "the request was counted")
        assert it.metric("xmltools_streams_active") == 0


@pytest.mark.parametrize("path", [*BODIES, "/v1/embeddings"])
def test_a_client_that_leaves_in_the_middle_cancels_the_upstream(path: str) -> None:
    gate = Gate()
    with world(Upstream(Answer([chunk("Half "), gate]))) as it:
        with asking(it, path, stream=True) as connection:
            read_until(connection, b"Half ")
            assert gate.reached.wait(PATIENCE)
            since = time.monotonic()
        assert_left(it.upstream.seen[0], since)
        eventually(lambda: 'outcome="client_left"' in it.client.get("/metrics").text, "it was counted as left")


def test_a_client_that_leaves_while_we_wait_for_the_second_turn_cancels_it() -> None:
    gate = Gate()
    wrong = "Hm. <tool><tool_name>write</tool_name></tool>"
    with world(Upstream(Answer(stream(wrong)), Answer([], before=gate)), settings=Settings(retries=1)) as it:
        with asking(it, CHAT, stream=True):
            assert gate.reached.wait(PATIENCE)
            since = time.monotonic()
        assert_left(it.upstream.seen[1], since)


def test_a_client_that_leaves_before_its_request_is_whole_is_forgotten() -> None:
    with world(Upstream()) as it:
        host, port = it.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"POST {CHAT} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 10\r\n\r\n{{".encode())
        pattern = re.compile('outcome="client_left",.*status="499"')
        eventually(lambda: pattern.search(it.client.get("/metrics").text), "it was counted")
        assert not it.upstream.seen


@pytest.mark.parametrize("path", [*BODIES, "/v1/embeddings"])
def test_a_slow_client_slows_the_upstream_down(path: str) -> None:
    piece = chunk("x" * 50_000)
    count = 500  # 25 MB: more than all buffers on the way
    upstream = Upstream(Answer([*[piece] * count, chunk(finish="stop"), DONE]))
    with world(upstream, idle_timeout=0.3) as it:
        with asking(it, path, stream=True, room=65536) as connection:
            read = len(read_until(connection, b"xxx"))
            before = -1
            pause = threading.Event()
            while upstream.sent != before:  # until it stands still
                before = upstream.sent
                pause.wait(0.5)
            assert 0 < before < count * len(piece) * 0.7
            # That the client is slow is not the upstream's silence, however long it takes.
            while read < count * 50_000:
                data = connection.recv(1 << 20)
                assert data
                read += len(data)
        assert upstream.sent >= count * len(piece)
        assert "timeout" not in it.client.get("/metrics").text


# Requests that can't be taken


@pytest.mark.parametrize("path", [*BODIES, "/v1/messages/count_tokens", "/v1/embeddings"])
def test_a_body_that_is_too_large_is_refused(path: str) -> None:
    with world(Upstream(), max_body=1000) as it:
        declared = it.client.post(path, content=b"x" * 1001)
        streamed = it.client.post(path, content=iter([b"x" * 600, b"x" * 600]))
    assert (declared.status_code, streamed.status_code) == (413, 413)
    kind = declared.json()["error"]["type"]
    assert kind == ("request_too_large" if path.startswith("/v1/messages") else "invalid_request_error")


@apis
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"x"', b"\xff", b'{"a": NaN}', b'{"a": ' + b"9" * 5000 + b"}", b'{"a":' * 100_000, b"{}"],
    ids=lambda body: repr(body[:8]),
)
def test_a_body_that_is_no_request_is_refused(path: str, body: bytes) -> None:
    with world(Upstream()) as it:
        response = it.client.post(path, content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert response.json()["error"]["message"]


@apis
def test_json_that_is_nested_deeply_is_refused_or_taken_but_breaks_nothing(path: str) -> None:
    deep: Any = {}
    for _ in range(400):
        deep = {"properties": {"x": deep}, "type": "object"}
    tool = json.dumps(deep)
    body = json.dumps(BODIES[path]).replace('"properties"', '"deep": ' + tool + ', "properties"')
    with world(Upstream(make=reply("Hi"))) as it:
        assert it.client.post(path, content=body.encode()).status_code in (200, 400)


def test_a_compressed_body_is_refused() -> None:
    with world(Upstream()) as it:
        assert it.client.post(CHAT, content=b"x", headers={"content-encoding": "gzip"}).status_code == 415


def test_what_cannot_be_honoured_is_refused_with_the_field() -> None:
    with world(Upstream()) as it:
        response = it.post(n="many")
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "n"


def test_a_large_request_is_taken() -> None:
    long = [{"role": "user", "content": "x" * 1_000_000}]
    with world(Upstream(make=reply(CALL))) as it:
        assert it.post(messages=long).json()["choices"][0]["finish_reason"] == "tool_calls"


# The end of the server


@apis
def test_a_stream_that_is_open_when_the_server_is_stopped_comes_to_its_end(path: str) -> None:
    gate = Gate()
    with (
        world(Upstream(Answer([chunk("Half "), gate, *stream(CALL)]))) as it,
        it.client.stream("POST", path, json={**BODIES[path], "stream": True}) as response,
    ):
        pieces = response.iter_raw()
        assert b"Half " in next(pieces)
        it.server.ask_to_stop()
        eventually(lambda: not is_listening(it.url), "the server took no new connections")
        gate.open()
        body = b"".join(pieces)
    assert b"tool_use" in body or b"tool_calls" in body or b"response.completed" in body


def is_listening(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            return True
    except ConnectionRefusedError:
        return False


@apis
def test_a_stream_that_outlasts_the_grace_ends_with_an_error(path: str) -> None:
    upstream = Upstream(Answer([chunk("Half "), Gate()]))
    with world(upstream, grace=1) as it:
        with it.client.stream("POST", path, json={**BODIES[path], "stream": True}) as response:
            pieces = response.iter_raw()
            first = next(pieces)
            it.server.ask_to_stop()
            body = first + b"".join(pieces)
        assert upstream.seen[0].left.wait(PATIENCE)
    assert "stopped" in error_in(body)["message"]
