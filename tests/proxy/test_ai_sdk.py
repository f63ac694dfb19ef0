"""The AI SDK with its provider for OpenAI-compatible servers, in Node, as a client of the proxy."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from proxy.running import running
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

PACKAGES = ("@ai-sdk/openai-compatible@3.0.92", "ai@7.0.173")
SCRIPT = Path(__file__).with_name("ai_sdk.mjs")
OLDEST_NODE = 20
MODELS = ("scripted", "scripted-sloppy", "scripted-thinking")
OSLO = {"city": "Oslo", "days": 1}
QUOTED = "4 degrees, rain"

NODE, NPM = shutil.which("node"), shutil.which("npm")
pytestmark = pytest.mark.skipif(NODE is None or NPM is None, reason="Node and npm are not both installed")


@pytest.fixture(scope="module")
def installed(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages and the script. In pytest's cache it outlives the run: they are fetched once."""
    check_node()
    cache = getattr(pytestconfig, "cache", None)  # there is none under -p no:cacheprovider
    folder: Path = cache.mkdir("ai-sdk") if cache is not None else tmp_path_factory.mktemp("ai-sdk")
    wanted = json.dumps({"private": True, "type": "module", "wanted": PACKAGES})
    manifest = folder / "installed.json"
    if not manifest.exists() or manifest.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
        install(folder)
        manifest.write_text(wanted, encoding="utf-8")
    shutil.copy(SCRIPT, folder)
    return folder


def check_node() -> None:
    """Skip where Node is older than the SDK can bear."""
    assert NODE is not None
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < OLDEST_NODE:
        pytest.skip(f"the AI SDK needs Node {OLDEST_NODE}, here is {version}")


def install(folder: Path) -> None:
    """Fetch the packages, or skip: without the registry there is no client to try."""
    assert NPM is not None
    # Nothing that a package brings along is run.
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=0", "--loglevel=error")
    try:
        done = subprocess.run(
            [NPM, "install", *options, *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=45
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm could not fetch the AI SDK within 45 seconds")
    if done.returncode:
        pytest.skip(f"npm could not fetch the AI SDK: {done.stderr.strip():.300}")


def understood(folder: Path, url: str, *models: str) -> dict[str, Any]:
    """What the SDK makes of the replies of each model."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, SCRIPT.name, url + "/v1", *models], cwd=folder, capture_output=True, text=True, timeout=45
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def said(installed: Path) -> dict[str, Any]:
    with running(create_app(ServeConfig(demo=True, speed=0, settings=Settings(live_arguments=True)))) as url:
        return understood(installed, url, *MODELS)


@pytest.fixture(scope="module")
def retried(installed: Path) -> dict[str, Any]:
    with running(create_app(ServeConfig(demo=True, speed=0, settings=Settings(retries=1)))) as url:
        return understood(installed, url, "scripted-broken")["scripted-broken"]


@pytest.mark.parametrize("model", MODELS)
def test_a_streamed_call_is_run_and_its_result_quoted(said: dict[str, Any], model: str) -> None:
    streamed = said[model]["streamed"]
    assert streamed["errors"] == []
    assert streamed["calls"] == [{"name": "weather", "input": OSLO, "invalid": False}]
    assert streamed["ran"] == [OSLO]
    assert streamed["finish"] == ["tool-calls", "stop"]
    assert streamed["text"].endswith(QUOTED)


@pytest.mark.parametrize("model", MODELS)
def test_a_call_that_is_not_streamed_is_run_and_its_result_quoted(said: dict[str, Any], model: str) -> None:
    generated = said[model]["generated"]
    assert generated["calls"] == [{"name": "weather", "input": OSLO}]
    assert generated["ran"] == [OSLO]
    assert generated["finish"] == ["tool-calls", "stop"]
    assert generated["text"].endswith(QUOTED)


def test_arguments_come_in_fragments_between_start_and_call(said: dict[str, Any]) -> None:
    streamed = said["scripted"]["streamed"]
    assert len(streamed["fragments"]) > 1
    assert json.loads("".join(streamed["fragments"])) == OSLO
    kinds = [kind for kind in streamed["kinds"] if kind.startswith("tool-")]
    fragments = ["tool-input-delta"] * len(streamed["fragments"])
    assert kinds == ["tool-input-start", *fragments, "tool-input-end", "tool-call", "tool-result"]


@pytest.mark.parametrize("model", MODELS)
def test_both_ways_count_the_same_tokens(said: dict[str, Any], model: str) -> None:
    streamed, generated = said[model]["streamed"], said[model]["generated"]
    assert streamed["usage"] == generated["usage"]
    assert all(streamed["usage"])


def test_thoughts_are_reasoning_and_no_text(said: dict[str, Any]) -> None:
    for way in said["scripted-thinking"].values():
        assert "weather fits best" in way["reasoning"]
        assert "fits best" not in way["text"] and "<think>" not in way["text"]
    assert not said["scripted"]["streamed"]["reasoning"]


def test_no_markup_of_a_call_is_shown_as_text(said: dict[str, Any]) -> None:
    for ways in said.values():
        for way in ways.values():
            assert "<tool" not in way["text"] and "<city" not in way["text"]


def test_a_wrong_call_is_asked_for_again_before_the_client_sees_it(retried: dict[str, Any]) -> None:
    generated = retried["generated"]
    assert generated["calls"] == [{"name": "weather", "input": OSLO}]
    assert generated["ran"] == [OSLO]
    assert generated["finish"] == ["tool-calls", "stop"]
    assert generated["text"].endswith(QUOTED)


def test_a_wrong_call_is_asked_for_again_before_a_stream_shows_it(retried: dict[str, Any]) -> None:
    streamed = retried["streamed"]
    assert streamed["errors"] == []
    assert streamed["kinds"].count("tool-input-start") == 1
    assert streamed["calls"] == [{"name": "weather", "input": OSLO, "invalid": False}]
    assert streamed["ran"] == [OSLO]
    assert streamed["finish"] == ["tool-calls", "stop"]
    assert streamed["text"].endswith(QUOTED)
