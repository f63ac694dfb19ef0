"""The neutral suite through the servers of vLLM and SGLang, with the plugins' parsers. `make plugins` runs it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from support import engine_servers
from support.engine_servers import SERVERS, Choice

engine_servers.load()

from canitoolcall import results  # noqa: E402
from conformance import job  # noqa: E402
from support.neutral import all_fixtures, judge  # noqa: E402

from xmltools.dialects import for_model  # noqa: E402
from xmltools.engine_plugins.names import ParserName, reasoning_parsers  # noqa: E402

REASONING = set(map(str, reasoning_parsers()))

SENTENCE = {"gpt-oss/llamacpp-builtin-python-recipient"}
"""The suite wants no text there; ours says which call was not made."""


def result(choice: Choice) -> Any:
    calls = [results.ParsedToolCall(name=each["name"], arguments_raw=each["arguments"]) for each in choice.calls]
    return results.ParseResult(
        content=choice.content or None, reasoning_content=choice.reasoning or None, tool_calls=calls
    )


def cut(pieces: list[str], sizes: Iterable[int]) -> list[str]:
    chunks, at = [], 0
    for size in sizes:
        chunks.append("".join(pieces[at : at + size]))
        at += size
    return [chunk for chunk in chunks if chunk]


@pytest.mark.parametrize("engine", SERVERS)
def test_every_fixture(engine: str) -> None:
    failed = []
    for fixture in all_fixtures():
        if (engine, fixture.family) == ("vllm", "gpt-oss"):
            continue  # vLLM reads it with its own parser, whatever parser is named
        made = job(fixture, is_plugin=True)
        name = ParserName(for_model(fixture.models[0]), whole=True)
        reasoning = str(name._replace(whole=False))
        server = SERVERS[engine](str(name), reasoning if reasoning in REASONING else None, marks=made["marks"])
        asked: dict[str, Any] = {"prompt": made["prompt"], "tools": made["tools"] or None}
        pieces = server.tokens.pieces(made["text"])
        whole = server.ask([[made["text"]]], stream=False, **asked)
        streams = {way: server.ask([cut(pieces, sizes)], stream=True, **asked) for way, sizes in made["cuts"].items()}
        assert not [answer.error for answer in streams.values() if answer.error]
        status, _ = judge(fixture, result(whole.only), {way: result(each.only) for way, each in streams.items()})
        if status not in (results.Status.PASS, results.Status.SOFT_PASS):
            failed.append(fixture.id)
        for answer in (whole, *streams.values()):
            assert all(isinstance(json.loads(call["arguments"]), dict) for call in answer.only.calls)
    assert set(failed) <= SENTENCE
