"""PLaMo 3: `<|plamo:begin_tool_name:plamo|>NAME…<|plamo:msg|>{…}<|plamo:end_tool_arguments:plamo|>` in a section."""

from __future__ import annotations

import re
from dataclasses import replace

from xmltools.dialects.dialect import Body, Dialect, Pairs


def _mark(word: str) -> str:
    return f"<|plamo:{word}:plamo|>"


_BEGIN, _END = _mark("begin_tool_request"), _mark("end_tool_request")
_BEFORE_ARGUMENTS = _mark("end_tool_name") + _mark("begin_tool_arguments")

_PAIRS = Pairs(
    name=_mark("begin_tool_name"),
    name_end="<|plamo:msg|>",
    name_pattern=rf"(?P<name>.+?){re.escape(_BEFORE_ARGUMENTS)}(?:<\|plamo:constrain\|>json)?",
    end=_mark("end_tool_arguments"),
    json=True,
)
_CALL = replace(_PAIRS, name="", end="")

_SECTION = Dialect(
    name="plamo3",
    body=Body.PAIRS,
    start=_mark("begin_tool_requests"),
    end=_mark("end_tool_requests"),
    is_sure=True,
    many=True,
    fillers=(_BEGIN, _END),
    example=(
        f"{_mark('begin_tool_requests')}{_BEGIN}{_mark('begin_tool_name')}get{_BEFORE_ARGUMENTS}"
        f'<|plamo:constrain|>json<|plamo:msg|>{{"n": 1}}{_mark("end_tool_arguments")}{_END}{_mark("end_tool_requests")}'
    ),
    reasoning=(),
    thoughts=((_mark("begin_think"), _mark("end_think")),),
    ends_reasoning=True,
    layout=True,
    turn_ends=("<|plamo:tag|>", "<|plamo:op|>", "<|plamo:eos|>"),
    pairs=_PAIRS,
)

PLAMO3 = replace(
    _SECTION,
    variants=(  # a call without the section, and one without its own tokens too
        replace(_SECTION, start=_BEGIN, end=_END, fillers=()),
        replace(_SECTION, start=_PAIRS.name, end=_PAIRS.end, fillers=(), many=False, pairs=_CALL),
    ),
)
