"""Replies such as careless small models write, and what a reader sees in them (tests/careless/README.md)."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from xmltools import Tool, parse
from xmltools.parser import Parser, build_reply
from xmltools.render import render_instructions

FOLDER = Path(__file__).parents[1] / "careless"
DEFINITIONS = json.loads((FOLDER / "tools.json").read_text("utf-8"))
TOOLS = {name: [Tool(**definition) for definition in definitions] for name, definitions in DEFINITIONS.items()}
REPLIES = json.loads((FOLDER / "replies.json").read_text("utf-8"))
DECIDED = [entry for entry in REPLIES if entry["meant"] != "unclear"]
WANTED = 0.95


def said(calls: list[Any]) -> list[str]:
    """Calls in a form in which 1 is not true, and the order of arguments is no matter."""
    return [json.dumps([call.server, call.name, call.arguments], sort_keys=True) for call in calls]


def meant(entry: dict[str, Any]) -> list[str]:
    calls = [] if entry["meant"] == "unclear" else entry["meant"]["calls"]
    return [json.dumps([call["server"], call["name"], call["arguments"]], sort_keys=True) for call in calls]


def text_of(entry: dict[str, Any]) -> str:
    return "\n".join(entry["reply"])


def failures() -> list[str]:
    """What is not read as it was meant, a line for each reply."""
    lines = []
    for entry in DECIDED:
        reply = parse(text_of(entry), tools=TOOLS[entry["tools"]])
        found = said(reply.calls)
        if found != meant(entry) or entry["meant"]["error"] not in (None, bool(reply.errors)):
            errors = [f"{error.code}: {error}" for error in reply.errors]
            lines.append(f"{entry['key']}: read {found} {errors}, meant {entry['meant']}")
    return lines


def test_nearly_all_are_read_as_they_were_meant() -> None:
    wrong = failures()
    share = 1 - len(wrong) / len(DECIDED)
    print(f"{len(DECIDED) - len(wrong)} of {len(DECIDED)} replies are read as they were meant ({share:.1%})")
    assert share >= WANTED, "\n" + "\n".join(wrong)


def test_no_other_call_without_a_repair() -> None:
    wrong = []
    for entry in REPLIES:
        rest = meant(entry)
        for call in parse(text_of(entry), tools=TOOLS[entry["tools"]]).calls:
            [one] = said([call])
            if one in rest:
                rest.remove(one)
            elif call.clean:
                wrong.append(f"{entry['key']}: {one} is clean, meant {entry['meant']}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("entry", REPLIES, ids=lambda entry: entry["key"])
def test_chunks_do_not_matter(entry: dict[str, Any]) -> None:
    def read(chunks: list[str]) -> Any:
        parser = Parser(TOOLS[entry["tools"]])
        events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
        reply = build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)
        calls = [(one, call.span, call.repairs) for one, call in zip(said(reply.calls), reply.calls, strict=True)]
        errors = [(error.code, error.span, str(error)) for error in reply.errors]
        return calls, errors, reply.text, reply.reasoning

    text = text_of(entry)
    pick = random.Random(entry["key"])
    some = [sorted(pick.choices(range(len(text) + 1), k=pick.randint(1, 30))) for _ in range(6)]
    whole = read([text])
    for cuts in [range(1, len(text)), range(4, len(text), 4), range(7, len(text), 7), *some]:
        assert read([text[start:end] for start, end in pairwise([0, *cuts, len(text)])]) == whole


def test_replies_that_are_right_are_clean() -> None:
    for entry in DECIDED:
        if entry["key"].startswith("right-"):
            reply = parse(text_of(entry), tools=TOOLS[entry["tools"]])
            codes = [repair.code for call in reply.calls for repair in call.repairs]
            assert (said(reply.calls), list(reply.errors)) == (meant(entry), []), entry["key"]
            assert not codes, (entry["key"], codes)


def test_the_set() -> None:
    """What is meant fits the tools, no reply comes twice, and the set stays what its page says."""
    assert len({entry["key"] for entry in REPLIES}) == len(REPLIES) >= 200
    assert len({text_of(entry) for entry in REPLIES}) == len(REPLIES)
    assert sum(entry["key"].startswith("right-") for entry in REPLIES) > len(REPLIES) / 4
    assert len(REPLIES) - len(DECIDED) < len(REPLIES) / 10
    for entry in DECIDED:
        tools = {(tool.server, tool.name): tool for tool in TOOLS[entry["tools"]]}
        for call in entry["meant"]["calls"]:
            jsonschema.validate(call["arguments"], dict(tools[call["server"], call["name"]].parameters))


@pytest.mark.parametrize("style", ["full", "compact"])
def test_the_prompts(style: Any) -> None:
    for name, tools in TOOLS.items():
        prompt = render_instructions(tools, style=style)
        reply = parse(prompt, tools=tools)
        assert not reply.errors, name
        assert all(call.clean for call in reply.calls), name
