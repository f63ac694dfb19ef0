"""Fields of foreign JSON: one wording of errors, in which no content is shown."""

import pytest

from xmltools import XMLToolsError
from xmltools.models.json_fields import expect, fail, found
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.incoming import refusal

SECRET = "a secret"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (SECRET, "text"),
        (True, "a boolean"),
        (5, "a number"),
        (0.5, "a number"),
        ([SECRET], "a list"),
        ((SECRET,), "a list"),
        ({SECRET: SECRET}, "an object"),
        (b"", "bytes"),
    ],
)
def test_a_value_is_named_by_its_type(value, words):
    assert found(value) == words


def test_a_value_is_shown_only_where_a_fixed_word_was_expected():
    assert found("hacker", is_word=True) == "'hacker'"
    assert found("x" * 50, is_word=True) == repr("x" * 40 + "…")
    assert found([SECRET], is_word=True) == "a list"


def test_what_is_of_the_kind_is_returned():
    assert expect("a", str, "messages[2].content", "text") == "a"
    with pytest.raises(XMLToolsError, match=r"^messages\[2\]\.content: expected text, got a number$"):
        expect(5, str, "messages[2].content", "text")
    with pytest.raises(XMLToolsError, match=r"^n: expected a number, got a boolean$"):
        expect(True, int, "n", "a number")


def test_the_kind_of_error_is_the_callers():
    with pytest.raises(Refusal, match=r"^input: expected a list, got text$") as raised:
        fail("input", "a list", SECRET, refusal)
    assert raised.value.param == "input"
