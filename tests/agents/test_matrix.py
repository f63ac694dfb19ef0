"""With default options no client runs a call that is bad, whatever its library makes of half a call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httpx2")
pytest.importorskip("starlette")

from agents.cell import MAX_STEPS
from agents.matrix import CLIENTS, Cell, Client, MissingError, behind_proxy, command_of, measure, play, table
from agents.upstream import BAD, CALLED, CASES, DONE, EXPECTED, Upstream

# Two requests for a call and its result, one for a second try; a client that loops is told to stop.
MOST_REQUESTS = 2 * MAX_STEPS


@pytest.fixture(scope="module")
def proxy() -> Iterator[tuple[Upstream, str, str]]:
    with behind_proxy() as addresses:
        yield addresses


@pytest.fixture(scope="module")
def node_folder(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where npm installs. In pytest's cache it outlives the run; there is none under -p no:cacheprovider."""
    cache = getattr(pytestconfig, "cache", None)
    return cache.mkdir("agents") if cache is not None else tmp_path_factory.mktemp("agents")


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_no_client_runs_a_bad_call(client: Client, proxy: tuple[Upstream, str, str], node_folder: Path) -> None:
    upstream, own, url = proxy
    try:
        command = command_of(client, lambda: node_folder)
    except MissingError as missing:
        pytest.skip(str(missing))
    _, cells = measure(client, command, upstream, own if client.is_direct else url)
    assert {(cell.api, cell.streaming) for cell in cells} == set(client.ways())
    wrong = [f"{cell.name}: {what}" for cell in cells for what in cell.complaints()]
    looping = [f"{cell.name}: {cell.requests} requests" for cell in cells if cell.requests > MOST_REQUESTS]
    assert not wrong + looping, "\n".join([table(cells), *wrong, *looping])


def test_a_script_that_hangs_is_played_anew_for_the_rest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    # One that hangs is ended with the signal that this one ends itself with.
    script = tmp_path / "hangs_once.py"
    script.write_text(
        """
import json, os, sys
from pathlib import Path

print(json.dumps({"versions": {"it": "1"}}))
for number, cell in enumerate(json.loads(sys.stdin.readline())["cells"]):
    print(json.dumps({"model": cell["model"]}), flush=True)
    if number == 1 and not Path(__file__).with_name("was here").exists():
        Path(__file__).with_name("was here").touch()
        os.abort()
"""
    )
    asked = [(case, "chat", True) for case in ("good", "malformed", "two-calls")]
    versions, played = play(CLIENTS[0], [sys.executable, str(script)], "http://nowhere", asked)
    assert versions == {"it": "1"}
    assert [(cell["case"], said["model"] == cell["model"]) for cell, said in played] == [
        ("good", True), ("malformed", True), ("two-calls", True),
    ]  # fmt: skip
    complaint = capfd.readouterr().err
    assert "hung after 2 of 3 cells" in complaint
    assert str(script) in complaint, "where each thread stood"


# What judges the cells.


def cell(case: str, entered: list[Any], text: str = "", error: str = "") -> Cell:
    failure = {"type": error, "message": ""} if error else None
    return Cell("Client", "chat", case, True, entered, text, failure, 0.1, 1)


@pytest.mark.parametrize("case", CASES)
def test_what_a_good_client_does_is_not_complained_of(case: str) -> None:
    text = "Use create or append, please." if case in BAD else f"I write.\n{DONE}"
    assert not list(cell(case, EXPECTED[case][::-1], text).complaints())


@pytest.mark.parametrize(
    "bad",
    [
        cell("bad-enum", [{"path": "notes/ü.txt"}]),
        cell("bad-enum", [CALLED]),
        cell("bad-enum", [], error="JSONDecodeError"),
        cell("malformed", [], "<tool>\n<tool_name>write_file"),
        cell("missing-argument", [], 'I write the notes. {"path": "notes/ü.txt"'),
        cell("good", [], DONE),
        cell("good", [CALLED]),
        cell("good", [CALLED, CALLED], DONE),
        cell("good", [CALLED], DONE, error="KeyError"),
        cell("good-and-bad", [CALLED, {**CALLED, "mode": "create"}], DONE),
        cell("two-calls", [CALLED], DONE),
        cell("malformed-then-good", [{**CALLED, "mode": "create"}], DONE),
    ],
)
def test_what_a_bad_client_does_is(bad: Cell) -> None:
    assert list(bad.complaints())


def test_a_client_that_is_not_installed_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XMLTOOLS_AGENTS_PYTHON", sys.executable)
    with pytest.raises(MissingError, match="no-such-library"):
        command_of(Client("None", "none.py", ("chat",), ("no-such-library",)), Path)


def test_the_table_has_a_line_for_each_way_and_a_column_for_each_case() -> None:
    lines = table([cell("good", [CALLED]), cell("lost", [], error="APIError")]).splitlines()
    assert lines[0] == "| client | API | streaming | good | lost |"
    assert lines[2:] == ["| Client | chat | yes | runs it | `APIError` |"]
