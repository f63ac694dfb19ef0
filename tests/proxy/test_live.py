"""The live view: what is kept of each exchange, how it ended, what pages hear of it, and what is never kept."""

import asyncio
import json
import threading
from contextlib import suppress

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
from xmltools.cli.conformance import read_corpus
from xmltools.parser import parse
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.playground import LiveHub, routes
from xmltools.proxy.playground.live import LONGEST_EXCHANGE, LONGEST_TEXT
from xmltools.proxy.playground.live_details import describe
from xmltools.tools import load_tools

CHAT = "/v1/chat/completions"
WRONG = "I try.\n<tool><tool_name>write</tool_name><arguments><text>x</text></arguments></tool>"
SLOPPY = "So:\n<tool><tool_name>write</tool_name><arguments><path>a & b</path></arguments></tool>"
FOREIGN = '<tool_call>\n{"name": "write", "arguments": {"path": "a"}}\n</tool_call>'
OPEN = ("none", "waiting", "writing")
DATA = ["/live/events", "/live/exchange?number=1", "/live/case?number=1"]


def exchange_of(it, number=1, *, is_open=False):
    """What a page is given of an exchange; by default when that is over, which is a moment after the answer."""
    if not is_open:
        eventually(lambda: state_of(it, number) not in OPEN, "the exchange is over")
    answer = it.client.get(f"/live/exchange?number={number}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def state_of(it, number=1):
    exchange = it.app.state.hub.get(number)
    return exchange.state if exchange is not None else "none"


def says(*replies):
    """An upstream that streams these replies, one after the other."""
    told = iter(replies)
    return lambda seen: Answer(stream(text) if isinstance(text := next(told), str) else text)


def shown(make, path=CHAT, *, settings=None, **more):
    """What is shown of an exchange with an upstream."""
    upstream = Upstream(make=make) if callable(make) else Upstream(make)
    with world(upstream, live=True, **({"settings": settings} if settings else {})) as it:
        with suppress(httpx2.HTTPError):
            it.post(path, **({"stream": True} | more))
        return exchange_of(it)


def reply_of(found, attempt=0):
    (only,) = found["attempts_made"][attempt]["replies"]
    return only


def pick(found, names):
    """Some of what was found; what was not counted is 0."""
    return [found.get(name, 0) for name in names.split()]


def block_of(found, attempt=0):
    (only,) = reply_of(found, attempt)["reading"]["blocks"]
    return only


# States


ERROR = b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'
ENDS = {
    "done": (reply(CALL), "done", ""),
    "repaired": (reply(SLOPPY), "done", ""),
    "rejected": (reply(WRONG), "rejected", "write: path: expected string, got nothing"),
    "length": (lambda seen: Answer(stream(CALL[:60], finish="length")), "cut", "for the reason 'length'"),
    "broken off": (lambda seen: Answer([chunk("On it"), Cut()]), "cut", "the upstream broke off"),
    "no reason": (lambda seen: Answer([chunk("On it")]), "cut", "the upstream broke off its reply"),
    "nothing": (lambda seen: Answer([Cut()]), "failed", "the upstream broke off"),
    "overloaded": (lambda seen: as_json({"error": {"message": "overloaded"}}, 503), "failed", "overloaded"),
    "error in the stream": (lambda seen: Answer([chunk("Hi"), ERROR]), "failed", "out of memory"),
    "no JSON": (lambda seen: Answer([b"data: {\n\n"]), "failed", "the upstream sent what is no JSON"),
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(("make", "state", "message"), ENDS.values(), ids=ENDS)
def test_every_exchange_comes_to_its_end(make, state, message, path):
    found = shown(make, path)
    assert (found["state"], found["open"]) == (state, False)
    assert message in found["message"]
    assert bool(found["message"]) == (state != "done")
    assert all("ended" in attempt for attempt in found["attempts_made"])


def test_a_rejected_call_is_counted_where_it_was_rejected():
    found = shown(says(WRONG, CALL))
    first, second = found["attempts_made"]
    assert pick(found, "state retries made rejected") == ["done", 1, 1, 1]
    assert pick(first, "made rejected") == [0, 1]
    assert pick(second, "made rejected") == [1, 0]
    assert "expected string, got nothing" in second["prompt"]["messages"][-1]["text"]
    assert reply_of(found)["text"] == WRONG
    error = block_of(found)
    assert (error["code"], error["name"]) == ("invalid_arguments", "write") and error["hint"] and error["message"]
    times = [*pick(first, "asked answered first first_call ended"), *pick(second, "asked ended"), found["seconds"]]
    assert times == sorted(times)


def test_a_request_that_the_upstream_refused_was_not_sent_back_to_the_model():
    refusal, good = as_json({"error": {"message": "unknown field: skip_special_tokens"}}, 400), reply(FOREIGN)
    found = shown(
        lambda seen: refusal if "skip_special_tokens" in seen.json else good(seen), settings=Settings(dialect="hermes")
    )
    first, second = found["attempts_made"]
    assert pick(found, "state attempts retries made") == ["done", 2, 0, 1]
    assert pick(first, "status replies") == [400, []]
    assert second["status"] == 200


def test_other_ends(monkeypatch):
    found = shown(reply("No."), settings=Settings(retries=0), tool_choice="required")
    assert found["state"] == "rejected" and "did not call a tool" in found["message"]
    with world(Upstream(Answer([chunk("On it"), Gate()])), live=True, idle_timeout=0.05) as it:
        it.post(stream=True)
        found = exchange_of(it)
    assert found["state"] == "cut" and "--idle-timeout" in found["message"]
    with world(Upstream(), live=True) as it:
        assert it.post(tools=[{"type": "function", "function": {"name": ""}}]).status_code == 400
        assert it.client.post(CHAT, content=b"{").status_code == 400
        refused, no_json = exchange_of(it, 1), exchange_of(it, 2)
    assert pick(refused, "state status model") == ["refused", 400, "m"]
    assert "tools[0]" in refused["message"] and "tools[0]" in refused["sent"]["head"]
    assert (no_json["state"], no_json["request"]["text"]["head"]) == ("refused", "")

    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr(Exchange, "feed", fails)
    found = shown(reply(CALL))
    assert found["state"] == "failed" and "its log says where" in found["message"]


def begin(it):
    """Ask in a thread."""

    def ask():
        with suppress(httpx2.HTTPError):
            it.client.post(CHAT, json={**BODIES[CHAT], "stream": True})

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_client_that_leaves_and_a_server_that_stops():
    stopped = Gate()
    make = says([*stream(CALL)[:3], Gate()], [*stream(CALL)[:3], stopped])
    with world(Upstream(make=make), live=True, grace=1) as it:
        with it.client.stream("POST", CHAT, json={**BODIES[CHAT], "stream": True}) as response:
            pieces = response.iter_bytes()
            next(pieces)
            assert state_of(it) == "writing"
        eventually(lambda: state_of(it) == "client_left", "the client has left")
        client = begin(it)
        eventually(stopped.reached.is_set, "the second stream is open")
        hub = it.app.state.hub
        it.server.ask_to_stop()
        eventually(lambda: hub.get(2).state == "stopped", "the second exchange is stopped")
        client.join()


def test_what_is_being_written_is_shown_as_far_as_it_goes():
    waits, writes = Gate(), Gate()
    cut = CALL.index("x < 1")
    answer = Answer([chunk(CALL[:cut]), writes, chunk(CALL[cut:], finish="stop"), DONE], before=waits)
    with world(Upstream(answer), live=True) as it:
        client = begin(it)
        eventually(waits.reached.is_set, "the upstream was asked")
        waiting = exchange_of(it, is_open=True)
        waits.open()
        eventually(writes.reached.is_set, "the upstream writes")
        eventually(lambda: state_of(it) == "writing", "a piece has come")
        writing = exchange_of(it, is_open=True)
        for query in ("", "&attempt=7", "&choice=3"):  # only a whole reply makes a case
            case = it.client.get(f"/live/case?number=1{query}")
            assert case.status_code == 404 and "only a reply" in case.text
        writes.open()
        client.join()
        done = exchange_of(it)
    assert (waiting["state"], waiting["attempts_made"][0]["replies"]) == ("waiting", [])
    so_far = reply_of(writing)
    assert (so_far["text"], "ended" in writing["attempts_made"][0]) == (CALL[:cut], False)
    events = so_far["steps"]["events"]
    assert [each["path"] for each in events if each.get("text") == "a b.py"] == ["path"]
    assert not {"CallCompleted", "CallFailed"} & {each["kind"] for each in events}
    assert pick(done, "state made") == ["done", 1]


# What is kept


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("streams", [True, False])
def test_request_prompt_and_answer_are_kept_by_their_parts(path, streams):
    found = shown(
        (lambda seen: Answer(stream(CALL)) if streams else whole(CALL)), path, stream=streams, temperature=0.25
    )
    assert pick(found, "state made stream route words dialect") == ["done", 1, streams, path, "Write it.", "forge"]
    assert found["request"]["messages"][-1] == {"role": "user", "text": "Write it."}
    assert found["request"]["tools"]["count"] == 1
    assert '"temperature": 0.25' in found["request"]["fields"]
    (attempt,) = found["attempts_made"]
    system, user = attempt["prompt"]["messages"]
    assert system["role"] == "system" and "## write" in system["text"]
    assert user == {"role": "user", "text": "Write it."}
    assert "a b.py" in found["sent"]["head"]
    assert (found["status"], attempt["status"], reply_of(found)["text"]) == (200, 200, CALL)


def test_an_exchange_is_known_by_the_first_words_of_its_newest_message():
    function = {"name": "write", "arguments": '{"path": "a"}'}
    called = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "4 degrees,\n rain"}
    said = [{"role": "user", "content": "word " * 100}, called, result]
    with world(Upstream(make=reply(CALL)), live=True) as it:
        for number in (1, 3):
            it.post(stream=True, messages=said[:number])
        words = [exchange_of(it, number)["words"] for number in (1, 2)]
    assert words == ["word " * 32, "4 degrees, rain"]


def test_what_the_upstream_tells_apart_itself_is_shown():
    function = {"name": "write", "arguments": '{"path": "a"}'}
    message = {"content": "Here.", "reasoning_content": "Hm.", "tool_calls": [{"id": "n1", "function": function}]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    found = reply_of(shown(as_json(body), stream=False))
    assert (found["text"], found["thoughts"]["head"]) == ("Here.", "Hm.")
    assert [(call["name"], call["arguments"][0]["value"]) for call in found["calls"]] == [("write", "a")]


def test_a_call_in_another_notation_is_noticed_and_one_that_is_continued_is_read_whole():
    found = shown(says(FOREIGN, CALL), settings=Settings(dialect="forge"))
    assert pick(found, "unread codes attempts") == [1, ["foreign_call"], 2]
    assert [each["name"] for each in reply_of(found)["reading"]["marks"]] == ["write"]
    cut = CALL.index("]]>")
    found = shown(says(CALL[:cut], CALL[cut:]))
    assert pick(found, "made rejected state") == [1, 1, "done"]
    assert reply_of(found, 1)["continues"]
    assert block_of(found, 1)["arguments"][1]["value"] == "x < 1\n😀"


def test_a_request_without_tools_is_passed_on_and_several_choices_are_shown_each():
    found = shown(reply("Hi there."), tools=[])
    assert pick(found, "plain state dialect") == [True, "done", ""]
    assert "Hi" in found["sent"]["head"] and found["attempts_made"][0]["status"] == 200
    assert found["attempts_made"][0]["prompt"]["messages"] == [{"role": "user", "text": "Write it."}]
    answer = Answer([chunk(CALL, index=1), chunk("Hi", index=0), chunk(finish="stop"), chunk(finish="stop", index=1)])
    replies = shown(answer, n=2)["attempts_made"][0]["replies"]
    assert [(each["choice"], each["text"]) for each in replies] == [(0, "Hi"), (1, CALL)]


def test_no_key_is_ever_kept():
    server = {"type": "mcp", "server_label": "x", "server_url": "https://x", "headers": {"k": "secret-in-a-tool"}}

    def echo(seen):
        return as_json({"error": {"message": f"wrong key: {seen.header('authorization')}"}}, 401)

    with world(Upstream(make=echo), live=True, upstream_key="secret-of-the-upstream") as it:
        it.client.headers.update({"authorization": "Bearer secret-of-the-client", "x-api-key": "secret-as-x-api-key"})
        said = [{"role": "user", "content": "My key is secret-of-the-client."}]
        it.post(stream=True, api_key="secret-in-the-body", user="secret-of-the-client", messages=said)
        it.post("/v1/responses", tools=[*BODIES["/v1/responses"]["tools"], server])
        kept = json.dumps([exchange_of(it, 1), exchange_of(it, 2)])
    assert "wrong key: Bearer [a key]" in kept
    assert "secret" not in kept


# Bounds


def hub_with(**bounds):
    hub = LiveHub()
    for name, bound in ({"pace": 0} | bounds).items():
        setattr(hub, name, bound)
    return hub


def hubs_exchange(hub, said="", **body):
    """An exchange in which the model has said something."""
    body = {**BODIES[CHAT], "stream": True, **body}
    exchange = Exchange("chat", body)
    live = hub.begin("req", "chat", json.dumps(body).encode())
    live.opened(exchange)
    live.asked(json.dumps(exchange.request).encode())
    say(live, said)
    return live


def say(live, text):
    live.chunk({"choices": [{"index": 0, "delta": {"content": text}}]})


def reply_in(live):
    return reply_of(describe(*live.snapshot()))


def test_the_oldest_exchange_makes_room_by_number_and_by_bytes():
    hub = hub_with(most=3)
    first, *_ = [hubs_exchange(hub) for _ in range(5)]
    assert [hub.get(number) is not None for number in range(1, 6)] == [False, False, True, True, True]
    before = hub.held
    say(first, "x" * 10_000)  # it goes on, and is kept nowhere
    first.end("ok")
    assert hub.held == before
    hub = hub_with(kept=1_000_000)
    for number in range(1, 30):
        hubs_exchange(hub, "x" * 200_000)
        assert hub.held <= 1_000_000
        assert hub.get(number) is not None
    assert sum(hub.get(number) is not None for number in range(1, 30)) == 4


def test_one_exchange_is_bounded_however_much_comes():
    hub = LiveHub()
    live = hubs_exchange(hub, messages=[{"role": "user", "content": "é" * 2_000_000}])
    delta = {"content": "é" * 400_000, "reasoning": "x" * 600_000}
    for _ in range(20):
        live.asked(json.dumps({"messages": [{"role": "user", "content": "p" * 1_000_000}]}).encode())
        for choice in range(20):
            live.chunk({"choices": [{"index": choice, "delta": delta}]})
        live.sent({"type": "http.response.body", "body": b"y" * 600_000})
    assert hub.held <= LONGEST_EXCHANGE
    live.end("ok")
    found = describe(*live.snapshot())
    text = found["request"]["text"]
    assert len(text["head"].encode()) <= LONGEST_TEXT / 2
    assert text["tail"].endswith("}") and text["lost"] > 3_000_000
    first = found["attempts_made"][1]["replies"][0]
    assert first["text"] == "é" * (LONGEST_TEXT // 2) and first["lost"] == 800_000 - LONGEST_TEXT


def test_strange_replies_are_kept_as_they_are():
    found = reply_in(hubs_exchange(LiveHub(), "x" + "😀" * (LONGEST_TEXT // 4)))
    # What was cut between two bytes of a character is text.
    assert (found["text"], found["lost"]) == ("x" + "😀" * (LONGEST_TEXT // 4 - 1), 1)
    assert "4,000 parts" in reply_in(hubs_exchange(LiveHub(), "<think></think>a" * 5_000))["error"]
    live = hubs_exchange(LiveHub(), "a\ud800b\x00")
    for strange in ({}, {"choices": None}, {"choices": [1, {"index": "x"}, {"index": 10**9}, {"delta": 5}]}):
        live.chunk(strange)
    live.end("ok")
    assert reply_in(live)["text"] == "a\ud800b\x00"


# Cases for the corpus


HERMES = Settings(dialect="hermes", also="known", starts_in_reasoning=True)
ONCE = Settings(dialect="forge", retries=0)
CASES = [(text, ONCE) for text in (CALL, WRONG, SLOPPY, f"<think>hm</think>{CALL}", "a\u202e\x7f<think>open")]


@pytest.mark.parametrize(("text", "settings"), [*CASES, (f"hm</think>{FOREIGN}", HERMES)])
def test_a_reply_is_saved_as_a_case_of_the_corpus(text, settings, tmp_path):
    with world(Upstream(make=reply(text)), live=True, settings=settings) as it:
        it.client.headers["x-request-id"] = "My.Request/1"
        it.post(stream=True)
        exchange_of(it)
        answer = it.client.get("/live/case?number=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="99-live-my-request-1-1-1.json"'
    assert "\u202e" not in answer.text and "\x7f" not in answer.text
    (tmp_path / "99-live.json").write_bytes(answer.content)
    assert len(list(read_corpus(tmp_path))) == 1
    (case,) = answer.json()
    assert case["text"] == text
    options = {"dialect": "hermes", "also": "known", "starts_in_reasoning": True}
    assert case["options"] == (options if settings is HERMES else {})
    if settings is ONCE:
        jsonschema.validate(answer.json(), json.loads((FOLDER / "schema.json").read_text("utf-8")))
    found, expect = parse(text, load_tools(case["tools"]), **case["options"]), case["expect"]
    calls = [(call.arguments, [repair.code for repair in call.repairs]) for call in found.calls]
    assert [(call["arguments"], call["repairs"]) for call in expect["calls"]] == calls
    errors = [(error.code, [*error.span]) for error in found.errors]
    assert [(error["code"], error["span"]) for error in expect["errors"]] == errors
    assert (expect["text"], expect["reasoning"]) == (found.text, found.reasoning)


# What pages hear


def messages(data):
    """The messages in bytes of server-sent events; comments are none."""
    lines = data.decode("ascii").split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def heard(hub, *steps):
    """What a page reads first, and after each step."""

    async def run():
        page = hub.listen()
        found = [messages(await anext(page))]
        for step in steps:
            step()
            found.append(messages(await anext(page)))
        await page.aclose()
        return found

    return asyncio.run(run())


def test_a_page_hears_what_was_and_what_comes():
    hub = hub_with()
    hubs_exchange(hub).end("ok")
    second = hubs_exchange(hub)
    hello, known, news = heard(hub, lambda: None, lambda: [say(second, CALL), second.end("client_left")])
    assert [each["type"] for each in (*hello, *known)] == ["hello", "exchange", "exchange"]
    (last,) = news
    assert pick(last, "state number oldest open") == ["client_left", 2, 1, False]


def test_a_slow_page_misses_steps_and_not_the_end_and_is_owed_no_more_than_what_is_kept():
    hub = hub_with(most=3)
    live = hubs_exchange(hub)

    def go_on():
        for _ in range(5_000):
            say(live, "x" * 20)
        live.end("ok")

    *_, (end,), others = heard(hub, lambda: None, go_on, lambda: [hubs_exchange(hub) for _ in range(50)])
    assert (end["number"], end["open"], len(json.dumps(end)) < 2_000) == (1, False, True)
    assert [each["number"] for each in others] == [49, 50, 51]


def test_each_server_has_a_name_by_which_a_restart_is_seen():
    names = [heard(LiveHub())[0][0]["server"] for _ in range(2)]
    assert names[0] != names[1]


def test_pages_have_a_bound_end_with_the_hub_and_hear_that_it_lives():
    async def run():
        hub = hub_with(readers=1, keep_alive=0.001)
        page = hub.listen()
        await anext(page)
        assert hub.full
        comment = await anext(page)
        hub.close()
        assert [data async for data in page] == [] and not hub.full
        return comment

    comment = asyncio.run(run())
    assert comment.startswith(b":") and messages(comment) == []


# Who may read it


def asked(url, path, **headers):
    return httpx2.stream("GET", f"{url}{path}", headers=headers, trust_env=False, timeout=20)


def test_the_live_view_is_read_under_known_names_only_and_by_as_many_pages_as_it_has_room_for():
    known = ("app.localhost", "localhost:8080", "127.0.0.1", "[::1]:8080", "tools.example", "TOOLS.example:99")
    foreign = ("evil.example", "127.0.0.1.evil.example", "evil.example/@localhost")
    hub = hub_with(readers=1)
    hubs_exchange(hub, CALL).end("ok")
    with running(Starlette(routes=routes(hub, hosts=["tools.example"]))) as url:
        for host in (*known, *foreign):
            for path in DATA:
                eventually(lambda: not hub.full, "the page before has gone")
                with asked(url, path, host=host) as response:
                    assert response.status_code == (200 if host in known else 403), (host, path)
        eventually(lambda: not hub.full, "the page before has gone")
        with asked(url, DATA[0]) as response:
            pieces = response.iter_raw()
            assert messages(next(pieces))[0]["type"] == "hello"
            with asked(url, DATA[0]) as other:
                assert other.status_code == 503


@pytest.mark.parametrize("path", DATA)
def test_the_live_view_needs_the_servers_key_and_pages_of_its_own(path):
    with world(Upstream(make=reply(CALL)), live=True, api_key="own-key-of-the-server") as it:
        assert it.client.get(path).status_code == 401
        it.client.headers["authorization"] = "Bearer own-key-of-the-server"
        it.post(stream=True)
        exchange_of(it)
        with it.client.stream("GET", path) as response:
            assert response.status_code == 200
        assert it.client.get(path, headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_an_exchange_that_is_not_kept_is_said_to_be_and_without_the_view_nothing_is():
    with world(Upstream(make=reply(CALL)), live=True) as it:
        it.post(stream=True)
        for number in ("", "0", "2", "-1", "x", "9" * 400):
            answer = it.client.get("/live/exchange", params={"number": number})
            assert answer.status_code == 404
            assert "is not kept" in answer.json()["error"]["message"]
    with world(Upstream(make=reply(CALL))) as it:
        it.post(stream=True)
        assert it.app.state.hub is None
        assert it.client.get("/live").status_code == 404
