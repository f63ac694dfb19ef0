"""`xmltools doctor` against servers that are good, odd and broken, over real sockets, as a user runs it."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from xmltools.proxy.doctor import Outcome, Report, Result, examine, most_requests, usual_most
from xmltools.proxy.doctor.examination import STEPS
from xmltools.proxy.doctor.tasks import TASKS, TOOLS, judge
from xmltools.proxy.server import ServeConfig

Run = Callable[..., tuple[int, str, str]]
FORGE_ONLY = ModelServer(own="forge", speaks=frozenset(("forge",)))
PEM = Path(__file__).parent / "localhost.pem"


@contextmanager
def asked(run: Run, make: Callable[[Seen], Answer], *arguments: str) -> Iterator[tuple[int, dict[str, Any], Upstream]]:
    """Examine a server; yield the exit status, the report as JSON, and the server."""
    upstream = Upstream(make=make)
    with running(upstream, server_header=False) as url:
        status, out, error = run("doctor", "--upstream", url, "--json", *arguments)
    assert error == ""
    yield status, json.loads(out), upstream


def examined(run: Run, make: Callable[[Seen], Answer], *arguments: str) -> tuple[int, dict[str, Any]]:
    with asked(run, make, *arguments) as (status, report, _):
        return status, report


def table(run: Run, make: Callable[[Seen], Answer], *arguments: str) -> str:
    """What a user sees in a terminal of 80 columns, with one space for each run of white space."""
    with running(Upstream(make=make)) as url:
        _, out, _ = run("doctor", "--upstream", url, *arguments)
    assert all(len(line) <= 80 for line in out.splitlines())
    return " ".join(out.split())


def outcomes(report: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in report["checks"]}


def check(report: dict[str, Any], name: str) -> tuple[str, str, str]:
    """The outcome, the detail and the advice of a check."""
    found = next(each for each in report["checks"] if each["name"] == name)
    return found["outcome"], found["detail"], found["advice"]


def served(report: dict[str, Any]) -> ServeConfig:
    """What `xmltools serve` makes of the line that is suggested."""
    program, *words = report["serve"]
    assert program == "xmltools"
    options = _parse_arguments(words)
    assert options.command == "serve"
    made: ServeConfig = cli_serve._config(options)
    return made


def test_a_server_like_vllm(run: Run) -> None:
    server = ModelServer(
        models=("Qwen/Qwen3-8B",),
        owner="vllm",
        tools="left with none",
        grammar="structured_outputs",
        speaks=frozenset(("hermes", "forge")),
    )
    with asked(run, server) as (status, report, upstream):
        assert status == 0 and report["ok"] and report["engine"] == "vllm"
        assert report["requests"] == len(upstream.seen) <= usual_most()
    assert report["grammars"] == {
        "vllm": "obeyed",
        "sglang": "ignored",
        "llama.cpp": "ignored",
        "tensorrt-llm": "ignored",
    }
    assert report["own_dialect"] == report["named_dialect"] == "hermes"
    assert check(report, "tools")[0] == "warning" and "--enable-auto-tool-choice" in check(report, "tools")[1]
    assert [(each["dialect"], each["prompt"], each["grammar"], each["right"]) for each in report["tasks"]] == [
        ("hermes", "ours", None, 5),
        ("forge", "ours", None, 5),
        ("hermes", "upstream", None, 5),
        ("hermes", "ours", "vllm", 5),
    ]
    settings = served(report).settings
    assert (settings.dialect, settings.prompt, settings.engine) == ("hermes", "ours", "vllm")


def test_a_server_like_ollama_which_ignores_what_it_does_not_know(run: Run) -> None:
    status, report = examined(run, ModelServer(models=("qwen3:8b",), owner="library", tools="parsed"))
    assert status == 0 and report["engine"] == "ollama" and report["named_dialect"] == "hermes"
    assert set(report["grammars"].values()) == {"ignored"} and outcomes(report)["grammars"] == "warning"
    assert "tool_calls" in check(report, "tools")[1]
    native = report["tasks"][-1]
    assert native["dialect"] is None and native["right"] == 5
    assert "the server's own calls are as good" in check(report, "tasks")[2]
    assert served(report).settings.dialect == "hermes"


def test_a_server_like_llama_cpp_which_obeys_grammars_and_drops_special_tokens(run: Run) -> None:
    server = ModelServer(
        models=("DeepSeek-V3.1",),
        headers={"server": "llama.cpp"},
        tools="parsed",
        grammar="grammar",
        own="deepseek_v3",
        speaks=frozenset(("deepseek_v3",)),
        special="stripped",
        thinks="open",
    )
    status, report = examined(run, server)
    assert status == 0 and report["engine"] == "llama.cpp" and report["grammars"]["llama.cpp"] == "obeyed"
    assert check(report, "special_tokens")[0] == "warning" and "--special" in check(report, "special_tokens")[2]
    assert "--starts-in-reasoning" in check(report, "reasoning")[2]
    settings = served(report).settings
    assert (settings.dialect, settings.engine, settings.starts_in_reasoning) == ("deepseek_v3", "llama.cpp", True)


def test_the_chat_template_of_the_server_is_one_more_way(run: Run) -> None:
    glm = "<tool_call>{{ c }}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value></tool_call>"
    llama_cpp = {"models": ("mine",), "headers": {"server": "llama.cpp"}}
    ollama = {"models": ("mine",), "owner": "library"}
    for server, answers in (
        (llama_cpp, {"/props": {"chat_template": glm}}),
        (ollama, {"/api/show": {"template": glm}}),
    ):

        def answer(seen: Seen, answers: dict[str, Any] = answers) -> Answer | None:
            found = answers.get(seen.target)
            return None if found is None else Answer([json.dumps(found).encode()])

        model = ModelServer(own=None, speaks=frozenset(("glm",)), **server)
        with running(upstream := Upstream(make=model, templates=answer), server_header=False) as url:
            _, out, _ = run("doctor", "--upstream", f"{url}/v1", "--json")
        report = json.loads(out)
        assert [seen.target for seen in upstream.asked] == list(answers)
        assert (report["template_dialect"], report["named_dialect"]) == ("glm", None)
        assert "glm by its chat template" in check(report, "own_dialect")[1]
        assert served(report).settings.dialect == "glm"


def test_a_server_that_refuses_unknown_fields(run: Run) -> None:
    with asked(run, ModelServer(strict=True, own=None, speaks=frozenset(("forge", "hermes")))) as (status, report, _):
        assert status == 0
    assert set(report["grammars"].values()) == {"refused"}
    assert check(report, "special_tokens")[1] == "skip_special_tokens is refused: serve leaves it out"
    assert [(each["dialect"], each["right"]) for each in report["tasks"]] == [("forge", 5), ("hermes", 5)]
    assert served(report).settings.dialect == "forge"


def test_a_server_that_does_not_stream(run: Run) -> None:
    status, report = examined(run, ModelServer(streams=False))
    assert status == 1 and not report["ok"]
    assert check(report, "stream")[:2] == ("failed", "the answer came in one piece, though a stream was asked for")
    assert outcomes(report)["latency"] == "skipped" and outcomes(report)["tasks"] == "ok"


def test_a_server_that_gives_no_reason_and_no_usage(run: Run) -> None:
    status, report = examined(run, ModelServer(finish=False, usage=False))
    assert status == 0
    assert check(report, "finish_reasons")[:2] == ("warning", "none at the end, none when cut")
    assert check(report, "stream")[0] == "warning" and "no usage" in check(report, "stream")[1]


@pytest.mark.parametrize(
    ("cut", "words"), [("stop", "stop at the end, stop when cut"), (None, "a limit of 5 tokens is not heeded")]
)
def test_replies_that_are_cut(run: Run, cut: str | None, words: str) -> None:
    assert check(examined(run, ModelServer(cut=cut))[1], "finish_reasons")[:2] == ("warning", words)


def test_a_model_that_needs_more_tokens_than_it_gets(run: Run) -> None:
    outcome, _, advice = check(examined(run, ModelServer(), "--max-tokens", "20")[1], "finish_reasons")
    assert outcome == "warning" and "raise --max-tokens" in advice


def test_a_stream_in_few_pieces(run: Run) -> None:
    outcome, detail, _ = check(examined(run, ModelServer(size=500))[1], "stream")
    assert (outcome, detail) == ("warning", "only 1 piece for 110 characters")


def test_a_server_that_refuses_what_serve_asks_of_streams(run: Run) -> None:
    status, report = examined(run, ModelServer(refused={"stream_options": "stream_options: unknown"}))
    assert status == 1
    assert check(report, "stream")[:2] == ("failed", "status 400: stream_options: unknown")


def test_an_answer_that_says_nothing_fails(run: Run) -> None:
    status, report = examined(run, ModelServer(hello=""))
    assert status == 1 and check(report, "answer")[:2] == ("failed", "the answer is empty")
    assert outcomes(report)["stream"] == "ok"


def test_calls_in_the_text_are_a_way_also_if_special_tokens_are_refused(run: Run) -> None:
    server = ModelServer(tools="left", refused={"skip_special_tokens": "skip_special_tokens: not permitted"})
    with asked(run, server) as (_, report, upstream):
        assert "left in the text" in check(report, "tools")[1]
    assert [(each["dialect"], each["prompt"]) for each in report["tasks"] if each["right"] == 5] == [
        ("hermes", "ours"),
        ("hermes", "upstream"),
    ]
    assert sum(b"skip_special_tokens" in seen.body for seen in upstream.seen) == 1  # it is refused once


def test_a_stream_without_any_end_fails(run: Run) -> None:
    status, report = examined(run, ModelServer(finish=False, done=False))
    assert status == 1 and "without a finish reason and without [DONE]" in check(report, "stream")[1]


@pytest.mark.parametrize(
    ("stop", "words"), [("heeded", "left out"), ("ignored", "not heeded"), ("left in", "left in the text")]
)
def test_stop_sequences(run: Run, stop: str, words: str) -> None:
    outcome, detail, _ = check(examined(run, ModelServer(stop=stop))[1], "stop_sequences")
    assert words in detail and (outcome == "ok") == (stop == "heeded")


@pytest.mark.parametrize(("thinks", "words"), [("apart", "told apart"), ("tags", "in <think>"), ("", "none")])
def test_reasoning(run: Run, thinks: str, words: str) -> None:
    status, report = examined(run, ModelServer(thinks=thinks))
    assert status == 0 and words in check(report, "reasoning")[1]
    assert "--starts-in-reasoning" not in report["serve"]


def test_a_model_that_knows_one_dialect_is_served_in_that(run: Run) -> None:
    _, report = examined(run, FORGE_ONLY)
    assert report["own_dialect"] == "forge" and served(report).settings.dialect == "forge"
    results = {each["dialect"]: each for each in report["tasks"]}
    assert results["forge"]["right"] == 5
    assert results["hermes"]["results"] == dict.fromkeys(("typed", "text", "nested", "two"), "no_call") | {
        "none": "right"
    }


def test_dialects_can_be_chosen(run: Run) -> None:
    server = ModelServer(own="glm", speaks=frozenset(("glm", "qwen3_coder")))
    _, report = examined(run, server, "--dialects", "qwen3_coder, mistral")
    assert [each["dialect"] for each in report["tasks"]] == ["qwen3_coder", "mistral"]
    assert report["own_dialect"] == "glm" and served(report).settings.dialect == "qwen3_coder"


def test_calls_that_only_the_server_reads_are_passed_on(run: Run) -> None:
    status, report = examined(run, ModelServer(tools="parsed", own=None, speaks=frozenset()))
    settings = served(report).settings
    assert status == 0 and (settings.prompt, settings.dialect) == ("upstream", "auto")


def test_calls_that_the_server_leaves_in_the_text(run: Run) -> None:
    _, report = examined(run, ModelServer(tools="left", own="glm", speaks=frozenset()))
    assert "left in the text, in glm" in check(report, "tools")[1]
    assert {(each["dialect"], each["prompt"]): each["right"] for each in report["tasks"]}["glm", "upstream"] == 5


def test_special_tokens_are_asked_for_where_calls_may_be_spelled_with_them(run: Run) -> None:
    server = ModelServer(tools="left", own="deepseek_v3", speaks=frozenset(("deepseek_v3",)), special="on demand")
    _, report = examined(run, server)
    assert "left in the text, in deepseek_v3" in check(report, "tools")[1]
    assert "is kept" in check(report, "special_tokens")[1]
    assert {(each["dialect"], each["prompt"]): each["right"] for each in report["tasks"]} == {
        ("deepseek_v3", "ours"): 5,
        ("forge", "ours"): 1,
        ("hermes", "ours"): 1,
        ("deepseek_v3", "upstream"): 5,
    }


def test_a_model_that_calls_nothing_fails(run: Run) -> None:
    server = ModelServer(own=None, speaks=frozenset(), tools="ignored")
    status, report = examined(run, server)
    assert status == 1 and report["serve"] is None
    assert check(report, "tasks")[:2] == ("failed", "forge: no call was right")
    assert "said" not in report["tasks"][0]
    assert examined(run, server, "--show")[1]["tasks"][0]["said"]["typed"] == "I would do that, if I could."


def test_what_a_server_does_not_take_of_sampling_is_not_sent_again(run: Run) -> None:
    refused = {
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    }
    with asked(run, ModelServer(refused=refused)) as (status, report, upstream):
        assert status == 0
        assert "max_completion_tokens" in check(report, "answer")[1] and "temperature" in check(report, "answer")[1]
        bodies = [seen.json for seen in upstream.seen if seen.method == "POST"]
    assert [sum(name in body for body in bodies) for name in ("temperature", "max_tokens")] == [1, 2]


# Models


def test_the_first_of_several_models_is_asked_and_the_others_are_named(run: Run) -> None:
    _, report = examined(run, ModelServer(models=("a", "b", "c")))
    assert report["model"] == "a" and check(report, "models") == (
        "warning",
        "3 models; this is about the first, a",
        "name another with --model: b, c",
    )


def test_the_model_that_is_named_is_asked(run: Run) -> None:
    with asked(run, ModelServer(models=("a", "b")), "--model", "b") as (_, report, upstream):
        assert report["model"] == "b" and outcomes(report)["models"] == "ok"
        assert {seen.json["model"] for seen in upstream.seen if seen.method == "POST"} == {"b"}
    assert check(examined(run, ModelServer(), "--model", "z")[1], "models") == (
        "warning",
        "z is not in the list",
        "there are: m",
    )


def test_a_server_without_a_list_needs_the_name_of_a_model(run: Run) -> None:
    def make(seen: Seen) -> Answer:
        return as_json({}, 404) if seen.method == "GET" else ModelServer()(seen)

    status, report = examined(run, make)
    assert status == 1 and "--model" in check(report, "models")[2]
    assert check(report, "answer") == ("skipped", "no model is known", "")
    status, report = examined(run, make, "--model", "m")
    assert status == 0 and outcomes(report)["models"] == "warning" and outcomes(report)["tasks"] == "ok"


# Servers that can't be used


def test_a_closed_port(run: Run, unused_url: str) -> None:
    status, out, error = run("doctor", "--upstream", unused_url)
    assert status == 1 and error == ""
    said = " ".join(out.split())
    assert "can't be reached: Connection refused -> start the server" in said
    assert "tasks: there is no server at the address" in said and "xmltools serve" not in said


@pytest.fixture
def unused_url() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.mark.parametrize("host", ["nobody.invalid", "no..body"])
def test_a_host_that_is_not_there(run: Run, host: str) -> None:
    _, out, _ = run("doctor", "--upstream", f"http://{host}/v1", "--json")
    assert check(json.loads(out), "address")[2] == "check the name of the host"


def test_a_certificate_of_nobody_and_a_port_without_tls(run: Run) -> None:
    with running(Upstream(make=ModelServer()), ssl_certfile=str(PEM)) as url:
        _, out, _ = run("doctor", "--upstream", url.replace("http:", "https:"), "--json")
    assert "use a certificate of a usual authority" in check(json.loads(out), "address")[2]
    with running(Upstream(make=ModelServer())) as url:
        _, out, _ = run("doctor", "--upstream", url.replace("http:", "https:"), "--json")
    assert "write http://" in check(json.loads(out), "address")[2]


def test_a_key_that_is_missing_or_wrong_is_asked_for_and_never_printed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ModelServer(key="right-key")
    status, report = examined(run, server)
    assert status == 1 and outcomes(report)["address"] == "ok"
    assert check(report, "models")[1] == "status 401" and "--upstream-key-env" in check(report, "models")[2]
    assert check(report, "answer") == ("skipped", "the server asks for a key", "")

    monkeypatch.setenv("UP_KEY", "wrong-key")
    with running(Upstream(make=server)) as url:
        status, out, _ = run("doctor", "--upstream", url, "--upstream-key-env", "UP_KEY", "--model", "m", "--json")
    report = json.loads(out)
    assert status == 1 and "wrong-key" not in out and "Bearer [a key]" in check(report, "answer")[1]
    assert check(report, "stream") == ("skipped", "the server refuses the key", "")

    monkeypatch.setenv("UP_KEY", "right-key")
    with running(Upstream(make=server)) as url:
        status, out, _ = run("doctor", "--upstream", url, "--upstream-key-env", "UP_KEY", "--json")
    assert status == 0 and "right-key" not in out
    assert served(json.loads(out)).upstream_key == "right-key"


@pytest.mark.parametrize("path", ["/v1/v1", "/v1/chat/completions", "/v1/models", "/elsewhere"])
def test_a_wrong_path_is_answered_with_the_right_one(run: Run, path: str) -> None:
    with running(Upstream(make=ModelServer())) as url:
        status, out, _ = run("doctor", "--upstream", url + path, "--json")
        outcome, detail, advice = check(json.loads(out), "address")
        assert status == 1 and (outcome, detail) == ("failed", "status 404")
        assert advice == f"write --upstream {url}/v1: models are listed there"


def test_a_web_page(run: Run) -> None:
    page = Answer([b"<!doctype html><html><body>Log in</body></html>"], 200, {"content-type": "text/html"})
    said = table(run, lambda seen: page)
    assert "failed address the answer is a web page, no JSON -> give the address of the API" in said
    said = table(run, lambda seen: page if seen.method == "POST" else ModelServer()(seen))
    assert "failed answer the answer is a web page" in said and "failed stream the answer is a web page" in said
    assert "grammars, tools, own dialect, special tokens, tasks: there was no answer" in said


def test_a_redirect(run: Run) -> None:
    away = Answer([], 307, {"location": "http://127.0.0.1:1/v1/models"})
    outcome, detail, _ = check(examined(run, lambda seen: away)[1], "address")
    assert (outcome, detail) == ("failed", "status 307, which leads elsewhere")


def test_a_server_that_hangs(run: Run) -> None:
    gate = Gate()  # never opened
    with running(Upstream(make=lambda seen: Answer([], before=gate))) as url:
        status, out, _ = run("doctor", "--upstream", url, "--timeout", "0.2", "--json")
    report = json.loads(out)
    assert status == 1 and check(report, "address")[1] == "no whole answer within 0.2 seconds"
    assert report["requests"] == 1


def test_a_server_that_hangs_in_the_middle_of_a_stream(run: Run) -> None:
    gate = Gate()

    def make(seen: Seen) -> Answer:
        if seen.method == "POST" and seen.json.get("stream"):
            return Answer([chunk("1 2 3"), gate])
        return ModelServer()(seen)

    status, report = examined(run, make, "--timeout", "3")
    assert status == 1 and check(report, "stream")[1] == "no whole answer within 3 seconds"
    assert outcomes(report)["tasks"] == "ok"


def test_a_server_that_cuts_off(run: Run) -> None:
    def make(seen: Seen) -> Answer:
        if seen.method == "GET":
            return ModelServer()(seen)
        return Answer([chunk("1 2 3"), Cut()])

    status, report = examined(run, make)
    assert status == 1
    assert check(report, "answer")[:2] == check(report, "stream")[:2]
    assert check(report, "stream")[:2] == ("failed", "the upstream broke off the connection")


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"choices": []}', b'{"choices": 7}', b"\xff\xfe", b"[" * 9999])
def test_what_is_no_completion(run: Run, body: bytes) -> None:
    def make(seen: Seen) -> Answer:
        return ModelServer()(seen) if seen.method == "GET" else Answer([body], 200, {"content-type": "text/json"})

    status, report = examined(run, make)
    assert status == 1 and outcomes(report)["answer"] == outcomes(report)["stream"] == "failed"


def test_answers_that_are_too_large_are_left(run: Run) -> None:
    def make(seen: Seen) -> Answer:
        return ModelServer()(seen) if seen.method == "GET" else Answer([*[chunk("x" * 60_000)] * 100, Gate()])

    status, report = examined(run, make)
    assert status == 1 and "more than 4,194,304 bytes" in check(report, "stream")[1]


# Text that would harm


def test_words_of_the_server_and_the_model_do_not_steer_the_terminal(run: Run) -> None:
    evil = "\x1b[2J\x07\x9b31m\u202egnp\nfailed  address  fake\r" + "long " * 500

    def make(seen: Seen) -> Answer:
        if seen.method == "POST" and "structured_outputs" in seen.json:
            return as_json({"error": {"message": evil}}, 500)
        return ModelServer(own=None, speaks=frozenset(), tools="ignored", hello=evil)(seen)

    with running(Upstream(make=make)) as url:
        _, out, error = run("doctor", "--upstream", url, "--show")
    assert not set(out) & set("\x1b\x07\x9b\u202e\r") and error == ""
    assert "\nfailed  address  fake" not in out and len(out) < 10_000
    assert all(len(line) <= 80 for line in out.splitlines())


def test_names_of_models_that_are_no_names_are_passed_over(run: Run) -> None:
    _, report = examined(run, ModelServer(models=("\x1b[2J", "m")))
    assert report["model"] == "m"


# The command


def test_a_table_for_people(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = table(run, ModelServer(models=("Qwen/Qwen3-8B",), grammar="structured_outputs"))
    assert "ok stream 22 pieces, usage, [DONE]" in said
    assert "ok tasks best: hermes, grammar for vllm, 5 of 5 right" in said
    assert "forge 1 right, 4 no call (typed, text, nested, two)" in said
    assert "requests; all that serve needs works xmltools serve --upstream http" in said


def test_the_page_shows_what_is_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    server = ModelServer(models=("Qwen/Qwen3-8B",), owner="vllm", tools="left with none", grammar="structured_outputs")
    with running(Upstream(make=server)) as url:
        _, out, _ = run("doctor", "--upstream", f"{url}/v1")
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
    (shown,) = re.findall(r"```text\n(http://localhost:8000/v1, model.*?)```", page, re.DOTALL)
    times = re.compile(r"answers in .*|first token after (?:.*\n {26})*.*")
    assert times.sub("", out.replace(url, "http://localhost:8000")) == times.sub("", shown)


def test_the_page_lists_the_keys_of_the_json(run: Run) -> None:
    _, report = examined(run, ModelServer(models=("qwen3",)), "--show")
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|", page.partition("`--json` prints")[2].partition("## ")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", "".join(rows)) == list(report)
    names = ", ".join(f"`{each['name']}`" for each in report["checks"])
    assert names in page and all(f"`{key}`" in page for key in (*report["tasks"][0], *report["latency"]))


def test_the_command_in_the_table_can_be_copied(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with running(Upstream(make=ModelServer(grammar="structured_outputs", thinks="open"))) as url:
        _, out, _ = run("doctor", "--upstream", url)
    line = out[out.index("xmltools serve") :]
    assert line.count("\\\n") == 1 and all(len(each) <= 60 for each in line.splitlines())
    assert shlex.split(line.replace("\\\n", " ")) == [
        *("xmltools", "serve", "--upstream", url, "--dialect", "hermes", "--grammar", "vllm", "--starts-in-reasoning")
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


def test_help_says_how_many_requests_there_are() -> None:
    assert f"at most {usual_most()} requests" in COMMANDS["doctor"].description
    assert f"and {most_requests(2) - most_requests(1)} for each more" in COMMANDS["doctor"].description


def test_an_examination_that_is_interrupted_ends_with_what_is_known() -> None:
    gate = Gate()

    def make(seen: Seen) -> Answer:
        if seen.method == "POST" and "grammar" in seen.json:
            return Answer([], before=gate)
        return ModelServer()(seen)

    async def interrupted(report: Report, url: str) -> None:
        task = asyncio.create_task(examine(report, ServeConfig(upstream=url)))
        await asyncio.to_thread(gate.reached.wait, 20)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    with running(Upstream(make=make)) as url:
        report = Report(url)
        asyncio.run(interrupted(report, url))
    assert [each.name for each in report.checks] == [step.name for step in STEPS]
    assert report.is_interrupted and not report.is_ok and report.serve is not None
    assert report.outcome("stream") is Outcome.OK
    assert {each.detail for each in report.checks if each.outcome is Outcome.SKIPPED} == {"interrupted"}
    assert report.requests == 9


def test_a_run_that_is_interrupted_prints_what_it_found() -> None:
    gate = Gate()

    def make(seen: Seen) -> Answer:
        return Answer([], before=gate) if seen.method == "POST" and "stop" in seen.json else ModelServer()(seen)

    with running(Upstream(make=make)) as url:
        command = [sys.executable, "-m", "xmltools", "doctor", "--upstream", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert gate.reached.wait(60)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error == ""
    assert "ok       finish reasons   stop at the end, length when cut\nskipped  stop sequences, reasoning" in out
    assert "interrupted; nothing had failed" in out and "as far as is known:\nxmltools serve --upstream" in out


def test_a_terminal_is_told_what_is_being_checked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with running(Upstream(make=ModelServer())) as url:
        _, _, error = run("doctor", "--upstream", url)
    said = error.split("\r\x1b[K")
    assert said[1] == "address (0 requests so far; Ctrl-C ends it)" and said[-1] == ""
    assert any(each.startswith("tasks: hermes, typed (") for each in said)


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
        ("typed", TIMER, Result.RIGHT),
        ("typed", TIMER.replace("25", '"25"'), Result.RIGHT),
        ("typed", TIMER.replace("}}", "}"), Result.REPAIRED),
        ("typed", TIMER.replace("25", "26"), Result.WRONG),
        ("typed", TIMER + TIMER, Result.WRONG),
        ("typed", TIMER.replace("set_timer", "set_clock"), Result.REJECTED),
        ("typed", TIMER.replace("25", '"many"'), Result.REJECTED),
        ("typed", "It is set.", Result.NO_CALL),
        ("none", "hello", Result.RIGHT),
        ("none", TIMER, Result.WRONG),
        ("two", called("get_weather", '{"city": "Lima"}') + called("get_weather", '{"city": "Oslo"}'), Result.RIGHT),
        ("two", called("get_weather", '{"city": "Lima"}'), Result.WRONG),
    ],
)
def test_results_of_tasks(task: str, text: str, result: Result) -> None:
    found = judge(next(each for each in TASKS if each.name == task), events_of(text))
    assert found is result or ((found, result) == (Result.REPAIRED, Result.RIGHT) and '"25"' in text)


def test_a_reply_that_was_cut_is_no_wrong_one() -> None:
    assert judge(TASKS[0], events_of(TIMER[:30]), is_cut=True) is Result.CUT
    assert judge(TASKS[0], events_of(TIMER), is_cut=True) is Result.RIGHT


def test_a_stream_that_was_held_back_is_told_from_one_that_was_not() -> None:
    asks = threading.Event()

    def make(seen: Seen) -> Answer:
        if seen.method == "POST" and seen.json.get("stream"):
            asks.set()
        return ModelServer()(seen)

    with running(Upstream(make=make)) as url:
        report = Report(url)
        config = ServeConfig(upstream=url)
        asyncio.run(examine(report, config, clock=lambda: 9.0 if asks.is_set() else 0.0))
    assert report.outcome("stream") is Outcome.WARNING
    assert any("all at once after 9.0 s" in each.detail for each in report.checks)
