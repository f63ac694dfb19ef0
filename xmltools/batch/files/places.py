"""Which files a run reads, and which it writes.

The ending of a name says the format. One file as output takes all inputs; a folder takes one file for each of them.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from os.path import abspath
from pathlib import Path
from typing import NamedTuple

from xmltools.batch.options import BatchUsageError

PARTS = ".parts"
"""After the name of an output: the folder with what is done of it."""


class Kind(NamedTuple):
    """How a file is written: its format, and whether it is compressed by gzip."""

    format: str
    gzipped: bool = False


ENDINGS = {
    ".parquet": Kind("parquet"),
    ".jsonl": Kind("jsonl"),
    ".ndjson": Kind("jsonl"),
    ".arrow": Kind("arrow"),
    ".feather": Kind("arrow"),
    ".csv": Kind("csv"),
    ".jsonl.gz": Kind("jsonl", True),
    ".ndjson.gz": Kind("jsonl", True),
    ".csv.gz": Kind("csv", True),
}
FORMATS = tuple(ending[1:] for ending in ENDINGS)
_ALL = ", ".join(ENDINGS)

Place = str | PathLike[str]


class Source(NamedTuple):
    """A file to read; `name` is its place in a folder of outputs."""

    path: Path
    name: Path
    kind: Kind

    @property
    def size(self) -> int:
        """Bytes of the file, one at least: shares of what is read are counted by it."""
        return max(1, self.path.stat().st_size)


class Target(NamedTuple):
    """A file to write, and what goes into it."""

    path: Path
    kind: Kind
    sources: tuple[Source, ...]


def kind_of(path: Path) -> Kind | None:
    """Return what the ending of a file's name says, None if it says nothing."""
    return next((kind for ending, kind in ENDINGS.items() if path.name.lower().endswith(ending)), None)


# What is read


def find_sources(inputs: Place | Iterable[Place], output: Place) -> list[Source]:
    """Return the files to read, in order: a folder's and a pattern's by name, each once.

    What is found in the output is none of them. Raises `BatchUsageError` if there is no such file, or its ending is not
    known.
    """
    given = [fspath(each) for each in ([inputs] if isinstance(inputs, (str, PathLike)) else inputs)]
    if "-" in (fspath(output), *given):
        raise BatchUsageError(
            "-: a run reads and writes files, not standard input and output; give their names (./- for a file of this "
            "name)"
        )
    path = absolute(output)
    ours = {path, path.with_name(path.name + PARTS)}
    found: dict[Path, Source] = {}
    for name in given:
        if absolute(name) == path and path.is_dir():
            raise BatchUsageError(f"{name}: the folder to read is the folder to write; give OUT another name")
        for source in _expand(name):
            place = absolute(source.path)
            if place == path:
                raise BatchUsageError(f"{source.path}: the output is one of the inputs; give it another name")
            if source.path == Path(name) or ours.isdisjoint(place.parents):
                found.setdefault(place, source)
    if not found:
        where = ", ".join(given) or "inputs"
        raise BatchUsageError(f"{where}: there is no file to read; the name of one ends with {_ALL}")
    return list(found.values())


def _expand(name: str) -> Iterator[Source]:
    path = Path(name)
    if path.is_dir():
        for each in sorted(path.rglob("*")):
            inner, kind = each.relative_to(path), kind_of(each)
            hidden = any(part.startswith(".") or part.endswith(PARTS) for part in inner.parts)
            if kind and each.is_file() and not hidden:
                yield Source(each, inner, kind)
        return
    # Not Path.glob: it takes no pattern that begins at the root.
    names = [name] if path.exists() else sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    files = [Path(each) for each in names if Path(each).is_file()]
    if not files:
        what = "no file fits this pattern" if glob.has_magic(name) else f"there is no such file or folder{_near(path)}"
        raise BatchUsageError(f"{name}: {what}")
    for each in files:
        yield Source(each, Path(each.name), _kind_of(each))


def _kind_of(path: Path, otherwise: str = "") -> Kind:
    kind = kind_of(path)
    if kind is None:
        raise BatchUsageError(
            f"{path}: the name does not say the format; expected one that ends with {_ALL}{otherwise}"
        )
    return kind


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    names = [each.name for each in path.parent.iterdir() if each.is_dir() or kind_of(each)]
    near = get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


# What is written


def find_targets(sources: Sequence[Source], output: Place, format: str | None = None) -> list[Target]:
    """Return the files to write: one, or if the output is a folder one for each source, in its format or in `format`.

    Raises `BatchUsageError` if it can't be told what the output is to be, or two sources would be written to one file.
    """
    if format is not None and format not in FORMATS:
        raise BatchUsageError(f"format: expected one of {', '.join(FORMATS)}, got {format!r:.40}")
    path = Path(output)
    is_folder = path.is_dir() or fspath(output).endswith(("/", "\\")) or "." not in path.name
    if not is_folder:
        kind = ENDINGS[f".{format}"] if format else _kind_of(path, ", or / for a folder")
        return [Target(path, kind, tuple(sources))]
    targets = [_beside(path, source, format) for source in sources]
    taken: dict[Path, Source] = {}
    for target, source in zip(targets, sources, strict=True):
        other = taken.setdefault(target.path, source)
        if other is not source:
            raise BatchUsageError(f"{other.path} and {source.path} would both be written to {target.path}; rename one")
        if absolute(target.path) == absolute(source.path):
            raise BatchUsageError(f"{source.path} would be written over itself; give another folder")
    return targets


def _beside(folder: Path, source: Source, format: str | None) -> Target:
    path = folder / source.name
    if format is None:
        return Target(path, source.kind, (source,))
    ending = max((each for each in ENDINGS if path.name.lower().endswith(each)), key=len)
    path = path.with_name(f"{path.name[: -len(ending)]}.{format}")
    return Target(path, ENDINGS[f".{format}"], (source,))


def absolute(place: Place) -> Path:
    """Return a path from the root, without dots in it: it has a name."""
    return Path(abspath(place))  # noqa: PTH100, since links stay as they are
