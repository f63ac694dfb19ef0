"""HTML as strings: text that is safe in it, tables with bars, and columns drawn as SVG.

All that comes from data passes through `text`: it is escaped, and characters that cannot be seen, or that turn the
direction of writing, are shown as what they are. Sizes of bars are attributes of SVG, since a page without inline
styles needs no exception from its Content-Security-Policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Column", "bar", "columns", "number", "page", "percent", "plain", "section", "table", "text"]

# Controls but for the tab; what has no width, turns the direction or tags other characters; half characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)
_HEIGHT = 150  # of the tallest column, in pixels
_ROOM = 22  # for numbers above the columns, and for labels below them
_LABELS = 11
_NARROW = 6  # per cent of the width


class Column(NamedTuple):
    """A column of a drawing: the label below it, what it stands for in words, and how many there are."""

    label: str
    meaning: str
    total: int


def text(value: str) -> str:
    """Return text as HTML in which every character can be seen."""
    return _UNSEEN.sub(_named, escape(value))


def plain(value: str) -> str:
    """Return text like `text` does, for places that take no elements: the title of the page."""
    return _UNSEEN.sub(_code_point, escape(value))


def _named(found: re.Match[str]) -> str:
    return f'<span class="unseen-character">{_code_point(found)}</span>'


def _code_point(found: re.Match[str]) -> str:
    return f"U+{ord(found[0]):04X}"


def number(value: int) -> str:
    """Return a whole number as people write it."""
    return f"{value:,}"


def percent(part: int, whole: int) -> str:
    """Return a share in per cent; only none is 0 % and only all is 100 %."""
    share = 100 * part / whole if whole else 0.0
    if part and share < 0.1:
        return "< 0.1 %"
    if part < whole and share > 99.9:
        return "> 99.9 %"
    return f"{share:.1f} %" if 0 < part < whole else f"{share:.0f} %"


def section(id: str, title: str, *content: str) -> str:
    """Return a panel with a heading."""
    inner = "\n".join(filter(None, content))
    return f'<section class="panel" aria-labelledby="{id}">\n<h2 id="{id}">{title}</h2>\n{inner}\n</section>'


def bar(parts: Iterable[tuple[str, int]], whole: int) -> str:
    """Return a bar for the eye only: parts, each with its kind and its number, of which `whole` fill it."""
    drawn, at = [], 0.0
    for kind, count in parts:
        width = 100 * count / whole if whole else 0.0
        drawn.append(f'<rect class="{kind}" x="{at:.3f}%" width="{width:.3f}%" height="100%"/>' if count else "")
        at += width
    return f'<svg class="bar" aria-hidden="true" focusable="false">{"".join(drawn)}</svg>'


def table(kind: str, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: the first cell of each row is its heading, and heads name the columns.

    All but names are roles that a narrow page would take from it, where rows are laid out in two lines.
    """
    top = "".join(f'<th scope="col" role="columnheader">{head}</th>' for head in heads)
    body = "\n".join(f'<tr role="row">{_cells(row)}</tr>' for row in rows)
    return (
        f'<table class="{kind}" role="table"><caption class="hidden">{caption}</caption>\n'
        f'<thead role="rowgroup"><tr role="row">{top}</tr></thead>\n<tbody role="rowgroup">\n{body}\n</tbody></table>'
    )


def _cells(row: Sequence[str]) -> str:
    name, *others = row
    return f'<th scope="row" role="rowheader">{name}</th>' + "".join(f'<td role="cell">{cell}</td>' for cell in others)


def columns(name: str, shown: Sequence[Column], lines: Iterable[tuple[str, float]] = ()) -> str:
    """Return a drawing of columns, and its numbers as a table that can be unfolded.

    Takes the name of the drawing, the columns, and vertical lines: each with its kind and its place, in columns from
    the left.
    """
    tallest = max(column.total for column in shown)
    step = 100 / max(len(shown), 5)
    every = -(-len(shown) // _LABELS)
    drawn = [_column(column, place, step, tallest) for place, column in enumerate(shown)]
    drawn += [_line(kind, place * step) for kind, place in lines]
    drawn += [_words(column, place, step, tallest, place % every == 0) for place, column in enumerate(shown)]
    meant = "; ".join(f"{column.meaning}: {number(column.total)}" for column in shown if column.total)
    numbers = table("plain", name, ("", "count"), ((column.meaning, number(column.total)) for column in shown))
    return (
        f'<figure><svg class="columns" role="img" aria-label="{name}. {meant}" height="{_HEIGHT + 2 * _ROOM}">'
        f'<line class="ground" x1="0" x2="100%" y1="{_HEIGHT + _ROOM}" y2="{_HEIGHT + _ROOM}"/>'
        f"{''.join(drawn)}</svg></figure>\n"
        f"<details><summary>The numbers as a table</summary>\n{numbers}\n</details>"
    )


def _height(column: Column, tallest: int) -> float:
    return max(_HEIGHT * column.total / tallest, 2) if column.total else 0


def _column(column: Column, place: int, step: float, tallest: int) -> str:
    height = _height(column, tallest)
    return (
        f'<rect x="{(place + 0.1) * step:.3f}%" y="{_HEIGHT + _ROOM - height:.1f}" width="{0.8 * step:.3f}%" '
        f'height="{height:.1f}" rx="2"><title>{column.meaning}: {number(column.total)}</title></rect>'
    )


def _words(column: Column, place: int, step: float, tallest: int, is_labelled: bool) -> str:
    middle = f"{(place + 0.5) * step:.3f}%"
    top = _HEIGHT + _ROOM - _height(column, tallest) - 6
    label = f'<text class="label" x="{middle}" y="{_HEIGHT + 2 * _ROOM - 6}">{column.label}</text>'
    # Where there are many columns, the numbers above them would run into each other.
    is_counted = column.total and step > _NARROW
    count = f'<text class="count" x="{middle}" y="{top:.1f}">{_brief(column.total)}</text>' if is_counted else ""
    return count + (label if is_labelled else "")


def _line(kind: str, at: float) -> str:
    return f'<line class="{kind}" x1="{at:.3f}%" x2="{at:.3f}%" y1="4" y2="{_HEIGHT + _ROOM}"/>'


def _brief(count: int) -> str:
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return number(count)


def page(title: str, style: str, style_hash: str, icon: str, body: str) -> str:
    """Return a page that loads nothing and runs nothing. Only the style sheet with the given hash is taken."""
    policy = f"default-src 'none'; style-src '{style_hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<link rel="icon" type="image/svg+xml" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
