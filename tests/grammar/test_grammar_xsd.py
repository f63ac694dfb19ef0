"""Patterns that XSD's regular expressions have no words for, or too many: they are issues, and any string is taken."""

from __future__ import annotations

import pytest
from support.relaxng_judge import Judge

from xmltools.grammar.relaxng.xsd import xsd_pattern
from xmltools.tools import Tool

DEEP = "(?:a|b" * 50 + ")" * 50

UNSAYABLE = {
    "groups deeper than libxml2 takes": DEEP,
    "counts that are long together": "a{15000}b{15000}",
    "a count of something long": "(?:ab){15000}",
    "a character that XML does not have": r"^\x00$",
    "no character at all": r"[^\s\S]",
    "case that does not matter in a group": "(?i:a)b",
}
SAYABLE = {
    "groups as deep as libxml2 takes": ("^" + "(?:a|b" * 40 + ")" * 40 + "$", "b" * 39 + "a", "b" * 39 + "c"),
    "a long count": ("^a{9000}b*$", "a" * 9_000 + "b", "a" * 8_999 + "b"),
    "a count with a range": ("^(?:ab){0,100}c$", "ab" * 100 + "c", "ab" * 101 + "c"),
    "a character that XML does not have, among others": (r"^[\x00a]$", "a", "b"),
    "all but some": (r"^[^a\s]$", "\u00e9", "a"),
    "all that XML has": (r"^[\s\S]$", "\U0001f600", "ab"),
}


def judge_of(pattern: str) -> Judge:
    value = {"type": "string", "pattern": pattern}
    return Judge(Tool(name="f", parameters={"type": "object", "properties": {"v": value}, "required": ["v"]}))


def block(content: str) -> str:
    return f"<tool><tool_name>f</tool_name><arguments><v>{content}</v></arguments></tool>"


@pytest.mark.parametrize("case", UNSAYABLE)
def test_a_pattern_that_cannot_be_said_is_an_issue(case: str) -> None:
    assert xsd_pattern(UNSAYABLE[case]) is None
    judge = judge_of(UNSAYABLE[case])
    assert [(issue.place, issue.keyword) for issue in judge.issues] == [("v", "pattern")]
    assert judge.accepts(block("anything"))


@pytest.mark.parametrize("case", SAYABLE)
def test_a_pattern_up_to_the_limits_is_enforced(case: str) -> None:
    pattern, right, wrong = SAYABLE[case]
    judge = judge_of(pattern)
    assert judge.issues == []
    assert judge.accepts(block(right))
    assert not judge.accepts(block(wrong))


@pytest.mark.parametrize(
    ("pattern", "right", "wrong"),
    [
        (r"^[\w-]$", "a_-\u00e9\u2013", "+ "),
        (r"^[^\w-]$", "+ \u00e9\u2013", "a_-"),
        (r"^[^\d\s]$", "a\u0661", "1 \u2003"),
    ],
)
def test_beyond_ascii_a_class_may_mean_every_character(pattern: str, right: str, wrong: str) -> None:
    judge = judge_of(pattern)
    assert [(issue.place, issue.keyword) for issue in judge.issues] == [("v", "pattern")]
    assert all(judge.accepts(block(character)) for character in right)
    assert not any(judge.accepts(block(character)) for character in wrong)
