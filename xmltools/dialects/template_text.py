"""The text that a chat template writes itself, in its order, with a hole for everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

HOLE: Final = "\0"
"""Stands for what comes from the conversation."""

_PART: Final = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') (?:\.format\((?P<filler>\w+)\))?
      | (?P<beside>[.|]\s*\w+)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<end>[-+]?[%}]\})
      | (?P<open>[(\[{]) | (?P<close>[)\]}])
      | (?P<equals>=(?!=))
      | (?P<joins>[~+,\s]+)
      | .""",
    re.VERBOSE | re.DOTALL,
)
_BEGIN: Final = re.compile(r"\{[{%#][-+]?")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}
_LONGEST: Final = 200
"""Characters of a constant. No delimiter has as many, and a template could double one again and again."""
_CONDITIONS: Final = ("if", "elif", "for", "macro", "call")
"""Statements whose strings are not written."""


@dataclass(slots=True)
class _Tag:
    """What is between `{{` and `}}`, or `{%` and `%}`."""

    said: list[str] = field(default_factory=list)
    """Strings, and holes."""
    passed: list[str] = field(default_factory=list)
    """Strings that are given to something, and may be written by that."""
    sets: str = ""
    """The name to which a value is given."""
    end: int = 0
    trims: bool = False


def text_of(template: str) -> str:
    """Return the text of a template of Jinja, or of Go's templates, which look alike as far as it matters here.

    Constants are put in where they are named. Strings that statements hold come after everything else, each between
    holes. Both ways of a condition are there, one after the other.
    """
    said: list[str] = []
    passed: list[str] = []
    constants: dict[str, str] = {}
    at, trims = 0, False
    while begin := _BEGIN.search(template, at):
        between = template[at : begin.start()]
        if trims:
            between = between.lstrip()
        if begin.group().endswith("-"):
            between = between.rstrip()
        is_statement = begin.group()[1] == "%"
        indented = between.rstrip(" \t")
        # As Hugging Face has templates read: a statement on a line of its own leaves no line.
        if is_statement and (indented or template[max(at - 1, 0) : at])[-1:] in ("", "\n"):
            between = indented
        said.append(between)
        if begin.group()[1] == "#":
            end = template.find("#}", begin.end())
            at, trims = (end + 2 if end >= 0 else len(template)), template[end - 1 : end] == "-"
            continue
        tag = _read(template, begin.end(), constants, is_statement)
        at, trims = tag.end, tag.trims
        if not is_statement:
            said += tag.said
            passed += tag.passed
            continue
        at += template.startswith("\n", at)
        passed += tag.said + tag.passed
        value = "".join(tag.said)
        if tag.sets and HOLE not in value and len(value) <= _LONGEST:
            constants[tag.sets] = value
    said.append(template[at:].lstrip() if trims else template[at:])
    return re.sub(f"{HOLE}+", HOLE, HOLE.join(("".join(said), *passed)))


def _read(template: str, at: int, constants: dict[str, str], is_statement: bool) -> _Tag:
    """Read a tag from after its start."""
    tag = _Tag()
    is_given: list[bool] = []  # of each open bracket: whether it is around what something is given
    given = words = 0  # how many brackets are around something that is given
    is_value = in_condition = False  # whether a value came last; between `if` and `else`
    while part := _PART.match(template, at):
        at, kind, text = part.end(), part.lastgroup, part.group()
        if kind == "filler":
            kind = "string"
        if kind == "end" and not is_given:
            tag.trims = text.startswith("-")
            break
        if kind == "end":  # braces of the tag itself
            kind, at = "close", part.start() + 1
        if kind == "string":
            text = _string(part["string"])
            if part["filler"]:
                text = text.replace("{}", constants.get(part["filler"], HOLE))
            if not in_condition:
                (tag.passed if given else tag.said).append(text)
        elif kind == "word":
            words += 1
            if is_statement and words == 1:
                in_condition = text in _CONDITIONS
                continue
            if is_statement and words == 2:
                tag.sets = text
            if text in ("if", "else"):
                in_condition = text == "if"
                is_value = False
                continue
            if not given and not in_condition:
                tag.said.append(constants.get(text, HOLE))
        elif kind == "equals" and is_statement and words == 2 and not given:
            tag.said.clear()
        elif kind == "open":
            is_given.append(is_value)
            given += is_value
            is_value = False
            continue
        elif kind == "close":
            if is_given:
                given -= is_given.pop()
        elif kind in ("joins", "beside"):
            is_value = is_value and (kind == "beside" or text.isspace())
            continue
        elif text != ":" and not in_condition:
            tag.said.append(HOLE)
        is_value = kind in ("string", "word", "close")
    tag.end = at
    if is_statement and not tag.said:
        tag.sets = ""
    return tag


def _string(literal: str) -> str:
    return _ESCAPE.sub(lambda each: _ESCAPED.get(each[1], each[1]), literal[1:-1])
