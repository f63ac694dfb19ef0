"""`xmltools doctor` against servers that are good, odd and broken, over real sockets, as a user runs it.

What is found out about most of them is in `doctor_cases.json`: the server, what the upstream is made to say in place of
lists or replies, and parts of what the report has, each check as `name outcome: detail -> advice`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xmltools as xt
from proxy.model_servers import ModelServer
from proxy.running import running
from proxy.test_server_upstream import Answer, Cut, Gate, Seen, Upstream, as_json, chunk
from xmltools.cli import serve as cli_serve
from xmltools.cli.commands import COMMANDS, _parse_arguments
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.proxy.doctor import Case, examine
from xmltools.proxy.doctor.tasks import TASKS, TOOLS, judge
from xmltools.proxy.server import ServeConfig

Run = Callable[..., tuple[int, str, str]]
Make = Callable[[Seen], Answer]
HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "serving.md").read_text("utf-8")
MOST = int(re.findall(r"at most (\d+) requests", COMMANDS["doctor"].description)[0])
"""What the help says."""
VLLM = ModelServer(models=("Qwen/Qwen3-8B",), owner="vllm", tools="left with none", grammar="structured_outputs")


def examined(run: Run, make: Make, *arguments: str, path: str = "") -> tuple[int, dict[str, Any], str]:
    """Examine a server; the exit status, the report as JSON, and its checks as lines."""
    with running(Upstream(make=make), server_header=False) as url:
        status, out, error = run("doctor", "--upstream", url + path, "--json", *arguments)
    assert error == ""
    return status, json.loads(out), lines(json.loads(out))


def lines(report: dict[str, Any]) -> str:
    return "\n".join("{name} {outcome}: {detail} -> {advice}".format(**check) for check in report["checks"])


def printed(run: Run, make: Make, *arguments: str) -> str:
    """What a user sees in a terminal of 80 columns; the command to copy is one line."""
    with running(Upstream(make=make)) as url:
        _, out, error = run("doctor", "--upstream", f"{url}/v1", *arguments)
    assert error == "" and all(len(line) <= 80 or line.startswith("xmltools serve") for line in out.splitlines())
    return out.replace(url, "http://localhost:8000")


def answer_of(given: dict[str, Any]) -> Answer:
    body = base64.b64decode(given["base64"]) if "base64" in given else given["body"].encode() * given.get("times", 1)
    return Answer([body], given.get("status", 200), {"content-type": given.get("type", "text/json")})


def served(report: dict[str, Any]) -> ServeConfig:
    """What `xmltools serve` makes of the line that is suggested."""
    program, *words = report["serve"]
    assert program == "xmltools"
    options = _parse_arguments(words)
    assert options.command == "serve"
    made: ServeConfig = cli_serve._config(options)
    return made


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=each["id"]) for each in json.loads((HERE / "doctor_cases.json").read_text("utf-8"))]
)
def test_what_is_found_out_about_a_server(run: Run, case: dict[str, Any]) -> None:
    model = ModelServer(**case["server"])
    templates = case.get("templates", {})
    upstream = Upstream(
        make=lambda seen: answer_of(case[seen.method.lower()]) if seen.method.lower() in case else model(seen),
        templates=lambda seen: as_json(templates[seen.target]) if seen.target in templates else None,
    )
    with running(upstream, server_header=False) as url:
        status, out, error = run("doctor", "--upstream", url, "--json", *case.get("arguments", ()))
    report = json.loads(out)
    assert (status, error) == (case.get("status", 0), "") and report["ok"] == (status == 0)
    assert report["requests"] == len(upstream.seen) + len(upstream.asked) <= MOST
    bodies = [seen.json for seen in upstream.seen if seen.method == "POST"]
    assert {body["model"] for body in bodies} <= {report["model"]}
    found = lines(report)
    assert [each for each in case.get("checks", ()) if each not in found] == [], found
    assert {name: report[name] for name in case.get("report", {})} == case.get("report", {})
    counts = {name: sum(name in body for body in bodies) for name in case.get("sent", {})}
    assert counts == case.get("sent", {})
    ways = [[each["dialect"], each["prompt"], each["grammar"], each["right"]] for each in report["tasks"]]
    assert ways == case.get("tasks", ways)
    for way, results in zip(report["tasks"], case.get("results", ()), strict=False):
        assert way["results"].items() >= results.items() and "said" not in way
    if report["serve"] is not None:
        served(report)
        assert " ".join(report["serve"][4:]) == case.get("serve", " ".join(report["serve"][4:]))


def test_what_the_model_said_is_in_the_report_if_it_is_asked_for(run: Run) -> None:
    _, report, _ = examined(run, ModelServer(own=None, speaks=frozenset(), tools="ignored"), "--show")
    assert report["tasks"][0]["said"]["typed"] == "I would do that, if I could."


# Servers that can't be used


def test_a_port_where_nobody_listens(run: Run) -> None:
    with running(Upstream()) as url:
        pass
    status, out, error = run("doctor", "--upstream", url)
    said = " ".join(out.split())
    assert (status, error) == (1, "") and "can't be reached: Connection refused -> start the server" in said
    assert "tasks: there is no server at the address" in said and "xmltools serve" not in said


@pytest.mark.parametrize("host", ["nobody.invalid", "no..body"])
def test_a_host_that_is_not_there(run: Run, host: str) -> None:
    _, out, _ = run("doctor", "--upstream", f"http://{host}/v1", "--json")
    assert "-> check the name of the host" in lines(json.loads(out))


@pytest.mark.parametrize(
    ("options", "advice"),
    [({"ssl_certfile": str(HERE / "localhost.pem")}, "use a certificate of a usual authority"), ({}, "write http://")],
)
def test_a_certificate_of_nobody_and_a_port_without_tls(run: Run, options: dict[str, str], advice: str) -> None:
    with running(Upstream(make=ModelServer()), **options) as url:
        _, out, _ = run("doctor", "--upstream", url.replace("http:", "https:"), "--json")
    assert advice in lines(json.loads(out))


@pytest.mark.parametrize(
    ("key", "model", "found"),
    [
        (
            None,
            (),
            ["address ok", "models failed: status 401", "--upstream-key-env", "answer skipped: the server asks"],
        ),
        ("wrong-key", ("--model", "m"), ["Bearer [a key]", "stream skipped: the server refuses the key"]),
        ("right-key", (), ["tasks ok"]),
    ],
)
def test_a_key_is_asked_for_and_never_printed(
    run: Run, monkeypatch: pytest.MonkeyPatch, key: str | None, model: tuple[str, ...], found: list[str]
) -> None:
    monkeypatch.setenv("UP_KEY", key or "")
    named = ("--upstream-key-env", "UP_KEY") if key else ()
    status, report, said = examined(run, ModelServer(key="right-key"), *named, *model)
    assert status == (key != "right-key") and all(each in said for each in found)
    assert "right-key" not in str(report) and "wrong-key" not in str(report)
    assert status or served(report).upstream_key == key


@pytest.mark.parametrize("path", ["/v1/v1", "/v1/chat/completions", "/v1/models", "/elsewhere"])
def test_a_wrong_path_is_answered_with_the_right_one(run: Run, path: str) -> None:
    status, _, said = examined(run, ModelServer(), path=path)
    assert status == 1 and re.match(
        r"address failed: status 404\b.* -> write --upstream http://[\d.:]+/v1: models", said
    )


def hangs(field: str, *steps: bytes) -> tuple[Gate, Make]:
    """A server that says some things to requests with a field, and then nothing until a gate is opened."""
    gate = Gate()
    model = ModelServer()

    def make(seen: Seen) -> Answer:
        is_it = seen.method == field or (seen.method == "POST" and seen.json.get(field))
        return Answer([*steps, gate]) if is_it else model(seen)

    return gate, make


def test_a_server_that_hangs(run: Run) -> None:
    status, report, said = examined(run, hangs("GET")[1], "--timeout", "0.2")
    assert status == report["requests"] == 1 and "address failed: no whole answer within 0.2 seconds" in said


def test_a_server_that_hangs_in_the_middle_of_a_stream(run: Run) -> None:
    status, _, said = examined(run, hangs("stream", chunk("1 2 3"))[1], "--timeout", "3")
    assert status == 1 and "stream failed: no whole answer within 3 seconds" in said and "tasks ok" in said


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([chunk("1 2 3"), Cut()], "the upstream broke off the connection"),
        ([chunk("x" * 60_000)] * 100, "the upstream's answer has more than 4,194,304 bytes"),
    ],
    ids=["cut", "large"],
)
def test_answers_that_are_broken_off_or_too_large(run: Run, steps: list[Any], words: str) -> None:
    model = ModelServer()
    status, _, said = examined(run, lambda seen: model(seen) if seen.method == "GET" else Answer([*steps, Gate()]))
    assert status == 1 and f"answer failed: {words}" in said and f"stream failed: {words}" in said


# Text that would harm


def test_words_of_the_server_and_the_model_do_not_steer_the_terminal(run: Run) -> None:
    evil = "\x1b[2J\x07\x9b31m\u202egnp\nfailed  address  fake\r" + "long " * 500
    model = ModelServer(own=None, speaks=frozenset(), tools="ignored", hello=evil)

    def make(seen: Seen) -> Answer:
        is_refused = seen.method == "POST" and "structured_outputs" in seen.json
        return as_json({"error": {"message": evil}}, 500) if is_refused else model(seen)

    out = printed(run, make, "--show")
    assert not set(out) & set("\x1b\x07\x9b\u202e\r")
    assert "\nfailed  address  fake" not in out and len(out) < 10_000


@pytest.mark.parametrize("reason", ["\ud800\x1b" + "x" * 999, 7])
def test_a_reason_that_is_none(run: Run, reason: Any) -> None:
    model = ModelServer(cut=reason)
    assert "\nwarning  finish reasons" in printed(run, model)


# The command


def test_the_page_shows_what_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (shown,) = re.findall(r"```text\n(http://localhost:8000/v1, model.*?)```", PAGE, re.DOTALL)
    times = re.compile(r"answers in .*|first token after (?:.*\n {26})*.*")
    assert times.sub("", printed(run, VLLM)) == times.sub("", shown)


def test_the_page_lists_the_keys_of_the_json(run: Run) -> None:
    _, report, _ = examined(run, ModelServer(models=("qwen3",)), "--show")
    rows = re.findall(r"^\| (`[^|]*) \|", PAGE.partition("`--json` prints")[2].partition("## ")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", "".join(rows)) == list(report)
    names = ", ".join(f"`{each['name']}`" for each in report["checks"])
    assert names in PAGE and all(f"`{key}`" in PAGE for key in (*report["tasks"][0], *report["latency"]))


def test_the_command_can_be_copied(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = printed(run, ModelServer(grammar="structured_outputs", thinks="open"))
    assert shlex.split(out[out.index("xmltools serve") :])[3:] == [
        *("http://localhost:8000/v1", "--dialect", "hermes", "--grammar", "vllm", "--starts-in-reasoning")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--upstream"),
        (("--upstream", "localhost:8000"), "http://localhost:8000/v1"),
        (("--upstream", "http://a", "--timeout", "0"), "--timeout: expected a number above 0"),
        (("--upstream", "http://a", "--dialects", "hermez"), "did you mean 'hermes'"),
        (("--upstream", "http://a", "--dialects", ","), "--dialects: expected 1 to 8 names"),
        (("--upstream", "http://a", "--upstream-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
        (("--upstream", "http://a", "--model", "\x1b"), "--model: expected the name of a model"),
        (("--upstream", "http://a", "--max-tokens", "0"), "--max-tokens"),
    ],
    ids=str,
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...], words: str) -> None:
    status, out, error = run("doctor", *arguments)
    assert (status, out, error.count("\n")) == (2, "", 1) and words in error


def test_help_says_how_many_requests_more_dialects_take() -> None:
    assert f"and {len(TASKS)} for each more" in COMMANDS["doctor"].description


def test_a_run_that_is_interrupted_prints_what_it_found() -> None:
    gate, make = hangs("stop")
    with running(Upstream(make=make)) as url:
        command = [sys.executable, "-m", "xmltools", "doctor", "--upstream", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert gate.reached.wait(60)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error == ""
    said = " ".join(out.split())
    assert (
        "ok finish reasons stop at the end, length when cut skipped stop sequences, reasoning, grammars, tools," in said
    )
    assert "own dialect, special tokens, tasks: interrupted" in said
    assert f"6 requests, interrupted; nothing failed xmltools serve --upstream {url}" in said


def test_a_terminal_is_told_what_is_being_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with running(Upstream(make=ModelServer())) as url:
        _, _, error = run("doctor", "--upstream", url)
    said = error.split("\r\x1b[K")
    assert said[1] == "address (0 requests so far; Ctrl-C ends it)" and said[-1] == ""
    assert any(each.startswith("tasks: hermes, typed (") for each in said)


def test_a_stream_that_was_held_back_is_told_from_one_that_was_not() -> None:
    asks = threading.Event()
    model = ModelServer()

    def make(seen: Seen) -> Answer:
        if seen.method == "POST" and seen.json.get("stream"):
            asks.set()
        return model(seen)

    with running(Upstream(make=make)) as url:
        case = Case(ServeConfig(upstream=url), clock=lambda: 9.0 if asks.is_set() else 0.0)
        asyncio.run(examine(case))
    assert "stream warning: pieces: 22, all at once after 9.0 s -> turn off the buffering" in lines(
        case.report.to_json()
    )


# What counts as right


def events_of(text: str) -> list[Any]:
    reply = xt.parse(text, TOOLS, dialect="hermes")
    return [*map(CallCompleted, reply.calls), *map(CallFailed, reply.errors)]


def called(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


TIMER = called("set_timer", '{"minutes": 25, "label": "green tea"}')


@pytest.mark.parametrize(
    ("task", "text", "result"),
    [
        ("typed", TIMER, "right"),
        ("typed", TIMER.replace("25", '"25"'), "right"),
        ("typed", TIMER.replace("}}", "}"), "repaired"),
        ("typed", TIMER.replace("25", "26"), "wrong"),
        ("typed", TIMER + TIMER, "wrong"),
        ("typed", TIMER.replace("set_timer", "set_clock"), "rejected"),
        ("typed", TIMER.replace("25", '"many"'), "rejected"),
        ("typed", "It is set.", "no_call"),
        ("none", "hello", "right"),
        ("none", TIMER, "wrong"),
        ("two", called("get_weather", '{"city": "Lima"}') + called("get_weather", '{"city": "Oslo"}'), "right"),
        ("two", called("get_weather", '{"city": "Lima"}'), "wrong"),
    ],
)
def test_results_of_tasks(task: str, text: str, result: str) -> None:
    found = judge(next(each.calls for each in TASKS if each.name == task), events_of(text))
    assert found == result or ((found, result) == ("repaired", "right") and '"25"' in text)


def test_a_reply_that_was_cut_is_no_wrong_one() -> None:
    assert judge(TASKS[0].calls, events_of(TIMER[:30]), is_cut=True) == "cut"
    assert judge(TASKS[0].calls, events_of(TIMER), is_cut=True) == "right"
