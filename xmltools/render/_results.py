"""Values to text: what a tool gave back, written so that a model reads it and nobody can forge it.

A result is data, and whoever wrote the data may know the protocol. Two things must not happen: that a parser,
run over the rendered text, finds a call in it, and that a result ends before its end. So two changes are made
to the content, no others, and both can be undone exactly (`read_results`):

- The `<` of an opener, `<tool` as a whole name, is written `&lt;`. Where `&lt;tool` stood already, it gets
  one `amp;` more: `&amp;lt;tool`, and so on. Other markup, entities and ampersands stay as they are.
- A line that looks like a header, `Tool:`, `Result:` or `Error:` behind any number of spaces, gets one more.

The names of tools are on one line anyway. Should one hold `&`, `<` or a line break, then that is written as a
numeric reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Text, ToolResult

__all__ = ["ReadResult", "read_results", "render_result", "render_results"]

# Everything that some reader takes for the end of a line: a model, a terminal, str.splitlines.
_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_OPENER = re.compile(rf"(?:<|&((?:amp;)*)lt;)(?={FORGE.block}(?![\w.-]))")
_ESCAPED_OPENER = re.compile(rf"&((?:amp;)*)lt;(?={FORGE.block}(?![\w.-]))")
_FORGED = re.compile(rf"(?<=[{_BREAKS}])(?= *(?:Tool|Result|Error):)")
_ESCAPED_FORGED = re.compile(rf"(?<=[{_BREAKS}]) (?= *(?:Tool|Result|Error):)")
_NAME_SPECIAL = re.compile(rf"[&<{_BREAKS}]")
_NAME_REFERENCE = re.compile(r"&#([0-9]{1,4});")
_HEADER = re.compile(r"(?:\A|\n\n)Tool: ([^\n]*)\n(Result|Error): ")


class ReadResult(NamedTuple):
    """One result as it was read back from text: `ToolResult` without the id, which the text does not say."""

    name: str
    content: str
    is_error: bool


def render_result(result: ToolResult, *, unsafe_verbatim: bool = False) -> str:
    """Write a result as Forge text, without a line break at the end.

    Takes the result; parts of its content are joined, a medium being its URL or its type in brackets. Returns
    two lines or more: `Tool: name`, then `Result: content` or, if it is an error, `Error: content`. Content
    that could pass for a call or a header is changed as the top of this module says; `unsafe_verbatim=True`
    changes nothing, for text that is known to be harmless.
    """
    name, content = result.name, _content(result)
    if not unsafe_verbatim:
        name, content = _escape_name(name), _escape(content)
    return f"Tool: {name}\n{'Error' if result.is_error else 'Result'}: {content}"


def render_results(results: Iterable[ToolResult], *, unsafe_verbatim: bool = False) -> str:
    """Write several results as `render_result` does, with a blank line between two."""
    return "\n\n".join(render_result(result, unsafe_verbatim=unsafe_verbatim) for result in results)


def read_results(text: str) -> list[ReadResult]:
    """Read what `render_result` or `render_results` wrote (not verbatim), every character as it was.

    Raises `XMLToolsError` if `text` does not begin with the header of a result.
    """
    headers = list(_HEADER.finditer(text))
    if text and not (headers and headers[0].start() == 0):
        raise XMLToolsError(f"expected a line 'Tool: name' and a line 'Result: …' or 'Error: …', got {text[:40]!r}")
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return [
        ReadResult(_unescape_name(header[1]), _unescape(text[header.end() : end]), header[2] == "Error")
        for header, end in zip(headers, ends, strict=False)
    ]


def _content(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "".join(part.text if isinstance(part, Text) else _medium(part) for part in result.content)


def _medium(media: Media) -> str:
    return f"[{media.url or media.media_type}]"


def _escape(content: str) -> str:
    content = _OPENER.sub(lambda m: "&lt;" if m[1] is None else f"&amp;{m[1]}lt;", content)
    return _FORGED.sub(" ", content)


def _unescape(content: str) -> str:
    content = _ESCAPED_FORGED.sub("", content)
    return _ESCAPED_OPENER.sub(lambda m: f"&{m[1][4:]}lt;" if m[1] else "<", content)


def _escape_name(name: str) -> str:
    return _NAME_SPECIAL.sub(lambda m: f"&#{ord(m[0])};", name)


def _unescape_name(name: str) -> str:
    return _NAME_REFERENCE.sub(lambda m: chr(int(m[1])), name)
