"""Upstreams that tell calls and thoughts apart themselves, though they were asked in text: nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.running import running
from proxy.test_server_upstream import DONE, USAGE, Answer, Step, Upstream, as_json, world
from proxy.test_wire_facts import (
    ANTHROPIC,
    CHAT,
    OPEN,
    RESPONSES,
    apis,
    asked,
    body_for,
    call,
    client_for,
    content_of,
    events_of,
    reason_of,
    streamed,
    streams,
    up,
)
from xmltools.proxy.bridge import Api, Exchange, Settings
from xmltools.proxy.transport import XMLToolsTransport

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

APIS: dict[str, Api] = {CHAT: "chat", ANTHROPIC: "messages", RESPONSES: "responses"}
ARGUMENTS = {"path": "a b.py", "text": 'é 😀 "\n', "size": 12}


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def native(name: str = "write", arguments: Any = ARGUMENTS, **more: Any) -> dict[str, Any]:
    """A call as servers tell it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"type": "function", "function": {"name": name, "arguments": text}, **more}


def parts(made: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """The deltas of a call, as servers stream it: a head, and then its arguments in pieces."""
    text = made["function"]["arguments"]
    head = {**made, "function": {**made["function"], "arguments": ""}}
    rest = [{"function": {"arguments": text[at : at + size]}} for at in range(0, len(text), size)]
    index = {"index": made["index"]} if "index" in made else {}
    return [{"tool_calls": [head]}, *({"tool_calls": [{**index, **each}]} for each in rest)]


def streaming(*deltas: dict[str, Any], finish: str = "tool_calls") -> list[Step]:
    return [*map(up, deltas), up({}, finish, usage=USAGE), DONE]


def whole(message: dict[str, Any], finish: str = "tool_calls") -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return as_json({"id": "up", "object": "chat.completion", "choices": [choice], "usage": USAGE})


def parts_of(path: str, reply: Any) -> list[Any]:
    """Texts, and calls with their ids, in their order."""
    if path == CHAT:
        message = reply.choices[0].message
        calls = [
            (each.id, each.function.name, json.loads(each.function.arguments)) for each in message.tool_calls or ()
        ]
        return [*([message.content] if message.content else []), *calls]
    if path == ANTHROPIC:
        return [
            each.text if each.type == "text" else (each.id, each.name, each.input)
            for each in reply.content
            if each.type in ("text", "tool_use")
        ]
    return [
        each.content[0].text if each.type == "message" else (each.call_id, each.name, json.loads(each.arguments))
        for each in reply.output
    ]


ENDS = {CHAT: "tool_calls", ANTHROPIC: "tool_use", RESPONSES: "completed"}


@apis
@streams
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_native_call_reaches_the_client_with_its_id(path: str, streams: bool, size: int) -> None:
    made = native(id="up_1", index=0)
    steps = streaming({"role": "assistant", "content": "On it."}, *parts(made, size))
    with world(Upstream(Answer(steps) if streams else whole({"content": "On it.", "tool_calls": [made]}))) as it:
        got = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path))
        assert "tools" not in it.upstream.seen[0].json
    assert parts_of(path, got) == ["On it.", ("up_1", "write", ARGUMENTS)]
    assert reason_of(path, got) == ENDS[path]


@apis
def test_native_calls_stand_in_their_order_between_those_of_the_text(path: str) -> None:
    steps = streaming(
        {"content": f"One. {call('<path>1</path>')}"},
        *parts(native(arguments={"path": "2"}, id="up_2", index=0), 4),
        *parts(native(arguments={"path": "3"}, id="up_3", index=1), 4),
        {"content": f"Then. {call('<path>4</path>')}"},
    )
    with world(Upstream(Answer(steps))) as it:
        got = parts_of(path, streamed(path, client_for(path, it.url), body_for(path)))
    calls = [each for each in got if isinstance(each, tuple)]
    assert [arguments["path"] for _, _, arguments in calls] == ["1", "2", "3", "4"]
    assert [id for id, _, _ in calls][1:3] == ["up_2", "up_3"] and len({id for id, _, _ in calls}) == 4
    texts = "".join(each for each in got if isinstance(each, str))
    assert texts == "One. Then. "
    if path != CHAT:  # whose message has one text
        assert [type(each) for each in got] == [str, tuple, tuple, tuple, tuple]


@apis
@streams
def test_a_native_call_that_gives_none_is_a_sentence(path: str, streams: bool) -> None:
    made = native("wriet", {"path": "a.py"}, id="up_1", index=0)
    steps = streaming({"content": "On it. "}, *parts(made, 3))
    answer = Answer(steps) if streams else whole({"content": "On it. ", "tool_calls": [made]})
    with world(Upstream(answer), settings=Settings(retries=0)) as it:
        got = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path))
    text = "".join(parts_of(path, got))
    assert text == "On it. \n\nThe call of wriet was not made: there is no tool named 'wriet'."
    assert reason_of(path, got) in ("stop", "end_turn", "completed")


@apis
@streams
def test_details_of_reasoning_are_reasoning(path: str, streams: bool) -> None:
    details = [
        {"type": "reasoning.summary", "summary": "H"},
        {"type": "reasoning.encrypted", "data": "xyz"},
        {"type": "reasoning.text", "text": "m.", "signature": "s"},
    ]
    message = {"reasoning_details": details, "content": "Yes."}
    deltas = [{"reasoning_details": [each]} for each in details] + [{"content": "Yes."}]
    with world(Upstream(Answer(streaming(*deltas, finish="stop")) if streams else whole(message, "stop"))) as it:
        got = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path))
    if path == CHAT:
        assert content_of(path, got)[1:3] == ("Yes.", "Hm.")
    else:
        thoughts, text = got.content if path == ANTHROPIC else got.output
        assert (thoughts.thinking if path == ANTHROPIC else thoughts.content[0].text) == "Hm."
        assert (text.text if path == ANTHROPIC else text.content[0].text) == "Yes."


@streams
def test_a_native_call_comes_through_the_transport_too(streams: bool) -> None:
    made = native(id="up_1", index=0)
    answer = Answer(streaming(*parts(made, 5))) if streams else whole({"content": None, "tool_calls": [made]})
    with running(Upstream(answer)) as url, httpx2.Client(transport=XMLToolsTransport()) as http:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
        got = (streamed if streams else asked)(CHAT, client, body_for(CHAT))
    assert parts_of(CHAT, got) == [("up_1", "write", ARGUMENTS)]


def test_a_native_call_that_fails_is_sent_back_if_calls_are_asked_for_again() -> None:
    wrong = native(arguments={"path": "a.py", "size": "big"}, id="up_1", index=0)
    answers = [streaming({"content": "On it."}, *parts(wrong, 9)), streaming(*parts(native(id="up_2", index=0), 9))]
    with world(Upstream(*map(Answer, answers)), settings=Settings(retries=1)) as it:
        got = streamed(CHAT, client_for(CHAT, it.url), body_for(CHAT))
        *_, said, reminder = it.upstream.seen[1].json["messages"]
    assert parts_of(CHAT, got) == ["On it.", ("up_2", "write", ARGUMENTS)]
    assert said["role"] == "assistant" and said["content"].startswith('On it.{"name": "write"')
    assert reminder["role"] == "user" and "size" in reminder["content"]


# Without sockets: who says what, in which pieces


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def folded(deltas: Iterable[dict[str, Any]], finish: str = "tool_calls", **fields: Any) -> tuple[str, list[Any], str]:
    """The text, the calls (id, name, and the text of the arguments) and the reason that a client gets of a stream."""
    exchange = Exchange("chat", body_for(CHAT, stream=True, **fields))
    sent = b"".join(exchange.feed(each) for each in [*map(chunk, deltas), chunk({}, finish)]) + exchange.end()
    text, calls, reason = "", [], ""
    for _, event in events_of(sent):
        for choice in event.get("choices", ()):
            text += choice["delta"].get("content", "")
            reason = choice["finish_reason"] or reason
            for each in choice["delta"].get("tool_calls", ()):
                if each["index"] == len(calls):
                    calls.append([each["id"], each["function"]["name"], ""])
                assert each["index"] == len(calls) - 1  # calls are never mixed
                calls[-1][2] += each["function"]["arguments"]
    return text, [(id, name, json.loads(arguments)) for id, name, arguments in calls], reason


def folded_whole(message: dict[str, Any], **fields: Any) -> list[Any]:
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    made = Exchange("chat", body_for(CHAT, **fields)).answer({"choices": [choice]})
    assert made is not None
    calls = made["choices"][0]["message"].get("tool_calls", ())
    return [(each["id"], each["function"]["name"], json.loads(each["function"]["arguments"])) for each in calls]


FIRST, SECOND = {"path": "1", "text": "x" * 30}, {"path": "2"}
# Two calls, as different servers stream them.
WAYS: dict[str, list[dict[str, Any]]] = {
    "one behind the other": [
        *parts(native(arguments=FIRST, id="a", index=0), 4),
        *parts(native(arguments=SECOND, id="b", index=1), 4),
    ],
    "both in one delta": [
        {"tool_calls": [native(arguments=FIRST, id="a", index=0), native(arguments=SECOND, id="b", index=1)]}
    ],
    "pieces in turns": [
        delta
        for pair in zip_longest(
            parts(native(arguments=FIRST, id="a", index=0), 10), parts(native(arguments=SECOND, id="b", index=1), 3)
        )
        for delta in pair
        if delta is not None
    ],
    "one index for both": [
        {"tool_calls": [native(arguments=FIRST, id="a", index=0)]},
        {"tool_calls": [native(arguments=SECOND, id="b", index=0)]},
    ],
    "no index": [
        {"tool_calls": [native(arguments=FIRST, id="a")]},
        {"tool_calls": [native(arguments=SECOND, id="b")]},
    ],
    "indexes from one on": [
        *parts(native(arguments=FIRST, id="a", index=1), 4),
        *parts(native(arguments=SECOND, id="b", index=2), 4),
    ],
    "the id in every piece": [
        {"tool_calls": [{**each["tool_calls"][0], "id": id}]}
        for index, (id, arguments) in enumerate((("a", FIRST), ("b", SECOND)))
        for each in parts(native(arguments=arguments, index=index), 4)
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_calls_keep_their_ids_however_they_are_streamed(way: str) -> None:
    _, calls, reason = folded(WAYS[way])
    assert calls == [("a", "write", FIRST), ("b", "write", SECOND)]
    assert reason == "tool_calls"


@pytest.mark.parametrize(
    "calls",
    [
        [native(arguments=FIRST, index=0), native(arguments=SECOND, index=1)],
        [native(arguments=FIRST, id="", index=0), native(arguments=SECOND, id=None, index=1)],
        [native(arguments=FIRST, id="same", index=0), native(arguments=SECOND, id="same", index=1)],
        [native(arguments=FIRST), native(arguments=SECOND)],
    ],
    ids=["none", "empty", "twice the same", "neither id nor index"],
)
@streams
def test_calls_without_ids_of_their_own_get_some(calls: list[dict[str, Any]], streams: bool) -> None:
    made = folded([{"tool_calls": [each]} for each in calls])[1] if streams else folded_whole({"tool_calls": calls})
    assert [arguments for _, _, arguments in made] == [FIRST, SECOND]
    assert len({id for id, _, _ in made} - {"", None}) == 2


@pytest.mark.parametrize(
    "message",
    [
        {"tool_calls": [{"id": "a", "function": {"name": "write", "arguments": FIRST}}]},
        {"function_call": {"name": "write", "arguments": json.dumps(FIRST)}},
        {"function_call": {"name": "write", "arguments": FIRST}, "tool_calls": []},
    ],
    ids=["arguments as an object", "the old form", "the old form with an object"],
)
@streams
def test_calls_in_other_forms_are_not_lost(message: dict[str, Any], streams: bool) -> None:
    ((_, name, arguments),) = folded([message])[1] if streams else folded_whole(message)
    assert (name, arguments) == ("write", FIRST)


def test_a_native_call_waits_while_one_of_the_text_is_open() -> None:
    text = call("<path>1</path><text>abc</text>")
    for at in range(len(text) + 1):
        native_parts = parts(native(arguments=SECOND, id="b", index=0), 3)
        deltas = [{"content": text[:at]}, *native_parts, {"content": text[at:]}, {"content": " End."}]
        said, calls, _ = folded(deltas)
        assert sorted(arguments["path"] for _, _, arguments in calls) == ["1", "2"], at
        assert said == " End."


def test_text_waits_while_a_native_call_is_open() -> None:
    first, *rest = parts(native(arguments=FIRST, id="a", index=0), 9)
    said, calls, _ = folded([first, {"content": "Well. " + call()}, *rest, {"content": "End."}])
    assert said == "Well. End."
    assert [arguments["path"] for _, _, arguments in calls] == ["1", "a.py"]


@given(st.lists(st.sampled_from(["text", "call", "first", "second"]), max_size=12), st.integers(1, 9))
def test_however_text_and_calls_take_turns_all_calls_arrive_whole(order: list[str], size: int) -> None:
    waiting = {
        "text": [{"content": each} for each in ("One. ", "Two. ")],
        "call": [{"content": each} for each in (call()[:20], call()[20:50], call()[50:])],
        "first": parts(native(arguments=FIRST, id="a", index=0), size),
        "second": parts(native(arguments=SECOND, id="b", index=1), size),
    }
    # The text of a call is not mixed with other text, which would be in its arguments.
    taken = [waiting[each].pop(0) for each in order if each != "text" and waiting[each]]
    rest = [delta for each in ("call", "first", "second", "text") for delta in waiting[each]]
    said, calls, reason = folded([*taken, *rest])
    assert sorted(str(each[2]) for each in calls) == sorted(map(str, (FIRST, SECOND, {"path": "a.py"})))
    assert (said, reason) == ("One. Two. ", "tool_calls")


def test_where_one_call_is_wanted_a_native_one_is_it() -> None:
    two = [*parts(native(arguments=FIRST, id="a", index=0), 4), *parts(native(arguments=SECOND, id="b", index=1), 4)]
    assert folded(two, parallel_tool_calls=False)[1] == [("a", "write", FIRST)]
    assert folded(two, tool_choice="required")[2] == "tool_calls"


def test_a_native_call_that_is_cut_off_is_no_call() -> None:
    exchange = Exchange("chat", body_for(CHAT, stream=True))
    made, *_ = parts(native(arguments='{"path": "a.', id="a", index=0), 99)
    sent = exchange.feed(chunk(made)) + exchange.feed(chunk({}, "length")) + exchange.end()
    assert exchange.stats.calls == ["truncated"]
    assert b'"finish_reason":"length"' in sent


def test_tools_that_may_not_be_called_are_not_called() -> None:
    said, calls, reason = folded(parts(native(id="a", index=0), 9), tool_choice="none", messages=HISTORY)
    assert (calls, reason) == ([], "stop")
    assert said.startswith("The call of write was not made: ")


HISTORY = [
    {"role": "user", "content": "Write it."},
    {"role": "assistant", "content": None, "tool_calls": [native(id="a")]},
    {"role": "tool", "tool_call_id": "a", "content": "Done."},
]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_details_that_repeat_the_reasoning_are_not_said_twice(key: str) -> None:
    exchange = Exchange("messages", body_for(ANTHROPIC, stream=True))
    details = [{"type": "reasoning.text", "text": "Hm."}]
    sent = exchange.feed(chunk({key: "Hm.", "reasoning_details": details}))
    sent += exchange.feed(chunk({"reasoning_details": details}))
    assert sent.count(b"Hm.") == 1


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "type", "function", "name", "arguments", "text", "summary"]), inner
        )
    ),
)


@given(st.lists(st.dictionaries(st.sampled_from(["tool_calls", "function_call", "reasoning_details"]), ODD)))
def test_whatever_an_upstream_says_of_calls_nothing_raises(deltas: list[dict[str, Any]]) -> None:
    for path, api in APIS.items():
        exchange = Exchange(api, body_for(path, stream=True))
        for delta in deltas:
            exchange.feed(chunk(delta))
        exchange.feed(chunk({}, "stop"))
        exchange.end()
