"""The façade: formats by name, issues as warnings, as a list or as errors, and values that share nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from conversations import conversations
from hypothesis import given

import xmltools as xt
from xmltools.formats import FORMATS, recognise

CALL = xt.ToolCall(id="c1", name="add", arguments={"list": [1, {"a": 2}]}, server="disk")
CHAT = xt.Conversation().user("Go").assistant("", [CALL]).tool("c1", content="done")


def test_losses_are_warnings_unless_there_is_a_list() -> None:
    with pytest.warns(xt.ConversionWarning, match="message 1: openai cannot hold servers of tools"):
        xt.dump(CHAT, "openai")
    issues: list[xt.Issue] = []
    xt.dump(CHAT, "openai", issues=issues)
    assert [(issue.code, issue.index) for issue in issues] == [("servers", 1)]
    with pytest.raises(xt.XMLToolsError, match="strict: message 1: openai cannot hold servers"):
        xt.dump(CHAT, "openai", strict=True)


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_dumped_or_loaded_shares_nothing_with_the_conversation(format: str) -> None:
    before = CHAT.model_dump_json()
    written = xt.dump(CHAT, format, issues=[])
    given_text = json.dumps(written)
    read = xt.load(written, format, issues=[])
    read_before = read.model_dump_json()
    spoil(written)
    assert CHAT.model_dump_json() == before
    assert read.model_dump_json() == read_before
    assert json.dumps(xt.dump(read, format, issues=[])) == given_text


def spoil(value: Any) -> None:
    for each in list(value.values() if isinstance(value, dict) else value):
        if isinstance(each, (dict, list)):
            spoil(each)
    value.clear()


@given(conversations())
def test_an_object_is_recognised_as_its_own_format_or_as_none(said: xt.Conversation) -> None:
    for format in FORMATS:
        written = xt.dump(said, format, issues=[])
        try:
            assert recognise(written) == format
        except xt.XMLToolsError as error:
            assert "bears no mark" in str(error) or "say which" in str(error)


def test_formats_that_are_none() -> None:
    with pytest.raises(xt.XMLToolsError, match="no format 'antropic'; did you mean anthropic"):
        xt.load([], "antropic")
    with pytest.raises(xt.XMLToolsError, match=r"expected xmltools\.Conversation, got list"):
        xt.dump([], "openai")  # type: ignore[arg-type]
    with pytest.raises(xt.XMLToolsError, match="bears no mark of a format: say which"):
        xt.convert([{"role": "user", "content": "x"}], None, "openai")


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_nested_without_end_is_refused(format: str) -> None:
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    with pytest.raises(xt.XMLToolsError):
        xt.load(deep, format)


def test_what_a_request_holds_beside_its_messages_is_reported() -> None:
    request = {"model": "m", "tools": [], "messages": xt.dump(CHAT, "openai", issues=[])}
    issues: list[xt.Issue] = []
    xt.convert(request, "openai", "anthropic", issues=issues)
    assert [str(issue) for issue in issues] == ["what only openai knows of the request is left out: model, tools"]


def test_ids_beside_a_text_are_no_loss() -> None:
    plain = xt.transcript.inline(CHAT)
    assert any(message.extra for message in plain)
    xt.dump(plain, "openai", strict=True)


def test_a_spelling_of_forge_is_no_loss_but_other_keys_are() -> None:
    written = [{"role": "assistant", "content": "a <tool><tool_name>f</tool_name></tool> b"}]
    for others, codes in (({}, set()), ({"mood": "good"}, {"extra"})):
        issues: list[xt.Issue] = []
        xt.convert([{**written[0], **others}], "forge", "anthropic", issues=issues)
        assert {issue.code for issue in issues} == codes
