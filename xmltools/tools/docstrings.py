"""Docstrings in the styles of Google, NumPy and reStructuredText: what they say about a function and its parameters."""

from __future__ import annotations

import re

_GOOGLE_OR_NUMPY = re.compile(r"(Args|Arguments|Parameters|Params|Keyword Args|Other Parameters)\s*:?")
_OTHER_SECTION = re.compile(
    r"(Returns?|Raises?|Yields?|Examples?|Notes?|Warnings?|Warns|See Also|References|Attributes|Todo)\s*:?"
)
_REST = re.compile(r":param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_REST_FIELD = re.compile(r":\w[^:\n]*:")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:(?:\s+(.*))?$")
_NUMPY_ENTRY = re.compile(r"\*{0,2}(\w+)(?:\s*,\s*\*{0,2}\w+)*\s*(?::.*)?$")
_RULE = re.compile(r"-{3,}")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring's text before its first section, and what its sections say about each parameter."""
    lines = _dedented(text)
    end = next((number for number in range(len(lines)) if _begins_section(lines, number)), len(lines))
    return "\n".join(lines[:end]).strip(), _described(lines[end:])


def _dedented(text: str) -> list[str]:
    first, _, rest = text.expandtabs().partition("\n")
    lines = rest.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [first.strip(), *(line[margin:].rstrip() for line in lines)]


def _begins_section(lines: list[str], number: int) -> bool:
    line = lines[number]
    if _REST_FIELD.match(line):
        return True
    heading = _GOOGLE_OR_NUMPY.fullmatch(line) or _OTHER_SECTION.fullmatch(line)
    return bool(heading and (line.endswith(":") or _is_underlined(lines, number)))


def _is_underlined(lines: list[str], number: int) -> bool:
    return number + 1 < len(lines) and bool(_RULE.fullmatch(lines[number + 1].strip()))


def _described(lines: list[str]) -> dict[str, str]:
    """Return the descriptions of parameters in the sections of a docstring."""
    found: dict[str, list[str]] = {}
    entry: re.Pattern[str] | None = None
    margin: int | None = None
    words: list[str] = []
    for number, line in enumerate(lines):
        if rest := _REST.match(line):
            words = found.setdefault(rest[1], [rest[2]])
        elif _begins_section(lines, number):
            underlined = _is_underlined(lines, number)
            entry = (_NUMPY_ENTRY if underlined else _GOOGLE_ENTRY) if _GOOGLE_OR_NUMPY.fullmatch(line) else None
            margin, words = None, []
        elif line.strip() and not _RULE.fullmatch(line):
            indent = len(line) - len(line.lstrip())
            margin = indent if margin is None else margin
            match = entry.match(line.strip()) if entry and indent <= margin else None
            if match:
                words = found.setdefault(match[1], [match[2] or ""] if entry is _GOOGLE_ENTRY else [])
            else:
                words.append(line.strip())
    return {name: " ".join(filter(None, words)) for name, words in found.items() if any(words)}
