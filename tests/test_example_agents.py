"""The examples run as they are, and print what their page says."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
PAGE = (EXAMPLES / "README.md").read_text(encoding="utf-8")
PRINTED = dict(re.findall(r"^```console\n\$ python examples/(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))
STARTED_BY_OTHERS = ("mcp_server.py",)
FEWER_LINES = 65
ALWAYS_RUN = ("agent.py", "proxy.py", "transport.py")
"""What `make test` runs. The others wait for something big, or have a library that only `make agents` installs."""


def python_with(needed: set[str]) -> str:
    """The Python that has these packages: this one, or that with the libraries of agents. Skips the test without."""
    if all(map(find_spec, needed)):
        return sys.executable
    other = os.environ.get("XMLTOOLS_AGENTS_PYTHON", "")
    there = f"import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, {sorted(needed)})))"
    if not other or subprocess.run([other, "-c", there], timeout=60).returncode:
        pytest.skip(f"not installed: {', '.join(sorted(needed))} (make agents)")
    return other


def imported_by(path: Path) -> set[str]:
    """The packages that a script imports, but for those that stand beside it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    tops = {name.partition(".")[0] for name in names}
    return {top for top in tops if not (EXAMPLES / f"{top}.py").exists()}


def run(name: str, **environment: str) -> str:
    """What a script prints."""
    python = python_with(imported_by(EXAMPLES / name))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", **environment}
    command = [python, str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=280, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_the_page_names_every_example() -> None:
    assert sorted([*PRINTED, *STARTED_BY_OTHERS]) == SCRIPTS
    assert set(re.findall(r"\]\(([^)]+)\)", PAGE)) == {path.name for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < FEWER_LINES


def cases() -> list[object]:
    full, alone = pytest.mark.full, pytest.mark.alone
    marks = dict.fromkeys(PRINTED, (full,)) | dict.fromkeys(ALWAYS_RUN, ()) | {"batch_ray.py": (full, alone)}
    return [pytest.param(name, marks=marks[name]) for name in PRINTED if name != "proxy.py"]


@pytest.mark.parametrize("name", cases())
def test_an_example_prints_what_the_page_says(name: str) -> None:
    assert run(name) == PRINTED[name]


def test_a_call_that_was_cut_off_is_asked_for_again_and_each_call_runs_once(monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    agent = runpy.run_path(str(EXAMPLES / "agent.py"))
    call = agent["CALL"].format("<name>{}</name><text>milk & eggs, and tea</text><mode>append</mode>").format
    cut = call("second").partition("and tea")[0]
    agent["MODEL"].replies[:] = [call("first") + cut, call("second"), "Both are written.\n"]
    agent["main"]()
    assert agent["NOTES"] == dict.fromkeys(("first", "second"), "milk & eggs, and tea")
    printed = capsys.readouterr().out
    assert printed.count("[write_note ") == 2 and "[refused: the reply ended inside the block]" in printed
    assert printed.endswith("Both are written.\n")


def test_the_example_of_the_proxy_prints_what_the_page_says() -> None:
    pytest.importorskip("uvicorn")
    from proxy.running import running

    from xmltools.proxy.server import ServeConfig, create_app

    with running(create_app(ServeConfig(demo=True, speed=0))) as url:
        assert run("proxy.py", OPENAI_BASE_URL=f"{url}/v1") == PRINTED["proxy.py"]
