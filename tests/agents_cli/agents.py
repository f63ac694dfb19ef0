"""The agents: installed from npm, set up as `docs/agents.md` says, and run without anybody at the keyboard."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

__all__ = ["AGENTS", "Agent", "Ran", "blocks", "install"]

PACKAGES = ("@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0", "opencode-ai@1.18.33")
FOLDER = "XMLTOOLS_AGENTS_NODE"
"""The environment variable with a folder in which they are installed already."""
PAGE = Path(__file__).parent.parent.parent / "docs" / "agents.md"
PROXY = "http://127.0.0.1:8080"
OLDEST_NODE = 20
INSTALLING, RUNNING = 300, 90  # seconds
NODE, NPM = shutil.which("node"), shutil.which("npm")


def blocks(language: str) -> list[str]:
    """The blocks of the page that are written in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def install() -> Path:
    """Return the folder with the commands; fetch the packages if they are not there, or skip."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER]) / "node_modules" / ".bin"
    if NODE is None or NPM is None:
        pytest.skip("Node and npm are not both installed")
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, timeout=20).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0] or 0) < OLDEST_NODE:
        pytest.skip(f"the agents need Node {OLDEST_NODE}, here is {version}")
    if sys.prefix == sys.base_prefix:
        pytest.skip(f"there is no virtual environment to keep the agents in; {FOLDER} names a folder that has them")
    folder = Path(sys.prefix) / "agents"
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):  # several processes of pytest-xdist come here at once
        fetch(folder)
    return folder / "node_modules" / ".bin"


def fetch(folder: Path) -> None:
    assert NPM is not None
    wanted, manifest = json.dumps(PACKAGES), folder / "installed.json"
    if manifest.exists():
        found = manifest.read_text(encoding="utf-8")
        if found == wanted:
            return
        manifest.unlink()
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    options = ("--no-audit", "--no-fund", "--no-save", "--fetch-retries=0", "--fetch-timeout=60000", "--loglevel=error")
    try:
        done = subprocess.run(
            [NPM, "install", *options, *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=INSTALLING
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not fetch the agents within {INSTALLING} seconds")
    if done.returncode:
        pytest.skip(f"npm could not fetch the agents: {done.stderr.strip():.300}")
    manifest.write_text(wanted, encoding="utf-8")


@contextmanager
def locked(path: Path) -> Any:
    fcntl = pytest.importorskip("fcntl")
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass
class Ran:
    """What an agent has printed, and how it ended."""

    out: str
    err: str
    status: int


@dataclass(frozen=True)
class Agent:
    """One agent. `arguments` are those of the command, up to the task."""

    name: str
    arguments: tuple[str, ...]

    def run(self, bins: Path, home: Path, work: Path, url: str, task: str, *more: str) -> Ran:
        """Let it do a task in a folder. `more` are further arguments."""
        environment = {
            **QUIET,
            "HOME": str(home),
            "PATH": f"{bins}{os.pathsep}{os.environ.get('PATH', '')}",
            **self._settings(home, work, url),
        }
        command = [str(bins / self.arguments[0]), *self.arguments[1:], *more, task]
        with subprocess.Popen(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=RUNNING)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
                out, err = process.communicate()
                pytest.fail(f"{self.name} did not end within {RUNNING} seconds: {out} {err}")
        return Ran(out, err, process.returncode)

    def _settings(self, home: Path, work: Path, url: str) -> dict[str, str]:
        if self.name == "claude":
            lines = next(block for block in blocks("sh") if "ANTHROPIC_BASE_URL" in block).replace(PROXY, url)
            return dict(re.findall(r"^export (\w+)=(.*)$", lines, re.MULTILINE))
        if self.name == "codex":
            (home / ".codex").mkdir(exist_ok=True)
            config = blocks("toml")[0].replace(PROXY, url)
            extra = home / "config.toml"  # what a test adds
            config += extra.read_text(encoding="utf-8") if extra.exists() else ""
            (home / ".codex" / "config.toml").write_text(config, encoding="utf-8")
            return {}
        (work / "opencode.json").write_text(blocks("json")[0].replace(PROXY, url), encoding="utf-8")
        return {}


QUIET = {
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "NO_PROXY": "*",
    "IS_SANDBOX": "1",  # it runs in a folder of its own, maybe as root
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
}
AGENTS = {
    "claude": Agent("claude", ("claude", "--dangerously-skip-permissions", "-p")),
    "codex": Agent(
        "codex",
        ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
    ),
    "opencode": Agent("opencode", ("opencode", "run")),
}
