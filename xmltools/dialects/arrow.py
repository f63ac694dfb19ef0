"""What some models write under LM Studio, as in Perl or Ruby: `{tool => "get", args => {--n 1}}`."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs

_PAIRS = Pairs(name='{tool => "', name_end='", args => ', end="}", json=True)
_ARROW = Dialect(
    name="arrow",
    body=Body.PAIRS,
    start="[TOOL_CALL]",
    end="[/TOOL_CALL]",
    example='[TOOL_CALL]\n{tool => "get", args => {\n  --n 1\n}}\n[/TOOL_CALL]',
    layout=True,
    json_is_python=True,
    pairs=_PAIRS,
)
ARROW = replace(_ARROW, variants=(replace(_ARROW, pairs=replace(_PAIRS, name='{ tool => "')),))
