"""Who may use the server, what passes through it untouched, and where no path leads."""

from __future__ import annotations

import argparse
import gzip
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

import pytest

from proxy.test_server_cli import PROGRAM, options
from proxy.test_server_faults import asking
from proxy.test_server_upstream import (
    BODIES,
    PATIENCE,
    Answer,
    Gate,
    Seen,
    Upstream,
    as_json,
    chunk,
    eventually,
    reply,
    stream,
    world,
)
from xmltools.cli.serve import _config
from xmltools.errors import XMLToolsError
from xmltools.proxy.server import ServeConfig

CHAT = "/v1/chat/completions"
PATHS = [*BODIES, "/v1/embeddings", "/v1/models", "/metrics", "/playground", "/live", "/"]


def echo(seen: Seen) -> Answer:
    """Answer with what came."""
    return as_json({"method": seen.method, "target": seen.target, "body": seen.body.decode("latin-1")})


# Keys


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"x-api-key": "own2"}, {"x-api-key": ""}])
def test_without_the_servers_key_nothing_is_shown(path: str, headers: dict[str, str]) -> None:
    with world(Upstream(), api_key="own") as it:
        response = it.client.request("POST" if path in BODIES else "GET", path, headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["type"] in ("invalid_request_error", "authentication_error")
    assert ("www-authenticate" in response.headers) != path.startswith("/v1")
    is_wrong = any(headers.values())
    begins = "the key is not the one of this server" if is_wrong else "expected the key of this server"
    assert response.json()["error"]["message"].startswith(begins)


def test_health_needs_no_key() -> None:
    with world(Upstream(), api_key="own") as it:
        assert it.client.get("/healthz").json()["status"] == "ok"


@pytest.mark.parametrize(
    "headers", [{"authorization": "Bearer own"}, {"authorization": "bearer own"}, {"x-api-key": "own"}]
)
def test_the_key_is_taken_in_both_forms(headers: dict[str, str]) -> None:
    with world(Upstream(make=reply("Hi")), api_key="own") as it:
        assert it.client.post(CHAT, json=BODIES[CHAT], headers=headers).status_code == 200


def test_a_browser_can_give_the_key_for_the_pages() -> None:
    with world(Upstream(), api_key="own") as it:
        assert it.client.get("/playground", auth=("anybody", "own")).status_code == 200
        assert it.client.get("/playground", auth=("own", "wrong")).status_code == 401
        assert it.client.get("/playground", headers={"authorization": "Basic ?"}).status_code == 401


# Pages and names


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_pages_of_other_origins_may_not_ask(path: str, origin: str) -> None:
    with world(Upstream()) as it:
        response = it.client.request("POST" if path in BODIES else "GET", path, headers={"origin": origin})
    assert response.status_code == 403
    assert f"start it with --allow-origin {origin}, if" in response.json()["error"]["message"]
    assert "access-control-allow-origin" not in response.headers


def test_pages_of_the_server_itself_may_ask() -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        assert it.client.post(CHAT, json=BODIES[CHAT], headers={"origin": it.url}).status_code == 200


def test_pages_of_an_origin_that_was_allowed_may_ask() -> None:
    origin = "https://good.example"
    ask = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    with world(Upstream(make=reply("Hi")), origins=(origin,)) as it:
        before = it.client.options(CHAT, headers=ask)
        response = it.client.post(CHAT, json=BODIES[CHAT], headers={"origin": origin})
        other = it.client.post(CHAT, json=BODIES[CHAT], headers={"origin": "https://evil.example"})
    assert before.status_code == response.status_code == 200
    assert response.headers["access-control-allow-origin"] == before.headers["access-control-allow-origin"] == origin
    assert other.status_code == 403


@pytest.mark.parametrize("path", ["/healthz", *PATHS])
def test_pages_of_other_sites_may_not_ask_even_where_browsers_name_no_origin(path: str) -> None:
    told = {"sec-fetch-site": "cross-site"}
    with world(Upstream(make=echo)) as it:
        response = it.client.get(path, headers=told)
        link = it.client.get("/playground", headers={**told, "sec-fetch-mode": "navigate"})
        own = it.client.get("/healthz", headers={"sec-fetch-site": "same-origin"})
        typed = it.client.get("/healthz", headers={"sec-fetch-site": "none"})
    assert response.status_code == 403 and not it.upstream.seen
    assert response.json()["error"]["message"].startswith("web pages of other sites may not use this server")
    assert link.status_code == own.status_code == typed.status_code == 200


def test_pages_of_other_sites_may_ask_if_all_or_their_origin_may() -> None:
    origin = "https://good.example"
    with world(Upstream(make=echo), origins=(origin,)) as it:
        named = it.client.get("/v1/models", headers={"sec-fetch-site": "cross-site", "origin": origin})
        unnamed = it.client.get("/v1/models", headers={"sec-fetch-site": "cross-site"})
    with world(Upstream(make=echo), origins=("*",)) as it:
        anyone = it.client.get("/v1/models", headers={"sec-fetch-site": "cross-site"})
    assert (named.status_code, unnamed.status_code, anyone.status_code) == (200, 403, 200)


@pytest.mark.parametrize("path", ["/v1/files", "/v1/models", CHAT])
@pytest.mark.parametrize("status", [200, 418])
def test_an_upstream_lets_no_page_in(path: str, status: int) -> None:
    headers = {"access-control-allow-origin": "*", "Access-Control-Allow-Credentials": "true", "x-own": "1"}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    with world(Upstream(as_json({"data": []}, status, **headers))) as it:
        response = it.client.request("POST" if path == CHAT else "GET", path, json=body)
    assert response.status_code == status
    assert not [name for name in response.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("path", [*BODIES, "/v1/files", "/healthz"])
def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_read(path: str) -> None:
    behind = b"GET /v1/smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"
    with world(Upstream(make=echo)) as it:
        host, port = it.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            connection.sendall(head.encode() + b"0\r\n\r\n" + behind)
            data = b""
            while piece := connection.recv(65536):  # ends, as the connection is closed
                data += piece
    assert data.startswith(b"HTTP/1.1 400 ") and data.count(b"HTTP/1.1") == 1
    assert not it.upstream.seen


@pytest.mark.parametrize("host", ["evil.example", "127.evil.example", "evil.example:80", "localhost.evil.example"])
def test_a_foreign_name_that_points_at_this_machine_is_refused(host: str) -> None:
    with world(Upstream(), hosts=("private.example",)) as it:
        response = it.client.get("/v1/models", headers={"host": host})
    assert response.status_code == 403 and f"--allow-host {host.partition(':')[0]}, if" in response.text
    assert "private.example" not in response.text  # whoever points a name at this machine may read it


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.2", "[::1]:80", "app.localhost", "good.example"])
def test_a_known_name_is_served(host: str) -> None:
    with world(Upstream(make=echo), hosts=("good.example",)) as it:
        assert it.client.get("/v1/models", headers={"host": host}).status_code == 200


def test_names_and_origins_may_be_given_as_people_write_them() -> None:
    hosts = ("Good.Example", "other.example:443", "https://third.example/")
    config = ServeConfig(demo=True, hosts=hosts, origins=("HTTPS://App.example:8443/", "*"))
    assert config.hosts == ("good.example", "other.example", "third.example")
    assert config.origins == ("https://app.example:8443", "*")
    with pytest.raises(XMLToolsError, match=r"hosts: expected a name such as tools\.example, got ''"):
        ServeConfig(demo=True, hosts=("",))
    with pytest.raises(XMLToolsError, match=r"origins: expected an origin such as https://app\.example, or"):
        ServeConfig(demo=True, origins=("app.example",))


# How many at once


@pytest.mark.parametrize("taken", [{"stream": True}, {"stream": False}, {"stream": True, "tools": None}])
def test_one_request_more_than_may_be_open_is_refused_and_told_to_come_back(taken: dict[str, Any]) -> None:
    gates = [Gate(), Gate()]
    answers = [Answer([chunk("Half ")], before=gate) for gate in gates]
    with world(Upstream(*answers, as_json({"data": []}), *[Answer(stream("Hi"))] * 3), max_streams=2) as it:
        with ExitStack() as stack:
            for gate in gates:
                stack.enter_context(asking(it, CHAT, **taken))
                assert gate.reached.wait(PATIENCE)
            refused = {path: it.post(path, stream=True) for path in BODIES}
            passed = it.client.post("/v1/embeddings", json={})
            others = [it.client.get(path).status_code for path in ("/healthz", "/metrics", "/playground", "/v1/models")]
        eventually(lambda: it.metric("xmltools_requests_total", route=CHAT) == 3, "the places were free again")
        taken_again = [it.post(path, stream=True).status_code for path in BODIES]
    for path, response in (*refused.items(), ("/v1/embeddings", passed)):
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["error"]["type"] == ("api_error" if path == "/v1/messages" else "server_error")
        assert "--max-streams" in response.json()["error"]["message"]
    assert others == [200] * 4
    assert taken_again == [200] * 3


def test_any_number_may_be_open_if_there_is_no_limit() -> None:
    gates = [Gate() for _ in range(5)]
    upstream = Upstream(*(Answer([], before=gate) for gate in gates))
    with world(upstream, max_streams=0) as it, ExitStack() as stack:
        for gate in gates:
            stack.enter_context(asking(it, CHAT, stream=True))
            assert gate.reached.wait(PATIENCE)


@pytest.mark.parametrize(("arguments", "most"), [([], 1000), (["--max-streams", "7"], 7), (["--max-streams", "0"], 0)])
def test_the_command_says_how_many_may_be_open(arguments: list[str], most: int) -> None:
    assert _config(options("--demo", *arguments)).max_streams == most


@pytest.mark.parametrize("arguments", [[], ["--server-names"]])
def test_the_command_says_whether_servers_are_named(arguments: list[str]) -> None:
    assert _config(options("--demo", *arguments)).settings.server_names is bool(arguments)


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "100000"])
def test_a_number_of_streams_that_is_none_is_refused(number: str) -> None:
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        options("--demo", "--max-streams", number)


# What passes through


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH"])
def test_everything_else_passes_through_both_ways(method: str) -> None:
    body = b'{"x": \xff}' if method != "GET" else b""
    with world(Upstream(make=echo)) as it:
        response = it.client.request(method, "/v1/a%20b/c%2Fd?x=%C3%A9&y=1;2", content=body or None)
    assert response.json() == {
        "method": method,
        "target": "/v1/a%20b/c%2Fd?x=%C3%A9&y=1;2",
        "body": body.decode("latin-1"),
    }


def test_a_body_that_streams_streams_through() -> None:
    with world(Upstream(make=echo)) as it:
        response = it.client.post("/v1/files", content=iter([b"a" * 70_000, b"b"]))
    assert response.json()["body"] == "a" * 70_000 + "b"
    assert it.upstream.seen[0].header("transfer-encoding") == "chunked"


def test_bytes_of_an_answer_are_not_touched() -> None:
    packed = gzip.compress(b"hello" * 100)
    headers = {"content-type": "x/y", "content-encoding": "gzip", "x-own": "1", "content-length": str(len(packed))}
    with (
        world(Upstream(Answer([packed], 203, headers))) as it,
        it.client.stream("GET", "/v1/files/1") as response,
    ):
        assert b"".join(response.iter_raw()) == packed
    assert response.status_code == 203
    assert {name: response.headers[name] for name in headers} == headers


def test_errors_and_redirects_pass_through_and_are_not_followed() -> None:
    answers = [as_json({"e": 1}, 418), Answer([], 302, {"location": "http://127.0.0.1:1/x"})]
    with world(Upstream(*answers)) as it:
        first, second = it.client.get("/v1/x"), it.client.get("/v1/x")
    assert (first.status_code, first.json()) == (418, {"e": 1})
    assert (second.status_code, second.headers["location"]) == (302, "http://127.0.0.1:1/x")
    assert len(it.upstream.seen) == 2


def test_headers_of_one_connection_are_not_passed_on() -> None:
    headers = {"connection": "x-mine, keep-alive", "x-mine": "1", "te": "trailers", "proxy-authorization": "secret"}
    answer = as_json({}, **{"connection": "x-yours", "x-yours": "1", "x-kept": "2"})
    with world(Upstream(answer)) as it:
        response = it.client.post("/v1/x", content=b"{}", headers={**headers, "x-sent": "3"})
    (seen,) = it.upstream.seen
    assert seen.header("x-sent") == "3" and response.headers["x-kept"] == "2"
    assert not {"x-mine", "te", "proxy-authorization"} & {name for name, _ in seen.headers}
    assert "x-yours" not in response.headers


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../admin",
        "/v1/./../admin",
        "/v1/a/../../../admin",
        "/v1/%2e%2e/admin",
        "/v1/%2E./admin",
        "/v1/%252e%252e/admin",
        "/v1/..%2fadmin",
        "/v1/..%5cadmin",
        "/v1/x/..;",
        "/v1/a%0d%0ab",
        "/v1/%00",
        "/v1//../admin",
        "/v1/..",
    ],
)
def test_no_path_leads_out_of_the_upstreams(path: str) -> None:
    with world(Upstream(make=echo), base="/api/v1") as it:
        status = raw_get(it.url, path)
    assert status in (400, 404) or it.upstream.seen[0].target.startswith("/api/v1/x/..;")
    assert all(seen.target.startswith("/api/v1/") for seen in it.upstream.seen)


@pytest.mark.parametrize("path", ["//evil.example/v1/x", "/v1//evil.example/x", "/v1/@evil.example/", "/v1/:80/x"])
def test_no_path_leads_to_another_server(path: str) -> None:
    with world(Upstream(make=echo)) as it:
        raw_get(it.url, path)
    assert all(seen.target.startswith("/v1/") and "127.0.0.1" in str(seen.header("host")) for seen in it.upstream.seen)


def raw_get(url: str, path: str) -> int:
    """Ask for a path exactly as it is written."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n".encode())
        data = b""
        while piece := connection.recv(65536):
            data += piece
    return int(data.split(b" ", 2)[1])


def test_there_is_nothing_outside() -> None:
    with world(Upstream()) as it:
        assert it.client.get("/nowhere").status_code == it.client.post("/healthz").status_code == 404
        assert it.client.get("/").headers["location"] == "/playground"
        assert it.client.get("/playground").status_code == 200
        assert it.client.get("/live").status_code == 404


# Configurations


WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "upstream"),
    ({"upstream": "http://a", "demo": True}, "not both"),
    ({"upstream": "localhost:8000"}, "http://localhost:8000/v1"),
    ({"upstream": "ftp://a/"}, "http://localhost:8000/v1"),
    ({"upstream": "http://"}, "http://localhost:8000/v1"),
    ({"upstream": "http://a:b/"}, "can't be read"),
    ({"upstream": "http://user:secret@a/"}, "upstream_key"),
    ({"upstream": "http://a/?x=1"}, "without"),
    ({"demo": True, "port": 65536}, "port"),
    ({"demo": True, "keepalive": 0}, "keepalive"),
    ({"demo": True, "idle_timeout": float("inf")}, "idle_timeout"),
    ({"demo": True, "speed": -1}, "speed"),
    ({"demo": True, "max_body": 0}, "max_body"),
    ({"demo": True, "max_streams": -1}, "max_streams"),
    ({"demo": True, "max_streams": True}, "max_streams"),
    ({"demo": True, "api_key": "two\nlines"}, "api_key"),
    ({"demo": True, "upstream_key": ""}, "upstream_key"),
]


@pytest.mark.parametrize(("config", "words"), WRONG)
def test_a_configuration_that_makes_no_sense_says_why(config: dict[str, Any], words: str) -> None:
    with pytest.raises(XMLToolsError) as caught:
        ServeConfig(**config)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value) and "two" not in str(caught.value)


def test_keys_are_not_shown() -> None:
    assert "secret" not in repr(ServeConfig(demo=True, api_key="secret", upstream_key="secret"))


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("127.1", True),
        ("::1", True),
        ("0:0:0:0:0:0:0:1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.0.2", False),
        ("example.com", False),
    ],
)
def test_a_server_knows_whether_only_this_machine_reaches_it(host: str, is_loopback: bool) -> None:
    assert ServeConfig(demo=True, host=host).is_loopback is is_loopback


@pytest.mark.parametrize(
    ("arguments", "warnings"),
    [
        (["--host", "0.0.0.0"], 1),
        (["--host", "0.0.0.0", "--require-key-env", "PATH"], 0),
        (["--host", "127.0.0.1"], 0),
    ],
)
def test_who_listens_for_other_machines_without_a_key_is_warned(arguments: list[str], warnings: int) -> None:
    # The port is taken, so that nothing of a test is ever open to other machines.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-c", PROGRAM, "serve", "--demo", *arguments, "--port", str(taken.getsockname()[1])]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    lines = [line for line in run.stderr.splitlines() if "warning" in line]
    assert "Address already in use" in run.stderr
    assert len(lines) == warnings
    assert all("0.0.0.0" in line and "--require-key-env" in line for line in lines)


@pytest.mark.parametrize("words", ["a key: see --require-key-env", "--max-streams N"])
def test_the_help_says_what_protects_a_server(words: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, "serve", "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    assert words in " ".join(run.stdout.split())


def test_the_limit_of_open_files_is_raised_for_the_streams() -> None:
    pytest.importorskip("resource")
    program = (
        "from resource import RLIMIT_NOFILE as FILES, getrlimit, setrlimit; hard = getrlimit(FILES)[1];"
        "from xmltools.proxy.server.app import _allow_files; setrlimit(FILES, (64, hard)); _allow_files(200);"
        "print(*getrlimit(FILES), hard)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    soft, hard, before = map(int, run.stdout.split())
    assert (soft, hard) == (200, before)
