"""The README is executed: its Python blocks run in order, and print what stands in the text block behind them."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

from xmltools.cli import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
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


def test_files_that_it_names_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parent.parent / target).exists(), target
