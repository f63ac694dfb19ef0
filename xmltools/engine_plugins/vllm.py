"""Tells vLLM the names of the plugins' parsers: the entry point `vllm.general_plugins`.

vLLM calls it in each of its processes, most of which never parse. So only names are told, and `vllm_parsers` is loaded
when the server uses one of them.
"""

from __future__ import annotations

import logging
from importlib import import_module

from xmltools.engine_plugins.names import reasoning_parsers, tool_parsers
from xmltools.errors import XMLToolsError

PARSERS = "xmltools.engine_plugins.vllm_parsers"

log = logging.getLogger("xmltools.engine_plugins")


def on_start() -> None:
    """Do what `register` does. A problem is a line in the log: vLLM can run without the plugin."""
    try:
        register()
    except XMLToolsError as problem:
        log.warning("the parsers xmltools_* are not there: %s", problem)


def register() -> None:
    """Add the parsers to vLLM's lists. Doing it twice changes nothing.

    Raises `XMLToolsError` if vLLM is not installed, or is too old to tell a parser that a reply has ended.
    """
    try:
        tools = import_module("vllm.tool_parsers.abstract_tool_parser")
        reasoning = import_module("vllm.reasoning.abs_reasoning_parsers")
    except ImportError as problem:
        raise XMLToolsError(
            f"the plugin for vLLM needs vLLM 0.33 or later, in which there is {problem.name}; install it in the "
            "environment in which `vllm serve` runs"
        ) from None
    if not hasattr(tools.ToolParser, "engine_based_streaming"):
        raise XMLToolsError(
            "the plugin for vLLM needs vLLM 0.33 or later: this one does not tell a parser that a reply has ended, so "
            "that the end of a text could be lost; `pip install -U vllm`, or use `xmltools serve` in front of it"
        )
    for name in tool_parsers():
        tools.ToolParserManager.register_lazy_module(str(name), PARSERS, str(name))
    for name in reasoning_parsers():
        reasoning.ReasoningParserManager.register_lazy_module(str(name), PARSERS, f"reasoning_{name}")
