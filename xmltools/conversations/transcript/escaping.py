"""What in a text would be read as something else: how it is hidden, and shown again.

Each change adds one level and is undone by taking one away. So text that was changed may be changed again, and nothing
must say whether it was:

- Text of the assistant: the `<` of `<tool`, `<think`, `</think` and the like, in any case, is written `&lt;` if white
  space, `/`, `>` or the end stands after the name. Where `&lt;` stood already, it gets one `amp;` more: `&amp;lt;`, and
  so on.
- Text that something follows: the `<` of a comment or a CDATA section that has no end likewise, and the first character
  of the fence line that opens a fence without an end, and of those after it: it is written `&#96;` or `&#126;`. What
  stands there already gets one `amp;` more, also in text that nothing follows.
- Reasoning: the `&` of such an `&lt;/think>` likewise, but a `<` only if the reasoning holds tags of all elements that
  it could stand in, or need not be exact; and the lines of a fence that has no end.
- Both: the first character of a token with which a chat template begins or ends a turn, `<|im_end|>` or `[INST]`, is a
  reference, and an ampersand before such a reference gets one `amp;` more.
- Text of users and tools: a first line `Tool: …` that would be the header of a result, after any number of spaces,
  gets one space more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import groupby

from xmltools.dialects import FORGE
from xmltools.models import Part, Text
from xmltools.parser.reasoning import MAX_BRACKETS, is_json_list
from xmltools.parser.shown import Shown
from xmltools.render.marks import turn_marks
from xmltools.syntax.markup import SPACES

GLUE = "\n\n"
"""What stands in one text between two parts."""

_REASONING = "|".join(FORGE.reasoning)
_END = rf"(?:[{SPACES}/>]|\Z)"
_THOUGHT = rf"(?i:/?(?:{_REASONING})){_END}"
_TAG = rf"(?:(?i:{FORGE.block}){_END}|{_THOUGHT})"
_SECTION = r"!(?:--|\[(?i:CDATA)\[)"
_FENCE = "(?:`{3}|~{3})"
_HIDDEN_FENCE = "#(?:96;``|126;~~)"

_OPEN = re.compile(f"<(?={_TAG})")
_OPEN_FENCE = re.compile(f"^( {{0,3}})({_FENCE})", re.MULTILINE)


class _Levels:
    """Hides and shows by one level of `&…;` what a pattern says, after `&`."""

    __slots__ = ("_ampersand", "_hidden", "_hidden_ampersand")

    def __init__(self, tags: str) -> None:
        hidden = f"(?=(?:amp;)*lt;{tags})"
        fence = f"(?=(?:amp;)*{_HIDDEN_FENCE})"
        self._ampersand = re.compile(f"()&{hidden}|^( {{0,3}})&{fence}", re.MULTILINE)
        self._hidden_ampersand = re.compile(f"()&amp;{hidden}|^( {{0,3}})&amp;{fence}", re.MULTILINE)
        self._hidden = re.compile(f"&lt;(?={tags})")

    def hide(self, text: str) -> str:
        return self._ampersand.sub(lambda found: f"{found[2] or ''}&amp;", text) if "&" in text else text

    def show(self, text: str) -> str:
        if "&" not in text:
            return text
        text = _HIDDEN_LINE.sub(lambda found: f"{found[1]}{chr(int(found[2]))}", self._hidden.sub("<", text))
        return self._hidden_ampersand.sub(lambda found: f"{found[2] or ''}&", text)


_HIDDEN_LINE = re.compile("^( {0,3})&#(96(?=;``)|126(?=;~~));", re.MULTILINE)
_LEVELS = _Levels(f"(?:{_TAG}|{_SECTION})")
_THOUGHT_LEVELS = _Levels(_THOUGHT)

_HEADER = re.compile(" *Tool: [^\n]*\n(?:Result|Error): ")
_HEADER_OF_TOOL = re.compile(" *Tool: ")


def hide_tags(text: str, *, is_followed: bool = False) -> str:
    """Return text of the assistant in which nothing is read as a call or as reasoning, and, if something follows,
    after which all is read as it is.

    >>> hide_tags("a <tool> and a &lt;tool>")
    'a &lt;tool> and a &amp;lt;tool>'
    """
    # The ampersands come first: those that this makes of tags are right already.
    text = _OPEN.sub("&lt;", _LEVELS.hide(text))
    if is_followed:
        text = _hide_fence(_hide_sections(text), sections=True)
    return turn_marks().hide(text)


def show_tags(text: str) -> str:
    """Undo `hide_tags`."""
    return _LEVELS.show(turn_marks().show(text))


def _hide_sections(text: str) -> str:
    """Hide what begins a comment or a CDATA section that has no end."""
    for opener, either in _SECTIONS:
        # From left to right, as they are read: an opener and an end share no characters, as they seem to in `<!-->`.
        end = max((found.end() for found in either.finditer(text) if found["end"]), default=0)
        text = text[:end] + opener.sub("&lt;", text[end:])
    return text


_SECTIONS = tuple(
    (re.compile(f"<(?={opens})", re.IGNORECASE), re.compile(f"<{opens}|(?P<end>{closes})", re.IGNORECASE))
    for opens, closes in (("!--", "-->"), (r"!\[CDATA\[", r"\]\]>"))
)
"""Patterns of what begins a comment or a CDATA section, and of that or what ends one."""


def _hide_fence(text: str, *, sections: bool) -> str:
    """Hide the lines of a fence that has no end."""
    if not _OPEN_FENCE.search(text):
        return text
    shown = Shown((FORGE.block,), len(text) + 1, sections=sections)
    start = at = 0
    for line in re.findall("[^\n]*\n", f"{text}\n"):
        before = shown.marker
        shown.take(line)
        if not before and shown.marker:
            start = at
        at += len(line)
    if not shown.marker:
        return text
    return text[:start] + _OPEN_FENCE.sub(lambda found: f"{found[1]}&#{ord(found[2][0])};{found[2][1:]}", text[start:])


def write_bracketed(text: str) -> str | None:
    """Return reasoning as a paragraph in square brackets, None if `bracket_reasoning` would not read all of it."""
    written = f"[{turn_marks().hide(_THOUGHT_LEVELS.hide(text))}]"
    fits = len(written) <= MAX_BRACKETS and not _NO_BRACKETS.search(written) and not is_json_list(written)
    return written if text and fits else None


def write_reasoning(text: str, *, exact: bool = True) -> str:
    """Return reasoning in the first element of the dialect whose tags it does not hold; if it need not be `exact`, in
    the first, which is the one that chat templates know."""
    text = turn_marks().hide(_hide_fence(_THOUGHT_LEVELS.hide(text), sections=False))
    free = (tag for tag in FORGE.reasoning if not _tags_of(tag).search(text))
    tag = next(free, None) if exact else None
    if tag is None:
        tag = FORGE.reasoning[0]
        text = _tags_of(tag).sub("&lt;", text)
    return f"<{tag}>{text}</{tag}>"


_NO_BRACKETS = re.compile(rf"(?:\r\n|\r(?!\n)|\n)[ \t]*[\r\n]|\][ \t]*[\r\n]|<{_TAG}")
"""What ends or breaks a region in brackets: a blank line, a line that ends with a bracket, an opener."""


def _tags_of(tag: str) -> re.Pattern[str]:
    return re.compile(f"<(?=(?i:/?{tag}){_END})")


def show_reasoning(text: str) -> str:
    """Undo what `write_reasoning` did to the text between its tags."""
    return _THOUGHT_LEVELS.show(turn_marks().show(text))


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
    return Text.unchecked(text)
