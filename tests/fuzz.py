"""Random documents against all laws of reading, random calls written and read back, and random walks through grammars.

    python tests/fuzz.py [--seconds N | --documents N --calls N --grammars N] [--seed S] [--jobs N]

As `make fuzz ARGS="--seconds 60"`, on all cores. The time is shared equally; `--grammars N` is N walks with each
engine, and as many calls that each must accept. Document i, call i and toolset i of seed S are always the same. The
first document or reply that breaks a law is made as small as it goes; what is found is printed.
Exit status: 0 nothing found, 1 something found.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random

from calls import Meant, law_call, law_untyped, meant, untyped
from engines import llama_judge
from grammar_laws import WALKS, Trial, Written
from strategies import Case, case, clean_case
from test_laws import LAWS, law_clean, merge, run

Law = Callable[[Case], None]


@dataclass
class Finding:
    """A case that breaks a law: a document, a call, or what an engine wrote or refused."""

    number: int
    law: str
    case: Case | Meant | Written


@dataclass
class Tally:
    """What one worker did."""

    documents: int = 0
    calls: int = 0
    characters: int = 0
    events: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    finding: Finding | None = None


def make(seed: int, number: int) -> tuple[Case, tuple[Law, ...]]:
    """Document `number` of `seed` and the laws for it: every tenth is a clean block and nothing else."""
    rng = Random(f"{seed}/{number}")
    if number % 10 == 0:
        return clean_case(rng), (law_clean, *LAWS)
    return case(rng), LAWS


def broken(laws: tuple[Law, ...], case: Case) -> Law | None:
    """The first law that the case breaks; any exception breaks it."""
    for law in laws:
        try:
            law(case)
        except Exception:  # law 2: nothing raises
            return law
    return None


def work(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Try documents until they or the time run out, or one breaks a law."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            break
        case, laws = make(seed, number)
        tally.documents += 1
        tally.characters += len(case.text)
        law = broken(laws, case)
        if law:
            # A part of a clean block need not be clean.
            tally.finding = Finding(number, law.__name__, case if law is law_clean else shrink(law, case))
            break
        tally.events.update(str(kind) for kind, *_ in merge(run(case, [case.text])[0]))
    return tally


def work_on_calls(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Write calls and read them back, until they or the time run out, or one comes back different."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            break
        rng = Random(f"{seed}/call/{number}")
        call, law = (untyped(rng), law_untyped) if number % 5 == 0 else (meant(rng), law_call)
        tally.calls += 1
        try:
            law(call)
        except Exception:
            tally.finding = Finding(number, law.__name__, call)
            break
    return tally


def work_on_grammars(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Let every engine write and judge with grammars of toolsets, until they or the time run out, or a law breaks."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            break
        trial = Trial(seed, number)
        written = trial.run()
        tally.engines.update(trial.counts)
        if written:
            tally.finding = Finding(number, "grammar", written.smaller())
            break
    return tally


def shrink(law: Law, case: Case) -> Case:
    """The smallest case found that breaks the same law: fewer options, then tokens, then characters."""
    for name in case.options:
        simpler = replace(case, options={key: value for key, value in case.options.items() if key != name})
        case = simpler if broken((law,), simpler) else case
    case = remove(law, case)
    return remove(law, replace(case, tokens=list(case.text)))


def remove(law: Law, case: Case) -> Case:
    """Leave out runs of tokens, at first half of all and at last single ones, while the law stays broken."""
    size = max(1, len(case.tokens) // 2)
    while True:
        at, before = 0, len(case.tokens)
        while at < len(case.tokens):
            smaller = replace(case, tokens=case.tokens[:at] + case.tokens[at + size :])
            if broken((law,), smaller):
                case = smaller
            else:
                at += size
        if size == 1 and len(case.tokens) == before:
            return case
        size = max(1, size // 2)


def report(finding: Finding, seed: int) -> None:
    """Print what is needed to see the finding again."""
    found = finding.case
    if isinstance(found, Written):
        print(f"\nFOUND: a law of grammars is broken by toolset {finding.number} of seed {seed}:\n{found}")
        return
    laws: dict[str, Callable[..., None]] = {law.__name__: law for law in (law_clean, *LAWS, law_call, law_untyped)}
    kind = "document" if isinstance(found, Case) else "call"
    print(f"\nFOUND: {finding.law} is broken by {kind} {finding.number} of seed {seed}:")
    if isinstance(found, Case):
        print(f"  at its smallest: Case([{found.text!r}], {found.tool_set!r}, {found.options!r})")
    else:
        print(f"  {found.call!r}\n  {found.tool!r}")
    try:
        laws[finding.law](found)
    except Exception:
        print(traceback.format_exc(limit=-4))


def main() -> int:
    """Run the workers, print what they did, and what they found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to try (default: 30)")
    parser.add_argument("--documents", type=int, help="how many documents to try, however long it takes")
    parser.add_argument("--calls", type=int, help="how many calls to write and read back, however long it takes")
    parser.add_argument("--grammars", type=int, help="how many replies each engine writes, however long it takes")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="default: one a core")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    start = time.monotonic()
    jobs = options.jobs
    toolsets = None if options.grammars is None else -(-options.grammars // WALKS)
    timed = options.documents is options.calls is toolsets is None
    kinds = ((work, options.documents), (work_on_calls, options.calls), (work_on_grammars, toolsets))
    tallies: list[Tally] = []
    with ProcessPoolExecutor(jobs) as pool:
        for part, (worker, count) in enumerate(kinds, 1):
            share = part / len(kinds)
            deadline = start + share * options.seconds if timed else float("inf")
            # Worker k takes every jobs-th number from k on, so that they never meet.
            shares = [numbers(first, jobs, None if timed else count or 0) for first in range(jobs)]
            tallies += pool.map(worker, [seed] * jobs, shares, [deadline] * jobs)
    return summarise(tallies, seed, time.monotonic() - start)


def numbers(worker: int, jobs: int, count: int | None) -> Iterable[int]:
    """The numbers of one worker: all of them without end, or those below the given count."""
    return itertools.count(worker, jobs) if count is None else range(worker, count, jobs)


def summarise(tallies: list[Tally], seed: int, seconds: float) -> int:
    """Print counts and findings; returns the exit status."""
    documents = sum(tally.documents for tally in tallies)
    characters = sum(tally.characters for tally in tallies)
    calls = sum(tally.calls for tally in tallies)
    print(f"seed {seed}: {documents} documents of {characters} characters, {calls} calls, {seconds:.0f} s")
    events = sum((tally.events for tally in tallies), Counter[str]())
    print("events: " + ", ".join(f"{count} {kind}" for kind, count in events.most_common()))
    engines = sum((tally.engines for tally in tallies), Counter[str]())
    print("grammars: " + ", ".join(f"{count} {kind}" for kind, count in sorted(engines.items())))
    if llama_judge.available():
        print("without llama.cpp (pip install llama-cpp-python gguf, which compiles for minutes)")
    findings = [tally.finding for tally in tallies if tally.finding]
    for finding in findings:
        report(finding, seed)
    print("nothing found" if not findings else f"{len(findings)} found")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
