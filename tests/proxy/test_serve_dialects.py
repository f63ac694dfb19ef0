"""A model that writes calls in a dialect of its own, behind the server and the transport: it is shown its tools by our
prompt or by its chat template, and what it writes comes out as calls. `test_prompts` has what our prompts say."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import pytest

from proxy.running import serving
from proxy.test_server_clients import ASK, WAYS, chat_call, clients_are_closed, openai_client
from proxy.test_server_upstream import (
    BODIES,
    Answer,
    Gate,
    Seen,
    Upstream,
    chunk,
    reply,
    world,
)
from xmltools.cli import serve as cli_serve
from xmltools.cli.shared import UsageError
from xmltools.errors import XMLToolsError
from xmltools.parser import parse
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig
from xmltools.transport import XMLToolsTransport

openai = pytest.importorskip("openai")

__all__ = ["clients_are_closed"]  # a fixture

CODE = 'x < 1 && "y"\n</parameter>\n<b>\\ 😀'
ARGUMENTS = {"path": "a b.py", "text": CODE}


def call(dialect: str, arguments: dict[str, Any] = ARGUMENTS, name: str = "write") -> str:
    """A call as the model's template lays it out."""
    if dialect == "hermes":
        return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n</tool_call>"
    if dialect == "glm":
        pairs = [f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>\n" for key, value in arguments.items()]
        return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"
    pairs = [f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items()]
    return f"<tool_call>\n<function={name}>\n{''.join(pairs)}</function>\n</tool_call>"


ENDS = {"qwen3_coder": "<|im_end|>", "hermes": "<|im_end|>", "glm": "<|observation|>"}
dialects = pytest.mark.parametrize("dialect", ENDS)


def written(dialect: str) -> str:
    """A reply: reasoning, text, a call, and the token that ends the turn."""
    return f"<think>\nLook: `<tool_call>`.\n</think>\n\nOn it: é 😀\n\n{call(dialect)}{ENDS[dialect]}"


prompts = pytest.mark.parametrize("prompt", ["ours", "upstream"])


def settings(dialect: str, **more: Any) -> dict[str, Any]:
    return {"settings": Settings(dialect=dialect, **more)}


@dialects
def test_arguments_arrive_while_the_model_still_writes_them(dialect: str) -> None:
    text = written(dialect)
    half = text.index("x < 1") + 3
    gate, opened = Gate(), False
    steps = [*(chunk(letter) for letter in text[:half]), gate, chunk(text[half:]), chunk(finish="stop")]
    with world(Upstream(Answer(steps)), **settings(dialect, live_arguments=True)) as it:
        arguments = ""
        for event in openai_client(it.url).chat.completions.create(**ASK, stream=True):
            for each in (event.choices[0].delta.tool_calls or ()) if event.choices else ():
                arguments += each.function.arguments or ""
            if '"x' in arguments and not opened:
                gate.open()  # the rest of the text is sent only after this
                opened = True
    assert json.loads(arguments) == ARGUMENTS


@dialects
def test_long_calls_are_read_whole(dialect: str) -> None:
    long = {"path": "a", "text": "line < 1\n" * 20_000}
    with world(Upstream(make=reply(call(dialect, long))), **settings(dialect)) as it:
        assert chat_call(openai_client(it.url))[1] == [{**long, "text": long["text"]}]


@dialects
def test_the_live_view_shows_what_is_text(dialect: str) -> None:
    with world(Upstream(make=reply(written(dialect))), live=True, **settings(dialect)) as it:
        assert chat_call(openai_client(it.url))[1] == [ARGUMENTS]


@prompts
def test_tools_count_as_tokens(prompt: Any) -> None:
    path, body = "/v1/messages/count_tokens", BODIES["/v1/messages"]
    with world(Upstream(), **settings("hermes", prompt=prompt)) as it:
        many = it.client.post(path, json=body).json()["input_tokens"]
        few = it.client.post(path, json={**body, "tools": []}).json()["input_tokens"]
    assert many > few + 10


@dialects
def test_what_is_read_is_what_the_parser_reads(dialect: str) -> None:
    found = parse(written(dialect), dialect=dialect)
    assert found.text == "On it: é 😀" and found.calls[0].arguments == ARGUMENTS


# An upstream that refuses fields which it does not know


REFUSALS = {
    "an argument": (400, {"error": {"message": "Unrecognized request argument supplied: skip_special_tokens"}}),
    "a property": (400, {"error": {"message": "property 'skip_special_tokens' is unsupported"}}),
    "as pydantic": (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "skip_special_tokens"]}]}),
}
refusals = pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
JSON = {"content-type": "application/json"}


def strict_upstream(refusal: tuple[int, Any]) -> Upstream:
    """An upstream that takes a request only without the field."""
    answer = reply(written("hermes"))

    def make(seen: Seen) -> Answer:
        status, body = refusal
        is_refused = "skip_special_tokens" in seen.json
        return Answer([json.dumps(body).encode()], status, JSON) if is_refused else answer(seen)

    return Upstream(make=make)


def asked_with_field(upstream: Upstream) -> list[bool]:
    return ["skip_special_tokens" in seen.json for seen in upstream.seen]


@refusals
@pytest.mark.parametrize(("client", "ask", "reason"), WAYS, ids=[each[1].__name__ for each in WAYS])
def test_an_added_field_that_is_refused_is_left_out(refusal: Any, client: Any, ask: Any, reason: str) -> None:
    with world(strict_upstream(refusal), **settings("hermes")) as it:
        for _ in range(2):
            assert ask(client(it.url)) == ("On it: é 😀", [ARGUMENTS], reason)
    assert asked_with_field(it.upstream) == [True, False, False]  # it is remembered
    with_field, without, _ = (seen.json for seen in it.upstream.seen)
    assert with_field.pop("skip_special_tokens") is False
    assert with_field == without


@pytest.mark.parametrize("streams", [False, True])
def test_the_transport_leaves_out_an_added_field_too(streams: bool) -> None:
    strict, other = strict_upstream(REFUSALS["a property"]), Upstream(make=reply(written("hermes")))
    with ExitStack() as stack:
        http = stack.enter_context(httpx2.Client(transport=XMLToolsTransport(**settings("hermes"))))
        urls = {id(each): stack.enter_context(serving(each)).url for each in (strict, other)}
        for upstream in (strict, strict, other):
            url = f"{urls[id(upstream)]}/v1"
            client = openai.OpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)
            if streams:
                with client.chat.completions.stream(**ASK) as events:
                    message = events.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(**ASK).choices[0].message
            assert json.loads(message.tool_calls[0].function.arguments) == ARGUMENTS
    assert asked_with_field(strict) == [True, False, False]
    assert asked_with_field(other) == [True]  # it has not refused anything


@pytest.mark.parametrize("stream", [False, True])
def test_other_errors_that_name_the_field_are_passed_on(stream: bool) -> None:
    """It is the client's own, or the request without it is refused as well: nothing is asked for ever."""
    body = json.dumps(REFUSALS["a property"][1]).encode()
    with world(Upstream(make=lambda _: Answer([body], 400, JSON)), **settings("hermes")) as it:
        answer = it.post(stream=stream, skip_special_tokens=True)
        assert (answer.status_code, answer.content, len(it.upstream.seen)) == (400, body, 1)
        answer = it.post(stream=stream)
        assert (answer.status_code, answer.content, len(it.upstream.seen)) == (400, body, 3)


# What makes no sense


def test_settings_that_contradict_a_dialect_are_refused() -> None:
    with pytest.raises(XMLToolsError, match="did you mean 'hermes'"):
        Settings(dialect="herms")
    with pytest.raises(XMLToolsError, match="expected the name of a dialect, got "):
        Settings(dialect=3)  # type: ignore[arg-type]
    with pytest.raises(XMLToolsError, match="a grammar goes with a prompt of ours only"):
        Settings(dialect="glm", engine="vllm", prompt="upstream")
    with pytest.raises(XMLToolsError, match="no grammar can be made for calls in 'functionary'"):
        Settings(dialect="functionary", engine="vllm")
    with pytest.raises(XMLToolsError, match=r"not known how prompts.*prompt='upstream'.*hermes"):
        Settings(dialect="cohere")
    with pytest.raises(XMLToolsError, match="only calls in Forge's dialect name servers"):
        Settings(dialect="glm", server_names=True)
    with pytest.raises(XMLToolsError, match="the demo can't write calls in 'cohere'"):
        ServeConfig(demo=True, settings=Settings(dialect="cohere", prompt="upstream"))
    with pytest.raises(XMLToolsError, match="prompt: expected 'ours' or 'upstream', got 'theirs'"):
        Settings(prompt="theirs")  # type: ignore[arg-type]
    with pytest.raises(XMLToolsError, match="upstream_tool_choice"):
        Settings(upstream_tool_choice="required")  # type: ignore[arg-type]


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli_serve.declare_serve(parser)
    return parser.parse_args([*(words or ("--demo",))])


UPSTREAM = ("--upstream", "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        ((), "auto"),
        (("--dialect", "forge"), "forge"),
        (("--dialect", "glm"), "glm"),
        (("--dialect", "auto"), "auto"),
        (("--model", "Qwen/Qwen3-Coder-480B-A35B-Instruct"), "qwen3_coder"),
    ],
)
def test_the_command_picks_a_dialect(words: tuple[str, ...], dialect: str) -> None:
    config = cli_serve._config(options(*UPSTREAM, *words))
    assert config.settings == Settings(dialect=dialect)


def test_the_command_takes_the_file_of_a_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"chat_template": "{{ '<|tool_call_start|>' + c + '<|tool_call_end|>' }}"}))
    for given in (path, tmp_path):
        assert cli_serve._config(options(*UPSTREAM, "--model", str(given))).settings.dialect == "lfm2"


def test_each_model_has_the_dialect_that_it_was_given() -> None:
    words = ("--dialect", "coder=qwen3_coder", "--dialect", "glm", "--dialect", "a=b=auto")
    settings = cli_serve._config(options(*UPSTREAM, *words)).settings
    assert settings == Settings(dialect="glm", dialects={"coder": "qwen3_coder", "a=b": "auto"})
    assert Settings(**json.loads(json.dumps(asdict(settings)))) == settings
    found = {name: settings.for_model(name).dialect for name in ("coder", "a=b", "other", "x" * 500)}
    assert found == {"coder": "qwen3_coder", "a=b": "forge", "other": "glm", "x" * 500: "glm"}


def test_the_model_that_is_asked_for_is_told_in_its_dialect() -> None:
    upstream = Upstream(make=reply("Hi"))
    with world(upstream, settings=Settings(dialect="auto", dialects={"coder": "qwen3_coder"})) as it:
        it.post(model="coder")
        it.post(model="other")
    first, second = (seen.json["messages"][0]["content"] for seen in upstream.seen)
    assert "<function=" in first and "<function=" not in second


def test_the_command_has_the_other_options_of_a_dialect() -> None:
    words = ("--dialect", "glm", "--prompt", "upstream", "--upstream-tool-choice", "none", "--starts-in-reasoning")
    config = cli_serve._config(options(*UPSTREAM, *words))
    assert config.settings == Settings(
        dialect="glm", prompt="upstream", upstream_tool_choice="none", starts_in_reasoning=True
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*UPSTREAM, "--dialect", "glmm"), "did you mean 'glm'"),
        ((*UPSTREAM, "--dialect", "autoo"), "did you mean 'auto'"),
        ((*UPSTREAM, "--dialect", "a=autoo"), "--dialect: 'a': .*did you mean 'auto'"),
        ((*UPSTREAM, "--dialect", "zzz"), "there are: auto, forge, "),
        ((*UPSTREAM, "--model", "no/such.json"), "--model: 'no/such.json' can't be read"),
        ((*UPSTREAM, "--dialect", "a=glmm"), "--dialect: 'a': .*did you mean 'glm'"),
        ((*UPSTREAM, "--dialect", "glm", "--dialect", "hermes"), "one NAME for all models"),
        ((*UPSTREAM, "--dialect", "a=glm", "--dialect", "a=hermes"), "one NAME for .a., got glm and hermes"),
        ((*UPSTREAM, "--model", "acme/unknown-1"), "acme/unknown-1.*glm"),
        ((*UPSTREAM, "--dialect", "glm", "--prompt", "upstream", "--grammar", "vllm"), "grammar"),
        ((*UPSTREAM, "--dialect", "cohere"), "--prompt upstream"),
        (("--demo", "--dialect", "cohere", "--prompt", "upstream"), "demo"),
    ],
)
def test_words_that_make_no_sense_are_wrong_usage(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cli_serve._config(options(*words))
