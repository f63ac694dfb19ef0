"""Somebody who follows a guide: makes its files, types its commands, and has servers in other terminals."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

__all__ = ["Reader", "free_port", "is_printed"]

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Reader:
    """Works in `folder` with the xmltools of `source`. `ports` says which free port stands for one in the guide."""

    def __init__(self, folder: Path, ports: dict[str, int], source: Path = ROOT) -> None:
        self.folder = folder
        self._ports = ports
        self._servers: dict[str, Server] = {}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {"PATH": path, "PYTHONPATH": str(source), "NO_PROXY": "127.0.0.1,localhost", "COLUMNS": "80"}
        self._environment = {**os.environ, **own}

    def save(self, name: str, text: str) -> None:
        """Save a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._with_free_ports(text), encoding="utf-8")

    def run(self, commands: str) -> str:
        """Type commands into a shell; return what they print."""
        done = subprocess.run(
            ["bash", "-c", self._with_free_ports(commands)],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=240,
        )
        said = self._as_shown(done.stdout)
        return f"{said}\n" if said and not said.endswith("\n") else said

    def start(self, terminal: str, commands: str) -> None:
        """Start a server in another terminal, in the place of the one before, and wait until it listens.

        All commands but the last are `export NAME=value`.
        """
        if terminal in self._servers:
            self._servers.pop(terminal).stop()
        *exports, command = commands.replace("\\\n", " ").strip().splitlines()
        environment = dict(line.removeprefix("export ").split("=", 1) for line in exports)
        words = shlex.split(self._with_free_ports(command))
        if "--port" not in words:
            words += ["--port", str(self._ports["8081" if words[1] == "replay" else "8080"])]
        self._servers[terminal] = Server(words, self.folder, {**self._environment, **environment})

    def logged(self, terminal: str, expected: str) -> bool:
        """Return whether another terminal shows these lines, or comes to do so."""
        return self._servers[terminal].wait_for(lambda said: is_printed(expected, self._as_shown(said), anywhere=True))

    def stop(self) -> None:
        """Press Ctrl-C in all terminals."""
        for server in self._servers.values():
            server.stop()

    def _with_free_ports(self, text: str) -> str:
        for shown, free in self._ports.items():
            text = re.sub(rf"(?<=[: ]){shown}\b", str(free), text)
        return text

    def _as_shown(self, text: str) -> str:
        for shown, free in self._ports.items():
            text = text.replace(str(free), shown)
        return text


class Server:
    """A command that runs until it is stopped, and what it has said."""

    def __init__(self, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=folder, env=environment, stderr=subprocess.PIPE, encoding="utf-8"
        )
        self._said = ""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        if not self.wait_for(lambda said: "Ctrl-C stops it" in said):
            self.stop()
            raise AssertionError(f"the server did not start: {self._said}")

    def wait_for(self, is_there: Callable[[str], bool]) -> bool:
        """Wait until what was said fulfils a condition; return whether it does."""
        with self._changed:
            return self._changed.wait_for(lambda: is_there(self._said), PATIENCE)

    def stop(self) -> None:
        """Stop the command."""
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._thread.join(PATIENCE)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                with self._changed:
                    self._said += line
                    self._changed.notify_all()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def is_printed(shown: str, printed: str, *, anywhere: bool = False) -> bool:
    """Return whether a text is what a guide shows, in which `…` stands for what differs from run to run."""
    pattern = ".*?".join(map(re.escape, shown.split("…")))
    return bool(re.search(pattern, printed) if anywhere else re.fullmatch(pattern, printed))
