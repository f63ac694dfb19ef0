"""Values whose checks are built when they are first used: by anyone, in any function, in many threads at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

MAKE = """
from xmltools import Conversation, Media, Message, Reasoning, Reply, Text, Tool, ToolCall, ToolResult, parse
from xmltools.models import Part
from pydantic import BaseModel, TypeAdapter

SHOWN = "<tool><tool_name>f</tool_name><arguments><a>1 & 2</a></arguments></tool>"

def use():
    call = parse(SHOWN).calls[0]
    again = ToolCall.model_validate_json(call.model_dump_json())
    assert again == call and again.repairs == call.repairs and again.repairs
    return call
"""
SHADOWS = "dict = str = int = bool = tuple = Any = Literal = Code = Repair = CallError = Notice = Text = Media = 5"


def run(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", MAKE + program], check=True, timeout=120)


@pytest.mark.parametrize(
    "use",
    [
        "Tool(name='f').model_dump_json()",
        "Tool.model_validate({'name': 'f'}).shape",
        "call.model_dump_json()",
        "call.model_dump()",
        "type(call)(id='1', name='f')",
        "type(call).model_json_schema()",
        "TypeAdapter(type(call)).dump_json(call)",
        "Message(role='assistant', parts=(call,)).model_dump_json()",
        "Conversation().assistant('', call).to_json()",
        "Reply(parts=(call,)).model_dump_json()",
        "ToolResult(call_id='1', name='f', content='x').model_dump()",
    ],
)
def test_names_of_whoever_comes_first_do_not_count(use: str) -> None:
    program = f"""
call = parse(SHOWN).calls[0]
def first():
    {SHADOWS}
    return {use}
first()
globals()["use"]()
"""
    run(program)


def test_a_model_of_others_may_come_first() -> None:
    program = f"""
call = parse(SHOWN).calls[0]
def first():
    {SHADOWS}
    class Holder(BaseModel):
        held: type(call)
    return Holder(held=call).model_dump_json()
assert '"type":"call"' in first()
use()
"""
    run(program)


def test_many_threads_may_come_first() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

sys_switch = __import__("sys").setswitchinterval(1e-6)
barrier = Barrier(8)

def first(number):
    barrier.wait()
    call = use()
    assert parse(SHOWN, [Tool(name="f")]).calls
    said = Conversation().assistant("", call).tool(call.id, "f", "4")
    assert Conversation.from_json(said.to_json()) == said
    return ToolCall(id=str(number), name="f").model_dump()["id"]

with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(first, range(8))) == [str(number) for number in range(8)]
"""
    run(program)
