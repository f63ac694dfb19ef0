"""The pages as a site: `make docs`. It needs the extra `docs`, and nothing from the network, also when it is read.

The pages stay where they are, beside what they tell of, and link to each other as files. So they are copied as they lie
in the checkout, with what they link to; a page of the reference is made for each group of names, of their docstrings,
and one of the help of all commands. mkdocs then checks every link and every heading that one leads to.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import json
import re
import shutil
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

NAV: dict[str, str | dict[str, str]] = {
    "Home": "README.md",
    "Agents": {
        "Build an agent": "docs/guides/build_an_agent.md",
        "Examples": "examples/README.md",
        "Parsing": "docs/parsing.md",
        "Writing": "docs/writing.md",
        "Conversations": "docs/conversations.md",
        "Five systems": "docs/five_systems.md",
    },
    "Proxy": {
        "Run a proxy for others": "docs/guides/run_a_proxy.md",
        "Serving": "docs/serving.md",
        "Agents for the command line": "docs/agents.md",
        "Models and their dialects": "docs/models.md",
    },
    "Engines": {
        "Run an engine": "docs/guides/run_an_engine.md",
        "vLLM": "docs/vllm.md",
        "SGLang": "docs/sglang.md",
        "Grammars": "grammars/README.md",
        "Conformance": "docs/conformance.md",
    },
    "Data": {
        "Process transcripts": "docs/guides/process_transcripts.md",
        "Batches": "docs/batches.md",
        "Checking": "docs/checking.md",
    },
    "Dialects": {
        "Describe a dialect": "docs/guides/describe_a_dialect.md",
        "The protocol": "grammars/PROTOCOL.md",
        "Dialects": "grammars/DIALECTS.md",
        "Architecture": "docs/ARCHITECTURE.md",
        "The corpus": "tests/corpus/README.md",
        "Contributing": "CONTRIBUTING.md",
    },
    "Reference": {},
    "Trust": {
        "What there is": "docs/overview.md",
        "What is promised": "docs/promises.md",
        "Security": "SECURITY.md",
        "What was tried": "EVIDENCE.md",
        "Mutants that are accepted": "tests/mutation/ACCEPTED.md",
        "How it is measured": "benchmarks/README.md",
        "Rivals": "benchmarks/results.md",
        "Changes": "CHANGELOG.md",
        "Upgrading": "docs/upgrading.md",
    },
}
"""The pages by who reads them. First in each part comes the guide, a path through the others."""

REFERENCE: dict[str, tuple[str, ...]] = {
    "Parsing": ("xmltools.parser.Parser", "xmltools.parser.parse", "xmltools.parser.limits.Limits"),
    "Events": ("xmltools.models.events",),
    "Calls, replies, conversations": tuple(
        f"xmltools.models.{name}"
        for name in ("ToolCall", "ToolResult", "Reply", "Text", "Reasoning", "Message", "Conversation", "Media")
    ),
    "Errors and repairs": tuple(
        f"xmltools.errors.{name}" for name in ("CallError", "Repair", "Notice", "Issue", "Code", "XMLToolsError")
    ),
    "Tools": ("xmltools.tools.Tool", "xmltools.tools.load_tools"),
    "Dialects": ("xmltools.dialects",),
    "Writing": ("xmltools.render",),
    "Whole conversations": ("xmltools.transcript", "xmltools.compaction", "xmltools.validation", "xmltools.streams"),
    "Formats": ("xmltools.formats",),
    "Grammars": ("xmltools.grammar",),
    "Checking": ("xmltools.lint",),
    "Batches": ("xmltools.batch",),
    "Serving": ("xmltools.serve", "xmltools.transport", "xmltools.bridge"),
}
"""Names with a page of their own; a module stands for all in its `__all__`."""

_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)|<img [^>]*src=\"([^\":]+)\"")

_SECTION = re.compile(r"<!\[(?!CDATA\[)")
"""What Python 3.11's reader of HTML raises for, also in code, as fuzzers write it."""


def own_pages() -> list[str]:
    """Return the pages that lie in the checkout."""
    return [page for entry in NAV.values() for page in ([entry] if isinstance(entry, str) else entry.values())]


def copy(page: str, pages: Path) -> None:
    """Copy a page, and the files that it links to and that are no pages."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in _LINK.finditer(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
        linked = ((ROOT / page).parent / (found[1] or found[2])).resolve()
        target = pages / linked.relative_to(ROOT)
        if linked.is_file() and linked.suffix != ".md":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, target)
    (pages / page).parent.mkdir(parents=True, exist_ok=True)
    (pages / page).write_text(_SECTION.sub("<!\N{ZERO WIDTH SPACE}[", text), encoding="utf-8")


def documented(name: str) -> list[str]:
    """Return what is told of under a name: itself, or all that a module shows."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        return [name]
    told = []
    for each in module.__all__:
        thing = getattr(module, each)
        # A class or a function is told of where it is made; a value, such as a record or a type, where it is shown.
        is_made = isinstance(thing, type) or inspect.isfunction(thing)
        told.append(f"{thing.__module__ if is_made else name}.{each}")
    return told


def write_reference(pages: Path) -> dict[str, str]:
    """Write the pages of the reference; return them by their titles."""
    folder = pages / "reference"
    folder.mkdir(parents=True)
    made = {}
    for title, names in REFERENCE.items():
        page = re.sub(r"\W+", "_", title.lower()) + ".md"
        told = dict.fromkeys(each for name in names for each in documented(name))
        (folder / page).write_text(f"# {title}\n\n" + "".join(f"::: {each}\n\n" for each in told), encoding="utf-8")
        made[title] = f"reference/{page}"
    (folder / "commands.md").write_text(commands(), encoding="utf-8")
    return {**made, "Commands": "reference/commands.md"}


def commands() -> str:
    """Return the help of every command."""
    from xmltools.cli.commands import COMMANDS, main

    parts = ["# Commands\n"]
    for name in COMMANDS:
        printed = io.StringIO()
        with redirect_stdout(printed), suppress(SystemExit):
            main([name, "--help"])
        parts.append(f"## {name}\n\n```text\n{printed.getvalue().strip()}\n```\n")
    return "\n".join(parts)


def navigation(reference: dict[str, str]) -> list[Any]:
    """Return `nav` as mkdocs has it."""
    given = NAV | {"Reference": reference}
    return [
        {title: entry if isinstance(entry, str) else [{name: page} for name, page in entry.items()]}
        for title, entry in given.items()
    ]


def main() -> int:
    """Build the site; return the exit status, which is not 0 if a link leads nowhere."""
    parser = argparse.ArgumentParser(description="Build the pages as a site.")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "site", help="where: in pages/ and html/ of this one"
    )
    folder: Path = parser.parse_args().folder
    for part in ("pages", "html"):
        shutil.rmtree(folder / part, ignore_errors=True)
    for page in own_pages():
        copy(page, folder / "pages")
    reference = write_reference(folder / "pages")
    settings = (Path(__file__).parent / "mkdocs.yml").read_text(encoding="utf-8")
    (folder / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(navigation(reference))}\n", encoding="utf-8")
    from mkdocs.__main__ import cli

    cli(["build", "--strict", "--config-file", str(folder / "mkdocs.yml")], standalone_mode=False)
    print(f"built: {folder / 'html' / 'index.html'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
