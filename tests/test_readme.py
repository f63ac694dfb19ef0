"""The README is executed: its Python blocks run in order, and print what stands in the text block behind them.

Those about serving are scripts of their own, and run against the server that their section starts.
"""

import argparse
import contextlib
import io
import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from xmltools._cli_serve import declare_serve
from xmltools.cli import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVING = re.search(r"^## Function calling for any model\n.*?(?=^## )", README, re.MULTILINE | re.DOTALL)[0]
BLOCKS = BLOCK.findall(README.replace(SERVING, ""))
SERVING_BLOCKS = BLOCK.findall(SERVING)
COMMANDS = [
    shlex.split(line)
    for kind, text in SERVING_BLOCKS
    if kind == "sh"
    for line in text.splitlines()
    if line.startswith("xmltools ")
]
SERVED = "http://127.0.0.1:8080"
UPSTREAM = "http://localhost:8000"
STATUSES = {"validate": 1}
"""How the commands of console blocks end, where they don't end with 0."""
REPLY = "Adding.\n<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>5</a>\n  <b>3</b>\n</arguments>\n</tool>"
INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


def test_python_blocks_print_what_they_say() -> None:
    names: dict[str, object] = {}
    printed = 0
    for (kind, code), (following, expected) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), names)
        if following == "text":
            assert out.getvalue() == expected
            printed += 1
    assert printed >= 2


def test_console_blocks_print_what_they_say(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reply.txt").write_text(REPLY, encoding="utf-8")
    stored = REPLY.partition("\n")[2]
    Path("stored.txt").write_text(stored.replace("5", "+5") + "\n" + stored.replace("5", "five"), encoding="utf-8")
    Path("tools.json").write_text(json.dumps([{"name": "add", "parameters": INTEGERS}]), encoding="utf-8")
    for kind, text in BLOCKS:
        if kind != "console":
            continue
        command, expected = text.split("\n", 1)
        _, _, name, *arguments = shlex.split(command)
        assert main([name, *arguments]) == STATUSES.get(name, 0)
        got = re.sub(r'"id": "[^"]+"', '"id": "…"', "".join(capsys.readouterr()))
        assert _read(got) == _read(expected)


def _read(printed: str) -> list[object]:
    return [json.loads(line) if line.startswith("{") else line for line in printed.splitlines()]


def script(library: str) -> tuple[str, str]:
    """The script of the section about serving that begins with an import of `library`, and what stands behind it."""
    return next(
        (code, said) for (_, code), (_, said) in pairwise(SERVING_BLOCKS) if code.startswith(f"from {library} import ")
    )


def printed_by(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def demo():
    """The URL of the server that the first command of the section starts; it doesn't wait, and takes any port."""
    pytest.importorskip("uvicorn", reason="the extra serve is not installed")
    _, *command = next(command for command in COMMANDS if "--demo" in command)
    server = subprocess.Popen(
        [sys.executable, "-m", "xmltools", *command, "--speed", "0", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    with server:
        try:
            said = server.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found, said
            yield found[0]
        finally:
            server.terminate()


@pytest.mark.parametrize("library", ["openai", "anthropic"])
def test_scripts_of_clients_print_what_they_say(library, demo) -> None:
    pytest.importorskip(library)
    code, said = script(library)
    assert SERVED in code
    assert printed_by(code.replace(SERVED, demo)) == said


def test_with_the_transport_the_rest_of_the_script_stays_as_it_is() -> None:
    pytest.importorskip("openai")
    scripted = pytest.importorskip("xmltools.serve.scripted")
    from serve.running import running

    code, said = script("openai")
    (client,) = [text for kind, text in SERVING_BLOCKS if kind == "python" and "xmltools.transport" in text]
    rest = code[code.index("\n", code.index("client = ")) :]
    assert UPSTREAM in client and SERVED not in rest
    with running(scripted.ScriptedModel(speed=0)) as url:
        assert printed_by(client.replace(UPSTREAM, url) + rest) == said


def test_commands_that_serve_are_understood() -> None:
    parser = argparse.ArgumentParser()
    declare_serve(parser)
    upstreams = [parser.parse_args(arguments).upstream for name, _, *arguments in COMMANDS]
    assert upstreams == [None, *[f"{UPSTREAM}/v1"] * 3]


def test_files_that_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parent.parent / target).exists(), target
