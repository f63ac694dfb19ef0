"""What a client asks for, whatever its API."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from xmltools.errors import CallError, Code, Issue, XMLToolsError
from xmltools.models import Conversation, Message, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.mended_tools import mended
from xmltools.tools import Tool, ToolNames

SAMPLING = frozenset(
    (
        *("temperature", "top_p", "top_k", "min_p", "seed", "frequency_penalty", "presence_penalty", "min_tokens"),
        *("repetition_penalty", "logit_bias", "stop_token_ids", "prediction", "user", "chat_template_kwargs"),
    )
)
"""How tokens are chosen, by the names that chat completions have for it: OpenAI's, and those of inference engines."""
UNREADABLE = "unreadable"
"""In place of the type of a tool that can't be read."""
UNKNOWN_FIELD = "this field is not known here, and may mean much; leave it out"


@dataclass(slots=True)
class Notes:
    """What a request asks for that is passed over here; if `strict`, it is refused instead.

    `fields` are names of fields, `tools` types of tools, in the order of the request; `warnings` say which tools can't
    be read and which patterns are not checked, and why; `left_out` are the names of functions that the model can't
    call. `deferred` are those of tools that the client wants to be told of in a line only, until they are found.
    `bad_arguments`: calls of the history whose arguments are no JSON object; the model sees them without any.
    """

    strict: bool = False
    fields: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    deferred: set[str] = field(default_factory=set)
    bad_arguments: int = 0

    def take(self, issues: Iterable[Issue]) -> None:
        """Note what the reading of the history found."""
        self.bad_arguments += sum(issue.code == "invalid_arguments" for issue in issues)

    def ignore(self, name: str, why: str, at: str = "") -> None:
        """Pass over a field; `at` is its place, if that is not its name.

        Raises Refusal with the reason if nothing may be passed over.
        """
        if self.strict:
            place = (at or name)[:80]
            raise Refusal(f"{place}: {why}", param=place)
        self.fields.append(name)

    def leave_out(self, at: str, kind: str, why: str) -> None:
        """Pass over a tool of a type. Raises Refusal with the reason if nothing may be passed over."""
        if self.strict:
            raise Refusal(f"{at}: {why}", param=at)
        self.tools.append(kind)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tools a reply may, must or must not call. `names`: only these, None for all."""

    mode: Literal["auto", "none", "required"] = "auto"
    names: tuple[str, ...] | None = None
    named: bool = False
    """Whether one tool was named: then the reply is that call, and OpenAI says that it stopped."""

    def of(self, tools: list[Tool]) -> list[Tool]:
        """Return the tools that may be called. Raises Refusal for a name that no tool has."""
        if self.mode == "none":
            return []
        known = {tool.name for tool in tools}
        for name in self.names or ():
            if name not in known:
                there = f"name one of them: {', '.join(sorted(known))}" if known else "send it among the tools"
                raise Refusal(
                    f"tool_choice: there is no tool {name!r:.80} among the tools; {there:.400}", param="tool_choice"
                )
        found = tools if self.names is None else [tool for tool in tools if tool.name in self.names]
        if self.mode == "required" and not found:
            raise Refusal("tool_choice: a call is required, but there are no tools; send tools", param="tool_choice")
        return found

    def without(self, left_out: Collection[str]) -> Choice:
        """Return the choice without tools that were left out, if it only allows them."""
        if self.named or self.names is None:
            return self
        return replace(self, names=tuple(name for name in self.names if name not in left_out))


@dataclass(slots=True)
class Incoming:
    """A request of a client in one form. `fields` go to the upstream as they are, by OpenAI's names."""

    model: str
    conversation: Conversation
    said_in: str = "messages"
    """The field of the request that the conversation stands in."""
    tools: list[Tool] = field(default_factory=list)
    choice: Choice = field(default_factory=Choice)
    parallel: bool = True
    stream: bool = False
    include_usage: bool = False
    choices: int = 1
    stop: tuple[str, ...] = ()
    show_reasoning: bool = True
    fields: dict[str, Any] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
    """What the response repeats of the request (Responses)."""
    custom: frozenset[str] = frozenset()
    """Names of custom tools, whose one argument is `input`."""
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The namespace and the name in it that the client has for the name of a tool."""
    client_tools: Mapping[str, str] = field(default_factory=dict)
    """The types of tools that the client knows by their type, for the names that the model knows."""
    notes: Notes = field(default_factory=Notes)

    def deferred(self, tools: list[Tool]) -> list[Tool]:
        """Return the tools of which the model is told in a line only: those that nobody has found or called yet."""
        deferred = self.notes.deferred.difference(call.name for call in self.conversation.calls)
        found = [tool for tool in tools if tool.name in deferred and not self.choice.named]
        return found if len(found) < len(tools) else []

    def is_barred(self, error: CallError) -> bool:
        """Return whether a call failed only since tool_choice leaves its tool out."""
        if error.code is not Code.UNKNOWN_TOOL or self.choice.names is None:
            return False
        meant = ToolNames.of(self.tools).resolve(error.name or "")
        return meant is not None and meant not in self.choice.names

    def explain(self, error: CallError) -> CallError:
        """Return an error as the client is told of it: a tool that it left out itself is not one that there is not."""
        if not self.is_barred(error):
            return error
        names = ", ".join(self.choice.names or ())
        asks = f"tool_choice asks for a call of {names}" if self.choice.named else f"tool_choice allows only {names}"
        return replace(error, message=asks)

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it is about tools."""
        return not (self.tools or self.notes.tools) and not any(
            isinstance(part, (ToolCall, ToolResult)) for message in self.conversation for part in message.parts
        )


def refusal(at: str, why: str) -> Refusal:
    """Return the refusal of the value at a place, which is the `param` of the error."""
    return Refusal(f"{at}: {why}", param=at)


def model_of(body: Mapping[str, Any]) -> str:
    """Return the name of the model. Raises Refusal if there is none."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        fail("model", "the name of a model", model, refusal)
    return model


def fields_of(body: Mapping[str, Any], known: frozenset[str], refused: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a request that are not `known`, which the upstream gets. Raises Refusal for refused ones."""
    for name, why in refused.items():
        if body.get(name) not in (None, False, [], {}):
            raise Refusal(f"{name}: {why}", param=name)
    return {name: value for name, value in body.items() if name not in known and name not in refused}


def read_tools(definitions: Any, read: Callable[[Any, str], Tool | None], notes: Notes) -> list[Tool]:
    """Return the tools of a request. `read` takes a definition and its place, and returns None for one left out.

    Raises Refusal for what is no list of definitions, as `read` does, and for two tools of one name.
    """
    if definitions is None:
        return []
    listed = expect(definitions, list, "tools", "a list", refusal)
    tools = [read(each, f"tools[{number}]") for number, each in enumerate(listed)]
    notes.deferred |= {tool.name for tool, each in zip(tools, listed, strict=True) if tool and is_deferred(each)}
    known = check_tools([tool for tool in tools if tool is not None])
    notes.warnings += [each for tool in known for each in tool.unchecked_patterns]
    return known


def read_tool(definition: Any, at: str, notes: Notes) -> Tool | None:
    """Return the tool of a definition, mended where only one thing can be meant, and None for one that can't be read:
    it is left out, so that the others can be used.

    So is one that only code of the provider may call. Raises Refusal with the place for one without a name, and for any
    that is left out if it is to be strict.
    """
    inner = _inner(definition)
    callers, name = inner.get("allowed_callers"), inner.get("name")
    if isinstance(callers, list) and callers and "direct" not in callers:
        notes.leave_out(at, "code_only", "only code may call this tool, and none is run here; allow direct calls")
        notes.left_out.add(str(name))
        return None
    try:
        return _tool_of(definition)
    except XMLToolsError as error:
        words: list[str] = []
        with suppress(XMLToolsError):
            tool = _tool_of(mended({} if notes.strict else definition, words))
            notes.fields += [f"tools.{word}" for word in dict.fromkeys(words)]
            notes.warnings.append(f"{at}: {error}; it was mended")
            return tool
        if notes.strict or not isinstance(name, str) or not name:
            raise Refusal(f"{at}: {error}", param=at, code="invalid_tool") from None
        notes.tools.append(UNREADABLE)
        notes.left_out.add(name)
        notes.warnings.append(f"{at}: {error}; the tool was left out")
        return None


def _tool_of(definition: Any) -> Tool:
    tool = Tool.load(definition)
    _ = tool.shape
    return tool


def _inner(definition: Any) -> Mapping[str, Any]:
    inner = definition.get("function", definition) if isinstance(definition, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def is_deferred(definition: Any) -> bool:
    """Return whether the model is to be told of a tool by its name, and more only if it is found."""
    return _inner(definition).get("defer_loading") is True


def check_tools(tools: list[Tool]) -> list[Tool]:
    """Return the tools. Raises Refusal if two have the same name."""
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            raise Refusal(
                f"tools: there are two of the name {tool.name!r:.80}; leave one out, or rename it",
                param="tools",
                code="invalid_tool",
            )
        seen.add(tool.name)
    return tools


def flag(body: Mapping[str, Any], name: str, default: bool, at: str = "") -> bool:
    """Return a field that is true or false; `at` is the place in front of it. Raises Refusal for anything else."""
    value = body.get(name)
    return default if value is None else bool(expect(value, bool, f"{at}{name}", "true or false", refusal))


def whole_number(body: Mapping[str, Any], name: str, default: int, most: int) -> int:
    """Return a field that is a number from 1. Raises Refusal for anything else."""
    value = body.get(name)
    if value is None:
        return default
    if type(value) is not int or not 1 <= value <= most:
        raise Refusal(f"{name}: expected a whole number from 1 through {most}, got {value!r:.60}", param=name)
    return value


def stops_of(value: Any, name: str) -> tuple[str, ...]:
    """Return stop sequences. Raises Refusal for what is no string, or no list of them."""
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) and each for each in values) or len(values) > 16:
        fail(name, "a string, or up to 16 that are not empty", value, refusal)
    return tuple(values)


def system_first(conversation: Conversation) -> Conversation:
    """Return the conversation with one message of the system, at its start, which is all that many templates take.

    What it says later becomes a message of the user, in a tag of ours; between a call and its results it comes after
    these. Users can't write that tag: in their own words it is no tag. It is not the one by which agents mark reminders
    in what users say (`<system-reminder>`), which stays as it is.
    """
    first: list[Message] = []
    messages: list[Message] = []
    waiting: list[Message] = []
    for message in conversation:
        if message.role == "system":
            if not messages:
                first.append(message)
            elif said := "\n".join(part.text.strip() for part in message.parts if isinstance(part, Text)):
                text = f"<{_FRAME}>\n{said}\n</{_FRAME}>"
                waiting.append(Message(role="user", parts=(Text(text=text),)))
        elif message.results:
            messages.append(_defused(message))
        else:
            messages += [*waiting, _defused(message)]
            waiting = []
    if len(first) > 1:
        texts = ("\n".join(part.text for part in each.parts if isinstance(part, Text)) for each in first)
        first = [Message.system("\n\n".join(filter(None, texts)))]
    return conversation.with_messages([*first, *messages, *waiting])


_FRAME = "system-message"
_FORGED = re.compile(rf"<(?=[\s/]*{_FRAME})", re.IGNORECASE)


def _defused(message: Message) -> Message:
    if message.role != "user" or not any(_FORGED.search(part.text) for part in message.parts if isinstance(part, Text)):
        return message
    parts = (
        part.model_copy(update={"text": _FORGED.sub("&lt;", part.text)}) if isinstance(part, Text) else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})
