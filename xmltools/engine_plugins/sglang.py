"""Tells SGLang the parsers of the plugin: the entry point `sglang.srt.plugins`.

SGLang calls it in each of its processes before it reads its arguments, and then offers what stands in its two tables.
"""

from __future__ import annotations

import logging
from importlib import import_module

from xmltools.engine_plugins.names import reasoning_parsers, tool_parsers
from xmltools.errors import XMLToolsError

log = logging.getLogger("xmltools.engine_plugins")


def on_start() -> None:
    """Do what `register` does. A problem is a line in the log: SGLang can run without the plugin."""
    try:
        register()
    except XMLToolsError as problem:
        log.warning("the parsers xmltools_* are not there: %s", problem)


def register() -> None:
    """Add the parsers to SGLang's tables. Doing it twice changes nothing.

    Raises `XMLToolsError` if SGLang is not installed, or is too old to tell a parser that a reply has ended.
    """
    try:
        tools = import_module("sglang.srt.function_call.function_call_parser")
        reasoning = import_module("sglang.srt.parser.reasoning_parser")
    except ImportError as problem:
        raise XMLToolsError(
            f"the plugin for SGLang needs SGLang 0.5.23 or later, in which there is {problem.name}; install it in the "
            "environment in which `sglang serve` runs"
        ) from None
    if not hasattr(tools.BaseFormatDetector, "finish"):
        raise XMLToolsError(
            "the plugin for SGLang needs SGLang 0.5.23 or later: this one does not tell a parser that a reply has "
            "ended, so that the end of a text could be lost; `pip install -U sglang`, or use `xmltools serve` in front "
            "of it"
        )
    detectors = import_module("xmltools.engine_plugins.sglang_detectors")
    for name in tool_parsers():
        tools.FunctionCallParser.ToolCallParserEnum[str(name)] = detectors.tool_detector(name)
    for name in reasoning_parsers():
        reasoning.ReasoningParser.DetectorMap[str(name)] = detectors.reasoning_detector(name)
