"""The house rules that a reader of one file can't see: who imports whom, and what never runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import xmltools

ROOT = Path(xmltools.__file__).parent

# From the ground up. A module imports only from rows above its own in this list; those in one row don't know each
# other. A folder counts as one, but for those in `proxy`; "" is `xmltools/__init__.py`, the public names.
LAYERS = (
    ("errors",),
    ("models", "dialects", "syntax"),
    ("tools",),
    ("parser", "render"),
    ("conversations", "grammar"),
    ("formats",),
    ("proxy.bridge",),
    ("",),
    ("lint", "proxy", "proxy.scripted", "proxy.transport", "proxy.playground", "proxy.recorded_exchange"),
    ("proxy.recordings",),
    ("proxy.server", "batch"),
    ("cli",),
    ("__main__",),
)
LAYER = {name: number for number, row in enumerate(LAYERS) for name in row}
CORE_LIBRARIES = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions"}
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


def statements(path: Path) -> Iterator[ast.AST]:
    """All nodes of a module that can run: what stands under `if TYPE_CHECKING:` is left out."""
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"), str(path))]
    while todo:
        node = todo.pop()
        yield node
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        todo.extend(node.orelse if typing_only else ast.iter_child_nodes(node))


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


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_from_layers_below(name: str) -> None:
    own = house_name(name)
    assert own in LAYER, f"{name} has no layer: give it one in {Path(__file__).name}"
    for other in imports(name):
        assert other.partition(".")[2] not in ALIASES, f"{name} imports {other}: name the module itself"
        if other.split(".")[0] == "xmltools" and house_name(other) != own:
            assert LAYER[house_name(other)] < LAYER[own], f"{name} imports {other}, which is not below it"


def test_there_is_no_import_cycle() -> None:
    graph = {name: set(imports(name)) & set(MODULES) - {name} for name in MODULES}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize("name", [name for name in MODULES if house_name(name) not in EDGES])
def test_the_core_imports_no_library_but_pydantic(name: str) -> None:
    foreign = {other.split(".")[0] for other in imports(name)} - set(sys.stdlib_module_names) - {"xmltools"}
    assert foreign <= CORE_LIBRARIES


@pytest.mark.parametrize("name", MODULES)
def test_no_content_is_ever_run(name: str) -> None:
    assert not FORBIDDEN_MODULES & set(imports(name))
    for node in statements(MODULES[name]):
        if isinstance(node, ast.ImportFrom):
            assert not FORBIDDEN_CALLS & {alias.name for alias in node.names}, f"{name}:{node.lineno}"
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name):
            assert called.id not in FORBIDDEN_CALLS, f"{name}:{called.lineno}"
        elif isinstance(called, ast.Attribute):
            allowed = {"compile"}  # re.compile
            assert called.attr not in FORBIDDEN_CALLS - allowed, f"{name}:{called.lineno}"


def test_importing_the_core_loads_nothing_heavy() -> None:
    program = f"import sys, xmltools.parser; print([name for name in {NOT_IN_CORE!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
