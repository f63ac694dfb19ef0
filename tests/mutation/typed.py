"""What mypy says of a mutant: one that the tests do not see may still be refused by the check of the types."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from mutation.mutants import ROOT, Mutant

__all__ = ["what_mypy_says"]


def what_mypy_says(mutant: Mutant, cache: Path) -> str:
    """Return the first error in the module of the mutant, as `make lint` would give it; empty if there is none."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as shadow:
        shadow.write(mutant.source)
        shadow.flush()
        options = ["--cache-dir", str(cache), "--no-error-summary", "--shadow-file", str(mutant.path), shadow.name]
        command = [sys.executable, "-m", "mypy", *options, str(mutant.path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    return errors[0].partition(": error: ")[2][:120] if errors else ""
