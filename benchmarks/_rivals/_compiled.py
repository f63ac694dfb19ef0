"""We once more, with the parser that mypyc compiled. One process can't import both, so a child has the other."""

from __future__ import annotations

import sys

from _rivals._install import COMPILED, ROOT
from _rivals._process import Child
from _rivals._rival import MissingError, Run
from _rivals._xml import Ours

__all__ = ["Compiled"]

CHILD = Child(sys.executable, "-m", "_rivals._child", PYTHONPATH=str(COMPILED))


class Compiled(Ours):
    """The adapter is that of our own row."""

    name = "xmltools, compiled"
    install = f"install a C compiler, then {Ours.install}"

    def __init__(self) -> None:
        # The wheel has the source beside what was made of it. An older one would be no fair comparison.
        made = COMPILED / "xmltools"
        sources = [path.with_name(path.name.split(".")[0] + ".py") for path in made.rglob("*.so")]
        ours = ROOT / "xmltools"
        if not sources or any(x.read_bytes() != (ours / x.relative_to(made)).read_bytes() for x in sources):
            raise MissingError(self.install)

    @property
    def version(self) -> str:
        return f"{super().version}, mypyc"

    def measure(self, text: str, chunk: int, cap: float, loops: int = 1) -> Run:
        return CHILD.measure(text, chunk, cap, loops)
