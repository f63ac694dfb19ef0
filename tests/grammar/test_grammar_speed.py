"""What masks cost an engine along a long value: compared with those in prose, in one run, since machines differ.

xgrammar needs a thousand times longer for a mask if text is a repeated choice between a class and something else, such
as a reference or a lone `]`. Grammars that are printed so are right, and no engine that serves can use them.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import median
from typing import Any

import pytest
from support.engines.xgrammar_judge import XgrammarJudge
from support.grammar_laws import FORMATS, judge

from grammar import TOOLS
from xmltools.models import ToolCall
from xmltools.render import render_call

AT_MOST = 50
LINES = 100
DIFF = "".join(f"-    total += prices[{n}] & 0xff\n+    if total < {n}:\n" for n in range(LINES))
PROSE = "Each line of the file is read once, and compared with the one before. " * 50


@lru_cache
def engine(format: str) -> Any:
    return judge(TOOLS, format)


def written(value: str) -> str:
    return f"<tool>\n<tool_name>apply_diff</tool_name>\n<arguments>\n{value}\n</arguments>\n</tool>"


def in_cdata() -> str:
    return f"I mend it.\n\n{render_call(ToolCall(id='1', name='apply_diff', arguments={'path': 'a.py', 'diff': DIFF}))}"


def as_references() -> str:
    text = DIFF.replace("&", "&amp;").replace("<", "&lt;")
    return written(f"<path>a.py</path>\n<diff>{text}</diff>")


def median_of(checked: Any, text: str) -> float:
    return median(checked.mask_times(text))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", [in_cdata(), as_references()], ids=["CDATA", "references"])
@pytest.mark.no_cover
def test_masks_along_a_long_value_cost_no_more_than_some_in_prose(format: str, text: str) -> None:
    assert len(text) > 4096
    assert median_of(engine(format), text) < AT_MOST * median_of(engine(format), PROSE)


def test_the_trap_would_be_seen() -> None:
    """The same text as a repeated choice: what the test above is there to find."""
    trap = XgrammarJudge(
        'root ::= prose | "<v>" unit* "</v>"\n'
        "prose ::= [^<]*\n"
        "unit ::= [^<&] | reference\n"
        'reference ::= "&lt;" | "&amp;" | "&gt;"\n'
    )
    assert median_of(trap, f"<v>{DIFF[:40].replace('&', '&amp;')}") > AT_MOST * median_of(trap, PROSE)
