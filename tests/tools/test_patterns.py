"""Patterns of schemas: found where ECMAScript and Python find them, and told in time that is linear in the text."""

from __future__ import annotations

import re
from random import Random

import pytest
from support.effort import effort
from support.random_patterns import HOSTILE, pattern, text

from xmltools import Tool, XMLToolsError, parse
from xmltools.proxy.bridge.requests.incoming import Notes, read_tool, read_tools
from xmltools.tools.schema import compile_schema, find_problems
from xmltools.tools.schema.patterns import MAX_PATTERN_TEXT, MAX_SIZE, Pattern, UncheckedError


def compiled(written: str) -> Pattern:
    made = Pattern(written)
    made.compile()
    return made


@pytest.mark.filterwarnings("ignore:Possible")  # of `re`, for sets in which Rust would read more sets
@pytest.mark.parametrize(
    ("wanted", "found", "others"),
    [
        ("", ["", "a"], []),
        ("^a$", ["a"], ["", "aa", "a\n\n", "b\na"]),
        (r"^a\Z", ["a"], ["a\n"]),
        (r"\Aa", ["ab"], ["\na"]),
        ("(?m)^a$", ["a", "b\na\nc"], ["ba"]),
        ("a.c", ["abc", "xabcx"], ["a\nc", "ac"]),
        ("(?s)a.c", ["a\nc"], ["ac"]),
        ("(?i)ſtraße", ["STRAßE", "straße"], ["strasse"]),
        ("(?i:k)x", ["Kx", "kx"], ["KX"]),
        (r"\bfoo\b", ["a foo b", "foo"], ["food"]),
        (r"o\Bo", ["foo"], ["o o"]),
        (r"^\d{4}-\d{2}$", ["2026-01"], ["226-01", "2026-001"]),
        (r"^\w\W\d\D\s\S$", ["a-1a\nb"], ["--1a\nb", "aa1a\nb", "a-aa\nb", "a-11\nb", "a-1abb", "a-1a\n\n"]),
        ("^[^a-c]{3,}$", ["xyz", "xyzw"], ["xay", "xy"]),
        ("^(a{2,3}){2}$", ["aaaa", "aaaaaa"], ["aaa", "a" * 7]),
        ("^(?:ab?){2,4}$", ["aa", "abab", "abaa"], ["a", "b"]),
        ("^(?:a*|b)*$", ["", "aabb"], ["c"]),
        (r"^(?:\b|a){3}$", ["a", "aaa"], ["b"]),
        ("()|a", ["", "b"], []),
        ("^(?:ab|x)c{2}$", ["abcc", "xcc"], ["abc", "xc"]),
        ("(?P<year>20)x", ["20x"], ["20"]),
        # What is looked for from the start and the end
        ("^(?=.*[0-9])(?=.*[a-z]).{8,}$", ["abcdefg1"], ["abcdefgh", "abcdef1"]),
        ("^(?!.*secret).*$", ["public"], ["a secret b"]),
        (r"\A(?!a|b)c?", ["c", "", "x"], ["a", "bc"]),
        ("(?i)^(?!A)", ["b"], ["a", "A"]),
        ("^(?!)", [], ["", "a"]),
        ("^(?!-)[a-z-]{1,6}(?<!-)$", ["a-b", "abc"], ["-a", "a-", "abcdefg"]),
        (r"[a-z](?<!b)(?<=a|c)\Z", ["a", "bc"], ["b", "d", ""]),
        # What Rust spells in another way
        (r"\/\-\_\é\<\>\#\ \&\~", ["/-_é<># &~"], ["a"]),
        (r"^\x41\u0042[\x43-\u0044]$", ["ABC", "ABD"], ["ABB"]),
        (r"[[a]b]", ["[b]", "ab]"], ["b]", "a"]),
        (r"^[a&&b~~]+$", ["a&", "b~"], ["c"]),
        (r"^[\w-]+$", ["a-b"], ["a b"]),
        (r"^[a-]+$", ["a-"], ["b"]),
        (r"^[-.\d]+$", ["-1.5"], ["a"]),
        (r"^[+\-\.]+$", ["+-."], ["\\"]),
        (r"^[^\W_]+$", ["a1"], ["_", "-"]),
        (r"^[\]\\^]+$", ["]\\^"], ["a"]),
        (r"^[\b]$", ["\b"], ["b"]),
        ("^{a}]$", ["{a}]"], ["a"]),
        (r"^a{1}{$", ["a{"], ["a"]),
        (r"\n\t\r\f\v", ["\n\t\r\f\v"], ["n"]),
    ],
)
def test_what_is_found(wanted, found, others):
    made = compiled(wanted)
    for each in (*found, *others):
        assert made.found(each) is (re.search(wanted, each) is not None) is (each in found), each


@pytest.mark.parametrize(
    ("wanted", "found", "others"),
    [
        ("^a$", [], ["a\n"]),
        (r"^\d$", [], ["٢"]),
        (r"^\w$", [], ["é"]),
        (r"x\b", ["xé"], []),
        (r"^\s$", ["\u2003", "\xa0"], ["\x1c"]),
        (r"^[^\0]+$", ["a0"], ["a\0"]),
        (r"^\0$", ["\0"], ["0"]),
        (r"^\uD83D\ude00$", ["\U0001f600"], ["\ud83d"]),
        (r"^[\u0020-\uD7FF\uE000-\uFFFD\uD800\uDC00-\uDBFF\uDFFF\t]*$", ["\U0001f600\t"], ["\n", "\0"]),
        (r"^[\w-.]+@[\w-.]+$", ["a-b.c@d.e"], ["a b"]),
        (r"^[a-\d]+$", ["a-1"], ["b"]),
        (r"^\p{L}+$", ["é"], ["1"]),
        (r"^[\p{Lu}\p{Nd}]$", ["É"], ["é"]),
        (r"^(?<year>[0-9]{4})$", ["2026"], ["20"]),
        (r"^\u{1F600}$", ["\U0001f600"], ["a"]),
        (r"\Aa\z", ["a"], ["a\n", "az"]),
        (r"[a-z](?<!b)(?<=a|c)\z", ["a", "bc"], ["b", "d", ""]),
    ],
)
def test_where_python_reads_it_in_another_way_it_is_as_in_ecmascript(wanted, found, others):
    made = compiled(wanted)
    assert {each: made.found(each) for each in (*found, *others)} == dict.fromkeys(found, True) | dict.fromkeys(
        others, False
    )


def test_half_a_character_is_some_character():
    assert compiled("^a.$").found("a\ud800")
    assert not compiled("[a-z]").found("\ud800")
    assert compiled("a\ud83d").found("a\ud83d")
    assert compiled("^[^\ud800-\udfff]$").found("é")


UNCHECKED = [
    # What looks around, references, orders of ways, repeats of nothing, other spellings, and what is too large
    "(?<=x)a|(?<!b)c", "a(?=b)", "(?!a)", "^a(?!b)", "^(?!a)b|c", "(?m)^(?!a)b", "^((?!a).)*$", "^(?=a)*b", "(?=a)+",
    r"^(['\"]).*\1$", r"(?P<a>x)(?P=a)", r"(?<a>x)\k<a>", "(a)?(?(1)b|c)",
    "(?>a|ab)c", "a*+a", "a{2}+", "a**", "^*", "*", "a|+",
    "a{,3}", "a{2,1}", "a{9999999}", "[^]", "[]a]", "[b-a]", "[a--b]", r"\x4", r"\u12", r"\c", r"\07", r"\N{DIGIT ONE}",
    "(?a)a", "(?x)a b", "(?#c)a", "(", ")", "(a))", "[a", "\\", "(?P<a>x)(?P<a>y)", "(" * 400 + ")" * 400, r"\ud83d",
    "(a{1000}){1000}", "(?:a?b?c?d?){2000}x", r"\p{L}{1,200}", ".{9999}", "x" * 5_001, "[a-z]{1,9999}x",
]  # fmt: skip


@pytest.mark.parametrize("written", UNCHECKED)
def test_what_is_not_checked_is_said_with_its_place_and_the_tool_can_be_used(written):
    tool = Tool(name="f", parameters={"properties": {"x": {"type": "string", "pattern": written}}})
    (said,) = tool.unchecked_patterns
    assert re.match(r"tool 'f': #/properties/x/pattern: the pattern .* is not checked: .*[a-z]", said)
    assert parse(call(("x", "some text")), [tool]).calls[0].arguments == {"x": "some text"}
    notes = Notes()
    definition = {"name": "f", "input_schema": tool.parameters}
    assert read_tools([definition], lambda each, at: read_tool(each, at, notes), notes)
    assert notes.warnings == [said]


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"pattern": "(?!a)"}},
        {"not": {"$ref": "#/$defs/unchecked"}},
        {"not": {"items": {"anyOf": [{"$ref": "#/$defs/unchecked"}]}}},
        {"oneOf": [{"pattern": "(?!a)"}, {"type": "string"}]},
        {"oneOf": [{"$ref": "#/$defs/unchecked"}, {"type": "string"}], "anyOf": [True]},
        {"if": {"pattern": "(?!a)"}, "then": False},
        {"contains": {"pattern": "(?!a)"}, "maxContains": 1},
        {"patternProperties": {"(?!a)": {"type": "integer"}}, "additionalProperties": False},
        {"additionalProperties": False, "patternProperties": {"(?!a)": {"type": "integer"}}},
        {"unevaluatedProperties": False, "patternProperties": {"(?!a)": {"type": "integer"}}},
        {"propertyNames": {"pattern": "(?!a)"}},
        {"nullable": True, "not": {"pattern": "(?!a)"}},
        {"if": {"properties": {"a": {"pattern": "(?!a)"}}}, "unevaluatedProperties": False},
        {"if": {"pattern": "(?!a)"}, "else": {"properties": {"a": {}}}, "unevaluatedProperties": False},
        {"if": {"items": {"pattern": "(?!a)"}}, "unevaluatedItems": False},
    ],
)
def test_no_value_is_refused_because_of_what_is_not_checked(schema):
    schema = {"properties": {"x": schema}, "$defs": {"unchecked": {"pattern": "(?!a)"}}}
    shape = compile_schema(schema)
    for value in ("a", ["a", "b"], {"a": "text"}):
        assert not find_problems({"x": value}, shape), value


def test_a_schema_with_very_many_patterns_takes_no_time():
    schemas = {f"p{number}": {"type": "string", "pattern": f"^.{{1,1100}}{number}$"} for number in range(200)}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"pattern": "^a$"}, **schemas}})
    assert effort(lambda: tool.shape) < 1_000
    assert "too large together" in tool.unchecked_patterns[-1]
    assert parse(call(("a", "b")), [tool]).errors and parse(call(("p199", "b")), [tool]).calls


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.full
def test_patterns_are_found_where_re_finds_them(seed, depth):
    rng = Random(f"{seed} {depth}")
    decided = 0
    for _ in range(400):
        written = pattern(rng, depth)
        try:
            made = compiled(written)
        except UncheckedError:
            continue
        python = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", written) if not written.startswith("(?m") else written)
        for _ in range(4):
            given = text(rng) or "a"  # `re` learns with Python 3.14 that `\\B` is in an empty text
            assert made.found(given) is (python.search(given) is not None), (written, given)
            decided += 1
    assert decided > 400


@pytest.mark.parametrize("written", HOSTILE)
@pytest.mark.no_cover
@pytest.mark.full
def test_time_grows_with_the_text_and_no_faster(written):
    try:
        made = compiled(written)
    except UncheckedError:
        return
    for unit in ("a", "ab", "x", "a,", "word1", "aX", "é"):
        assert effort(lambda unit=unit: made.found((unit * 5_000)[:1_000] + "!")) < 100
        assert effort(lambda unit=unit: made.found((unit * 10_000)[:9_999] + "!")) < 1_000
        assert effort(lambda unit=unit: made.found((unit * 1_000_000)[:999_999] + "!")) < 2_000


@pytest.mark.parametrize("written", ["(?:(?:.{0,20}a){0,9}){6}z", "(?:a|b|x|ab|ba|xa){270}y", "(?:.*a|.*b){340}y"])
@pytest.mark.no_cover
def test_the_largest_patterns_have_a_bound_for_each_character(written):
    made = compiled(written)
    rng = Random(written)
    assert made.size > MAX_SIZE * 0.8
    assert effort(lambda: made.found("".join(rng.choices("abx", k=MAX_PATTERN_TEXT)))) < 1_000


@pytest.mark.parametrize("size", [10, 1_000, 1_000_000])
@pytest.mark.parametrize(
    ("written", "found"),
    [
        (r"(a+)+$", False),
        (r"(a|a)*$", True),
        (r"(.*)*x", False),
        (r"a*a*a*a*$", True),
        (r"^a*a*a*a*$", False),
        (r"(a|aa)+$", False),
        (r"^(?=(a+)+b)(a+)+c", False),
        (r"(x+x+)+y", False),
        (r"(a*){50}b", False),
        (r"(a+)+!$", True),
    ],
)
def test_these_are_told_of_any_text(written, found, size):
    assert compiled(written).found("a" * size + "!") is found


def test_words_of_a_long_pattern_are_told_apart():
    words = [f"word{number}" for number in range(300)]
    made = compiled(f"^({'|'.join(words)})$")
    assert made.found("word299") is True
    assert made.found("word300") is False
    assert compiled("|".join(words)).found("word " * 1_999 + "word7") is True


def call(*arguments: tuple[str, str]) -> str:
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in arguments)
    return f"<tool><tool_name>f</tool_name><arguments>{inner}</arguments></tool>"


def test_a_text_that_is_too_long_for_a_pattern_does_not_match_and_the_error_says_so():
    tool = Tool(name="f", parameters={"properties": {"x": {"type": "string", "pattern": "a{3000}|b"}}})
    longest = compiled("a{3000}|b").longest
    assert longest >= MAX_PATTERN_TEXT
    assert parse(call(("x", "b" * longest)), [tool]).calls
    reply = parse(call(("x", "b" * (longest + 1))), [tool])
    assert f"x: expected at most {longest} characters, got {longest + 1}" in reply.errors[0].message
    assert "matches a{3000}|b" in parse(call(("x", "a")), [tool]).errors[0].message


def test_a_name_that_is_too_long_for_a_pattern_does_not_pass():
    parameters = {"type": "object", "patternProperties": {"a{3000}|b": {"type": "integer"}}}
    tool = Tool(name="f", parameters=parameters)
    assert parse(call(("b", "5")), [tool]).calls[0].arguments == {"b": 5}
    name = "b" * (compiled("a{3000}|b").longest + 1)
    long = f'<tool>{{"tool_name": "f", "arguments": {{"{name}": "five"}}}}</tool>'
    assert "a name of at most" in parse(long, [tool]).errors[0].message


def test_a_pattern_that_is_no_text_is_refused():
    with pytest.raises(XMLToolsError, match="#/properties/x/pattern: expected a string"):
        _ = Tool(name="f", parameters={"properties": {"x": {"pattern": 5}}}).shape
