"""GigaChat 3.5: the calls of DeepSeek-V4 with `GCML` for `DSML`: `<｜GCML｜invoke name="NAME">…`."""

from __future__ import annotations

from xmltools.dialects.dialect import ResultForm
from xmltools.dialects.dsml import spelled

GIGACHAT35 = spelled(
    "GCML",
    "gigachat35",
    turn_ends=("</s>", "<|message_sep|>"),
    result=ResultForm(between="\n\n", role="tool"),
    others=(),
)
