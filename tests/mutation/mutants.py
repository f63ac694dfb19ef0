"""What may be wrong with the code: mutants of the parser, the dialects and the schemas, each one change in one place.

The operators are those of mutmut, and three more: a condition is negated, a statement that is only an expression is
left out, a function returns None. They are applied everywhere, at the level of modules and classes too. `SKIPPED` says
what is left out because no behaviour can differ, or only the wording.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

__all__ = ["ROOT", "SCOPE", "SKIPPED", "Mutant", "control_of", "digest_of", "module_of", "mutants_of"]

ROOT = Path(__file__).resolve().parents[2]
SCOPE = [
    path
    for folder in ("parser", "syntax", "dialects", "tools/schema")
    for path in sorted((ROOT / "xmltools" / folder).glob("*.py"))
    if path.name != "__init__.py" or folder == "dialects"  # the others only say what is imported
]
SKIPPED = """Annotations, aliases of types, imports, docstrings, decorators (what they hold here is the size of a
cache), `__all__`, `__slots__`, `__repr__`, literals of two words or more (the wording of a message), the texts in the
tables of made-up examples, what compiles to the same code, and calls without one of their positional arguments, but for
the last."""
_TABLES = frozenset(("_FORMATS", "_WORDS", "_CODE_WORDS", "_CODE"))
_UNSEEN = frozenset(("__all__", "__slots__"))
_SENTENCE = re.compile(r"[A-Za-z'`:,]{2,} (?:[a-z'`]+\b|$)")


class Mutant(NamedTuple):
    """One change: where it stands, which operator made it, and the source with it."""

    path: Path
    line: int
    lines: tuple[int, int]  # of the statement, or of the head of a compound one
    start: int  # the place of what is changed
    end: int
    new: str  # what stands there instead
    key: str  # what names it in the results, also when lines move

    is_control: bool = False  # nothing was changed: whatever kills it is wrong

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        return module_of(self.path)

    @property
    def source(self) -> str:
        """The text of the module with the change."""
        text = _text_of(self.path)
        return f"{text[: self.start]}{self.new}{text[self.end :]}"

    @property
    def compiles(self) -> bool:
        """Whether it is Python at all."""
        try:
            compile(self.source, "", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        return True


@cache
def _text_of(path: Path) -> str:
    return path.read_text("utf-8")


def module_of(path: Path) -> str:
    """Return the dotted name of the module in a file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def digest_of(paths: list[Path]) -> str:
    """Return what tells these files from all other states of theirs."""
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of a file, among them a few that can't be compiled."""
    source = _text_of(path)
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    finder = _Finder(path, source, wrapper)
    wrapper.visit(finder)
    seen: dict[bytes, Mutant] = {}
    counts: Counter[str] = Counter()
    for mutant in finder.found:
        counts[mutant.key] += 1
        seen.setdefault(
            sha256(mutant.source.encode()).digest(), mutant._replace(key=f"{mutant.key} #{counts[mutant.key]}")
        )
    return list(seen.values())


def control_of(path: Path) -> Mutant:
    """Return the mutant of a file that is none."""
    lines = 1, _text_of(path).count("\n") + 1
    return Mutant(path, 1, lines, 0, 0, "", f"{module_of(path)} control", is_control=True)


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, path: Path, source: str, wrapper: MetadataWrapper) -> None:
        super().__init__()
        self.path = path
        self.source = source
        self.module = wrapper.module
        self.found: list[Mutant] = []
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.statements: list[tuple[int, int]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_skipped(node):
            return False
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            self.statements.append(self._lines(node))
        if not isinstance(node, cst.BaseString) or not _SENTENCE.search(node.value if hasattr(node, "value") else ""):
            for name, changed in _changes(node):
                self._add(node, name, changed)
            for part, changed in _more(node):
                self._add(part, type(node).__name__, changed)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if not _is_skipped(original_node) and isinstance(
            original_node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        ):
            self.statements.pop()

    def _lines(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self.get_metadata(PositionProvider, node)
        body = getattr(node, "body", None)
        last = place.end.line
        if isinstance(node, cst.BaseCompoundStatement) and isinstance(body, cst.IndentedBlock) and body.body:
            last = max(place.start.line, self.get_metadata(PositionProvider, body.body[0]).start.line - 1)
        return place.start.line, last

    def _add(self, node: cst.CSTNode, name: str, changed: cst.CSTNode) -> None:
        place = self.get_metadata(PositionProvider, node)
        start = self.starts[place.start.line - 1] + place.start.column
        end = self.starts[place.end.line - 1] + place.end.column
        new = self.module.code_for_node(changed)
        lines = self.statements[-1] if self.statements else (place.start.line, place.end.line)
        words = f"{name}: {' '.join(self.source[start:end].split())} -> {' '.join(new.split())}"
        self.found.append(
            Mutant(self.path, place.start.line, lines, start, end, new, f"{module_of(self.path)} {words}")
        )


def _is_skipped(node: cst.CSTNode) -> bool:
    if isinstance(node, (cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator)):
        return True
    if isinstance(node, cst.Expr):
        return isinstance(node.value, cst.BaseString)
    if isinstance(node, cst.FunctionDef):
        return node.name.value == "__repr__"
    if isinstance(node, cst.Assign):
        return getattr(node.targets[0].target, "value", None) in _UNSEEN | _TABLES or _is_type(node.value)
    if isinstance(node, cst.AnnAssign):
        return getattr(node.target, "value", None) in _TABLES
    if isinstance(node, cst.SimpleString):
        return node.value.startswith('"https://')
    return False


def _is_type(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Subscript) and getattr(value.value, "value", None) in (
        "Callable",
        "tuple",
        "dict",
        "list",
    )


def _changes(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            for changed in operator(node):
                if not _shifts(node, changed):
                    yield operator.__name__.removeprefix("operator_"), changed


def _shifts(node: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Is it a call that lacks a positional argument which is not its last? Few of those can even be made."""
    if not isinstance(node, cst.Call) or not isinstance(changed, cst.Call) or len(changed.args) == len(node.args):
        return False
    kept = {id(arg) for arg in changed.args}
    lacking = next(at for at, arg in enumerate(node.args) if id(arg) not in kept)
    return any(arg.keyword is None and not arg.star for arg in node.args[lacking + 1 :])


def _more(node: cst.CSTNode) -> Iterable[tuple[cst.CSTNode, cst.CSTNode]]:
    """Our own changes: a part of the node, and what stands in its place."""
    if isinstance(node, (cst.If, cst.While, cst.CompIf)) and not isinstance(
        node.test, (cst.UnaryOperation, cst.Comparison)
    ):
        return [(node.test, _negated(node.test))]
    if (
        isinstance(node, cst.Return)
        and node.value
        and not (isinstance(node.value, cst.Name) and node.value.value == "None")
    ):
        return [(node.value, cst.Name("None"))]
    if isinstance(node, cst.Expr):
        return [(node, cst.Pass())]
    return []


def _negated(test: cst.BaseExpression) -> cst.BaseExpression:
    inner = test.with_changes(lpar=[cst.LeftParen(), *test.lpar], rpar=[*test.rpar, cst.RightParen()])
    return cst.UnaryOperation(cst.Not(), inner)
