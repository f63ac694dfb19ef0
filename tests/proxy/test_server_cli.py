"""The commands as a user runs them: a process that listens, answers, keeps what it heard, and stops when it is told."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from proxy.running import running
from proxy.test_server_faults import is_listening
from proxy.test_server_upstream import BODIES, CALL, PATIENCE, Answer, Gate, Seen, Upstream, chunk, eventually, reply
from xmltools.cli import main
from xmltools.cli import serve as _cli_serve
from xmltools.cli.shared import UsageError
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.proxy.server import ServeConfig, run_app
from xmltools.proxy.server.app import check_elsewhere

CHAT = "/v1/chat/completions"
PROGRAM = """
import argparse, sys
from xmltools.cli import serve as _cli_serve
parser = argparse.ArgumentParser()
commands = parser.add_subparsers(dest="command")
_cli_serve.declare_serve(commands.add_parser("serve"))
_cli_serve.declare_replay(commands.add_parser("replay"))
options = parser.parse_args()
sys.exit(getattr(_cli_serve, options.command)(options))
"""


class Running:
    """A command that listens."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments, "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()
        found = re.search(r"http://\S+:\d+", self.said)
        assert found, self.said + self.process.stderr.read()
        self.url = found[0]

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Tell it to stop; return its exit status and what it had logged."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, log


@contextmanager
def command(*arguments: str, **environment: str) -> Iterator[Running]:
    made = Running(*arguments, **environment)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
            made.process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_several_processes_serve_at_one_port_and_end_together(number: int) -> None:
    gate = Gate()

    def answer(seen: Seen) -> Answer:
        return Answer([chunk("Hello "), gate, chunk("you", finish="stop")] if seen.method == "POST" else [b"{}"])

    with (
        running(Upstream(make=answer)) as upstream,
        command("serve", "--upstream", upstream, "--workers", "3") as it,
    ):
        with httpx2.stream("POST", it.url + CHAT, json={**BODIES[CHAT], "stream": True}, timeout=PATIENCE) as response:
            pieces = response.iter_text()
            text = next(pieces)
            it.process.send_signal(number)
            gate.open()
            text += "".join(pieces)
        assert "Hello" in text and "you" in text and "[DONE]" in text
        _, log = it.process.communicate(timeout=PATIENCE)
        assert it.process.returncode == (0 if number == signal.SIGINT else -number), log
        eventually(lambda: not is_listening(it.url), "nobody listens any more")


def test_the_live_view_is_for_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--demo", "--live", "--workers", "2"]) == 2
    assert "--live" in capsys.readouterr().err


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def post(url: str, path: str = CHAT, **headers: str) -> httpx2.Response:
    return httpx2.post(url + path, json=BODIES[path], headers=headers, timeout=PATIENCE, trust_env=False)


@pytest.mark.parametrize("format", ["text", "json"])
def test_the_demo_is_one_command(format: str) -> None:
    with command("serve", "--demo", "--speed", "0", "--log-format", format) as server:
        answer = post(server.url).json()
        status, log = server.stop()
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "write"
    assert status == 0 and "scripted model" in server.said
    (line,) = log.splitlines()
    assert (json.loads(line)["route"] if format == "json" else line.split("route=")[1].split()[0]) == CHAT


def test_keys_come_from_the_environment() -> None:
    upstream = Upstream(make=reply(CALL))
    with running(upstream) as url:
        keys = ("--require-key-env", "OWN_KEY", "--upstream-key-env", "UP_KEY")
        with command("serve", "--upstream", url, *keys, OWN_KEY="own", UP_KEY="up") as server:
            assert post(server.url).status_code == 401
            assert post(server.url, authorization="Bearer own").status_code == 200
            assert server.stop()[0] == 0
    assert upstream.seen[0].header("authorization") == "Bearer up"


def test_what_was_recorded_is_played_again(tmp_path: Path) -> None:
    with (
        running(Upstream(make=reply(CALL))) as url,
        command("serve", "--upstream", url, "--record", str(tmp_path)) as server,
    ):
        first = post(server.url, authorization="Bearer secret-key").json()
        server.stop()
    (file,) = tmp_path.iterdir()
    assert "secret-key" not in file.read_text("utf-8")
    with (
        command("replay", str(file), "--speed", "0") as upstream,
        command("serve", "--upstream", upstream.url) as server,
    ):
        second = post(server.url).json()
        assert server.stop()[0] == upstream.stop()[0] == 0
    functions = [each["choices"][0]["message"]["tool_calls"][0]["function"] for each in (first, second)]
    assert functions[0] == functions[1]


STOPS = {"after the grace": ("1", [signal.SIGTERM]), "told twice": ("60", [signal.SIGINT, signal.SIGINT])}


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("tools", [True, False], ids=["tools", "passed on"])
@pytest.mark.parametrize("source", ["demo", "upstream"])
def test_what_is_open_when_it_is_stopped_ends_with_an_error_and_no_fault(source: str, tools: bool, stop: str) -> None:
    grace, signals = STOPS[stop]
    asked = {**BODIES[CHAT], "stream": True}
    if not tools:
        del asked["tools"]
    gate = Gate()
    with (
        running(Upstream(make=lambda seen: Answer([chunk("Half "), gate]))) as url,
        command(
            *("serve", "--grace", grace, "--log-format", "json"),
            *(["--demo", "--speed", "0.001"] if source == "demo" else ["--upstream", url]),
        ) as server,
        httpx2.Client(timeout=PATIENCE, trust_env=False) as client,
        client.stream("POST", server.url + CHAT, json=asked) as response,
    ):
        pieces = response.iter_raw()
        body = next(pieces)
        for number in signals:
            server.process.send_signal(number)
            eventually(lambda: not is_listening(server.url), "it takes nothing new")
        body += b"".join(pieces)
        _, log = server.process.communicate(timeout=PATIENCE)
        status = server.process.returncode
    assert b"the server is being stopped" in body
    lines = [json.loads(line) for line in log.splitlines()]
    assert "error" not in {line["level"] for line in lines}
    assert [line["outcome"] for line in lines if line.get("route") == CHAT] == ["stopped"]
    assert status == (0 if signals[0] == signal.SIGINT else -signal.SIGTERM)


def test_what_has_no_place_for_an_error_is_broken_off_when_it_is_stopped() -> None:
    gate = Gate()
    headers = {"content-type": "text/plain", "content-length": "99"}
    with (
        running(Upstream(make=lambda seen: Answer([b"Half", gate], headers=headers))) as url,
        command("serve", "--upstream", url, "--grace", "0") as server,
    ):
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            httpx2.stream("GET", f"{server.url}/v1/files", timeout=PATIENCE, trust_env=False) as response,
        ):
            pieces = response.iter_raw()
            assert next(pieces) == b"Half"
            server.process.send_signal(signal.SIGINT)
            list(pieces)
        status, log = server.stop(0)
    assert status == 0
    assert "outcome=stopped" in log and "ERROR" not in log


def test_a_replay_behind_other_options_plays_what_was_asked_and_says_which(tmp_path: Path) -> None:
    """As a proxy's operator does it: two requests are recorded, and played behind another style of prompt."""

    def ask(url: str, words: str, **fields: object) -> httpx2.Response:
        body = {**BODIES[CHAT], "messages": [{"role": "user", "content": words}], **fields}
        return httpx2.post(url + CHAT, json=body, timeout=PATIENCE, trust_env=False)

    def text(answer: httpx2.Response) -> str:
        return str(answer.json()["choices"][0]["message"]["content"])

    def echo(seen: Seen) -> Answer:
        return reply(f"about {seen.json['messages'][-1]['content']}")(seen)

    with (
        running(Upstream(make=echo)) as url,
        command("serve", "--upstream", url, "--record", str(tmp_path)) as server,
    ):
        assert [text(ask(server.url, words)) for words in ("weather", "6*7")] == ["about weather", "about 6*7"]
        server.stop()
    with (
        command("replay", str(tmp_path), "--speed", "0") as upstream,
        command("serve", "--upstream", upstream.url, "--style", "compact") as server,
    ):
        assert [text(ask(server.url, words)) for words in ("6*7", "weather")] == ["about 6*7", "about weather"]
        for fields in ({"model": "other"}, {"stream": True}):
            answer = ask(server.url, "6*7", **fields)
            assert answer.status_code == 404
            assert "no recording" in answer.json()["error"]["message"]
        server.stop()
        lines = upstream.stop()[1].splitlines()
    first, second = sorted(file.name for file in tmp_path.iterdir())
    assert lines[:2] == [f"xmltools: {name}: by the user's words" for name in (second, first)]
    assert lines[2:] == ["xmltools: 404, no recording fits POST '/v1/chat/completions'"] * 2


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    _cli_serve.declare_serve(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--demo", "--upstream", "http://a"),
        ("--demo", "--port", "65536"),
        ("--demo", "--port", "x"),
        ("--demo", "--retry", "11"),
        ("--demo", "--grammar", "none"),
        ("--demo", "--timeout", "-1"),
        ("--demo", "--timeout", "nan"),
        ("--demo", "--max-body", "0"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises((SystemExit, argparse.ArgumentError)):
        options(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--upstream", "localhost"), "http://localhost:8000/v1"),
        (("--demo", "--allow-origin", "app.example"), "--allow-origin: expected an origin such as https://app.example"),
        (("--upstream", "http://u:pw@host/v1"), "--upstream: expected a URL"),
        (("--upstream", "http://u:pw@host/v1"), "give the key as --upstream-key-env"),
        (("--demo", "--prompt", "upstream", "--grammar", "vllm"), "--grammar: a grammar goes with"),
        (("--demo", "--prompt", "upstream", "--grammar", "vllm"), "choose --prompt ours"),
        (("--demo", "--dialect", "k2_horizon"), "let the upstream write them (--prompt upstream)"),
        (("--demo", "--also", "nope"), "--also: "),
        (("--demo", "--dialect", "=hermes"), "--dialect: expected the name of a model, as clients write it, before"),
        (("--demo", "--upstream-tool-choice", "none"), "--upstream-tool-choice: with a prompt of ours"),
        (("--upstream", "http://a", "--speed", "2"), "--speed: only the demo has one"),
        (
            ("--demo", "--dialect", "coder=hermes", "--dialect", "coder=glm"),
            "--dialect: expected one NAME for 'coder', got hermes and glm; leave one out",
        ),
        (
            ("--demo", "--dialect", "hermes", "--dialect", "glm"),
            "--dialect: expected one NAME for all models, got hermes and glm; give others as MODEL=NAME",
        ),
        (("--demo", "--require-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
        (("--demo", "--upstream-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
    ],
)
def test_values_that_make_no_sense_are_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        _cli_serve.serve(options(*arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--timeout", "-5"), "argument --timeout: expected a number above 0, got '-5'"),
        (("--timeout", "x"), "argument --timeout: expected a number above 0, got 'x'"),
        (("--timeout", "0"), "argument --timeout: expected a number above 0, got '0'"),
        (("--keepalive", "0"), "argument --keepalive: expected a number above 0, got '0'"),
        (("--max-body", "16m"), "argument --max-body: expected a number of bytes from 1, such as 16777216"),
    ],
)
def test_a_wrong_value_is_told_with_its_option_as_typed(arguments: tuple[str, str], words: str) -> None:
    with pytest.raises(argparse.ArgumentError, match=re.escape(words)):
        options("--demo", *arguments)


@pytest.mark.parametrize("given", [("--upstrem", "http://a"), ("--upstrem=http://a",)], ids=" ".join)
def test_an_option_that_is_spelled_wrongly_is_the_one_that_is_missing(
    given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", *given])
    said = capsys.readouterr().err
    assert "one of the arguments --upstream --demo is required; did you mean --upstream?" in " ".join(said.split())


def test_recordings_that_are_not_there_are_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(tmp_path / "none")]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "expected a file that --record wrote, or its folder; there is nothing here" in said and "Errno" not in said


def test_an_address_that_is_taken_is_told_in_one_line() -> None:
    with running(Upstream()) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(XMLToolsError, match=f"port {port}: Address already in use"):
            run_app(Upstream(), "127.0.0.1", port, "")


@pytest.mark.parametrize(
    ("host", "upstream"),
    [
        ("127.0.0.1", "http://127.0.0.1:{}/v1"),
        ("127.0.0.1", "http://localhost:{}"),
        ("localhost", "http://LOCALHOST:{}/v1"),
        ("0.0.0.0", "http://127.0.0.1:{}/v1"),
        ("::", "http://[::1]:{}/v1"),
    ],
)
def test_a_server_in_front_of_itself_does_not_start(host: str, upstream: str, unused_port: int) -> None:
    given = options("--upstream", upstream.format(unused_port), "--host", host, "--port", str(unused_port))
    with pytest.raises(XMLToolsError, match=r"--upstream: expected the URL of the model's server, but http://.*--port"):
        _cli_serve.serve(given)


def test_an_upstream_elsewhere_may_have_the_same_port(unused_port: int) -> None:
    config = ServeConfig(upstream=f"http://192.0.2.1:{unused_port}/v1", host="0.0.0.0", port=unused_port)
    check_elsewhere(config)
    check_elsewhere(ServeConfig(upstream=f"http://127.0.0.1:{unused_port}/v1", port=unused_port % 65535 + 1))
    check_elsewhere(ServeConfig(upstream=f"http://nowhere.invalid:{unused_port}/v1", port=unused_port))


@pytest.mark.parametrize("name", ["uvicorn", "starlette", "httpx2"])
def test_without_its_libraries_the_command_says_what_to_install(name: str) -> None:
    program = f"import sys; sys.modules[{name!r}] = None\n{PROGRAM}"
    run = subprocess.run(
        [sys.executable, "-c", program, "serve", "--demo"], capture_output=True, text=True, check=False, timeout=60
    )
    assert f"UsageError: this command needs the library {name}: {install_line('serve')}" in run.stderr


def test_a_repaired_call_goes_back_where_only_clean_ones_are_wanted() -> None:
    sloppy = CALL.replace("</arguments>\n", "")

    def improve(seen: Seen) -> Answer:
        return reply(CALL if len(seen.json["messages"]) > 2 else sloppy)(seen)

    upstream = Upstream(make=improve)
    with running(upstream) as url, command("serve", "--upstream", url, "--strict-calls") as server:
        answer = post(server.url).json()
        log = server.stop()[1]
    assert answer["choices"][0]["message"]["tool_calls"]
    assert len([seen for seen in upstream.seen if seen.method == "POST"]) == 2
    assert "errors=missing_end_tag:1 retries=1" in log
    with (
        running(Upstream(make=reply(sloppy))) as url,
        command("serve", "--upstream", url, "--strict-calls", "--retry", "0") as server,
    ):
        message = post(server.url).json()["choices"][0]["message"]
    assert not message.get("tool_calls")
    assert "The call of write was not made" in message["content"]
