"""The same call as models of different families write it: each rival reads its own dialect.

`form` says how a value is written where the dialect has a choice. "cdata" and "escaped" are well-formed. "plain" is
what models write in their haste: code as it is. "unsplit" is CDATA with a bare `]]>` in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any, NamedTuple

__all__ = ["DIALECTS", "Call", "Dialect", "Reply", "wanted", "write"]

# Stand in texts for what ends a block and a value in the dialect at hand, what begins a block, and a whole block.
BLOCK_END, VALUE_END, OPENER, QUOTED = "\ue000", "\ue001", "\ue002", "\ue003"
Arguments = dict[str, Any]


class Call(NamedTuple):
    name: str
    arguments: Arguments


class Reply(NamedTuple):
    """What a model says: prose and calls. `form` is how values are written."""

    name: str
    parts: tuple[str | Call, ...]
    form: str = "cdata"


class Dialect(NamedTuple):
    """How a call is written. With `section`, all calls of a reply stand in one, behind the prose."""

    opener: str
    block_end: str
    value_end: str
    write: Callable[[Call, str], str]
    section: bool = False


def markup(value: str, form: str) -> str:
    """A string in XML."""
    match form:
        case "plain":
            return value
        case "escaped":
            return escape(value, quote=False)
        case "unsplit":
            return f"<![CDATA[{value}]]>"
    return f"<![CDATA[{value.replace(']]>', ']]]]><![CDATA[>')}]]>"


def element(name: str, value: Any, form: str) -> str:
    if isinstance(value, list):
        items = "\n".join(element(name.removesuffix("s"), item, form) for item in value)
        return f"<{name}>\n{items}\n</{name}>"
    if isinstance(value, dict):
        return f"<{name}>" + "".join(element(key, part, form) for key, part in value.items()) + f"</{name}>"
    if not isinstance(value, str):
        return f"<{name}>{json.dumps(value)}</{name}>"
    plain = form == "cdata" and not any(mark in value for mark in "<&\n")
    return f"<{name}>{value if plain else markup(value, form)}</{name}>"


def xml(call: Call, form: str) -> str:
    """The protocol of xmltools, and of all who read plain XML."""
    if form == "json":
        return f"<tool>\n{json.dumps({'tool_name': call.name, 'arguments': call.arguments})}\n</tool>"
    body = "\n".join(element(name, value, form) for name, value in call.arguments.items())
    return f"<tool>\n<tool_name>{call.name}</tool_name>\n<arguments>\n{body}\n</arguments>\n</tool>"


def hermes(call: Call, form: str) -> str:
    """JSON in a tag, as Hermes and Qwen 2.5 write it."""
    return f"<tool_call>\n{json.dumps(call._asdict(), ensure_ascii=False)}\n</tool_call>"


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def qwen(call: Call, form: str) -> str:
    """As the chat template of Qwen 3 Coder: values stand between line breaks and are never escaped."""
    body = "".join(f"<parameter={name}>\n{text(value)}\n</parameter>\n" for name, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{body}</function>\n</tool_call>"


def glm(call: Call, form: str) -> str:
    """As the chat template of GLM 4.5: keys and values in turn, nothing escaped."""
    body = "".join(
        f"<arg_key>{name}</arg_key>\n<arg_value>{text(value)}</arg_value>\n" for name, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{body}</tool_call>"


def escaped_qwen(call: Call, form: str) -> str:
    """The same, but escaped as `formatToolCall` of @ai-sdk-tool/parser does, which reads entities."""
    if form == "plain":
        return qwen(call, form)
    arguments = {name: escape(text(value), quote=False) for name, value in call.arguments.items()}
    return qwen(call._replace(arguments=arguments), form)


DSML = "｜DSML｜"


def dsml(call: Call, form: str) -> str:
    """DeepSeek V4: strings as they are, anything else as JSON."""
    end = f"</{DSML}parameter>\n"
    body = "".join(
        f'<{DSML}parameter name="{name}" string="{json.dumps(isinstance(value, str))}">{text(value)}{end}'
        for name, value in call.arguments.items()
    )
    return f'<{DSML}invoke name="{call.name}">\n{body}</{DSML}invoke>\n'


def morph(call: Call, form: str) -> str:
    """An element with the name of the tool, as `formatToolCall` of @ai-sdk-tool/parser writes it: no CDATA."""
    form = "plain" if form == "plain" else "escaped"
    body = "\n".join(morph_elements(call.arguments, form))
    return f"<{call.name}>\n{body}\n</{call.name}>"


def morph_elements(arguments: Arguments, form: str) -> Iterator[str]:
    """A list is an element for each item."""
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            inner = "".join(morph_elements(item, form)) if isinstance(item, dict) else markup(text(item), form)
            yield f"<{name}>{inner}</{name}>"


DIALECTS = {
    "xml": Dialect("<tool>", "</tool>", "</diff>", xml),
    "hermes": Dialect("<tool_call>", "</tool_call>", '"}', hermes),
    "qwen": Dialect("<tool_call>", "</tool_call>", "</parameter>", qwen),
    "glm": Dialect("<tool_call>", "</tool_call>", "</arg_value>", glm),
    "escaped qwen": Dialect("<tool_call>", "</tool_call>", "</parameter>", escaped_qwen),
    "dsml": Dialect(f"<{DSML}tool_calls>", f"</{DSML}tool_calls>", f"</{DSML}parameter>", dsml, True),
    "morph": Dialect("<apply_diff>", "</apply_diff>", "</diff>", morph),
}


def block(dialect: Dialect, calls: Iterable[Call], form: str) -> str:
    """Calls in a row."""
    written = "\n".join(dialect.write(call, form) for call in calls)
    return f"{dialect.opener}\n{written}{dialect.block_end}" if dialect.section else written


def fill(value: Any, dialect: Dialect) -> Any:
    """`value` with the tags of the dialect where a text asks for them."""
    if isinstance(value, str):
        for mark, tag in ((OPENER, dialect.opener), (BLOCK_END, dialect.block_end), (VALUE_END, dialect.value_end)):
            value = value.replace(mark, tag)
        return value.replace(QUOTED, block(dialect, [Call("apply_diff", {"diff": "x"})], "plain"))
    if isinstance(value, dict):
        return {key: fill(part, dialect) for key, part in value.items()}
    return [fill(part, dialect) for part in value] if isinstance(value, list) else value


def wanted(reply: Reply, dialect: str) -> list[Call]:
    """The calls that a parser should find."""
    known = DIALECTS[dialect]
    return [Call(part.name, fill(part.arguments, known)) for part in reply.parts if isinstance(part, Call)]


def write(reply: Reply, dialect: str) -> str:
    """The reply as a model writes it in this dialect."""
    known = DIALECTS[dialect]
    calls = wanted(reply, dialect)
    if known.section:
        prose = "".join(fill(part, known) for part in reply.parts if isinstance(part, str))
        return prose + (block(known, calls, reply.form) if calls else "")
    written = (block(known, [call], reply.form) for call in calls)
    return "".join(fill(part, known) if isinstance(part, str) else next(written) for part in reply.parts)
