"""The report of a batch run: a page about the calls in the replies, with the worst rows, and the tallies as a file.

The page is one file, and nothing else: it loads nothing and has no script. What a model wrote is shown and does
nothing. What it looks like is in `data/page.html`; here are the words and numbers that its filters make.
"""

from __future__ import annotations

import base64
import hashlib
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files as data_files
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

from xmltools import __version__
from xmltools.batch.arrow import pa
from xmltools.batch.files.resume import replace
from xmltools.batch.report.groups import VALUES, Groups
from xmltools.batch.report.tallies import check_ending, encode_tallies
from xmltools.batch.report.tally import Sizes, Tally, fold, read_lists
from xmltools.batch.report.worst import Worst
from xmltools.dialects import all as all_dialects
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.lint import CODES

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise ImportError(f"reports of xmltools.batch need the library jinja2: {install_line('batch')}") from None

_TITLE = "Batch report"
# What a row can fail with as a whole.
_OF_ROWS = {
    "invalid_line": "a line of the input is no JSON object",
    "invalid_reply": "the value of the row is no text",
    "invalid_messages": "the messages of the row could not be read",
    "invalid_tools": "the row's own tools could not be read",
}

# Controls but for the tab; what has no width, turns the direction or tags other characters; half characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def write_report(
    batches: Iterable[Any] | Mapping[str, Iterable[Any]],
    target: Path | None = None,
    *,
    column: str,
    messages: bool = False,
    prefix: str = "",
    by: str | None = None,
    tallies: Path | None = None,
    about: Mapping[str, Sequence[str]] | None = None,
    title: str = "",
    now: datetime | None = None,
) -> None:
    """Write a report about the output of a batch run: calls by tool, errors, repairs, foreign calls, sizes, and the
    worst rows.

    - `batches` is the output as Arrow record batches, of which one is looked at at a time; or a dict with those of each
      file, whose name then stands beside the rows.
    - `target` is the page, None for none, and `tallies` a file with the counts as records, whose name ends in `.json`,
      `.csv` or `.parquet`. Each is replaced when the report is complete.
    - `column` is the column that was parsed, with `messages` one of chat messages, and `prefix` what the names of the
      added columns begin with. Lists in these may be JSON, as in CSV.
    - `by` is a column of the input: the counts are also given for each of its values. The first hundred that come are
      told apart, later ones are counted together.
    - `about` is what the page says of the run: names, and the lines of each, as `describe_run` gives them. `title` is
      its heading, `now` the time that it names.

    Raises `XMLToolsError` if the batches are not the output of a run, or a file cannot be written.
    """
    targets = [Path(each) for each in (target, tallies) if each is not None]
    if not targets:
        raise XMLToolsError("report: expected a file for the page, or tallies, or both")
    for each in targets:
        if not each.parent.is_dir() or each.is_dir():
            raise XMLToolsError(f"report: expected a file name in a folder that exists, got {str(each)!r:.200}")
    if tallies is not None:
        check_ending(Path(tallies))
    files: Mapping[str, Iterable[Any]] = batches if isinstance(batches, Mapping) else {"": batches}
    tally, worst, groups = Tally(), Worst(messages), None if by is None else Groups(by)
    for file, parts in files.items():
        first = 0
        for batch in parts:
            lists = read_lists(batch, column, prefix)
            source = batch.column(column)
            worst.add(source, lists, file if len(files) > 1 else "", first)
            tally.add(source, lists, messages)
            if groups is not None:
                groups.add(batch, source, lists, messages)
            first += len(source)
    if target is not None:
        page = _page(tally, worst, groups, messages, about or {}, title or _TITLE, now or datetime.now(UTC))
        _write(Path(target), page.encode())
    if tallies is not None:
        _write(Path(tallies), encode_tallies(Path(tallies), tally, groups))


def _write(target: Path, content: bytes) -> None:
    try:
        replace(target, content)
    except OSError as error:
        raise XMLToolsError(f"report: could not write {str(target)!r:.200}: {error.strerror}") from None


def _page(
    tally: Tally,
    worst: Worst,
    groups: Groups | None,
    messages: bool,
    about: Mapping[str, Sequence[str]],
    title: str,
    now: datetime,
) -> str:
    environment = Environment(
        loader=PackageLoader(__package__, "data"),
        autoescape=True,
        finalize=text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= _FILTERS
    data = data_files(__package__).joinpath("data")
    style, icon = (Markup(data.joinpath(name).read_text("utf-8")) for name in ("page.css", "icon.svg"))
    versions = f"xmltools {__version__}, pyarrow {pa.__version__}, Python {platform.python_version()}"
    return environment.get_template("page.html").render(
        tally=tally,
        worst=worst.rows,
        groups=None if groups is None else groups.ranked(),
        by="" if groups is None else groups.by,
        most_groups=VALUES,
        dialects={dialect.name for dialect in all_dialects()},
        messages=messages,
        about=about,
        title=title,
        now=now,
        versions=versions,
        style=style,
        icon=icon,
    )


# Text in the page


def text(value: object) -> Markup:
    """Return a value as HTML in which every character can be seen; what is HTML already stays as it is.

    All that the template shows passes through it.
    """
    if isinstance(value, Markup):
        return value
    shown = _UNSEEN.sub(lambda found: f'<span class="unseen-character">{_code_point(found)}</span>', escape(str(value)))
    return Markup(shown)


def _without_elements(value: str) -> Markup:
    """Return text like `text` does, for places that take no elements: the title of the page."""
    return Markup(_UNSEEN.sub(_code_point, escape(value)))


def _code_point(found: re.Match[str]) -> str:
    return f"U+{ord(found[0]):04X}"


def _brief(count: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:,}"


def _plural(count: int, word: str) -> str:
    """Return a number of things. The last word of what they are is the one that gets an ending."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; only none is 0 % and only all is 100 %."""
    share = 100 * part / whole if whole else 0.0
    if part and share < 0.1:
        return "< 0.1 %"
    if part < whole and share > 99.9:
        return "> 99.9 %"
    return f"{share:.1f} %" if 0 < part < whole else f"{share:.0f} %"


def _meaning(code: str) -> str:
    of_block = CODES[code].meaning.partition(". ")[0].removesuffix(".") if code in CODES else ""
    said = "; or ".join(filter(None, (of_block, _OF_ROWS.get(code))))
    return said[:1].upper() + said[1:]


# Drawings


class _Column(NamedTuple):
    """A column of a drawing: the label below it, what it means in words, and how many there are."""

    label: str
    meaning: str
    total: int


def _columns_of_sizes(sizes: Sizes) -> list[_Column]:
    return [
        _Column(_power(power), f"{1 << power:,} to {(2 << power) - 1:,}", count) for power, count in sizes.by_power()
    ]


def _lines_of_sizes(sizes: Sizes) -> list[tuple[str, float]]:
    """Where the median and the 95th percentile are among the columns."""
    first = sizes.by_power()[0][0]
    marks = (("median", sizes.quantile(0.5)), ("p95", sizes.quantile(0.95)))
    return [(name, log2(max(size, 1)) - first) for name, size in marks]


def _power(power: int) -> str:
    unit, rest = divmod(power, 10)
    return f"{1 << rest}{('', 'Ki', 'Mi', 'Gi')[min(unit, 3)]}"


def _columns_of_rows(counts: Counter[tuple[int, int]]) -> list[_Column]:
    return [
        _Column(_range(*step), f"{_range(*step)} call{'s' * (step[1] != 1)}", counts[step]) for step in _steps(counts)
    ]


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}–{last:,}"


def _steps(counts: Counter[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The classes of numbers of calls, from none to the last one, those without a row included."""
    step, last = fold(0), max(counts)
    while step < last:
        yield step
        step = fold(step[1] + 1)
    yield last


_FILTERS = {
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "digest": lambda value: base64.b64encode(hashlib.sha256(value.encode()).digest()).decode(),
    "brief": _brief,
    "columns_of_rows": _columns_of_rows,
    "columns_of_sizes": _columns_of_sizes,
    "lines_of_sizes": _lines_of_sizes,
    "meaning": _meaning,
    "number": "{:,}".format,
    "of": lambda counts, keys: sum(counts[key] for key in keys),
    "percent": percent,
    "without_elements": _without_elements,
    "plural": _plural,
    "ranked": lambda counts: sorted(counts.items(), key=lambda each: (-each[1], each[0])),
}
