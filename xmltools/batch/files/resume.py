"""Resume after a kill: what is done of a run is kept in a folder beside its output.

A part is a file with one line of JSON (the counts of its rows, and their size in bytes), and after it the rows. It is
written under another name and renamed when it is whole. It is not forced on the disk, for which all workers would wait:
a process that is killed loses nothing by that, and what a machine without power has lost is seen by the size. The
manifest says of which run the parts are.

When a run has ended, a small hidden file beside its output, `.OUT.run.json`, says by hashes what each file was made of:
so `resume` knows whether a run that is complete is the one that is asked for.
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
from xmltools.errors import XMLToolsError

_MANIFEST = "manifest.json"
_SIZE = "size"
_OUTPUT = "output"
_RECORD = ".{}.run.json"


class Parts:
    """The folder with the parts of a run."""

    def __init__(self, output: Path) -> None:
        self.folder = output.with_name(output.name + PARTS)
        self._manifest = self.folder / _MANIFEST

    def begin(self, run: Mapping[str, Any]) -> None:
        """Make the folder for a run, of which `run` says all that its parts depend on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace(self._manifest, json.dumps(run).encode())

    def resume(self, run: Mapping[str, Any]) -> None:
        """Go on with what is there. Raises `XMLToolsError` if it belongs to another run."""
        if not self._manifest.exists():
            self._check_ours()
            self.begin(run)
            return
        known = json.loads(self._manifest.read_bytes())
        changed = [key for key in run if json.loads(json.dumps(run[key])) != known.get(key)]
        if changed:
            raise XMLToolsError(
                f"{self.folder}: begun with other {' and '.join(changed)} than now, so the run cannot go on; give what "
                "it was begun with, or --overwrite (overwrite=True) to begin anew"
            )

    def discard(self) -> None:
        """Remove the folder, the manifest last: whatever is left of it is still of a run."""
        if not self.folder.exists():
            return
        self._check_ours()
        for each in self.folder.iterdir():
            if each != self._manifest:
                each.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check_ours(self) -> None:
        others = [each.name for each in self.folder.iterdir() if not each.name.endswith((".part", ".tmp", _MANIFEST))]
        if others:
            raise XMLToolsError(f"{self.folder}: expected parts of a run, found {others[0]!r:.80}; move it elsewhere")

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
    """What the files of an output were made of, by their paths: the options and the inputs, each as a hash, and the
    size and the time of the file itself."""

    def __init__(self, output: Path) -> None:
        self.path = output.with_name(_RECORD.format(output.name))

    def add(self, made: Mapping[Path, Mapping[str, Any]]) -> None:
        """Note the files of a run; what is known of others in the same folder stays."""
        known = self._read() | {str(path): _hashes(of) | {_OUTPUT: _state(path)} for path, of in made.items()}
        replace(self.path, json.dumps({path: of for path, of in known.items() if Path(path).exists()}).encode())

    def changed(self, path: Path, of: Mapping[str, Any]) -> list[str]:
        """Return what a file was made of that is not so now; all of it, if nothing is known of the file."""
        known, now = self._read().get(str(path), {}), _hashes(of)
        return [name for name in now if known.get(name) != now[name]]

    def is_as_written(self, path: Path) -> bool:
        """Return whether a file has the size and the time that it had after its run, as far as that is known."""
        known = self._read().get(str(path), {}).get(_OUTPUT)
        return known is None or known == _state(path)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _state(path: Path) -> str:
    state = path.stat()
    return f"{state.st_size} {state.st_mtime_ns}"


def _hashes(of: Mapping[str, Any]) -> dict[str, str]:
    return {name: hashlib.sha256(json.dumps(value).encode()).hexdigest() for name, value in of.items()}


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
