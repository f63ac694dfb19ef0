"""Runs of the targets under atheris, which mutates bytes and keeps those that reach code not seen before.

libFuzzer ends the process that it runs in, so each run is a process of its own: `run` starts it, `run_here` is what it
does. Nothing of xmltools may be imported in it before atheris has its hooks in the import.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = ["INSIDE", "INSTALL", "NAMES", "Guided", "available", "run", "run_here"]

NAMES = ("text", "utf8", "json", "render", "sse", "formats")
"""The targets, which are in `fuzz.targets`."""
INSIDE = "--inside-atheris"
INSTALL = "atheris is not installed: `pip install atheris` brings it with libFuzzer, for Linux and CPython 3.11 to 3.13"
_LONGEST = {"formats": 4096}
"""Bytes of one input, of JSON that must be whole to be of use; for the others, more than 512 only slows the search."""


@dataclass
class Guided:
    """What came of a run: how many inputs were tried, the code they reached, and bytes that break a law."""

    target: str
    seed: int
    runs: int = 0
    edges: int = 0
    seconds: float = 0.0
    found: bytes | None = None
    said: str = ""


def available() -> bool:
    """Whether atheris is installed."""
    return importlib.util.find_spec("atheris") is not None


def run_here(target: str, arguments: list[str]) -> None:
    """Give the process to libFuzzer, with its own arguments, for a target."""
    import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

    with atheris.instrument_imports(include=["xmltools"]):
        from fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *arguments], TARGETS[target])
    atheris.Fuzz()


def run(target: str, seed: int, runs: int | None, seconds: float | None) -> Guided:
    """Run a target in a process of its own, so often or so long, from the seeds of the corpus on."""
    from fuzz.seeds import seeds_of, words

    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "corpus").mkdir()
        (place / "words").write_text(words(), "ascii")
        for number, each in enumerate(seeds_of(target)):
            (place / "corpus" / str(number)).write_bytes(each)
        limits = [f"-runs={runs}"] if runs is not None else [f"-max_total_time={max(1, round(seconds or 1))}"]
        options = [
            f"-seed={seed}",
            f"-max_len={_LONGEST.get(target, 512)}",
            f"-dict={place / 'words'}",
            f"-artifact_prefix={place}/",
        ]
        said = _started(target, [str(place / "corpus"), *limits, *options, "-timeout=30", "-print_final_stats=1"])
        found = [file.read_bytes() for file in sorted(place.iterdir()) if re.match("crash-|timeout-|oom-", file.name)]
    return replace(_told(target, seed, said, found), seconds=time.monotonic() - start)


def _started(target: str, arguments: list[str]) -> str:
    command = [sys.executable, str(Path(__file__).parent), INSIDE, target, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode("utf-8", "replace")


def _told(target: str, seed: int, said: str, found: list[bytes]) -> Guided:
    """What libFuzzer has printed, in numbers. Without its last line the run was no run: that is a finding too."""
    counts = re.findall(r"^#(\d+)\s", said, re.MULTILINE) + re.findall(r"number_of_executed_units: (\d+)", said)
    edges = re.findall(r"\bcov: (\d+)", said)
    made = Guided(target, seed, int(counts[-1]) if counts else 0, int(edges[-1]) if edges else 0)
    if found or not re.search(r"^Done \d+ runs", said, re.MULTILINE):
        made.found = found[0] if found else b""
        made.said = said[-3000:]
    return made
