"""What is written down of a request: numbers, codes and names, and never what was said."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from proxy.test_server_upstream import (
    BODIES,
    CALL,
    DONE,
    Answer,
    Cut,
    Gate,
    Upstream,
    as_json,
    chunk,
    eventually,
    reply,
    stream,
    whole,
    world,
)
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server.app import create_app
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import Record, _JSONFormatter, _TextFormatter

CHAT = "/v1/chat/completions"
SLOPPY = "<tool><tool_name>write</tool_name><arguments><path>a & b</path></arguments></tool>"
WRONG = "<tool><tool_name>write</tool_name><arguments><text>t</text></arguments></tool>"
UNKNOWN = "<tool><tool_name>wriet</tool_name><arguments><path>a</path></arguments></tool>"
CANARY = "canary-7f3a"


def samples(page: str) -> dict[str, float]:
    """The numbers of a page of metrics, by name and labels."""
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in page.split("\n")
        if line and not line.startswith("#")
    }


def test_requests_calls_and_repairs_are_counted() -> None:
    with world(Upstream(make=reply(CALL + SLOPPY + WRONG + UNKNOWN)), settings=Settings(retries=0)) as it:
        it.post()
        it.post(stream=True)
        # A stream is counted behind its last byte, which the client may have first.
        eventually(lambda: 'stream="true"' in it.client.get("/metrics").text, "the stream was counted")
        page = it.client.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = samples(page.text)
    for streams in ("true", "false"):
        labels = f'model="m",outcome="call_failed",route="{CHAT}",status="200",stream="{streams}"'
        assert found[f"xmltools_requests_total{{{labels}}}"] == 1
    calls = {name: found[f'xmltools_tool_calls_total{{model="m",outcome="{name}"}}'] for name in OUTCOMES}
    assert calls == {"ok": 2, "repaired": 2, "invalid": 2, "unknown_tool": 2}
    for code in ("bare_ampersand", "invalid_arguments", "unknown_tool"):
        assert found[f'xmltools_diagnostics_total{{code="{code}"}}'] == 2
    for name in ("upstream_ttft", "overhead", "first_arg"):
        assert found[f"xmltools_{name}_seconds_count"] == found[f'xmltools_{name}_seconds_bucket{{le="+Inf"}}'] == 2
        assert found[f"xmltools_{name}_seconds_sum"] > 0


def test_a_call_that_is_missing_though_it_was_required_is_counted_as_failed() -> None:
    with world(Upstream(make=reply("No.")), settings=Settings(retries=0)) as it:
        it.post(tool_choice="required")
        it.post(tool_choice="required", stream=True)
        eventually(lambda: 'stream="true"' in it.client.get("/metrics").text, "the stream was counted")
        found = samples(it.client.get("/metrics").text)
    for streams, status in (("true", 200), ("false", 422)):
        labels = f'model="m",outcome="call_failed",route="{CHAT}",status="{status}",stream="{streams}"'
        assert found[f"xmltools_requests_total{{{labels}}}"] == 1


FOREIGN = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'


@pytest.mark.parametrize("streams", [True, False])
def test_a_call_that_nobody_reads_is_an_outcome_of_its_own(streams: bool, caplog: pytest.LogCaptureFixture) -> None:
    forges = {"settings": Settings(dialect="forge")}
    with caplog.at_level(logging.INFO, "xmltools.serve"), world(Upstream(make=reply(FOREIGN)), **forges) as it:
        it.post(stream=streams)
        eventually(lambda: 'outcome="call_unread"' in it.client.get("/metrics").text, "the request was counted")
    (record,) = [each for each in caplog.records if CHAT in str(getattr(each, "fields", ""))]
    fields = record.fields  # type: ignore[attr-defined]
    assert (fields["outcome"], fields["unread"], fields["retries"]) == ("call_unread", "hermes", 1)
    assert record.levelno == logging.WARNING


def test_who_requires_a_call_hears_of_the_notation() -> None:
    with world(Upstream(make=reply(FOREIGN)), settings=Settings(dialect="forge")) as it:
        answer = it.post(tool_choice="required")
    assert answer.status_code == 422 and "in another notation (hermes)" in answer.text and "--dialect" in answer.text


OUTCOMES = ("ok", "repaired", "invalid", "unknown_tool")


def test_a_page_of_metrics_is_well_formed_whatever_models_are_called() -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        it.post(model='a"b\\c\nd')
        it.post(model="x" * 200)
        it.client.post(CHAT, content=json.dumps({**BODIES[CHAT], "model": "a\ud800"}))
        for number in range(120):
            it.post(model=f"model-{number}")
        page = it.client.get("/metrics").text
    assert 'model="a\\"b\\\\c\\nd"' in page
    assert (
        len(re.findall(r'^xmltools_requests_total\{.*route="/v1/chat/completions"', page, re.MULTILINE)) == 101
    )  # and "other" for the rest
    assert samples(page)
    assert 'model="other"' in page and "x" * 200 not in page


def test_streams_that_are_open_are_counted() -> None:
    gate = Gate()
    with world(Upstream(Answer([chunk("Half "), gate, *stream("x")]))) as it:
        with it.client.stream("POST", CHAT, json={**BODIES[CHAT], "stream": True}) as response:
            assert gate.reached.wait(20)
            assert it.metric("xmltools_streams_active") == 1
            gate.open()
            response.read()
        eventually(lambda: it.metric("xmltools_streams_active") == 0, "the stream was no longer counted")


# Counted by the upstream, said, and whether something of it was lost.
LOST: list[tuple[list[bytes], bool]] = [
    ([chunk("Hi"), chunk(finish="stop")], False),
    ([chunk(CALL), chunk(finish="stop")], False),
    ([chunk(UNKNOWN), chunk(finish="stop")], False),
    ([chunk("<think>Hm.</think>"), chunk(finish="stop")], False),
    ([chunk(finish="stop")], True),
    ([chunk(""), chunk(finish="length")], True),
]


@pytest.mark.parametrize(("steps", "lost"), LOST)
@pytest.mark.parametrize("tokens", [7, 1, None])
def test_a_reply_whose_tokens_never_came_is_counted(steps: list[bytes], lost: bool, tokens: int | None) -> None:
    usage = chunk(usage={"prompt_tokens": 1, "completion_tokens": tokens})
    with world(Upstream(Answer([*steps, usage, b"data: [DONE]\n\n"]))) as it:
        it.post(stream=True)
        eventually(lambda: it.metric("xmltools_requests_total", route=CHAT) == 1, "the stream was counted")
        counted = it.metric("xmltools_anomalies_total", kind="all_output_lost")
    assert counted == (lost and tokens == 7)


# The log


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    logger, handler = logging.getLogger("xmltools"), Kept()
    before = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield handler.records
    logger.removeHandler(handler)
    logger.setLevel(before)


def fields(records: list[logging.LogRecord]) -> list[dict[str, Any]]:
    return [each.fields for each in records if each.name == "xmltools.serve"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("streams", [False, True])
def test_a_request_is_one_line(records: list[logging.LogRecord], path: str, streams: bool) -> None:
    with world(Upstream(make=reply(CALL + SLOPPY))) as it:
        it.client.headers["x-request-id"] = "the-id"
        it.post(path, stream=streams)
    (line,) = fields(records)
    said = {name: line[name] for name in ("id", "method", "route", "status", "outcome", "model", "stream", "calls")}
    assert said == {
        "id": "the-id",
        "method": "POST",
        "route": path,
        "status": 200,
        "outcome": "ok",
        "model": "m",
        "stream": streams,
        "calls": 2,
    }
    assert line["dialect"] == "forge"
    assert (line["repairs"], line["input_tokens"], line["output_tokens"]) == ("bare_ampersand:1", 11, 7)
    assert 0 < line["overhead_ms"] <= line["ms"] and 0 < line["ttft_ms"] <= line["ms"]


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", "/playground", "/playground"),
        ("POST", "/playground/api/analyse", "/playground/api/analyse"),
        ("GET", "/playground/static/none.js", "/playground/static"),
        ("GET", "/live", "/live"),
        ("GET", "/healthz", "/healthz"),
        ("GET", "/metrics", "/metrics"),
        ("GET", "/v1/models/m", "/v1/models"),
        ("POST", "/v1/embeddings", "passthrough"),
        ("GET", f"/{CANARY}", "other"),
        ("GET", f"/playground/{CANARY}", "other"),
    ],
)
def test_a_page_is_logged_by_its_name_and_no_path_that_a_client_made_up(
    records: list[logging.LogRecord], method: str, path: str, route: str
) -> None:
    with world(Upstream(make=lambda _: as_json({"data": []}))) as it:
        it.client.request(method, path)
        eventually(lambda: fields(records), "the request was logged")
    assert [line["route"] for line in fields(records)] == [route]


@pytest.mark.parametrize("path", BODIES)
def test_a_request_that_was_not_let_in_is_logged_by_the_name_of_its_route(
    records: list[logging.LogRecord], path: str
) -> None:
    with world(Upstream(), api_key="own") as it:
        it.post(path)
    (line,) = fields(records)
    assert (line["route"], line["status"], line["outcome"]) == (path, 401, "refused")
    assert line["reason"] == "invalid_api_key"


def test_a_refused_request_is_logged_with_the_reason(records: list[logging.LogRecord]) -> None:
    with world(Upstream(), max_body=1000, hosts=()) as it:
        it.client.post("/v1/chat/completions", content=b"x")
        it.client.post("/v1/chat/completions", content=b"x" * 2000)
        it.client.post("/v1/messages", json={"model": "m"})
        it.client.get("/v1/models", headers={"origin": "http://elsewhere"})
    reasons = [line["reason"] for line in fields(records)]
    assert reasons == ["invalid_json", "body_too_large", "invalid_request_error", "unknown_origin"]


FAILURES = {
    "broken off": (Answer([chunk("On it")]), "the upstream broke off its reply"),
    "cut": (Answer([chunk("On it"), Cut()]), "the upstream broke off the connection"),
    "unreadable": (Answer([f"data: {CANARY}\n\n".encode()]), "the upstream sent what is no JSON"),
}


@pytest.mark.parametrize(("answer", "cause"), FAILURES.values(), ids=FAILURES)
def test_the_log_says_why_an_answer_is_not_whole(answer: Answer, cause: str, records: list[logging.LogRecord]) -> None:
    with world(Upstream(answer, make=None), settings=Settings(retries=0)) as it:
        it.post(stream=True)
    (line,) = [each for each in fields(records) if each.get("route") == CHAT]
    assert (line["outcome"], line["error"], line["upstream_status"]) == ("upstream_error", cause, 200)


PAGE = Answer([b"<!doctype html><title>Log in</title>"], headers={"content-type": "text/html"})
LOADING = {"error": {"message": f"{CANARY}: the model is loading"}}
# What an upstream says to a request that is passed on as it is; the error in the log, and the words of the live view.
FAILED_ANSWERS = {
    **{f"status {status}": (as_json(LOADING, status), None, "the model is loading") for status in (401, 404, 429, 500)},
    "no words": (Answer([b"<html>"], 502, {"content-type": "text/html"}), None, "answered with status 502"),
    "a redirect": (Answer([], 307, {"location": "http://127.0.0.1:1/"}), "is elsewhere", "change its URL"),
    "an error object": (as_json(LOADING), "an error in the upstream's answer", "the model is loading"),
    "an error event": (
        Answer([chunk("On it"), b"data: %s\n\n" % json.dumps(LOADING).encode(), DONE]),
        "an error in the upstream's answer",
        "the model is loading",
    ),
    "a named error event": (
        Answer([b'event: error\ndata: {"message": "no memory"}\n\n']),
        "an error in the upstream's answer",
        "no memory",
    ),
    "a page": (PAGE, "the upstream's answer is a web page, no JSON", "a web page"),
    "a page of no type": (
        Answer([b"\n<HTML>"], headers={"content-type": "text/plain"}),
        "the upstream's answer is a web page, no JSON",
        "a web page",
    ),
    "no JSON": (Answer([b'{"choi'], headers={"content-type": "application/json"}), "no JSON object", "no JSON object"),
    "broken off": (Answer([chunk("On it")]), "the upstream broke off its reply", "broke off"),
    "in pieces": (Answer([chunk("On it")[:9], chunk("On it")[9:]]), "the upstream broke off its reply", "broke off"),
    "only the end": (Answer([DONE]), "the upstream broke off its reply", "broke off"),
}
WHOLE_ANSWERS = {
    "in one piece": whole("Hi"),
    "a stream": Answer(stream("Hi")),
    "no end": Answer([chunk("Hi"), chunk(finish="stop")]),
    "no reason": Answer([chunk("Hi"), DONE]),
    "words about an error": Answer([chunk('{"error": "no"}'), chunk(finish="stop"), DONE]),
    "no error": Answer([chunk("Hi", error=None), chunk(finish="stop"), DONE]),
    "long": whole('{"error": "no"}' * 9_000),
}


@pytest.mark.parametrize(("answer", "cause", "words"), FAILED_ANSWERS.values(), ids=FAILED_ANSWERS)
def test_an_answer_that_is_passed_on_is_told_as_the_failure_that_it_is(
    answer: Answer, cause: str | None, words: str, records: list[logging.LogRecord]
) -> None:
    with world(Upstream(answer, make=None), live=True) as it:
        response = it.post(tools=[], stream=True)
        eventually(lambda: it.metric("xmltools_requests_total", route=CHAT, outcome="upstream_error"), "it was counted")
        shown = it.client.get("/live/exchange?number=1").json()
    assert (response.status_code, response.content) == (answer.status, b"".join(answer.steps))  # type: ignore[arg-type]
    (line,) = [each for each in fields(records) if each.get("route") == CHAT]
    assert line["outcome"] == "upstream_error"
    assert cause is None or cause in line["error"]
    assert ("error" in line) == (cause is not None)
    assert CANARY not in str(line)
    assert [each.levelname for each in records if getattr(each, "fields", None) == line] == ["WARNING"]
    assert shown["state"] == "failed" and words in shown["message"]


@pytest.mark.parametrize("answer", WHOLE_ANSWERS.values(), ids=WHOLE_ANSWERS)
def test_an_answer_that_is_passed_on_whole_is_no_failure(answer: Answer, records: list[logging.LogRecord]) -> None:
    with world(Upstream(answer, make=None), live=True) as it:
        it.post(tools=[], stream=True)
        eventually(lambda: it.metric("xmltools_requests_total", route=CHAT), "it was counted")
        assert it.client.get("/live/exchange?number=1").json()["state"] == "done"
    (line,) = [each for each in fields(records) if each.get("route") == CHAT]
    assert (line["outcome"], "error" in line) == ("ok", False)


@pytest.mark.parametrize("key", [None, "up"])
@pytest.mark.parametrize("path", ["/v1/models", "/v1/embeddings"])
@pytest.mark.parametrize("answer", [as_json(LOADING, 401), as_json(LOADING), PAGE], ids=["401", "an error", "a page"])
def test_all_else_that_is_passed_on_tells_of_failures_too(
    answer: Answer, path: str, key: str | None, records: list[logging.LogRecord]
) -> None:
    with world(Upstream(answer, make=None), upstream_key=key) as it:
        it.client.get(path)
        eventually(lambda: fields(records), "it was logged")
        assert it.metric("xmltools_requests_total", outcome="upstream_error") == 1
    assert fields(records)[0]["outcome"] == "upstream_error"


def test_what_tells_of_its_own_failure_is_an_answer(records: list[logging.LogRecord]) -> None:
    job = {"id": "ftjob-1", "object": "fine_tuning.job", "error": {"code": "x", "message": "no data"}}
    with world(Upstream(as_json(job), make=None)) as it:
        it.client.get("/v1/fine_tuning/jobs/ftjob-1")
        eventually(lambda: fields(records), "it was logged")
    assert fields(records)[0]["outcome"] == "ok"


def test_a_client_gets_an_error_that_is_passed_on_and_the_log_has_it(records: list[logging.LogRecord]) -> None:
    openai = pytest.importorskip("openai")
    with world(Upstream(as_json(LOADING, 429), make=None)) as it:
        client = openai.OpenAI(base_url=f"{it.url}/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.RateLimitError, match="loading"):
            client.chat.completions.create(model="m", messages=BODIES[CHAT]["messages"])
        eventually(lambda: fields(records), "it was logged")
    (line,) = fields(records)
    assert (line["outcome"], line["status"]) == ("upstream_error", 429)


NO_ANSWERS = {
    "a page": (PAGE, "the upstream's answer is a web page, no JSON"),
    "an error": (as_json(LOADING), "an error in the upstream's answer"),
    "no completion": (as_json({"id": CANARY}), "the upstream"),
    "no JSON": (Answer([CANARY.encode()], headers={"content-type": "application/json"}), "the upstream"),
}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("answer", "cause"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_the_log_says_why_an_answer_is_none(
    answer: Answer, cause: str, streams: bool, records: list[logging.LogRecord]
) -> None:
    with world(Upstream(answer, make=None)) as it:
        it.post(stream=streams)
        eventually(lambda: fields(records), "it was logged")
    (line,) = fields(records)
    assert (line["outcome"], line["status"], cause in line["error"]) == ("upstream_error", 502, True)
    assert CANARY not in str(line)


BAD = "{not JSON"
WITH_BAD_CALLS: dict[str, dict[str, Any]] = {
    CHAT: {
        "messages": [
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "write", "arguments": BAD}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "done"},
        ]
    },
    "/v1/messages": {
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "write", "input": BAD}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "done"}]},
        ]
    },
    "/v1/responses": {
        "input": [
            {"role": "user", "content": "Go."},
            {"type": "function_call", "call_id": "c", "name": "write", "arguments": BAD},
            {"type": "function_call_output", "call_id": "c", "output": "done"},
        ]
    },
}


@pytest.mark.parametrize("path", BODIES)
def test_a_call_of_the_history_that_is_written_without_its_arguments_is_in_the_log(
    path: str, records: list[logging.LogRecord]
) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        assert it.post(path, **WITH_BAD_CALLS[path]).status_code == 200
        it.post(path)
        eventually(lambda: len(fields(records)) == 2, "both were logged")
    assert [line.get("bad_arguments") for line in fields(records)] == [1, None]


def test_neither_words_nor_keys_are_logged_whatever_happens(records: list[logging.LogRecord]) -> None:
    bad = Answer([b'data: {"error": {"message": "%s"}}\n\n' % CANARY.encode()])
    broken = Answer([chunk(CANARY), f"data: {CANARY}\n\n".encode()])
    cut = Answer([chunk(f"<tool><tool_name>write</tool_name><path>{CANARY}"), Cut()])
    refused = as_json({"error": {"message": CANARY}}, 400)
    upstream = Upstream(bad, broken, cut, refused, make=None)
    keys = {"authorization": f"Bearer {CANARY}", "x-api-key": CANARY, "cookie": CANARY}
    with world(upstream, settings=Settings(retries=0)) as it:
        it.client.headers.update(keys)
        for _ in range(4):
            it.post(stream=True, messages=[{"role": "user", "content": CANARY}])
        it.post(n=CANARY)
        it.client.post(CHAT, content=f'{{"{CANARY}'.encode())
        it.client.post("/v1/nowhere/..", content=CANARY.encode())
    ours = [each for each in records if each.name.startswith("xmltools")]
    assert len(ours) == 7
    for each in ours:
        assert CANARY not in _TextFormatter().format(each) + _JSONFormatter().format(each)


def test_a_failure_of_ours_is_logged_by_its_place_and_told_without_details(
    records: list[logging.LogRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("xmltools.proxy.server.relayed_answer.RelayedAnswer._finish", fail)
    with world(Upstream(make=reply("Hi"))) as it:
        response = it.post()
    assert response.status_code == 500 and CANARY not in response.text
    failure, line = fields(records)
    assert (failure["error"], failure["at"].partition(":")[0]) == ("RuntimeError", __name__)
    assert (line["outcome"], line["status"]) == ("failed", 500)
    assert CANARY not in str(failure)


HOSTILE = 'a\nb\x1b[31m "c" = d\u2028e\u202e'


@pytest.mark.parametrize("formatter", [_TextFormatter(), _JSONFormatter()])
def test_no_name_breaks_a_line_of_the_log(records: list[logging.LogRecord], formatter: logging.Formatter) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        it.post(model=HOSTILE)
    (record,) = (each for each in records if each.name == "xmltools.serve")
    line = formatter.format(record)
    assert line.isprintable() and line.isascii()
    if isinstance(formatter, _JSONFormatter):
        assert json.loads(line)["model"] == HOSTILE
    else:
        assert f"model={json.dumps(HOSTILE)}" in line


# Spans


class Spans:
    """A tracer of OpenTelemetry's SDK that keeps what has ended."""

    def __init__(self) -> None:
        sdk = pytest.importorskip("opentelemetry.sdk.trace")
        export = pytest.importorskip("opentelemetry.sdk.trace.export")
        memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        self.memory = memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider()
        self.provider.add_span_processor(export.SimpleSpanProcessor(self.memory))

    @property
    def ended(self) -> Any:
        return self.memory.get_finished_spans()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    made = Spans()
    monkeypatch.setattr("opentelemetry.trace.get_tracer", lambda *_: made.provider.get_tracer("test"))
    return made


TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize("streams", [False, True])
def test_an_exchange_is_a_span_by_the_conventions(spans: Spans, streams: bool) -> None:
    with world(Upstream(make=reply(CALL))) as it:
        it.client.headers["traceparent"] = f"00-{TRACE}-b7ad6b7169203331-01"
        it.post(temperature=0.5, max_tokens=9, stream=streams)
        passed = it.upstream.seen[0].header("traceparent")
    (span,) = spans.ended
    assert span.name == "chat m" and span.kind.name == "CLIENT"
    assert format(span.context.trace_id, "032x") == TRACE
    assert passed == f"00-{TRACE}-{span.context.span_id:016x}-01"
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.stream": streams,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 7,
        "server.address": "127.0.0.1",
        "xmltools.calls": 1,
    }
    assert {name: span.attributes.get(name) for name in expected} == expected
    assert "b.py" not in span.to_json()


def test_a_failed_exchange_is_a_failed_span(spans: Spans) -> None:
    with world(Upstream(as_json({}, 500))) as it:
        it.post()
    (span,) = spans.ended
    assert span.status.status_code.name == "ERROR"
    assert span.attributes["error.type"] == "upstream_error"


def test_each_route_of_the_server_has_a_name_of_its_own_in_logs_and_numbers() -> None:
    app = create_app(ServeConfig(demo=True, live=True))
    paths = [path.replace("{id:path}", "m") for route in app.routes if (path := getattr(route, "path", ""))]
    named = {path: Record.of({"method": "GET", "path": path, "headers": []}).route for path in paths}
    fixed = [path for path in paths if "{" not in path and path not in ("/v1/models/m", "/playground/static")]
    assert len(fixed) > 12 and [path for path in fixed if named[path] != path] == []
    assert named["/v1/models/m"] == "/v1/models"
