"""The pages are executed: their Python blocks run in order, and print what stands in the text block behind them.

Those of the page about serving are scripts of their own, and run against the server that the page starts.
"""

import contextlib
import importlib
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from proxy.running import running
from proxy.test_server_upstream import Upstream, whole
from support.pages import (
    BATCH,
    CORPUS,
    GRAMMARS,
    OVERVIEW,
    PAGES,
    PARTS,
    PROMISES,
    README,
    ROOT,
    SERVE,
    UPGRADING,
    VERBS,
    named,
    parts_of,
)

import xmltools as xt
from xmltools.cli.commands import COMMANDS, _parse_arguments, main

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
CODE = re.compile(r"^```.*?^```$|(`+)(?!`).*?(?<!`)\1(?!`)", re.MULTILINE | re.DOTALL)
WORDS = 600
"""How long the README may be, without its blocks and tables."""


def blocks_of(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


SERVING_BLOCKS = blocks_of(SERVE)
LINKED = sorted(
    page
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/guides/*.md",
        "grammars/*.md",
        "examples/*.md",
        "benchmarks/*.md",
        "tests/*/*.md",
    )
    for page in ROOT.glob(pattern)
    if page.name != "EVIDENCE.md"  # of what fuzzers wrote
)
COMMAND_LINES = [
    (name_of(page), line.partition("#")[0].strip())
    for page in (*PAGES, BATCH)
    for kind, text in blocks_of(page)
    if kind == "sh"
    for line in text.splitlines()
    if line.startswith("xmltools ")
]
SERVED = "http://127.0.0.1:8080"
UPSTREAM = "http://localhost:8000"
STATUSES = {"validate": 1}
"""How the commands of console blocks end, where they don't end with 0."""
REPLY = "Adding.\n<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>5</a>\n  <b>3</b>\n</arguments>\n</tool>"
OF_0_1_0 = ROOT / "tests" / "support" / "upgrade"
"""Replies, and what `xmltools batch` of 0.1.0 wrote for them."""
INTEGERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}


@pytest.mark.parametrize("page", [page for page in PAGES if page != SERVE], ids=name_of)
def test_python_blocks_print_what_they_say(page, request) -> None:
    if page == UPGRADING:
        request.getfixturevalue("read_by_both")
    blocks = blocks_of(page)
    names: dict[str, object] = {}
    printed = 0
    for (kind, code), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, name_of(page), "exec"), names)
        if following == "text":
            assert out.getvalue() == expected
            printed += 1
    assert printed >= 1


@pytest.fixture
def read_by_both(tmp_path, monkeypatch, capsys):
    """A folder with the files that the script about upgrading compares."""
    monkeypatch.chdir(tmp_path)
    for name in ("replies.jsonl", "tools.json", "old.jsonl"):
        Path(name).write_bytes((OF_0_1_0 / name).read_bytes())
    assert main(["batch", "replies.jsonl", "new.jsonl", "--tools", "tools.json", "--jobs", "1"]) == 0
    capsys.readouterr()


def rows_of(page: Path, heading: str) -> list[list[str]]:
    """The cells of all tables that have the columns of 0.1.0 and 0.2.0, in the part with this heading."""
    part = page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [row for row in rows if "0.1.0" not in row and "---" not in row]


def outcome(reply: xt.Reply) -> str:
    """What a reply holds, as the page about upgrading says it."""
    said = [
        f"{call.name} {json.dumps(call.arguments)}"
        + f" ({', '.join(repair.code.value for repair in call.repairs)})" * (not call.clean)
        for call in reply.calls
    ]
    said += [f"error {error.code.value}" for error in reply.errors]
    return "; ".join(said) or "text"


def test_replies_are_read_as_the_page_about_upgrading_says() -> None:
    names: dict[str, object] = {}
    exec(next(code for kind, code in blocks_of(UPGRADING) if kind == "python"), names)
    rows = rows_of(UPGRADING, "What reads differently")
    assert len(rows) > 15
    for written, _, now in rows:
        assert outcome(xt.parse(written.strip("`"), names["tools"])) == now, written


def test_names_have_moved_where_the_page_about_upgrading_says() -> None:
    rows = rows_of(UPGRADING, "Names")
    assert len(rows) > 10
    for before, now in rows:
        old, new = (cell.strip("`").rpartition(".") for cell in (before, now))
        assert callable(getattr(importlib.import_module(new[0]), new[2]))
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(old[0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that the commands of console blocks read."""
    monkeypatch.chdir(tmp_path)
    Path("reply.txt").write_text(REPLY, encoding="utf-8")
    stored = REPLY.partition("\n")[2]
    Path("stored.txt").write_text(stored.replace("5", "+5") + "\n" + stored.replace("5", "five"), encoding="utf-8")
    Path("tools.json").write_text(json.dumps([{"name": "add", "parameters": INTEGERS}]), encoding="utf-8")
    Path("output.txt").write_text("8", encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in page.read_text("utf-8")], ids=name_of)
def test_console_blocks_print_what_they_say(page, folder, monkeypatch, capsys) -> None:
    for kind, text in blocks_of(page):
        if kind != "console":
            continue
        command, expected = text.split("\n", 1)
        command, _, given = command.partition(" < ")
        _, _, name, *arguments = shlex.split(command)
        with Path(given or "reply.txt").open(encoding="utf-8") as file:
            monkeypatch.setattr(sys, "stdin", file)
            assert main([name, *arguments]) == STATUSES.get(name, 0)
        got = re.sub(r'"id": "[^"]+"', '"id": "…"', "".join(capsys.readouterr()))
        assert _read(got) == _read(expected)


def _read(printed: str) -> list[object]:
    return [json.loads(line) if line.startswith("{") else line for line in printed.splitlines()]


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES)
def test_commands_are_understood(page, line) -> None:
    _, *arguments = shlex.split(line)
    assert _parse_arguments(arguments).command == arguments[0]


def script(library: str) -> tuple[str, str]:
    """The script about serving that begins with an import of `library`, and what stands behind it."""
    return next(
        (code, said) for (_, code), (_, said) in pairwise(SERVING_BLOCKS) if code.startswith(f"from {library} import ")
    )


def printed_by(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def demo():
    """The URL of the server that the page's first command starts; it doesn't wait, and takes any port."""
    line = next(line for page, line in COMMAND_LINES if page == name_of(SERVE))
    server = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(line), "--speed", "0", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    with server:
        try:
            said = server.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found, said
            yield found[0]
        finally:
            server.terminate()


@pytest.mark.parametrize("library", ["openai", pytest.param("anthropic", marks=pytest.mark.full)])
def test_scripts_of_clients_print_what_they_say(library, demo) -> None:
    pytest.importorskip(library)
    code, said = script(library)
    assert SERVED in code
    assert printed_by(code.replace(SERVED, demo)) == said


def test_with_the_transport_the_rest_of_the_script_stays_as_it_is() -> None:
    pytest.importorskip("openai")
    code, said = script("openai")
    (client,) = [text for kind, text in SERVING_BLOCKS if kind == "python" and "xmltools.transport" in text]
    rest = code[code.index("\n", code.index("client = ")) :]
    assert UPSTREAM in client and SERVED not in rest
    tool = xt.Tool(name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
    call = xt.render_call(xt.ToolCall(id="", name="weather", arguments={"city": "Oslo"}), tool)
    answer = said.partition("\n")[2].removesuffix("\n")
    with running(Upstream(whole(call), whole(answer))) as url:
        assert printed_by(client.replace(UPSTREAM, url) + rest) == said


@pytest.mark.parametrize(("page", "part"), [(page, part) for page, parts in PARTS.items() for part in parts])
def test_what_is_made_of_the_registries_is_up_to_date(page, part) -> None:
    found = parts_of(page.read_text(encoding="utf-8"), part)[1]
    assert found == PARTS[page][part](), "run `make generated` and look at the change"


@pytest.mark.full
def test_the_overview_names_every_command_and_every_function_of_the_facade() -> None:
    pytest.importorskip("pyarrow")  # a function of it is one of batches
    commands = [verb.what for verb in VERBS if verb.what in COMMANDS]
    names = [name for verb in VERBS for name in verb.names]
    functions = {name for name in xt.__all__ if callable(getattr(xt, name)) and name[0].islower()}
    assert sorted(commands) == sorted(COMMANDS)
    assert functions <= set(names) and len(names) == len(set(names))
    assert all(callable(named(name)) for name in names)


def test_the_package_is_described_in_the_words_of_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["description"] == README.read_text(encoding="utf-8").split("\n\n")[1]


def test_the_newest_version_of_the_changelog_is_that_of_the_package() -> None:
    versions = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(each for each in versions if each != "Unreleased") == xt.__version__


def test_the_readme_is_short() -> None:
    prose = re.sub(r"^```.*?^```$|^\|.*?$", "", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= WORDS


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_lead_to_files_and_headings(page) -> None:
    for target, heading in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        assert not heading or heading in anchors(file), (target, heading)


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page are linked to, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES[1:], BATCH, GRAMMARS, CORPUS, OVERVIEW, PROMISES], ids=name_of)
def test_every_page_is_one_link_away(page) -> None:
    assert page in {(ROOT / target).resolve() for target, _ in LINK.findall(README.read_text(encoding="utf-8"))}


def test_files_of_tests_that_stand_behind_promises_exist() -> None:
    promised = re.findall(r"`(tests/[^`]+)`", PROMISES.read_text(encoding="utf-8"))
    assert promised and all((ROOT / name).exists() for name in promised)
