"""The house rules that a reader of one file can't see: who imports whom, and what never runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import xmltools

ROOT = Path(xmltools.__file__).parent

# From the ground up. A module imports only from rows above its own in this list; those in one row don't know each
# other. A folder counts as one, but for those in `proxy`; "" is `xmltools/__init__.py`, the public names.
LAYERS = (
    ("errors", "first_use", "extras", "terminal"),
    ("models", "dialects", "syntax"),
    ("tools",),
    ("parser",),
    ("render",),
    ("conversations", "grammar"),
    ("formats",),
    ("proxy.bridge",),
    ("",),
    ("lint", "proxy", "proxy.scripted", "proxy.transport", "proxy.playground"),
    ("proxy.recordings",),
    ("proxy.server", "batch", "engine_plugins", "integrations"),
    ("proxy.doctor",),
    ("cli",),
    ("__main__",),
)
LAYER = {name: number for number, row in enumerate(LAYERS) for name in row}
CORE_LIBRARIES = {"lxml", "pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
EDGES = {name for row in LAYERS[LAYERS.index(("",)) + 1 :] for name in row}

FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "literal_eval"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "code", "codeop"}
# Heavy, or for edges only: `import xmltools` must not pay for them.
NOT_IN_CORE = (
    "lxml",
    "defusedxml",
    "rich",
    "argparse",
    "asyncio",
    "http",
    "ssl",
    "subprocess",
    "multiprocessing",
    "xml.sax",
)

ALIASES = frozenset(
    ["serve", "transport", "bridge", "streams", "transcript", "validation", "compaction", "echo", "events"]
)
"""Names that the documentation gives to modules inside folders: one import each."""
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if path.relative_to(ROOT).with_suffix("").as_posix() not in ALIASES
}


@cache
def statements(path: Path) -> list[ast.AST]:
    """All nodes of a module, also those that only type checkers see: a cycle of types is one for a reader, too."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"), str(path))))


def imports(name: str) -> Iterator[str]:
    """The modules that a module imports, anywhere in it, with full names."""
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in statements(MODULES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            inner = [f"{module}.{alias.name}" for alias in node.names if f"{module}.{alias.name}" in MODULES]
            yield from inner or [module]


def house_name(module: str) -> str:
    """The name by which a module stands in `LAYERS`."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2] if parts[:1] == ["proxy"] else parts[:1])


def test_every_module_has_a_layer() -> None:
    assert [name for name in MODULES if house_name(name) not in LAYER] == [], f"see LAYERS in {Path(__file__).name}"


def test_a_module_imports_only_from_layers_below() -> None:
    inner = [(name, other) for name in MODULES for other in imports(name) if other.split(".")[0] == "xmltools"]
    between = [(name, other) for name, other in inner if house_name(name) != house_name(other)]
    upwards = [(name, other) for name, other in between if LAYER[house_name(other)] >= LAYER[house_name(name)]]
    assert upwards == []


def test_a_module_is_imported_by_its_own_name() -> None:
    assert [(name, other) for name in MODULES for other in imports(name) if other.partition(".")[2] in ALIASES] == []


def test_there_is_no_import_cycle() -> None:
    graph = {name: set(imports(name)) & set(MODULES) - {name} for name in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


def test_the_core_imports_no_library_but_lxml_and_pydantic() -> None:
    core = [name for name in MODULES if house_name(name) not in EDGES]
    known = CORE_LIBRARIES | set(sys.stdlib_module_names) | {"xmltools", "_typeshed"}
    assert [(name, other) for name in core for other in imports(name) if other.split(".")[0] not in known] == []


def test_no_content_is_ever_run() -> None:
    assert [(name, other) for name in MODULES for other in imports(name) if other in FORBIDDEN_MODULES] == []
    calls = [f"{name}:{node.lineno}" for name, path in MODULES.items() for node in statements(path) if runs(node)]
    assert calls == []


def runs(node: ast.AST) -> bool:
    """Whether a statement calls what runs text as a program, or imports it by another name."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name in FORBIDDEN_CALLS for alias in node.names)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in FORBIDDEN_CALLS - {"compile"}  # re.compile
    return isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS


def test_importing_the_core_loads_nothing_heavy() -> None:
    program = f"import sys, xmltools.parser; print([name for name in {NOT_IN_CORE!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
