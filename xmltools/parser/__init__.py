"""The incremental parser: model text in, text, reasoning and tool calls out (protocol: `grammars/PROTOCOL.md`).

`stream` cuts the text: `outside` reads what is outside of calls, `machine` runs the states of the open call, and
`finish` turns one that has ended into a `ToolCall` or an error.
"""

from typing import TYPE_CHECKING

from xmltools.first_use import on_first_use
from xmltools.parser.replies import build_reply, parse
from xmltools.parser.stream import COMPILED, Limits, Parser

if TYPE_CHECKING:
    from xmltools.parser.detect_dialect import detect

__all__ = ["COMPILED", "Limits", "Parser", "build_reply", "detect", "parse"]

__getattr__ = on_first_use(__name__, {"detect": "detect_dialect"})
