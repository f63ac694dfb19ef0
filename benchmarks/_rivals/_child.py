"""Our row once more, the parser compiled: a command a line on stdin, an answer a line on stdout, as in `_node.mjs`."""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

from _rivals._xml import Ours
from xmltools.parser import COMPILED


def main() -> None:
    assert COMPILED
    ours, text = Ours(), ""
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        command: dict[str, Any] = json.loads(line)
        answer: dict[str, Any] = {}
        if "load" in command:
            text = command["text"]
        else:
            answer = ours.measure(text, command["chunk"], command["cap"], command["loops"])._asdict()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
