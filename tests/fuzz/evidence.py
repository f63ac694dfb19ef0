"""The record of what was tried: `evidence.json`, one entry a run, and `EVIDENCE.md`, which is made of it.

A finding is kept with what is needed to try it again, so the page tells whether it still stands, and the tests hold
that it does not. The token fuzzer begins after the documents in the record, so that runs add up.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from support.dialect_grammar_laws import DIALECTS, FORMATS, OTHERS
from support.dialect_texts import KINDS
from support.nearly_clean import law_plain_reply
from support.schema_laws import LAWS as SCHEMA_LAWS
from support.schema_laws import SchemaTrial
from support.schema_laws import first_broken as first_broken_of_schema
from support.strategies import Case
from support.written import WRITTEN

import xmltools
from fuzz import deep
from fuzz.quick import QUICK_LAWS, Finding, law_any_cut, law_one_cut
from fuzz.shrink import first_broken
from fuzz.streams import SIDES
from fuzz.targets import TARGETS, broken
from xmltools.parser import Limits

__all__ = [
    "RECORD",
    "add",
    "bytes_found",
    "case_found",
    "circumstances",
    "deep_found",
    "entries",
    "next_document",
    "stands",
    "write_page",
]

RECORD = Path(__file__).with_name("evidence.json")
_ROOT = Path(__file__).resolve().parents[2]
_LAWS = {law.__name__: law for law in (law_one_cut, law_any_cut, law_plain_reply, *QUICK_LAWS)}

Entry = dict[str, Any]


def entries() -> list[Entry]:
    """Return the recorded runs."""
    found: list[Entry] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else []
    return found


def add(runs: Iterable[Entry]) -> None:
    """Record runs, each with its target, count, seconds and findings, and the circumstances."""
    lines = ",\n".join(json.dumps(each) for each in [*entries(), *runs])
    fresh = RECORD.with_suffix(".new")
    fresh.write_text(f"[\n{lines}\n]\n", "utf-8")
    fresh.replace(RECORD)


def circumstances() -> Entry:
    """Return the date, and the versions of what is tried and by what: those that are there now."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": xmltools.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "atheris": _version_of("atheris"),
    }


def _commit() -> str:
    """The commit of the checkout, with a + if the package differs from it; nothing outside of git."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    return commit + "+" * bool(commit and _git("status", "--porcelain", "--", "xmltools"))


def _git(*words: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(_ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def next_document() -> int:
    """Return the number of the first document after those that the token fuzzer has recorded."""
    return max((each["end"] for each in entries() if each["target"] == "tokens"), default=0)


# Findings


def case_found(finding: Finding) -> Entry:
    """Return a document that breaks a law as it is kept."""
    options = {name: asdict(each) if name == "limits" else each for name, each in finding.case.options.items()}
    case = {"text": finding.case.text, "tool_set": finding.case.tool_set, "options": options}
    return {"number": finding.number, "law": finding.law, **case}


def deep_found(finding: deep.Finding, report: str) -> Entry:
    """Return a finding of the deep mode as it is kept: a schema can be tried again, of others there is the report."""
    found = finding.case
    if isinstance(found, SchemaTrial):
        kept = {"kind": found.kind, "schema": found.schema, "values": found.values, "seed": found.seed}
        return {"number": finding.number, "law": finding.law, **kept}
    return {"law": finding.law, "report": report}


def bytes_found(target: str, data: bytes) -> Entry:
    """Return bytes that break the law of a target as they are kept."""
    return {"law": target, "hex": data.hex()}


def stands(finding: Entry) -> bool:
    """Whether a finding that is kept can be found still. Where only a report is kept, `"mended": true` says no."""
    if "schema" in finding:
        tried = SchemaTrial(finding["kind"], finding["schema"], finding["values"], finding["seed"])
        laws = [law for law in SCHEMA_LAWS if law.__name__ == finding["law"]]
        return first_broken_of_schema(tried, laws) is not None
    if "hex" in finding:
        return bool(broken(finding["law"], bytes.fromhex(finding["hex"])))
    if "text" in finding and finding["law"] in _LAWS:
        return first_broken((_LAWS[finding["law"]],), _case(finding)) is not None
    return not finding.get("mended", False)


def _case(finding: Entry) -> Case:
    options = dict(finding["options"])
    if "limits" in options:
        options["limits"] = Limits(**options["limits"])
    return Case([finding["text"]], finding["tool_set"], options)


# The page

_ENGINES = {"lark": "llguidance", "gbnf": "xgrammar", "structural_tag": "xgrammar"}
_ABOUT = {
    "tokens": "token fuzzer: short documents, whole against one cut; a share of them by each other law",
    "plain": "whole replies, most of them plain, in all dialects: `parse` says what a parser says",
    "documents": "long documents by all laws, in all cuts",
    **{
        f"dialect {kind}": "replies in the dialect: whole against one cut; a share of them by each other law"
        if kind != "also"
        else "the same, with calls in all dialects"
        for kind in KINDS
    },
    "calls": "calls written and read back",
    **{f"written {name}": "calls written in the dialect and read back, or refused" for name in WRITTEN},
    **{
        f"walks {name} {format}": f"replies that {_ENGINES[format]} writes with such a grammar: text and valid calls"
        for name in (*DIALECTS, *OTHERS)
        for format in FORMATS
    },
    "broken": "replies with one broken thing: no call carries markup that is not its own, none runs that is only "
    "shown, and whole ones are read",
    "said": "calls with markup in their values are written, and read back exactly, between prose",
    "schemas": "schemas that hold themselves, double at each step, have any keywords and hostile patterns: values are "
    "judged as by jsonschema and read in all spellings, texts in all cuts, the work has a bound for each character",
    "grammars": "toolsets, with which every engine writes and judges replies",
    "faults": "streams through the proxy with random faults of client and upstream: each ends as its protocol says, "
    "with no words of another, and when all have ended nothing is left",
    **{f"atheris {name}": f"atheris: {(law.__doc__ or '').partition('.')[0]}" for name, law in TARGETS.items()},
}


def write_page() -> Path:
    """Write EVIDENCE.md from the record; returns its path."""
    path = _ROOT / "EVIDENCE.md"
    path.write_text(page(entries()), "utf-8")
    return path


def page(kept: Sequence[Entry]) -> str:
    """Return the page for these runs."""
    rows = [_row(name, [each for each in kept if each["target"] == name]) for name in _ABOUT]
    runs = [_line(each) for each in kept]
    found = [_finding(each["target"], finding) for each in kept for finding in each["findings"]]
    return _PAGE.format(
        total=_total(kept),
        rows="\n".join(filter(None, rows)) or "| nothing yet | | | | |",
        faults=_faults([each for each in kept if each["target"] == "faults"]),
        found="\n".join(found) or "None.",
        runs="\n".join(runs),
    )


def _total(kept: Sequence[Entry]) -> str:
    documents = _documents([each for each in kept if each["target"] == "tokens"])
    runs = sum(each["count"] for each in kept if each["target"].startswith("atheris"))
    standing = sum(stands(finding) for each in kept for finding in each["findings"])
    state = f"{standing} findings are not fixed" if standing else "no finding is left that is not fixed"
    return f"{documents:,} documents of the token fuzzer and {runs:,} runs of atheris; {state}."


def _row(name: str, runs: list[Entry]) -> str:
    if not runs:
        return ""
    count = _documents(runs) if name == "tokens" else sum(each["count"] for each in runs)
    findings = [finding for each in runs for finding in each["findings"]]
    standing = sum(map(stands, findings))
    state = f"{len(findings)}, {standing} of them not fixed" if standing else f"{len(findings)}, all fixed"
    seconds = sum(each["seconds"] for each in runs)
    return f"| `{name}` | {_ABOUT[name]} | {count:,} | {seconds:,.0f} | {state if findings else 'none'} |"


def _documents(runs: list[Entry]) -> int:
    """How many different documents the token fuzzer has read: a range that was tried twice counts once."""
    count = reached = 0
    for first, end in sorted((each["first"], each["end"]) for each in runs):
        count += max(0, end - max(first, reached))
        reached = max(reached, end)
    return count


def _line(run: Entry) -> str:
    seeds = f"{run['first']:,} to {run['end'] - 1:,}" if run["target"] == "tokens" else str(run["seed"])
    made = f"{run['version']} | {run['commit'] or '?'} | {run['python']}"
    made += f", atheris {run['atheris']}" if run["target"].startswith("atheris") else ""
    head = f"| {run['date']} | `{run['target']}` | {run['count']:,} | {seeds} | {run['seconds']:,.0f}"
    return f"{head} | {made} | {len(run['findings'])} |"


def _faults(runs: list[Entry]) -> str:
    """The section on streams with faults, if there were any."""
    if not runs:
        return ""
    tables = (_fault_table(side, runs) for side in SIDES)
    return _FAULTS.format(tables="\n\n".join(tables), sizes="\n".join(line for run in runs for line in _sizes(run)))


def _fault_table(side: str, runs: list[Entry]) -> str:
    """How the streams ended, for each fault of a side."""
    total: Counter[tuple[str, str]] = Counter()
    for run in runs:
        total.update({(fault, end): count for fault, ends in run[side].items() for end, count in ends.items()})
    faults, ends = ({key[place]: None for key in total} for place in (0, 1))
    rows = [[f"{side}: {fault}", *(f"{total[fault, end]:,}" for end in ends)] for fault in sorted(faults)]
    head = [f"| fault | {' | '.join(ends)} |", "|---|" + "--:|" * len(ends)]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _sizes(run: Entry) -> list[str]:
    """What each process of a run held: before, half way, after."""
    lines = []
    for sizes in run["sizes"]:
        files, tasks, memory = (" / ".join(f"{size:,}" for size in column) for column in zip(*sizes, strict=True))
        lines.append(f"| {run['seed']} | {files} | {tasks} | {memory} | {run['slowest']} |")
    return lines


def _finding(target: str, finding: Entry) -> str:
    shown = ascii(finding["text"]) if "text" in finding else None
    shown = shown or str(finding.get("hex") or finding.get("report") or finding.get("schema"))
    state = "not fixed" if stands(finding) else "fixed"
    return f"- `{target}`, {finding['law']}, {state}: `` {shown[:300]} ``"


_FAULTS = """## Streams with faults

What clients and upstreams did wrong, and how the streams ended. "left": the client had gone. "closed": so was the
connection, since the client's request was none, or since an answer broke off that goes through as it comes; "passed on"
are those of them that did not.

{tables}

What each process held when nothing was open, before the first stream / half way / behind the last.

| seed | open files | tasks | KiB | slowest stream, seconds |
|--:|--:|--:|--:|--:|
{sizes}

"""

_PAGE = """# Evidence

What was tried, and what it found. `make fuzz` tries more; this page is made by `python tests/fuzz --evidence` from
`tests/fuzz/evidence.json`, to which `--record` adds a run. The laws are functions that assert, in
`tests/parser/test_laws.py`, `tests/support/calls.py`, `tests/support/grammar_laws.py` and `tests/fuzz/`.

{total}

| target | what is tried | tried | seconds | findings |
|---|---|--:|--:|---|
{rows}

Document i of the token fuzzer is the same in every run, and runs go on after the recorded documents: different
documents are counted. Runs of atheris start from the corpus.

{faults}## Findings

Each is kept in `evidence.json`, tried again whenever this page is made, and by `tests/fuzz/test_fuzz.py`.

{found}

## Runs

| date | target | tried | seed, or documents | seconds | xmltools | commit | python | findings |
|---|---|--:|---|--:|---|---|---|--:|
{runs}
"""
