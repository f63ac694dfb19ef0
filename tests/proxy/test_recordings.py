from __future__ import annotations

import asyncio
import json
import logging
import stat
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xmltools as xt
from proxy.running import running
from proxy.test_server_upstream import Answer, Upstream, as_json, world
from proxy.test_server_upstream import chunk as piece
from xmltools.proxy.recordings import Recorder, Replay, read_recording
from xmltools.proxy.scripted.server import ScriptedModel

ASKED: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": "haiku"}], "stream": True}
HEAD = {"content-type": "text/event-stream"}


class Time:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now = 50.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


def keep(
    folder: Path, chunks: list[tuple[float, bytes]], body: Any = ASKED, error: str | None = None, **options: Any
) -> Path:
    """Keep an exchange whose chunks come at these times, and return its file."""
    time = Time()
    recording = Recorder(folder, clock=time.clock).start(body, **options)
    time.now = 50.1
    recording.head(200, HEAD)
    for at, chunk in chunks:
        time.now = 50.0 + at
        recording.chunk(chunk)
    recording.end(error)
    return recording.path


def play(
    app: Replay | ScriptedModel, time: Time, body: Any = ASKED, path: str = "/v1/chat/completions", slow: float = 0.0
) -> list[tuple[float, Any]]:
    """What the app sends to one request, each message with its time; the client takes `slow` seconds for each."""
    sent: list[tuple[float, Any]] = []
    start = time.now
    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b"", "http_version": "1.1"}
    scope["asgi"] = {"version": "3.0", "spec_version": "2.4"}

    async def ask() -> None:
        left = asyncio.Event()
        asked = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

        async def receive() -> Any:
            if not asked:
                await left.wait()
            return asked.pop()

        async def send(message: Any) -> None:
            sent.append((time.now - start, message))
            time.now += slow

        await app(scope, receive, send)

    asyncio.run(ask())
    return sent


def bodies(sent: list[tuple[float, Any]]) -> list[tuple[float, bytes]]:
    return [(round(at, 6), message["body"]) for at, message in sent if message.get("body")]


CHUNKS = [(0.25, b"data: {}\n\n"), (0.5, "é".encode()[:1]), (0.5, "é".encode()[1:]), (2.125, b"\x00\xff[DONE]")]


def test_a_recording_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    recorded = read_recording(keep(tmp_path, CHUNKS))
    assert (recorded.method, recorded.path, recorded.body) == ("POST", "/v1/chat/completions", ASKED)
    assert (recorded.status, recorded.headers, recorded.head_at) == (200, HEAD, pytest.approx(0.1))
    assert recorded.chunks == tuple(CHUNKS)
    assert (recorded.end_at, recorded.error) == (2.125, None)


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_kept(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    file = keep(tmp_path_factory.mktemp("kept"), [(0.2, chunk) for chunk in chunks])
    assert [chunk for _, chunk in read_recording(file).chunks] == chunks


def test_only_the_owner_may_read_a_recording_and_each_has_its_own_file(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "kept"
    files = {keep(folder, []) for _ in range(50)}
    assert len(files) == 50
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert {file.parent for file in files} == {folder}


def test_nothing_of_the_request_names_the_file(tmp_path: Path) -> None:
    file = keep(tmp_path, [], {"model": "../../etc/passwd"}, path="/v1/../../x")
    assert file.parent == tmp_path
    assert set(file.name) <= set("0123456789abcdefTZ-.jsonl")


def test_no_credentials_are_kept(tmp_path: Path) -> None:
    body = {**ASKED, "api_key": "sk-1", "Authorization": "sk-2", "extra_headers": {"x": "sk-3"}, "max_tokens": 5}
    recording = Recorder(tmp_path).start(body, path="/v1/chat/completions?key=sk-4")
    recording.head(200, {**HEAD, "set-cookie": "sk-5", "x-request-id": "r1", "openai-organization": "sk-6"})
    recording.end()
    assert "sk-" not in recording.path.read_text("utf-8")
    recorded = read_recording(recording.path)
    assert recorded.body == {**ASKED, "max_tokens": 5}
    assert recorded.headers == {**HEAD, "x-request-id": "r1"}


@pytest.mark.parametrize("body", [b"--form\r\n\xff", b"[1]", b"", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_left_out(tmp_path: Path, body: bytes) -> None:
    assert read_recording(keep(tmp_path, [], body)).body is None


def test_an_exception_is_noted_as_what_broke_it_off(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).start(ASKED)
    with pytest.raises(ConnectionError), recording:
        recording.head(200, HEAD)
        recording.chunk(b"x")
        raise ConnectionError("with content")
    recorded = read_recording(recording.path)
    assert recorded.error == "ConnectionError"
    assert recorded.chunks[0][1] == b"x"


def test_a_second_end_and_a_late_chunk_say_nothing(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).start(ASKED)
    recording.head(200, HEAD)
    recording.end()
    before = recording.path.read_bytes()
    recording.chunk(b"late")
    recording.end("late")
    assert recording.path.read_bytes() == before


def test_what_was_kept_is_there_before_the_end(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).start(ASKED)
    recording.head(200, HEAD)
    recording.chunk(b"one")
    recorded = read_recording(recording.path)
    assert [chunk for _, chunk in recorded.chunks] == [b"one"]
    assert recorded.error == "the recording has no end"
    recording.end()


def test_a_last_line_that_was_cut_off_is_no_error(tmp_path: Path) -> None:
    file = keep(tmp_path, CHUNKS)
    text = file.read_text("utf-8")
    for cut in range(text.index('"type":"chunk"'), len(text)):
        file.write_text(text[:cut], "utf-8")
        recorded = read_recording(file)
        assert recorded.chunks == tuple(CHUNKS[: len(recorded.chunks)])
        assert recorded.error == "the recording has no end"


def test_a_full_disk_stops_the_recording_and_not_the_exchange(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    recording = Recorder(tmp_path).start(ASKED)
    recording._file.close()
    recording._file = full.open("w", encoding="utf-8", buffering=1)
    with caplog.at_level(logging.ERROR):
        recording.chunk(b"the content")
        recording.chunk(b"the content")
        recording.end()
    assert len(caplog.records) == 1
    assert "content" not in caplog.text


def test_a_folder_that_can_not_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(xt.XMLToolsError, match="can't be kept"):
        Recorder(tmp_path / "file")


def test_a_folder_that_vanished_does_not_break_the_exchange(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(tmp_path / "kept")
    (tmp_path / "kept").rmdir()
    with caplog.at_level(logging.ERROR), recorder.start(ASKED) as recording:
        recording.head(200, HEAD)
    assert len(caplog.records) == 1
    assert not recording.path.exists()


def test_threads_do_not_mix_their_recordings(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)

    def run(number: int) -> None:
        with recorder.start({"number": number}) as recording:
            recording.head(200, HEAD)
            for _ in range(50):
                recording.chunk(str(number).encode())

    threads = [Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [read_recording(file) for file in tmp_path.glob("*.jsonl")]
    assert sorted(each.body["number"] for each in found if each.body) == list(range(8))
    for each in found:
        assert each.body is not None
        assert [chunk for _, chunk in each.chunks] == [str(each.body["number"]).encode()] * 50


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected what --record writes"),
        ("no json\n", "line 1"),
        ('{"type":"request","version":1}\n[]\n', "line 2"),
        ('{"type":"request","version":9,"method":"POST","path":"/"}\n{"type":"response"}\n', "version 1"),
        ('{"type":"chunk","at":0,"text":""}\n{"type":"end","at":0}\n', "expected what --record writes"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(xt.XMLToolsError, match=told):
        read_recording(file)


def test_a_replay_needs_something_to_play(tmp_path: Path) -> None:
    with pytest.raises(xt.XMLToolsError, match="no recording to play"):
        Replay([tmp_path])
    with pytest.raises(xt.XMLToolsError, match="there is nothing here"):
        Replay([tmp_path / "missing.jsonl"])


@pytest.mark.parametrize("speed", [0.5, 1.0, 10.0])
def test_the_same_chunks_come_at_the_same_times_divided_by_the_speed(tmp_path: Path, speed: float) -> None:
    time = Time()
    app = Replay([keep(tmp_path, CHUNKS)], speed=speed, sleep=time.sleep, clock=time.clock)
    sent = play(app, time)
    assert sent[0] == (pytest.approx(0.1 / speed), sent[0][1])
    assert sent[0][1]["status"] == 200
    assert sent[0][1]["headers"] == [(b"content-type", b"text/event-stream")]
    assert bodies(sent) == [(round(at / speed, 6), chunk) for at, chunk in CHUNKS]
    assert sent[-1][1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_time_that_went_by_counts_as_waited(tmp_path: Path) -> None:
    time = Time()
    app = Replay([keep(tmp_path, CHUNKS)], sleep=time.sleep, clock=time.clock)
    assert [round(at, 6) for at, _ in bodies(play(app, time, slow=0.7))] == [0.8, 1.5, 2.2, 2.9]


def test_without_speed_all_comes_at_once(tmp_path: Path) -> None:
    time = Time()
    app = Replay([keep(tmp_path, CHUNKS)], speed=0, sleep=time.sleep, clock=time.clock)
    assert bodies(play(app, time)) == [(0.0, chunk) for _, chunk in CHUNKS]


def asking(*messages: str, **fields: Any) -> dict[str, Any]:
    """A request whose messages are of user and model in turn, after instructions that are different each time."""
    turns = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(messages)]
    system = {"role": "system", "content": fields.pop("system", "full")}
    return {"model": "m", "messages": [system, *turns], **fields}


class Player:
    """A replay of requests, whose replies are numbers, and what it tells."""

    def __init__(self, folder: Path, *bodies: dict[str, Any]) -> None:
        self.files = [keep(folder, [(0.2, str(at).encode())], body) for at, body in enumerate(bodies)]
        self.time = Time()
        self.told: list[str] = []
        self.app = Replay(self.files, sleep=self.time.sleep, clock=self.time.clock, tell=self.told.append)

    def ask(self, body: dict[str, Any], path: str = "/v1/chat/completions") -> tuple[str, str]:
        """Return what is played, and the last words of the line that is told."""
        sent = play(self.app, self.time, body, path)
        said = b"".join(chunk for _, chunk in bodies(sent)).decode()
        if sent[0][1]["status"] == 200:
            assert self.told[-1].startswith(self.files[int(said)].name + ": ")
        else:
            assert sent[0][1]["status"] == 404
            said = json.loads(said)["error"]["message"]
        return said, self.told[-1].partition(": ")[2]


def test_a_request_gets_its_own_recording(tmp_path: Path) -> None:
    player = Player(tmp_path, asking("one"), asking("two"), asking("three"))
    assert [player.ask(asking(each)) for each in ("two", "three", "two")] == [
        ("1", "exact"),
        ("2", "exact"),
        ("1", "exact"),
    ]
    assert player.ask(asking("one"), "/other/place/v1/chat/completions") == ("0", "exact")
    assert "nothing is recorded for POST /v1/embeddings" in player.ask(asking("one"), "/v1/embeddings")[0]


def test_other_instructions_get_the_recording_with_the_same_words_of_the_user(tmp_path: Path) -> None:
    player = Player(tmp_path, asking("one"), asking("two"), asking("two"))
    found = [player.ask(asking(each, system="compact")) for each in ("two", "one", "two", "two")]
    assert found == [(number, "by the user's words") for number in ("1", "0", "2", "1")]


def test_nobody_gets_the_reply_to_another_question(tmp_path: Path) -> None:
    player = Player(tmp_path, asking("context", "a", "one"), asking("two"), asking("three", stream=True))
    for other in (asking("four"), asking("context", "a", "four", "b", "one"), asking("context")):
        assert player.ask(other)[0] == (
            "replay: no recording has these words of the user at this point of a conversation"
        )
    told = "replay: no recording is for the model 'n'; recorded: 'm'"
    assert player.ask({**asking("two"), "model": "n"})[0] == told
    assert player.told[-1] == "404, no recording fits POST '/v1/chat/completions'"
    for stream, body in ((True, asking("two")), (False, asking("three"))):
        alone = Player(tmp_path / str(stream), {**body, "stream": not stream})
        said = alone.ask({**body, "stream": stream})[0]
        assert ("ask without a stream" if stream else "ask for a stream") in said


def test_a_conversation_is_played_in_order_whatever_its_tools_return(tmp_path: Path) -> None:
    player = Player(tmp_path, asking("one"), asking("one", "call", "at 9"), asking("one", "call", "at 9", "call", "x"))
    found = [
        player.ask(asking("one", system="compact")),
        player.ask(asking("one", "call", "at 10", system="compact")),
        player.ask(asking("one", "call", "at 10", "call", "y", system="compact")),
    ]
    assert found == [("0", "by the user's words"), ("1", "in order"), ("2", "in order")]
    assert "no recording" in player.ask(asking("two", "call", "at 10"))[0]


def test_where_results_are_no_words_of_the_user_each_turn_gets_its_own(tmp_path: Path) -> None:
    def turn(replies: int, system: str) -> dict[str, Any]:
        body = asking("one", system=system)
        done = [{"role": "assistant", "content": "call"}, {"role": "tool", "content": "9"}]
        return {**body, "messages": [*body["messages"], *done * replies]}

    player = Player(tmp_path, turn(0, "full"), turn(1, "full"))
    assert [player.ask(turn(at, "compact"))[0] for at in (1, 0, 1)] == ["1", "0", "1"]
    assert "no recording" in player.ask(turn(2, "compact"))[0]


def test_a_whole_folder_is_played_in_the_order_of_its_files(tmp_path: Path) -> None:
    recorder, time = Recorder(tmp_path), Time()
    for text in (b"first", b"second"):
        with recorder.start(ASKED) as recording:
            recording.head(200, HEAD)
            recording.chunk(text)
    app = Replay([tmp_path], sleep=time.sleep, clock=time.clock)
    assert [bodies(play(app, time))[0][1] for _ in range(3)] == [b"first", b"second", b"first"]


def test_a_stream_of_the_scripted_model_is_recorded_and_played_to_the_sdk(tmp_path: Path) -> None:
    """The whole way over sockets: recorded from one server, played by another."""
    with (
        running(ScriptedModel(speed=0)) as url,
        Recorder(tmp_path).start(ASKED) as recording,
        httpx2.stream("POST", f"{url}/v1/chat/completions", json=ASKED) as response,
    ):
        recording.head(response.status_code, response.headers)
        kept = list(response.iter_raw())
        for chunk in kept:
            recording.chunk(chunk)
    with running(Replay([recording.path], speed=0)) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            assert [model.id for model in client.models.list()] == ["scripted"]
            stream = client.chat.completions.create(**ASKED)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        played = httpx2.post(f"{url}/v1/chat/completions", json=ASKED)
    assert "parser waits" in text
    assert played.content == b"".join(kept)
    assert played.headers["content-type"].startswith("text/event-stream")


def test_nothing_is_said_to_a_client_that_has_left(tmp_path: Path) -> None:
    time, sent = Time(), []
    app = Replay([keep(tmp_path, CHUNKS)], sleep=time.sleep, clock=time.clock)
    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": [], "query_string": b""}
    came = [{"type": "http.request", "body": json.dumps(ASKED).encode(), "more_body": False}]

    async def receive() -> Any:
        if not came and not any(message.get("body") for message in sent):
            await asyncio.Event().wait()
        return came.pop() if came else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app({**scope, "http_version": "1.1", "asgi": {"version": "3.0"}}, receive, send))
    assert [message["body"] for message in sent[1:]] == [CHUNKS[0][1]]


def test_where_the_upstream_broke_off_the_replay_does(tmp_path: Path) -> None:
    file = keep(tmp_path, [(0.2, b"data: 1\n\n")], error="ReadError")
    with running(Replay([file], speed=0)) as url, pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(f"{url}/v1/chat/completions", json=ASKED)


def test_an_error_of_the_upstream_is_played_with_its_status(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).start(ASKED)
    recording.head(429, {"content-type": "application/json", "retry-after": "7"})
    recording.chunk(b'{"error":{"message":"slow down"}}')
    recording.end()
    with running(Replay([recording.path], speed=0)) as url:
        answer = httpx2.post(f"{url}/v1/chat/completions", json=ASKED)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.json() == {"error": {"message": "slow down"}}


SLOW_DOWN = {"error": {"message": "slow down", "code": "rate_limit"}}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (as_json(SLOW_DOWN, 429), 429),
        (as_json(SLOW_DOWN), 502),
        (Answer([b"<html>slow down</html>"], headers={"content-type": "text/html"}), 502),
        (Answer([piece("Hel"), b'data: {"error":{"message":"slow down"}}\n\n', piece("lo")]), 200),
    ],
    ids=["by its status", "in an answer", "a page", "in a stream"],
)
@pytest.mark.parametrize("streams", [True, False])
def test_what_the_upstream_said_is_played_to_its_end_though_it_was_an_error(
    tmp_path: Path, answer: Answer, status: int, streams: bool
) -> None:
    with world(Upstream(answer), record=tmp_path) as it:
        first = it.post(stream=streams)
    [file] = tmp_path.glob("*.jsonl")
    with world(Replay([file], speed=0)) as it:
        again = it.post(stream=streams)
    assert again.status_code == first.status_code == (status if streams or status != 200 else 502)
    assert again.text.partition("error")[2] == first.text.partition("error")[2] != ""


def test_a_file_of_before_0_2_0_with_an_error_of_the_upstream_is_played_to_its_end(tmp_path: Path) -> None:
    file = keep(tmp_path, [(0.2, b'{"error":{"message":"slow down"}}')], error="UpstreamStatusError")
    with running(Replay([file], speed=0)) as url:
        assert "slow down" in httpx2.post(f"{url}/v1/chat/completions", json=ASKED).text


@pytest.mark.parametrize("error", ["UpstreamError", None])
def test_where_the_upstream_gave_no_answer_the_replay_says_so(tmp_path: Path, error: str | None) -> None:
    recording = Recorder(tmp_path).start(ASKED)
    if error is not None:
        recording.end(error)
    with running(Replay([tmp_path], speed=0)) as url:
        answer = httpx2.post(f"{url}/v1/chat/completions", json=ASKED)
    recording.end()
    assert answer.status_code == 502 and "gave no answer" in answer.json()["error"]["message"]
