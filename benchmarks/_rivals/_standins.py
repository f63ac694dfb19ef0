"""Imports single modules of vLLM and SGLang from their unpacked wheels, without the servers around them.

Both packages import torch, CUDA and all of a server long before a parser comes up. None of that runs when a reply is
parsed. So of each wheel only the modules in `REAL` are theirs: the parsers, and the pydantic models that parsers make
for every chunk. No `__init__.py` runs, and every other module is an empty one whose attributes are made when somebody
asks for them. Those that are called while a reply is parsed are written out in `GIVEN`, and do what theirs do.
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["install"]

REAL = (
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.openai.chat_completion.protocol",
    "vllm.entrypoints.serve.engine.protocol",
    "vllm.envs",
    "vllm.exceptions",
    "vllm.parser",
    "vllm.reasoning",
    "vllm.tool_parsers",
    "sglang.srt.entrypoints.openai.protocol",
    "sglang.srt.environ",
    "sglang.srt.function_call",
    "sglang.srt.parser",
)
# Metrics and grammars for the server's engine: they sit among the parsers, and play no part in parsing.
NOT_REAL = ("vllm.parser.metrics", "vllm.tool_parsers.structural_tag_registry")
STANDS_IN = ("vllm", "sglang", "xgrammar", "transformers")


def new_id(*_: object, **__: object) -> str:
    return f"call_{uuid.uuid4().hex}"


GIVEN: dict[str, dict[str, Any]] = {
    "vllm.logger": {"init_logger": logging.getLogger},
    "vllm.parser.metrics": {"record_tool_parser_invocation": lambda **_: None},
    "vllm.renderers.chat_utils": {"make_tool_call_id": new_id},
    "vllm.utils": {"random_uuid": lambda: uuid.uuid4().hex},
    "vllm.utils.mistral": {"is_mistral_tokenizer": lambda tokenizer: False},
}


class Placeholder:
    """What an empty module gives: a class that pydantic takes as a type."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


class Empty(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Placeholder,), {})
        setattr(self, name, made)
        return made


def below(name: str, roots: Sequence[str]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


class Finder(MetaPathFinder, Loader):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if not below(name, STANDS_IN):
            return None
        place = self.folder.joinpath(*name.split("."))
        if below(name, REAL) and name not in NOT_REAL and place.with_suffix(".py").is_file():
            return PathFinder.find_spec(name, path)
        spec = ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(GIVEN.get(module.__name__, {}))


def install(folder: Path) -> None:
    """Let `vllm` and `sglang` be imported from `folder`, in which their wheels are unpacked."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(folder))
