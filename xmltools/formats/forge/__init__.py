"""Forge's messages: `{role, content}`, and nothing but text in them. Calls are blocks, results `Tool: name` and a line.

- Texts are read as `transcript.extract` does, and written as `inline` does: the role of results is "tool". The
  content of a reply is its text, reasoning (`<think>`) and calls, a blank line between two of them; adjacent texts are
  one, and empty ones are none. With `tools` arguments are typed by their schemas; without, numbers and booleans are
  text in Forge's XML, and are read back as text, which is reported.
- With `bracket_reasoning` reasoning is read, or written, as a paragraph in brackets, as Forge's document has it. What
  brackets cannot hold, such as a blank line, is written in `<think>`. A text with a paragraph in brackets
  would be read as reasoning. Both are reported. Lines in a code fence, and lists in JSON, are never reasoning.
- Results stand one in a message (GROUPED is False), but several in one are read and written too. There are no ids:
  calls are `call_1`, `call_2` and so on, and a result answers the first open call of its name. Where two results of one
  tool would be taken for each other, the results of the turn are written in the order of their calls (`moved_result`).
- What stands in a message of another role than the format has for it comes in a message of its own, and is reported.
- Content that says the same as what would be written, but is spelled otherwise, and other keys of a message, are kept
  in `extra["forge"]` and written again as long as the message says the same.

`system`, `user`, `assistant` and `tool` make single messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from xmltools.errors import Issue
from xmltools.formats.forge import reading as _forge_load
from xmltools.formats.forge import writing as _forge_write
from xmltools.formats.shared.losses import Holds, Report
from xmltools.models import Conversation
from xmltools.tools import Tool

__all__ = [
    "GROUPED",
    "HOLDS",
    "NAME",
    "SPELLING",
    "assistant",
    "dump",
    "json_to_xml",
    "load",
    "recognise",
    "system",
    "tool",
    "user",
]

NAME = _forge_write.NAME
"""The name by which the format is asked for."""
HOLDS = Holds(reasoning=True, servers=True, error_flag=True, call_ids=False, types=False)
"""What a conversation in this format can say."""
SPELLING = frozenset(("message", "says"))
"""Keys of its `extra` that only say how something was spelled."""
GROUPED = False
"""Each result has a message of its own."""


def load(
    obj: Any, report: Report, *, tools: Iterable[Tool] | None = None, bracket_reasoning: bool = False
) -> Conversation:
    """Read a list of Forge's messages.

    `tools` type the arguments of calls, and calls that do not fit them stay text; `bracket_reasoning` takes `[…]` at
    the start of a line for reasoning, as Forge's own models write it. Reports results that answer no call. Raises
    XMLToolsError for what is no such list, with the place, and for tools that a parser refuses.
    """
    return _forge_load.load(obj, report, tools, bracket_reasoning)


def dump(
    conversation: Conversation,
    report: Report,
    *,
    tools: Iterable[Tool] | None = None,
    result_role: Literal["tool", "user"] | None = None,
    bracket_reasoning: bool = False,
) -> list[dict[str, Any]]:
    """Write a list of Forge's messages.

    `tools` are those whose schemas the reader will have. Results get the role `result_role`; None is "tool", but for
    results that were read from a message of the user. `bracket_reasoning` writes reasoning in brackets. Reports calls
    that can't be written as text, which are left out, calls of other tools in which numbers and booleans become text,
    messages that had to be split, results whose text begins with the word of their header, and what brackets cannot
    say.

    Raises XMLToolsError for tools that a parser refuses and for another `result_role`.
    """
    return _forge_write.dump(conversation, report, tools, result_role, bracket_reasoning)


def json_to_xml(
    messages: list[Any],
    *,
    tools: Iterable[Tool] | None = None,
    issues: list[Issue] | None = None,
    strict: bool = False,
) -> list[dict[str, Any]]:
    """Return stored messages with their calls in XML where they were in the deprecated JSON: the text around them, and
    all other messages, stay as they are to the byte.

    With `tools` arguments keep their types; without, numbers and booleans are text from then on, which is reported. So
    is a call that elements cannot say (`json_kept`), such as one with an empty list where no schema declares it, or
    with `{"files": {"file": ["a"]}}`, whose elements would say `{"files": ["a"]}` as well, and are read so.
    `issues` and `strict` are as for `convert`. Raises XMLToolsError for what is no list of Forge's messages.
    """
    report, given = Report(strict=strict), _forge_write.listed_tools(tools)
    read = _forge_load.load(messages, Report(), given, False)
    written = _forge_write.dump(read, report, given, None, json_to_xml=True)
    report.tell(issues)
    return written


def recognise(obj: Any) -> bool:
    """Return whether the object is a list of plain messages, of which one holds a block or a result of Forge."""
    return isinstance(obj, list) and all(map(_is_message, obj)) and any(map(_is_marked, obj))


def _is_message(obj: Any) -> bool:
    return isinstance(obj, dict) and obj.keys() == {"role", "content"} and isinstance(obj["content"], str)


def _is_marked(obj: dict[str, str]) -> bool:
    content = obj["content"]
    if obj["role"] == "tool":
        return content.startswith("Tool: ")
    return obj["role"] == "assistant" and "<tool>" in content and ("<tool_name>" in content or '"tool_name"' in content)


# Constructors


def system(content: str) -> dict[str, str]:
    """Return a system message."""
    return {"role": "system", "content": content}


def user(content: str) -> dict[str, str]:
    """Return a message of the user."""
    return {"role": "user", "content": content}


def assistant(content: str) -> dict[str, str]:
    """Return a reply."""
    return {"role": "assistant", "content": content}


def tool(name: str, result: str) -> dict[str, str]:
    """Return a message with the result of a tool, as it is: Forge's own begin with `Result: ` or `Error: `."""
    return {"role": "tool", "content": f"Tool: {name}\n{result}"}
