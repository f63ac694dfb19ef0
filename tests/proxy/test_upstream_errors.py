"""What an upstream's error says, in the forms that servers have for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmltools.proxy.bridge.client_errors import error_message, error_status, is_error

# Who says it; what is said; the message; the status in it.
SAID: dict[str, tuple[Any, str, int]] = {
    "OpenAI": ({"error": {"message": "no", "type": "t", "param": None, "code": "x"}}, "no", 502),
    "llama.cpp": ({"error": {"code": 400, "message": "no", "type": "t"}}, "no", 400),
    "a code that is text": ({"error": {"code": "429", "message": "no"}}, "no", 429),
    "a status": ({"error": {"status": 503, "message": "no"}}, "no", 503),
    "Ollama": ({"error": "no"}, "no", 502),
    "vLLM before its error was an object": ({"object": "error", "message": "no", "code": 404}, "no", 404),
    "a message alone": ({"message": "no"}, "no", 502),
    "FastAPI": ({"detail": "no"}, "no", 502),
    "FastAPI, of a field": ({"detail": [{"loc": ["body", "n"], "msg": "no", "type": "t"}]}, "no", 502),
    "FastAPI, with an error inside": ({"detail": {"error": {"message": "no"}}}, "no", 502),
    "an error that only says that it is one": ({"error": True, "message": "no"}, "no", 502),
    "an error without words, beside them": ({"error": {"code": 500}, "message": "no"}, "no", 500),
    "an empty message, beside words": ({"error": {"message": " "}, "detail": "no"}, "no", 502),
    "text": ("no", "no", 502),
    "a code that is no error": ({"error": {"message": "no", "code": 200}}, "no", 502),
    "a code that is no status": ({"error": {"message": "no", "code": 1e9}}, "no", 502),
    "a code that is true": ({"error": {"message": "no", "code": True}}, "no", 502),
}


@pytest.mark.parametrize("who", SAID)
def test_the_message_and_the_status_are_found(who: str) -> None:
    said, message, status = SAID[who]
    assert error_message(said) == error_message(json.dumps(said).encode()) == message
    assert error_status(said) == status


@pytest.mark.parametrize(
    "said", [b"", b"<html>", b"\xff", b"[" * 100_000, b"{}", b"null", b'{"error": {}}', b'{"error": {"message": 5}}']
)
def test_where_there_is_no_message_the_status_is_told(said: bytes) -> None:
    assert error_message(said, 503) == "the upstream answered with status 503"
    assert error_message(said) == "the upstream reported an error"


def test_half_a_character_is_replaced() -> None:
    assert error_message({"error": "a\ud800b \ud83d\ude00"}) == "a\ufffdb 😀"
    assert error_message(b'{"error": "a\\ud800b"}') == "a\ufffdb"


def test_a_long_message_is_cut() -> None:
    assert error_message({"error": "x" * 10_000}) == "x" * 2_000


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"error": {"message": "no"}}, True),
        ({"object": "error", "message": "no"}, True),
        ({"error": None, "choices": []}, False),
        ({"object": "chat.completion.chunk", "choices": []}, False),
        (["error"], False),
        (None, False),
    ],
)
def test_an_error_is_told_from_a_chunk(said: Any, told: bool) -> None:
    assert is_error(said) is told


NAMES = st.sampled_from(["error", "message", "detail", "msg", "code", "status", "object"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
)


@given(JSON)
def test_nothing_that_an_upstream_says_raises(said: Any) -> None:
    assert error_message(said).strip()
    assert 400 <= error_status(said) < 600
    assert isinstance(is_error(said), bool)


def test_an_error_that_is_nested_deeply_has_no_message() -> None:
    said: Any = "no"
    for _ in range(100_000):
        said = {"error": said}
    assert error_message(said, 500) == "the upstream answered with status 500"
