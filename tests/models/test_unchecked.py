"""Values that the parser makes without checks: nobody can tell them from those that are made with checks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from xmltools import CallError, Code, Notice, Repair, parse
from xmltools.models import Message, Part, Reasoning, Reply, Text, ToolCall
from xmltools.models.parts import Value

REPAIR = Repair(Code.BARE_AMPERSAND, 3, "said")
CALL: dict[str, Any] = {
    "id": "call_1",
    "name": "add",
    "arguments": {"a": 2, "deep": {"list": [1, None, True]}},
    "server": "mine",
    "repairs": (REPAIR,),
    "legacy_json": True,
    "dialect": "forge",
    "span": (3, 80),
}
PLAIN = CALL | {"repairs": (), "legacy_json": False, "dialect": None, "span": None, "arguments": {}}
ERROR = CallError(Code.TRUNCATED, (0, 5), "cut off", "Write it again.")
NOTICE = Notice(Code.FOREIGN_CALL, (0, 9), "a call of Hermes", "hermes", "f", True, False)
REPLY: dict[str, Any] = {
    "parts": (Text(text="a"), Reasoning(text="b"), ToolCall(**CALL), ERROR),
    "unclosed_reasoning": True,
    "notices": (NOTICE,),
}


def pairs() -> list[tuple[Value, Value]]:
    """Each value made without checks, and with them."""
    return [
        (ToolCall.unchecked(**copy.deepcopy(CALL)), ToolCall(**CALL)),
        (ToolCall.unchecked(**copy.deepcopy(PLAIN)), ToolCall(**PLAIN)),
        (Text.unchecked("a"), Text(text="a")),
        (Reasoning.unchecked("a"), Reasoning(text="a")),
        (Reply.unchecked(**REPLY), Reply(**REPLY)),
        (Reply.unchecked((), False, ()), Reply(parts=(), unclosed_reasoning=False, notices=())),
    ]


ids = ("call", "plain call", "text", "reasoning", "reply", "empty reply")
each = pytest.mark.parametrize(("made", "checked"), pairs(), ids=ids)


class Holder(BaseModel):
    """Somebody else's model with a value in it."""

    value: ToolCall | Text | Reasoning | Reply


def state(value: Value) -> dict[str, Any]:
    """All that an instance of a pydantic model consists of, with the order of the fields."""
    return value.__getstate__() | {"order": list(value.__dict__)}


@each
def test_all_that_it_consists_of_is_the_same(made: Value, checked: Value) -> None:
    assert type(made) is type(checked)
    assert state(made) == state(checked)
    assert made.model_fields_set == checked.model_fields_set
    assert set(made.__dict__) == set(type(made).model_fields)
    assert made == checked
    assert checked == made


@each
def test_it_looks_the_same(made: Value, checked: Value) -> None:
    assert repr(made) == repr(checked)
    assert str(made) == str(checked)


@each
def test_it_is_written_the_same(made: Value, checked: Value) -> None:
    assert made.model_dump_json() == checked.model_dump_json()
    for options in ({}, {"exclude_unset": True}, {"exclude_defaults": True}, {"mode": "json"}, {"round_trip": True}):
        assert made.model_dump(**options) == checked.model_dump(**options)


@each
def test_it_is_read_back(made: Value, checked: Value) -> None:
    kind = type(made)
    assert kind.model_validate(made) is made
    assert kind.model_validate_json(made.model_dump_json()) == made
    assert state(kind.model_validate(made.model_dump())) == state(kind.model_validate(checked.model_dump()))


@each
def test_it_is_copied_and_pickled(made: Value, checked: Value) -> None:
    for twin in (copy.copy(made), copy.deepcopy(made), made.model_copy(), made.model_copy(deep=True)):
        assert state(twin) == state(checked)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert state(pickle.loads(pickle.dumps(made, protocol))) == state(checked)


@each
def test_it_is_a_field_of_other_models(made: Value, checked: Value) -> None:
    held = Holder(value=made)
    assert held.value is made
    assert held.model_dump_json() == Holder(value=checked).model_dump_json()
    assert Holder.model_validate_json(held.model_dump_json()) == held


@each
def test_it_is_frozen(made: Value, checked: Value) -> None:
    for value in (made, checked):
        name = next(iter(value.__dict__))
        with pytest.raises(ValidationError, match="frozen"):
            setattr(value, name, "x")
        with pytest.raises(ValidationError, match="frozen"):
            delattr(value, name)
        with pytest.raises(AttributeError):
            value.unknown  # type: ignore[attr-defined] # noqa: B018


def test_hash_and_changed_copies_of_a_call() -> None:
    (made, checked), *_ = pairs()
    assert hash(made) == hash(checked)
    assert len({made, checked}) == 1
    changed = made.model_copy(update={"id": "call_2", "status": "running"})
    assert state(changed) == state(checked.model_copy(update={"id": "call_2", "status": "running"}))
    assert made.model_fields_set == set(CALL)
    assert ToolCall.unchecked(**CALL).with_status("running", at=1.0).model_fields_set == {*CALL, "status", "started_at"}


def test_parts_by_their_type_and_messages() -> None:
    made = [ToolCall.unchecked(**CALL), Text.unchecked("a"), Reasoning.unchecked("b")]
    adapter = TypeAdapter(list[Part])
    assert adapter.validate_python(made) == made
    assert adapter.validate_json(adapter.dump_json(made)) == made
    assert Message(role="assistant", parts=tuple(made)).calls == (ToolCall(**CALL),)


def test_nothing_is_shared_between_values() -> None:
    for make in (lambda: ToolCall.unchecked(**CALL), lambda: Text.unchecked("a"), lambda: Reasoning.unchecked("a")):
        one, other = make(), make()
        assert one.extra is not other.extra
        assert one.model_fields_set is not other.model_fields_set
        one.extra["x"] = 1
        assert other.extra == make().extra == {}


def test_arguments_are_handed_over() -> None:
    arguments = {"a": 1}
    assert ToolCall.unchecked(**CALL | {"arguments": arguments}).arguments is arguments


def test_what_the_parser_makes() -> None:
    reply = parse("<think>b</think>a<tool><tool_name>add</tool_name><arguments><a>2</a></arguments></tool>")
    (call,) = reply.calls
    assert state(call) == state(ToolCall(**{name: getattr(call, name) for name in CALL}))
    for part in reply.parts[:2]:
        assert isinstance(part, Text | Reasoning)
        assert state(part) == state(type(part)(text=part.text))
    assert reply.model_fields_set == {"parts", "unclosed_reasoning", "notices"}


def test_users_calls_are_checked_as_before() -> None:
    with pytest.raises(ValidationError, match="Input should be a valid string"):
        ToolCall(id=1, name="f")  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        ToolCall(id="1", name="f", other=1)  # type: ignore[call-arg]
    assert ToolCall.model_json_schema()["required"] == ["id", "name"]
