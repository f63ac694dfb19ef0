"""Claude Code, Codex and opencode with their default options, in front of a model that only writes text."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from proxy.running import running

from agents_cli.agents import AGENTS, AGENTS_WITHOUT_TOOLS, PAGE, Agent, Ran, install, locked
from agents_cli.upstream import Plan, Prompt, call
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
SECRET = "the parrot is blue"
FORGES = Settings(dialect="forge")


@pytest.fixture(scope="module")
def bins() -> Path:
    return install()


@dataclass
class Desk:
    """Where an agent works, and how: its shell is called with a command, its editor with a file and two texts."""

    agent: Agent
    bins: Path
    home: Path
    work: Path
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def shell(self, command: str) -> str:
        match self.agent.name:
            case "codex":
                return call("exec_command", cmd=command)
            case "claude":
                return call("Bash", command=command, description="Run it")
            case "qwen":
                # It has lost what a command printed that ended at once.
                return call(
                    "run_shell_command", command=f"{command}; sleep 1", description="Run it", is_background=False
                )
            case "cline":
                return call("run_commands", commands=[command])
        return call("bash", command=command, description="Run it")

    def read(self, name: str) -> str:
        path = str(self.work / name)
        match self.agent.name:
            case "codex":
                return self.shell(f"cat {name}")
            case "claude":
                return call("Read", file_path=path)
            case "qwen":
                return call("read_file", file_path=path)
            case "cline":
                return call("read_files", files=[{"path": path}])
        return call("read", filePath=path)

    def edit(self, name: str, before: str, after: str) -> str:
        path = str(self.work / name)
        match self.agent.name:
            case "codex":
                patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-{before}\n+{after}\n*** End Patch"
                return self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF")
            case "claude":
                return call("Edit", file_path=path, old_string=before, new_string=after)
            case "qwen":
                return call("edit", file_path=path, old_string=before, new_string=after)
            case "cline":
                return call("editor", path=path, old_text=before, new_text=after)
        return call("edit", filePath=path, oldString=before, newString=after)

    def run(self, reply: Callable[[Prompt], str], task: str, *more: str, **options: Any) -> tuple[Ran, Plan]:
        """Let the agent do a task while the model replies so; return what it printed, and what the model was shown."""
        self.agent.command(self.bins)
        plan = Plan(reply, wants_tools=self.agent.name in AGENTS)
        with running(plan) as upstream, running(self._proxy(upstream)) as url:
            ran = self.agent.run(self.bins, self.home, self.work, url, task, *more, **options)
        assert not plan.failures, (plan.failures, ran)
        return ran, plan

    def _proxy(self, upstream: str) -> Callable[..., Any]:
        """The proxy, which remembers what it was asked by the agent."""
        app = create_app(ServeConfig(upstream=upstream, settings=FORGES))

        async def remembering(scope: Any, receive: Any, send: Any) -> None:
            async def received() -> Any:
                event = await receive()
                if scope.get("method") == "POST" and event["type"] == "http.request":
                    bodies[scope["path"]] = bodies.get(scope["path"], b"") + event.get("body", b"")
                    if not event.get("more_body"):
                        self.asked.append((scope["path"], json.loads(bodies.pop(scope["path"]) or b"{}")))
                return event

            bodies: dict[str, bytes] = {}
            await app(scope, received, send)

        return remembering


def desk_of(agent: Agent, bins: Path, folder: Path) -> Desk:
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    return Desk(agent, bins, home, work)


@pytest.fixture(params=AGENTS)
def desk(request: pytest.FixtureRequest, bins: Path, tmp_path: Path) -> Desk:
    return desk_of(AGENTS[request.param], bins, tmp_path)


@pytest.fixture
def codex(bins: Path, tmp_path: Path) -> Desk:
    return desk_of(AGENTS["codex"], bins, tmp_path)


@pytest.fixture
def cline(bins: Path, tmp_path: Path) -> Desk:
    return desk_of(AGENTS["cline"], bins, tmp_path)


def planned(*replies: str) -> Callable[[Prompt], str]:
    """Say one reply after the other; a conversation that goes on behind the last is at its end."""
    return lambda prompt: replies[prompt.turn] if prompt.turn < len(replies) else "All is done."


APIS = {"/v1/messages": "Messages", "/v1/responses": "Responses", "/v1/chat/completions": "chat completions"}
LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
WRITE = "XMLTOOLS_WRITE_ROWS"
"""The environment variable with which the rows of the page's table are written."""


def assert_page_has_row(desk: Desk, tools: str) -> None:
    """The page's table has a row for the agent: its version, the API that it speaks, and what it asked for."""
    path, body = next(each for each in desk.asked if each[0] in APIS and (each[1].get("tools") or tools == "none"))
    limit = next((f"{body[name]:,}" for name in LIMITS if name in body), "not limited")
    title = desk.agent.title
    row = f"| {title} | {desk.agent.version(desk.bins, desk.home)} | {APIS[path]} | {limit} | {tools} |"
    if WRITE in os.environ:
        with locked(Path(tempfile.gettempdir()) / "xmltools_rows.lock"):
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(re.sub(rf"^\| {title} \| [\d.]+ \|.*$", row, page, flags=re.MULTILINE), encoding="utf-8")
    assert f"\n{row}\n" in PAGE.read_text(encoding="utf-8"), row


def test_a_tool_is_run_and_the_model_sees_its_result(desk: Desk) -> None:
    (desk.work / "note.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    ran, plan = desk.run(
        planned(f"I look.\n{desk.read('note.txt')}", f"It says: {SECRET.upper()}"), "What is in note.txt?"
    )
    assert ran.status == 0, ran
    assert SECRET.upper() in ran.out
    assert "What is in note.txt?" in plan.prompts[0].last
    [(_, result)] = plan.prompts[1].results
    assert SECRET in result
    assert len(plan.prompts) == 2
    assert_page_has_row(desk, "runs them")


def test_several_calls_of_one_turn_are_all_run(desk: Desk) -> None:
    for name in ("one", "two", "three"):
        (desk.work / f"{name}.txt").write_text(f"{SECRET} {name}\n", encoding="utf-8")
    calls = [desk.read("one.txt"), desk.shell("cat two.txt"), desk.read("three.txt")]
    ran, plan = desk.run(planned("\n".join(calls), "Three PARROTS."), "What is in the files?")
    assert ran.status == 0 and "Three PARROTS." in ran.out, ran
    results = [result for _, result in plan.prompts[1].results]
    assert len(results) == 3
    for name, result in zip(("one", "two", "three"), results, strict=True):  # whichever was there first
        assert f"{SECRET} {name}" in result


def test_an_edit_lands_in_the_file(desk: Desk) -> None:
    file = desk.work / "app.py"
    file.write_text('COLOUR = "red" if 1 < 2 else "<b>&amp;</b>"\nSIZE = 3\n', encoding="utf-8")
    new = 'SIZE = 4  # <tool> & "quotes"\\n'
    ran, plan = desk.run(
        planned(desk.read("app.py"), desk.edit("app.py", "SIZE = 3", new), "EDITED."), "Make the size four."
    )
    assert ran.status == 0 and "EDITED." in ran.out, (ran, [prompt.last for prompt in plan.prompts])
    assert file.read_text(encoding="utf-8") == f'COLOUR = "red" if 1 < 2 else "<b>&amp;</b>"\n{new}\n'


def test_the_model_sees_an_error(desk: Desk) -> None:
    ran, plan = desk.run(planned(desk.read("nowhere.txt"), "There is NO such file."), "What is in nowhere.txt?")
    assert ran.status == 0 and "There is NO such file." in ran.out, ran
    [(_, result)] = plan.prompts[1].results
    assert "nowhere.txt" in result or "exist" in result
    assert any(word in result.lower() for word in ("not exist", "no such file", "not found"))


def test_aider_edits_files_by_text(bins: Path, tmp_path: Path) -> None:
    desk = desk_of(AGENTS_WITHOUT_TOOLS["aider"], bins, tmp_path)
    (desk.work / "note.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    ran, plan = desk.run(lambda _: "I edit.\n\nnote.txt\n```\na <tool> is blue\n```\n", "Make it.", "note.txt")
    assert ran.status == 0, ran
    assert (desk.work / "note.txt").read_text(encoding="utf-8") == "a <tool> is blue\n"
    assert len(plan.prompts) == 1 and "<tool_name>" not in plan.prompts[0].system
    assert_page_has_row(desk, "none")


# What only one has


WINDOW = "CLAUDE_CODE_MAX_CONTEXT_TOKENS"
SMALL = {WINDOW: "32768"}


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({}, 0, "READ."),
        ({WINDOW: None}, 0, "assumes a context window of 1m tokens"),
        (SMALL, 1, "Autocompact is thrashing"),
        ({**SMALL, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}, 0, "READ."),
    ],
)
def test_claude_code_and_the_context_window(
    changed: dict[str, str | None], status: int, words: str, bins: Path, tmp_path: Path
) -> None:
    desk = desk_of(AGENTS["claude"], bins, tmp_path)
    (desk.work / "note.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    ran, _ = desk.run(planned(desk.read("note.txt"), "READ."), "What is in note.txt?", changed=changed)
    said = f"{ran.out}{ran.err}"
    assert ran.status == status and words in said, ran
    assert ("assumes a context window" in said) == (changed.get(WINDOW, "set") is None), ran


def test_cline_with_yolo_asks_until_a_tool_says_that_it_is_done(cline: Desk) -> None:
    """A model that never calls the tool is asked without end: tried for a minute, with 700 requests."""
    end = call("submit_and_exit", summary="All is DONE.", verified=True)
    ran, plan = cline.run(lambda prompt: "I am done." if prompt.turn < 12 else end, "Say hello.", "--yolo")
    assert ran.status == 0 and "All is DONE." in ran.out, ran
    assert len(plan.prompts) == 13
    assert all("not complete until you call" in prompt.last for prompt in plan.prompts[1:])


# What only Codex has

KNOWN = ("-m", "gpt-5.5")
"""A model of whose tools Codex knows more: it edits by a custom tool, and searches for tools of MCP servers."""


def with_servers(desk: Desk) -> None:
    """Give Codex two MCP servers whose tools have the same name."""
    script = Path(__file__).with_name("notes_server.py")
    lines = (
        f"[mcp_servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(script), name])}\n"
        for name in ("diary", "recipes")
    )
    (desk.home / "config.toml").write_text("\n" + "\n".join(lines), encoding="utf-8")


def test_a_custom_tool_of_codex_edits_a_file(codex: Desk) -> None:
    file = codex.work / "app.py"
    file.write_text("COLOUR = 1\nSIZE = 3\n", encoding="utf-8")
    patch = "*** Begin Patch\n*** Update File: app.py\n@@\n COLOUR = 1\n-SIZE = 3\n+SIZE = 4 < 5 & 6\n*** End Patch\n"
    broken = patch.replace("SIZE = 3", "SIZE = 7")
    edits = (call("apply_patch", input=each) for each in (broken, patch))
    ran, plan = codex.run(planned(*edits, "PATCHED."), "Make the size four.", *KNOWN)
    assert ran.status == 0 and "PATCHED." in ran.out, ran
    assert "begin_patch: " in plan.prompts[0].system  # the grammar
    [[(name, failed)], [(_, done)]] = (prompt.results for prompt in plan.prompts[1:3])
    assert name == "apply_patch" and "SIZE = 7" in failed
    assert "app.py" in done
    assert file.read_text(encoding="utf-8") == "COLOUR = 1\nSIZE = 4 < 5 & 6\n"


def test_tools_of_one_name_on_two_servers_of_codex_are_told_apart(codex: Desk) -> None:
    with_servers(codex)
    calls = [call(f"mcp__{name}__look", title=f"{name} title") for name in ("recipes", "diary")]
    ran, plan = codex.run(planned("\n".join(calls), "Both KNOW."), "Look it up.")
    assert ran.status == 0 and "Both KNOW." in ran.out, ran
    assert "mcp__diary__look" in plan.prompts[0].system and "mcp__recipes__look" in plan.prompts[0].system
    [(first, recipes), (second, diary)] = plan.prompts[1].results
    assert (first, second) == ("mcp__recipes__look", "mcp__diary__look")
    assert "recipes knows of recipes title" in recipes and "diary knows of diary title" in diary


def test_codex_finds_tools_which_the_model_then_calls(codex: Desk) -> None:
    with_servers(codex)
    replies = (call("tool_search", query="look up a note in the diary"), call("mcp__diary__look", title="x"), "FOUND.")
    ran, plan = codex.run(planned(*replies), "Look it up.", *KNOWN)
    assert ran.status == 0 and "FOUND." in ran.out, ran
    assert "mcp__diary__look" not in plan.prompts[0].system
    [(name, found)] = plan.prompts[1].results
    assert name == "tool_search" and "mcp__diary__look" in found
    assert "mcp__diary__look" in plan.prompts[1].system
    [(_, result)] = plan.prompts[2].results
    assert "diary knows of x" in result


def test_agents_of_codex_hear_each_other(codex: Desk) -> None:
    def reply(prompt: Prompt) -> str:
        if "Count the parrots." in prompt.last:
            return "There are 42 PARROTS."
        spawn = call("collaboration__spawn_agent", task_name="sub", message="Count the parrots.", fork_turns="none")
        wait = call("collaboration__wait_agent", timeout_ms="20000")
        return [spawn, wait][prompt.turn] if prompt.turn < 2 else "All is COUNTED."

    ran, plan = codex.run(reply, "Let another count.", "-c", "features.multi_agent_v2.enabled=true")
    assert ran.status == 0 and "All is COUNTED." in ran.out, ran
    assert any("/root to /root/sub" in prompt.last and "Count the parrots." in prompt.last for prompt in plan.prompts)
    assert any(
        "/root/sub to /root" in prompt.last and "There are 42 PARROTS." in prompt.last for prompt in plan.prompts
    )
