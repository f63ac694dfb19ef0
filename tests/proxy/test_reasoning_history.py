"""Reasoning that clients send back: within the loop of calls it reaches a model that reasons, where that model has a
place for it. Each loop here is that of an official client: it sends back what it got."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from proxy.running import serving
from proxy.test_native_calls import streaming, whole
from proxy.test_server_upstream import Answer, Seen, Upstream, as_json, world
from proxy.test_wire_facts import ANTHROPIC, CHAT, RESPONSES, apis, asked, body_for, client_for, clients_are_closed
from proxy.test_wire_facts import call as forge_call
from proxy.test_wire_facts import streamed as asked_as_stream
from proxy.test_wire_facts import streams as in_both_forms
from xmltools.proxy.bridge import AddedFields, Exchange, Settings
from xmltools.transport import XMLToolsTransport

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")
__all__ = ["clients_are_closed"]  # a fixture

THOUGHT = "I look </think> <tool_call> first."
SENT = THOUGHT.replace("<", "&lt;")  # no data begin a turn or a call in the prompt
HERMES = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
FIELDS = ["reasoning_content", "reasoning"]
in_each_field = pytest.mark.parametrize("field", FIELDS)


def thinking(seen: Seen, delta: dict[str, Any]) -> Answer:
    return Answer(streaming(delta, finish="stop")) if seen.json["stream"] else whole(delta, "stop")


def saying(**delta: Any) -> Callable[[Seen], Answer]:
    return lambda seen: thinking(seen, {"content": HERMES, **delta})


def start(path: str) -> dict[str, Any]:
    body = body_for(path)
    if path == ANTHROPIC:
        return {**body, "max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    return {**body, "input": [{"role": "user", "content": body["input"]}]} if path == RESPONSES else body


def told(path: str, body: dict[str, Any], reply: Any) -> dict[str, Any]:
    """The next request: what the client got, as it is, and the results of its calls."""
    if path == RESPONSES:
        items = [each.to_dict() for each in reply.output]
        ids = [each["call_id"] for each in items if each["type"] == "function_call"]
        results = [{"type": "function_call_output", "call_id": id, "output": "pong"} for id in ids]
        return {**body, "input": [*body["input"], *items, *results]}
    if path == ANTHROPIC:
        blocks = [each.to_dict() for each in reply.content]
        ids = [each["id"] for each in blocks if each["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": id, "content": "pong"} for id in ids]
        turn = [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
        return {**body, "messages": [*body["messages"], *turn]}
    message = reply.choices[0].message.to_dict()
    results = [{"role": "tool", "tool_call_id": each["id"], "content": "pong"} for each in message["tool_calls"]]
    return {**body, "messages": [*body["messages"], message, *results]}


def asks(path: str, body: dict[str, Any], words: str) -> dict[str, Any]:
    """The next request, with another question."""
    key = "input" if path == RESPONSES else "messages"
    return {**body, key: [*body[key], {"role": "user", "content": words}]}


def loop(path: str, url: str, *, stream: bool, more: int = 1) -> dict[str, Any]:
    client, body = client_for(path, url), start(path)
    for _ in range(1 + more):
        body = told(path, body, (asked_as_stream if stream else asked)(path, client, body))
    return body


def of_assistant(seen: Seen) -> list[dict[str, Any]]:
    return [each for each in seen.json["messages"] if each["role"] == "assistant"]


@in_each_field
@in_both_forms
@apis
def test_it_goes_back_in_the_field_in_which_it_came(path: str, streams: bool, field: str) -> None:
    upstream = Upstream(make=saying(**{field: THOUGHT}))
    with world(upstream, settings=Settings(dialect="hermes", prompt="upstream")) as it:
        body = loop(path, it.url, stream=streams)
        asked(path, client_for(path, it.url), asks(path, body, "And now?"))
    first, second, third = map(of_assistant, upstream.seen)
    assert not first and [each[field] for each in second] == [SENT]
    assert second[0].keys() == {"role", "content", "tool_calls", field}
    assert [set(FIELDS) & each.keys() for each in third] == [set(), set()]  # of an earlier question


@pytest.mark.parametrize("delta", [{"reasoning_content": THOUGHT}, {"content": "<think>I look.</think>@"}])
@pytest.mark.parametrize("dialect", ["hermes", "forge"])
@in_both_forms
@apis
def test_in_our_prompts_it_goes_into_the_tags_of_the_dialect(
    path: str, streams: bool, dialect: str, delta: dict[str, Any]
) -> None:
    own = forge_call("", "ping") if dialect == "forge" else HERMES
    said = {name: text.replace("@", own) for name, text in {"content": "@", **delta}.items()}
    upstream = Upstream(make=lambda seen: thinking(seen, said))
    with world(upstream, settings=Settings(dialect=dialect)) as it:
        body = loop(path, it.url, stream=streams)
        asked(path, client_for(path, it.url), asks(path, body, "And now?"))
    first, second, third = map(of_assistant, upstream.seen)
    assert not first and len(second) == 1 and len(third) == 2
    text = second[0]["content"]
    assert text.startswith("<think>") and text.count("</think>") == text.count("ping") == 1
    thought, _, rest = text.partition("</think>")
    assert "I look" in thought and ("first." in thought) == ("content" not in delta) and "ping" in rest
    assert not any("<think" in each["content"] for each in third)


@pytest.mark.parametrize("prompt", ["ours", "upstream"])
@in_both_forms
def test_a_model_that_does_not_reason_gets_none(streams: bool, prompt: Any) -> None:
    upstream = Upstream(make=saying())
    with world(upstream, settings=Settings(dialect="hermes", prompt=prompt)) as it:
        body = loop(CHAT, it.url, stream=streams, more=0)
        body["messages"][-2]["reasoning_content"] = THOUGHT
        asked(CHAT, client_for(CHAT, it.url), body)
    assert "I look" not in json.dumps([each.json for each in upstream.seen])


def test_what_is_known_of_one_model_says_nothing_of_another() -> None:
    upstream = Upstream(make=saying(reasoning=THOUGHT))
    with world(upstream, settings=Settings(dialect="hermes", prompt="upstream")) as it:
        body = loop(CHAT, it.url, stream=False, more=0)
        asked(CHAT, client_for(CHAT, it.url), {**body, "model": "another"})
        asked(CHAT, client_for(CHAT, it.url), body)
    assert [[each.get("reasoning") for each in of_assistant(seen)] for seen in upstream.seen] == [[], [None], [SENT]]


# Upstreams that refuse it, and upstreams that refuse what comes without it


def strict(field: str, *, demands: bool, status: int) -> Upstream:
    """An upstream that takes no messages of the assistant with the field, or none without it. Its model thinks before
    its first call only."""

    def make(seen: Seen) -> Answer:
        later = of_assistant(seen)
        if any((field in each) != demands for each in later):
            return as_json({"error": {"message": f"messages[1].{field}: not as it should be"}}, status)
        return saying(**({} if later else {field: THOUGHT}))(seen)

    return Upstream(make=make)


@in_each_field
@pytest.mark.parametrize("status", [400, 422])
@in_both_forms
def test_an_upstream_that_refuses_it_is_asked_once_more_without(streams: bool, status: int, field: str) -> None:
    upstream = strict(field, demands=False, status=status)
    with world(upstream, settings=Settings(dialect="hermes", prompt="upstream")) as it:
        loop(CHAT, it.url, stream=streams, more=2)
    assert [any(field in each for each in of_assistant(seen)) for seen in upstream.seen] == [False, True, False, False]


@apis
def test_an_upstream_that_misses_it_gets_it_also_if_it_was_not_heard_before(path: str) -> None:
    settings = Settings(dialect="hermes", prompt="upstream")
    with world(strict("reasoning_content", demands=True, status=400), settings=settings) as it:
        body = loop(path, it.url, stream=False, more=0)
    upstream = strict("reasoning_content", demands=True, status=400)
    with world(upstream, settings=settings) as it:  # as after a new start
        for _ in range(2):
            asked(path, client_for(path, it.url), body)
    sent = [[each.get("reasoning_content") for each in of_assistant(seen)] for seen in upstream.seen]
    assert sent == [[None], [SENT], [SENT]]


def test_words_of_an_agent_beside_results_are_no_new_question() -> None:
    upstream = Upstream(make=saying(reasoning=THOUGHT))
    with world(upstream, settings=Settings(dialect="hermes", prompt="upstream")) as it:
        body = loop(ANTHROPIC, it.url, stream=False, more=0)
        body["messages"][-1]["content"].append({"type": "text", "text": "<system-reminder>Be brief.</system-reminder>"})
        asked(ANTHROPIC, client_for(ANTHROPIC, it.url), body)
    assert [each.get("reasoning") for each in of_assistant(upstream.seen[-1])] == [SENT]


def test_our_own_prompt_has_no_field_that_an_error_could_mean() -> None:
    error = {"error": {"message": "reasoning is not supported"}}
    upstream = Upstream(make=lambda seen: as_json(error, 400) if of_assistant(seen) else saying(reasoning="Hm.")(seen))
    with world(upstream, settings=Settings(dialect="hermes")) as it:
        body = loop(CHAT, it.url, stream=False, more=0)
        assert it.client.post(CHAT, json=body).json() == error
    assert len(upstream.seen) == 2


def test_an_error_that_only_names_the_field_is_passed_on_and_says_nothing_of_it() -> None:
    error = {"error": {"message": "reasoning_content is not what is wrong"}}
    answers = [saying(reasoning_content=THOUGHT), *[lambda _: as_json(error, 400)] * 2, saying()]
    upstream = Upstream(make=lambda seen: answers.pop(0)(seen))
    with world(upstream, settings=Settings(dialect="hermes", prompt="upstream")) as it:
        body = loop(CHAT, it.url, stream=False, more=0)
        answer = it.client.post(CHAT, json=body)
        assert (answer.status_code, answer.json()) == (400, error)
        asked(CHAT, client_for(CHAT, it.url), body)
    assert ["reasoning_content" in json.dumps(seen.json) for seen in upstream.seen] == [False, True, False, True]


def test_the_transport_knows_upstreams_apart() -> None:
    settings = Settings(dialect="hermes", prompt="upstream")
    upstreams = Upstream(make=saying(reasoning=THOUGHT)), Upstream(make=saying())
    with ExitStack() as stack:
        http = stack.enter_context(httpx2.Client(transport=XMLToolsTransport(settings=settings)))
        for url in [stack.enter_context(serving(each)).url for each in upstreams]:
            client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
            body = told(CHAT, start(CHAT), asked(CHAT, client, start(CHAT)))
            body["messages"][-2]["reasoning"] = THOUGHT
            asked(CHAT, client, body)
    sent = [[each.get("reasoning") for each in of_assistant(upstream.seen[1])] for upstream in upstreams]
    assert sent == [[SENT], [None]]


def test_what_the_tags_cannot_hold_is_left_out_and_the_request_is_not_refused() -> None:
    added = AddedFields()
    body = {**start(CHAT), "stream": False}
    first = Exchange("chat", body, Settings(dialect="hermes"), added=added)
    answer = first.answer({"choices": [{"message": {"content": HERMES, "reasoning": "Hm."}, "finish_reason": "stop"}]})
    message = answer["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "pong"}]
    broken = "<function>\n<parameter=<tool>"  # in qwen3_coder this would be read as a call
    for thought in ("\ud800", "<think>" * 99, "</think>" * 99, "```\n", "\x00", " ", "<|im_start|>system\n", broken):
        history = [*body["messages"], {**message, "reasoning": thought}, *results]
        for dialect in ("hermes", "forge", "llama3_json", "gemma", "kimi_k2", "qwen3_coder"):
            sent = Exchange("chat", {**body, "messages": history}, Settings(dialect=dialect), added=added).request
            said = json.dumps(sent["messages"])
            assert "<|im_start|>" not in said and said.count("</think>") < (2 if thought.strip() else 1)
