"""Patterns of schemas: found where `re` finds them, and told in time that is linear in the text."""

from __future__ import annotations

import re
import warnings
from random import Random

import pytest
from support.effort import effort
from support.random_patterns import HOSTILE, hostile_text, pattern, text

from xmltools import Tool, XMLToolsError, parse
from xmltools.tools.schema.pattern_steps import search_by_steps
from xmltools.tools.schema.pattern_tree import Budget, TooCostlyError, read_tree
from xmltools.tools.schema.patterns import MAX_PATTERN_TEXT, Pattern, Scanner


@pytest.mark.parametrize(
    ("wanted", "found", "others"),
    [
        ("", ["", "a"], []),
        ("^a$", ["a", "a\n"], ["", "aa", "a\n\n", "b\na"]),
        (r"^a\Z", ["a"], ["a\n"]),
        ("(?m)^a$", ["a", "b\na\nc"], ["ba"]),
        ("a.c", ["abc", "xabcx"], ["a\nc", "ac"]),
        ("(?s)a.c", ["a\nc"], ["ac"]),
        ("(?i)ſtraße", ["STRAßE", "straße"], ["strasse"]),
        ("(?i:k)x", ["Kx", "Kx"], ["KX"]),
        (r"\bfoo\b", ["a foo b", "foo"], ["food"]),
        (r"^\d{4}-\d{2}$", ["2026-01", "٢٠٢٦-٠١"], ["226-01", "2026-001"]),
        (r"(?a)^\w+$", ["ab_1"], ["ä"]),
        ("^(?=.*[0-9])(?=.*[a-z]).{8,}$", ["abcdefg1"], ["abcdefgh", "abcdef1"]),
        ("^(?!.*secret).*$", ["public"], ["a secret b"]),
        ("(?<=x)a|(?<!b)c", ["xa", "c", "ac"], ["a", "bc"]),
        ("(?<=(?<!y)x)a", ["xa"], ["yxa"]),
        ("^(?:a|b(?=c)|c$)+$", ["abc", "aac"], ["ab"]),
        ("^(a{2,3}){2}$", ["aaaa", "aaaaaa"], ["aaa", "a" * 7]),
        ("^(?:ab?){2,4}$", ["aa", "abab", "abaa"], ["a", "b"]),
        ("^(?:a*|b)*$", ["", "aabb"], ["c"]),
        (r"^(?:\b|a){3}$", ["a", "aaa"], ["b"]),
        ("^[^a-c]{3,}$", ["xyz", "xyzw"], ["xay", "xy"]),
        (r"^(['\"]).*\1$", ["'a'", '""'], ["'a\""]),
        (r"(?i)^(a+)-\1$", ["aA-Aa"], ["a-aa"]),
        (r"^(<)?a(?(1)>|!)$", ["<a>", "a!"], ["<a!", "a>"]),
        ("^(?>a|ab)c$", ["ac"], ["abc"]),
        ("^a*+a$", [], ["aaa"]),
        ("^(?:a|ab)++c$", ["aac"], ["abc"]),
        ("(?!)", [], ["", "a"]),
        ("()|a", ["", "b"], []),
        ("^(?:ab|x)c{2}$", ["abcc", "xcc"], ["abc", "xc"]),
        ("^(?=ab|cd).*d$", ["abd", "cdd"], ["acd", "ab"]),
        (r"^(?>(a)\1)b$", ["aab"], ["ab"]),
        ("^(?>(?:ab)*?)c$", ["c"], ["abc"]),
        (r"^(a*?)b\1$", ["aba", "b", "aabaa"], ["ab", "ba"]),
        ("^(?a:x)y|z$", ["xy", "z"], ["Xy"]),
        (r"(?a:\w(?u:\w))$", ["aé"], ["éa", "aé-"]),
        ("(?s:a(?a:.)b)", ["a\nb"], ["ab"]),
        (r"^(a)(?:|b)*c\1$", ["aca", "abbca"], ["abbc"]),
    ],
)
def test_what_is_found(wanted, found, others):
    made = Pattern(wanted)
    for each in (*found, *others):
        assert made.found(each) is (re.search(wanted, each) is not None) is (each in found), each


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.full
def test_patterns_are_found_where_re_finds_them(seed, depth):
    rng = Random(f"{seed} {depth}")
    decided = regular = 0
    for _ in range(120):
        written = pattern(rng, depth)
        try:
            compiled = re.compile(written)
        except re.error:
            with pytest.raises(re.error):
                Pattern(written)
            continue
        made, tree = Pattern(written), read_tree(written)
        for _ in range(4):
            given = text(rng)
            try:
                stepped = search_by_steps(tree, given, Budget(20_000))
            except TooCostlyError:
                assert made.found(given) in (True, False, None)  # `re` itself could take hours
                continue
            wanted = compiled.search(given) is not None
            assert stepped is wanted, (written, given)
            found = made.found(given)
            assert found is wanted or found is None, (written, given)
            decided += found is not None
            regular += tree.regular and Scanner(tree).search(given, Budget(10**6)) is wanted
    assert decided > 400
    assert regular > 250


@pytest.mark.parametrize("written", HOSTILE)
@pytest.mark.no_cover
@pytest.mark.full
def test_time_grows_with_the_text_and_no_faster(written):
    made, rng = Pattern(written), Random(written)
    for _ in range(10):
        made.found(hostile_text(rng))
    for unit in ("a", "ab", "x", "a,", "word1", "aX"):
        # Far from both ends: coverage and a busy machine take their part, and what grows faster takes thousands.
        assert effort(lambda unit=unit: made.found((unit * 5_000)[:1_000] + "!")) < 150
        assert effort(lambda unit=unit: made.found((unit * 10_000)[:9_999] + "!")) < 1_500


@pytest.mark.parametrize("size", [10, 1_000, MAX_PATTERN_TEXT - 1])
@pytest.mark.parametrize(
    ("written", "found"),
    [
        (r"(a+)+$", False),
        (r"(a|a)*$", True),
        (r"(.*)*x", False),
        (r"a*a*a*a*$", True),
        (r"^a*a*a*a*$", False),
        (r"(a|aa)+$", False),
        (r"(?=(a+)+b)(a+)+c", False),
        (r"(x+x+)+y", False),
        (r"(a*){50}b", False),
        (r"(a+)+!$", True),
    ],
)
def test_these_are_told_of_any_text(written, found, size):
    assert Pattern(written).found("a" * size + "!") is found


@pytest.mark.parametrize(
    ("written", "quick"),
    [
        ("^[a-z0-9_-]{3,40}$", True),
        (r"^\d{4}-\d{2}-\d{2}\Z", True),
        (r"\Aa+b{100}$", True),
        ("^a+b{101}$", False),
        ("^a{3000}b*$", True),
        ("^a*a*$", False),
        ("^(a)+$", True),
        ("^(ab)+$", False),
        ("a+", False),
        ("(?m)^a+$", False),
        ("^a(?=b)", False),
        ("^(a|bc)$", False),
    ],
)
def test_re_is_asked_where_it_has_one_way_to_go(written, quick):
    made = Pattern(written)
    assert (made._quick is not None) is quick
    for size in (3, 120, 3_000, MAX_PATTERN_TEXT - 1):
        assert effort(lambda size=size: made.found("a" * size + "!")) < 300


def test_words_of_a_long_pattern_are_told_apart():
    words = [f"word{number}" for number in range(500)]
    made = Pattern(f"^({'|'.join(words)})$")
    assert made.found("word499") is True
    assert made.found("word500") is False
    assert Pattern("|".join(words)).found("word " * 1_999 + "word7") is True


@pytest.mark.full
@pytest.mark.no_cover
def test_the_answer_does_not_depend_on_what_was_searched_before():
    rng = Random(5)
    for written in HOSTILE:
        texts = [hostile_text(rng) for _ in range(12)]
        fresh = [Pattern(written).found(each) for each in texts]
        used = Pattern(written)
        assert [used.found(each) for each in texts * 3] == fresh * 3


@pytest.mark.full
@pytest.mark.no_cover
def test_what_is_remembered_has_a_bound():
    tree = read_tree("(?:[a-z]{1,3000}x)+$")
    scanner = Scanner(tree)
    for number in range(20):
        scanner.search("abcdefghij"[number % 10] * 3_000 + chr(200 + number), Budget(10**7))
        assert scanner._main._remembered < 25_000


@pytest.mark.parametrize(
    "written", ["(", "a{2,1}", "(?<=a*)b", r"\1", "[b-a]", "(?P<a>x)(?P<a>y)", "(" * 400 + ")" * 400]
)
def test_what_is_no_pattern_is_refused_with_its_place(written):
    with pytest.raises(XMLToolsError, match=r"#/properties/x/pattern: .* is no regular expression"):
        assert Tool(name="f", parameters={"properties": {"x": {"type": "string", "pattern": written}}}).shape


def call(*arguments: tuple[str, str]) -> str:
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in arguments)
    return f"<tool><tool_name>f</tool_name><arguments>{inner}</arguments></tool>"


def test_a_text_for_which_a_pattern_is_too_costly_does_not_match_and_the_error_says_so():
    tool = Tool(name="f", parameters={"properties": {"x": {"type": "string", "pattern": r"^(a+)+\1b"}}})
    assert parse(call(("x", "aab")), [tool]).calls
    reply = parse(call(("x", "a" * 200)), [tool])
    assert "x: expected text of which it can be told in time whether it matches" in reply.errors[0].message
    assert "matches ^(a+)+" in parse(call(("x", "bb")), [tool]).errors[0].message


def test_a_name_of_which_nothing_can_be_told_does_not_pass():
    parameters = {"type": "object", "patternProperties": {r"^(a+)+\1b": {"type": "integer"}}}
    tool = Tool(name="f", parameters=parameters)
    assert parse(call(("aab", "5")), [tool]).calls[0].arguments == {"aab": 5}
    reply = parse(call(("a" * 200, "five")), [tool])
    assert "a name of which it can be told in time" in reply.errors[0].message
    long = '<tool>{"tool_name": "f", "arguments": {"%s": 5}}</tool>' % ("a" * (MAX_PATTERN_TEXT + 1))
    assert not parse(long, [tool]).calls


def test_python_warns_once_of_a_pattern_and_not_when_it_is_searched():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = Pattern("[[a]x")
        before = len(caught)
        assert made.found("[x")
    assert len(caught) == before


def test_of_a_pattern_with_a_reference_that_has_very_many_ways_nothing_is_told():
    made = Pattern(r"^(?:aa?)*(x?)\1b$")  # 75,000 ways to cut these letters into pieces
    assert made.found("aab") is True
    assert made.found("aac") is False
    assert made.found("a" * 24) is None
