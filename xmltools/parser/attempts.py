"""What is plainly meant as a call of a given tool, and is one in no notation (protocol, 1.9).

Three things show it. What each looks for first is rare, so that other text costs nothing:

- a *mark*: a tag that begins calls in some dialect, whatever its case, its bars, and the `_` and `▁` in it. Behind it
  stand only other such words, quotes and brackets, then the name of the tool, and then what a call goes on with;
- `NAME[ARGS]{`, which lacks Mistral's first token;
- ` to=functions.NAME` and an object, as Harmony has it.

Models that know several notations mix them, and servers drop or change special tokens. Prose that mentions a mark has
words behind it that are none of these.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from xmltools import dialects
from xmltools.dialects import Dialect
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NO

ARGS: Final = "[ARGS]"
TO: Final = " to=functions."
TAIL: Final = 257
"""More characters than a name in front of `[ARGS]` has."""

_BARS: Final = r"|｜‖▁_\\"
_GAP_LENGTH: Final = 200
"""Fewer characters than these stand between a mark and the name."""
_FOLLOW_LENGTH: Final = 300
"""More characters than `_FOLLOW` matches."""
_S: Final = r"[ \t\r\n]{0,64}"
_TOKEN = late_pattern(rf"<((?:[\w{_BARS}]|(?<=[|｜‖]) (?=\w)){{1,80}}+)")
_NOT_A_LETTER = late_pattern("[^a-z0-9]")
_FIRST_TAG = late_pattern("<([^<>=:]+)")
_UNBARRED: Final = ("tool", "function", "invoke")
"""What a mark must begin with that has no bars: others are words of HTML, as `<start>` may be."""
_IN_TAG: Final = frozenset(("tool", "function", "functions", "invoke"))
"""Marks that must have the name in their own tag: documents have `<function>read</function>`."""
_WORD: Final = (
    "antml|arguments|args|begin|calls|call|channel|code|commentary|constrain|content|dsml|functions|function|id|ifm|"
    "index|invoke|json|message|minimax|name|open|parameters|parameter|plugin|python|recipient|section|seed|sep|start|"
    "steptml|tools|tool|type|xml"
)
_WORDS: Final = rf"(?i:{_WORD})(?:_(?:(?i:{_WORD})|\d{{1,9}}))*+"
"""What may stand between a mark and the name, alone or with `_` between."""
_ALL_WORDS = late_pattern(_WORDS)
_OTHER_KEY = late_pattern(r"\b(?:id|index|type)[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?\Z")
"""What stands right in front of a word that is no name, as in `<functions id="search">`."""
_NAME = late_pattern(r"\w[\w.:/-]{0,255}+")
_NUMBER = late_pattern(r":\d{1,9}\Z")
_NEXT: Final = r"(?:[<{\[]|`{3}|[\"'`]{0,3}[\w.-]{1,64}[\"'`]{0,3}[ \t]{0,8}[:=])"
_FOLLOW = late_pattern(
    rf"[\"'`]{{0,3}}(?:\Z|\({_S}(?:[\"'{{\[)]|\w{{1,64}}{_S}[=:])|{_S}(?P<closed>/>)"
    rf"|{_S}>(?:(?:[ \t]{{0,64}}\r?\n{_S})?{_NEXT}|[ \t]{{1,64}}[{{\[])|{_S}(?::\d{{1,9}}|[,:=]{_S})?{_NEXT})"
)
"""What follows the name: an element, an object, a list, arguments, a key. Prose lists tags with blanks between."""
_GLUED = late_pattern("</?arg_(?:key|value)>")
_GLUED_LENGTH: Final = 12
"""Of the mark that ends a name and that of an argument, where the marks between them are missing."""
# A backslash in front of it says that it is only shown.
_LAST_NAME = late_pattern(r"(?<![\w.:/\\-])[\w.:/-]++\Z")
_TO_CALL = late_pattern(
    r" to=functions\.([\w.:/-]{1,256}+)"
    r"(?:[\s<>|｜‖]|(?:analysis|assistant|channel|code|commentary|constrain|final|json|message)(?!\w)){0,200}+(?={)"
)
NO_END: Final = re.compile("(?!)")
"""The end of an attempt that has none: the arguments are no JSON."""
_OPPOSITE: Final = {"begin": "end", "start": "end", "prefix": "suffix"}
END_LENGTH: Final = 256
"""More characters than the end of an attempt has."""


class Attempt(NamedTuple):
    """An attempt at a call that begins with a mark: what it is told as, the name of the tool, the place after that, a
    pattern of what ends it, and the place after it if its own tag has ended it, else -1."""

    notation: str
    name: str
    after: int
    ends: re.Pattern[str]
    end: int


def _letters(mark: str) -> str:
    return _NOT_A_LETTER.sub("", mark.lower())


@lru_cache(maxsize=64)
def _known(dialect: Dialect) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The letters of all marks: what an attempt with one is told as, and the ends of calls that begin so."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {
        "tool": ("forge", ()),
        "function": ("qwen3_coder", ()),
        "functions": ("qwen3_coder", ()),
        "invoke": ("invoke", ()),
        "toolcall": ("hermes", ()),
    }
    own: set[str] = set()
    for form in (form for each in (dialect, *dialects.all()) for form in each.forms):
        name = form.pairs.name if form.pairs is not None and form.pairs.bare else ""
        for mark in (form.opener, name):
            tag = _FIRST_TAG.match(mark)
            letters = _letters(tag[1]) if tag else ""
            if letters:
                notation, ends = found.get(letters, (form.name, ()))
                if form.name == dialect.name and letters not in own:
                    own.add(letters)
                    notation = dialect.name
                if mark == form.opener and form.closer and form.closer not in ends:
                    ends = (*ends, form.closer)
                found[letters] = notation, ends
    return found


def trigger() -> tuple[str, str]:
    """The characters with which what begins marks begins after its `<`, and a pattern of that: an expression knows the
    soonest that it does not fit if it begins with few characters."""
    lead = f"TFI{_BARS}"
    rest = rf"[oO][oO][lL]|[uU][nN][cC]|[nN][vV][oO]|(?<=[{_BARS}])[{_BARS}]{{0,2}} ?[A-Za-z]"
    return "tfiTFI|｜‖▁_\\", f"tool|func|invo|[{lead}](?:{rest})"


@lru_cache(maxsize=64)
def _gap_for(names: tuple[str, ...]) -> re.Pattern[str]:
    """What may stand between a mark and the name of one of these tools."""
    odd = [re.escape(name) for name in names if _ALL_WORDS.fullmatch(name)]  # which have a name of such words only
    no_name = rf"(?!(?:{'|'.join(odd)})(?!\w))" if odd else ""
    marks = rf"</|/>|[\"'],|\\n|functions\.|{no_name}{_WORDS}(?!\w)|\d{{1,9}}(?!\w)"
    return re.compile(rf"(?:{marks}|[\s<>|｜‖▁:=\"'`\[({{])*+")


@lru_cache(maxsize=64)
def _ends(words: tuple[str, ...], known: tuple[str, ...]) -> re.Pattern[str]:
    """What ends an attempt whose mark has these words: an end mark with them, or one of those that are `known`."""
    last = tuple(_OPPOSITE.get(word, word) for word in words)
    slash = rf"[{_BARS}]{{0,3}}/" if last == words else ""
    mark = rf"[{_BARS} ]{{0,3}}".join(map(re.escape, last))
    own = rf"<{slash}[{_BARS}]{{0,3}}(?i:{mark})[{_BARS}]{{0,3}}[ \t\r\n]{{0,8}}>"
    return re.compile("|".join((own, *map(re.escape, known))))


def read_attempt(dialect: Dialect, toolbox: Toolbox, text: str, at: int, *, is_all: bool) -> Attempt | bool | None:
    """The attempt that begins with a mark at `at`; NO if none does, MORE if the text does not say yet. `is_all`:
    nothing that follows the text goes on with it."""
    token = _TOKEN.match(text, at)
    if token is None:
        return NO
    if token.end() == len(text):
        return NO if is_all else MORE
    letters = _letters(token[1])
    is_mark = text[at + 1] in "|｜‖▁_\\" or letters.startswith(_UNBARRED)
    known = _known(dialect).get(letters) if is_mark else None
    if known is None:
        return NO
    if letters in _IN_TAG and text[token.end()] not in "=: \t\r\n":
        return NO
    gap = _gap_for(toolbox.names).match(text, token.end(), token.end() + _GAP_LENGTH)
    assert gap is not None
    place = gap.end()
    if place - token.end() == _GAP_LENGTH:
        return NO
    found = _NAME.match(text, place)
    if found is None or found.end() == len(text):
        is_cut = place == len(text) or found is not None or text.startswith(("/", "\\"), place)
        if found is None or not is_all:
            return MORE if is_cut and not is_all else NO
    if (letters in _IN_TAG and ">" in gap[0]) or _OTHER_KEY.search(text, max(token.end(), place - 32), place):
        return NO
    name, after = _tool_at(toolbox, text, place, found[0])
    if not name:
        return MORE if not is_all and len(text) - found.end() < _GLUED_LENGTH else NO
    if after < 0:  # the name of an argument stands right behind it, and then its mark
        return Attempt(known[0], name, place + len(found[0]), _ends_of(token[1], known[1]), -1)
    follows = _FOLLOW.match(text, after)
    if follows is None:
        return MORE if not is_all and len(text) - after < _FOLLOW_LENGTH else NO
    end = follows.end() if follows["closed"] and letters in _IN_TAG else -1
    return Attempt(known[0], name, after, _ends_of(token[1], known[1]), end)


def _ends_of(token: str, known: tuple[str, ...]) -> re.Pattern[str]:
    return _ends(tuple(re.findall("[a-z0-9]+", token.lower())), known)


def _tool_at(toolbox: Toolbox, text: str, place: int, written: str) -> tuple[str, int]:
    """The name of the tool that is written so, and the place after it; -1 if a mark of GLM's ends more than that."""
    bare = _NUMBER.sub("", written).rstrip(".:/-")
    name = toolbox.resolve(bare)
    if name is not None:
        return name, place + len(bare)
    if _GLUED.match(text, place + len(written)):
        name = max((each for each in toolbox.names if written.startswith(each)), key=len, default="")
        return name, -1
    return "", place


def name_before(toolbox: Toolbox, text: str) -> tuple[str, int]:
    """The tool whose name the text ends with, and how long that is there."""
    found = _LAST_NAME.search(text)
    name = toolbox.resolve(found[0]) if found else None
    return (name, len(found[0])) if found and name is not None else ("", 0)


def read_to(toolbox: Toolbox, text: str, at: int, stop: int) -> tuple[str, int] | None:
    """The tool that ` to=functions.` names at `at`, and the place of the object that follows."""
    found = _TO_CALL.match(text, at, stop)
    name = toolbox.resolve(found[1].rstrip(".:/-")) if found else None
    return (name, found.end()) if found and name is not None else None
