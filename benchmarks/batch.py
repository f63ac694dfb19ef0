"""What many replies cost: `python benchmarks/batch.py [--quick]`. `README.md` beside this file explains each figure.

Runs are processes of their own, as `xmltools batch` is: what they take to start counts too. Times are ratios to one
process, measured in turns in the same run; memory is the most that any of a run's processes ever had, as the kernel
counted it (Linux). At last runs are killed at random moments and resumed, and their outputs compared with that of a
whole run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq
from parser import Figure, diff, line

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "batch"))
from killing import kill

ROWS, MANY = 100_000, 1_000_000
KILLS = 20
SIZE = 1700  # of an argument: a reply has about 2,000 characters
PROGRAM = """
import json, pathlib, resource, sys
from xmltools.cli.commands import main
if __name__ == "__main__":
    status = main(["batch", *sys.argv[1:]])
    # Its own ru_maxrss would count what the process that started it had.
    own = pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(json.dumps([status, int(own), workers]))
"""


def replies() -> Iterator[str]:
    """Replies without end: most are clean, some have to be mended, some are broken, some hold no call."""
    code = diff(1_000_000)
    number = 0
    while True:
        at = number * 977 % (len(code) - SIZE)
        yield reply(number, code[at : at + SIZE])
        number += 1


def reply(number: int, code: str) -> str:
    kind = number % 20
    if kind < 3:
        return f"It is done, and this is what has changed.\n\n{code}"
    prose = "I have read the file, and will mend what is wrong. " * 3
    value = code if kind == 3 else f"<![CDATA[{code}]]>"
    arguments = f"<path>src/{number}.py</path>\n<strip>{'+0' if kind == 4 else 0}</strip>\n<diff>{value}</diff>"
    end = "" if kind == 5 else "\n</arguments>\n</tool>"
    return f"<think>{prose}</think>\n{prose}\n<tool>\n<tool_name>apply_diff</tool_name>\n<arguments>\n{arguments}{end}"


def tools() -> str:
    properties = {"path": {"type": "string"}, "strip": {"type": "integer"}, "diff": {"type": "string"}}
    parameters = {"type": "object", "properties": properties, "required": ["path", "diff"]}
    return json.dumps([{"name": "apply_diff", "description": "Apply a diff.", "parameters": parameters}])


def write_lines(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(islice(replies(), rows)):
            file.write(json.dumps({"id": number, "reply": text}) + "\n")


def write_parquet(path: Path, rows: int) -> None:
    schema = pa.schema([("id", pa.int64()), ("reply", pa.string())])
    texts = replies()
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 20_000):
            count = min(20_000, rows - start)
            ids = list(range(start, start + count))
            writer.write_table(pa.table({"id": ids, "reply": list(islice(texts, count))}, schema=schema))


WRITERS = {"jsonl": write_lines, "parquet": write_parquet}


class Runs:
    """Runs of `xmltools batch` in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "program.py"
        self._program.write_text(PROGRAM)
        self._tools = folder / "tools.json"
        self._tools.write_text(tools())

    def source(self, ending: str, rows: int) -> Path:
        path = self._folder / f"{rows}.{ending}"
        if not path.exists():
            WRITERS[ending](path, rows)
        return path

    def run(self, source: Path, jobs: int) -> tuple[float, int, int]:
        """Return the seconds of a run, and the KiB that the parent and the largest worker had."""
        output = self._folder / f"out{source.suffix}"
        options = ["--tools", str(self._tools), "--jobs", str(jobs), "--overwrite"]
        command = [sys.executable, str(self._program), str(source), str(output), *options]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        status, own, workers = json.loads(done.stdout)
        assert status == 0
        output.unlink()
        return seconds, own, workers


def speed(runs: Runs, quick: bool) -> Iterator[Figure]:
    """Two processes against one. With fewer than two cores it cannot be met."""
    # Of a short run the start is a large part, and of the start only a part can be done twice at once.
    rows, asked = (ROWS // 5, 1.4) if quick else (ROWS, 1.8)
    for ending in ("jsonl", "parquet"):
        source = runs.source(ending, rows)
        times = [(runs.run(source, 1)[0], runs.run(source, 2)[0]) for _ in range(1 if quick else 3)]
        one, two = (median(each) for each in zip(*times, strict=True))
        note = (
            f"{one / two:.2f} times as fast; {rows:,} rows in {one:.1f} s and {two:.1f} s; {rows / two:,.0f} a second"
        )
        yield Figure(f"a {ending}: 2 processes", 1 / asked, two / one, "of 1 process", note)


def memory(runs: Runs, quick: bool) -> Iterator[Figure]:
    """Ten times the rows, or four times."""
    few, many = (ROWS // 10, MANY // 25) if quick else (ROWS, MANY)
    for ending in ("jsonl", "parquet"):
        (_, *small), (seconds, *large) = (runs.run(runs.source(ending, rows), 2) for rows in (few, many))
        for who, before, after in zip(("parent", "worker"), small, large, strict=True):
            note = f"{before / 1024:.0f} MiB for {few:,} rows, {after / 1024:.0f} MiB for {many:,} ({seconds:.0f} s)"
            yield Figure(f"b {ending}: memory of the {who}", 1.2, after / before, "times", note)
        runs.source(ending, many).unlink()


def kills(runs: Runs, quick: bool) -> Iterator[Figure]:
    """Runs that are killed. One with another output ends the program with an assertion."""
    count = KILLS // 10 if quick else KILLS
    for ending in ("jsonl", "parquet"):
        killed = kill(count, ending)
        note = f"{killed} of {count} runs were killed before their end"
        yield Figure(f"c {ending}: other outputs after a kill", 0, 0, "", note)


PARTS = {"speed": speed, "memory": memory, "kills": kills}


def main() -> int:
    """Print the table; the exit status is 1 if a figure was missed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer rows, fewer rounds")
    options.add_argument("--only", choices=PARTS, help="only one part of the table")
    given = options.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder))
        for part in [PARTS[given.only]] if given.only else PARTS.values():
            for figure in part(runs, given.quick):
                missed = missed or figure.verdict != "ok"
                print(line(figure), flush=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
