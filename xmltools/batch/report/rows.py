"""The panel of the worst rows, each with its codes, its messages and the source around them."""

from __future__ import annotations

from collections.abc import Sequence

from xmltools.batch.report.excerpts import Excerpt, Gap, Line
from xmltools.batch.report.html import number, section, text
from xmltools.batch.report.worst import Problem, WorstRow

__all__ = ["about_worst_rows"]

_OPEN_ROWS = 5
_OPEN_PROBLEMS = 2
_BADGES = 7


def about_worst_rows(rows: Sequence[WorstRow], messages: bool) -> str:
    """Return the panel. With `messages`, each place is in a message, which is named."""
    title = "Worst rows"
    if not rows:
        return section("worst", title, '<p class="none">No row has an error or a repair.</p>')
    counted = "Rows and messages are counted from 0" if messages else "Rows are counted from 0"
    said = f"Those with the most errors, then those with the most repairs. {counted}, lines and columns from 1."
    shown = [_row(row, messages) for row in rows]
    rest = shown[_OPEN_ROWS:]
    more = _folded(f"{len(rest)} more row{'s' * (len(rest) != 1)}", rest, "rows") if rest else ""
    return section("worst", title, f'<p class="dim">{said}</p>', *shown[:_OPEN_ROWS], more)


def _folded(summary: str, content: Sequence[str], kind: str) -> str:
    inner = "\n".join(content)
    return f'<details class="{kind}"><summary>{summary}</summary>\n{inner}\n</details>'


def _row(row: WorstRow, messages: bool) -> str:
    kind = "error" if row.errors else "repair"
    shown = [_problem(problem, messages) for problem in row.problems]
    rest = shown[_OPEN_PROBLEMS:]
    more = _folded(f"{len(rest)} more of this row", rest, "problems") if rest else ""
    left = row.total - len(shown)
    unseen = f'<p class="dim">{number(left)} more of this row not shown.</p>' if left else ""
    head = f'<h3>Row {number(row.row)}</h3><p class="dim">{_counts(row)}</p><p class="badges">{_badges(row)}</p>'
    inner = "\n".join(filter(None, (*shown[:_OPEN_PROBLEMS], more, unseen)))
    return f'<article class="{kind}">\n<header>{head}</header>\n{inner}\n</article>'


def _badges(row: WorstRow) -> str:
    badges = [_badge(code, count, "error") for code, count in row.errors]
    badges += [_badge(code, count, "repair") for code, count in row.repairs]
    if len(badges) <= _BADGES + 1:
        return "".join(badges)
    return "".join(badges[:_BADGES]) + f'<span class="dim">and {len(badges) - _BADGES} more codes</span>'


def _counts(row: WorstRow) -> str:
    kinds = (("error", row.errors), ("repair", row.repairs))
    counts = ((kind, sum(count for _, count in codes)) for kind, codes in kinds)
    return ", ".join(f"{number(count)} {kind}{'s' * (count != 1)}" for kind, count in counts if count)


def _badge(code: str, count: int, kind: str) -> str:
    times = f" × {number(count)}" if count > 1 else ""
    return f'<span class="badge {kind}">{text(code)}{times}</span>'


def _problem(problem: Problem, messages: bool) -> str:
    kind = "error" if problem.is_error else "repair"
    hint = f'<p class="hint"><span>Hint</span> {text(problem.hint)}</p>' if problem.hint else ""
    excerpt = _excerpt(problem.excerpt, kind) if problem.excerpt else ""
    return (
        f'<div class="problem {kind}"><p class="said"><code>{text(problem.code)}</code> {text(problem.message)}</p>'
        f'<p class="dim">{_where(problem, messages)}</p>{hint}{excerpt}</div>'
    )


def _where(problem: Problem, messages: bool) -> str:
    excerpt = problem.excerpt
    places = [
        f"{'call of' if not problem.is_error else 'tool'} <code>{text(problem.tool)}</code>" if problem.tool else "",
        f"message {number(problem.message_index)}" if messages else "",
        f"line {number(excerpt.line)}, column {number(excerpt.column)}" if excerpt else "the row as a whole",
    ]
    return " · ".join(filter(None, places))


def _excerpt(excerpt: Excerpt, kind: str) -> str:
    lines = "".join(_line(line, kind) for line in excerpt.lines)
    return f'<pre class="excerpt">{lines}</pre>'


def _line(line: Line | Gap, kind: str) -> str:
    if isinstance(line, Gap):
        return f'<span class="gap">{number(line.lines)} more line{"s" * (line.lines != 1)}</span>'
    marked = f'<mark class="{kind}">{text(line.marked)}</mark>' if line.marked else ""
    content = f"<span>{text(line.before)}{marked}{text(line.after)}\n</span>"
    return f'<span class="number">{line.number}</span>{content}'
