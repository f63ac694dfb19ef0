"""Imports single modules of vLLM, SGLang and transformers from their unpacked wheels, without what is around them.

These packages import torch, CUDA and all of a server long before a parser comes up. None of that runs when a reply is
parsed. So of each wheel only the modules in `REAL` are theirs: the parsers, and the pydantic models that parsers make
for every chunk. No `__init__.py` runs, and every other module is an empty one whose attributes are made when somebody
asks for them. Those that are called while a reply is parsed are written out in `GIVEN`, and do what theirs do.
"""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

__all__ = ["install"]

REAL = (
    "vllm.entrypoints.generate.base",
    "vllm.entrypoints.openai.chat_completion",
    "vllm.entrypoints.serve.engine",
    "vllm.entrypoints.serve.exception_handling.error_response",
    "vllm.entrypoints.serve.exception_handling.utils",
    "vllm.entrypoints.serve.utils.api_utils",
    "vllm.entrypoints.serve.utils.tool_calls_utils",
    "vllm.envs",
    "vllm.exceptions",
    "vllm.parser",
    "vllm.plugins",
    "vllm.reasoning",
    "vllm.tool_parsers",
    "vllm.utils.collection_utils",
    "vllm.utils.import_utils",
    "sglang.srt.entrypoints.openai",
    "sglang.srt.environ",
    "sglang.srt.function_call",
    "sglang.srt.parser",
    "sglang.srt.plugins",
    "transformers.utils.chat_parsing",
)
TESTS = Path(__file__).parents[2] / "tests"
# Metrics, and prompts of the models of old: they sit among the parsers, and play no part in parsing.
NOT_REAL = ("vllm.parser.metrics", "sglang.srt.parser.conversation", "sglang.srt.parser.python_chat_template")
RUN = ("vllm.parser", "vllm.plugins", "vllm.reasoning", "vllm.tool_parsers", "sglang.srt.plugins")
"""Packages whose own `__init__.py` runs."""
STANDS_IN = ("vllm", "sglang", "transformers", "torch", "fastapi", "openai_harmony")


def new_id(*_: object, **__: object) -> str:
    return f"call_{uuid.uuid4().hex}"


def new_logger(name: str) -> logging.Logger:
    """A logger with the methods that vLLM's has beside."""
    made = logging.getLogger(name)
    for level in ("debug", "info", "warning"):
        setattr(made, f"{level}_once", lambda message, *args, level=level, **_: getattr(made, level)(message, *args))
    return made


def error_response(*args: Any, **kwargs: Any) -> Any:
    module = import_module("vllm.entrypoints.serve.exception_handling.error_response")
    return module.create_error_response(*args, **kwargs)


class Off:
    """The options of a server, none of which is set."""

    def __getattr__(self, name: str) -> bool:
        return False


GIVEN: dict[str, dict[str, Any]] = {
    "vllm.entrypoints.serve": {"create_error_response": error_response},
    "vllm.logger": {"init_logger": new_logger},
    "vllm.parser.metrics": {"record_tool_parser_invocation": lambda **_: None},
    "vllm.renderers.chat_utils": {"make_tool_call_id": new_id},
    "vllm.utils": {"random_uuid": lambda: uuid.uuid4().hex},
    "sglang.srt.runtime_context": {"get_serving": Off},
    "sglang.srt.utils.weight_versions": {"build_endpoint_weight_version_metadata": lambda _: None},
    "vllm.utils.mistral": {"is_mistral_tokenizer": lambda tokenizer: False},
    "transformers.utils": {"logging": SimpleNamespace(get_logger=logging.getLogger)},
}


class Placeholder:
    """What an empty module gives: a class that pydantic takes as a type."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


class Fields(Placeholder):
    """Takes any fields; others are None."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> None:
        return None


GIVEN["vllm.sampling_params"] = {"StructuredOutputsParams": type("StructuredOutputsParams", (Fields,), {})}


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
        if name in RUN:
            return PathFinder.find_spec(name, path)
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
    """Let `vllm`, `sglang` and `transformers` be imported from `folder`, in which their wheels are unpacked."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.path.append(str(TESTS))
        import_module("support.engines.xgrammar_torch").import_xgrammar()  # before there is a torch that stands in
        sys.meta_path.insert(0, Finder(folder))
