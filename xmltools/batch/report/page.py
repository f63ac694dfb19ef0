"""The report of a batch run: one page that says how the calls in the replies are, with the rows that are worst.

The page is one file, and nothing else: it loads nothing and has no script. What a model wrote is shown and does
nothing.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from xmltools import __version__
from xmltools.batch.arrow import pa
from xmltools.batch.report.columns import Layout
from xmltools.batch.report.html import page, plain, text
from xmltools.batch.report.rows import about_worst_rows
from xmltools.batch.report.sections import (
    about_calls_per_row,
    about_codes,
    about_notations,
    about_sizes,
    about_tools,
    totals,
)
from xmltools.batch.report.tally import Tally
from xmltools.errors import XMLToolsError

__all__ = ["write_report"]

_TITLE = "Batch report"
_ERRORS = (
    "Each is a block that gave no call, or a row that could not be read. <code>xmltools explain CODE</code> says more."
)
_REPAIRS = "Each was repaired, and its block gave a call all the same. <code>xmltools explain CODE</code> says more."


def write_report(
    batches: Iterable[Any],
    target: Path,
    *,
    column: str,
    messages: bool = False,
    prefix: str = "",
    title: str = "",
    now: datetime | None = None,
) -> None:
    """Write a page about the output of a batch run: calls by tool, errors, repairs, calls in other notations, sizes,
    and the worst rows.

    Takes the output as Arrow record batches, of which one is looked at at a time, and the file to write, which is
    replaced when the page is complete. `column` is the column that was parsed, with `messages` one of chat messages,
    and `prefix` what stands in front of the names of the added columns. Lists in these may be JSON, as in CSV.
    `title` is the heading of the page, `now` the time that it names.

    Raises `XMLToolsError` if the batches are not the output of a run, or the file cannot be written.
    """
    target = Path(target)
    if not target.parent.is_dir() or target.is_dir():
        raise XMLToolsError(f"report: expected a file name in a folder that exists, got {str(target)!r:.200}")
    tally = Tally(Layout(column, messages, prefix))
    for batch in batches:
        tally.add(batch)
    _replace(target, _page(tally, messages, title or _TITLE, now or datetime.now(UTC)))


def _page(tally: Tally, messages: bool, title: str, now: datetime) -> str:
    data = files(__package__).joinpath("data")
    style = data.joinpath("report.css").read_text("utf-8")
    icon = data.joinpath("report.svg").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    pair = f"{about_sizes(tally.sizes)}\n{about_calls_per_row(tally.calls_per_row, tally.rows)}"
    sections = (
        about_tools(tally),
        about_codes("errors", "Errors by code", tally.errors, _ERRORS, "No block failed, and every row could be read."),
        about_codes("repairs", "Repairs by code", tally.repairs, _REPAIRS, "Nothing had to be repaired."),
        about_notations(tally),
        f'<div class="pair">\n{pair}\n</div>',
        about_worst_rows(tally.worst.rows, messages),
    )
    body = f"{_head(icon, title, now)}\n<main>\n{totals(tally)}\n" + "\n".join(filter(None, sections)) + "\n</main>"
    encoded = base64.b64encode(icon.encode()).decode()
    return page(f"{plain(title)} · xmltools", style, f"sha256-{digest}", encoded, body)


def _head(icon: str, title: str, now: datetime) -> str:
    versions = f"xmltools {__version__}, pyarrow {pa.__version__}, Python {platform.python_version()}"
    when = f'<time datetime="{now.isoformat(timespec="seconds")}">{now:%Y-%m-%d %H:%M} {now.tzname() or ""}</time>'
    return (
        f'<header class="top">\n<p class="brand">{icon}xmltools</p>\n<h1>{text(title)}</h1>\n'
        f'<p class="dim">{when} · {text(versions)}</p>\n</header>'
    )


def _replace(target: Path, page: str) -> None:
    """Write a file in one step: whoever looks at it sees the old one or the whole new one."""
    fresh = target.with_name(f".{target.name[:100]}.{os.getpid()}.new")
    try:
        fresh.write_text(page, encoding="utf-8", newline="\n")
        fresh.replace(target)
    except OSError as error:
        raise XMLToolsError(f"report: could not write {str(target)!r:.200}: {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)
