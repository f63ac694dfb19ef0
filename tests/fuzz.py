"""Random documents against all laws at once, on all cores: `make fuzz ARGS="--seconds 60"`.

    python tests/fuzz.py [--seconds N | --documents N] [--seed S] [--jobs N]

Document i of seed S is always the same. The first that breaks a law is made as small as it goes, and printed.
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

from strategies import Case, case, clean_case
from test_laws import LAWS, law_clean, merge, run

Law = Callable[[Case], None]


@dataclass
class Finding:
    """A case that breaks a law."""

    number: int
    law: str
    case: Case


@dataclass
class Tally:
    """What one worker did."""

    documents: int = 0
    characters: int = 0
    events: Counter[str] = field(default_factory=Counter)
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
    case = finding.case
    laws = {law.__name__: law for law in (law_clean, *LAWS)}
    print(f"\nFOUND: {finding.law} is broken by document {finding.number} of seed {seed}; at its smallest:")
    print(f"  Case([{case.text!r}], {case.tool_set!r}, {case.options!r})")
    try:
        laws[finding.law](case)
    except Exception:
        print(traceback.format_exc(limit=-4))


def main() -> int:
    """Run the workers, print what they did, and what they found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to try (default: 30)")
    parser.add_argument("--documents", type=int, help="how many documents to try, however long it takes")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="default: one a core")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    start = time.monotonic()
    deadline = start + options.seconds if options.documents is None else float("inf")
    with ProcessPoolExecutor(options.jobs) as pool:
        # Worker k takes every jobs-th document from k on, so that they never meet.
        shares = [numbers(worker, options.jobs, options.documents) for worker in range(options.jobs)]
        tallies = list(pool.map(work, [seed] * options.jobs, shares, [deadline] * options.jobs))
    return summarise(tallies, seed, time.monotonic() - start)


def numbers(worker: int, jobs: int, documents: int | None) -> Iterable[int]:
    """The documents of one worker: all of them without end, or those below `documents`."""
    return itertools.count(worker, jobs) if documents is None else range(worker, documents, jobs)


def summarise(tallies: list[Tally], seed: int, seconds: float) -> int:
    """Print counts and findings; returns the exit status."""
    documents = sum(tally.documents for tally in tallies)
    characters = sum(tally.characters for tally in tallies)
    rate = documents / seconds
    print(f"seed {seed}: {documents} documents, {characters} characters, {rate:.0f} documents/s")
    events = sum((tally.events for tally in tallies), Counter[str]())
    print("events: " + ", ".join(f"{count} {kind}" for kind, count in events.most_common()))
    findings = [tally.finding for tally in tallies if tally.finding]
    for finding in findings:
        report(finding, seed)
    print("nothing found" if not findings else f"{len(findings)} found")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
