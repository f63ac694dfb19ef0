"""Values to text: what a tool gave back, written so that a model reads it and nobody can forge it.

A result is data, and whoever wrote the data may know the protocol. Three things must not happen: that a parser,
run over the rendered text, finds a call in it; that a result ends before its end; and that text passes for an
attachment. So three changes are made to the content, no others, and all can be undone exactly (`read_results`):

- The first character of what begins a call in any dialect (`<tool` as a whole name in any case, `[TOOL_CALLS]`), of a
  token with which templates begin and end turns, and of the marks around results is written as a reference: `&lt;`,
  `&#91;`. Where `&lt;tool` stood already, it gets one `amp;` more: `&amp;lt;tool`, and so on. Other markup, entities
  and ampersands stay as they are. (`marks`)
- A line that looks like a header, `Tool:`, `Result:` or `Error:` after any number of spaces, gets one more, where
  results have such headers.
- Text that looks like the placeholder of a medium, `[attachment 1:` with any number of spaces after the `[`,
  gets one more there.

Content of several parts has a line break between two texts, and between a text and a medium, unless there is one: a
tool that gives several means them apart. Read back, these line breaks are part of the text.

One thing is not undone, since no header is written twice: content that begins with the word of its own header
(`Result: `, or `Error: ` if it is an error) has its header already, and is read back without that word.

Other dialects have marks around each result in place of headers, or nothing: a `ResultForm` says which. There an error
begins with `Error: `, and content that looks so gets one space. Without marks a result is its content, and only
several of them, and errors, have headers.

Content that is too long is cut first and changed afterwards, so what the cut brings to the start of a line is
changed as well. The names of tools are on one line anyway. Should one hold `&`, `<`, a line break or what looks
like a placeholder, then that is written as a numeric reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import count
from typing import NamedTuple

from xmltools import dialects
from xmltools.dialects import FORGE, Dialect, ResultForm, named
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Text, ToolResult
from xmltools.render.dialect_calls import form_of
from xmltools.render.marks import Marks, marks_beside
from xmltools.tools import Tool, list_of_tools

# Everything that some reader takes for the end of a line: a model, a terminal, str.splitlines.
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_HEADER = r"Tool: (?P<name>[^\n]*)\n(?P<word>Result|Error): "

# What is escaped, and how to find it. A search over ordinary text must cost next to nothing, so each pattern begins
# with the one character that it looks for, and is not tried before a plain search has found its words.
_HEADER_WORDS = ("Tool:", "Result:", "Error:")
_ATTACHMENT_WORD = "attachment "
_LIKE_PLACEHOLDER = " *attachment [0-9]+:"
_ATTACHMENT = re.compile(rf"\[(?={_LIKE_PLACEHOLDER})")
_ESCAPED_ATTACHMENT = re.compile(rf"\[ (?={_LIKE_PLACEHOLDER})")
_HEADER_LINES = re.compile(f"^{_HEADER}", re.MULTILINE)
_NAME_SPECIAL = re.compile(rf"[&<{_BREAKS}]|\[(?={_LIKE_PLACEHOLDER})")
_NAME_REFERENCE = re.compile(r"&#([0-9]{1,4});")
_ERROR = "Error: "
_LIKE_ERROR = re.compile(" *Error: ")
_LIKE_HEADER = re.compile(rf" *{_HEADER}")

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
    """The text of a result, all parts joined, and its media, each with the place in the text where it stands.

    Texts that follow each other have a line break between them, as in `ToolResult.text`. The line breaks beside media
    come when it is written, so they do not count as content."""

    text: str
    media: Sequence[tuple[int, Media]] = ()

    @property
    def first_text(self) -> str:
        """What stands before the first medium."""
        return self.text[: self.media[0][0]] if self.media else self.text

    def indented(self) -> _Content:
        """Return the same after a space."""
        return _Content(f" {self.text}", _moved(self.media, 1))


def render_result(
    result: ToolResult,
    *,
    unsafe_verbatim: bool = False,
    max_characters: int | None = None,
    dialect: Dialect | str = FORGE,
    tools: Iterable[Tool] | None = None,
) -> str:
    """Write a result as Forge text, without a line break at the end.

    Takes the result. Returns two lines or more: `Tool: name`, then `Result: content` or, if it is an error,
    `Error: content`. Each medium in the content is a placeholder, `[attachment 1: image/png]`, after whose type
    stands its URL if that is short and harmless.

    Text that could pass for a call, a header or a placeholder is changed as the top of this module says;
    `unsafe_verbatim=True` changes nothing, for text that is known to be harmless. Content whose text has more than
    `max_characters` characters loses its middle: at most so many are kept, and a line of its own says how many were
    cut. Media are kept all the same.

    `dialect`, a name or a record, is the one that the model writes: the result gets the marks that the chat template of
    such models puts around it. Where calls have no mark (`llama3_json`, `pythonic`), a result that is a call, or that
    ends with JSON that is one, stays one: only the assistant's text may be parsed. Where they are named as tools
    (`tag_per_tool`), the names of `tools` are defused, and without `tools` all start tags.

    Raises `XMLToolsError` for what is no result, if `max_characters` is no whole number from 1, and for a dialect in
    which nothing can be written.
    """
    return render_results(
        (result,), unsafe_verbatim=unsafe_verbatim, max_characters=max_characters, dialect=dialect, tools=tools
    )


def render_results(
    results: Iterable[ToolResult],
    *,
    unsafe_verbatim: bool = False,
    max_characters: int | None = None,
    dialect: Dialect | str = FORGE,
    tools: Iterable[Tool] | None = None,
    before: int = 0,
) -> str:
    """Write several results as `render_result` does, with a blank line between two, or what the dialect has there.

    `max_characters` holds for each of them. Media are numbered through all of them. `before` says how many results of
    the same turn are in messages before, for dialects that count results. Raises `XMLToolsError` as `render_result`
    does.
    """
    _check_limit(max_characters)
    if type(before) is not int or before < 0:
        raise XMLToolsError(f"before: expected a whole number from 0, got {before!r:.40}")
    frame = _frame_of(named(dialect), None if tools is None else list_of_tools(tools))
    results = _listed(results)
    numbers = count(1)
    written = []
    for number, result in enumerate(results, before):
        _check(result)
        content = _cut(frame.content(result, len(results)), max_characters)
        escape = frame.escape_alone if frame.is_alone(result, len(results)) else frame.escape
        body = _write(content, numbers, str if unsafe_verbatim else escape)
        name = result.name if unsafe_verbatim else frame.marks.neutral(_escape_name(result.name))
        written.append(frame.around(result, name, number, body, len(results)))
    return frame.joined(written)


def render_result_parts(
    results: Iterable[ToolResult],
    *,
    unsafe_verbatim: bool = False,
    max_characters: int | None = None,
    dialect: Dialect | str = FORGE,
    tools: Iterable[Tool] | None = None,
    before: int = 0,
) -> tuple[Text | Media, ...]:
    """Write several results for a model that sees images.

    Takes what `render_results` takes. Returns what that returns as one `Text`, and after it the media of all
    results, unchanged: the first is attachment 1. Raises `XMLToolsError` as `render_result` does.
    """
    results = _listed(results)
    text = render_results(
        results,
        unsafe_verbatim=unsafe_verbatim,
        max_characters=max_characters,
        dialect=dialect,
        tools=tools,
        before=before,
    )
    return Text(text=text), *(medium for result in results for _, medium in _join(result.content).media)


def read_results(
    text: str,
    media: Sequence[Media] = (),
    *,
    dialect: Dialect | str = FORGE,
    tools: Iterable[Tool] | None = None,
) -> list[ReadResult]:
    """Read what `render_result` or `render_results` wrote (not verbatim), every character as it was. But content that
    began with `Result: `, or that of an error with `Error: `, has lost this word where such a header was written.

    Takes the text and, if they are at hand, the media in the order of their numbers; the dialect and the tools that
    were given there. Placeholders become these media again, and content with a medium is a tuple of `Text` and `Media`;
    a placeholder whose number has no medium stays text. The name is empty where the dialect does not say it. Raises
    `XMLToolsError` if `text` is not as results are written in the dialect.
    """
    if not isinstance(text, str):
        raise XMLToolsError(f"text: expected str, got {type(text).__name__}")
    frame = _frame_of(named(dialect), None if tools is None else list_of_tools(tools))
    if frame.is_read_alone(text):
        return [ReadResult("", _read_content(frame.alone(text), media, frame.unescape_alone), False)]
    return [
        ReadResult(_unescape_name(name), _read_content(inside, media, frame.unescape), is_error)
        for name, inside, is_error in frame.split(text)
    ]


def part_with_results(text: str) -> str:
    """Return what stands from the first result in a text to the last, written in the form of any dialect; nothing if
    there is none. Results without a mark at their end go to the end of the text, since nothing else says where it is;
    those without any mark or header are not recognised."""
    header = _HEADER_LINES.search(text)
    starts, ends = ([header.start()], [len(text)]) if header else ([], [])
    for mark, end in _marks_of_results():
        start = text.find(mark)
        if start >= 0:
            last = text.rfind(end) if end else -1
            starts.append(start)
            ends.append(last if last > start else len(text))
    return text[min(starts) : max(ends)] if starts else ""


@cache
def _marks_of_results() -> list[tuple[str, str]]:
    """The beginning of a result, up to its name, and its end, in all dialects that have such marks."""
    forms = (form_of(each)[1].result for each in dialects.all() if each.written and each != FORGE)
    return sorted({(form.each_start.partition("{")[0], form.each_end) for form in forms if form.each_start})


def begins_results(text: str, dialect: Dialect) -> bool:
    """Return whether a text begins as results in a dialect do, if these have marks or headers there."""
    frame = _frame_of(dialect, ())
    return text.startswith(frame.form.start) and frame.each.match(text, len(frame.form.start)) is not None


def _check_limit(limit: int | None) -> None:
    if limit is None:
        return
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise XMLToolsError(f"max_characters: expected a whole number from 1, or None for no limit, got {limit!r:.40}")


# Content


def _listed(results: Iterable[ToolResult]) -> list[ToolResult]:
    if isinstance(results, ToolResult) or not isinstance(results, Iterable):
        got = "one; give a list of it: [result]" if isinstance(results, ToolResult) else type(results).__name__
        raise XMLToolsError(f"render_results: expected a list of ToolResult, got {got}")
    return list(results)


def _check(result: ToolResult) -> None:
    if not isinstance(result, ToolResult):
        raise XMLToolsError(f"expected a ToolResult, or several in a list, got {type(result).__name__}")


def _join(content: str | tuple[Text | Media, ...]) -> _Content:
    if isinstance(content, str):
        return _Content(content)
    texts: list[str] = []
    media: list[tuple[int, Media]] = []
    size = 0
    for part in content:
        if isinstance(part, Media):
            media.append((size, part))
        elif part.text:
            follows_text = bool(texts) and not (media and media[-1][0] == size)
            is_glued = follows_text and not texts[-1].endswith("\n") and not part.text.startswith("\n")
            texts.append(f"\n{part.text}" if is_glued else part.text)
            size += len(texts[-1])
    return _Content("".join(texts), media)


def _moved(media: Iterable[tuple[int, Media]], distance: int) -> list[tuple[int, Media]]:
    return [(place + distance, medium) for place, medium in media]


def _write(content: _Content, numbers: Iterator[int], escape: Callable[[str], str]) -> str:
    """Write content with placeholders for its media, and a line break between a text and a medium.

    Each text between two media is escaped by itself, with these line breaks, since they can make a header of it: no
    placeholder can begin or end what is escaped.
    """
    written: list[str] = []
    at = 0
    for place, medium in content.media:
        text = _after_break(content.text[at:place], written)
        if text and not text.endswith("\n"):
            text += "\n"
        written += (escape(text), _placeholder(next(numbers), medium))
        at = place
    return "".join((*written, escape(_after_break(content.text[at:], written))))


def _after_break(text: str, written: list[str]) -> str:
    """Return text that comes after what is written, on a line of its own."""
    return f"\n{text}" if text and written and not text.startswith("\n") else text


def _placeholder(number: int, medium: Media) -> str:
    media_type = medium.media_type if _MEDIA_TYPE.fullmatch(medium.media_type) else "file"
    url = medium.url or ""
    shown = len(url) <= _URL_LENGTH and _MEDIA_URL.fullmatch(url)
    return f"[attachment {number}: {media_type} {url}]" if shown else f"[attachment {number}: {media_type}]"


def _read_content(text: str, media: Sequence[Media], unescape: Callable[[str], str]) -> str | tuple[Text | Media, ...]:
    parts: list[Text | Media] = []
    texts: list[str] = []
    at = 0
    for found in _PLACEHOLDER.finditer(text):
        texts.append(unescape(text[at : found.start()]))
        at = found.end()
        if int(found[1]) <= len(media):
            parts += (*_text_part(texts), media[int(found[1]) - 1])
            texts.clear()
        else:
            texts.append(found[0])
    texts.append(unescape(text[at:]))
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


# Frames: what stands around results, and what must not stand in them


class _Frame:
    """Results with headers, as Forge's. Other frames are kinds of it."""

    header = _HEADER
    words: tuple[str, ...] = _HEADER_WORDS

    def __init__(self, form: ResultForm, marks: Marks) -> None:
        self.form = form
        self.marks = marks
        like = "|".join(map(re.escape, self.words))
        self._forged = {mark: re.compile(f"{mark}(?= *(?:{like}))") for mark in _BREAKS}
        self._escaped_forged = {mark: re.compile(f"{mark} (?= *(?:{like}))") for mark in _BREAKS}
        self.each = re.compile(self.header)
        self._start = re.compile(rf"(?:\A|{re.escape(form.between)}){self.header}")

    def content(self, result: ToolResult, total: int) -> _Content:
        """Return the content of one of `total` results, without the word of its header."""
        word = _ERROR if result.is_error else "Result: "
        content = _join(result.content)
        if not content.first_text.startswith(word):
            return content
        return _Content(content.text[len(word) :], _moved(content.media, -len(word)))

    def around(self, result: ToolResult, name: str, number: int, body: str, total: int) -> str:
        """Return one of `total` results with what stands around it."""
        return f"Tool: {name}\n{_ERROR if result.is_error else 'Result: '}{body}"

    def joined(self, written: Sequence[str]) -> str:
        """Return all results of a turn."""
        return self.form.between.join(written)

    def split(self, text: str) -> Iterator[tuple[str, str, bool]]:
        """Yield the name and the content of each result, escaped, and whether it is an error."""
        starts = list(self._start.finditer(text))
        if text and not self.each.match(text):
            raise XMLToolsError(f"expected a line 'Tool: name' and a line 'Result: …' or 'Error: …', got {text[:40]!r}")
        ends = [start.start() for start in starts[1:]] + [len(text)]
        for start, end in zip(starts, ends, strict=False):
            yield self.read(start, text[start.end() : end])

    def read(self, start: re.Match[str], inside: str) -> tuple[str, str, bool]:
        """Return the name, the content and whether it is an error, of what begins with this match."""
        return start["name"], inside, start["word"] == "Error"

    def is_alone(self, result: ToolResult, total: int) -> bool:
        """Return whether a result is written without anything around it."""
        return False

    def is_read_alone(self, text: str) -> bool:
        """Return whether a text is such a result."""
        return False

    def alone(self, text: str) -> str:
        """Return the content of such a result, escaped."""
        return text

    def escape_alone(self, text: str) -> str:
        """Return content in which nothing begins a call or is taken for an attachment."""
        text = self.marks.hide(text)
        return _ATTACHMENT.sub("[ ", text) if _ATTACHMENT_WORD in text else text

    def unescape_alone(self, text: str) -> str:
        """Undo `escape_alone`."""
        if _ATTACHMENT_WORD in text:
            text = _ESCAPED_ATTACHMENT.sub("[", text)
        return self.marks.show(text)

    def escape(self, text: str) -> str:
        """Return content in which nothing is taken for something else."""
        return self._replace_at_breaks(self.escape_alone(text), self._forged, " ")

    def unescape(self, text: str) -> str:
        """Undo `escape`."""
        return self._replace_at_breaks(self.unescape_alone(text), self._escaped_forged, "")

    def _replace_at_breaks(self, text: str, patterns: dict[str, re.Pattern[str]], indent: str) -> str:
        """Replace what the pattern of each line break finds by that line break and `indent`."""
        if any(word in text for word in self.words):
            for mark, pattern in patterns.items():
                if mark in text:
                    text = pattern.sub(mark + indent, text)
        return text


class _Marked(_Frame):
    """Results between marks; or after one that is a line of its own, if there is none at the end."""

    words: tuple[str, ...] = ()

    def __init__(self, form: ResultForm, marks: Marks) -> None:
        name = re.escape(form.each_start).replace(r"\{name\}", "(?P<name>[^\n]*?)")
        name = name.replace(r"\{number\}", r"\d+").replace(r"\{next\}", r"\d+")
        self.header = name
        if not form.each_end:
            self.words = (form.each_start.partition("{")[0],)
        super().__init__(form, marks)

    def content(self, result: ToolResult, total: int) -> _Content:
        content = _join(result.content)
        if result.is_error or not _LIKE_ERROR.match(content.first_text):
            return content
        return content.indented()

    def around(self, result: ToolResult, name: str, number: int, body: str, total: int) -> str:
        start = self.form.each_start.replace("{number}", str(number)).replace("{next}", str(number + 1))
        start = start.replace("{name}", name)
        return f"{start}{_ERROR if result.is_error else ''}{body}{self.form.each_end}"

    def joined(self, written: Sequence[str]) -> str:
        return f"{self.form.start}{self.form.between.join(written)}{self.form.end}" if written else ""

    def split(self, text: str) -> Iterator[tuple[str, str, bool]]:
        form = self.form
        if not form.each_end:
            yield from super().split(text)
            return
        at, stop = len(form.start), len(text) - len(form.end)
        while text:
            start = self.each.match(text, at)
            end = text.find(form.each_end, start.end()) if start else -1
            if start is None or end < 0 or not text.startswith(form.start):
                got = text[at : at + 40]
                raise XMLToolsError(f"expected a result that begins with {form.each_start!r}, got {got!r}")
            yield self.read(start, text[start.end() : end])
            at = end + len(form.each_end)
            if at == stop and text.startswith(form.end, at):
                return
            at += len(form.between)

    def read(self, start: re.Match[str], inside: str) -> tuple[str, str, bool]:
        if inside.startswith(_ERROR):
            return start.groupdict().get("name", ""), inside.removeprefix(_ERROR), True
        inside = inside[1:] if inside[:1] == " " and _LIKE_ERROR.match(inside) else inside
        return start.groupdict().get("name", ""), inside, False


class _Bare(_Frame):
    """A result that is its content. Several, and errors, have headers."""

    def is_alone(self, result: ToolResult, total: int) -> bool:
        return total == 1 and not result.is_error

    def is_read_alone(self, text: str) -> bool:
        return not self.each.match(text)

    def alone(self, text: str) -> str:
        return text[1:] if text[:1] == " " and _LIKE_HEADER.match(text) else text

    def content(self, result: ToolResult, total: int) -> _Content:
        if not self.is_alone(result, total):
            return super().content(result, total)
        content = _join(result.content)
        return content.indented() if _LIKE_HEADER.match(content.first_text) else content

    def around(self, result: ToolResult, name: str, number: int, body: str, total: int) -> str:
        return body if self.is_alone(result, total) else super().around(result, name, number, body, total)


def _frame_of(dialect: Dialect, tools: Iterable[Tool] | None) -> _Frame:
    return _kept_frame(dialect, marks_beside(tools, dialect, thoughts=False))


@lru_cache(maxsize=64)
def _kept_frame(dialect: Dialect, marks: Marks) -> _Frame:
    if dialect == FORGE:
        return _Frame(ResultForm(between="\n\n"), marks)
    form = form_of(dialect)[1].result
    if form.is_headed:
        return _Frame(form, marks)
    return _Marked(form, marks) if form.each_start else _Bare(form, marks)


def _escape_name(name: str) -> str:
    return _NAME_SPECIAL.sub(lambda m: f"&#{ord(m[0])};", name)


def _unescape_name(name: str) -> str:
    return _NAME_REFERENCE.sub(lambda m: chr(int(m[1])), name)
