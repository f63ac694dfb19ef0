"""`python tests/fuzz`, or `python -m fuzz` in `tests/`."""

from __future__ import annotations

import sys
from pathlib import Path


def _main() -> int:
    # The tests import each other by their plain names; `python tests/fuzz` has put the folder itself here.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from fuzz import guided

    if sys.argv[1:2] == [guided.INSIDE]:
        guided.run_here(sys.argv[2], sys.argv[3:])
        return 0
    from fuzz.cli import main

    return main()


if __name__ == "__main__":
    raise SystemExit(_main())
