"""The report of a batch run: a page about the calls in the replies, with the worst rows, and the tallies as a file.

The page is one file, and nothing else: it loads nothing and has no script. What a model wrote is shown and does
nothing. What it looks like is in `data/page.html`; here are the words and numbers that its filters make.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files as data_files
from io import BytesIO, StringIO
from itertools import chain
from math import log2
from pathlib import Path
from typing import Any

from xmltools import __version__
from xmltools.batch.arrow import CsvFile, pa, pq
from xmltools.batch.files.resume import replace
from xmltools.batch.options import TALLIES, BatchUsageError
from xmltools.batch.report.tally import VALUES, Groups, Seen, Sizes, fold, rows_of_batch
from xmltools.batch.report.worst import Worst
from xmltools.batch.rows import ROW_CODES
from xmltools.dialects import all as all_dialects
from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.lint import CODES

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ImportError:
    raise ImportError(f"reports of xmltools.batch need the library jinja2: {install_line('batch')}") from None

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
    if tallies is not None and Path(tallies).suffix.lower() not in TALLIES:
        got = f"{str(tallies)!r:.200}"
        raise BatchUsageError(f"tallies: expected a name that ends with {', '.join(TALLIES)}, got {got}")
    files: Mapping[str, Iterable[Any]] = batches if isinstance(batches, Mapping) else {"": batches}
    worst, tallies_of = Worst(), Groups()
    for file, parts in files.items():
        rows = chain.from_iterable(
            [part] if isinstance(part, Seen) else rows_of_batch(part, column, prefix, messages, by) for part in parts
        )
        for number, row in enumerate(rows):
            worst.add(row, file if len(files) > 1 else "", number)
            tallies_of.add(row, by is not None)
    tally, *groups = tallies_of.ranked()
    if target is not None:
        said = {"messages": messages, "about": about or {}, "title": title or "Batch report", "by": by}
        page = _page(tally=tally[1], worst=worst.rows, groups=groups, now=now or datetime.now(UTC), **said)
        _write(Path(target), page.encode())
    if tallies is not None:
        records = [
            {"group_kind": group.kind, "group": group.text, **record}
            for group, each in (tally, *groups)
            for record in each.records()
        ]
        _write(Path(tallies), _encode_tallies(Path(tallies).suffix.lower(), records))


def _write(target: Path, content: bytes) -> None:
    try:
        replace(target, content)
    except OSError as error:
        raise XMLToolsError(f"report: could not write {str(target)!r:.200}: {error.strerror}") from None


def _page(**values: Any) -> str:
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
    return environment.get_template("page.html").render(
        most_groups=VALUES,
        dialects={dialect.name for dialect in all_dialects()},
        versions=f"xmltools {__version__}, pyarrow {pa.__version__}, Python {platform.python_version()}",
        style=style,
        icon=icon,
        **values,
    )


# The counts as a file, for people's own plots: a table with one count in each row

_TEXTS = ("group_kind", "group", "tally", "server", "name")
_NUMBERS = ("from", "to", "value")


def _encode_tallies(ending: str, records: list[dict[str, Any]]) -> bytes:
    if ending == ".json":
        return json.dumps(records, ensure_ascii=False, indent=1).encode()
    if ending == ".csv":
        lines = StringIO()
        writer = csv.DictWriter(CsvFile(lines), (*_TEXTS, *_NUMBERS), lineterminator=CsvFile.TERMINATOR)
        writer.writeheader()
        writer.writerows(records)
        return lines.getvalue().encode()
    types = {**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())}
    file = BytesIO()
    pq.write_table(pa.Table.from_pylist(records, pa.schema(types)), file)
    return file.getvalue()


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
    of_row = ROW_CODES.get(code, "").partition(":")[0]
    said = CODES[code].meaning.partition(". ")[0].removesuffix(".") if code in CODES else of_row
    return said[:1].upper() + said[1:]


# Drawings: of columns, each with the label below it, what it means in words, and how many there are

_Column = tuple[str, str, int]


def _columns_of_sizes(sizes: Sizes) -> list[_Column]:
    return [(_binary(first), f"{first:,} to {last:,}", count) for (first, last), count in sizes.classes()]


def _binary(size: int) -> str:
    unit = min((size.bit_length() - 1) // 10, 3)
    return f"{size >> 10 * unit}{('', 'Ki', 'Mi', 'Gi')[unit]}"


def _lines_of_sizes(sizes: Sizes) -> list[tuple[str, float]]:
    """Where the median and the 95th percentile are among the columns."""
    first = sizes.classes()[0][0][0]
    marks = (("median", sizes.quantile(0.5)), ("p95", sizes.quantile(0.95)))
    return [(name, log2(max(size, 1) / first)) for name, size in marks]


def _columns_of_rows(counts: Mapping[tuple[int, int], int]) -> Iterator[_Column]:
    """The classes of numbers of calls, from none to the last one, those without a row included."""
    step, end = fold(0), max(counts)
    while step <= end:
        first, last = step
        name = f"{first:,}" if first == last else f"{first:,}–{last:,}"
        yield name, f"{name} call{'s' * (last != 1)}", counts[step]
        step = fold(last + 1)


_FILTERS = {
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "digest": lambda value: base64.b64encode(hashlib.sha256(value.encode()).digest()).decode(),
    "brief": _brief,
    "columns_of_rows": lambda counts: list(_columns_of_rows(counts)),
    "columns_of_sizes": _columns_of_sizes,
    "lines_of_sizes": _lines_of_sizes,
    "meaning": _meaning,
    "number": "{:,}".format,
    "percent": percent,
    "without_elements": _without_elements,
    "plural": _plural,
    "ranked": lambda counts: sorted(counts.items(), key=lambda each: (-each[1], each[0])),
}
