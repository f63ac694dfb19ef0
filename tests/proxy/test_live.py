"""The live view: what is kept of each exchange, how it ended, what pages hear of it, and what is never kept."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from starlette.applications import Starlette
from support.corpus import FOLDER

from proxy.running import running
from proxy.test_server_upstream import (
    BODIES,
    CALL,
    DONE,
    TOOL,
    Answer,
    Cut,
    Gate,
    Seen,
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
from xmltools.cli.conformance import read_corpus
from xmltools.errors import XMLToolsError
from xmltools.parser import parse
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.playground import LiveHub, routes
from xmltools.proxy.playground.live import LONGEST_EXCHANGE, LONGEST_TEXT, LiveExchange
from xmltools.proxy.playground.live_details import describe
from xmltools.tools import load_tools

WRONG = "I try.\n<tool><tool_name>write</tool_name><arguments><text>x</text></arguments></tool>"
SLOPPY = "<tool><tool_name>write</tool_name><arguments><path>a & b</path></arguments></tool>"
FOREIGN = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'


OPEN = ("none", "waiting", "writing")


def exchange_of(it: World, number: int = 1, *, is_open: bool = False) -> dict[str, Any]:
    """What a page is given of an exchange; by default when that is over, which is a moment after the answer."""
    if not is_open:
        over(it, number)
    answer = it.client.get(f"/live/exchange?number={number}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def over(it: World, number: int = 1) -> None:
    eventually(lambda: state_of(it, number) not in OPEN, "the exchange is over")


def state_of(it: World, number: int = 1) -> str:
    exchange = it.app.state.hub.get(number)
    return exchange.state if exchange is not None else "none"


# States


def broken_chunk(seen: Seen) -> Answer:
    return Answer([chunk("Hi"), b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'])


ENDS: dict[str, tuple[Callable[[Seen], Answer], str, str]] = {
    "done": (reply(CALL), "done", ""),
    "repaired": (reply(SLOPPY), "done", ""),
    "rejected": (reply(WRONG), "rejected", "write: path: expected string, got nothing"),
    "length": (lambda seen: Answer(stream(CALL[:60], finish="length")), "cut", "for the reason 'length'"),
    "broken off": (lambda seen: Answer([chunk("On it"), Cut()]), "cut", "the upstream broke off"),
    "no reason": (lambda seen: Answer([chunk("On it")]), "cut", "the upstream broke off its reply"),
    "nothing": (lambda seen: Answer([Cut()]), "failed", "the upstream broke off"),
    "overloaded": (lambda seen: as_json({"error": {"message": "overloaded"}}, 503), "failed", "overloaded"),
    "error in the stream": (broken_chunk, "failed", "out of memory"),
    "no JSON": (lambda seen: Answer([b"data: {\n\n"]), "failed", "the upstream sent what is no JSON"),
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(("make", "state", "message"), ENDS.values(), ids=ENDS)
def test_every_exchange_comes_to_its_end(make: Any, state: str, message: str, path: str) -> None:
    with world(Upstream(make=make), live=True) as it:
        with suppress(httpx2.HTTPError):
            it.post(path, stream=True)
        eventually(lambda: state_of(it) == state, f"the state is {state}, not {state_of(it)}")
        found = exchange_of(it)
    assert not found["open"]
    assert message in found["message"]
    assert bool(found["message"]) == (state != "done")
    assert all(attempt["is_over"] for attempt in found["attempts_made"])
    if found["attempts_made"][-1]["replies"]:
        assert not found["attempts_made"][-1]["replies"][0]["reading"]["open"]


def test_a_rejected_call_is_counted_where_it_was_rejected() -> None:
    answers = iter([WRONG, CALL])
    with world(Upstream(make=lambda seen: Answer(stream(next(answers)))), live=True) as it:
        it.post(stream=True)
        found = exchange_of(it)
    first, second = found["attempts_made"]
    assert (found["state"], found["retries"], found["made"], found["rejected"]) == ("done", 1, 1, 1)
    assert (first["made"], first["rejected"], first["sent_back"], first["told"]) == (0, 1, True, "")
    assert (second["made"], second["rejected"], second["sent_back"]) == (1, 0, False)
    assert "expected string, got nothing" in second["told"]
    assert second["told"] == second["prompt"]["messages"][-1]["text"]
    assert first["replies"][0]["text"] == WRONG
    (error,) = [part for part in first["replies"][0]["reading"]["parts"] if part["kind"] == "error"]
    assert (error["code"], error["name"]) == ("invalid_arguments", "write")
    assert error["hint"] and error["message"]
    assert 0 <= first["asked"] <= first["answered"] <= first["first"] <= first["first_call"] <= first["ended"]
    assert first["ended"] <= second["asked"] <= second["ended"] <= found["seconds"]


def test_a_request_that_the_upstream_refused_was_not_sent_back_to_the_model() -> None:
    refusal = as_json({"error": {"message": "unknown field: skip_special_tokens"}}, 400)
    says = reply('<tool_call>\n{"name": "write", "arguments": {"path": "a"}}\n</tool_call>')
    make = lambda seen: refusal if "skip_special_tokens" in seen.json else says(seen)  # noqa: E731
    with world(Upstream(make=make), live=True, settings=Settings(dialect="hermes")) as it:
        it.post(stream=True)
        found = exchange_of(it)
    first, second = found["attempts_made"]
    assert (found["state"], found["attempts"], found["retries"], found["made"]) == ("done", 2, 0, 1)
    assert (first["status"], first["sent_back"], first["replies"]) == (400, False, [])
    assert (second["status"], second["told"]) == (200, "")


def test_a_call_that_is_missing_though_required_is_no_green_end() -> None:
    with world(Upstream(make=reply("No.")), live=True, settings=Settings(retries=0)) as it:
        it.post(stream=True, tool_choice="required")
        found = exchange_of(it)
    assert found["state"] == "rejected"
    assert "did not call a tool" in found["message"]


def test_a_refused_request_says_why() -> None:
    with world(Upstream(), live=True) as it:
        assert it.post(tools=[{"type": "function", "function": {"name": ""}}]).status_code == 400
        assert it.client.post("/v1/chat/completions", content=b"{").status_code == 400
        refused, no_json = exchange_of(it, 1), exchange_of(it, 2)
    assert (refused["state"], refused["status"], refused["model"]) == ("refused", 400, "m")
    assert "tools[0]" in refused["message"] and "tools[0]" in refused["sent"]["head"]
    assert (no_json["state"], no_json["request"]["messages"]) == ("refused", [])


def test_a_client_that_leaves_and_a_server_that_stops() -> None:
    left, stopped = Gate(), Gate()
    answers = iter([Answer([*stream(CALL)[:3], left]), Answer([*stream(CALL)[:3], stopped])])
    with world(Upstream(make=lambda seen: next(answers)), live=True, grace=1) as it:
        body = {**BODIES["/v1/chat/completions"], "stream": True}
        with it.client.stream("POST", "/v1/chat/completions", json=body) as response:
            pieces = response.iter_bytes()
            next(pieces)
            assert state_of(it) == "writing"
        eventually(lambda: state_of(it) == "left", "the client has left")
        client = threading.Thread(target=post_and_forget, args=(it,))
        client.start()
        eventually(stopped.reached.is_set, "the second stream is open")
        hub = it.app.state.hub
        it.server.ask_to_stop()
        eventually(lambda: hub.get(2).state == "stopped", "the second exchange is stopped")
        client.join()


def post_and_forget(it: World) -> None:
    with suppress(httpx2.HTTPError):
        it.client.post("/v1/chat/completions", json={**BODIES["/v1/chat/completions"], "stream": True})


def test_a_fault_of_ours_is_an_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> bytes:
        raise RuntimeError

    with world(Upstream(make=reply(CALL)), live=True) as it:
        monkeypatch.setattr(Exchange, "feed", fails)
        with suppress(httpx2.HTTPError):
            it.post(stream=True)
        eventually(lambda: state_of(it) == "failed", "the exchange has failed")
        assert "its log says where" in exchange_of(it)["message"]


def test_a_silent_upstream_is_too_late() -> None:
    gate = Gate()
    with world(Upstream(Answer([chunk("On it"), gate])), live=True, idle_timeout=0.05) as it:
        it.post(stream=True)
        found = exchange_of(it)
    assert (found["state"], "--idle-timeout" in found["message"]) == ("cut", True)


def test_what_is_being_written_is_shown_as_far_as_it_goes() -> None:
    waits, writes = Gate(), Gate()
    cut = CALL.index("x < 1")
    answer = Answer([chunk(CALL[:cut]), writes, chunk(CALL[cut:], finish="stop"), DONE], before=waits)
    with world(Upstream(answer), live=True) as it:
        client = threading.Thread(target=post_and_forget, args=(it,))
        client.start()
        eventually(waits.reached.is_set, "the upstream was asked")
        waiting = exchange_of(it, is_open=True)
        waits.open()
        eventually(writes.reached.is_set, "the upstream writes")
        eventually(lambda: state_of(it) == "writing", "a piece has come")
        writing = exchange_of(it, is_open=True)
        writes.open()
        client.join()
        done = exchange_of(it)
    assert (waiting["state"], waiting["attempts_made"][0]["replies"]) == ("waiting", [])
    (shown,) = writing["attempts_made"][0]["replies"]
    assert (shown["text"], shown["savable"]) == (CALL[:cut], False)
    assert shown["reading"]["open"]["name"] == "write"
    assert shown["reading"]["open"]["arguments"] == [["path", "a b.py"]]
    assert not shown["reading"]["ended"]
    assert (done["state"], done["made"]) == ("done", 1)
    assert done["attempts_made"][0]["replies"][0]["savable"]


# What is kept


def test_request_prompt_and_answer_are_kept_by_their_parts() -> None:
    with world(Upstream(make=reply(CALL)), live=True) as it:
        for path in BODIES:
            it.post(path, temperature=0.25)
        found = [exchange_of(it, number) for number in (1, 2, 3)]
    for exchange, path in zip(found, BODIES, strict=True):
        assert exchange["route"] == path
        assert exchange["request"]["messages"][-1] == {"role": "user", "text": "Write it."}
        assert exchange["request"]["tools"]["count"] == 1
        assert '"temperature": 0.25' in exchange["request"]["fields"]
        (attempt,) = exchange["attempts_made"]
        system, user = attempt["prompt"]["messages"]
        assert system["role"] == "system" and "## write" in system["text"]
        assert user == {"role": "user", "text": "Write it."}
        assert "a b.py" in exchange["sent"]["head"]
        assert (exchange["status"], attempt["status"]) == (200, 200)
        assert exchange["words"] == "Write it."
        assert exchange["dialect"] == "forge"


def test_what_the_upstream_tells_apart_itself_is_shown() -> None:
    function = {"name": "write", "arguments": '{"path": "a"}'}
    message = {"content": "Here.", "reasoning_content": "Hm.", "tool_calls": [{"id": "n1", "function": function}]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    with world(Upstream(as_json(body)), live=True) as it:
        it.post()
        (shown,) = exchange_of(it)["attempts_made"][0]["replies"]
    assert (shown["text"], shown["thoughts"]["head"]) == ("Here.", "Hm.")
    assert [(call["name"], call["arguments"][0]["value"]) for call in shown["calls"]] == [("write", "a")]


def test_a_call_in_another_notation_is_noticed_and_sent_back() -> None:
    answers = iter([FOREIGN, CALL])
    forges = Settings(dialect="forge")
    with world(Upstream(make=lambda seen: Answer(stream(next(answers)))), live=True, settings=forges) as it:
        it.post(stream=True)
        found = exchange_of(it)
    assert (found["unread"], found["codes"]["foreign_call"], found["attempts"]) == (1, 1, 2)
    (notice,) = found["attempts_made"][0]["replies"][0]["reading"]["notices"]
    assert notice["name"] == "write"


def test_a_call_that_is_continued_is_read_whole() -> None:
    cut = CALL.index("]]>")
    answers = iter([stream(CALL[:cut]), stream(CALL[cut:])])
    with world(Upstream(make=lambda seen: Answer(next(answers))), live=True) as it:
        it.post(stream=True)
        found = exchange_of(it)
    assert (found["made"], found["rejected"], found["state"]) == (1, 1, "done")
    (shown,) = found["attempts_made"][1]["replies"]
    assert shown["continues"]
    (call,) = [part for part in shown["reading"]["parts"] if part["kind"] == "call"]
    assert call["arguments"][1]["value"] == "x < 1\n😀"


def test_a_request_without_tools_is_passed_on_and_shown() -> None:
    with world(Upstream(make=reply("Hi there.")), live=True) as it:
        it.post(stream=True, tools=[])
        found = exchange_of(it)
    assert (found["plain"], found["state"], found["dialect"]) == (True, "done", "")
    assert "Hi" in found["sent"]["head"] and found["attempts_made"][0]["status"] == 200
    assert found["attempts_made"][0]["prompt"]["messages"] == [{"role": "user", "text": "Write it."}]


def test_several_choices_are_shown_each() -> None:
    answer = Answer([chunk(CALL, index=1), chunk("Hi", index=0), chunk(finish="stop"), chunk(finish="stop", index=1)])
    with world(Upstream(answer), live=True) as it:
        it.post(stream=True, n=2)
        replies = exchange_of(it)["attempts_made"][0]["replies"]
    assert [(each["choice"], each["text"]) for each in replies] == [(0, "Hi"), (1, CALL)]


def test_no_key_is_ever_kept() -> None:
    server = {"type": "mcp", "server_label": "x", "server_url": "https://x", "headers": {"k": "secret-in-a-tool"}}

    def echo(seen: Seen) -> Answer:
        return as_json({"error": {"message": f"wrong key: {seen.header('authorization')}"}}, 401)

    with world(Upstream(make=echo), live=True, upstream_key="secret-of-the-upstream") as it:
        it.client.headers.update({"authorization": "Bearer secret-of-the-client", "x-api-key": "secret-as-x-api-key"})
        said = [{"role": "user", "content": "My key is secret-of-the-client."}]
        it.post(stream=True, api_key="secret-in-the-body", user="secret-of-the-client", messages=said)
        it.post("/v1/responses", tools=[*BODIES["/v1/responses"]["tools"], server])
        shown = json.dumps([exchange_of(it, 1), exchange_of(it, 2)])
    assert "wrong key: Bearer [a key]" in shown
    assert "secret" not in shown


# Bounds


def hubs_exchange(hub: LiveHub, **body: Any) -> LiveExchange:
    body = {**BODIES["/v1/chat/completions"], "stream": True, **body}
    exchange = Exchange("chat", body)
    live = hub.begin("req", "chat", json.dumps(body).encode())
    live.opened(exchange)
    live.asked(json.dumps(exchange.request).encode())
    return live


def say(live: LiveExchange, text: str) -> None:
    live.chunk({"choices": [{"index": 0, "delta": {"content": text}}]})


def test_the_oldest_exchange_makes_room_by_number_and_by_bytes() -> None:
    hub = LiveHub(most=3)
    first, *_ = [hubs_exchange(hub) for _ in range(5)]
    assert [hub.get(number) is not None for number in range(1, 6)] == [False, False, True, True, True]
    before = hub.held
    say(first, "x" * 10_000)  # it goes on, and is kept nowhere
    assert hub.held == before

    hub = LiveHub(kept=1_000_000)
    for number in range(1, 30):
        say(hubs_exchange(hub), "x" * 200_000)
        assert hub.held <= 1_000_000
        assert hub.get(number) is not None
    assert sum(hub.get(number) is not None for number in range(1, 30)) == 4


def test_one_exchange_is_bounded_however_much_comes() -> None:
    hub = LiveHub()
    live = hubs_exchange(hub, messages=[{"role": "user", "content": "é" * 2_000_000}])
    for _ in range(20):
        live.asked(json.dumps({"messages": [{"role": "user", "content": "p" * 1_000_000}]}).encode())
        for choice in range(20):
            live.chunk(
                {"choices": [{"index": choice, "delta": {"content": "é" * 400_000, "reasoning": "x" * 600_000}}]}
            )
        live.sent({"type": "http.response.body", "body": b"y" * 600_000})
    assert hub.held <= LONGEST_EXCHANGE
    live.end("ok")
    shown = describe(live.snapshot())
    assert len(shown["request"]["text"]["head"].encode()) <= LONGEST_TEXT / 2
    assert shown["request"]["text"]["tail"].endswith("}")
    assert shown["request"]["text"]["lost"] > 3_000_000
    first = shown["attempts_made"][1]["replies"][0]
    assert first["text"] == "é" * (LONGEST_TEXT // 2) and first["lost"] == 800_000 - LONGEST_TEXT
    assert first["savable"] is False


def test_what_was_cut_between_two_bytes_of_a_character_is_text() -> None:
    hub = LiveHub()
    live = hubs_exchange(hub)
    say(live, "x" + "😀" * (LONGEST_TEXT // 4))
    (shown,) = describe(live.snapshot())["attempts_made"][0]["replies"]
    assert (shown["text"], shown["lost"]) == ("x" + "😀" * (LONGEST_TEXT // 4 - 1), 1)


def test_strange_replies_are_kept_as_they_are() -> None:
    live = hubs_exchange(LiveHub())
    say(live, "a\ud800b\x00")
    for strange in ({}, {"choices": None}, {"choices": [1, {"index": "x"}, {"index": 10**9}, {"delta": 5}]}):
        live.chunk(strange)
    live.end("ok")
    (shown,) = describe(live.snapshot())["attempts_made"][0]["replies"]
    assert shown["text"] == "a\ud800b\x00"


def test_a_reply_of_more_parts_than_a_page_can_show_says_so() -> None:
    live = hubs_exchange(LiveHub())
    say(live, "<think></think>a" * 5_000)
    (shown,) = describe(live.snapshot())["attempts_made"][0]["replies"]
    assert "4,000 parts" in shown["reading"]["error"]


# Cases for the corpus


def read_again(tmp_path: Path, answer: httpx2.Response) -> Any:
    """The case as the reader of the corpus gives it; what is expected is what a parser reads."""
    (tmp_path / "99-live.json").write_bytes(answer.content)
    (case,) = read_corpus(tmp_path)
    given = json.loads(answer.content)[0]
    found = parse(given["text"], load_tools(given["tools"]), **given["options"])
    expect = given["expect"]
    assert [call["arguments"] for call in expect["calls"]] == [call.arguments for call in found.calls]
    assert [call["repairs"] for call in expect["calls"]] == [[r.code for r in call.repairs] for call in found.calls]
    assert [(error["code"], tuple(error["span"])) for error in expect["errors"]] == [
        (e.code, e.span) for e in found.errors
    ]
    assert (expect["text"], expect["reasoning"]) == (found.text, found.reasoning)
    return case


@pytest.mark.parametrize("text", [CALL, WRONG, SLOPPY, f"<think>hm</think>{CALL}", "a\u202e\x7f<think>open"])
def test_a_reply_is_saved_as_a_case_of_the_corpus(text: str, tmp_path: Path) -> None:
    with world(Upstream(make=reply(text)), live=True, settings=Settings(dialect="forge", retries=0)) as it:
        it.client.headers["x-request-id"] = "My.Request/1"
        it.post(stream=True)
        over(it)
        answer = it.client.get("/live/case?number=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="99-live-my-request-1.json"'
    jsonschema.validate(answer.json(), json.loads((FOLDER / "schema.json").read_text("utf-8")))
    assert "\u202e" not in answer.text and "\x7f" not in answer.text
    assert answer.json()[0]["text"] == text
    read_again(tmp_path, answer)


def test_a_case_in_another_dialect_names_it(tmp_path: Path) -> None:
    text = '<tool_call>\n{"name": "write", "arguments": {"path": "a"}}\n</tool_call>'
    settings = Settings(dialect="hermes", also="known", starts_in_reasoning=True)
    with world(Upstream(make=reply(f"hm</think>{text}")), live=True, settings=settings) as it:
        it.post(stream=True)
        over(it)
        answer = it.client.get("/live/case?number=1")
    assert answer.json()[0]["options"] == {"dialect": "hermes", "also": "known", "starts_in_reasoning": True}
    read_again(tmp_path, answer)


def test_only_a_whole_reply_makes_a_case() -> None:
    gate = Gate()
    with world(Upstream(Answer([chunk("On it"), gate])), live=True) as it:
        client = threading.Thread(target=post_and_forget, args=(it,))
        client.start()
        eventually(lambda: state_of(it) == "writing", "a piece has come")
        for query in ("number=1", "number=1&attempt=7", "number=1&choice=3"):
            answer = it.client.get(f"/live/case?{query}")
            assert answer.status_code == 404
            assert "expected 0 to 0" in answer.text or "only a reply" in answer.text
        gate.open()
        client.join()


# What pages hear


def messages(data: bytes) -> list[dict[str, Any]]:
    """The messages in bytes of server-sent events; comments are none."""
    lines = data.decode("ascii").split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def heard(hub: LiveHub, until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """What one page reads, until a message is what was waited for."""
    found: list[dict[str, Any]] = []
    async for data in hub.listen():
        found += messages(data)
        if any(map(until, found)):
            break
    return found


def is_over(message: dict[str, Any]) -> bool:
    return message["type"] == "exchange" and not message["open"]


def test_a_page_hears_what_was_and_what_comes() -> None:
    async def run() -> list[list[dict[str, Any]]]:
        hub = LiveHub(pace=0)
        hubs_exchange(hub).end("ok")
        live = hubs_exchange(hub)
        pages = [asyncio.create_task(heard(hub, lambda each: each.get("number") == 2 and is_over(each))) for _ in "ab"]
        await asyncio.sleep(0)
        say(live, CALL)
        live.end("client_left")
        return await asyncio.gather(*pages)

    first, second = asyncio.run(run())
    assert [each["type"] for each in first][:2] == ["hello", "exchange"]
    assert (first[-1]["state"], first[-1]["number"], first[-1]["oldest"]) == ("left", 2, 1)
    assert second[-1]["state"] == "left"


def test_a_slow_page_misses_steps_and_not_the_end() -> None:
    async def run() -> tuple[bytes, bytes]:
        hub = LiveHub(pace=0)
        live = hubs_exchange(hub)
        page = hub.listen()
        await anext(page)
        await anext(page)
        for _ in range(5_000):
            say(live, "x" * 20)
        live.end("ok")
        data = await anext(page)
        await page.aclose()
        return data, data

    data, _ = asyncio.run(run())
    (message,) = messages(data)
    assert is_over(message) and message["written"] == 100_000
    assert len(data) < 2_000


def test_a_page_that_reads_nothing_is_owed_no_more_than_what_is_kept() -> None:
    async def run() -> list[dict[str, Any]]:
        hub = LiveHub(pace=0, most=3)
        page = hub.listen()
        await anext(page)
        for _ in range(50):
            hubs_exchange(hub)
        data = await anext(page)
        await page.aclose()
        return messages(data)

    assert [each["number"] for each in asyncio.run(run())] == [48, 49, 50]


def test_each_server_has_a_name_by_which_a_restart_is_seen() -> None:
    names = [asyncio.run(heard(LiveHub(), lambda each: True))[0]["server"] for _ in range(2)]
    assert names[0] != names[1]


def test_pages_have_a_bound_end_with_the_hub_and_hear_that_it_lives() -> None:
    async def run() -> list[bytes]:
        hub = LiveHub(readers=1, keep_alive=0.001, pace=0)
        page = hub.listen()
        await anext(page)
        assert hub.full
        with pytest.raises(XMLToolsError, match="close another page"):
            await anext(hub.listen())
        comment = await anext(page)
        hub.close()
        rest = [data async for data in page]
        assert not hub.full
        return [comment, *rest]

    comment, *_ = asyncio.run(run())
    assert comment.startswith(b":") and messages(comment) == []


# Who may read it


@pytest.mark.parametrize("path", ["/live/events", "/live/exchange?number=1", "/live/case?number=1"])
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("app.localhost", 200),
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        ("tools.example", 200),
        ("TOOLS.example:99", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil.example/@localhost", 403),
    ],
)
def test_the_live_view_is_read_under_known_names_only(host: str, status: int, path: str) -> None:
    hub = LiveHub()
    live = hubs_exchange(hub)
    say(live, CALL)
    live.end("ok")
    app = Starlette(routes=routes(hub, hosts=["tools.example"]))
    with (
        running(app) as url,
        httpx2.stream("GET", f"{url}{path}", headers={"host": host}, trust_env=False, timeout=20) as response,
    ):
        assert response.status_code == status


@pytest.mark.parametrize("path", ["/live/events", "/live/exchange?number=1", "/live/case?number=1"])
def test_the_live_view_needs_the_servers_key_and_pages_of_its_own(path: str) -> None:
    with world(Upstream(make=reply(CALL)), live=True, api_key="own-key-of-the-server") as it:
        assert it.client.get(path).status_code == 401
        it.client.headers["authorization"] = "Bearer own-key-of-the-server"
        it.post(stream=True)
        over(it)
        with it.client.stream("GET", path) as response:
            assert response.status_code == 200
        assert it.client.get(path, headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_one_page_too_many_is_told_so() -> None:
    hub = LiveHub(readers=1)
    with (
        running(Starlette(routes=routes(hub))) as url,
        httpx2.stream("GET", f"{url}/live/events", trust_env=False, timeout=20) as response,
    ):
        pieces = response.iter_raw()
        assert messages(next(pieces))[0]["type"] == "hello"
        assert httpx2.get(f"{url}/live/events", trust_env=False, timeout=20).status_code == 503


@pytest.mark.parametrize("number", ["", "0", "2", "-1", "x", "9" * 400])
def test_an_exchange_that_is_not_kept_is_said_to_be(number: str) -> None:
    with world(Upstream(make=reply(CALL)), live=True) as it:
        it.post(stream=True)
        answer = it.client.get("/live/exchange", params={"number": number})
    assert answer.status_code == 404
    assert "is not kept" in answer.json()["error"]["message"]


def test_without_the_live_view_nothing_is_kept() -> None:
    with world(Upstream(make=reply(CALL))) as it:
        it.post(stream=True)
        assert it.app.state.hub is None
        assert it.client.get("/live").status_code == 404


def test_whole_answers_are_shown_as_streams_are() -> None:
    with world(Upstream(make=lambda seen: whole(CALL)), live=True) as it:
        it.post(tools=[TOOL])
        found = exchange_of(it)
    assert (found["state"], found["made"], found["stream"]) == ("done", 1, False)
    assert found["attempts_made"][0]["replies"][0]["text"] == CALL
