"""Findings as text: for people, for programs (JSON, SARIF) and for GitHub's annotations.

Messages and excerpts hold what a model wrote. In JSON and SARIF all of it is escaped; in the other formats each
finding keeps to its lines, and characters that steer a terminal are replaced by others that can be seen.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from xmltools.errors import XMLToolsError
from xmltools.lint.check import Finding
from xmltools.lint.explanations import CODES, explain, headline
from xmltools.terminal import VISIBLE

_SARIF = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# Characters that take two columns in a terminal: East Asian scripts and pictures.
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6"
    "\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)
# What is written must not steer the terminal it is read on, nor turn the text around. A tab is one column of the text,
# and must be one on the screen for the mark to stand below its place.
_SHOWN = VISIBLE | {ord("\n"): 0x240A, ord("\t"): ord(" ")}
_GITHUB = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_GITHUB_PROPERTY = {**_GITHUB, ord(":"): "%3A", ord(","): "%2C"}


def write_report(findings: Sequence[Finding], format: str = "text", *, version: str = "") -> Iterator[str]:
    """Write findings, and yield the lines of the report without their line ends.

    Takes the findings and a format: `text` (for each finding its place, severity, code and message, the line with a
    mark under the place, and the hint), `json` (a list of objects), `sarif` (SARIF 2.1.0) or `github` (workflow
    commands that annotate files). `version` is that of this program, for SARIF. Raises `XMLToolsError` for another
    format.
    """
    if format == "sarif":
        return _sarif(findings, version)
    if format not in _WRITERS:
        raise XMLToolsError(f"format: expected {', '.join(FORMATS)}, got {format!r:.40}")
    return _WRITERS[format](findings)


def write_statistics(findings: Iterable[Finding], format: str = "text") -> Iterator[str]:
    """Count findings by code, and yield the lines of the report, the most frequent code first.

    `format` is `text` or `json`. Raises `XMLToolsError` for another one.
    """
    if format not in ("text", "json"):
        raise XMLToolsError(f"format: expected text or json for statistics, got {format!r:.40}")
    counts = sorted(Counter(finding.code for finding in findings).items(), key=lambda each: (-each[1], each[0]))
    if format == "json":
        return _json([{"code": code, "count": count} for code, count in counts])
    width = max((len(f"{count:,}") for _, count in counts), default=0)
    return (f"{count:>{width},}  {code}  {headline(code)}" for code, count in counts)


def _json(value: Any) -> Iterator[str]:
    return iter(json.dumps(value, indent=2).split("\n"))


# Text


def _text(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        place = f"{finding.source}:{finding.line}:{finding.column}"
        yield f"{place}: {finding.severity}: {finding.code}: {finding.message}".translate(_SHOWN)
        yield f"    {finding.excerpt}".translate(_SHOWN)
        before = finding.excerpt[: finding.caret]
        yield " " * (4 + len(before) + len(_WIDE.findall(before))) + "^"
        yield f"    hint: {finding.hint}".translate(_SHOWN)


# JSON


def _objects(findings: Iterable[Finding]) -> Iterator[str]:
    return _json([_object(finding) for finding in findings])


def _object(finding: Finding) -> dict[str, Any]:
    start, end = finding.start, finding.end
    return {
        "code": finding.code,
        "severity": finding.severity,
        "source": finding.source,
        "line": start.line,
        "column": start.column,
        "offset": start.offset,
        "end_line": end.line if end else None,
        "end_column": end.column if end else None,
        "end_offset": end.offset if end else None,
        "message": finding.message,
        "hint": finding.hint,
        "tool": finding.tool,
    }


# SARIF


def _sarif(findings: Sequence[Finding], version: str) -> Iterator[str]:
    codes = [code for code in CODES if any(finding.code == code for finding in findings)]
    numbers = {code: number for number, code in enumerate(codes)}
    driver = {"name": "xmltools", **({"version": version} if version else {}), "rules": list(map(_rule, codes))}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, numbers[finding.code]) for finding in findings],
    }
    return _json({"$schema": _SARIF, "version": "2.1.0", "runs": [run]})


def _rule(code: str) -> dict[str, Any]:
    level = "error" if CODES[code].kind == "error" else "warning"
    return {
        "id": code,
        "name": code.title().replace("_", ""),  # SARIF asks for a single word in Pascal case
        "shortDescription": {"text": headline(code)},
        "help": {"text": explain(code)},
        "defaultConfiguration": {"level": level},
    }


def _result(finding: Finding, number: int) -> dict[str, Any]:
    region = {"startLine": finding.line, "startColumn": finding.column}
    if finding.end:
        region |= {"endLine": finding.end.line, "endColumn": finding.end.column}
    place = {"artifactLocation": {"uri": _uri(finding.source)}, "region": region}
    named = {} if finding.tool is None else {"tool": finding.tool}
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "properties": {"hint": finding.hint, **named},
    }


def _uri(source: str) -> str:
    path = PurePath(source)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


# GitHub


def _github(findings: Iterable[Finding]) -> Iterator[str]:
    for finding in findings:
        properties = {"file": finding.source, "line": finding.line, "col": finding.column, "title": finding.code}
        if finding.end:
            properties |= {"endLine": finding.end.line}
        written = ",".join(f"{name}={_escaped(str(value), _GITHUB_PROPERTY)}" for name, value in properties.items())
        said = _escaped(f"{finding.message}\n{finding.hint}", _GITHUB)
        yield f"::{finding.severity} {written}::{said}"


def _escaped(text: str, table: dict[int, str]) -> str:
    # Its line breaks and percent signs are escaped before the rest is made visible.
    return text.translate(table).translate(_SHOWN)


_WRITERS: dict[str, Callable[[Sequence[Finding]], Iterator[str]]] = {
    "text": _text,
    "json": _objects,
    "github": _github,
}
FORMATS = (*_WRITERS, "sarif")
"""The formats of reports."""
