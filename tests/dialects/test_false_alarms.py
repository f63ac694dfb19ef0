"""No call and no error is found in replies that have none, in any dialect, and with all of them beside Forge's."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from support.often import some
from support.ordinary_replies import TOOLS, reply

from xmltools import dialects
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser import Parser

pytestmark = pytest.mark.no_cover

FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def alarms(text: str, dialect: dialects.Dialect, **options: str) -> list[CallCompleted | CallFailed]:
    found = []
    for tools in (TOOLS, None):
        parser = Parser(tools, dialect=dialect, **options)  # type: ignore[arg-type]
        events = (*parser.feed(text), *parser.close())
        found += [event for event in events if isinstance(event, CallCompleted | CallFailed)]
    return found


def may_show_calls(text: str, dialect: dialects.Dialect) -> bool:
    """May a fence in the text show what the dialect takes for its call?"""
    names = [form.pairs.name for form in dialect.forms if form.pairs is not None and form.pairs.bare]
    marks = [*(f"<{form.block}" if form.block else form.opener for form in dialect.forms if not form.is_bare), *names]
    return FENCE.search(text) is not None and any(mark in text for mark in marks)


def check(seeds: Iterable[int]) -> None:
    for seed in seeds:
        text = reply(seed)
        assert not alarms(text, dialects.FORGE, also="known", code_fences="text"), (seed, text)
        if not may_show_calls(text, dialects.FORGE):
            assert not alarms(text, dialects.FORGE, also="known"), (seed, text)
        for dialect in dialects.all():
            is_shown = may_show_calls(text, dialect)
            how = {"code_fences": "text"} if is_shown else {}
            assert not alarms(text, dialect, **how), (seed, dialect.name, text)


def test_ordinary_replies_have_no_calls() -> None:
    check(range(150))


@pytest.mark.full
@pytest.mark.parametrize("part", some(range(20), "parts"))
def test_ten_thousand_ordinary_replies_have_no_calls(part: int) -> None:
    check(some(range(1_000 + part * 500, 1_500 + part * 500), "ordinary replies"))
