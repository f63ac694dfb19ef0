"""Strict JSON, what is mended, Python literals, and the time that all of it takes."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.python_calls import loads_call

from xmltools.errors import Code
from xmltools.syntax.json_reader import JSONError, JSONEscapeError, loads, loads_lenient

STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_reads_what_json_writes(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert loads(text) == (value, [])
    assert loads_lenient(text) == (value, [])


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ('{"a": 1, "a": 2}', "repeated", 9),
        ('{"b": {"a": 1}, "a": 1, "\\u0061": 2}', "repeated", 24),
        ("[1, NaN]", "NaN", 4),
        ("[1, NaN x]", "NaN", 4),
        ("[Infinity]", "Infinity", 1),
        ("[-Infinity]", "Infinity", 1),
        ("[1, 1e400]", "too large", 4),
        ('["1e400", -1e400]', "too large", 10),
        ("[" + "1" * 4301 + "]", "digits", 1),
        ('"\ud800"', "surrogate", 1),
        ('["\\ud800"]', "surrogate", 2),
        ('"\\\\\\udc00\\ud800"', "surrogate", 3),
        ('"\\ud83dx"', "surrogate", 1),
        ('"\\uD83Dx"', "surrogate", 1),
        ("[" * 65 + "]" * 65, "64", 64),
        ("", "expecting value", 0),
        ("{} x", "extra data", 3),
        ("[,]", "expecting value", 1),
        ("{,}", "property name", 1),
        ("[1,,]", "expecting value", 3),
        ("{'a': 1}", "property name", 1),
        ('{"a": tru}', "expecting value", 6),
        ("\ufeff{}", "BOM", 0),
        ("[01]", "delimiter", 2),
        ("[\v1]", "expecting value", 1),
    ],
)
def test_refuses(text, message, offset):
    with pytest.raises(JSONError) as caught:
        loads(text)
    assert message in caught.value.message or message in str(caught.value)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("text", "value", "slips"),
    [
        ('{"a": "x\ny"}', {"a": "x\ny"}, [(Code.JSON_LINE_BREAK, 8)]),
        ('["\t", "\n"]', ["\t", "\n"], [(Code.JSON_LINE_BREAK, 2)]),
        ("[1, [2,], 3 , ]", [1, [2], 3], [(Code.JSON_TRAILING_COMMA, 6)]),
        ('{"a,]": ",}",\n}', {"a,]": ",}"}, [(Code.JSON_TRAILING_COMMA, 12)]),
        ('["\x00", 1,]', ["\x00", 1], [(Code.JSON_LINE_BREAK, 2), (Code.JSON_TRAILING_COMMA, 7)]),
    ],
)
def test_mends(text, value, slips):
    read, found = loads(text)
    assert read == value
    assert [(code, offset) for code, offset, _ in found] == slips


def test_limits_are_reached_exactly():
    assert loads("[" * 64 + "]" * 64)[1] == []
    assert loads("-" + "1" * 4300)[0] < 0
    assert loads('"' + "[" * 100 + '"')[0] == "[" * 100
    assert loads("[[]]", depth=2)[0] == [[]]
    with pytest.raises(JSONError):
        loads("[[]]", depth=1)


PYTHON_STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PYTHON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PYTHON_STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PYTHON_STRINGS, inner, max_size=4),
    max_leaves=15,
)


@given(PYTHON_VALUES.filter(lambda value: isinstance(value, (list, dict))))
def test_reads_what_python_writes(value):
    try:
        read, slips = loads_lenient(repr(value))
    except JSONEscapeError:  # of an escape that only Python has, nobody knows whether it is meant as one
        assert re.search(r"\\[xU]", repr(value))
    else:
        # Where only double quotes were written it is JSON, in which such a backslash is itself, with a repair.
        assert read == value or any(code is Code.JSON_ESCAPE for code, _, _ in slips)


@pytest.mark.parametrize("key", ["\xad'\x85", "\U0001b2fc'"])
def test_an_escape_that_only_python_has_stays_in_json_and_is_reported(key):
    read, slips = loads_lenient(repr({key: 1}))
    assert read == {repr(key)[1:-1]: 1} and Code.JSON_ESCAPE in [code for code, _, _ in slips]


def test_python_literals():
    assert loads_lenient("{'a': (1, 'x',), \"b\": [True, None, false], 'c': -1.5e3,}")[0] == {
        "a": [1, "x"],
        "b": [True, None, False],
        "c": -1500.0,
    }
    assert loads_lenient(r"['\u00e9\ud83d\ude00\'\q']")[0] == ["é😀'\\q"]


ESCAPE, PYTHON = Code.JSON_ESCAPE, Code.PYTHON_LITERAL


@pytest.mark.parametrize(
    ("text", "value", "slips"),
    [
        (r'["C:\temp\new"]', "C:\temp\new", []),  # this is JSON: nobody can tell that it was not meant
        (r'["C:\\temp\\new"]', r"C:\temp\new", []),
        (r'["C:\dir\a.py"]', r"C:\dir\a.py", [(ESCAPE, 4)]),
        (r"['C:\dir\a.py']", r"C:\dir\a.py", [(PYTHON, 1), (ESCAPE, 4)]),
        (r'["\d \" \\ \/ \u00e9"]', r"\d " + '" \\ / é', [(ESCAPE, 2)]),
        (r'["\x41 \u12 \0 \N{DASH} it\'s"]', r"\x41 \u12 \0 \N{DASH} it\'s", [(ESCAPE, 2)]),
        (r"['\a \v \ux \q it\'s']", r"\a \v \ux \q it's", [(PYTHON, 1), (ESCAPE, 2)]),
        (r'["\\\\server\share"]', r"\\server\share", [(ESCAPE, 12)]),
        (r'["a\\d\."]', r"a\d\.", [(ESCAPE, 6)]),
        (r'["\ud83d\ude00\d"]', "😀" + r"\d", [(ESCAPE, 14)]),
        ('["a\\\nb"]', "a\\\nb", [(ESCAPE, 3), (Code.JSON_LINE_BREAK, 4)]),
    ],
)
def test_backslashes_that_begin_no_escape_stay(text, value, slips):
    read, found = loads_lenient(text)
    assert read == [value]
    assert [(code, offset) for code, offset, _ in found] == slips


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        *((rf'["C:\dir\{letter}x"]', 8) for letter in "bfnrt"),
        (r"['\d+\n']", 5),
        (r'["\\server\share"]', 2),
        (r"['\x41']", 2),
        (r"['\q\0']", 4),
        (r"""{'a': "\x41"}""", 7),
        (r"""{"a": "\x41", "b": True}""", 7),
        (r"['\U0001F600']", 2),
        (r"['\N{DASH}']", 2),
        ("['a\\\nb']", 3),
        ("['a\\\r\nb']", 3),
    ],
)
def test_backslashes_of_which_nobody_can_say_what_they_mean(text, offset):
    with pytest.raises(JSONEscapeError) as caught:
        loads_lenient(text)
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("text", "value", "slips"),
    [
        ('{"a": True}', {"a": True}, [(PYTHON, 6)]),
        ("{'a': 1,}", {"a": 1}, [(PYTHON, 1)]),
        ('{"a": (1, 2)}', {"a": [1, 2]}, [(PYTHON, 6)]),
        ('{"a": 1}}', {"a": 1}, [(Code.JSON_EXTRA_BRACE, 8)]),
        ('{"a": 1,} } ', {"a": 1}, [(Code.JSON_TRAILING_COMMA, 7), (Code.JSON_EXTRA_BRACE, 10)]),
        ('{"a": "\\d",}', {"a": "\\d"}, [(ESCAPE, 7), (Code.JSON_TRAILING_COMMA, 10)]),
        ('{"a": [1,], "b": ["\\d",]}', {"a": [1], "b": ["\\d"]}, [(Code.JSON_TRAILING_COMMA, 8), (ESCAPE, 19)]),
        ("{'a': 'x\ny'}", {"a": "x\ny"}, [(PYTHON, 1), (Code.JSON_LINE_BREAK, 8)]),
    ],
)
def test_slips_are_reported_with_their_places(text, value, slips):
    read, found = loads_lenient(text)
    assert read == value
    assert [(code, offset) for code, offset, _ in found] == slips


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1, 'a': 2}",
        "{1: 2}",
        "{'a': (1)}",
        "{'a': nan}",
        "{'a': 1e400}",
        "{'a': __import__('os')}",
        "{'a': '\\ud800'}",
        "{'a': '\\U00110000'}",
        "{'a': '\\N{DASH}'}",
        "{'a': 'x}",
        "{'a' 1}",
        "{'a': 1 'b': 2}",
        "{'a': 1} x",
        "{'a': ,}",
        "{'a': b'x'}",
        "['a'" + ",[" * 70,
        '{"a": 1}}}',
        '{"a": 1}]',
        "[1]}",
        "{'a': 'it's'}",
        "{'a': 'boys' toys'}",
        "'plain'",
        "{'a': " + "1" * 5000 + "}",
        "{'a': 1",
    ],
)
def test_refuses_other_python(text):
    with pytest.raises(JSONError):
        loads_lenient(text)


@given(st.text(st.sampled_from("{}[]()\"'\\,:u0d81eE.-+ntrfal \n\ud800"), max_size=30))
def test_nothing_else_is_raised(text):
    for read in (loads, loads_lenient):
        try:
            value, _ = read(text)
            json.dumps(value, allow_nan=False).encode()
        except JSONError as error:
            assert 0 <= error.offset <= len(text)


def _seconds(text: str) -> float:
    best = 9.0
    for _ in range(3):
        start = time.thread_time()
        with suppress(JSONError):
            loads_lenient(text)
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.parametrize(
    "family",
    [
        lambda n: '"' + '\\"' * n,
        lambda n: '"' + "\\ud83d\\ude00" * (n // 6) + '\\ud800"',
        lambda n: "[" + "," * n,
        lambda n: "[" + "[1,]," * (n // 5) + "]",
        lambda n: '{"a":"' + "x\n" * n + '"}',
        lambda n: "{'a': '" + "\\n" * n + "'}",
        lambda n: "{'a': '" + "\\'" * n,
        lambda n: "{'a': '" + "\\d" * n + "'}",
        lambda n: "{'a': '" + "\\d" * n + "\\n'}",
        lambda n: '{"a": [' + '"\\d",' * (n // 5) + "]}",
        lambda n: "{'a': " + "(" * n,
        lambda n: "{'a': 1" + "}" * n,
        lambda n: "[" + " " * n + ",",
        lambda n: "1" * n,
    ],
)
@pytest.mark.no_cover
@pytest.mark.full
def test_time_is_linear(family):
    small, large = _seconds(family(50_000)), _seconds(family(400_000))
    assert large < max(small, 0.002) * 8 * 4


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("(a=1 b=2)", "'b' is not allowed there", 5),
        ("(a=[1 2])", "'2' is not allowed there", 6),
        ("(a=)", "')' is not allowed there", 3),
        ("(a=nobody)", "expected a value", 3),
        ("(a=1-2)", "expected a value", 3),
        ("(a=1e999, b=2)", "a number that is too large", 3),
        ("(a=1, a=2)", "a key that is repeated", 6),
        ("(a=1, /* b */ c=2)", "'/' is not allowed there", 6),
    ],
)
def test_what_is_wrong_in_a_call_of_python_is_said_with_its_place(text, message, offset):
    with pytest.raises(JSONError) as caught:
        loads_call(text)
    assert (caught.value.message, caught.value.offset) == (message, offset)


@pytest.mark.parametrize("read", [loads, loads_lenient])
def test_a_level_that_was_closed_does_not_count_and_those_around_it_do(read):
    assert read("[[[1],[2]],[[3]],[4]]", depth=3)[0] == [[[1], [2]], [[3]], [4]]
    with pytest.raises(JSONError, match="levels of nesting"):
        read("[[[1],[[2]]]]", depth=3)
