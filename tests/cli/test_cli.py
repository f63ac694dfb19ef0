"""The command line: what it prints, its exit status, and that it reads as it comes."""

import codecs
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from xmltools.cli.commands import COMMANDS
from xmltools.parser import COMPILED

XMLTOOLS = [sys.executable, "-m", "xmltools"]
CALL = "<tool><tool_name>add</tool_name><arguments><a>1</a></arguments></tool>"
ADD = {
    "name": "add",
    "description": "",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
}


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


# --- help and usage ---


def test_help_names_every_command_with_an_example(run):
    status, out, _ = run("--help")
    assert status == 0
    for command in COMMANDS:
        assert f"  {command} " in out and f"$ xmltools {command}" in out
        assert f"usage: xmltools {command}" in run(command, "--help")[1]


def test_version(run):
    status, out, _ = run("--version")
    assert status == 0 and out.startswith("xmltools ")
    assert out.rstrip().endswith("(compiled)") is COMPILED


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["pasre", "x"], "did you mean parse?"),
        (
            ["zzz"],
            "there are parse, docs, call, result, convert, grammar, validate, explain, batch, dialects, serve, doctor",
        ),
        (["parse"], "FILE"),
        (["parse", "-", "--chunk-size", "0"], "expected a whole number from 1, got '0'"),
        (["parse", "-", "--code-fences", "no"], "--code-fences"),
        (["parse", "-", "--tools", "-"], "--tools"),
        (["demo", "--speed", "-1"], "expected a number from 0, got '-1'"),
        (["demo", "--speed", "nan"], "expected a number from 0, got 'nan'"),
        (["parse", "missing.txt"], "missing.txt: No such file or directory"),
        (
            ["parse", str(Path(__file__).with_name("test_cil.py"))],
            "test_cil.py: No such file or directory; did you mean test_cli.py?",
        ),
        (["--verbose"], "expected a command, got '--verbose'; its options come after it: xmltools parse reply.txt"),
        (["--tools", "t.json", "parse"], "expected a command, got '--tools'; its options come after it: "),
        (["--versoin"], "expected a command, got '--versoin'; did you mean --version?"),
        (["parse", "-", "--chunk-sise", "3"], "unrecognized arguments: --chunk-sise 3; did you mean --chunk-size?"),
        (["parse", "."], ".: Is a directory"),
        (["parse", "-", "--tools", "missing.json"], "missing.json: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run, arguments, said):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1 and err.startswith("xmltools")


# --- parse ---


def test_parts(run, file):
    reply = file("reply.txt", f"<think>why</think>one {CALL} two")
    status, out, err = run("parse", reply, "--tools", file("tools.json", json.dumps([ADD])))
    assert (status, err) == (0, "")
    reasoning, text, call, rest = lines(out)
    assert reasoning == {"type": "reasoning", "text": "why"}
    assert text == {"type": "text", "text": "one "}
    assert (call["type"], call["name"], call["server"], call["arguments"]) == (
        "call",
        "add",
        "local",
        {"a": 1},
    )
    assert call["clean"] is True and call["repairs"] == [] and call["span"] == [22, 22 + len(CALL)]
    assert rest == {"type": "text", "text": " two"}


def test_a_call_in_another_notation_follows_its_text(run, file):
    foreign = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
    reply = file("reply.txt", f"one\n{foreign} two {CALL}")
    status, out, err = run("parse", reply, "--tools", file("tools.json", json.dumps([ADD])))
    text, notice, call = lines(out)
    assert (status, err, text["text"], call["type"]) == (0, "", f"one\n{foreign} two ", "call")
    assert (notice["type"], notice["code"], notice["notation"]) == ("notice", "foreign_call", "hermes")
    assert (notice["name"], notice["whole"], notice["fenced"]) == ("add", True, False)
    assert (notice["line"], notice["column"], notice["span"]) == (2, 1, [4, 4 + len(foreign)])
    events = lines(run("parse", reply, "--events")[1])
    assert [event["type"] for event in events if event["type"] == "notice"] == ["notice"]


def test_chunks_make_no_difference_to_parts(run, file):
    reply = file("reply.txt", f"one\n{CALL}\n{CALL[:-9]}")
    whole = lines(run("parse", reply)[1])
    single = lines(run("parse", reply, "--chunk-size", "1")[1])
    assert [{**part, "id": ""} for part in whole] == [{**part, "id": ""} for part in single]


def test_an_error_is_said_with_its_place(run, file):
    reply = file("reply.txt", f"one\ntwo {CALL[:30]}")
    status, out, err = run("parse", reply)
    part = lines(out)[1]
    assert status == 1
    assert (part["type"], part["code"], part["line"], part["column"]) == ("error", "truncated", 2, 5)
    assert part["hint"] and part["span"] == [8, 38]
    assert err.startswith("reply.txt:2:5: truncated: ") and err.count("\n") == 1


def test_repairs_and_strict(run, file):
    reply = file("reply.txt", "<tool><tool_name>f</tool_name><arguments><a>x && y</a></arguments></tool>")
    (part,) = lines(run("parse", reply)[1])
    assert part["clean"] is False and part["repairs"][0]["code"] == "bare_ampersand"
    assert part["repairs"][0]["offset"] == 46
    status, out, _ = run("parse", reply, "--strict")
    assert status == 1 and lines(out)[0]["code"] == "bare_ampersand"


def test_events(run):
    status, out, _ = run("parse", "-", "--events", stdin=f"hi {CALL}")
    events = lines(out)
    assert status == 0
    assert [event["type"] for event in events] == [
        "text_delta",
        "call_started",
        "argument_delta",
        "call_completed",
    ]
    assert events[0] == {"type": "text_delta", "text": "hi ", "span": [0, 3]}
    assert events[2] == {"type": "argument_delta", "path": ["a"], "text": "1"}
    assert events[3]["call"]["name"] == events[1]["name"] == "add"


def test_a_failure_among_events(run):
    status, out, err = run("parse", "-", "--events", stdin=CALL[:-9].encode())
    assert status == 1 and lines(out)[-1]["error"]["code"] == "truncated"
    assert err.startswith("-:1:1: truncated")


def test_options_reach_the_parser(run):
    parts = lines(
        run("parse", "-", "--starts-in-reasoning", "--bracket-reasoning", stdin=b"why</think>\n[more]\nso")[1]
    )
    assert [(part["type"], part["text"]) for part in parts] == [
        ("reasoning", "why"),
        ("text", "\n"),
        ("reasoning", "more"),
        ("text", "\nso"),
    ]
    assert [
        part["type"] for part in lines(run("parse", "-", "--code-fences", "text", stdin=f"```\n{CALL}\n```")[1])
    ] == ["text"]


def test_unclosed_reasoning_is_said(run):
    assert lines(run("parse", "-", stdin=b"<think>why")[1]) == [{"type": "reasoning", "text": "why", "unclosed": True}]


TEXT = "<tool><tool_name>cat</tool_name><arguments><a>caf\u00e9 au lait</a></arguments></tool>"
TO_UTF8 = "write the file as UTF-8 (iconv -f {} -t utf-8, if that is what it is)"


@pytest.mark.parametrize("command", [("parse",), ("parse", "--chunk-size", "1"), ("dialects", "detect"), ("validate",)])
@pytest.mark.parametrize(
    ("encoding", "wrong"),
    [("latin1", "the byte 0xe9 at 49"), ("utf-16", f"the byte {codecs.BOM_UTF16[0]:#04x} at 0")],
)
def test_bytes_that_are_no_utf8_are_an_error(run, file, command, encoding, wrong):
    data = TEXT.encode(encoding)
    said = f"expected UTF-8, got {wrong}; {TO_UTF8.format(encoding)}\n"
    for name in ("-", file("reply.txt", data)):
        status, out, err = run(*command, name, stdin=data)
        assert status == 1 and "cat" not in out
        assert err.startswith(f"xmltools: {name}: {said}")


def test_the_place_of_a_byte_that_is_no_utf8_counts_all_bytes_before_it(run, file):
    data = "\ufeff€".encode() * 100_000 + b"\xe2\x28"
    status, _, err = run("parse", file("reply.txt", data))
    assert status == 1 and "got the byte 0xe2 at 600000;" in err


def test_a_reply_that_was_cut_off_inside_a_character(run):
    assert lines(run("parse", "-", "--chunk-size", "1", stdin=b"a\xe2\x82\xacb\xe2")[1]) == [
        {"type": "text", "text": "a€b\ufffd"}
    ]


@pytest.mark.parametrize("command", ["parse", "validate"])
def test_a_reply_that_windows_has_written(run, command):
    reply = codecs.BOM_UTF8 + b'{"name": "cat", "parameters": {}}'
    status, out, err = run(command, "-", "--dialect", "llama3_json", stdin=reply)
    assert status == 0 and "\\ufeff" not in out and ("cat" in out or "well formed" in err)


def test_an_empty_reply(run):
    assert run("parse", "-") == (0, "", "")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[\n  {]", "tools.json:2:4: expected tools as JSON"),
        ("", "tools.json:1:1: expected tools as JSON"),
        (b'["\xff"]', "tools.json: expected UTF-8, got the byte 0xff at 2"),
        ("3", "tools.json: expected a list of tools"),
        ('[{"name": "f", "parameters": {"type": "strin"}}]', "strin"),
        (json.dumps([ADD, ADD]), "add"),
        (json.dumps([{**ADD, "name": "f" * 300}]), "tools.json: tool 0"),
        ("[" * 100_000, "tools.json: expected tools as JSON, got JSON that is nested too deeply"),
    ],
)
def test_a_wrong_tools_file(run, file, content, said):
    status, out, err = run("parse", "-", "--tools", file("tools.json", content), stdin=b"x")
    assert (status, out) == (1, "")
    assert said in err and err.count("\n") == 1


def test_a_tools_file_that_windows_has_written(run, file):
    reply = b"<tool><tool_name>add</tool_name><arguments><a>1</a><b>2</b></arguments></tool>"
    status, out, err = run("parse", "-", "--tools", file("tools.json", "\ufeff" + json.dumps([ADD])), stdin=reply)
    assert (status, err) == (0, "") and '"name": "add"' in out


def test_python_in_place_of_tools_as_json(run, file):
    name = file("tools.py", "def add(a: int) -> int: ...")
    status, out, err = run("parse", "-", "--tools", name, stdin=b"x")
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert "tools.py: expected tools as JSON, got Python; json.dumps([tool.model_dump() for tool in " in err
    status, out, err = run("docs", name)
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert "tools.py: expected tools as JSON, got Python; for its functions write tools --from python" in err


def test_a_terminal_shows_colours(run, monkeypatch):
    pytest.importorskip("rich")
    out = on_terminal(run, monkeypatch)
    assert "\x1b[1;36mcall add (local)" in out and "a = " in out
    assert "\x1b[2J" not in out and "␛[2J" in out  # what the model wrote steers no terminal


def test_a_terminal_without_rich(run, monkeypatch):
    for name in ("rich", "rich.console", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    out = on_terminal(run, monkeypatch)
    assert re.sub("(?<=ampersand: ).*", "(message)", out) == (
        'hi ␛[2J\ncall add (local)\n  a = "1 & 2"\n  b = \n    x\n    y\n'
        "  repaired at 2:49: bare_ampersand: (message)\nwhy\n"
    )


STEERING = "\u202ea\u2066b\u200bc\x9bd\U000e0041e\u2028f\ufeff"


def test_a_terminal_shows_what_would_turn_or_hide_text(run, file, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    call = CALL.replace("add", f"add{STEERING}").replace("1</a>", f"{STEERING}\n</a>")
    for arguments in (
        ["parse", "-"],
        ["validate", "-"],
        ["parse", "-", "--tools", file("tools.json", f"[{STEERING}]")],
    ):
        _, out, err = run(*arguments, stdin=f"hi {STEERING} {call}<think>{STEERING}</think><tool>{STEERING}{call}")
        assert out or err
        assert not set(STEERING) - set("abcdef") & set(out + err)


def on_terminal(run, monkeypatch):
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    status, out, _ = run(
        "parse", "-", stdin=f"hi \x1b[2J\n{CALL}<think>why</think>".replace("1</a>", "1 & 2</a><b>x\ny\n</b>")
    )
    assert status == 0
    return out


# --- as a process ---


@contextlib.contextmanager
def process(*arguments):
    """A process with pipes, which is gone at the end."""
    pipe = subprocess.PIPE
    with subprocess.Popen([*XMLTOOLS, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as child:
        try:
            yield child
        finally:
            child.kill()


def read_line(child):
    assert select.select([child.stdout], [], [], 20)[0], "nothing came"
    return json.loads(child.stdout.readline())


def test_parts_come_while_the_stream_is_open():
    with process("parse", "-") as child:
        child.stdin.write(f"hi {CALL}".encode())
        child.stdin.flush()
        assert read_line(child) == {"type": "text", "text": "hi "}
        assert read_line(child)["name"] == "add"
        child.stdin.close()
        assert child.wait(20) == 0


def test_conformance_answers_at_once():
    with process("conformance") as child:
        for name in "ab":
            child.stdin.write(json.dumps({"id": name, "chunks": [name]}).encode() + b"\n")
            child.stdin.flush()
            assert read_line(child)["id"] == name


def test_ctrl_c_is_quiet():
    with process("parse", "-") as child:
        child.stdin.write(f"hi {CALL}".encode())
        child.stdin.flush()
        read_line(child)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 130
        assert child.stderr.read() == b""


@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
@pytest.mark.parametrize(
    "arguments", [["parse", "--events", "--chunk-size", "1", "reply.txt"], ["demo", "--speed", "0"]]
)
def test_a_closed_pipe_is_quiet(tmp_path, arguments):
    (tmp_path / "reply.txt").write_text("word " * 50_000)
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [*XMLTOOLS, *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        timeout=60,
        env=environment,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_ascii_terminal_is_enough(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "TMPDIR": str(tmp_path)}
    done = subprocess.run([*XMLTOOLS, "demo", "--speed", "0"], capture_output=True, timeout=60, env=environment)
    assert done.returncode == 0 and b"Result: 8" in done.stdout


# --- conformance ---


@pytest.fixture
def answer(run):
    """Answers to lines: bytes are sent as they are, everything else as JSON."""

    def answer(*cases):
        status, out, err = run(
            "conformance",
            stdin=b"\n".join(case if isinstance(case, bytes) else json.dumps(case).encode() for case in cases),
        )
        assert (status, err) == (0, "")
        assert out.isascii()
        return lines(out)

    return answer


def test_a_case(answer):
    (got,) = answer({"id": 7, "chunks": ["", "hi ", CALL[:20], CALL[20:], ""], "tools": [ADD], "options": {}})
    assert got == {
        "id": 7,
        "text": "hi ",
        "reasoning": "",
        "calls": [
            {
                "server": "local",
                "name": "add",
                "arguments": {"a": 1},
                "repairs": [],
                "clean": True,
                "legacy_json": False,
                "dialect": "forge",
                "span": [3, 3 + len(CALL)],
            }
        ],
        "errors": [],
        "unclosed_reasoning": False,
    }


def test_an_error_and_the_tool_s_server(answer):
    (got,) = answer({"id": None, "chunks": [CALL.replace("add", "sub")], "tools": [{**ADD, "server": "math"}]})
    (error,) = got["errors"]
    assert sorted(error) == ["code", "hint", "message", "span"] and error["code"] == "unknown_tool"
    (got,) = answer({"id": None, "chunks": [CALL], "tools": [{**ADD, "server": "math"}]})
    assert got["calls"][0]["server"] == "math" and got["calls"][0]["repairs"] == []


def test_every_option_is_taken(answer):
    options = {
        "strict": True,
        "reasoning_tags": ["plan"],
        "starts_in_reasoning": True,
        "bracket_reasoning": True,
        "code_fences": "text",
        "limits": {"block_size": 9, "depth": 3, "elements": 4, "blocks": 1},
    }
    first, second = answer(
        {"id": 1, "chunks": ["a</plan>b<think>"], "options": options},
        {"id": 2, "chunks": [CALL], "options": {"limits": {"block_size": 9}}},
    )
    assert (first["reasoning"], first["text"]) == ("a", "b<think>")
    assert second["errors"][0]["code"] == "limit_exceeded"


def test_lone_surrogates_pass_through(answer):
    (got,) = answer(b'{"id": "\\ud800", "chunks": ["\\udc00", "\\ud83d\\ude00", "\\ud800"]}')
    assert got["id"] == "\ud800" and got["text"] == "\udc00\U0001f600\ud800"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "expected a JSON object"),
        (b"{", "expected a JSON object"),
        (b"[]", "expected a case: a JSON object, got []"),
        (b'"\xff"', "expected UTF-8, got the byte 0xff at 1"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"chunks": [], "id": NaN}', "got NaN"),
        (b'{"chunks": [], "id": 1e999}', "got 1e999"),
        (b'{"chunks": [], "id": ' + b"9" * 5000 + b"}", "digits"),
        (b"{}", "chunks: a list of strings, got null"),
        (b'{"chunks": "a"}', "chunks: a list of strings"),
        (b'{"chunks": ["a", 1]}', "chunks[1]: a string, got 1"),
        (b'{"chunks": [], "tools": 3}', "expected a list of tools"),
        (b'{"chunks": [], "tools": [{"name": 3}]}', "tool"),
        (b'{"chunks": [], "tools": [{"name": "f", "parameters": {"type": 3}}]}', "f"),
        (b'{"chunks": [], "options": []}', "options: a JSON object"),
        (b'{"chunks": [], "options": {"stric": true}}', "expected in options only strict"),
        (b'{"chunks": [], "options": {"strict": 1}}', "options.strict: true or false"),
        (b'{"chunks": [], "options": {"code_fences": "no"}}', "options.code_fences: last, call or text"),
        (b'{"chunks": [], "options": {"code_fences": []}}', "options.code_fences: last, call or text"),
        (b'{"chunks": [], "options": {"reasoning_tags": "think"}}', "options.reasoning_tags: a list"),
        (b'{"chunks": [], "options": {"reasoning_tags": [1]}}', "options.reasoning_tags[0]: a string"),
        (b'{"chunks": [], "options": {"reasoning_tags": ["<a>"]}}', "reasoning_tags"),
        (b'{"chunks": [], "options": {"limits": 3}}', "options.limits: a JSON object"),
        (
            b'{"chunks": [], "options": {"limits": {"width": 3}}}',
            "expected in options.limits only block_size",
        ),
        (
            b'{"chunks": [], "options": {"limits": {"depth": 0}}}',
            "options.limits.depth: a whole number from 1",
        ),
        (
            b'{"chunks": [], "options": {"limits": {"depth": true}}}',
            "options.limits.depth: a whole number from 1",
        ),
    ],
)
def test_a_line_that_is_no_case(answer, line, said):
    wrong, right = answer(line, {"id": 1, "chunks": ["a"]})
    assert wrong["id"] is None and said in wrong["usage_error"] and len(wrong) == 2
    assert right["text"] == "a"


@pytest.mark.parametrize("case", [{}, {"chunks": [1]}, {"chunks": [], "tools": 3}, {"chunks": [], "options": {"x": 1}}])
def test_what_is_wrong_with_a_case_has_its_id(answer, case):
    (wrong,) = answer({"id": "a-1", **case})
    assert wrong.keys() == {"id", "usage_error"} and wrong["id"] == "a-1"
