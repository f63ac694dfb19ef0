"""What the log says of the upstream when the server starts, from real upstreams and from none."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from proxy.running import running
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig
from xmltools.proxy.server.app import report_upstream


def said(caplog: pytest.LogCaptureFixture, answer: Response, **config: Any) -> list[tuple[str, str]]:
    """Return the levels and texts of the log, for an upstream that answers so."""
    asked = []

    async def upstream(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["type"] == "http":
            request = Request(scope)
            asked.append((request.method, request.url.path, request.headers.get("authorization")))
            await answer(scope, receive, send)

    with running(upstream) as url, caplog.at_level(logging.INFO, "xmltools.serve"):
        report_upstream(ServeConfig(upstream=f"{url}/v1", **config))  # type: ignore[arg-type]
    key = config.get("upstream_key")
    assert asked == [("GET", "/v1/models", f"Bearer {key}" if key else None)]
    return [(record.levelname, record.getMessage()) for record in caplog.records]


def test_the_models_are_named(caplog: pytest.LogCaptureFixture) -> None:
    answer = JSONResponse({"data": [{"id": "qwen"}, {"id": "llama"}, {"id": "a\nb"}, {"id": 5}, "x"]})
    assert said(caplog, answer, upstream_key="sk") == [("INFO", "the upstream answers; its models: qwen, llama")]


def test_many_models_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    ((_, text),) = said(caplog, JSONResponse({"data": [{"id": f"m{number}"} for number in range(25)]}))
    assert text.endswith("m8, m9 and 15 more")


def test_a_model_that_writes_another_dialect_is_named(caplog: pytest.LogCaptureFixture) -> None:
    answer = JSONResponse({"data": [{"id": "Qwen/Qwen3-8B"}, {"id": "llama"}]})
    _, (level, text) = said(caplog, answer, settings=Settings(dialect="forge"))
    assert (level, text) == (
        "INFO",
        "Qwen/Qwen3-8B is known to write hermes, and will be asked for forge: --dialect auto asks for hermes",
    )
    caplog.clear()
    assert len(said(caplog, answer, settings=Settings())) == 1


@pytest.mark.parametrize(
    ("answer", "level", "words"),
    [
        (PlainTextResponse("no", 404), "WARNING", "is its URL right?"),
        (JSONResponse({}, 401), "WARNING", "--upstream-key-env"),
        (PlainTextResponse("<html>"), "INFO", "none that it names"),
        (PlainTextResponse("[" * 100_000), "INFO", "none that it names"),
        (PlainTextResponse("x" * (3 << 20)), "INFO", "none that it names"),
    ],
)
def test_other_answers(caplog: pytest.LogCaptureFixture, answer: Response, level: str, words: str) -> None:
    ((found, text),) = said(caplog, answer)
    assert found == level and words in text


def test_where_there_is_no_upstream_the_url_and_the_cause_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    report_upstream(ServeConfig(upstream=f"http://127.0.0.1:{port}/v1"))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert f"the upstream at http://127.0.0.1:{port}/v1 can't be reached: " in record.getMessage()
    assert "refused" in record.getMessage()


def test_at_an_address_that_is_taken_the_process_ends_in_order() -> None:
    """Without a thread that asks the upstream meanwhile: two of three times, Python crashed at its end."""

    async def upstream(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["type"] == "http":
            await JSONResponse({"data": [{"id": "m"}]})(scope, receive, send)

    with running(upstream) as url, socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "xmltools", "serve", "--upstream", f"{url}/v1", "--port", port]
        for _ in range(3):
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 1 and f"can't listen at 127.0.0.1 port {port}" in done.stderr
