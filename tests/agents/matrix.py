"""Which clients run which calls: `python tests/agents/matrix.py` prints it as Markdown tables.

Each client is a script of its own, which runs once for all its cells, with the Python that XMLTOOLS_AGENTS_PYTHON
names, or else this one. What goes through the transport runs with this Python, which has xmltools. Integrations, as the
transport, ask the upstream themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if __name__ == "__main__":  # the tests import each other by their plain names; the folder itself is of no use here
    sys.path[:1] = [str(ROOT), str(HERE.parent)]

from proxy.running import running  # noqa: E402

from agents.upstream import CASES, DONE, EXPECTED, Upstream  # noqa: E402
from xmltools.proxy.server import ServeConfig, create_app  # noqa: E402

PATIENCE = 120  # seconds for all cells of a client
NODE_PACKAGES = (
    "ai@7.0.173",
    "@ai-sdk/openai-compatible@3.0.92",
    "@ai-sdk/openai@4.0.118",
    "@ai-sdk/anthropic@4.0.105",
)


@dataclass(frozen=True)
class Client:
    """A script, the APIs that it is tried with, and what must be installed for it."""

    name: str
    script: str
    apis: tuple[str, ...]
    needs: tuple[str, ...] = ()
    transport: bool = False
    integration: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether it asks the upstream, and no server in front of it."""
        return self.transport or self.integration

    @property
    def is_node(self) -> bool:
        return self.script.endswith(".mjs")

    def ways(self) -> Iterator[tuple[str, bool]]:
        """Each API, streaming and not. What is there for streams only is tried with them only."""
        for api in self.apis:
            yield api, True
            if "-" not in api:
                yield api, False


_OPENAI = ("chat", "chat-helper", "responses", "responses-helper")
_ANTHROPIC = ("messages", "messages-events")
_ALL = ("chat", "responses", "messages")
CLIENTS = (
    Client("OpenAI SDK", "openai_client.py", _OPENAI, ("openai",)),
    Client("Anthropic SDK", "anthropic_client.py", _ANTHROPIC, ("anthropic",)),
    Client("LangChain", "langchain_client.py", _ALL, ("langchain", "langchain-openai", "langchain-anthropic")),
    Client("LlamaIndex", "llamaindex_client.py", ("chat",), ("llama-index-core", "llama-index-llms-openai-like")),
    Client("pydantic-ai", "pydantic_ai_client.py", ("chat", "responses"), ("pydantic-ai-slim", "openai")),
    Client("LiteLLM", "litellm_client.py", ("chat", "messages"), ("litellm", "mcp")),
    Client("AI SDK", "ai_sdk_client.mjs", _ALL),
    Client("OpenAI SDK, transport", "openai_client.py", _OPENAI, ("openai", "httpx2"), transport=True),
    Client("Anthropic SDK, transport", "anthropic_client.py", _ANTHROPIC, ("anthropic", "httpx2"), transport=True),
    Client(
        "LangChain, integration", "langchain_client.py", ("chat",), ("langchain", "langchain-openai"), integration=True
    ),
    Client(
        "pydantic-ai, integration", "pydantic_ai_client.py", ("chat",), ("pydantic-ai-slim", "openai"), integration=True
    ),
    Client("LiteLLM, integration", "litellm_client.py", ("chat",), ("litellm",), integration=True),
)


@dataclass(frozen=True)
class Cell:
    """What a client did with a case."""

    client: str
    api: str
    case: str
    streaming: bool
    entered: list[Any]
    text: str
    error: dict[str, str] | None
    seconds: float
    requests: int
    """How many of them the upstream got."""

    @property
    def name(self) -> str:
        return f"{self.client}, {self.api}, {'streaming' if self.streaming else 'not streaming'}, {self.case}"

    @property
    def does(self) -> str:
        """What the client did, in a word or two."""
        due = EXPECTED[self.case]
        if due and self._same(due):
            return "runs it" if len(due) == 1 else "runs both"
        if 0 < len(self.entered) < len(due) and all(each in due for each in self.entered):
            return f"runs {len(self.entered)} of {len(due)}"
        if self.entered:
            times = "" if len(self.entered) == 1 else f" {len(self.entered)} times"
            return f"**runs{times}**"
        if self.error is not None:
            return f"`{self.error['type']}`"
        return "text" if not self._traces else "shows it raw"

    def _same(self, due: list[Any]) -> bool:
        # Two at once may come in any order.
        entered, expected = (
            sorted(json.dumps(each, sort_keys=True) for each in calls) for calls in (self.entered, due)
        )
        return entered == expected

    @property
    def _traces(self) -> list[str]:
        return [trace for trace in _TRACES if trace in self.text]

    def complaints(self) -> Iterator[str]:
        """What must not be: a call that ran though it is bad, or did not though it is good, or is shown as text."""
        due = EXPECTED[self.case]
        if not self._same(due):
            yield f"the tool was entered with {self.entered}, expected {due}"
        if due and not self.text.endswith(DONE):
            yield f"the last words are missing: {self.text!r:.300}"
        if self._traces:
            yield f"the text holds {', '.join(self._traces)}: {self.text!r:.300}"
        if self.error is not None and self.case not in _MAY_FAIL:
            yield f"it ended with {self.error['type']}: {self.error['message']!r:.200}"


# What is left of a call in the text: tags of the block, and the JSON of its arguments.
_TRACES = ("<tool", "<arguments", "CDATA", '{"', '"path"', '"content"', '"mode"')
# The upstream fails, or a client says by an error that a reply was cut off.
_MAY_FAIL = ("lost", "length")


class MissingError(Exception):
    """Something that a client needs is not here."""


def python_of(client: Client) -> str:
    return sys.executable if client.transport else os.environ.get("XMLTOOLS_AGENTS_PYTHON", sys.executable)


def command_of(client: Client, node_folder: Callable[[], Path]) -> list[str]:
    """How its script is run. Raises MissingError where that can't be."""
    if client.is_node:
        node = shutil.which("node")
        if node is None:
            raise MissingError("node is not installed")
        folder = node_folder()
        _install(folder)
        return [node, shutil.copy(HERE / client.script, folder)]
    python = python_of(client)
    ask = "import sys; from importlib.metadata import version; [version(name) for name in sys.argv[1:]]"
    if subprocess.run([python, "-c", ask, *client.needs], capture_output=True, timeout=60).returncode:
        raise MissingError(f"{python} does not have all of {', '.join(client.needs)}")
    return [python, str(HERE / client.script)]


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingError("npm is not installed")
    wanted, manifest = json.dumps(NODE_PACKAGES), folder / "installed.json"
    if manifest.exists() and manifest.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(folder / "node_modules", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    # Nothing that a package brings along is run.
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--fetch-retries=0", "--loglevel=error")
    try:
        command = [npm, "install", *options, *NODE_PACKAGES]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired:
        raise MissingError("npm could not fetch the AI SDK within 90 seconds") from None
    if done.returncode:
        raise MissingError(f"npm could not fetch the AI SDK: {done.stderr.strip():.300}")
    manifest.write_text(wanted, encoding="utf-8")


def play(
    client: Client, command: Sequence[str], url: str, asked: Iterable[tuple[str, str, bool]]
) -> tuple[dict[str, str], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Run the script for cases, each with its API and whether it streams.

    Return the versions of its libraries, and for each cell what was asked and what it said.
    """
    cells = [
        {
            "api": api,
            "case": case,
            "streaming": streaming,
            "model": f"{case}@{client.name}-{api}-{'stream' if streaming else 'whole'}".replace(" ", "-"),
            **({"transport": True} if client.transport else {}),
            **({"integration": True} if client.integration else {}),
        }
        for case, api, streaming in asked
    ]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {"PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false", "AI_SDK_LOG_WARNINGS": "false"}
    environment |= {"PYTHONFAULTHANDLER": "1"}
    versions: dict[str, str] = {}
    answers: list[dict[str, Any]] = []
    for _ in range(2):
        # The threads of a library have waited for each other for good: the rest is then played anew.
        said, status, errors = _run(
            command, json.dumps({"url": url, "cells": cells[len(answers) :]}) + "\n", environment
        )
        versions = said[0]["versions"] if said else versions
        answers += said[1:]
        if len(answers) == len(cells) and status in (0, _HUNG):
            return versions, list(zip(cells, answers, strict=True))
        if status != _HUNG:
            break
        print(f"{client.script} hung after {len(answers)} of {len(cells)} cells:\n{errors[-4000:]}", file=sys.stderr)
    raise RuntimeError(f"{client.script} ended with {status}: {errors[-4000:]}")


_HUNG = -signal.SIGABRT


def _run(command: Sequence[str], given: str, environment: dict[str, str]) -> tuple[list[dict[str, Any]], int, str]:
    """The lines that it prints, its exit status, and its errors. One that hangs is made to say where, and ended."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", env=environment) as process:
        try:
            printed, errors = process.communicate(given, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            printed, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
        return [json.loads(line) for line in printed.splitlines()], process.returncode, errors


def measure(
    client: Client, command: Sequence[str], upstream: Upstream, url: str, cases: Iterable[str] = CASES
) -> tuple[dict[str, str], list[Cell]]:
    """All cells of a client, in front of this upstream."""
    given = [(case, api, streaming) for api, streaming in client.ways() for case in cases]
    versions, played = play(client, command, url, given)
    cells = []
    for asked, said in played:
        done = {name: said[name] for name in ("entered", "text", "error", "seconds")}
        where = {name: asked[name] for name in ("api", "case", "streaming")}
        cells.append(Cell(client.name, **where, **done, requests=upstream.requests[asked["model"]]))
    return versions, cells


@contextmanager
def behind_proxy(**config: Any) -> Iterator[tuple[Upstream, str, str]]:
    """The upstream, its own address, and that of the server in front of it, which has these options."""
    upstream = Upstream()
    with ExitStack() as stack:
        own = stack.enter_context(running(upstream, lifespan="off"))
        yield upstream, own, stack.enter_context(running(create_app(ServeConfig(upstream=own + "/v1", **config))))


def table(cells: Iterable[Cell]) -> str:
    """A Markdown table: a line for each client, API and way of asking, a column for each case."""
    rows: dict[tuple[str, str, bool], dict[str, str]] = {}
    for cell in cells:
        rows.setdefault((cell.client, cell.api, cell.streaming), {})[cell.case] = cell.does
    cases = list(dict.fromkeys(case for row in rows.values() for case in row))
    lines = [["client", "API", "streaming", *cases], ["---"] * (3 + len(cases))]
    for (client, api, streaming), row in rows.items():
        lines.append([client, api, "yes" if streaming else "no", *(row.get(case, "") for case in cases)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the matrix, what is wrong with it, and the versions. 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only clients whose name holds this")
    parser.add_argument("--node-folder", type=Path, default=ROOT / "build" / "agents", help="where npm installs")
    chosen = parser.parse_args(arguments)
    cells: list[Cell] = []
    versions: dict[str, str] = {}
    with behind_proxy() as (upstream, own, url):
        for client in CLIENTS:
            if chosen.only.lower() not in client.name.lower():
                continue
            try:
                command = command_of(client, lambda: chosen.node_folder)
            except MissingError as missing:
                print(f"{client.name} is left out: {missing}", file=sys.stderr)
                continue
            its_versions, its_cells = measure(client, command, upstream, own if client.is_direct else url)
            cells += its_cells
            versions |= {f"{name} (transport)" if client.transport else name: at for name, at in its_versions.items()}
    print(table(cells))
    wrong = [f"- {cell.name}: {what}" for cell in cells for what in cell.complaints()]
    print(f"\n{len(cells)} cells, {len(wrong)} wrong things", *wrong, sep="\n")
    print("\nVersions:", ", ".join(f"{name} {at}" for name, at in versions.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
