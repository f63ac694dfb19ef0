"""Functionary 3: `>>>NAME`, a line break and `{…}` (v3.2), and `<function=NAME>{…}</function>` (v3.1)."""

from __future__ import annotations

from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, ToolList, Writing

_MARKED = Dialect(
    name="functionary",
    body=Body.PAIRS,
    start=">>>",
    end="",
    by_name=True,
    example='>>>get\n{"n": 1}',
    turn_ends=(">>>all\n", "<|eot_id|>", "<|eom_id|>"),
    frame=("all\n",),
    pairs=Pairs(name_end="\n", json=True),
    writing=Writing(
        before="",
        call_start=">>>",
        between="",
        result=ResultForm(between="\n\n", role="tool"),
        tools=ToolList(
            form="types",
            start="// Supported function definitions that should be called when necessary.\nnamespace functions {\n\n",
            end="\n\n} // namespace functions",
            between="\n\n",
        ),
    ),
)

# The prompt ends with `>>>`, so that the reply begins with a name, or with `all` and text.
FUNCTIONARY = replace(
    _MARKED,
    variants=(
        replace(_MARKED, start="{name}\n", is_bare=True, is_first=True, writing=None),
        replace(
            _MARKED,
            start="<function=",
            end="</function>",
            pairs=Pairs(name_end=">", json=True),
            writing=None,
        ),
    ),
)
