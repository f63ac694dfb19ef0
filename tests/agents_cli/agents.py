"""The agents: installed from npm, set up as `docs/agents.md` says, and run without anybody at the keyboard."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

__all__ = ["AGENTS", "AGENTS_WITHOUT_TOOLS", "PAGE", "Agent", "Ran", "blocks", "install", "locked"]

PACKAGES = ("@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0", "opencode-ai@1.18.33")
MORE_PACKAGES = ("@qwen-code/qwen-code@0.24.4", "cline@3.0.65", "node@22")
"""Those that only `make agents` installs. The two agents need Node 22."""
MORE = "XMLTOOLS_MORE_AGENTS"
"""The environment variable with which these are installed too."""
AIDER = "XMLTOOLS_AIDER"
"""The environment variable with the command of aider, which is a Python package."""
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
    has_more = MORE in os.environ
    folder = Path(sys.prefix) / ("more_agents" if has_more else "agents")
    folder.mkdir(exist_ok=True)
    with locked(folder / "lock"):  # several processes of pytest-xdist come here at once
        fetch(folder, (*PACKAGES, *MORE_PACKAGES) if has_more else PACKAGES)
    return folder / "node_modules" / ".bin"


def fetch(folder: Path, packages: tuple[str, ...]) -> None:
    assert NPM is not None
    wanted, manifest = json.dumps(packages), folder / "installed.json"
    if manifest.exists():
        found = manifest.read_text(encoding="utf-8")
        if found == wanted:
            return
        manifest.unlink()
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    options = ("--no-audit", "--no-fund", "--no-save", "--fetch-retries=0", "--fetch-timeout=60000", "--loglevel=error")
    try:
        done = subprocess.run(
            [NPM, "install", *options, *packages], cwd=folder, capture_output=True, text=True, timeout=INSTALLING
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
    """One agent. `arguments` are those of the command, up to the task.

    Its settings are blocks of the page: the variables of the block that holds the word `exports`, the file in the
    language `config`, and the command of the block that holds `before`, which is run first.
    """

    name: str
    title: str
    arguments: tuple[str, ...]
    exports: str = ""
    config: str = ""
    before: str = ""

    def command(self, bins: Path) -> Path:
        """Return the path of its command, or skip where it is not installed."""
        path = Path(os.environ.get(AIDER, "aider")) if self.name == "aider" else bins / self.arguments[0]
        if not path.exists():
            pytest.skip(f"{self.title} is not installed; make agents installs it")
        return path

    def run(
        self,
        bins: Path,
        home: Path,
        work: Path,
        url: str,
        task: str,
        *more: str,
        changed: Mapping[str, str | None] = MappingProxyType({}),
    ) -> Ran:
        """Let it do a task in a folder. `more` are further arguments; `changed` are other values of its environment
        variables, None for those that are left out."""
        given = {**_environment(bins, home), **self._exports(url), **changed}
        environment = {name: value for name, value in given.items() if value is not None}
        if self.config:
            self._write_config(home, work, url)
        if self.before:
            line = next(block for block in blocks("sh") if self.before in block).splitlines()[0]
            ran = self._execute(shlex.split(line.replace(PROXY, url)), work, environment)
            assert ran.status == 0, ran
        return self._execute([str(self.command(bins)), *self.arguments[1:], *more, task], work, environment)

    def version(self, bins: Path, home: Path) -> str:
        """Return the version that it says it has."""
        ran = self._execute([str(self.command(bins)), "--version"], home, _environment(bins, home))
        found = re.search(r"\d+\.\d+\.\d+", ran.out)
        assert found, ran
        return found[0]

    def _execute(self, command: list[str], work: Path, environment: dict[str, str]) -> Ran:
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

    def _exports(self, url: str) -> dict[str, str]:
        if not self.exports:
            return {}
        lines = next(block for block in blocks("sh") if self.exports in block).replace(PROXY, url)
        return dict(re.findall(r"^export (\w+)=(.*)$", lines, re.MULTILINE))

    def _write_config(self, home: Path, work: Path, url: str) -> None:
        if self.config == "toml":
            (home / ".codex").mkdir(exist_ok=True)
            config = blocks("toml")[0].replace(PROXY, url)
            extra = home / "config.toml"  # what a test adds
            config += extra.read_text(encoding="utf-8") if extra.exists() else ""
            (home / ".codex" / "config.toml").write_text(config, encoding="utf-8")
        else:
            (work / "opencode.json").write_text(blocks("json")[0].replace(PROXY, url), encoding="utf-8")


def _environment(bins: Path, home: Path) -> dict[str, str]:
    return {**QUIET, "HOME": str(home), "PATH": f"{bins}{os.pathsep}{os.environ.get('PATH', '')}"}


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
    "claude": Agent(
        "claude", "Claude Code", ("claude", "--dangerously-skip-permissions", "-p"), exports="ANTHROPIC_BASE_URL"
    ),
    "codex": Agent(
        "codex",
        "Codex",
        ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        config="toml",
    ),
    "opencode": Agent("opencode", "opencode", ("opencode", "run"), config="json"),
    "qwen": Agent(
        "qwen", "Qwen Code", ("qwen", "--auth-type", "openai", "--approval-mode", "yolo"), exports="OPENAI_MODEL"
    ),
    "cline": Agent("cline", "Cline", ("cline",), before="cline auth"),
}
AGENTS_WITHOUT_TOOLS = {
    "aider": Agent(
        "aider",
        "aider",
        ("aider", "--model", "openai/my-model", "--no-git", "--yes-always", "--no-check-update", "--message"),
        exports="OPENAI_API_BASE",
    ),
}
