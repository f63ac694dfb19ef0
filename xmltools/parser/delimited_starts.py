"""Does a call between delimiters begin here? (`grammars/DIALECTS.md`, section 1)"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from xmltools.dialects import Dialect
from xmltools.parser.delimiters import KEY, LAYOUT, NAME, SPACE, Delimiters, UndecidedError, known_delimiters
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    MORE,
    NAME_LENGTH,
    NO,
    OPENER_SPACE,
    SPACES,
    Verdict,
    read_confirmation,
    read_token,
    skip_space,
)

MAX_STRAY: Final = 1_024
"""Characters of stray text between the calls of a block."""
_begins_json = partial(read_token, late_pattern(rf"\[{SPACE}(?:\{{|(?P<cut>\Z))|\{{"))
"""Does an object, or a list of objects, begin at a place in a text?"""
_PLAIN_NAME = late_pattern(r"[\w.:/-]+[ \t]*")
_W = f"[{SPACES}]*+"
_TOOL = rf"[A-Za-z_][\w.-]*+{_W}"
_KEY = rf"[A-Za-z_]\w*+{_W}"
_LITERAL = r"[\"'\d\[{+-]"  # an argument without a name, which is an error (3.14)
_PYTHON = late_pattern(rf"{_TOOL}(?:\Z|\({_W}(?:\Z|(?P<call>\)|{_KEY}=|{_LITERAL})|{_KEY}\Z))", re.ASCII)
"""A call in Python, up to the sign that it is one, or to the end of the text."""
_PYTHON_LIST = late_pattern(
    rf"\[{_W}(?:\Z|{_TOOL}(?:\Z|\({_W}(?:\Z|(?P<call>\){_W}(?:,|\][^(])|{_KEY}=|{_LITERAL})|{_KEY}\Z|\){_W}\]?+\Z)))",
    re.ASCII,
)
"""A list of such calls. `[get()](page)` is a link."""
_TRIPLES = "|".join(rf"{quote}(?:[^\\]|\\.)*?{quote}" for quote in ("'{3}", '"{3}'))
_STRINGS = r"'(?:[^'\\]|\\.)*+'" r'|"(?:[^"\\]|\\.)*+"'
_PYTHON_TOKEN = late_pattern(
    rf"(?s)(?P<text>{_TRIPLES})|'{{3}}|\"{{3}}|(?P<string>{_STRINGS})|['\"]|(?P<open>[\[({{])|(?P<close>[\])}}])"
)
"""A string in Python, a bracket, or the quotes of a string without an end, which are in no group."""
_END_OF_LINE: Final = rf"[ \t]{{0,{OPENER_SPACE}}}+;?[ \t]{{0,{OPENER_SPACE}}}+"
_LINK_LENGTH: Final = 256
"""Characters of a list of calls, or a call, that waits for its end, since what follows may make it text."""


def begins_call(dialect: Dialect, text: str, at: int, *, fences: bool = True) -> Verdict:
    """Does a call begin after the block's start delimiter, which ends at `at`? With `fences`, a fence line may come
    before the JSON of an element."""
    pairs = dialect.pairs
    if pairs is None:
        return read_confirmation(text, at, fences=fences and dialect.has_end, begins=_begins_json)
    own = known_delimiters(dialect)
    if pairs.name:  # arguments without a name are an error
        fillers = "|".join(map(re.escape, dialect.fillers))
        gap = rf"{SPACE}(?:(?:{fillers})[{SPACES}]*+){{0,{len(dialect.fillers)}}}+" if fillers else SPACE
        found = own.look(text, at, "name key fillers nameless", gap)
        if found and found.lastgroup == "nameless":  # an argument after it makes it an error
            return own.look(text, found.end(), "key tag_mark", SPACE)
        return found and found.lastgroup != "fillers"
    begins = begins_python if pairs.python else partial(_begins_name, own)
    return read_confirmation(text, at, fences=False, begins=begins)


def read_start(dialect: Dialect, text: str, at: int, mark: str, *, fences: bool = True) -> int | bool | None:
    """The place after the start delimiter of a call, `mark` at `at`, if a call begins there; -1, where a call begins
    without one. `fences`: its body may be fenced."""
    own = known_delimiters(dialect)
    pairs = own.pairs
    if dialect.is_bare:
        begins = begins_call(dialect, text, at)
        if begins and (pairs.python or dialect.has_line):
            begins = _stands_alone(own, text, skip_space(text, at))
        return begins and -1
    if mark == dialect.opener and mark != pairs.name:
        after = at + len(mark) - (mark[-1] == "[")  # a list that the delimiter has begun
        return begins_call(dialect, text, after, fences=fences) and after
    if not pairs.bare:
        return NO
    name = own.look(text, at, "name nameless", "")
    if not name:
        return name
    if name.lastgroup == "nameless":
        return own.look(text, name.end(), "key tag_mark", SPACE) and -1
    member = NO if pairs.name_attribute else own.look(text, name.end(), "member", SPACE)
    if member:
        return -1
    try:
        head = own.read_head("name_end", pairs.name_attribute, text, name.end())
    except UndecidedError:
        return MORE
    if member is MORE:
        return MORE
    if head is None:
        return pairs.may_lack_name_end and own.look(text, name.end(), "key end", NAME + LAYOUT) and -1
    fields = "brace" if pairs.json else "members tag_mark key end object"
    return ((head.is_empty and pairs.name_attribute != "") or own.look(text, head.after, fields, LAYOUT)) and -1


def begins_any(forms: tuple[Dialect, ...], text: str, at: int, mark: str) -> bool | None:
    """Does a call in one of these forms begin with `mark` at `at`?"""
    told = [read_start(form, text, at, mark) for form in forms if mark in form.starts]
    return True if any(told) else MORE if MORE in told else NO


def cut_start(dialect: Dialect, text: str, at: int) -> int | bool | None:
    """As `read_start`, for the dialect's opener at `at` where the reply ends before it is decided: it was cut off, if
    it is not a tag with another attribute than the name."""
    pairs, after = dialect.pairs, at + len(dialect.opener)
    if pairs is None or pairs.name != dialect.opener:
        return after
    name = pairs.name_attribute and f"{pairs.name_attribute}="
    return name.startswith(text[after : after + len(name)]) and -1


def _begins_name(own: Delimiters, text: str, at: int) -> Verdict:
    """Is there a name at `at`, up to the delimiter that ends it, and then the rest of the beginning of a call? Or an
    object with the name?"""
    pairs = own.pairs
    if text[at] == "{":
        return own.look(text, at, "member", "")
    key = own.look(text, at, "key", "")
    if key is not NO:
        return key  # without a name it is an error
    if not pairs.name_end:
        found = own.look(text, at, "members key closer value_end paren opener", NAME + LAYOUT)
        if found and found.lastgroup == "opener":  # it stands for that of a key
            return own.look(text, found.end(), "key_end", KEY)
        return own.look(text, at, "key_end", NAME + LAYOUT + KEY) if found is NO else found
    is_json, most = pairs.json, f"{{0,{NAME_LENGTH}}}?"
    inside = rf"[^\n{{]{most}" if pairs.name_pattern else rf"[\w.:/-]{most}[ \t]{most}"
    found = own.look(text, at, "name_end brace" if is_json else "name_end", inside)
    if not found:
        return found
    if pairs.name_pattern and not re.fullmatch(pairs.name_pattern, found[1]):
        return NO
    if found.lastgroup == "brace":  # before JSON, it may stand for the delimiter
        return _PLAIN_NAME.fullmatch(found[1]) is not None
    return found[1] != "" and own.look(text, found.end(), "brace" if is_json else "brace key end closer", SPACE)


def begins_python(text: str, at: int) -> bool | None:
    """Does a call in Python begin at `at`, or a list of calls?"""
    pattern = _PYTHON_LIST if text[at] == "[" else _PYTHON
    found = pattern.match(text, at)
    if found is None or found.end() - at > NAME_LENGTH + OPENER_SPACE:
        return NO
    return True if found["call"] else MORE


def _stands_alone(own: Delimiters, text: str, at: int) -> bool | None:
    """Does no `(` follow the list of calls at `at`, or nothing the call that has its own lines? Long ones count."""
    depth, stop = 0, at + _LINK_LENGTH
    for token in _PYTHON_TOKEN.finditer(text, at, stop):
        if token.lastgroup is None:
            break
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth <= 0:
            here = token.end()
            if own.dialect.has_line:
                return own.look(text, here, "line_break turn_ends", _END_OF_LINE) and True
            return MORE if here == len(text) else text[here] != "("
    return MORE if len(text) < stop else True
