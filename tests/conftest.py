"""What holds for all tests.

`make test` runs the small half, in which random tests try few examples. The other half has the marker `full`: what
takes long, and what needs more than the extra `test` installs. Whole files and folders of it are listed here.

Hypothesis asks no clock, so that a slow machine fails no test; where CI is set, it tries the same each time. What
chance reaches does not count for coverage, which makes such tests slow. Garbage is collected after each module: what it
left open (a socket, a file) fails one of its own tests, and not a later one.
"""

import gc
import io
import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings
from support import often  # noqa: F401  (registers the profiles)

TESTS = Path(__file__).parent
settings.load_profile("full")

FULL: dict[str, tuple[str, ...]] = {
    "agents": (),
    "agents_cli": (),
    "batch": ("pyarrow",),
    "cli/test_conformance_runner.py": (),
    "conversations/test_stream_sdks.py": ("anthropic",),
    "dialects/test_neutral_suite.py": ("canitoolcall",),
    "fuzz": ("lark", "llguidance", "numpy"),
    "grammar": ("abnf", "lark", "llguidance", "numpy", "xgrammar"),
    "parser/test_bounded.py": (),
    "parser/test_differential.py": (),
    "proxy/test_ai_sdk.py": (),
    "proxy/test_dialect_ids.py": ("anthropic",),
    "proxy/test_doctor.py": (),
    "proxy/test_engines.py": ("anthropic",),
    "proxy/test_live.py": (),
    "proxy/test_live_browser.py": ("playwright",),
    "proxy/test_meant_calls.py": ("anthropic",),
    "proxy/test_native_calls.py": ("anthropic",),
    "proxy/test_playground_api.py": (),
    "proxy/test_playground_browser.py": ("playwright",),
    "proxy/test_probe.py": ("anthropic",),
    "proxy/test_prompts.py": ("anthropic",),
    "proxy/test_random_faults.py": ("lark", "llguidance", "numpy"),
    "proxy/test_reasoning_history.py": ("anthropic",),
    "proxy/test_serve_dialects.py": ("anthropic",),
    "proxy/test_server_access.py": (),
    "proxy/test_server_cli.py": (),
    "proxy/test_server_clients.py": ("anthropic",),
    "proxy/test_server_faults.py": ("anthropic",),
    "proxy/test_server_observed.py": ("opentelemetry",),
    "proxy/test_long_replies.py": (),
    "proxy/test_transport.py": ("anthropic",),
    "proxy/test_usage.py": (),
    "proxy/test_wire_facts.py": ("anthropic",),
    "test_site.py": ("mkdocs", "mkdocstrings", "playwright"),
    "tools/test_schema_laws.py": ("lark", "llguidance", "numpy"),
}
"""Files and folders of the half that `make test` leaves out, and what they need; they are skipped without it."""


def row_of(path: Path) -> str | None:
    """The name under which a file, or its folder, stands in `FULL`."""
    return next((name for name in FULL if TESTS / name in (path, *path.parents)), None)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    missing = [library for library in FULL.get(row_of(module_path) or "", ()) if find_spec(library) is None]
    return NotInstalled.from_parent(parent, path=module_path, missing=missing) if missing else None


class NotInstalled(pytest.Module):
    """A module that is skipped, because libraries that it needs are missing."""

    def __init__(self, *, missing: list[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.missing = missing

    def collect(self) -> NoReturn:
        pytest.skip(f"not installed: {', '.join(self.missing)} (pip install -e '.[test-all]')")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if row_of(item.path):
            item.add_marker(pytest.mark.full)
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_open() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `xmltools` in a folder of its own; returns status, standard output and standard error."""
    from xmltools.cli.commands import main  # only here: most tests need no command

    def run(*arguments: object, stdin: bytes | str = b"") -> tuple[Any, str, str]:
        data = stdin if isinstance(stdin, bytes) else stdin.encode()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, Any], str]:
    """Write bytes, text, or anything else as JSON, into a file in the folder of `run`; returns its name."""

    def write(name: str, content: Any) -> str:
        text = content if isinstance(content, bytes | str) else json.dumps(content)
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write
