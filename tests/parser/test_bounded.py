"""No text makes the parser recurse, or keep more than a small multiple of the largest block; errors come instead.

The texts are in `adversarial.py`, which reads them in a process of its own, with a recursion limit of 150 and little
memory (RLIMIT_AS). What a JSON body can hold that is too large is tried here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="limits of memory are those of Unix")
from support.adversarial import CHUNK, DEEP, ENDLESS, Outcome

from xmltools.errors import Code
from xmltools.models import Reply
from xmltools.parser import parse
from xmltools.tools import Tool

needs_limits = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="RLIMIT_AS is enforced on Linux")
SCRIPT = Path(__file__).parents[1] / "support" / "adversarial.py"


def outcomes(kind: str, name: str) -> list[Outcome]:
    """What came of a text of a kind, read in one piece and in small ones if it is deep."""
    done = subprocess.run([sys.executable, str(SCRIPT), kind, name], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(**json.loads(line)) for line in done.stdout.splitlines()]


# What is deep.

# Errors of the deep texts, where they are not `limit_exceeded`; those of `blocks` are as many as there are blocks.
NONE: tuple[str, ...] = ()
DEEP_ERRORS = {
    "elements in a list": NONE,
    "arrays in any value": NONE,
    "elements in a string": NONE,
    "blocks": ("malformed_markup",),
    "end tags": NONE,
    "CDATA": NONE,
    "comments": NONE,
    "entities": NONE,
    "tuples in a list": NONE,
    "minus signs in a list": ("invalid_arguments",),
    "reasoning": NONE,
    "reasoning that stays open": NONE,
    "comments outside": NONE,
    "sections outside": NONE,
    "backticks": NONE,
    "backslashes": NONE,
    "pieces of inline code": NONE,
    "end tags of reasoning": NONE,
    "brackets": NONE,
    "brackets at line starts": NONE,
    "fences": NONE,
}
# JSON in a leaf: `limit_exceeded`, or, where the stack is as small as here, what does not fit for want of levels.
EITHER = {"arrays in a list", "objects in an object", "Python objects in an object"}
OPEN = {"elements that stay open", "arrays that stay open", "reasoning that stays open", "blocks"}


@needs_limits
@pytest.mark.parametrize("name", DEEP)
def test_depth_is_an_error_and_no_exception(name: str) -> None:
    whole, cut = outcomes("deep", name)
    assert whole.chunk > cut.chunk == CHUNK
    for outcome in (whole, cut):
        assert outcome.raised == []
        errors = set(outcome.errors)
        if name in EITHER:
            assert errors in ({"limit_exceeded"}, {"invalid_arguments"})
        else:
            assert errors == set(DEEP_ERRORS.get(name, ("limit_exceeded",)))
        assert name in OPEN or outcome.calls[-1] == len("good"), "what follows is parsed"


# What has no end.

ENDLESS_ERRORS = {
    "prose": NONE,
    "prose with markup": NONE,
    "mentions": NONE,
    "white space behind an opener": NONE,
    "reasoning": NONE,
    "a bracket": NONE,
    "reasoning in one line": NONE,
    "a line": NONE,
    "a comment outside": NONE,
    "a section outside": NONE,
    "a fence": NONE,
    "backslashes": NONE,
    "backticks": NONE,
    "a tag": ("malformed_markup",),
    "no JSON": ("invalid_json",),
    "braces after a body": ("invalid_json",),
    "what follows an error": ("forbidden_markup",),
    "calls of no tool": ("unknown_tool",),
}


@needs_limits
@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_read_in_constant_memory(name: str) -> None:
    (outcome,) = outcomes("endless", name)
    assert outcome.raised == []
    assert set(outcome.errors) == set(ENDLESS_ERRORS.get(name, ("limit_exceeded",)))
    assert bool(outcome.calls) == (name == "calls")


# What is too large in JSON.

INTEGERS = {"type": "array", "items": {"type": "integer"}}
TOOL = Tool(
    name="count",
    parameters={"type": "object", "properties": {"n": {"type": "number"}, "list": INTEGERS, "any": {}}},
)


Place = Callable[[str], str]


def body(value: str) -> str:
    return f'<tool>{{"name": "count", "arguments": {{"any": {value}}}}}</tool>'


def body_string(value: str) -> str:
    arguments = json.dumps('{"any": %s}' % value)  # noqa: UP031 - the braces are JSON's
    return f'<tool>{{"name": "count", "arguments": {arguments}}}</tool>'


def json_arguments(value: str) -> str:
    return f'<tool><tool_name>count</tool_name><arguments>{{"any": {value}}}</arguments></tool>'


def in_list(value: str) -> str:
    return f"<tool><tool_name>count</tool_name><arguments><list>[{value}]</list></arguments></tool>"


def leaf(value: str) -> str:
    return f"<tool><tool_name>count</tool_name><arguments><n>{value}</n></arguments></tool>"


def read(text: str) -> Reply:
    return parse(text, [TOOL])


DIGITS = "1" * 10_000
REFUSED = {
    "an exponent": "1e999",
    "a negative number with an exponent": "-1e999999999999",
    "an exponent of a million digits": f"1e{'9' * 1_000_000}",
    "an integer": DIGITS,
    "a negative integer": f"-{DIGITS}",
    "an integer of a million digits": "7" * 1_000_000,
    "an integer in a list": f"[[{DIGITS}]]",
    "a number that is none": "NaN",
    "infinity": "-Infinity",
    "a key twice": '{"a": 1, "b": 2, "a": 3}',
    "a key twice, once in escapes": '{"a": 1, "\\u0061": 2}',
    "a key twice, deeper": '[{"x": {"a": 1, "a": 1}}]',
    "a key 10,000 times": "{" + ", ".join(['"a": 1'] * 10_000) + "}",
    "half a character": '"\\ud800"',
    "the other half": '"x\\udc00"',
    "halves in the wrong order": '"\\udc00\\ud800"',
    "half a character as a key": '{"\\ud800": 1}',
}


@pytest.mark.parametrize("place", [body, body_string, json_arguments], ids=lambda place: place.__name__)
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_json_cannot_hold_is_an_error(place: Place, value: str) -> None:
    reply = read(place(value) + leaf("5"))
    is_number = value.strip("-").startswith("1e") or value.strip("-[]").isdecimal()
    assert [error.code for error in reply.errors] == [Code.INVALID_ARGUMENTS if is_number else Code.INVALID_JSON]
    assert [call.arguments for call in reply.calls] == [{"n": 5}]


@pytest.mark.parametrize("place", [in_list, leaf], ids=lambda place: place.__name__)
@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_what_a_number_cannot_hold_does_not_fit_the_tool(place: Place, value: str) -> None:
    assert [error.code for error in read(place(value)).errors] == [Code.INVALID_ARGUMENTS]


def test_half_a_character_itself_is_refused_in_json_only() -> None:
    assert [error.code for error in read(body('"\ud800"')).errors] == [Code.INVALID_JSON]
    (call,) = read(leaf("5").replace("n>", "any>").replace("5", "\ud800")).calls
    assert call.arguments == {"any": "\ud800"} and not call.clean


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("1e-999999999999", 0.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        (f"0.{'3' * 1_000_000}", 1 / 3),
        ("-0.0", -0.0),
        ("9" * 4300, 10**4300 - 1),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "",
)
def test_numbers_that_json_can_hold_are_read(value: str, meant: float) -> None:
    for place, name in ((body, "any"), (body_string, "any"), (json_arguments, "any"), (leaf, "n")):
        (call,) = read(place(value)).calls
        assert call.arguments == {name: meant} and type(call.arguments[name]) is type(meant)


@pytest.fixture
def few_digits() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.usefixtures("few_digits")
@pytest.mark.parametrize("place", [body, body_string, json_arguments, in_list, leaf], ids=lambda place: place.__name__)
def test_a_host_that_allows_fewer_digits_gets_an_error_and_no_exception(place: Place) -> None:
    assert read(place("1" * 1000)).errors
