"""`xmltools validate`: what is wrong with replies and stored calls; `xmltools explain`: what the codes mean.

`xmltools.lint` is imported where it is used: it takes a while to load, and the other commands don't need it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xmltools import __version__
from xmltools.cli.reply_rows import NO_ROWS, looks_like_json
from xmltools.cli.shared import (
    UsageError,
    add_also,
    add_dialect_options,
    chosen_dialect,
    chosen_others,
    counted,
    did_you_mean,
    one_line,
    one_standard_input,
    read_text,
    read_tools,
    show,
    tell,
)
from xmltools.dialects import Dialect, named
from xmltools.errors import XMLToolsError
from xmltools.terminal import cells, columns_of, wrapped

if TYPE_CHECKING:
    from xmltools.lint import Finding, Findings

_FORMATS = ("text", "json", "github", "sarif")


def declare_validate(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools validate`."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="replies, or stored blocks, as text; - is standard input")
    add("--tools", metavar="T.json", help="the tools: other calls, and arguments that do not fit, are errors")
    add("--strict", action="store_true", help="make warnings errors")
    add("--starts-in-reasoning", action="store_true", help="a reply begins inside a reasoning region")
    add_dialect_options(parser)
    add_also(parser)
    add("--format", choices=_FORMATS, default="text", help="how to print what is found (default: text)")
    add("--statistics", action="store_true", help="count what is found by code instead (text and json)")


def declare_explain(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools explain`."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="the code of a finding, an error or a repair")
    add_dialect_options(parser, model="the model that writes, by its name on Hugging Face: picks the dialect")


def explain(options: argparse.Namespace) -> int:
    """Run `xmltools explain`. Returns the exit status."""
    from xmltools import lint
    from xmltools.batch.rows import ROW_CODES

    dialect = chosen_dialect(options)
    if options.code is None:
        width = max(map(len, lint.CODES))
        rows = [f"  {code:<{width}}  {hint}" for code, hint in ROW_CODES.items()]
        text = "\n".join([lint.list_codes(), "", "row: a batch could not read it", *rows])
    elif options.code in ROW_CODES:
        text = f"{options.code} (error: a batch could not read the row)\n\nHint: {ROW_CODES[options.code]}"
    elif options.code in lint.CODES:
        text = lint.explain(options.code, dialect)
    else:
        suggestion = did_you_mean(options.code.lower().replace("-", "_"), (*lint.CODES, *ROW_CODES))
        suggestion = suggestion or "xmltools explain lists all codes"
        raise UsageError(f"there is no code {options.code!r:.80}; {suggestion}")
    for line in text.split("\n"):
        show(line)
    return 0


def validate(options: argparse.Namespace) -> int:
    """Run `xmltools validate`. Returns the exit status: 1 if there are errors, and for warnings alone 0."""
    one_standard_input("the FILEs and --tools", *options.files, options.tools)
    if options.statistics and options.format not in ("text", "json"):
        raise UsageError(f"--statistics: expected --format text or json, got {options.format}")
    from xmltools.lint import lint, write_report, write_statistics

    tools = read_tools(options.tools) if options.tools is not None else None
    for said in (each for tool in tools or () for each in tool.unchecked_patterns):
        tell(f"xmltools: {options.tools}: {said}")
    dialect = named(chosen_dialect(options))
    how = {
        "strict": options.strict,
        "dialect": dialect,
        "also": chosen_others(options),
        "starts_in_reasoning": options.starts_in_reasoning,
    }
    checked, unread = [], False
    for name in options.files:
        try:
            text = read_text(name)
        except XMLToolsError as error:
            tell(f"xmltools: {error}")
            unread = True
            continue
        checked.append(lint(text, tools, source=name, **how))
        if looks_like_json(text) and not _has_calls(checked[-1], dialect):
            tell(f"xmltools: {name}: {NO_ROWS}")
    findings = [finding for each in checked for finding in each]
    width = columns_of(sys.stdout) if options.format == "text" else None
    if options.statistics:
        lines = write_statistics(findings, options.format)
    else:
        shown = findings if width is None else [_fitted(finding, width) for finding in findings]
        lines = write_report(shown, options.format, version=__version__)
    for line in lines:
        print(wrapped(one_line(line), width, "" if line.startswith(" ") else "  "))
    sys.stdout.flush()
    if checked:  # of files that can't be read it is not known whether there are calls
        tell(_summary(findings, checked, has_tools=tools is not None))
    return 1 if unread or any(finding.severity == "error" for finding in findings) else 0


def _has_calls(found: Findings, dialect: Dialect) -> bool:
    """Return whether there are calls in a text, and not only what goes wrong with the escapes of a JSON string."""
    if any(form.is_bare for form in dialect.forms):  # a call is JSON itself
        return found.blocks > 0
    return found.blocks > sum(finding.severity == "error" for finding in found)


def _fitted(finding: Finding, width: int) -> Finding:
    """Return a finding whose excerpt has room on a terminal: the line below it points into it."""
    excerpt, room = finding.excerpt, max(width - 5, 10)
    if cells(excerpt) <= room:
        return finding
    room = room if cells(excerpt) == len(excerpt) else room // 2  # a character may take two columns
    left = max(0, min(finding.caret - room // 2, len(excerpt) - room))
    right = left + room
    start, end = "…" * (left > 0), "…" * (right < len(excerpt))
    shown = f"{start}{excerpt[left + len(start) : right - len(end)]}{end}"
    return replace(finding, excerpt=shown, caret=finding.caret - left)


def _summary(findings: Sequence[Finding], checked: Sequence[Findings], *, has_tools: bool) -> str:
    """Return the line at the end: how many problems in how many files, or that all is well."""
    blocks = sum(each.blocks for each in checked)
    if not blocks:
        return "No calls found"
    if not findings:
        which = "The call is" if blocks == 1 else f"All {blocks:,} calls are"
        return f"{which} valid" if has_tools else f"{which} well formed; names and arguments are checked with --tools"
    errors = sum(finding.severity == "error" for finding in findings)
    where = counted(sum(map(bool, checked)), "file")
    warnings = len(findings) - errors
    told = f" ({counted(errors, 'error')}, {counted(warnings, 'warning')})" if warnings else ""
    return f"Found {counted(len(findings), 'problem')} in {where}{told}"
