"""The panels of a report about the run as a whole: totals, tools, codes and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import log2

from xmltools.batch.report.counts import Sizes, fold
from xmltools.batch.report.html import Column, bar, columns, number, percent, section, table, text
from xmltools.batch.report.tally import Tally
from xmltools.lint import CODES

__all__ = ["about_calls_per_row", "about_codes", "about_notations", "about_sizes", "about_tools", "totals"]

_TOOLS = 30
_CODES = 12

# What a row can fail with as a whole.
_OF_ROWS = {
    "invalid_line": "a line of the input is no JSON object",
    "invalid_reply": "the value of the row is no text",
    "invalid_messages": "the messages of the row could not be read",
    "invalid_tools": "the row's own tools could not be read",
}


def totals(tally: Tally) -> str:
    """Return the figures at the top."""
    rows, calls = tally.rows, tally.calls
    clean = percent(tally.clean_calls, calls) if calls else "–"
    bad = tally.rows_with_errors
    failed = percent(bad, rows) if rows else "–"
    figures = (
        _figure("rows", number(rows), "Rows", f"{number(tally.characters)} characters"),
        _figure("rows-with-calls", number(tally.rows_with_calls), "Rows with calls", _of(tally.rows_with_calls, rows)),
        _figure("calls", number(calls), "Calls", f"of {_plural(_tools(tally), 'tool')}" if calls else "none"),
        _figure(
            "clean", clean, "Clean calls", f"{number(tally.clean_calls)} of {number(calls)}", "good" if calls else ""
        ),
        _figure("failed", failed, "Rows with errors", f"{number(bad)} of {number(rows)}", "bad" if bad else ""),
    )
    return f'<dl class="totals">\n{"".join(figures)}</dl>'


def _figure(id: str, value: str, name: str, more: str, kind: str = "") -> str:
    shown = f'<strong>{value}</strong> <span class="dim">{more}</span>'
    return f'<div id="total-{id}" class="{kind}"><dt>{name}</dt><dd>{shown}</dd></div>\n'


def _of(part: int, whole: int) -> str:
    return f"{percent(part, whole)} of all" if whole else "none"


def _tools(tally: Tally) -> int:
    return len(tally.tools.clean | tally.tools.mended)


def _plural(count: int, word: str) -> str:
    return f"{number(count)} {word}" + ("" if count == 1 else "s")


def about_tools(tally: Tally) -> str:
    """Return the panel of calls by tool."""
    if not tally.calls:
        return section("tools", "Calls by tool", '<p class="none">No row holds a call.</p>')
    shown, others = tally.tools.ranking(_TOOLS)
    clean, mended = tally.tools.clean, tally.tools.mended
    counts = [(_tool_name(*tool), clean[tool], mended[tool]) for tool in shown]
    if others:
        rest = f"<em>{_others(len(others), tally.tools.is_bounded)}</em>"
        counts.append((rest, sum(clean[tool] for tool in others), sum(mended[tool] for tool in others)))
    most = max(clean + mended for _, clean, mended in counts)
    rows = [
        (name, bar((("clean", clean), ("repaired", mended)), most), *map(number, (clean + mended, clean, mended)))
        for name, clean, mended in counts
    ]
    legend = (
        '<p class="legend"><span class="swatch clean"></span> clean <span class="swatch repaired"></span> repaired: '
        "the parser accepted the call and reported what it had to repair</p>"
    )
    made = table("tools", "Calls by tool", ("Tool", "", "Calls", "Clean", "Mended"), rows)
    return section("tools", "Calls by tool", legend, made)


def _tool_name(server: str, name: str) -> str:
    shown = f"<code>{text(name)}</code>"
    return shown if server in ("", "local") else f'{shown} <span class="dim">{text(server)}</span>'


def _others(count: int, is_bounded: bool) -> str:
    return f"more than {number(count)} other tools" if is_bounded else _plural(count, "other tool")


def about_codes(id: str, title: str, counts: Counter[str], explained: str, none: str) -> str:
    """Return a panel of codes. Takes a sentence that explains them, and one for a run without any."""
    if not counts:
        return section(id, title, f'<p class="none">{none}</p>')
    rows = [(name, text(_meaning(code)), *rest) for code, name, *rest in _ranked(counts, id)]
    heads = ("Code", "Meaning", "", "Count", "Share")
    made = table("codes", title, heads, rows[:_CODES])
    rest = rows[_CODES:]
    more = f"<summary>{_plural(len(rest), 'rarer code')}</summary>{table('codes', 'Rarer codes', heads, rest)}"
    folded = f"<details>{more}</details>" if rest else ""
    return section(id, title, f'<p class="dim">{explained}</p>', made, folded)


def about_notations(tally: Tally) -> str:
    """Return the panel of calls in other notations; nothing, if there are none."""
    counts = tally.notations
    if not counts:
        return ""
    title = "Calls in other notations"
    rows = [row for _, *row in _ranked(counts, "repairs")]
    said = (
        "These stayed text: the model wrote them as another protocol wants them. "
        "<code>xmltools explain foreign_call</code> says more."
    )
    some = "" if tally.rows_with_notices == len(tally.noticed) else "the first of "
    listed = ", ".join(map(number, tally.noticed))
    where = f"In {some}{_plural(tally.rows_with_notices, 'row')}, counted from 0: {listed}."
    made = table("notations", title, ("Notation", "", "Count", "Share"), rows)
    return section("notices", title, f'<p class="dim">{said}</p>', made, f'<p class="dim">{where}</p>')


def _ranked(counts: Counter[str], kind: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield each name, the most frequent first, and as a page shows it, its bar, its count and its share."""
    ranked = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    whole, most = counts.total(), ranked[0][1]
    for name, count in ranked:
        yield (
            name,
            f"<code>{text(name)}</code>",
            bar(((kind, count),), most),
            number(count),
            percent(count, whole),
        )


def _meaning(code: str) -> str:
    of_block = CODES[code].meaning.partition(". ")[0].removesuffix(".") if code in CODES else ""
    said = "; or ".join(filter(None, (of_block, _OF_ROWS.get(code))))
    return said[:1].upper() + said[1:]


def about_sizes(sizes: Sizes) -> str:
    """Return the panel of argument sizes."""
    bins = sizes.by_power()
    title = "Sizes of arguments"
    if not bins:
        return section("sizes", title, '<p class="none">Without calls there are no arguments.</p>')
    first = bins[0][0]
    marks = {"median": sizes.quantile(0.5), "p95": sizes.quantile(0.95)}
    shown = [Column(_power(power), f"{number(1 << power)} to {number((2 << power) - 1)}", n) for power, n in bins]
    lines = [(name, log2(max(size, 1)) - first) for name, size in marks.items()]
    figures = "".join(
        f'<div><dt><span class="swatch {name}"></span> {word}</dt><dd id="sizes-{name}">{number(size)}</dd></div>'
        for name, word, size in (
            ("median", "Median", marks["median"]),
            ("p95", "95th percentile", marks["p95"]),
            ("max", "Largest", sizes.largest),
        )
    )
    drawn = columns("Calls by the size of their arguments, in characters", shown, lines)
    said = (
        '<p class="dim">Characters of a call’s arguments as JSON. Each column is twice as wide as the one before.</p>'
    )
    return section("sizes", title, said, f'<dl class="figures">{figures}</dl>', drawn)


def _power(power: int) -> str:
    unit, rest = divmod(power, 10)
    return f"{1 << rest}{('', 'Ki', 'Mi', 'Gi')[min(unit, 3)]}"


def about_calls_per_row(counts: Counter[tuple[int, int]], rows: int) -> str:
    """Return the panel of how many calls there are in a row."""
    title = "Calls per row"
    if not rows - counts[(0, 0)]:
        return section("per-row", title, '<p class="none">No row holds a call.</p>')
    shown = [_calls_column(step, counts[step]) for step in _steps(max(counts))]
    none = counts[(0, 0)]
    said = f"{_plural(none, 'row')} without a call, {percent(none, rows)} of all." if none else "Each row holds a call."
    return section("per-row", title, f'<p class="dim">{said}</p>', columns("Rows by number of calls", shown))


def _steps(last: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The classes of numbers of calls, from none to the last one, those without a row included."""
    step = fold(0)
    while step < last:
        yield step
        step = fold(step[1] + 1)
    yield last


def _calls_column(step: tuple[int, int], count: int) -> Column:
    first, last = step
    label = number(first) if first == last else f"{number(first)}–{number(last)}"
    return Column(label, f"{label} call" + ("" if last == 1 else "s"), count)
