"""The README shows what each format holds, made from `HOLDS`. `python tests/formats/test_table.py` writes it anew."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from xmltools.formats import FORMATS, Holds, holds
from xmltools.formats._base import WORDS

README = Path(__file__).parent.parent.parent / "README.md"
START, END = "<!-- formats: begin -->\n", "<!-- formats: end -->\n"


def table() -> str:
    """A row for each thing that a format may hold, a column for each format."""
    lines = [f"| | {' | '.join(FORMATS)} |", "|---" * (len(FORMATS) + 1) + "|"]
    for field in fields(Holds):
        marks = ["yes" if getattr(holds(name), field.name) else "" for name in FORMATS]
        lines.append(f"| {WORDS[field.name].partition(':')[0]} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def test_the_readme_says_what_each_format_holds() -> None:
    text = README.read_text("utf-8")
    found = text[text.index(START) + len(START) : text.index(END)]
    assert found == table(), "run `python tests/formats/test_table.py` and look at the change"


if __name__ == "__main__":
    text = README.read_text("utf-8")
    head, tail = text[: text.index(START) + len(START)], text[text.index(END) :]
    README.write_text(head + table() + tail, "utf-8")
