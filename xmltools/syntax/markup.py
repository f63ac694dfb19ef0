"""Matching of almost-XML: tags, entities, white space, forbidden characters. Stateless; no function here copies a
chunk.

The readers of tokens answer with one contract. They look at `text` from `at` on and give

- the match, if the token is there,
- `None`, if the text ends before that can be said (`MORE`),
- `False`, if it is not there, whatever may follow (`NO`).

Every token has a greatest length, so what a caller must keep back is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, final

from xmltools.syntax.late_patterns import late_pattern

MORE: Final = None
NO: Final = False
Answer = Literal[False] | None
"""What a reader says that finds no place. In a compiled build, an expression that is a place or NO, such as
`tag.end if tag else NO`, is an int, and its NO the place 0: ask `not place`, never `place is NO`."""

SPACES: Final = " \t\r\n"
"""White space of XML. Python's own notion is much wider."""
SPACE: Final = f"[{SPACES}]"
"""A pattern of one such character."""
BREAK: Final = r"(?:\r\n?|\n)"
"""A pattern of a line break."""
NAME_LENGTH: Final = 256
"""Longest name of a server, tool or argument."""
TAG_LENGTH: Final = 4096
"""Longest tag inside a block, in characters: an `<argument name="…">` with 256 escaped characters needs 1,600."""
FENCE_LENGTH: Final = 100
OPENER_LENGTH: Final = 512
OPENER_SPACE: Final = 1024
"""White space after an opener that may still be the start of a block."""
CDATA_OPEN: Final = "<![CDATA["

_W = SPACE
_NAME = f"[^{SPACES}<>/=\"'&]+"
_UNQUOTED = rf"[^{SPACES}<>\"'/=][^{SPACES}<>\"'/]*"
_VALUE = rf"{_W}*={_W}*(?:\"[^\"<]*\"|'[^'<]*'|{_UNQUOTED})"
_ANY_VALUE = rf"{_W}*={_W}*(?:\"[^\"<]*\"|'[^'<]*'|[^{SPACES}<>\"'/]+)"  # in an opener, whose attributes say little
_VALUE_PART = rf"{_W}*(?:={_W}*(?:\"[^\"<]*\"?|'[^'<]*'?|[^{SPACES}<>\"'/]*)?)?"
_CLEAN_NAME = "[A-Za-z_][-.0-9A-Za-z_]{0,255}"
CLEAN_PART: Final = re.compile(rf"{_W}{{0,64}}(?:</?(?:{_CLEAN_NAME}|)|)").fullmatch
"""White space, and the beginning of a tag."""
_CLEAN_VALUE = r"[^\s<&\]](?:[^<&\]]{0,254}[^\s<&\]]|)"
_CLEAN_NEXT = f"(?={_W}{{0,1024}}</?{_CLEAN_NAME}[>{SPACES}/])"  # a tag, perhaps one with attributes
CLEAN_TAG: Final = re.compile(rf"{_W}{{0,1024}}<(/?)({_CLEAN_NAME})>(?:({_CLEAN_VALUE})</\2>{_CLEAN_NEXT}|)").match
"""White space and a tag that needs no closer look: a short ASCII name, and nothing else. If its element has nothing but
a short value that is what is written, and such a tag comes after its end, this is group 3."""
CLEAN_VALUE: Final = re.compile(_CLEAN_VALUE).match
NAME_REST: Final = re.compile(rf"({_CLEAN_VALUE})</({_CLEAN_NAME})>|[^<>&]{{0,254}}(?:</?[-.\w]{{0,255}}|)\Z").match
"""A name without layout and an end tag, or what the end of a text cuts off of them."""
_SPACE: Final = re.compile(f"{_W}*").match
_ATTRIBUTE = late_pattern(rf"{_W}+({_NAME})(?:{_W}*={_W}*(?:([\"'])((?:(?!\2)[^<])*)\2|({_UNQUOTED})))?")

# Patterns of tokens for `read_token`. Each also matches what the end of a text cuts off of the token, with `_CUT`.
_CUT = r"(?P<cut>\Z)"
_START = late_pattern(
    rf"<({_W}*)(?:({_NAME})((?:{_W}+{_NAME}(?:{_VALUE})?)*){_W}*(/?)>"
    rf"|(?:{_NAME}(?:{_W}+{_NAME}(?:{_VALUE})?)*(?:{_W}+{_NAME}{_VALUE_PART}|{_W}*/?))?{_CUT})"
)
_END = re.compile(rf"</({_W}*)({_NAME}){_W}*>|<(?:/{_W}*(?:{_NAME}{_W}*)?)?{_CUT}")
_VALUED = late_pattern(rf"<([A-Za-z]+)(?:={_W}*[\"']?([^{SPACES}<>\"']+)[\"']?{_W}*>|(?:=[^<>]*)?{_CUT})")
CHAT_TOKEN = late_pattern(
    rf"<(?:[|\uff5c][^<>|\uff5c\s]{{1,40}}[|\uff5c]>|[|\uff5c]?[^<>|\uff5c\s]{{0,40}}[|\uff5c]?{_CUT})"
)
"""A token of a chat template, such as `<|im_end|>`."""
_OPENER_REST = late_pattern(rf"(?:{_W}+{_NAME}{_ANY_VALUE})*(?:{_W}*>|(?:{_W}+{_NAME}{_VALUE_PART}|{_W}*){_CUT})")
_FENCED = r"`{3,}[^`\n<{]*|~{3,}[^~\n<{]*"
_FENCE = late_pattern(rf"(?:{_FENCED})(?:\n|(?=[<{{]))|(?:`{{1,2}}|~{{1,2}}|{_FENCED}){_CUT}")
_MEMBER = late_pattern(rf"\{{{_W}{{0,{OPENER_SPACE - 1}}}+(?:[\"']|{_CUT})")
_LIST = late_pattern(rf"\[{_W}{{0,{OPENER_SPACE - 1}}}+(?:\{{|{_CUT})")
_TAG_NAME = late_pattern(f"<([^>/{SPACES}]*)([>/{SPACES}])?")
_WORD = late_pattern(rf"([^{SPACES}<>{{}}`]{{1,{NAME_LENGTH}}}+){_W}{{0,{OPENER_SPACE}}}+(?=[<{{]|\Z)")
_START_CHAR = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_XML_NAME = late_pattern(f"[{_START_CHAR}][-.0-9\u00b7\u0300-\u036f\u203f-\u2040{_START_CHAR}]*")
"""It takes as long to compile as all else in this module."""
_ASCII_NAME = re.compile(r"[A-Z_a-z][-.0-9A-Z_a-z]*")

_NAMED = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_NUMBER = "#(?:([0-9]{1,10})|x([0-9a-fA-F]{1,8}));"
_NUMERIC = re.compile(f"&{_NUMBER}")
_REFERENCE = late_pattern(f"&{_NUMBER}|{'|'.join(_NAMED)}")
_LIKE_ENTITY = "#?[0-9A-Za-z]{1,32};"
_BARE = re.compile(f"&(?!{_LIKE_ENTITY})")
_UNKNOWN = re.compile(f"&(?!(?:lt|gt|amp|quot|apos);|{_NUMBER}){_LIKE_ENTITY}")
CUT_REFERENCE: Final = re.compile(
    r"&(?:[lg]t?|a(?:mp?|p(?:os?)?)?|q(?:u(?:ot?)?)?|#(?:[0-9]{0,10}|x[0-9a-fA-F]{0,8}))?\Z"
)
"""A reference that the end of a text cuts off."""

_CONTROLS = tuple(chr(code) for code in range(32) if chr(code) not in "\t\n\r")
_FORBIDDEN = late_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SCAN_BLOCK = 3 << 13
_SHORT = 256
_NO_NAME = late_pattern(r"[<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@final
class Tag:
    """A start or an end tag: where it ends, its name, the attributes as written, and what was odd about it."""

    is_xml = True

    def __init__(self, name: str, end: int, spaced: bool, attributes: str = "", empty: bool = False) -> None:
        self.name = name
        self.end = end
        self.spaced = spaced
        self.attributes = attributes
        self.empty = empty


def skip_space(text: str, at: int) -> int:
    """The place after XML's white space (space, tab, line feed, carriage return, and no others)."""
    if at == len(text) or text[at] > " ":
        return at
    found = _SPACE(text, at)
    return found.end() if found else at


def is_cut_off(text: str, at: int, mark: str) -> bool:
    """Is what is left of the text at `at` a beginning of the mark?"""
    return mark.startswith(text[at : at + len(mark) + 1])


def read_mark(text: str, at: int, marks: Iterable[str | None]) -> str | Answer:
    """The first of the marks that stands at `at`; empty ones are none."""
    answer: Answer = NO
    for mark in filter(None, marks):
        if text.startswith(mark, at):
            return mark
        if is_cut_off(text, at, mark):
            answer = MORE
    return answer


def read_token(pattern: re.Pattern[str], text: str, at: int, most: int = TAG_LENGTH) -> re.Match[str] | Answer:
    """The token of this pattern at `at`; it has `most` characters at most."""
    found = pattern.match(text, at, at + most)
    if found is None or found.lastgroup != "cut":
        return found or NO
    return MORE if len(text) - at < most else NO


def read_start_tag(text: str, at: int) -> Tag | Answer:
    """A start tag at `<`."""
    found = read_token(_START, text, at)
    if not found:
        return found
    tag = Tag(found[2], found.end(), bool(found[1]), found[3], bool(found[4]))
    tag.is_xml = is_xml_name(tag.name)
    return tag


def read_valued_tag(text: str, at: int, words: tuple[str, ...]) -> Tag | Answer:
    """A start tag such as `<parameter=path>`, at `<`, as if it were `<parameter name="path">`."""
    found = _VALUED.match(text, at, at + TAG_LENGTH)
    if found is None or not any(word.startswith(found[1]) for word in words):
        return NO
    if found[2]:
        return Tag(found[1], found.end(), False, f' name="{found[2]}"') if found[1] in words else NO
    return MORE if len(text) - at < TAG_LENGTH else NO


def read_end_tag(text: str, at: int) -> Tag | Answer:
    """An end tag at `<`."""
    found = read_token(_END, text, at)
    return found and Tag(found[2], found.end(), bool(found[1]))


def read_name(text: str, at: int) -> str | Answer:
    """The name that starts at `at` and ends before white space, `/` or `>`."""
    found = _NAME_RUN.match(text, at, at + TAG_LENGTH)
    end = found.end() if found else at
    if end == len(text):
        return MORE if end - at < TAG_LENGTH else NO
    return text[at:end] if end > at and text[end] in f">{SPACES}/" else NO


_NAME_RUN = re.compile(_NAME)


def read_cdata_open(text: str, at: int) -> str | Answer:
    """The opening of a CDATA section in any case, as written."""
    word = text[at : at + len(CDATA_OPEN)]
    if word.upper() == CDATA_OPEN:
        return word
    return MORE if CDATA_OPEN.startswith(word.upper()) else NO


def read_fence(text: str, at: int) -> int | Answer:
    """The place after a fence line (three or more backticks or tildes, an optional info word) that starts at `at`."""
    found = read_token(_FENCE, text, at, FENCE_LENGTH)
    return found and found.end()


def read_opener(text: str, at: int, name: str) -> int | Answer:
    """The place after the opening tag of a block at `<name`: only white space or well-formed attributes may come after
    the name."""
    place = at + 1 + len(name)
    found = read_token(_OPENER_REST, text, place, at + OPENER_LENGTH - place)
    return found and found.end()


Verdict = re.Match[str] | bool | None
Begins = Callable[[str, int], Verdict]
"""Does something begin at this place in a text?"""


def read_confirmation(text: str, at: int, *, fences: bool, begins: Begins | None) -> Verdict:
    """Does what comes after an opener make it the start of a block: `<`, `{` or a list of objects, perhaps after a
    fence line? `begins` is asked instead, if it is given, about the place of the first character that is no white
    space."""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    if not fences or text[here] not in "`~":
        if begins is not None:
            return begins(text, here)
        return text[here] in "<{" or read_token(_LIST, text, here)
    fence = read_token(_FENCE, text, here, FENCE_LENGTH)
    return fence and read_confirmation(text, fence.end(), fences=False, begins=begins)


def opens_call(text: str, at: int, name: str, *, fences: bool = True, begins: Begins | None = None) -> int | Answer:
    """The place after the opening tag of a block at `<name`, if a block starts there. Takes the options of
    `read_confirmation`."""
    end = at + len(name) + 2
    if not text.startswith(">", end - 1):
        opened = read_opener(text, at, name)
        if not opened:
            return opened
        end = opened
    return read_confirmation(text, end, fences=fences, begins=begins) and end


def begins_with_field(text: str, at: int, fields: Sequence[str], key: re.Pattern[str]) -> bool | None:
    """Is the start tag of a field at `at`, in any case, or a JSON object with a `key` that names the tool?"""
    if tag := _TAG_NAME.match(text, at):
        name = tag[1].lower()
        if tag[2]:
            return name in fields
        return MORE if any(field.startswith(name) for field in fields) else NO
    begins = read_token(_MEMBER, text, at)
    if not begins or key.search(text, at, at + OPENER_SPACE):
        return begins and True
    return MORE if len(text) - at < OPENER_SPACE else NO


def read_bare_name(text: str, at: int) -> tuple[str, int, bool]:
    """A word at `at` that `{` or a start tag follows, perhaps after white space: the word, the place after that space,
    and False. True, if the text ends before that is clear; an empty word, if there is none."""
    found = _WORD.match(text, at)
    if found is None:
        return "", at, False
    end = found.end()
    following = text[end : end + 2]
    is_cut = following in ("", "<")
    opens = is_cut or following[0] == "{" or following[1].isalpha()
    return found[1] if opens else "", end, is_cut


def attributes_of(written: str) -> list[tuple[str, str | None, bool]]:
    """Names, values (None where there is none) and "was in quotes" of the attributes of a tag."""
    found = _ATTRIBUTE.findall(written)
    return [(name, inside if quote else bare or None, quote != "") for name, quote, inside, bare in found]


def is_xml_name(name: str) -> bool:
    """True for a name that XML with namespaces allows: no colon."""
    return (_ASCII_NAME if name.isascii() else _XML_NAME).fullmatch(name) is not None


def is_metadata(name: str) -> bool:
    """True for attributes that describe a value, and hardly ever are it: `type`, `xml:space`."""
    return name in ("type", "encoding", "format", "lang", "required", "xmlns") or name.startswith(("xml:", "xmlns:"))


def is_valid_name(name: str) -> bool:
    """Names of servers, tools and arguments: one line, no control characters, no `<` and `>`, 256 characters at
    most."""
    return len(name) <= NAME_LENGTH and (name.isidentifier() or not _NO_NAME.search(name))


def decode_entities(text: str) -> str:
    """`text` with XML's five entities and numeric references decoded, all other ampersands kept."""
    if "&#" in text:
        return _REFERENCE.sub(_decoded, text)
    if "&" in text:
        for entity, character in _NAMED.items():  # &amp; comes last, so that nothing is decoded twice
            text = text.replace(entity, character)
    return text


def _decoded(found: re.Match[str]) -> str:
    return _NAMED.get(found[0]) or _character(found) or found[0]


def _character(found: re.Match[str]) -> str | None:
    """The character of a numeric reference; None if XML has no such character."""
    code = int(found[1]) if found[1] else int(found[2], 16)
    return None if code > 0x10FFFF or _FORBIDDEN.match(chr(code)) else chr(code)


def find_ampersands(text: str, start: int, end: int) -> tuple[int, int]:
    """The places of the first bare `&` and of the first unknown entity (`&nbsp;`, `&#0;`) in `text[start:end]`, or
    -1."""
    bare, unknown = _BARE.search(text, start, end), _UNKNOWN.search(text, start, end)
    stop = unknown.start() if unknown else end
    place = next((each.start() for each in _NUMERIC.finditer(text, start, stop) if _character(each) is None), stop)
    return bare.start() if bare else -1, place if place < end else -1


def find_forbidden(text: str, start: int, end: int) -> int:
    """The place of the first character in `text[start:end]` that XML 1.0 forbids, or -1.

    Almost no text has one, so the question "is there any" is what must be fast: one memchr a control character over
    a block that fits the cache beats every regular expression by ten times. Short text that can be printed has none.
    """
    if end - start < _SHORT and text[start:end].replace("\n", "").isprintable():
        return -1
    for at in range(start, end, _SCAN_BLOCK):
        block = text[at : min(at + _SCAN_BLOCK, end)]
        for control in _CONTROLS:  # a quarter faster than any(map(...)), which counts where there is a megabyte
            if control in block:
                break
        else:
            if block.isascii():
                continue
        if found := _FORBIDDEN.search(block):
            return at + found.start()
    return -1
