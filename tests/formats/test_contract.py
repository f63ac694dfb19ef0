"""What holds for each of the eight formats: law 10, and that writing leaves the conversation as it was.

What a format does besides is in the file of that format; what is lost between two of them, in `test_pairs`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from support.conversations import conversations

from xmltools.errors import Issue
from xmltools.formats import FORMATS, dump, holds, load
from xmltools.formats.wolo import complete
from xmltools.models import Conversation

OPTIONS: dict[str, dict[str, Any]] = {
    "openai": {"content": "parts"},
    "anthropic": {"orphans": "answer"},
    "gemini": {"ids": True},
}
"""Options that change what is written."""
STRICTLY: dict[str, dict[str, Any]] = {name: {"strict": True} for name in ("clawtools", "robotlab", "wick")}
"""Formats whose own writing is read, and written again, without an issue."""
NOT_KEPT = {"robotlab": {"finish_reason"}, "forge": {"parts", "extra"}}
"""Fields of messages that reading may fill in: they are no part of equality."""


@pytest.mark.parametrize("format", FORMATS)
def test_what_a_format_holds_comes_back(format: str) -> None:
    @given(conversations(holds(format), grouped=format in ("anthropic", "gemini")))
    def check(said: Conversation) -> None:
        said = complete(said) if format == "wolo" else said  # it has ids and times of its own
        issues: list[Issue] = []
        written = dump(said, format, issues=issues)
        back = load(json.loads(json.dumps(written)), format, strict=True)
        assert back == said
        left_out = NOT_KEPT.get(format)
        assert [each.model_dump(exclude=left_out) for each in back] == [
            each.model_dump(exclude=left_out) for each in said
        ]
        # Ids that were made by counting are made again.
        assert {issue.code for issue in issues} <= ({"call_ids"} if format in ("gemini", "forge") else set())

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_written_is_written_again(format: str) -> None:
    @given(conversations())
    def check(said: Conversation) -> None:
        for options in ({}, OPTIONS.get(format, {})):
            written = dump(said, format, issues=[], **options)
            text = json.dumps(written)
            back = load(written, format, **STRICTLY.get(format, {"issues": []}))
            assert json.dumps(dump(back, format, **STRICTLY.get(format, {"issues": []}))) == text
            assert json.dumps(written) == text

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_writing_changes_nothing_in_the_conversation(format: str) -> None:
    @given(conversations())
    def check(said: Conversation) -> None:
        before = said.model_dump()
        for options in ({}, OPTIONS.get(format, {})):
            dump(said, format, issues=[], **options)
        assert said.model_dump() == before

    check()
