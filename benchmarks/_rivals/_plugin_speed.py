"""The clock for our plugins: the engine's own parsers and ours on the same streams, in turns, in `.venv-rivals`.

`conformance.py` starts it with the name of an engine. For each line of JSON on standard input (a job, as for
`_neutral_child`), it writes a line with the tokens of the text and the CPU seconds of each for a stream of single
tokens: the least of some rounds. It counts all of a request but its prompt: the request, the parsers, the reply. Who
raises has no time.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
from typing import Any

from _rivals import _standins
from _rivals._install import UNPACKED
from _rivals._neutral_child import Message, Sglang, Tokens, Vllm

ROUNDS = 5
ENOUGH = 4.0
"""Seconds after which no more rounds are begun."""


def seconds(engine: Any, chunks: list[list[str]]) -> float | None:
    message = Message()
    gc.collect()
    gc.disable()
    start = time.thread_time()
    try:
        engine.stream(chunks, message)
    except Exception:
        return None
    finally:
        spent = time.thread_time() - start
        gc.enable()
    return spent


def least_of(runs: list[float | None]) -> float | None:
    times = [run for run in runs if run is not None]
    return min(times) if len(times) == len(runs) else None


def main() -> None:
    _standins.install(UNPACKED)
    logging.disable(logging.CRITICAL)
    kind: Any = {"vllm": Vllm, "sglang": Sglang}[sys.argv[1]]
    engines = {"own": kind(), "plugin": kind(""), "whole": kind("_whole")}
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        pieces = Tokens(job["marks"]).pieces(job["text"])
        chunks = [[piece] for piece in pieces]
        for engine in engines.values():
            engine.start(job)
        runs: list[dict[str, float | None]] = []
        start = time.thread_time()
        while len(runs) < ROUNDS and time.thread_time() - start < ENOUGH:
            runs.append({name: seconds(engine, chunks) for name, engine in engines.items()})
        least = {name: least_of([run[name] for run in runs]) for name in engines}
        print("\x1e" + json.dumps({"tokens": len(pieces), "seconds": least}), flush=True)


if __name__ == "__main__":
    main()
