"""Claude Code, Codex and opencode with their default options, in front of a model that only writes text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

from serve.running import running

from agents_cli.agents import AGENTS, Agent, Ran, install
from agents_cli.upstream import Plan, Prompt, call
from xmltools.serve import ServeConfig, create_app

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a POSIX shell")
SECRET = "the parrot is blue"


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
        with running(plan.app) as upstream, running(create_app(ServeConfig(upstream=upstream))) as url:
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
    for name in ("one", "two", "three"):  # in any order: Claude Code gives them back as they come
        assert sum(f"{SECRET} {name}" in result for result in results) == 1


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
