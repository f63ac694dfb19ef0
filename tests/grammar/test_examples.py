"""The examples in `grammars/examples` are what the package makes of their tools, byte for byte.

Those in other dialects than Forge's are of the same tools on one server, since calls in these name none.

`python tests/grammar/test_examples.py` writes them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the run as a script

from support.dialect_grammar_laws import DIALECTS, SAMPLE_TOOLS

from grammar import EXAMPLES, TOOLS
from xmltools.grammar import build_grammar


def examples() -> dict[str, str]:
    """Return the text of each file."""
    made = {
        "reply.gbnf": build_grammar(TOOLS, "gbnf"),
        "reply.lazy.gbnf": build_grammar(TOOLS, "gbnf", lazy=True),
        "reply.lark": build_grammar(TOOLS, "lark"),
        "reply.structural_tag.json": build_grammar(TOOLS, "structural_tag"),
        "call.regex": build_grammar(TOOLS, "regex"),
        "arguments.lark": build_grammar(TOOLS, "lark", tool_choice="arguments", name="create_ticket"),
    }
    for dialect in DIALECTS:
        for format, ending in (("gbnf", "gbnf"), ("lark", "lark"), ("structural_tag", "structural_tag.json")):
            made[f"dialects/{dialect}.{ending}"] = build_grammar(SAMPLE_TOOLS, format, dialect=dialect)
    return made


@pytest.mark.parametrize("name", examples())
def test_an_example_is_what_is_made_of_the_tools(name: str) -> None:
    assert (EXAMPLES / name).read_text("utf-8") == examples()[name]


def test_there_are_no_other_examples() -> None:
    files = [path for path in EXAMPLES.rglob("*") if path.is_file()]
    assert {path.relative_to(EXAMPLES).as_posix() for path in files} == {*examples(), "tools.json"}


if __name__ == "__main__":
    for file, text in examples().items():
        (EXAMPLES / file).parent.mkdir(exist_ok=True)
        (EXAMPLES / file).write_text(text, "utf-8", newline="\n")
