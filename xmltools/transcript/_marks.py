"""What in a text would be read as something else: how it is hidden, and shown again.

Each change adds one level and is undone by taking one away. So text that was changed may be changed again, and nothing
must say whether it was:

- Text of the assistant: the `<` of `<tool`, `<think`, `</think` and the like, behind which white space, `/`, `>` or the
  end stands, is written `&lt;`. Where `&lt;` stood already, it gets one `amp;` more: `&amp;lt;`, and so on.
- Reasoning: the `&` of such an `&lt;/think>` likewise, but a `<` only if the reasoning holds the end tags of all
  elements that it could stand in.
- Text of users and tools: a first line `Tool: …` that would be the header of a result, behind any number of spaces,
  gets one space more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby

from xmltools.dialects import FORGE
from xmltools.models import Part, Text

__all__ = [
    "GLUE",
    "change_first_text",
    "hide_header",
    "hide_tags",
    "join_texts",
    "show_header",
    "show_reasoning",
    "show_tags",
    "text_part",
    "with_text",
    "write_reasoning",
]

GLUE = "\n\n"
"""What stands in one text between two parts."""

_REASONING = "|".join(FORGE.reasoning)
_TAG_STARTS = tuple(
    f"{start}{name}" for name in (FORGE.block, *FORGE.reasoning) for start in ("<", "lt;", "</", "lt;/")
)
_TAG = rf"(?:{FORGE.block}|/?(?:{_REASONING}))(?:[ \t\r\n/>]|\Z)"
_OPEN = re.compile(f"<(?={_TAG})")
_HIDDEN = re.compile(f"&lt;(?={_TAG})")
_AMPERSAND = re.compile(f"&(?=(?:amp;)*lt;{_TAG})")
_HIDDEN_AMPERSAND = re.compile(f"&amp;(?=(?:amp;)*lt;{_TAG})")

_END = f"/(?:{_REASONING})>"
_HIDDEN_END = re.compile(f"&lt;(?={_END})")
_END_AMPERSAND = re.compile(f"&(?=(?:amp;)*lt;{_END})")
_HIDDEN_END_AMPERSAND = re.compile(f"&amp;(?=(?:amp;)*lt;{_END})")

_HEADER = re.compile(" *Tool: [^\n]*\n(?:Result|Error): ")
_HEADER_OF_TOOL = re.compile(" *Tool: ")


def hide_tags(text: str) -> str:
    """Return text of the assistant in which nothing is read as a call or as reasoning.

    >>> hide_tags("a <tool> and a &lt;tool>")
    'a &lt;tool> and a &amp;lt;tool>'
    """
    if not _may_hold_tags(text):
        return text
    # The ampersands come first: those that this makes of tags are right already.
    return _OPEN.sub("&lt;", _AMPERSAND.sub("&amp;", text))


def show_tags(text: str) -> str:
    """Undo `hide_tags`."""
    if not _may_hold_tags(text):
        return text
    return _HIDDEN_AMPERSAND.sub("&", _HIDDEN.sub("<", text))


def _may_hold_tags(text: str) -> bool:
    return any(start in text for start in _TAG_STARTS)


def write_reasoning(text: str) -> str:
    """Return reasoning in the first element of the dialect whose end tag it does not hold."""
    text = _END_AMPERSAND.sub("&amp;", text)
    tag = next((tag for tag in FORGE.reasoning if f"</{tag}>" not in text), None)
    if tag is None:
        tag = FORGE.reasoning[0]
        text = text.replace(f"</{tag}>", f"&lt;/{tag}>")
    return f"<{tag}>{text}</{tag}>"


def show_reasoning(text: str) -> str:
    """Undo what `write_reasoning` did to the text between its tags."""
    return _HIDDEN_END_AMPERSAND.sub("&", _HIDDEN_END.sub("<", text))


def hide_header(parts: Iterable[Part], role: str) -> tuple[Part, ...]:
    """Return the parts of a message in that role, changed if its first text would be read as results."""
    header = _header(role)
    return change_first_text(parts, lambda text: f" {text}" if header.match(text) else text)


def show_header(parts: Iterable[Part], role: str) -> tuple[Part, ...]:
    """Undo `hide_header`."""
    header = _header(role)
    return change_first_text(parts, lambda text: text[1:] if text[:1] == " " and header.match(text) else text)


def _header(role: str) -> re.Pattern[str]:
    # A tool says nothing but results, so there the line with its name is enough.
    return _HEADER_OF_TOOL if role == "tool" else _HEADER


def change_first_text(parts: Iterable[Part], change: Callable[[str], str]) -> tuple[Part, ...]:
    """Return parts of which the first `Text` was changed."""
    changed = list(parts)
    for place, part in enumerate(changed):
        if isinstance(part, Text):
            changed[place] = with_text(part, change(part.text))
            break
    return tuple(changed)


def join_texts(parts: Iterable[Part]) -> list[Part]:
    """Return parts with adjacent texts joined and empty ones left out."""
    joined: list[Part] = []
    filled = (part for part in parts if not isinstance(part, Text) or part.text)
    for is_text, group in groupby(filled, lambda part: isinstance(part, Text)):
        run = list(group)
        if is_text and len(run) > 1:
            joined.append(text_part("".join(part.text for part in run if isinstance(part, Text))))
        else:
            joined += run
    return joined


def with_text(part: Text, text: str) -> Text:
    """Return the part with another text; all else that it holds stays."""
    return part if text == part.text else part.model_copy(update={"text": text})


def text_part(text: str) -> Text:
    """Return a `Text` of any text: pydantic refuses lone surrogates, and models write them."""
    return Text.model_construct(text=text)
