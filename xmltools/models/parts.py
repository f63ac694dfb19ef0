"""What replies are made of: text, reasoning and calls. Messages have more kinds of parts: `results`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeVar

from pydantic import VERSION, BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from xmltools.errors import Repair, XMLToolsError

DEFAULT_SERVER = "local"
"""The server of a tool that names none."""


BUILD_LATE: Final = tuple(map(int, VERSION.split(".")[:2])) >= (2, 14)
"""Whether pydantic may put off building a class until it is used: since 2.14, several threads may come first."""


class Value(BaseModel):
    """The ground of all values: frozen, no unknown fields.

    What checks and writes a class takes a millisecond to build, so it is built when it is first needed: a parser needs
    none. No annotation is a string then (`errors` has real ones too), since pydantic looks for names in strings among
    the variables of whoever comes first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=BUILD_LATE)


# The four slots that a pydantic model sets in each of its instances. Set so, they cost half of what setattr does.
_NEW: Final = object.__new__
_SET_FIELDS: Final = BaseModel.__dict__["__dict__"].__set__
_SET_GIVEN: Final = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_SET_EXTRA: Final = BaseModel.__dict__["__pydantic_extra__"].__set__
_SET_PRIVATE: Final = BaseModel.__dict__["__pydantic_private__"].__set__
_AnyValue = TypeVar("_AnyValue", bound=Value)


def assemble(kind: type[_AnyValue], fields: dict[str, Any], given: set[str]) -> _AnyValue:
    """Return a value of this kind that has these fields, all of them, in the order of the class.

    Nothing is checked or copied: it is for fields that are known to be right, and costs half of what `kind(...)` or
    less. `given` becomes `model_fields_set`.
    """
    value = _NEW(kind)
    _SET_FIELDS(value, fields)
    _SET_GIVEN(value, given)
    _SET_EXTRA(value, None)
    _SET_PRIVATE(value, None)
    return value


class TypedPart(Value):
    """A part. Its `type` is written also where fields that hold their default are left out: readers need it."""

    @model_serializer(mode="wrap", return_type=dict[str, Any])
    def _with_type(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        written["type"] = self.type  # type: ignore[attr-defined]
        return written


CallStatus = Literal["pending", "running", "completed", "failed"]
"""How far the host has come with a call."""
_NEXT: Mapping[CallStatus, tuple[CallStatus, ...]] = {
    "pending": ("running",),
    "running": ("completed", "failed"),
    "completed": (),
    "failed": (),
}


class ToolCall(TypedPart):
    """One call of a tool, as a model asked for it.

    `arguments` are typed by the tool's schema where the parser had one, else strings, lists and dicts of strings.
    `repairs` lists what had to be repaired, `span` is the block's place in the text (start and end, in characters).
    `dialect` is the name of that in which it was written, None if it was no markup.
    `status` says how far the host has come with it, `started_at` and `ended_at` when (seconds since 1970). `extra`
    keeps what only one format knows, under its name. Two calls are equal if id, name, server and arguments are.
    """

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    server: str = DEFAULT_SERVER
    repairs: tuple[Repair, ...] = ()
    legacy_json: bool = False
    dialect: str | None = None
    span: tuple[int, int] | None = None
    status: CallStatus = "pending"
    started_at: float | None = None
    ended_at: float | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["call"] = "call"

    @classmethod
    def unchecked(
        cls,
        *,
        id: str,
        name: str,
        arguments: dict[str, Any],
        server: str,
        repairs: tuple[Repair, ...],
        legacy_json: bool,
        dialect: str | None,
        span: tuple[int, int] | None,
    ) -> ToolCall:
        """Make the call that `ToolCall` makes of these fields, without checking them: they must be right.

        It is for the parser, and for others who know what they have. `arguments` are not copied: they are handed over.
        """
        call = _NEW(cls)  # the steps of `assemble`, without the time of one more function
        _SET_FIELDS(
            call,
            dict(
                _CALL,
                id=id,
                name=name,
                arguments=arguments,
                server=server,
                repairs=repairs,
                legacy_json=legacy_json,
                dialect=dialect,
                span=span,
                extra={},
            ),
        )
        _SET_GIVEN(call, _PARSED.copy())
        _SET_EXTRA(call, None)
        _SET_PRIVATE(call, None)
        return call

    @property
    def clean(self) -> bool:
        """True if nothing had to be repaired: the block was well-formed and said exactly this."""
        return not self.repairs

    def with_status(self, status: CallStatus, *, at: float | None = None) -> ToolCall:
        """Return the call one step further: from pending to running, from running to completed or failed.

        `at` is when, in seconds since 1970. Raises XMLToolsError for every other step.
        """
        if status not in _NEXT[self.status]:
            following = " or ".join(_NEXT[self.status]) or "no other status, for it has ended"
            raise XMLToolsError(f"the call {self.id!r:.80} is {self.status}: expected {following}, got {status!r:.40}")
        time = "started_at" if status == "running" else "ended_at"
        return self.model_copy(update={"status": status} if at is None else {"status": status, time: at})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return (self.id, self.name, self.server, self.arguments) == (
            other.id,
            other.name,
            other.server,
            other.arguments,
        )

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.server))


_CALL: Final[dict[str, Any]] = {
    "id": "",
    "name": "",
    "arguments": {},
    "server": DEFAULT_SERVER,
    "repairs": (),
    "legacy_json": False,
    "dialect": None,
    "span": None,
    "status": "pending",
    "started_at": None,
    "ended_at": None,
    "extra": {},
    "type": "call",
}
"""The fields of a call, in their order."""
_PARSED: Final = {"id", "name", "arguments", "server", "repairs", "legacy_json", "dialect", "span"}
"""The fields that the parser gives a call."""


class Text(TypedPart):
    """Text that is meant to be read."""

    text: str
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["text"] = "text"

    @classmethod
    def unchecked(cls, text: str) -> Text:
        """Make the part that `Text` makes of a text, without checks: models write lone surrogates too."""
        return assemble(cls, {"text": text, "extra": {}, "type": "text"}, {"text"})


class Reasoning(TypedPart):
    """What a model thought before it spoke. Never a call, never an answer."""

    text: str
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["reasoning"] = "reasoning"

    @classmethod
    def unchecked(cls, text: str) -> Reasoning:
        """Make the part that `Reasoning` makes of a text, without checks: models write lone surrogates too."""
        return assemble(cls, {"text": text, "extra": {}, "type": "reasoning"}, {"text"})
