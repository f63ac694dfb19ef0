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
from proxy.running import running
from proxy.test_server_upstream import Upstream, whole
from support.pages import AGENTS

HERE = Path(__file__).parent
PYTHON = os.environ.get("XMLTOOLS_AGENTS_PYTHON", sys.executable)
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
    "PYTHONPATH": str(HERE.parents[1]),
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # it asks the network for prices otherwise
}
SCRIPTS = {name: f"{name}_checks.py" for name in ("langchain", "pydantic_ai", "litellm")}
CHECKS = [
    (script, node.name)
    for script in SCRIPTS.values()
    for node in ast.parse((HERE / script).read_text(encoding="utf-8")).body
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
]


@cache
def run(script: str) -> dict[str, str | None] | str:
    """What came of each check of a script, or which library is not here."""
    command = [PYTHON, HERE / "run_checks.py", HERE / script]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=240)
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


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", AGENTS.read_text(encoding="utf-8"), re.DOTALL)
ADDRESS = "http://localhost:8000"


@pytest.mark.parametrize("library", SCRIPTS)
def test_the_examples_of_the_page_print_what_they_say(library: str) -> None:
    pytest.importorskip("uvicorn")
    ((code, said),) = [(code, said) for code, said in EXAMPLES if f"xmltools.integrations.{library} " in code]
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    with running(Upstream(whole(call), whole("It is sunny."))) as url:
        done = subprocess.run(
            [PYTHON, "-c", code.replace(ADDRESS, url)], capture_output=True, text=True, env=ENVIRONMENT, timeout=240
        )
    missing = re.search("(?:ModuleNotFound|Import)Error: .*", done.stderr)
    if done.returncode and missing is not None:
        pytest.skip(missing[0])
    assert ADDRESS in code and (done.returncode, done.stdout) == (0, said), done.stderr


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
