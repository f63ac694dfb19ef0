"""Literals of Python that JSON can hold are read as `ast.literal_eval` reads them, and no others (PROTOCOL.md, 6.2)."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from support.python_calls import loads_call

from xmltools.errors import Code
from xmltools.syntax.json_reader import JSONError, JSONNumberError, loads_lenient
from xmltools.tools.schema.written_numbers import text_of, written_number

PYTHON = Code.PYTHON_LITERAL
STRINGS = [
    r"r'a\n\d\'b'",
    r"R'\\'",
    "u'ä'",
    "U'''a'''",
    '''"""a "b" ''c''\n\td"""''',
    "''''a'''",
    r"""'''a\\'''""",
    r"""'''a\n'''""",
    r"""r'''\a
    '''""",
    "''''''",
    '""""""',
    "'a' 'b'",
    "'a'\n \t'b' '' r'\\c'",
    "\"it's\" ' mine'",
    "'''a''' 'b'",
    '"""a\\"""" \'b\'',
]
NUMBERS = ["1_000", "0x1f", "0XFF_FF", "-0b11", "0o17", "+5", "+.5", "5.", "1_0.2_5e1_0"]
SETS = ["{1, 2, 3}", "{'a'}", "{'a', \"b\",}", "{(1, 2), None}", "{-1, 'a', r'\\d'}", "{'a', True, 2.5}"]


def as_json(value: Any) -> Any:
    """What a value of Python is in JSON; the items of a set in the order of their text."""
    if isinstance(value, (set, tuple, list)):
        items = [as_json(each) for each in value]
        return sorted(items, key=repr) if isinstance(value, set) else items
    return value


@pytest.mark.parametrize("text", [*STRINGS, *NUMBERS, *SETS])
def test_what_python_reads_is_read(text: str) -> None:
    [meant] = ast.literal_eval(f"[{text}]")
    [value], slips = loads_lenient(f"[{text}]")
    found = sorted(value, key=repr) if isinstance(meant, set) else value
    assert repr(found) == repr(as_json(meant))
    assert slips[0][0] is PYTHON
    assert {code for code, _, _ in slips} <= {PYTHON, Code.JSON_ESCAPE}
    assert loads_call(f"(a={text}, b=1)")[0] == {"a": value, "b": 1}


def test_a_set_keeps_what_is_written_twice() -> None:
    assert loads_lenient("[{1, 2, 1}]")[0] == [[1, 2, 1]]
    assert loads_lenient("{}") == ({}, [])


@pytest.mark.parametrize(("text", "value"), [("07", 7), ("-007.50", -7.5), ("+0042", 42), ("00_1e2", 100.0)])
def test_zeros_in_front_of_a_number_need_a_schema_that_says_what_they_are(text: str, value: float) -> None:
    for read, source, offset in ((loads_lenient, f"[{text}]", 1), (loads_call, f"(a={text})", 3)):
        with pytest.raises(JSONNumberError) as caught:
            read(source)
        assert (caught.value.message, caught.value.offset) == ("a number with zeros in front", offset)
    number = written_number(text)
    assert (number, text_of(number)) == (value, text)


def test_two_strings_in_a_call_of_python_are_one_and_in_json_lack_a_comma() -> None:
    assert loads_call('(a="b"\n"c")') == ({"a": "bc"}, [])
    with pytest.raises(JSONError):
        loads_lenient('{"a": "b" "c"}')


@pytest.mark.parametrize(
    "value",
    [
        *("b'x'", "rb'x'", "f'x'", "fr'x'", "1j", "1+2j", "...", "set()", "x", "print('a')"),
        *("1__0", "1_", "_1", "0x", "0b2", "0o8", "1.2.3", "--1", "0x" + "f" * 4_000, "1" * 5_000, "+1e400", "inf"),
        *("'b''c'", '"b""c"', "'a' 1", "1 'a'", "['a'] 'b'", "r 'a'", "'''a''", "{'a': 1, 'b'}", "{'a': 1, 2}"),
        *("{'a', 'b': 1}", "{1: 'a'}", "{a, 'b'}", "{,}", "{'a' 'b'}", "{1 2}", "r'\\'"),
    ],
)
def test_other_python_is_refused(value: str) -> None:
    for read, text in ((loads_lenient, f"{{'a': {value}}}"), (loads_call, f"(a={value})")):
        with pytest.raises(JSONError):
            read(text)
