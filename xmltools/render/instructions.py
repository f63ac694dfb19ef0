"""The part of a system prompt that teaches the protocol and documents the tools.

The same tools, options and wording give the same text to the byte, tools in the order in which they come: prompt
caches rely on it. Names, descriptions and values of tools are data: what could open a block in them is defused, and
each line of them comes after something, so that none can pass for a heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal

from xmltools.dialects import FORGE, Dialect
from xmltools.dialects import named as dialect_named
from xmltools.dialects.reasoning_tags import refuse_tag_of_calls
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Message, Text, ToolCall, ToolResult
from xmltools.render.calls import refuse_forges_options, render_call, render_calls
from xmltools.render.dialect_calls import form_of
from xmltools.render.dialect_instructions import (
    STAND_IN,
    check_tools,
    example_of,
    list_tools,
    sentences_in,
    shows_others,
)
from xmltools.render.forge_calls import write_call
from xmltools.render.marks import marks_beside
from xmltools.render.prompt_sentences import ENGLISH, Wording, fill, neutral, neutral_line
from xmltools.render.results import render_results
from xmltools.render.type_descriptions import (
    ABSENT,
    children_of,
    constraints,
    fact,
    identity,
    json_text,
    other_properties,
    start_tag,
    type_words,
)
from xmltools.render.type_signatures import TypeWriter
from xmltools.render.writable import only_server, refuse_unsayable
from xmltools.syntax.markup import find_forbidden, is_xml_name
from xmltools.tools import Tool, list_of_tools
from xmltools.tools.schema import (
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    example_arguments,
    is_code_name,
    properties_of,
    text_facts,
)

Style = Literal["full", "compact"]

MAX_DEPTH = 8
"""Levels of nested properties that are written out."""


def render_instructions(
    tools: Iterable[Tool],
    *,
    style: Style = "full",
    parallel_tool_calls: bool = True,
    tool_choice: Literal["auto", "required"] = "auto",
    reasoning_tag: str | None = None,
    bracket_reasoning: bool = False,
    turns: Sequence[Message] = (),
    preamble: str = "",
    wording: Wording = ENGLISH,
    server_names: bool = False,
    dialect: Dialect | str = FORGE,
) -> str:
    """Write the instructions for a system prompt: how to call tools, and which there are.

    Takes the tools; `style`: `"full"` (a section a tool, with an example call) or `"compact"` (a line a tool, without
    the descriptions of arguments: for some 50 tools and more); whether a reply may hold several calls, and whether it
    must hold one; `reasoning_tag`: a tag to think in, such as `"think"`; `bracket_reasoning`: to think in square
    brackets, as Forge's models do, which the parser reads with the option of this name; `turns`: messages to
    show as an example conversation; `preamble`: text of your own to stand before it all; `wording`: other sentences;
    `server_names`: whether calls name their server also where all tools are on one, as Forge's do. Where the tools are
    on several servers, they always do.

    `dialect`, a name or a record, is the one that the model was trained to write. The tools are listed in the form that
    the chat template of such models has, mostly as JSON, and one example shows how a call looks; `"compact"` leaves out
    the descriptions of arguments. Sentences of `wording` that are about Forge's notation are replaced by others, unless
    they are your own. Calls in other dialects name no server, and have no reasoning in brackets.

    Returns text without a line break at its end, which is the preamble alone if there are no tools. Raises
    XMLToolsError for options that are none, two tools of one name and server (in other dialects than Forge's: of one
    name), names that no call can say, invalid schemas, and a dialect in which nothing can be written.
    """
    tools = list_of_tools(tools)
    spelled = dialect_named(dialect)
    _check(tools, style, tool_choice, reasoning_tag, wording)
    if reasoning_tag is not None:
        refuse_tag_of_calls(reasoning_tag, spelled, "reasoning_tag")
    turns = _checked_turns(turns)
    if not isinstance(preamble, str):
        raise XMLToolsError(f"preamble: expected text, got {type(preamble).__name__}")
    if reasoning_tag is not None and bracket_reasoning:
        raise XMLToolsError("bracket_reasoning: expected one place to think in; leave it out, or reasoning_tag")
    if spelled != FORGE:
        form_of(spelled)
        refuse_forges_options(spelled, server_names=server_names, bracket_reasoning=bracket_reasoning)
        check_tools(tools, spelled)
        wording = sentences_in(wording, spelled)
    if not tools:
        return preamble.rstrip()
    only = None if server_names else only_server(tools)
    rules = [
        wording.names,
        wording.servers if only is None and spelled == FORGE else "",
        wording.cdata,
        wording.nesting,
        wording.empty,
        wording.plain,
        wording.mention,
        wording.parallel if parallel_tool_calls else wording.single,
        wording.required_call if tool_choice == "required" else "",
        wording.reasoning if reasoning_tag else wording.bracket_reasoning if bracket_reasoning else "",
        wording.results,
        wording.signatures if style == "compact" else "",
    ]
    tag = reasoning_tag or ""
    sections = [
        preamble.rstrip(),
        fill(wording.heading, spelled),
        fill(wording.intro, spelled),
        "\n".join(f"- {fill(rule, spelled, tag=tag)}" for rule in rules if rule),
        *(
            _document(tools, style, wording, only is None)
            if spelled == FORGE
            else _listed(tools, style, wording, spelled)
        ),
        _conversation(turns, tools, wording, only, spelled),
    ]
    return "\n\n".join(filter(None, sections))


def _listed(tools: list[Tool], style: Style, wording: Wording, dialect: Dialect) -> list[str]:
    """Return what is said of the tools in another dialect than Forge's."""
    example = example_of(tools, dialect)
    return [
        f"{fill(wording.example, dialect)}\n{example}" if example else "",
        list_tools(tools, dialect, compact=style == "compact"),
    ]


def _check(tools: list[Tool], style: str, tool_choice: str, reasoning_tag: str | None, wording: Wording) -> None:
    if style not in ("full", "compact"):
        raise XMLToolsError(f"style: expected 'full' or 'compact', got {style!r:.40}")
    if tool_choice not in ("auto", "required"):
        raise XMLToolsError(
            f"tool_choice: expected 'auto' or 'required', got {tool_choice!r:.40}; for one tool give only that"
        )
    if reasoning_tag is not None and not (isinstance(reasoning_tag, str) and is_xml_name(reasoning_tag)):
        raise XMLToolsError(f"reasoning_tag: expected the name of an element, got {reasoning_tag!r:.40}")
    if not isinstance(wording, Wording):
        raise XMLToolsError(f"wording: expected xmltools.Wording, got {type(wording).__name__}")
    seen = set()
    for tool in tools:
        refuse_unsayable(tool.name, "a tool")
        refuse_unsayable(tool.server, "a server")
        if (tool.name, tool.server) in seen:
            raise XMLToolsError(f"two tools are named {tool.name!r} on server {tool.server!r}; give each its own name")
        seen.add((tool.name, tool.server))


def _checked_turns(turns: Sequence[Message]) -> list[Message]:
    if isinstance(turns, Message):
        raise XMLToolsError("turns: expected a list of xmltools.Message, got one; give a list of it: [message]")
    if isinstance(turns, Conversation) or not isinstance(turns, Iterable | None):
        how = "; give its messages" if isinstance(turns, Conversation) else ""
        raise XMLToolsError(f"turns: expected a list of xmltools.Message, got {type(turns).__name__}{how}")
    checked = list(turns or ())
    for message in checked:
        if not isinstance(message, Message):
            raise XMLToolsError(
                f"turns: expected a list of xmltools.Message, got {type(message).__name__} in it; "
                "Conversation().user('…').assistant('…') makes such messages"
            )
    return checked


def _document(tools: list[Tool], style: Style, wording: Wording, named: bool) -> list[str]:
    """Return what is said of each tool. `named`: with its server."""
    write = _tool_section if style == "full" else _signature
    shapes = [tool.shape for tool in tools]  # all of them first: one kind of work at a time takes a little less
    told = [
        (write if tool.is_small else write.__wrapped__)(
            tool.name, tool.server if named else None, tool.description, shape, wording
        )
        for tool, shape in zip(tools, shapes, strict=True)
    ]
    if style == "full":
        is_shown = any(f"\n<{FORGE.block}>\n" in each for each in told)  # no data begins a line so
        return told if is_shown else [_stand_in(wording, named), *told]
    examples = (_example(tool.name, tool.server if named else None, tool.shape) for tool in tools)
    shown = next(filter(None, examples), "")
    return [
        f"{fill(wording.example, FORGE)}\n{shown}" if shown else _stand_in(wording, named),
        "\n".join(told),
    ]


def _stand_in(wording: Wording, named: bool) -> str:
    """Return the example for tools of which none has one of its own."""
    call = STAND_IN.model_copy(update={"server": "name_of_the_server"}) if named else STAND_IN
    return f"{fill(wording.example, FORGE)}\n{render_call(call, server_names=named)}"


# The same tools come with each request: what is said of one is kept. The shape, which is compared by identity, stands
# for the schema.
@lru_cache(maxsize=256)
def _tool_section(name: str, server: str | None, description: str, shape: ObjectShape, wording: Wording) -> str:
    """Return the section of one tool in the full style; nothing of its server if that is None."""
    lines = [f"## {neutral(name)}"]
    if server is not None and server != FORGE.default_server:
        lines.append(fill(wording.server, FORGE, server=server))
    lines += _after_mark("> ", description)
    arguments = _Listing(wording).nested(children_of(shape.forms, FORGE.arguments), "", 0)
    lines += [fill(wording.arguments, FORGE), *arguments] if arguments else [fill(wording.no_arguments, FORGE)]
    if example := _example(name, server, shape):
        lines += [fill(wording.example, FORGE), example]
    return "\n".join(filter(None, lines))


def _after_mark(mark: str, text: str) -> list[str]:
    """Return the lines of a description after a mark, without blank lines; at least one line.

    The mark keeps headings and code fences of the description inside it.
    """
    text = neutral(text)
    lines = [text] if text.isprintable() else text.splitlines()  # a line break is not printable
    return [f"{mark}{line.rstrip()}" for line in lines if line.strip()] or [""]


def _example(name: str, server: str | None, shape: ObjectShape) -> str:
    """Return an example call, nothing if none can be made up. Code stands in CDATA, however short it is."""
    arguments = example_arguments(shape)
    if arguments is None:
        return ""
    call = ToolCall(id="", name=name, server=server or FORGE.default_server, arguments=arguments)
    block = write_call(call, shape, exact=True, server_names=server is not None, in_cdata=_is_code)
    # A JSON body would teach what is deprecated, a control character what needs a repair.
    is_json = block.startswith("{", len(f"<{FORGE.block}>\n"))
    if is_json or find_forbidden(block, 0, len(block)) >= 0 or shows_others(name, arguments):
        return ""
    return block


def _is_code(name: str, text: str, shape: Shape) -> bool:
    # Grammars write what has a pattern or a format in CDATA only where it must be.
    facts = [text_facts(each) for each in shape.alternatives if each.is_text or each.is_any]
    is_free = any(not (each.patterns or each.formats) for each in facts)
    return bool(text) and is_free and ("\n" in text or is_code_name(name))


_Member = tuple[str, str, Shape, bool]
"""How a property is listed, its name, its shape, and whether it is required."""


def _members(shape: ObjectShape) -> list[_Member]:
    """Return the properties of an object, and what is said about others."""
    named = [(start_tag(each.name), each.name, each.shape, each.required) for each in properties_of(shape)]
    return [*named, *((label, label, each, False) for label, each in other_properties(shape))]


class _Listing:
    """The arguments of one tool as an indented list. Each object is written out once, however often it is used."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording
        self.told: dict[tuple[int, ...], str] = {}

    def properties(self, members: list[_Member], indent: str, depth: int) -> list[str]:
        """Return the lines of properties."""
        return [line for each in members for line in self.entry(*each, indent, depth)]

    def entry(self, label: str, name: str, shape: Shape, required: bool, indent: str, depth: int) -> list[str]:
        """Return the lines of one property."""
        wording = self.wording
        objects = [] if isinstance(shape, (TextShape, ScalarShape)) else children_of(shape, name)
        words = [type_words(shape)]
        if objects:
            words += [self._seen_at(each) for each, _ in objects]
        words += constraints(shape, name)
        words.append(wording.required if required else wording.optional)
        default = ABSENT if required else fact(shape, "default")
        if default is not ABSENT:
            words.append(fill(wording.default, FORGE, value=json_text(default)))
        line = f"{indent}- {label} ({', '.join(filter(None, words))})"
        description = fact(shape, "description")
        first, *others = _after_mark(f"{indent}    ", description) if description is not ABSENT else [""]
        lines = [f"{line}: {first.strip()}" if first else line, *others]
        return lines + self.nested(objects, f"{indent}  ", depth + 1) if objects else lines

    def nested(self, objects: list[tuple[ObjectShape, str]], indent: str, depth: int) -> list[str]:
        """Return the lines of the objects in a value. If there are several, what all of them have comes first, and the
        rest of each under a line of its own."""
        if depth > MAX_DEPTH:
            return []
        several = len(objects) > 1
        members = [_members(shape) for shape, _ in objects]
        shared = [each for each in members[0] if all(each in others for others in members)] if several else []
        lines = self.properties(shared, indent, depth)
        for number, (shape, name) in enumerate(objects, 1):
            if self._seen_at(shape):
                continue
            self.told[identity(shape)] = name
            own = [each for each in members[number - 1] if each not in shared]
            if several and (own or shared):
                lines.append(f"{indent}- form {number}:{'' if own else ' nothing more'}")
            lines += self.properties(own, indent + "  " if several else indent, depth)
        return lines

    def _seen_at(self, shape: ObjectShape) -> str:
        name = self.told.get(identity(shape))
        return f"like {neutral_line(name)} above" if name is not None else ""


def _conversation(
    turns: Sequence[Message], tools: list[Tool], wording: Wording, only: str | None, dialect: Dialect
) -> str:
    if not turns:
        return ""
    shown = (_turn(message, tools, wording, only, dialect) for message in turns)
    return "\n\n".join([fill(wording.turns, dialect), *shown])


def _turn(message: Message, tools: list[Tool], wording: Wording, only: str | None, dialect: Dialect) -> str:
    parts: list[str] = []
    marks = marks_beside(tools, dialect)
    for kind, group in groupby(message.parts, type):
        run = list(group)
        if kind is Text:
            parts += (neutral(part.text, marks).strip() for part in run if isinstance(part, Text))
        elif kind is ToolCall:
            parts.append(_calls([part for part in run if isinstance(part, ToolCall)], tools, only, dialect))
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    if results:
        parts.append(render_results(results, dialect=dialect, tools=tools))
    speaker = wording.assistant if message.role == "assistant" else wording.user
    return f"{fill(speaker, dialect)}\n" + "\n\n".join(filter(None, parts))


def _calls(calls: list[ToolCall], tools: list[Tool], only: str | None, dialect: Dialect) -> str:
    if dialect != FORGE:
        return render_calls(calls, tools, dialect=dialect)
    by_name = {(tool.name, tool.server): tool for tool in tools}
    blocks = (
        render_call(call, by_name.get((call.name, call.server)), server_names=call.server != only) for call in calls
    )
    return "\n\n".join(blocks)


# The compact style: a tool on one line


MAX_DESCRIPTION = 200
"""Characters of a tool's description; the rest of it is for the full style."""


@lru_cache(maxsize=1024)
def _signature(name: str, server: str | None, description: str, shape: ObjectShape, wording: Wording) -> str:
    """Return `- name(argument: type, optional?: type = default): description`, the description cut to one line.

    A server that is None is not told, nor is the default one.
    """
    where = ""
    if server is not None and server != FORGE.default_server:
        where = f" ({fill(wording.server, FORGE, server=server)})"
    types = TypeWriter()
    forms = [", ".join(types.members(each, 0)) for each, _ in children_of(shape.forms, "")]
    description = neutral_line(description)
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 3].rstrip() + "..."
    calls = " or ".join(f"{neutral(name)}({arguments})" for arguments in forms)
    return f"- {calls}{where}" + (f": {description}" if description else "")
