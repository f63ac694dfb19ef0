"""Which tool a name means, and which it may have been meant for (PROTOCOL.md, 2.8)."""

from __future__ import annotations

import pytest

from xmltools import Tool, parse, render_retry
from xmltools.tools import ToolNames

NAMES = ToolNames(
    {"get_weather": ["local"], "read": ["fs"], "Read": ["web"], "now": ["local", "web"], "exec": ["fs"], "a-b": ["fs"]}
)


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("get_weather", "get_weather"),
        ("Get-Weather", "get_weather"),
        ("functions.GET-weather", "get_weather"),
        ("`get-weather()`", "get_weather"),
        ("A_B", "a-b"),
        ("Read", "Read"),
        ("READ", None),
        ("x.Read", "Read"),
        ("web.Read", "Read"),
        ("fs.Read", None),
        ("fs.exec", "exec"),
        ("web.exec", None),
        ("x.web.exec", None),
        ("web.x.exec", None),
        ("web.now", None),
        ("local.now", None),
        ("getweather", None),
        ("", None),
        ("x." * 1_000_000 + "exec", None),
        ("exec" * 1_000_000, None),
    ],
)
def test_a_name_means_one_tool_or_none(name: str, tool: str | None) -> None:
    assert NAMES.resolve(name) == tool


def test_what_needs_the_least_left_out_decides() -> None:
    names = ToolNames({"web.get": ["local"], "get": ["local"]})
    assert names.resolve("Web.get") == "web.get"
    assert names.resolve("x.get") == "get"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("READ", ["read", "Read"]),
        ("GETWEATHER", ["get_weather"]),
        ("Get-Wether", ["get_weather"]),
        ("functions.Execute", ["exec"]),
        ("web.exec", ["exec"]),
        ("frobnicate", []),
        ("exec" * 1_000_000, []),
    ],
)
def test_the_near_names_of_an_unknown_one(name: str, near: list[str]) -> None:
    assert NAMES.near(name) == near


TOOLS = [
    Tool(name=name, parameters={"type": "object", "properties": {key: {"type": "string"}}, "required": [key]})
    for name, key in (("aaa", "x"), ("read_file", "path"), ("Read_file", "place"))
]


@pytest.mark.parametrize(("name", "shown"), [("READ_FILE", "read_file"), ("reed-file", "read_file")])
def test_a_retry_names_the_near_tools_and_shows_the_nearest(name: str, shown: str) -> None:
    [error] = parse(f"<tool><tool_name>{name}</tool_name></tool>", TOOLS).errors
    retry = render_retry(error, TOOLS)
    assert "Did you mean read_file or Read_file?" in error.hint
    assert "Did you mean read_file or Read_file?" in retry
    assert f"A correct call of {shown} looks like this" in retry and "The tools are" not in retry
