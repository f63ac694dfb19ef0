"""Values to text: what a tool gave back, written so that a model reads it and nobody can forge it.

A result is data, and whoever wrote the data may know the protocol. Three things must not happen: that a parser,
run over the rendered text, finds a call in it; that a result ends before its end; and that text passes for an
attachment. So three changes are made to the content, no others, and all can be undone exactly (`read_results`):

- The `<` of an opener, `<tool` as a whole name in any case, is written `&lt;`. Where `&lt;tool` stood already, it gets
  one `amp;` more: `&amp;lt;tool`, and so on. Other markup, entities and ampersands stay as they are.
- A line that looks like a header, `Tool:`, `Result:` or `Error:` after any number of spaces, gets one more.
- Text that looks like the placeholder of a medium, `[attachment 1:` with any number of spaces after the `[`,
  gets one more there.

One thing is not undone, since no header is written twice: content that begins with the word of its own header
(`Result: `, or `Error: ` if it is an error) has its header already, and is read back without that word.

Content that is too long is cut first and changed afterwards, so what the cut brings to the start of a line is
changed as well. The names of tools are on one line anyway. Should one hold `&`, `<`, a line break or what looks
like a placeholder, then that is written as a numeric reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Text, ToolResult

# Everything that some reader takes for the end of a line: a model, a terminal, str.splitlines.
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HEADER = re.compile(r"(?:\A|\n\n)Tool: ([^\n]*)\n(Result|Error): ")

# What is escaped, and how to find it. A search over ordinary text must cost next to nothing, so each pattern begins
# with the one character that it looks for, and is not tried before a plain search has found its words.
_HEADER_WORDS = ("Tool:", "Result:", "Error:")
_FORGED = {mark: re.compile(f"{mark}(?= *(?:Tool|Result|Error):)") for mark in _BREAKS}
_ESCAPED_FORGED = {mark: re.compile(f"{mark} (?= *(?:Tool|Result|Error):)") for mark in _BREAKS}
_NAME_END = rf"(?i:{FORGE.block})(?![\w.-])"
_OPENER_WORDS = tuple(f"{start}{first}" for start in ("<", "lt;") for first in (FORGE.block[0], FORGE.block[0].upper()))
_OPENER = re.compile(f"<(?={_NAME_END})")
_ESCAPED_OPENER = re.compile(f"&lt;(?={_NAME_END})")
_AMPERSAND = re.compile(f"&(?=(?:amp;)*lt;{_NAME_END})")
_ESCAPED_AMPERSAND = re.compile(f"&amp;(?=(?:amp;)*lt;{_NAME_END})")
_ATTACHMENT_WORD = "attachment "
_LIKE_PLACEHOLDER = " *attachment [0-9]+:"
_ATTACHMENT = re.compile(rf"\[(?={_LIKE_PLACEHOLDER})")
_ESCAPED_ATTACHMENT = re.compile(rf"\[ (?={_LIKE_PLACEHOLDER})")
_NAME_SPECIAL = re.compile(rf"[&<{_BREAKS}]|\[(?={_LIKE_PLACEHOLDER})")
_NAME_REFERENCE = re.compile(r"&#([0-9]{1,4});")

# Placeholders say no more of a medium than these allow: nothing that ends the line, the placeholder or the URL, and no
# control that turns the direction of writing.
_TYPE = r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}"
_URL = r"[Hh][Tt][Tt][Pp][Ss]?://[^\s\[\]<>\0-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
_MEDIA_TYPE = re.compile(_TYPE)
_MEDIA_URL = re.compile(_URL)
_URL_LENGTH = 500
_PLACEHOLDER = re.compile(rf"\[attachment ([1-9][0-9]{{0,8}}): (?:{_TYPE}|file)(?: {_URL})?\]")


class ReadResult(NamedTuple):
    """One result as it was read back from text: `ToolResult` without the id, which the text does not say."""

    name: str
    content: str | tuple[Text | Media, ...]
    is_error: bool


class _Content(NamedTuple):
    """The text of a result, all parts joined, and its media, each with the place in the text where it stands."""

    text: str
    media: Sequence[tuple[int, Media]] = ()


def render_result(result: ToolResult, *, unsafe_verbatim: bool = False, max_characters: int | None = None) -> str:
    """Write a result as Forge text, without a line break at the end.

    Takes the result. Returns two lines or more: `Tool: name`, then `Result: content` or, if it is an error,
    `Error: content`. Each medium in the content is a placeholder, `[attachment 1: image/png]`, after whose type
    stands its URL if that is short and harmless.

    Text that could pass for a call, a header or a placeholder is changed as the top of this module says;
    `unsafe_verbatim=True` changes nothing, for text that is known to be harmless. Content whose text has more than
    `max_characters` characters loses its middle: at most so many are kept, and a line of its own says how many were
    cut. Media are kept all the same.

    Raises `XMLToolsError` for what is no result, and if `max_characters` is no whole number from 1.
    """
    return render_results((result,), unsafe_verbatim=unsafe_verbatim, max_characters=max_characters)


def render_results(
    results: Iterable[ToolResult], *, unsafe_verbatim: bool = False, max_characters: int | None = None
) -> str:
    """Write several results as `render_result` does, with a blank line between two.

    `max_characters` holds for each of them. Media are numbered through all of them. Raises `XMLToolsError` as
    `render_result` does.
    """
    _check_limit(max_characters)
    escape = str if unsafe_verbatim else _escape
    escape_name = str if unsafe_verbatim else _escape_name
    numbers = count(1)
    blocks = []
    for result in results:
        word, content = _read_result(result)
        body = _write(_cut(content, max_characters), numbers, escape)
        blocks.append(f"Tool: {escape_name(result.name)}\n{word}{body}")
    return "\n\n".join(blocks)


def render_result_parts(
    results: Iterable[ToolResult], *, unsafe_verbatim: bool = False, max_characters: int | None = None
) -> tuple[Text | Media, ...]:
    """Write several results for a model that sees images.

    Takes what `render_results` takes. Returns what that returns as one `Text`, and after it the media of all
    results, unchanged: the first is attachment 1. Raises `XMLToolsError` as `render_result` does.
    """
    results = list(results)
    text = render_results(results, unsafe_verbatim=unsafe_verbatim, max_characters=max_characters)
    return Text(text=text), *(medium for result in results for _, medium in _join(result.content).media)


def read_results(text: str, media: Sequence[Media] = ()) -> list[ReadResult]:
    """Read what `render_result` or `render_results` wrote (not verbatim), every character as it was.

    Takes the text and, if they are at hand, the media in the order of their numbers. Placeholders become these
    media again, and content with a medium is a tuple of `Text` and `Media`; a placeholder whose number has no medium
    stays text. Raises `XMLToolsError` if `text` does not begin with the header of a result.
    """
    headers = list(_HEADER.finditer(text))
    if text and not (headers and headers[0][0].startswith("Tool: ") and headers[0].start() == 0):
        raise XMLToolsError(f"expected a line 'Tool: name' and a line 'Result: …' or 'Error: …', got {text[:40]!r}")
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [
        ReadResult(_unescape_name(header[1]), _read_content(text[header.end() : end], media), header[2] == "Error")
        for header, end in zip(headers, ends, strict=False)
    ]


def _check_limit(limit: int | None) -> None:
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise XMLToolsError(f"max_characters: expected a whole number from 1, or None for no limit, got {limit!r:.40}")


# Content


def _read_result(result: ToolResult) -> tuple[str, _Content]:
    """Return the word of a result's header, and its content without that word."""
    if not isinstance(result, ToolResult):
        raise XMLToolsError(f"expected a ToolResult, or several in a list, got {type(result).__name__}")
    word = "Error: " if result.is_error else "Result: "
    content = _join(result.content)
    # A medium may stand inside what would be the word if it did not.
    if not content.text.startswith(word) or (content.media and content.media[0][0] < len(word)):
        return word, content
    return word, _Content(content.text[len(word) :], _moved(content.media, -len(word)))


def _join(content: str | tuple[Text | Media, ...]) -> _Content:
    if isinstance(content, str):
        return _Content(content)
    texts, media, size = [], [], 0
    for part in content:
        if isinstance(part, Media):
            media.append((size, part))
        else:
            texts.append(part.text)
            size += len(part.text)
    return _Content("".join(texts), media)


def _moved(media: Iterable[tuple[int, Media]], distance: int) -> list[tuple[int, Media]]:
    return [(place + distance, medium) for place, medium in media]


def _write(content: _Content, numbers: Iterator[int], escape: Callable[[str], str]) -> str:
    """Write content with placeholders for its media. Each text between two is escaped by itself: no placeholder can
    begin or end what is escaped."""
    written: list[str] = []
    at = 0
    for place, medium in content.media:
        written += (escape(content.text[at:place]), _placeholder(next(numbers), medium))
        at = place
    return "".join((*written, escape(content.text[at:])))


def _placeholder(number: int, medium: Media) -> str:
    media_type = medium.media_type if _MEDIA_TYPE.fullmatch(medium.media_type) else "file"
    url = medium.url or ""
    shown = len(url) <= _URL_LENGTH and _MEDIA_URL.fullmatch(url)
    return f"[attachment {number}: {media_type} {url}]" if shown else f"[attachment {number}: {media_type}]"


def _read_content(text: str, media: Sequence[Media]) -> str | tuple[Text | Media, ...]:
    parts: list[Text | Media] = []
    texts: list[str] = []
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        texts.append(_unescape(text[at : found.start()]))
        at = found.end()
        if int(found[1]) <= len(media):
            parts += (*_text_part(texts), media[int(found[1]) - 1])
            texts.clear()
        else:
            texts.append(found[0])
    texts.append(_unescape(text[at:]))
    return (*parts, *_text_part(texts)) if parts else "".join(texts)


def _text_part(texts: list[str]) -> list[Text]:
    joined = "".join(texts)
    return [Text(text=joined)] if joined else []


# Cutting


def _cut(content: _Content, limit: int | None) -> _Content:
    """Return content without its middle, if it has more than `limit` characters.

    Media in the middle come to stand in front of the line that tells of the cut.
    """
    text, media = content
    if limit is None or len(text) <= limit:
        return content
    start, end = _head_end(text, limit - limit // 2), _tail_start(text, len(text) - limit // 2)
    before = [(min(place, start), medium) for place, medium in media if place < end]
    after = [(place, medium) for place, medium in media if place >= end]
    head = text[:start] + _break_before(text, start, before)
    head += f"[... {end - start:,} of {len(text):,} characters cut ...]"
    head += _break_after(text, end, after)
    return _Content(head + text[end:], before + _moved(after, len(head) - end))


def _head_end(text: str, size: int) -> int:
    """Where a head of at most `size` characters ends: at the last line break in its last tenth, if there is one."""
    found = text.rfind("\n", size - size // 10, size + 1)
    return size if found < 0 else min(found + 1, size)


def _tail_start(text: str, at: int) -> int:
    """Where the tail that may begin at `at` begins: after the first line break in its first tenth, if there is one."""
    found = text.find("\n", at - 1, at + (len(text) - at) // 10)
    return at if found < 0 else found + 1


def _break_before(text: str, start: int, media: list[tuple[int, Media]]) -> str:
    is_line = text[start - 1] == "\n" and not (media and media[-1][0] == start)
    return "" if is_line else "\n"


def _break_after(text: str, end: int, media: list[tuple[int, Media]]) -> str:
    if media and media[0][0] == end:
        return "\n"
    return "" if end == len(text) or text[end] in "\r\n" else "\n"


# Escapes


def _escape(text: str) -> str:
    if _holds(text, _OPENER_WORDS):
        # The ampersands come first: those that this makes of openers are right already.
        text = _OPENER.sub("&lt;", _AMPERSAND.sub("&amp;", text))
    if _ATTACHMENT_WORD in text:
        text = _ATTACHMENT.sub("[ ", text)
    return _replace_at_breaks(text, _FORGED, " ")


def _unescape(text: str) -> str:
    if _ATTACHMENT_WORD in text:
        text = _ESCAPED_ATTACHMENT.sub("[", text)
    if _holds(text, _OPENER_WORDS):
        text = _ESCAPED_AMPERSAND.sub("&", _ESCAPED_OPENER.sub("<", text))
    return _replace_at_breaks(text, _ESCAPED_FORGED, "")


def _replace_at_breaks(text: str, patterns: dict[str, re.Pattern[str]], indent: str) -> str:
    """Replace what the pattern of each line break finds by that line break and `indent`."""
    if _holds(text, _HEADER_WORDS):
        for mark, pattern in patterns.items():
            if mark in text:
                text = pattern.sub(mark + indent, text)
    return text


def _holds(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _escape_name(name: str) -> str:
    return _NAME_SPECIAL.sub(lambda m: f"&#{ord(m[0])};", name)


def _unescape_name(name: str) -> str:
    return _NAME_REFERENCE.sub(lambda m: chr(int(m[1])), name)
