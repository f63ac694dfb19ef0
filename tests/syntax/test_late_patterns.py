"""Patterns that are compiled late do what those do that are compiled at once."""

import re

import pytest

from xmltools.syntax.late_patterns import late_pattern


def test_it_does_what_a_compiled_pattern_does() -> None:
    for pattern in (late_pattern("(?P<first>a)b*", re.IGNORECASE), re.compile("(?P<first>a)b*", re.IGNORECASE)):
        for _ in range(2):
            assert pattern.match("xAbb", 1, 3).span() == (1, 3)
            assert pattern.fullmatch("ABB")["first"] == "A"
            assert [found[0] for found in pattern.finditer("ab, abb")] == ["ab", "abb"]
            assert pattern.sub("-", "ab c") == "- c"
        assert dict(pattern.groupindex) == {"first": 1}
        assert pattern.pattern == "(?P<first>a)b*"


def test_a_pattern_that_is_wrong_is_found_when_it_is_used() -> None:
    wrong = late_pattern("(")
    with pytest.raises(re.error):
        wrong.match("")
