"""No call is found in ordinary replies: by no dialect, and by Forge's with calls of all dialects beside its own."""

from __future__ import annotations

import random

import pytest
from support.ordinary_replies import TOOLS, ordinary_reply

from xmltools import dialects
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser import Parser

NAMES = [dialect.name for dialect in dialects.all()]


def check(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for number in range(count):
        text = ordinary_reply(rng)
        readers = [Parser(TOOLS, dialect="forge", also="known")]
        for name in (NAMES[number % len(NAMES)], rng.choice(NAMES)):
            readers += [Parser(TOOLS, dialect=name), Parser(None, dialect=name)]
        for parser in readers:
            events = [*parser.feed(text), *parser.close()]
            found = [event for event in events if isinstance(event, CallCompleted | CallFailed)]
            assert not found, (text, found)


def test_ordinary_replies_have_no_calls() -> None:
    check(20261124, 300)


@pytest.mark.full
@pytest.mark.no_cover
def test_ten_thousand_ordinary_replies_have_no_calls() -> None:
    check(random.randrange(2**32), 10_000)
