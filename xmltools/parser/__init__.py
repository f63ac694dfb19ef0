"""The incremental parser: model text in, text, reasoning and tool calls out (protocol: `grammars/PROTOCOL.md`).

`parser` cuts the stream: `prose` reads what is outside blocks, `machine` runs the states of a `block`, and
`finish` turns an ended block into a call or an error.
"""

from typing import TYPE_CHECKING

from xmltools.first_use import on_first_use
from xmltools.parser.replies import build_reply, parse
from xmltools.parser.stream import COMPILED, Limits, Parser

if TYPE_CHECKING:
    from xmltools.parser.detect_dialect import detect

__all__ = ["COMPILED", "Limits", "Parser", "build_reply", "detect", "parse"]

__getattr__ = on_first_use(__name__, {"detect": "detect_dialect"})
