"""The fixtures of the package `canitoolcall`: what models wrote, and what every parser should read out of it.

They are judged by its own checks. Text is cut into characters, threes and random pieces: its token strategies need
tokenizers from the network. `docs/conformance.md` has the counts.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("canitoolcall")

from support import conformance_in_words as page
from support.neutral import all_fixtures, is_known, ours

SOFT = {"gemma4/vllm-text-before-call"}
"""Read right but for white space: Gemma's template writes none before a call, so the text keeps its own."""
FIXTURES = [each for each in all_fixtures() if is_known(each.models[0])]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda each: each.id)
def test_fixture(fixture: Any) -> None:
    status, rows = ours(fixture)
    expected = "soft_pass" if fixture.id in SOFT else "pass"
    assert status.value == expected, [(row.check, row.strategy, row.detail) for row in rows]


def test_all_fixtures_are_here() -> None:
    assert len(FIXTURES) == 469


def test_the_public_table_has_these_counts() -> None:
    rows = page.run()["engines"]["xmltools"]
    assert {name for row in rows.values() for name in row["soft"]} == SOFT
    assert not any(row["fail"] or row["not_run"] for row in rows.values())


@pytest.mark.parametrize("engine", page.run()["engines"])
def test_the_public_table_counts_each_fixture_once(engine: str) -> None:
    for family, row in page.run()["engines"][engine].items():
        named = [*row["soft"], *row["fail"], *row["not_run"]]
        ids = {each.id for each in all_fixtures() if each.family == family}
        assert len(named) == len(set(named)), "a fixture is counted twice"
        assert set(named) <= ids
        assert row["pass"] + len(named) == len(ids)


def test_the_published_counts_add_up() -> None:
    known = page.published()
    for engine, total in known["totals"].items():
        rows = [row[engine] for row in known["families"].values() if engine in row]
        assert page.added(rows) == total
    for engine, found in known["findings"].items():
        assert sum(count for count, _ in found) == known["totals"][engine][2]


def test_what_is_disputed_is_a_fixture() -> None:
    assert set(page.DISPUTED) <= {each.id for each in all_fixtures()}
