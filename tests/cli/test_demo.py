"""The demo, without waiting: its tools, its views, and the whole."""

import io
import json
import re
import sys

import pytest
from support.terminal import Screen, play, shown

from xmltools.cli.demo import run
from xmltools.cli.demo.tools import ToolError, Workspace, apply_patch, calculate
from xmltools.cli.demo.view import PlainView, argument_name, shorten, type_name
from xmltools.models import ToolCall
from xmltools.parser import Parser, parse
from xmltools.proxy.scripted import demo_recording as recording

# --- the whole ---


def test_the_demo_does_the_task(tmp_path, capsys):
    assert run(speed=0, plain=True, folder=tmp_path) == 0
    shown = capsys.readouterr().out
    assert "Tool: calculator\n            Result: 8\n" in shown
    assert "Error:" not in shown
    assert "unsplit_cdata_end" in shown and "3 calls read and carried out, 1 of them clean" in shown
    assert "export class Ring<T>" in (tmp_path / "src/transcript.ts").read_text("utf-8")
    assert "cutAtStop" in (tmp_path / "src/transcript.test.ts").read_text("utf-8")
    assert [tool["name"] for tool in json.loads((tmp_path / "tools.json").read_text("utf-8"))] == [
        "calculator",
        "apply_diff",
        "write_file",
    ]


def test_waiting_is_asked_for_and_scaled(tmp_path, capsys):
    waits = {1.0: 0.0, 4.0: 0.0}
    for speed in waits:
        # The demo counts its own time as waited: a sleep that does not sleep is asked again for what is left.
        run(
            speed=speed,
            plain=True,
            folder=tmp_path / str(speed),
            sleep=lambda s, v=speed: waits.update({v: s}),
        )
    assert waits[1.0] > waits[4.0] > 0


def test_the_live_view(tmp_path, monkeypatch):
    rich_console = pytest.importorskip("rich.console")
    from xmltools.cli.demo import live

    screen = io.StringIO()
    console = rich_console.Console(file=screen, force_terminal=True, width=100, highlight=False, _environ={})
    monkeypatch.setattr("xmltools.cli.demo._choose_view", lambda plain: live.LiveView(console))
    assert run(speed=0, folder=tmp_path) == 0
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", screen.getvalue())
    assert "342 lines" in shown and "Result: 8" in shown and "overwrite   true  boolean" in shown


DEMO = [sys.executable, "-m", "xmltools", "demo"]


def test_nothing_jumps_on_a_small_terminal(tmp_path):
    """What is complete stays where it is, and a part that grows neither shrinks nor leaves the screen for a moment."""
    pytest.importorskip("rich")
    screen = Screen(80, 24)
    before: list[str] = []
    for text in play([*DEMO, "--speed", "20"], 80, 24, TMPDIR=str(tmp_path)):
        screen.write(text)
        now = screen.text
        settled = max(0, len(before) - 15)
        assert now[:settled] == before[:settled]
        assert len(now) >= len(before) - 1
        before = now
    assert "unsplit_cdata_end" in "\n".join(before)


@pytest.mark.parametrize(("columns", "environment"), [(80, {}), (200, {"NO_COLOR": "1"}), (80, {"TERM": "dumb"})])
def test_what_stays_has_its_labels(columns, environment, tmp_path):
    pytest.importorskip("rich")
    screen = shown([*DEMO, "--speed", "0"], columns, 24, TMPDIR=str(tmp_path), **environment)
    labels = [line[:12].strip() for line in screen.text]
    for label in ("task", "reasoning", "text", "call", "results", "done", "files", "try next"):
        assert label in labels
    arguments = [line[12:24].strip() for line in screen.text]
    assert [name for name in arguments if name in ("path", "strip", "diff", "content")] == [
        "path", "strip", "diff", "path", "content",
    ]  # fmt: skip
    assert "Result: 8" in "\n".join(screen.text)


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("terminal", ["xterm-256color", "dumb"])
def test_prose_is_wrapped_by_the_terminal(columns, terminal, tmp_path):
    screen = shown([*DEMO, "--speed", "0"], columns, 24, TERM=terminal, TMPDIR=str(tmp_path))
    for line in screen.broken:  # commands to copy, and code without white space
        assert "xmltools " in line or max(map(len, line.split())) > columns - 6
    prose = " ".join(" ".join(screen.text).split())
    assert "8 segments of 32 KiB, and when a ninth begins, the oldest goes to the file." in prose
    at = next(number for number, line in enumerate(screen.text) if "Done. The transcript stays" in line)
    begun = screen.text[at + 1].split()[0]
    assert len(screen.text[at]) + 1 + len(begun) > columns


# --- the recording ---


def test_the_recorded_call_is_as_awkward_as_promised():
    calls = parse(recording.replies()[0]).calls
    diff = calls[1].arguments["diff"]
    assert [call.name for call in calls] == ["calculator", "apply_diff", "write_file"]
    assert diff.count("\n") > 300
    assert all(part in diff for part in ("</tool>", "&&", "<T>", "]]>"))
    assert not parse(recording.replies()[1]).calls


def test_tokens_join_to_the_text_and_do_not_change():
    text = recording.replies()[0]
    tokens = list(recording.tokens(text))
    assert "".join(tokens) == text
    assert tokens == list(recording.tokens(text)) != list(recording.tokens(text, seed=8))
    assert len(tokens) > 2000


# --- the views ---


CALL = "<tool><tool_name>f</tool_name><arguments><a>x\ny</a><b>1</b></arguments></tool>"


def plain(*chunks):
    parser = Parser()
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in [event for chunk in chunks for event in parser.feed(chunk)] + parser.close():
            view.show(event)
    return stream.getvalue()


def test_the_plain_view_labels_and_indents():
    assert plain("<think>why\n</think>\n\none\n\ntwo\n", CALL) == (
        "\nreasoning   why\n"
        "\ntext        one\n\n            two\n"
        "\ncall        f\n            a           x\n                        y\n            b           1\n"
        "            = f(a: string, b: string), clean\n"
    )


def test_the_plain_view_says_what_failed():
    assert "\nno call     truncated: " in plain(CALL[:-20])


def test_words():
    assert argument_name(("files", 0, "name")) == "files[0].name"
    assert [type_name(v) for v in ("", True, 1, 1.5, [], {}, None)] == (
        ["string", "boolean", "integer", "number", "array", "object", "null"]
    )
    assert shorten([str(i) for i in range(20)]) == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "… 12 more lines",
        "17",
        "18",
        "19",
    ]
    assert shorten(["a"] * 9) == ["a"] * 9


# --- the diff ---

OLD = "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("diff", "new"),
    [
        ("--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "one\n2\nthree\nfour\n"),
        ("@@ -4 +4 @@\n-four\n+4", "one\ntwo\nthree\n4\n"),
        ("@@ -1,0 +2 @@\n+and\n", "one\nand\ntwo\nthree\nfour\n"),
        ("@@ -0,0 +1 @@\n+zero\n", "zero\none\ntwo\nthree\nfour\n"),
        ("@@ -1 +1 @@\n-one\n+1\n@@ -4 +4 @@\n-four\n+4\n", "1\ntwo\nthree\n4\n"),
        ("@@ -4 +4 @@ heading\n-four\n+4\n\\ No newline at end of file\n", "one\ntwo\nthree\n4"),
    ],
)
def test_a_diff_that_fits(diff, new):
    assert apply_patch(OLD, diff).text == new


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("", "no hunk"),
        ("@@ -1 +1 @@\n-uno\n+1\n", r"hunk 1, line 1 of the file: expected 'uno\\n', found 'one\\n'"),
        ("@@ -5 +5 @@\n-five\n+5\n", "found the end of the file"),
        ("@@ -1,2 +1 @@\n-one\n", "ends inside the hunk"),
        ("@@ -1 +1 @@\none\n", "begins with a space"),
        ("@@ -1 +1 @@\n one\n two\n", "line 3 of the diff: expected a hunk"),
        ("@@ -1,1 +1,2 @@\n one\n-two\n+2\n", "longer or shorter"),
        ("@@ -2 +2 @@\n two\n@@ -1 +1 @@\n one\n", "hunk 2 begins before"),
    ],
)
def test_a_diff_that_does_not_fit(diff, message):
    with pytest.raises(ToolError, match=message):
        apply_patch(OLD, diff)


def test_an_empty_context_line_may_have_lost_its_space():
    assert apply_patch("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n").text == "a\n\nc\n"


# --- the calculator ---


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("256 * 1024 / (32 * 1024)", "8"),
        ("2+3*4", "14"),
        ("-(2 - 5) % 2", "1"),
        ("1/4", "0.25"),
        ("0.1+0.2", "0.3"),
    ],
)
def test_calculating(expression, value):
    assert calculate(expression) == value


@pytest.mark.parametrize("expression", ["", "1 +", "(1", "1 2", "1/0", "5 % 0", "a", "__import__('os')", "(" * 101])
def test_what_cannot_be_calculated(expression):
    with pytest.raises(ToolError):
        calculate(expression)


# --- the tools ---


def call(workspace, name, **arguments):
    result = workspace.run(ToolCall(id="1", name=name, arguments=arguments))
    return result.content, result.is_error


def test_tools_stay_in_their_folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)
    for path in ("../out.txt", "/etc/out.txt", "link/out.txt", ".", "a\0b"):
        content, failed = call(Workspace(inside), "write_file", path=path, content="")
        assert failed and "expected a path" in content
    assert list(tmp_path.iterdir()) == [inside]


def test_writing_and_overwriting(tmp_path):
    workspace = Workspace(tmp_path)
    assert call(workspace, "write_file", path="a/b.txt", content="x\r\ny") == (
        "a/b.txt: 2 lines written",
        False,
    )
    assert (tmp_path / "a/b.txt").read_bytes() == b"x\r\ny"
    assert call(workspace, "write_file", path="a/b.txt", content="")[1]
    assert not call(workspace, "write_file", path="a/b.txt", content="", overwrite=True)[1]


def test_what_goes_wrong_is_a_result(tmp_path):
    workspace = Workspace(tmp_path)
    (tmp_path / "b.txt").write_bytes(b"\xff")
    assert call(workspace, "calculator", expression="1/0") == ("division by zero", True)
    assert call(workspace, "apply_diff", path="no.txt", diff="") == ("No such file or directory", True)
    assert call(workspace, "apply_diff", path="b.txt", diff="@@ -1 +1 @@\n")[1]
    diff = "--- a/other.txt\n+++ b/other.txt\n@@ -1 +1 @@\n-a\n+b\n"
    content, failed = call(workspace, "apply_diff", path="b.txt", diff=diff, strip=1)
    assert failed and "other.txt" in content
