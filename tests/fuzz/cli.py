"""Random documents against all laws, calls written and read back, schemas, walks through grammars, faults, atheris.

    python tests/fuzz [--seconds N | --tokens N --plain N --documents N --dialects N --calls N --written N
                      --walks N --schemas N --grammars N --faults N --atheris TARGET --runs N
                      --broken N [--without BREAK] --said N]
                      [--first N] [--dialect NAME] [--seed S] [--jobs N] [--record]
    python tests/fuzz --against OTHER [--number N] [--first N] [--dialect NAME] [--seed S] [--jobs N]
    python tests/fuzz --evidence

As `make fuzz ARGS="--seconds 60"`, on all cores. The time is shared equally; with counts only what has one is tried.
`--plain N` is N whole replies, which `parse` and a parser must read alike;
`--dialects N` is N replies in each dialect but Forge's, and N with calls in all of them (`also`). `--dialect NAME`
leaves all others of these out, and may be given several times: `--dialects 30000 --dialect glm --dialect also`;
`--written N` is N calls that are written in each dialect and read back, and `--walks N` N replies that engines write
with each kind of grammar of each dialect, both of which are tried only with a count;
`--broken N` is N replies in each dialect with one broken thing, and `--said N` N replies with calls that are as they
should be, with markup in their values, both of which are tried only with a count; of those the first is `--first`,
and `--without fence` leaves out a kind of broken thing;
`--schemas N` is N schemas, each with values and texts; `--grammars N` is N walks with each engine, and as many calls
that each must accept; `--faults N` is N streams through
the proxy with faults on both sides, which are tried only with a count. The first document or reply that
breaks a law is made as small as it goes; what is found is printed. `--against OTHER` compares with another version:
the Python of its environment, or a folder with its code. Both read N replies of all dialects and options in the same
chunks, and must say the same; ours must give no text later. `--record` records the run and writes
EVIDENCE.md anew. Exit status: 0 nothing found, 1 something found, 2 it cannot be run.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from support.dialect_grammar_laws import DIALECTS, FORMATS, OTHERS
from support.dialect_texts import KINDS
from support.engines import llama_judge
from support.written import WRITTEN

from fuzz import against, deep, evidence, guided, judged, streams, walked, worded, written
from fuzz.breaks import BREAKS
from fuzz.quick import Finding, Quick, work_on_dialects, work_on_plain, work_on_tokens
from fuzz.shrink import smallest
from fuzz.targets import broken

__all__ = ["main", "try_tokens"]

_BLOCK = 2_000
"""Documents that one worker is given at a time: about a second."""
_DEEP = ("documents", "calls", "schemas", "grammars")


class Total(Protocol):
    """What came of some blocks."""

    def add(self, other: Any, /) -> None:
        """Take in what came of another block."""


AnyTotal = TypeVar("AnyTotal", bound=Total)


@dataclass
class Session:
    """One run of the command: what it may use, and what came of it."""

    options: argparse.Namespace
    pool: ProcessPoolExecutor
    circumstances: dict[str, Any] = field(default_factory=evidence.circumstances)
    entries: list[dict[str, Any]] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    def add(self, target: str, count: int, seconds: float, findings: list[dict[str, Any]], **rest: Any) -> None:
        """Take what came of one target."""
        entry = {"target": target, "count": count, "seconds": round(seconds, 1), "findings": findings, **rest}
        self.entries.append({**entry, **self.circumstances})
        print(f"{target}: {count:,} in {seconds:.0f} s, {len(findings) or 'nothing'} found", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    options = _asked(arguments)
    if options.evidence:
        print(f"written: {evidence.write_page()}")
        return 0
    if options.atheris and not guided.available():
        print(guided.INSTALL)
        return 2
    if options.against:
        return _against(options)
    with ProcessPoolExecutor(options.jobs) as pool:
        session = Session(options, pool)
        for part, share in _plan(options):
            _PARTS[part](session, part, share)
    return _conclude(session)


def _asked(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line asks for. `--runs` alone is for all targets; beside other counts `--atheris` needs one."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.runs is not None and options.atheris is None:
        options.atheris = "all"
    if options.atheris and options.runs is None and _counted(options):
        parser.error("--atheris beside a count needs --runs")
    if options.against:
        return options
    parts = dict(_plan(options)).keys()
    if "forge" in (options.dialect or ()) and not {"broken", "said"} & parts:
        parser.error("--dialect forge needs --against, --broken or --said")
    if options.dialect and not {"dialects", "written", "walks", "broken", "said"} & parts:
        needed = "--dialects, --written, --walks, --broken or --said"
        parser.error(f"--dialect beside another count or --atheris needs {needed}")
    return options


def _counted(options: argparse.Namespace) -> list[str]:
    parts = ("tokens", "plain", "dialects", *_DEEP, "written", "walks", "broken", "said", "faults")
    return [part for part in parts if getattr(options, part) is not None]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--seconds", type=float, default=30.0, help="how long to try (default: 30)")
    add("--tokens", type=int, help="how many short documents to try, however long it takes")
    add("--first", type=int, help="number of the first of them, or of replies (default: after the record; 0)")
    add("--plain", type=int, help="how many whole replies to read in two ways, however long it takes")
    add("--documents", type=int, help="how many long documents to try by all laws, however long it takes")
    add("--dialects", type=int, help="how many replies in each dialect to try by all laws, however long it takes")
    names = ("forge", *KINDS)
    listed = ", ".join(names)
    add("--dialect", action="append", choices=names, metavar="NAME", help=f"only these (default: all): {listed}")
    add("--calls", type=int, help="how many calls to write and read back, however long it takes")
    add("--written", type=int, help="how many calls to write and read back in each dialect, however long it takes")
    add("--walks", type=int, help="how many replies engines write with each grammar of each dialect")
    add("--broken", type=int, help="how many replies with one broken thing to try in each dialect")
    kinds = f"not these: {', '.join(BREAKS)}"
    add("--without", action="append", default=[], choices=BREAKS, metavar="BREAK", help=kinds)
    add("--said", type=int, help="how many replies with valid calls to try in each dialect, with markup in values")
    add("--schemas", type=int, help="how many schemas to try, with values and texts, however long it takes")
    add("--grammars", type=int, help="how many replies each engine writes, however long it takes")
    add("--faults", type=int, help="how many streams with faults the proxy is tried with, however long it takes")
    add("--atheris", choices=[*guided.NAMES, "all"], metavar="TARGET", help=f"{', '.join(guided.NAMES)} or all")
    add("--runs", type=int, help="how often atheris runs each target, however long it takes")
    add("--against", metavar="OTHER", help="compare with another version: its Python, or a folder with its code")
    add("--number", type=int, default=10_000, help="how many replies to compare (default: 10000)")
    add("--seed", type=int, default=int(time.time()), help="default: another one each time")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="default: one a core")
    add("--record", action="store_true", help="record the run, and write EVIDENCE.md again")
    add("--evidence", action="store_true", help="only write EVIDENCE.md, from the record")
    return parser


def _plan(options: argparse.Namespace) -> list[tuple[str, float | None]]:
    """The parts that are asked for, each with its seconds; None where it has a count."""
    counted = _counted(options)
    if options.atheris and options.runs is not None:
        counted.append("atheris")
    if counted:
        return [(part, None) for part in counted]
    if options.atheris:
        return [("atheris", options.seconds)]
    parts = ["tokens", "plain", "dialects", *_DEEP, *["atheris"] * guided.available()]
    return [(part, options.seconds / len(parts)) for part in parts]


# The parts


def _tokens(session: Session, part: str, seconds: float | None) -> None:
    options, start = session.options, time.monotonic()
    first = evidence.next_document() if options.first is None else options.first
    done = try_tokens(session.pool, options.jobs, first, options.tokens, seconds)
    found = [evidence.case_found(finding) for finding in done.findings]
    session.add(part, done.documents, time.monotonic() - start, found, first=first, end=first + done.documents)
    print(f"  from document {first}: {done.characters} characters, {done.calls} calls, {done.repaired} with repairs")
    print(f"  {_counts(done.laws)}")
    session.reports += map(_reported, done.findings)


def _reported(finding: Finding) -> str:
    case = f"Case([{finding.case.text!r}], {finding.case.tool_set!r}, {finding.case.options!r})"
    return f"{finding.law} is broken by document {finding.number}, at its smallest:\n  {case}"


def _plain(session: Session, part: str, seconds: float | None) -> None:
    options, start = session.options, time.monotonic()
    work = partial(work_on_plain, options.seed)
    done = _try_blocks(session.pool, options.jobs, work, Quick(), 0, options.plain, seconds)
    found = [evidence.case_found(finding) for finding in done.findings]
    session.add(part, done.documents, time.monotonic() - start, found, seed=options.seed)
    session.reports += map(_reported, done.findings)


def _dialects(session: Session, part: str, seconds: float | None) -> None:
    options = session.options
    kinds = [kind for kind in KINDS if kind in (options.dialect or KINDS)]
    share = None if seconds is None else seconds / len(kinds)
    for kind in kinds:
        start = time.monotonic()
        work = partial(work_on_dialects, kind, options.seed)
        done = _try_blocks(session.pool, options.jobs, work, Quick(), 0, options.dialects, share)
        found = [evidence.case_found(finding) for finding in done.findings]
        session.add(f"dialect {kind}", done.documents, time.monotonic() - start, found, seed=options.seed)
        print(f"  {done.characters} characters, {done.calls} calls, {done.repaired} with repairs")
        session.reports += map(_reported, done.findings)


def _written(session: Session, part: str, seconds: float | None) -> None:
    options = session.options
    for dialect in (each for each in WRITTEN if each in (options.dialect or WRITTEN)):
        start = time.monotonic()
        done = written.try_calls(session.pool, dialect, options.seed, options.written)
        found = [{"law": part, "report": report} for report in done.found]
        session.add(f"written {dialect}", done.calls, time.monotonic() - start, found, seed=options.seed)
        print(f"  {done.written:,} written, {done.calls - done.written:,} refused")
        session.reports += done.found


def _walks(session: Session, part: str, seconds: float | None) -> None:
    options = session.options
    for dialect in (each for each in (*DIALECTS, *OTHERS) if each in (options.dialect or DIALECTS)):
        for format in FORMATS:
            start = time.monotonic()
            done = walked.try_walks(session.pool, dialect, format, options.seed, options.walks)
            found = [{"law": part, "report": report} for report in done.found]
            walks = done.counts["walks"]
            session.add(f"walks {dialect} {format}", walks, time.monotonic() - start, found, seed=options.seed)
            print(f"  {_counts(done.counts)}")
            session.reports += done.found


def _broken(session: Session, part: str, seconds: float | None) -> None:
    options = session.options
    kinds = tuple(kind for kind in BREAKS if kind not in options.without)
    work = judged.work_on_said if part == "said" else partial(judged.work, kinds=kinds)
    first, count, start = options.first or 0, getattr(options, part), time.monotonic()
    total, reports = 0, list[str]()
    for dialect in (each for each in worded.NAMES if each in (options.dialect or worded.NAMES)):
        of_dialect = partial(work, dialect, options.seed)
        done = _try_blocks(session.pool, options.jobs, of_dialect, judged.Tally(), first, count, None)
        total += done.replies
        reports += done.reports(options.seed)
        found = Counter({f"{law} ({how})" if how else law: number for (law, how), number in done.kinds.items()})
        print(f"{part} {dialect}: {done.replies:,} replies, {_counts(found) or 'nothing found'}", flush=True)
    session.reports += reports
    kept = [{"law": part, "report": each} for each in reports]
    session.add(part, total, time.monotonic() - start, kept, seed=options.seed)


def _against(options: argparse.Namespace) -> int:
    """Compare with another version; returns the exit status."""
    start, first = time.monotonic(), options.first or 0
    work = partial(against.work, options.against, options.seed, options.dialect)
    with closing(against.Pair(options.against)) as pair, ProcessPoolExecutor(options.jobs) as pool:
        print(f"ours:  {pair.names[0]}\nother: {pair.names[1]}", flush=True)
        done = _try_blocks(pool, options.jobs, work, against.Tally(), first, options.number, None)
        seconds = time.monotonic() - start
        print(f"{done.replies:,} replies in {seconds:.0f} s, {done.kinds.total():,} differ", flush=True)
        for report in done.reports(pair, options.seed):
            print(report, flush=True)
    print(f"seed {options.seed}: {'differences found' if done.kinds else 'nothing found'}")
    return 1 if done.kinds else 0


def try_tokens(
    pool: ProcessPoolExecutor, jobs: int, first: int, count: int | None, seconds: float | None = None
) -> Quick:
    """Try so many documents, or as many as there is time for, from `first` on and without a gap."""
    return _try_blocks(pool, jobs, work_on_tokens, Quick(), first, count, seconds)


def _try_blocks(
    pool: ProcessPoolExecutor,
    jobs: int,
    work: Callable[[int, int], AnyTotal],
    total: AnyTotal,
    first: int,
    count: int | None,
    seconds: float | None,
) -> AnyTotal:
    pending = deque[Future[AnyTotal]]()
    for start, size in _blocks(first, count, time.monotonic() + (seconds or 0)):
        pending.append(pool.submit(work, start, size))
        if len(pending) > 2 * jobs:
            total.add(pending.popleft().result())
    for each in pending:
        total.add(each.result())
    return total


def _blocks(first: int, count: int | None, deadline: float) -> Iterator[tuple[int, int]]:
    """Where the blocks begin and how large they are."""
    at = first
    while at < first + count if count is not None else time.monotonic() < deadline:
        size = _BLOCK if count is None else min(_BLOCK, first + count - at)
        yield at, size
        at += size


def _deep(session: Session, part: str, seconds: float | None) -> None:
    options, start = session.options, time.monotonic()
    count = getattr(options, part)
    if part == "grammars" and count is not None:
        count = -(-count // deep.WALKS)
    deadline = float("inf") if seconds is None else start + seconds
    done = deep.try_all(session.pool, part, options.seed, options.jobs, count, deadline)
    reports = [deep.report(finding, options.seed) for finding in done.findings]
    session.reports += reports
    found = [evidence.deep_found(finding, report) for finding, report in zip(done.findings, reports, strict=True)]
    counts = {"documents": done.documents, "calls": done.calls, "schemas": done.schemas, "grammars": done.toolsets}
    tried = counts[part]
    session.add(part, tried, time.monotonic() - start, found, seed=options.seed)
    if done.events or done.engines:
        print(f"  {_counts(done.events + done.engines)}")
    if part == "grammars" and llama_judge.available():
        print("  without llama.cpp (pip install llama-cpp-python gguf, which compiles for minutes)")


def _faults(session: Session, part: str, seconds: float | None) -> None:
    options, start = session.options, time.monotonic()
    done = streams.try_streams(session.pool, options.seed, options.jobs, options.faults)
    reports = streams.findings(done)
    session.reports += reports
    found = [{"law": part, "report": report} for report in reports]
    figures = streams.figures(done)
    count = sum(tally.streams for tally in done)
    session.add(part, count, time.monotonic() - start, found, seed=options.seed, **figures)
    for side in streams.SIDES:
        print(f"  {side}: {_counts(Counter({fault: sum(ends.values()) for fault, ends in figures[side].items()}))}")
    for sizes in figures["sizes"]:
        print(f"  files, tasks and KiB before, half way, after: {sizes}")


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counted.most_common())


def _atheris(session: Session, part: str, seconds: float | None) -> None:
    """Each target in processes of their own, as many at a time as there are jobs."""
    options = session.options
    names = guided.NAMES if options.atheris in (None, "all") else (options.atheris,)
    each = None if seconds is None else seconds * min(options.jobs, len(names)) / len(names)
    runs = options.runs if seconds is None else None
    with ThreadPoolExecutor(options.jobs) as threads:
        for done in threads.map(lambda name: guided.run(name, options.seed, runs, each), names):
            found = [] if done.found is None else [_shrunk(session, done, done.found)]
            session.add(f"atheris {done.target}", done.runs, done.seconds, found, seed=options.seed, edges=done.edges)


def _shrunk(session: Session, done: guided.Guided, data: bytes) -> dict[str, Any]:
    """What atheris has found, with fewer bytes if it is found without atheris too."""
    if not broken(done.target, data):
        session.reports.append(f"{done.target} ended at {data.hex()}:\n{done.said}")
        return {"law": done.target, "report": done.said[-300:]}
    small = bytes(smallest(list(data), lambda fewer: bool(broken(done.target, bytes(fewer)))))
    session.reports.append(f"{done.target} is broken by {small!r}: {broken(done.target, small)}")
    return evidence.bytes_found(done.target, small)


_PARTS = {
    "tokens": _tokens,
    "plain": _plain,
    "dialects": _dialects,
    "faults": _faults,
    "written": _written,
    "walks": _walks,
    "broken": _broken,
    "said": _broken,
    "atheris": _atheris,
    **dict.fromkeys(_DEEP, _deep),
}


def _conclude(session: Session) -> int:
    """Print what was found, record the run if that is asked for; returns the exit status."""
    if not guided.available():
        print(guided.INSTALL)
    for report in session.reports:
        print(f"\nFOUND: {report}")
    if session.options.record:
        evidence.add(session.entries)
        print(f"written: {evidence.write_page()}")
    print(f"seed {session.options.seed}: {f'{len(session.reports)} found' if session.reports else 'nothing found'}")
    return 1 if session.reports else 0
