"""What a user does first, against an installed wheel: `.ci/run` runs it in an empty folder, without the source."""

import json
import subprocess
import sys
from importlib.metadata import entry_points, version
from importlib.resources import files

import xmltools as xt


def run(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        ["xmltools", *arguments], input=given, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done
    return done.stdout


TEXT = "Hi <tool><tool_name>add</tool_name><arguments><a>5</a><b>3</b></arguments></tool>"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


assert "site-packages" in xt.__file__, xt.__file__
assert version("xmltools") == xt.__version__
assert (files("xmltools") / "py.typed").is_file()
assert "# The tool-call protocol" in (files("xmltools") / "grammars" / "PROTOCOL.md").read_text(encoding="utf-8")
assert all(getattr(xt, name) is not None for name in xt.__all__)

for group in ("vllm.general_plugins", "sglang.srt.plugins"):
    [point] = entry_points(group=group, name="xmltools")
    point.load()()  # logs that the engine is not installed

reply = xt.parse(TEXT, [xt.Tool.of(add)])
assert reply.text == "Hi " and reply.calls[0].arguments == {"a": 5, "b": 3} and reply.calls[0].clean

assert xt.__version__ in run("--version")
parts = [json.loads(line) for line in run("parse", "-", given=TEXT).splitlines()]
assert [part["type"] for part in parts] == ["text", "call"], parts
case = {"id": 1, "chunks": list(TEXT), "tools": None, "options": {}}
answer = json.loads(run("conformance", given=json.dumps(case) + "\n"))
assert answer["calls"][0]["arguments"] == {"a": "5", "b": "3"}, answer
assert "Result" in run("demo", "--speed", "0", "--plain")
print(f"smoke: fine on Python {sys.version.split()[0]}")
