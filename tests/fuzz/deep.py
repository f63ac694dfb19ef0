"""The deep mode: long documents against all laws in all cuts, calls written and read back, walks through grammars, and
schemas with their values and texts.

Document i, call i, toolset i and schema i of a seed are always the same. A worker stops at its first finding.
"""

from __future__ import annotations

import itertools
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random

from parser.test_laws import LAWS, law_clean, merge, run
from support.calls import Meant, law_call, law_untyped, meant, untyped
from support.grammar_laws import WALKS, Trial, Written
from support.schema_laws import SchemaTrial, laws_for
from support.schema_laws import first_broken as first_broken_of_schema
from support.schema_laws import trial as schema_trial
from support.strategies import Case, case, clean_case

from fuzz.shrink import Law, first_broken, shrink

__all__ = ["WALKS", "Finding", "Tally", "report", "try_all"]


@dataclass
class Finding:
    """A case that breaks a law: a document, a call, what an engine wrote or refused, or a schema."""

    number: int
    law: str
    case: Case | Meant | Written | SchemaTrial


@dataclass
class Tally:
    """What one worker did."""

    documents: int = 0
    calls: int = 0
    toolsets: int = 0
    schemas: int = 0
    characters: int = 0
    events: Counter[str] = field(default_factory=Counter)
    engines: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another worker did."""
        self.documents += other.documents
        self.calls += other.calls
        self.toolsets += other.toolsets
        self.schemas += other.schemas
        self.characters += other.characters
        self.events.update(other.events)
        self.engines.update(other.engines)
        self.findings += other.findings


_ALL_LAWS: tuple[Callable[..., None], ...] = (law_clean, *LAWS, law_call, law_untyped)
Worker = Callable[[int, Iterable[int], float], Tally]


def _make(seed: int, number: int) -> tuple[Case, tuple[Law, ...]]:
    """Document `number` of `seed` and the laws for it: every tenth is a clean block and nothing else."""
    rng = Random(f"{seed}/{number}")
    if number % 10 == 0:
        return clean_case(rng), (law_clean, *LAWS)
    return case(rng), LAWS


def _work_on_documents(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Try documents until they or the time run out, or one breaks a law."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            break
        case, laws = _make(seed, number)
        tally.documents += 1
        tally.characters += len(case.text)
        law = first_broken(laws, case)
        if law:
            # A part of a clean block need not be clean.
            tally.findings.append(Finding(number, law.__name__, case if law is law_clean else shrink(law, case)))
            break
        tally.events.update(str(kind) for kind, *_ in merge(run(case, [case.text])[0]))
    return tally


def _work_on_calls(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
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
            tally.findings.append(Finding(number, law.__name__, call))
            break
    return tally


def _work_on_grammars(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Let every engine write and judge with grammars of toolsets, until they or the time run out, or a law breaks."""
    tally = Tally()
    for number in numbers:
        if time.monotonic() > deadline:
            break
        trial = Trial(seed, number)
        written = trial.run()
        tally.toolsets += 1
        tally.engines.update(trial.counts)
        if written:
            tally.findings.append(Finding(number, "grammar", written.smaller()))
            break
    return tally


SECONDS = 20
"""CPU time that one schema may take with all its laws; a thousandth of that is usual."""


def _work_on_schemas(seed: int, numbers: Iterable[int], deadline: float) -> Tally:
    """Try schemas with values and texts, until they or the time run out, or one breaks a law or takes too long."""
    tally = Tally()
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    for number in numbers:
        if time.monotonic() > deadline:
            break
        tried = schema_trial(seed, number)
        tally.schemas += 1
        # Again and again: an exception that is raised while garbage is collected is only printed.
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)
        broken = first_broken_of_schema(tried, laws_for(number))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        tally.events.update(tried.counts)
        tally.events["refused"] += tried.tool is None
        if broken:
            tally.findings.append(Finding(number, broken[0], tried))
            break
    signal.signal(signal.SIGVTALRM, before)
    return tally


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} seconds")


_WORKERS: dict[str, Worker] = {
    "schemas": _work_on_schemas,
    "documents": _work_on_documents,
    "calls": _work_on_calls,
    "grammars": _work_on_grammars,
}


def try_all(pool: ProcessPoolExecutor, kind: str, seed: int, jobs: int, count: int | None, deadline: float) -> Tally:
    """Try so many of a kind (documents, calls, schemas, or toolsets for grammars), or as many as there is time for."""
    # Worker k takes every jobs-th number from k on, so that they never meet.
    shares = [itertools.count(each, jobs) if count is None else range(each, count, jobs) for each in range(jobs)]
    total = Tally()
    for tally in pool.map(_WORKERS[kind], [seed] * jobs, shares, [deadline] * jobs):
        total.add(tally)
    return total


def report(finding: Finding, seed: int) -> str:
    """Return what is needed to see the finding again."""
    found = finding.case
    if isinstance(found, SchemaTrial):
        _, how = first_broken_of_schema(found) or ("", "it took too long, or is mended")
        return f"{finding.law} is broken by schema {finding.number} of seed {seed}:\n  {found}\n  {how[:1_000]}"
    if isinstance(found, Written):
        return f"a law of grammars is broken by toolset {finding.number} of seed {seed}:\n{found}"
    laws: dict[str, Callable[..., None]] = {law.__name__: law for law in _ALL_LAWS}
    kind = "document" if isinstance(found, Case) else "call"
    lines = [f"{finding.law} is broken by {kind} {finding.number} of seed {seed}:"]
    if isinstance(found, Case):
        lines.append(f"  at its smallest: Case([{found.text!r}], {found.tool_set!r}, {found.options!r})")
    else:
        lines.append(f"  {found.call!r}\n  {found.tool!r}")
    try:
        laws[finding.law](found)
    except Exception:
        lines.append(traceback.format_exc(limit=-4))
    return "\n".join(lines)
