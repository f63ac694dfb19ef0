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
from functools import cache
from typing import Final, Literal

from xmltools.syntax.late_patterns import late_pattern

MORE: Final = None
NO: Final = False
Answer = Literal[False] | None

SPACES: Final = " \t\r\n"
"""White space of XML. Python's own notion is much wider."""
SPACE: Final = f"[{SPACES}]"
"""A pattern of one such character."""
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
_NAME = "[^ \t\r\n<>/=\"'&]+"
_UNQUOTED = r"[^ \t\r\n<>\"'/=][^ \t\r\n<>\"'/]*"
_VALUE = rf"{_W}*={_W}*(?:\"[^\"<]*\"|'[^'<]*'|{_UNQUOTED})"
_ANY_VALUE = rf"{_W}*={_W}*(?:\"[^\"<]*\"|'[^'<]*'|[^ \t\r\n<>\"'/]+)"  # in an opener, whose attributes say little
_VALUE_PART = rf"{_W}*(?:={_W}*(?:\"[^\"<]*\"?|'[^'<]*'?|[^ \t\r\n<>\"'/]*)?)?"
_CLEAN_NAME = "[A-Za-z_][-.0-9A-Za-z_]{0,255}"
_SIMPLE = re.compile(rf"<({_CLEAN_NAME})>")  # nearly all tags
CLEAN_TAG: Final = re.compile(rf"{_W}{{0,1024}}(?:<(/?)({_CLEAN_NAME})>)")
"""White space and a tag that needs no closer look: a short ASCII name, and nothing else."""
CLEAN_NEXT: Final = re.compile(rf"{_W}{{0,1024}}(?=</?{_CLEAN_NAME}[> \t\r\n/])")
"""White space before such a tag, perhaps one with attributes."""
CLEAN_PART: Final = re.compile(rf"{_W}{{0,64}}(?:</?(?:{_CLEAN_NAME})?)?")
"""White space, and the beginning of such a tag."""
CLEAN_VALUE: Final = re.compile(rf"([^\s<&\]](?:[^<&\]]{{0,254}}[^\s<&\]])?)</({_CLEAN_NAME})>(?={CLEAN_NEXT.pattern})")
"""A short value that is what is written, and an end tag with such a tag behind it."""
_START = late_pattern(rf"<({_W}*)({_NAME})((?:{_W}+{_NAME}(?:{_VALUE})?)*){_W}*(/?)>")
_START_PART = late_pattern(rf"<{_W}*(?:{_NAME}(?:{_W}+{_NAME}(?:{_VALUE})?)*(?:{_W}+{_NAME}{_VALUE_PART}|{_W}*/?))?\Z")
_ATTRIBUTE = late_pattern(rf"{_W}+({_NAME})(?:{_W}*={_W}*(?:\"([^\"<]*)\"|'([^'<]*)'|({_UNQUOTED})))?")
_END = re.compile(rf"</({_W}*)({_NAME}){_W}*>")
_END_PART = late_pattern(rf"</{_W}*(?:{_NAME}{_W}*)?\Z")
_VALUED = late_pattern(rf"<([A-Za-z]+)={_W}*[\"']?([^ \t\r\n<>\"']+)[\"']?{_W}*>")
_VALUED_PART = late_pattern(r"<([A-Za-z]+)(?:=[^<>]*)?\Z")
_CHAT_TOKEN = late_pattern(r"<[|\uff5c][^<>|\uff5c\s]{1,40}[|\uff5c]>")
_CHAT_TOKEN_PART = late_pattern(r"<[|\uff5c]?[^<>|\uff5c\s]{0,40}[|\uff5c]?\Z")
_TOKEN_LENGTH = 44
_OPENER_REST = late_pattern(rf"(?:{_W}+{_NAME}{_ANY_VALUE})*{_W}*>")
_OPENER_PART = late_pattern(rf"(?:{_W}+{_NAME}{_ANY_VALUE})*(?:{_W}+{_NAME}{_VALUE_PART}|{_W}*)\Z")
_SPACE = re.compile(f"{_W}*")
_FENCE = late_pattern(r"(?:`{3,}[^`\n<{]*|~{3,}[^~\n<{]*)(?:\n|(?=[<{]))")
_FENCE_PART = late_pattern(r"(?:`{1,2}|`{3,}[^`\n<{]*|~{1,2}|~{3,}[^~\n<{]*)\Z")
_START_CHAR = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_ASCII_NAME = re.compile(r"[A-Z_a-z][-.0-9A-Z_a-z]*")

_NAMED = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}
_NUMERIC = re.compile(r"&#(?:([0-9]{1,10})|[x]([0-9a-fA-F]{1,8}));")
_LIKE_ENTITY = "#?[0-9A-Za-z]{1,32};"
_BARE = re.compile(rf"&(?!{_LIKE_ENTITY})")
_UNKNOWN = re.compile(rf"&(?!(?:lt|gt|amp|quot|apos|#[0-9]{{1,10}}|#x[0-9a-fA-F]{{1,8}});){_LIKE_ENTITY}")
_CUT_NAMES = frozenset(name[:size] for name in _NAMED for size in range(1, len(name)))
_CUT_NUMBER = re.compile(r"&#(?:[0-9]{0,10}|x[0-9a-fA-F]{0,8})\Z")
_ENTITY_LENGTH = 13

_CONTROLS = tuple(chr(code) for code in range(32) if chr(code) not in "\t\n\r")
_FORBIDDEN = late_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SCAN_BLOCK = 3 << 13
_SHORT = 256
_NO_NAME = late_pattern(r"[<>\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Tag:
    """A start or an end tag: where it ends, its name, the attributes as written, and what was odd about it."""

    __slots__ = ("attributes", "empty", "end", "is_xml", "name", "spaced")

    def __init__(self, name: str, end: int, spaced: bool, attributes: str = "", empty: bool = False) -> None:
        self.name = name
        self.end = end
        self.spaced = spaced
        self.is_xml = True
        self.attributes = attributes
        self.empty = empty


def skip_space(text: str, at: int) -> int:
    """The place after XML's white space (space, tab, line feed, carriage return, and no others)."""
    if at == len(text) or text[at] > " ":
        return at
    found = _SPACE.match(text, at)
    return found.end() if found else at


def is_cut_off(text: str, at: int, mark: str) -> bool:
    """Is what is left of the text at `at` a beginning of the mark?"""
    return len(text) - at <= len(mark) and mark.startswith(text[at:])


def read_mark(text: str, at: int, marks: Iterable[str | None]) -> str | Answer:
    """The first of the marks that stands at `at`; empty ones are none."""
    answer: Answer = NO
    for mark in marks:
        if mark and is_cut_off(text, at, mark):
            answer = MORE
        if mark and text.startswith(mark, at):
            return mark
    return answer


def read_start_tag(text: str, at: int) -> Tag | Answer:
    """A start tag at `<`."""
    if simple := _SIMPLE.match(text, at, at + TAG_LENGTH):
        return Tag(simple[1], simple.end(), False)
    if found := _START.match(text, at, at + TAG_LENGTH):
        tag = Tag(found[2], found.end(), bool(found[1]), found[3], bool(found[4]))
        tag.is_xml = is_xml_name(tag.name)
        return tag
    return MORE if len(text) - at < TAG_LENGTH and _START_PART.match(text, at) else NO


def read_valued_tag(text: str, at: int, words: tuple[str, ...]) -> Tag | Answer:
    """A start tag such as `<parameter=path>`, at `<`, as if it were `<parameter name="path">`."""
    if found := _VALUED.match(text, at, at + TAG_LENGTH):
        return Tag(found[1], found.end(), False, f' name="{found[2]}"') if found[1] in words else NO
    part = _VALUED_PART.match(text, at) if len(text) - at < TAG_LENGTH else None
    return MORE if part and any(word.startswith(part[1]) for word in words) else NO


def read_chat_token(text: str, at: int) -> int | Answer:
    """The place after a token of a chat template, such as `<|im_end|>`, at `<`."""
    if found := _CHAT_TOKEN.match(text, at):
        return found.end()
    return MORE if len(text) - at < _TOKEN_LENGTH and _CHAT_TOKEN_PART.match(text, at) else NO


def read_end_tag(text: str, at: int) -> Tag | Answer:
    """An end tag at `</`."""
    if found := _END.match(text, at, at + TAG_LENGTH):
        return Tag(found[2], found.end(), bool(found[1]))
    return MORE if len(text) - at < TAG_LENGTH and _END_PART.match(text, at) else NO


def read_name(text: str, at: int) -> str | Answer:
    """The name that starts at `at` and ends before white space, `/` or `>`."""
    end = at
    found = _NAME_RUN.match(text, at, at + TAG_LENGTH)
    if found:
        end = found.end()
    if end == len(text):
        return MORE if end - at < TAG_LENGTH else NO
    return text[at:end] if end > at and text[end] in "> \t\r\n/" else NO


_NAME_RUN = re.compile(_NAME)


def read_cdata_open(text: str, at: int) -> str | Answer:
    """The opening of a CDATA section in any case, as written."""
    word = text[at : at + len(CDATA_OPEN)]
    if word.upper() == CDATA_OPEN:
        return word
    return MORE if at + len(word) == len(text) and CDATA_OPEN.startswith(word.upper()) else NO


def read_fence(text: str, at: int) -> int | Answer:
    """The place after a fence line (three or more backticks or tildes, an optional info word) that starts at `at`."""
    if found := _FENCE.match(text, at, at + FENCE_LENGTH):
        return found.end()
    return MORE if len(text) - at < FENCE_LENGTH and _FENCE_PART.match(text, at) else NO


def read_opener(text: str, at: int, name: str) -> Tag | Answer:
    """The opening tag of a block at `<name`: only white space or well-formed attributes may come after the name."""
    place = at + 1 + len(name)
    limit = at + OPENER_LENGTH
    found = _OPENER_REST.match(text, place, limit)
    if found:
        return Tag(name, found.end(), False, found[0])
    return MORE if len(text) < limit and _OPENER_PART.match(text, place) else NO


def read_confirmation(
    text: str, at: int, *, fences: bool = True, begins: Callable[[str, int], bool | None] | None = None
) -> bool | None:
    """Does what comes after an opener make it the start of a block: `<`, `{` or a list of objects, perhaps after a
    fence line? `begins` is asked instead, if it is given, about the place of the first character that is no white
    space."""
    here = skip_space(text, at)
    if here - at > OPENER_SPACE:
        return NO
    if here == len(text):
        return MORE
    fence = read_fence(text, here) if fences and text[here] in "`~" else NO
    if fence is MORE:
        return MORE
    if fence:
        here = skip_space(text, fence)
        if here - fence > OPENER_SPACE:
            return NO
        if here == len(text):
            return MORE
    return begins(text, here) if begins is not None else _begins(text, here)


def _begins(text: str, at: int) -> bool | None:
    if text[at] != "[":
        return text[at] in "<{"
    here = skip_space(text, at + 1)
    if here == len(text):
        return MORE if here - at <= OPENER_SPACE else NO
    return text[here] == "{" and here - at <= OPENER_SPACE


def opens_call(
    text: str, at: int, name: str, *, fences: bool = True, begins: Callable[[str, int], bool | None] | None = None
) -> int | Answer:
    """The place after the opening tag of a block at `<name`, if a block starts there. Takes the options of
    `read_confirmation`."""
    end = at + len(name) + 2
    if not text.startswith(">", end - 1):
        tag = read_opener(text, at, name)
        if tag is MORE or tag is NO:
            return tag
        end = tag.end
    confirmed = read_confirmation(text, end, fences=fences, begins=begins)
    return end if confirmed else MORE if confirmed is MORE else NO


def begins_with_field(text: str, at: int, fields: Sequence[str], key: re.Pattern[str], start: int) -> bool | None:
    """Is the start tag of a field at `at`, in any case, or a JSON object with a key that names the tool? The
    key is looked for from `start` on."""
    if text[at] == "<":
        written = text[at + 1 : at + 2 + max(map(len, fields))].lower()
        if any(written.startswith(field) and written[len(field) : len(field) + 1] in _FIELD_ENDS for field in fields):
            return True
        is_cut = at + 1 + len(written) == len(text)
        return MORE if is_cut and any(field.startswith(written) for field in fields) else NO
    if text[at] != "{":
        return NO
    first = skip_space(text, at + 1)
    if first - at > OPENER_SPACE:
        return NO
    if first == len(text):
        return MORE
    if text[first] not in "\"'":
        return NO
    if key.search(text, max(start, first), at + OPENER_SPACE):
        return True
    return MORE if len(text) - at < OPENER_SPACE else NO


_FIELD_ENDS = (">", "/", *SPACES)


def read_bare_name(text: str, at: int) -> tuple[str, int, bool]:
    """A word at `at` that `{` or a start tag follows, perhaps after white space: the word, the place after that space,
    and False. True, if the text ends before that is clear; an empty word, if there is none."""
    found = _WORD.match(text, at)
    if found is None or len(found[1]) > NAME_LENGTH or len(found[2]) > OPENER_SPACE:
        return "", at, False
    end = found.end()
    following = text[end : end + 2]
    if not following or following == "<":
        return found[1], end, True
    opens = following[0] == "{" or (following[0] == "<" and following[1].isalpha())
    return found[1] if opens else "", end, False


_WORD = late_pattern(rf"([^ \t\r\n<>{{}}`]{{1,{NAME_LENGTH + 1}}}+)([ \t\r\n]{{0,{OPENER_SPACE + 1}}}+)")


def attributes_of(written: str) -> list[tuple[str, str | None, bool]]:
    """Names, values (None where there is none) and "was in quotes" of the attributes of a tag."""
    found = []
    for match in _ATTRIBUTE.finditer(written):
        name, double, single, bare = match.groups()
        quoted = double if double is not None else single
        found.append((name, quoted if quoted is not None else bare, quoted is not None))
    return found


def is_xml_name(name: str) -> bool:
    """True for a name that XML with namespaces allows: no colon."""
    pattern = _ASCII_NAME if name.isascii() else _xml_name()
    return pattern.fullmatch(name) is not None


@cache
def _xml_name() -> re.Pattern[str]:
    """The names of XML. Made when it is first needed: it takes as long to compile as all else in this module."""
    return re.compile(f"[{_START_CHAR}][-.0-9\u00b7\u0300-\u036f\u203f-\u2040{_START_CHAR}]*")


def is_metadata(name: str) -> bool:
    """True for attributes that describe a value, and hardly ever are it: `type`, `xml:space`."""
    return name in ("type", "encoding", "format", "lang", "required", "xmlns") or name.startswith(("xml:", "xmlns:"))


def is_valid_name(name: str) -> bool:
    """Names of servers, tools and arguments: one line, no control characters, no `<` and `>`, 256 characters at
    most."""
    return len(name) <= NAME_LENGTH and not _NO_NAME.search(name)


def decode_entities(text: str) -> str:
    """`text` with XML's five entities and numeric references decoded, all other ampersands kept."""
    if "&" not in text:
        return text
    return "".join(_join_numeric(_NUMERIC.split(text))) if "&#" in text else _decode_named(text)


def _decode_named(text: str) -> str:
    for entity, character in _NAMED.items():  # &amp; comes last, so that nothing is decoded twice
        if entity in text:
            text = text.replace(entity, character)
    return text


def _join_numeric(parts: Sequence[str | None]) -> list[str]:
    """Decode numeric references and the text between them: `parts` is text, decimal, hexadecimal, text, …"""
    joined = [_decode_named(parts[0] or "")]
    for decimal, hexadecimal, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        written = f"&#{decimal};" if decimal else f"&#x{hexadecimal};"
        joined += (_character(decimal, hexadecimal) or written, _decode_named(text or ""))
    return joined


def _character(decimal: str | None, hexadecimal: str | None) -> str | None:
    """The character of a numeric reference; None if XML has no such character."""
    code = int(decimal) if decimal else int(hexadecimal or "0", 16)
    if code > 0x10FFFF or _FORBIDDEN.match(chr(code)):
        return None
    return chr(code)


def partial_entity(text: str) -> int:
    """Where a reference starts that the end of `text` cuts off; the length of `text` if there is none."""
    at = text.rfind("&", -_ENTITY_LENGTH)
    if at >= 0 and ((part := text[at:]) in _CUT_NAMES or (part[:2] == "&#" and _CUT_NUMBER.match(part))):
        return at
    return len(text)


def find_ampersands(text: str, start: int, end: int) -> tuple[int, int]:
    """The places of the first bare `&` and of the first unknown entity (`&nbsp;`, `&#0;`) in `text[start:end]`, or
    -1."""
    bare, unknown = _BARE.search(text, start, end), _UNKNOWN.search(text, start, end)
    place = unknown.start() if unknown else end
    for match in _NUMERIC.finditer(text, start, place):
        if _character(match[1], match[2]) is None:
            place = match.start()
            break
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
                return _first_forbidden(text, at, end)
        if not block.isascii() and (place := _first_forbidden(text, at, at + len(block))) >= 0:
            return place
    return -1


def _first_forbidden(text: str, start: int, end: int) -> int:
    found = _FORBIDDEN.search(text, start, end)
    return found.start() if found else -1
