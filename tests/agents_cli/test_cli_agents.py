"""Claude Code, Codex and opencode with their default options, in front of a model that only writes text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from proxy.running import running

from agents_cli.agents import AGENTS, Agent, Ran, install
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

    def shell(self, command: str) -> str:
        if self.agent.name == "codex":
            return call("exec_command", cmd=command)
        if self.agent.name == "claude":
            return call("Bash", command=command, description="Run it")
        return call("bash", command=command, description="Run it")

    def read(self, name: str) -> str:
        if self.agent.name == "codex":
            return self.shell(f"cat {name}")
        if self.agent.name == "claude":
            return call("Read", file_path=str(self.work / name))
        return call("read", filePath=str(self.work / name))

    def edit(self, name: str, before: str, after: str) -> str:
        if self.agent.name == "codex":
            patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-{before}\n+{after}\n*** End Patch"
            return self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF")
        path = str(self.work / name)
        if self.agent.name == "claude":
            return call("Edit", file_path=path, old_string=before, new_string=after)
        return call("edit", filePath=path, oldString=before, newString=after)

    def run(self, reply: Callable[[Prompt], str], task: str, *more: str) -> tuple[Ran, Plan]:
        """Let the agent do a task while the model replies so; return what it printed, and what the model was shown."""
        plan = Plan(reply)
        with running(plan) as upstream, running(create_app(ServeConfig(upstream=upstream, settings=FORGES))) as url:
            ran = self.agent.run(self.bins, self.home, self.work, url, task, *more)
        assert not plan.failures, (plan.failures, ran)
        return ran, plan


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


def planned(*replies: str) -> Callable[[Prompt], str]:
    """Say one reply after the other; a conversation that goes on behind the last is at its end."""
    return lambda prompt: replies[prompt.turn] if prompt.turn < len(replies) else "All is done."


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
