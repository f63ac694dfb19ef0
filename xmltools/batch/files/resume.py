"""Resume after a kill: what is done of a run is kept in a folder beside its output.

A part is a file with one line of JSON (the counts of its rows, and their size in bytes), and after it the rows. It is
written under another name and renamed when it is whole. It is not forced on the disk, for which all workers would wait:
a process that is killed loses nothing by that, and what a machine without power has lost is seen by the size. The
manifest says by hashes of which run the parts are.

When a run has ended, a small hidden file beside its output, `.OUT.run.json`, says in the same way what each file was
made of: so `resume` knows whether a run that is complete is the one that is asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmltools.batch.files.places import PARTS
from xmltools.batch.options import BatchUsageError
from xmltools.errors import XMLToolsError

_SIZE = "size"
_OUTPUT = "output"

Made = Mapping[str, str]
"""What something was made of: hashes by the names of what counts."""


def hashed(**of: Any) -> Made:
    """Return what something was made of, given as values for `json.dumps`."""
    return {name: hashlib.sha256(json.dumps(value).encode()).hexdigest() for name, value in of.items()}


def changed(known: Made, now: Made) -> str:
    """Return the names of what was not so when something was made."""
    return " and ".join(name for name in now if known.get(name) != now[name])


class Parts:
    """The folder with the parts of a run."""

    def __init__(self, output: Path) -> None:
        self.folder = output.with_name(output.name + PARTS)
        self._manifest = self.folder / "manifest.json"

    def begin(self, run: Made, *, resume: bool) -> None:
        """Make the folder for a run, anew or to go on. Raises `XMLToolsError` if what is there is of another run."""
        if self._manifest.exists() and resume:
            if names := changed(json.loads(self._manifest.read_bytes()), run):
                raise XMLToolsError(
                    f"{self.folder}: begun with other {names} than now, so the run cannot go on; give what it was "
                    "begun with, or --overwrite (overwrite=True) to begin anew"
                )
            return
        self.discard()
        self.folder.mkdir(parents=True, exist_ok=True)
        replace(self._manifest, json.dumps(run).encode())

    def discard(self) -> None:
        """Remove the folder. Raises `XMLToolsError` if something of somebody else is in it."""
        for each in self.folder.glob("*"):
            if each.suffix not in (".part", ".tmp") and each != self._manifest:
                found = f"{each.name!r:.80}"
                raise XMLToolsError(f"{self.folder}: expected parts of a run, found {found}; move it elsewhere")
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, number: int) -> Path:
        """Return where a part is."""
        return self.folder / f"{number:08}.part"

    def done(self) -> set[int]:
        """Return the numbers of the parts that are there, and whole. Others are removed."""
        found = {int(each.stem): each for each in self.folder.glob("*.part")}
        broken = {number for number, each in found.items() if not _is_whole(each)}
        for number in broken:
            found.pop(number).unlink()
        return set(found)


class Record:
    """What the files of an output were made of, by their paths, and the size and the time of each file itself."""

    def __init__(self, output: Path) -> None:
        self._path = output.with_name(f".{output.name}.run.json")
        try:
            self._known: dict[str, Made] = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            self._known = {}

    def add(self, made: Mapping[Path, Made]) -> None:
        """Note the files of a run; what is known of others in the same folder stays."""
        known = self._known | {str(path): {**of, _OUTPUT: _state(path)} for path, of in made.items()}
        replace(self._path, json.dumps({path: of for path, of in known.items() if Path(path).exists()}).encode())

    def check(self, path: Path, of: Made) -> None:
        """Raise `BatchUsageError` if a file is not as its run wrote it, or was made of something else."""
        known = self._known.get(str(path), {})
        if known.get(_OUTPUT, _state(path)) != _state(path):
            raise BatchUsageError(
                f"{path}: it was changed after the run that wrote it; --overwrite (overwrite=True) makes it anew"
            )
        if names := changed(known, of):
            raise BatchUsageError(
                f"{path}: made with other {names} than now; give what it was made with, or --overwrite "
                "(overwrite=True) to begin anew"
            )


def _state(path: Path) -> str:
    state = path.stat()
    return f"{state.st_size} {state.st_mtime_ns}"


def write_part(path: Path, counts: Mapping[str, Any], rows: bytes) -> None:
    """Write a part: whole, or not at all."""
    replace(path, json.dumps({**counts, _SIZE: len(rows)}).encode() + b"\n", rows, sync=False)


def _is_whole(path: Path) -> bool:
    try:
        counts, file = open_part(path)
        with file:
            return bool(file.tell() + counts[_SIZE] == path.stat().st_size)
    except (ValueError, KeyError, TypeError):
        return False


def replace(path: Path, *data: bytes, sync: bool = True) -> None:
    """Write a file that is there only when all of it is; with `sync`, when all of it is on the disk."""
    # Who was killed may have left one, and who lost its parent may still be writing: each has its own.
    draft = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        with draft.open("wb") as file:
            file.writelines(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def open_part(path: Path) -> tuple[dict[str, Any], Any]:
    """Return the counts of a part, and the open file, to be read from where its rows begin."""
    file = path.open("rb")
    try:
        counts: dict[str, Any] = json.loads(file.readline())
    except BaseException:
        file.close()
        raise
    return counts, file
