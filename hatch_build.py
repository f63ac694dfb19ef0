"""The wheel with a compiled parser: `XMLTOOLS_COMPILE=1 pip wheel .` (it needs a C compiler).

Without the variable the wheel is pure Python, for every machine. With it mypyc makes extension modules of the same
source, which stand beside it in the wheel; Python prefers them where both are.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The parser, and the shapes that arguments are read by, which share their classes: all or none. The rest of
# what reads schemas and writes values stays as it is: it is pydantic's time, or builds on the numbers' exact types.
MODULES = (
    "conversations/streams/json_members",
    "models/events",
    "parser/attributes",
    "parser/open_call",
    "parser/cdata",
    "parser/cut_off_replies",
    "parser/delimited_calls",
    "parser/delimited_keys",
    "parser/delimited_starts",
    "parser/delimited_values",
    "parser/delimiters",
    "parser/elements",
    "parser/end_tags",
    "parser/fences",
    "parser/finish",
    "parser/foreign",
    "parser/held_calls",
    "parser/json_deltas",
    "parser/json_states",
    "parser/machine",
    "parser/new_ids",
    "parser/openers",
    "parser/stream",
    "parser/outside",
    "parser/reasoning",
    "parser/quiet_chunks",
    "parser/call_start",
    "parser/shown",
    "parser/tool_tags",
    "parser/toolbox",
    "parser/decode_text",
    "parser/values",
    "tools/schema/nodes",
    "tools/schema/shapes",
    "tools/schema/text_to_scalar",
    "syntax/element_tree",
    "syntax/embedded_markup",
    "syntax/json_reader",
    "syntax/json_scanner",
    "syntax/markup",
    "syntax/rope",
)


class CompileHook(BuildHookInterface[Any]):
    """Compiles the parser if `XMLTOOLS_COMPILE` is 1. Editable installs stay pure, they would go stale."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What pip installs for the build: the compiler, and what it needs to know the types of what is imported."""
        return (
            ["mypy[mypyc]>=2.4", "setuptools", "lxml-stubs", *self.metadata.core.dependencies] if self._is_asked else []
        )

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and add the extension modules to the wheel."""
        if self._is_asked and version == "standard":
            self._folder = tempfile.TemporaryDirectory()
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["force_include"] |= compiled(Path(self.root), Path(self._folder.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Drop what the compiler left."""
        if self._is_asked and version == "standard":
            self._folder.cleanup()

    @property
    def _is_asked(self) -> bool:
        return os.environ.get("XMLTOOLS_COMPILE") == "1"


def compiled(root: Path, folder: Path) -> dict[str, str]:
    """Compile into `folder`; returns the files, with the places that they have in the wheel."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    os.chdir(root)  # mypyc names modules by their paths from here
    sources = [f"xmltools/{name}.py" for name in MODULES]
    extensions = mypycify(sources, group_name="xmltools", target_dir=str(folder / "c"), opt_level="3", debug_level="0")
    if sys.platform != "win32":  # calls from one function to another need no table then
        for extension in extensions:
            extension.extra_compile_args.append("-fvisibility=hidden")
    build = Distribution({"name": "xmltools", "ext_modules": extensions}).get_command_obj("build_ext")
    build.build_lib, build.build_temp = str(folder / "lib"), str(folder / "temp")
    build.ensure_finalized()
    build.run()
    library = folder / "lib"
    return {str(path): path.relative_to(library).as_posix() for path in library.rglob("*") if path.is_file()}
