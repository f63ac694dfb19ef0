"""How a mutant comes into a process that has everything imported: functions get the mutated code, in place.

Where the change is outside functions, the statement is carried out anew, with all at the level of the module that is
made from it, and every module that has imported one of those names gets the new value. Records, as those of dialects,
are overwritten in place, since the tests hold them too. What is cached is forgotten.
"""

from __future__ import annotations

import ast
import dataclasses
import gc
import re
import sys
from collections.abc import Iterator
from enum import EnumType
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from mutation.mutants import ROOT, Mutant

__all__ = ["Swapper", "cached_at", "lines_with", "names_at"]

_NOT_FUNCTION = 0x1 | 0x2  # CO_OPTIMIZED, CO_NEWLOCALS: bodies of modules and classes lack one of them


class Swapper:
    """Knows all functions of the package that this process has."""

    def __init__(self) -> None:
        self.live: dict[tuple[str, str, int], list[FunctionType]] = {}
        package = str(ROOT / "xmltools")
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(package):
                self.live.setdefault(_key(each.__code__), []).append(each)
        self.caches = [each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper) and _is_ours(each)]
        self.codes: dict[str, CodeType] = {}

    def original(self, mutant: Mutant) -> CodeType:
        """The code of the module without the change."""
        name = str(mutant.path)
        if name not in self.codes:
            self.codes[name] = compile(mutant.path.read_text("utf-8"), name, "exec", dont_inherit=True)
        return self.codes[name]

    def apply(self, mutant: Mutant) -> str:
        """Bring the mutant into this process. Returns how: `code`, `names`, `same` (no difference) or `nothing`."""
        old, new = self.original(mutant), compile(mutant.source, str(mutant.path), "exec", dont_inherit=True)
        if mutant.is_control:
            return "code" if self._swap(old, new, also_same=True) else "nothing"
        if _same(old, new):
            return "same"
        for cache in self.caches:
            cache.cache_clear()
        if _inside_functions(old, new):
            return "code" if self._swap(old, new) else "nothing"
        return "names" if self._rebind(mutant, new) else "nothing"

    def _swap(self, old: CodeType, new: CodeType, *, also_same: bool = False) -> int:
        swapped = 0
        for one, other in _pairs(old, new):
            if also_same or not _same(one, other):
                for function in self.live.get(_key(one), ()):
                    function.__code__ = other
                    swapped += 1
        return swapped

    def _rebind(self, mutant: Mutant, new: CodeType) -> int:
        module = sys.modules[mutant.module]
        fresh: dict[str, Any] = {k: v for k, v in vars(module).items() if k.startswith("__")}
        fresh["__name__"] = mutant.module
        exec(new, fresh)
        tree = ast.parse(mutant.source)
        first = next(each for each in tree.body if each.lineno <= mutant.line <= (each.end_lineno or 0))
        if isinstance(first, ast.ClassDef):
            changed_class = getattr(module, first.name)
            before = _with_defaults(changed_class)
            return self._class_body(changed_class, fresh[first.name]) and _make_records_anew(changed_class, before)
        if isinstance(first, ast.FunctionDef):
            return _defaults(getattr(module, first.name), fresh[first.name])
        changed = _names_made(first)
        for each in tree.body:
            if isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _names_used(each) & changed:
                changed |= _names_made(each)
        return sum(_replace(module, name, fresh[name]) for name in changed if name in fresh)

    def _class_body(self, old: type, new: type) -> int:
        done = 0
        if isinstance(old, EnumType):  # its members can't be set
            return 0
        for name, value in vars(new).items():
            known = vars(old).get(name)
            if isinstance(value, FunctionType) and isinstance(known, FunctionType):
                done += _defaults(known, value)
            elif (
                isinstance(value, (str, int, float, tuple, type(None))) and not name.startswith("__") and value != known
            ):
                setattr(old, name, value)
                done += 1
        return done


def _is_ours(function: Any) -> bool:
    return str(function.__module__).startswith("xmltools.")


def _with_defaults(kind: type) -> Any:
    """A record that says nothing of its own; None if there is none of this kind."""
    try:
        return kind() if dataclasses.is_dataclass(kind) else None
    except TypeError:
        return None


def _make_records_anew(changed: type, before: Any) -> int:
    """Records that the package has made have the defaults of their class. Returns 1."""
    ours = [(name, module) for name, module in sys.modules.items() if name.startswith("xmltools.")]
    values = [value for _, module in ours for value in vars(module).values()]
    kinds = filter(dataclasses.is_dataclass, values)
    defaults = [each for kind in kinds for each in (getattr(kind.__init__, "__kwdefaults__", None) or {}).values()]
    for each in values + defaults:
        if before is not None and type(each) is changed and each == before:
            _overwrite(each, changed())
    if changed.__module__ == "xmltools.dialects.dialect":
        for name, module in ours:
            if name.startswith("xmltools.dialects.") and name != changed.__module__:
                fresh = {"__name__": name}
                exec(Path(str(module.__file__)).read_text("utf-8"), fresh)
                for each, value in fresh.items():
                    _overwrite(vars(module).get(each), value)
    return 1


def _overwrite(known: Any, value: Any) -> int | None:
    """Make a record like another one, in place, so that all who hold it see it. Returns how many of its fields were
    changed; None if they are no records of one kind."""
    if not dataclasses.is_dataclass(known) or isinstance(known, type) or type(known) is not type(value):
        return None
    changed = 0
    for field in dataclasses.fields(known):
        mine, its = getattr(known, field.name), getattr(value, field.name)
        if mine == its:
            continue
        both = [(mine, its)]
        if isinstance(mine, tuple) and isinstance(its, tuple) and len(mine) == len(its):
            both = [*zip(mine, its, strict=True)]
        if not all(one == other or _overwrite(one, other) for one, other in both):
            object.__setattr__(known, field.name, its)
        changed += 1
    return changed


def _replace(module: ModuleType, name: str, value: Any) -> int:
    """Bind the name anew in its module, and where it was imported to."""
    known, done = vars(module)[name], 0
    overwritten = _overwrite(known, value)
    if overwritten is not None:
        return overwritten
    for each in list(sys.modules.values()):
        space = getattr(each, "__dict__", None)
        if space is not None and name in space and space[name] is known:
            space[name] = value
            done += 1
    return done


def _defaults(old: Any, new: Any) -> int:
    old, new = getattr(old, "__wrapped__", old), getattr(new, "__wrapped__", new)
    if (old.__defaults__, old.__kwdefaults__) == (new.__defaults__, new.__kwdefaults__):
        return 0
    old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    return 1


def _names_made(statement: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _names_used(statement: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)}


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_function(code: CodeType) -> bool:
    return code.co_flags & _NOT_FUNCTION == _NOT_FUNCTION


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _same(one: CodeType, other: CodeType, *, inner: bool = True) -> bool:
    """Do they do the same? With `inner=False` the code of functions and classes in them is not looked at."""
    if one.co_code != other.co_code or len(one.co_consts) != len(other.co_consts):
        return False
    for name in (
        "co_names",
        "co_varnames",
        "co_freevars",
        "co_cellvars",
        "co_argcount",
        "co_flags",
        "co_exceptiontable",
    ):
        if getattr(one, name) != getattr(other, name):
            return False
    for mine, its in zip(one.co_consts, other.co_consts, strict=True):
        if isinstance(mine, CodeType) and isinstance(its, CodeType):
            if inner and not _same(mine, its):
                return False
        elif repr(mine) != repr(its):
            return False
    return True


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions of both, at any depth, outer ones first."""
    if len(_inner(old)) != len(_inner(new)):
        return
    for one, other in zip(_inner(old), _inner(new), strict=True):
        if _is_function(one):
            yield one, other
        yield from _pairs(one, other)


def _inside_functions(old: CodeType, new: CodeType) -> bool:
    """Is all that differs inside functions? Then the bodies of the module and of its classes are the same."""
    if _is_function(old):
        return old.co_freevars == new.co_freevars
    if not _same(old, new, inner=False):
        return False
    return all(_inside_functions(one, other) for one, other in zip(_inner(old), _inner(new), strict=True))


def names_at(mutant: Mutant) -> set[str]:
    """The names that the statement of the mutant makes, and all that are made from them in its module."""
    tree = ast.parse(mutant.path.read_text("utf-8"))
    first = next(each for each in tree.body if each.lineno <= mutant.line <= (each.end_lineno or 0))
    if isinstance(first, (ast.ClassDef, ast.FunctionDef)):
        return {first.name}
    changed = _names_made(first)
    for each in tree.body:
        if isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _names_used(each) & changed:
            changed |= _names_made(each)
    return changed


def cached_at(mutant: Mutant) -> set[str]:
    """The functions around the mutant whose results are kept."""
    tree = ast.parse(mutant.path.read_text("utf-8"))
    around = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.lineno <= mutant.line <= (each.end_lineno or 0)
    ]
    return {each.name for each in around if any("cache" in ast.unparse(word) for word in each.decorator_list)}


def lines_with(names: set[str], source: str) -> list[int]:
    """The lines of a source that name one of these."""
    if not names:
        return []
    word = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    return [number for number, line in enumerate(source.splitlines(), 1) if word.search(line)]
