"""How engines find the plugins, and what happens where the engine is not installed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec

import pytest

from xmltools import dialects
from xmltools.engine_plugins.names import find, reasoning_parsers, tool_parsers
from xmltools.errors import XMLToolsError

GROUPS = {"vllm": "vllm.general_plugins", "sglang": "sglang.srt.plugins"}


@pytest.mark.parametrize("engine", GROUPS)
def test_where_the_engine_is_missing(engine: str, caplog: pytest.LogCaptureFixture) -> None:
    """The entry point only logs it: an engine that is there must start, whatever else is installed beside it."""
    if find_spec(engine):
        pytest.skip(f"{engine} is installed")
    [point] = entry_points(group=GROUPS[engine], name="xmltools")
    point.load()()
    [record] = caplog.records
    assert record.message.startswith("the parsers xmltools_* are not there: the plugin for ")
    with pytest.raises(XMLToolsError, match=f"needs .* or later, in which there is {engine}"):
        import_module(point.module).register()


def test_nothing_of_an_engine_is_imported_before_it_asks() -> None:
    program = (
        "import sys, xmltools, xmltools.parser; "
        "assert not [name for name in sys.modules if 'engine_plugins' in name]; "
        "import xmltools.engine_plugins.vllm, xmltools.engine_plugins.sglang, xmltools.engine_plugins.replies; "
        "print([name for name in sys.modules if name.split('.')[0] in ('vllm', 'sglang', 'torch')])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_names() -> None:
    names = [str(name) for name in tool_parsers()]
    assert names[:2] == ["xmltools_forge", "xmltools_forge_whole"]
    assert len(names) == len(set(names)) == 2 * len(dialects.all())
    assert [str(find(name)) for name in names] == names
    assert "xmltools_hermes" in map(str, reasoning_parsers())
    assert "xmltools_llama3_json" not in map(str, reasoning_parsers())  # its models have no marks for reasoning


def test_names_of_no_parser() -> None:
    with pytest.raises(XMLToolsError, match="did you mean 'hermes'"):
        find("xmltools_hermez")
    with pytest.raises(XMLToolsError, match="expected the name of a parser, xmltools_DIALECT, got 'hermes'"):
        find("hermes")
