"""`xmltools.integrations` inside the libraries that they are for: each script of checks runs with these libraries."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PYTHON = os.environ.get("XMLTOOLS_AGENTS_PYTHON", sys.executable)
SCRIPTS = {"langchain": "langchain_checks.py", "pydantic_ai": "pydantic_ai_checks.py"}
CHECKS = [
    (script, node.name)
    for script in SCRIPTS.values()
    for node in ast.parse((HERE / script).read_text(encoding="utf-8")).body
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
]


@cache
def run(script: str) -> dict[str, str | None] | str:
    """What came of each check of a script, or which library is not here."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    command = [PYTHON, HERE / "run_checks.py", HERE / script]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    missing = re.search("(?:ModuleNotFound|Import)Error: .*", done.stderr)
    if done.returncode and missing is not None:
        return missing[0]
    assert done.returncode == 0, done.stderr
    found: dict[str, str | None] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("script", "name"), CHECKS)
def test_it_does_what_the_library_expects(script: str, name: str) -> None:
    found = run(script)
    if isinstance(found, str):
        pytest.skip(found)
    assert found[name] is None, found[name]


@pytest.mark.parametrize("library", SCRIPTS)
def test_without_the_library_there_is_one_line_that_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch, forget: Callable[[str], None]
) -> None:
    name = f"xmltools.integrations.{library}"
    for package in ("langchain_core", "pydantic_ai", "litellm"):
        monkeypatch.setitem(sys.modules, package, None)
    forget(name)
    with pytest.raises(ImportError, match=rf"{name} needs .*: pip install .*\[.*\]") as raised:
        importlib.import_module(name)
    assert "\n" not in str(raised.value)


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.delitem(sys.modules, name, raising=False)
