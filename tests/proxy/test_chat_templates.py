"""`--dialect auto` asks the upstream for its chat templates, over real sockets; no trouble with that is anybody's."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from proxy.test_server_upstream import Answer, Cut, Gate, Seen, Upstream, reply, world
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, chat_templates
from xmltools.proxy.server.chat_templates import ToldDialects, llama_cpp_template, ollama_template

LFM2 = "{{ '<|tool_call_start|>[' + calls + ']<|tool_call_end|>' }}"
GLM = "<tool_call>{{ .Name }}<arg_key>{{ .Key }}</arg_key><arg_value>{{ .Value }}</arg_value></tool_call>"
CODER = "<tool_call><function={{ f }}><parameter={{ k }}>\n{{ v }}\n</parameter></function></tool_call>"
SIGNS = {"lfm2": "<|tool_call_start|>", "glm": "<arg_key>", "qwen3_coder": "<function=", "hermes": '{"name": '}


def said(value: Any, status: int = 200) -> Answer:
    return Answer([json.dumps(value).encode()], status, {"content-type": "application/json"})


def llama_cpp(template: str = LFM2, **more: str) -> Callable[[Seen], Answer | None]:
    props = said({"chat_template": template, "total_slots": 1, **more})
    return lambda seen: props if (seen.method, seen.target) == ("GET", "/props") else None


def ollama(**templates: str) -> Callable[[Seen], Answer | None]:
    def answer(seen: Seen) -> Answer | None:
        if (seen.method, seen.target) == ("GET", "/api/version"):
            return said({"version": "0.12.3"})
        if (seen.method, seen.target) == ("POST", "/api/show"):
            name = seen.json["model"]
            return said({"template": templates[name], "license": "x" * 10_000}) if name in templates else None
        return None

    return answer


def dialect_in(seen: Seen) -> str:
    """The dialect in which a prompt asks for calls."""
    prompt = seen.json["messages"][0]["content"]
    return next((name for name, sign in SIGNS.items() if sign in prompt), "forge")


def asked(upstream: Upstream) -> list[str]:
    return [seen.target for seen in upstream.asked]


def test_llama_cpp_is_asked_once_for_whatever_model(caplog: pytest.LogCaptureFixture) -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp())
    with caplog.at_level(logging.INFO, "xmltools.serve"), world(upstream) as it:
        for model in ("m", "Qwen/Qwen3-8B", "m"):
            assert it.post(model=model).status_code == 200
    assert [dialect_in(seen) for seen in upstream.seen] == ["lfm2"] * 3
    assert asked(upstream) == ["/props"]
    (line,) = [each.getMessage() for each in caplog.records if "chat template" in each.getMessage()]
    assert line == "the model writes lfm2, by the chat template of the upstream"
    assert not any("{{" in each.getMessage() for each in caplog.records)


def test_ollama_is_asked_once_for_each_model() -> None:
    upstream = Upstream(make=reply("Hi"), templates=ollama(mine=GLM, coder=CODER, plain="{{ .Prompt }}"))
    with world(upstream) as it:
        for model in ("mine", "coder", "mine", "qwen3:8b", "plain"):
            assert it.post(model=model).status_code == 200
    assert [dialect_in(seen) for seen in upstream.seen] == ["glm", "qwen3_coder", "glm", "hermes", "forge"]
    assert asked(upstream) == ["/props", "/api/version", *["/api/show"] * 4]


def test_a_template_that_tells_nothing_leaves_it_to_the_name() -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp("{{ messages }}"))
    with world(upstream) as it:
        it.post(model="Qwen/Qwen3-8B")
        it.post(model="mine")
    assert [dialect_in(seen) for seen in upstream.seen] == ["hermes", "forge"]


def test_the_template_for_tools_comes_first() -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp("x", chat_template_tool_use=CODER))
    with world(upstream) as it:
        it.post()
    assert dialect_in(upstream.seen[0]) == "qwen3_coder"


def test_a_dialect_without_prompts_is_read_beside_forges() -> None:
    action = "<|START_ACTION|>[{{ calls }}]<|END_ACTION|>"
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp(action))
    with world(upstream) as it:
        it.post()
    assert dialect_in(upstream.seen[0]) == "forge"


def test_other_upstreams_are_asked_no_more() -> None:
    upstream = Upstream(make=reply("Hi"))
    with world(upstream) as it:
        for _ in range(3):
            it.post(model="Qwen/Qwen3-8B")
    assert asked(upstream) == ["/props", "/api/version"]
    assert [dialect_in(seen) for seen in upstream.seen] == ["hermes"] * 3


@pytest.mark.parametrize("dialect", ["forge", "glm"])
def test_nobody_is_asked_for_a_dialect_that_is_given(dialect: str) -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp())
    with world(upstream, settings=Settings(dialect=dialect, dialects={"coder": "qwen3_coder"})) as it:
        it.post(model="m")
        it.post(model="coder")
    assert (asked(upstream), [dialect_in(seen) for seen in upstream.seen]) == ([], [dialect, "qwen3_coder"])


def test_dialects_that_are_given_for_a_model_come_before_those_of_the_upstream() -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp())
    with world(upstream, settings=Settings(dialects={"coder": "qwen3_coder"})) as it:
        it.post(model="coder")
        it.post(model="m")
    assert [dialect_in(seen) for seen in upstream.seen] == ["qwen3_coder", "lfm2"]


def test_long_requests_and_those_that_are_read_elsewhere_know_it_too() -> None:
    upstream = Upstream(make=reply("Hi"), templates=ollama(mine=GLM))
    long = [{"role": "user", "content": "x" * 500_000}]
    with world(upstream) as it:
        assert it.post(model="mine", messages=long).status_code == 200
    assert dialect_in(upstream.seen[0]) == "glm"


def test_the_key_goes_along_and_the_questions_are_beside_v1() -> None:
    upstream = Upstream(make=reply("Hi"), templates=llama_cpp())
    with world(upstream, upstream_key="sk") as it:
        it.post()
    (seen,) = upstream.asked
    assert (seen.header("authorization"), seen.header("cookie")) == ("Bearer sk", None)


TROUBLE = {
    "broken off": lambda: Answer([b'{"chat_', Cut()]),
    "no JSON": lambda: Answer([b"<html>"]),
    "nested": lambda: Answer([b"[" * 100_000]),
    "a list": lambda: said([]),
    "other types": lambda: said({"chat_template": 5, "version": 5, "template": []}),
    "too long": lambda: said({"chat_template": "x" * (3 << 20)}),
    "refused": lambda: said({}, 401),
    "failed": lambda: said({}, 500),
    "elsewhere": lambda: Answer([b""], 307, {"location": "http://127.0.0.1:1/props"}),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_question_that_fails_breaks_nothing(trouble: str) -> None:
    upstream = Upstream(make=reply("Hi"), templates=lambda seen: TROUBLE[trouble]())
    with world(upstream) as it:
        for _ in range(2):
            answer = it.post(model="Qwen/Qwen3-8B")
            assert answer.status_code == 200 and answer.json()["choices"][0]["message"]["content"] == "Hi"
    assert [dialect_in(seen) for seen in upstream.seen] == ["hermes"] * 2
    assert len(upstream.asked) <= 2


def test_an_upstream_that_does_not_answer_delays_no_one_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_templates, "PATIENCE", 0.2)
    gate = Gate()
    upstream = Upstream(make=reply("Hi"), templates=lambda seen: Answer([gate]))
    with world(upstream) as it:
        began = time.monotonic()
        for _ in range(3):
            assert it.post(model="Qwen/Qwen3-8B").status_code == 200
        assert time.monotonic() - began < 15  # of a busy machine; it would be forever
        gate.open()
    assert asked(upstream) == ["/props"]


def test_the_demo_and_models_that_nobody_told_of_are_not_asked() -> None:
    assert not ToldDialects(ServeConfig(demo=True), None)._is_wanted  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"chat_template": 5, "template": 5}, {"chat_template": "", "template": ""}]
)
def test_an_answer_without_a_template(answer: Any) -> None:
    assert llama_cpp_template(answer) is ollama_template(answer) is None
