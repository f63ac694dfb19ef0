"""Kills runs of `xmltools batch` at random moments and resumes them: `python tests/batch/killing.py [N]`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ARGUMENTS = "<path>{}.py</path><content><![CDATA[{}]]></content>"
BLOCK = f"<tool><tool_name>write</tool_name><arguments>{ARGUMENTS}</arguments></tool>"
CODE = "".join(f"x{number} = f(a) and b[{number}] < c\n" for number in range(60))
FILES, ROWS = 40, 60


def write_input(folder: Path) -> None:
    """Write files of which each is a part of its own: a run is killed between any two of them, or in one."""
    folder.mkdir()
    for name in range(FILES):
        with (folder / f"{name:02}.jsonl").open("w") as file:
            for row in range(ROWS):
                reply = f"I write. {BLOCK.format(name * ROWS + row, CODE)}"
                file.write(json.dumps({"id": name * ROWS + row, "reply": reply}) + "\n")


def command(source: Path, output: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "xmltools", "batch", str(source), str(output), "--jobs", "2", *options]


def begin(source: Path, output: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(source, output, *options), stderr=subprocess.PIPE, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> bytes:
    """Wait until all processes of a run are gone: each of them holds the pipe."""
    return process.communicate(timeout=120)[1]


class Killing:
    """Runs that are killed, and compared with one that was not."""

    def __init__(self, folder: Path, ending: str, seed: int | None = None) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._ending = ending
        self._source = folder / "in"
        write_input(self._source)
        start = time.monotonic()
        self._whole = self._run_whole()
        self._seconds = time.monotonic() - start

    def _run_whole(self) -> bytes:
        output = self._folder / f"whole.{self._ending}"
        process = begin(self._source, output)
        said = end(process)
        assert process.returncode == 0, said
        return output.read_bytes()

    def kill_once(self, number: int) -> bool:
        """Kill a run once or more, and let it end. Returns whether a kill came before the end of a run."""
        output = self._folder / f"{number}.{self._ending}"
        killed = False
        resumed: tuple[str, ...] = ()
        while self._random.random() < (0.4 if resumed else 1):
            process = begin(self._source, output, *resumed)
            killed |= self._kill(process)
            resumed = ("--resume",)
        process = begin(self._source, output, *resumed)
        said = end(process)
        assert process.returncode == 0, said
        assert output.read_bytes() == self._whole
        assert not list(self._folder.glob(f"*{number}.*parts")) and not list(self._folder.glob(".*.tmp"))
        return killed

    def _kill(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill the run, alone or with its workers, at a random moment of the time that it takes."""
        try:
            process.wait(self._random.uniform(0, self._seconds))
        except subprocess.TimeoutExpired:
            kill = self._random.choice((os.kill, os.killpg))
            kill(process.pid, signal.SIGKILL)
        end(process)
        return process.returncode != 0


def kill(runs: int, ending: str = "jsonl", seed: int | None = None) -> int:
    """Kill so many runs. Returns how many of them were killed before their end; raises if an output is not right."""
    with tempfile.TemporaryDirectory() as folder:
        killing = Killing(Path(folder), ending, seed)
        return sum(killing.kill_once(number) for number in range(runs))


if __name__ == "__main__":
    RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for each in ("jsonl", "parquet"):
        print(f"{each}: {RUNS} runs gave the same output, {kill(RUNS, each)} of them were killed before their end")
