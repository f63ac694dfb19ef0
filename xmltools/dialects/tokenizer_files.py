"""What a tokenizer says of itself: its special tokens, its chat template, and how replies are to be read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from xmltools.errors import XMLToolsError

Vocabulary = str | PathLike[str] | Mapping[str, Any] | Collection[str]
"""The special tokens of a tokenizer, or its `tokenizer_config.json`: the path of the file, or its content."""

_LONGEST: Final = 64 << 20
"""Bytes of a file that is read. A `tokenizer_config.json` has some 100 KB, a `tokenizer.json` up to 35 MB."""
_WITH_TOOLS: Final = ("tool_use", "default")
"""Which of several templates counts."""


class Tokenizer(NamedTuple):
    """The special tokens of a tokenizer. Beside them its chat template and its `response_template`, if it has them, and
    where it is."""

    tokens: frozenset[str] = frozenset()
    chat_template: str = ""
    response_template: Any = None
    path: str = "response_template"


def tokenizer_of(given: Vocabulary) -> Tokenizer:
    """Return what `given` says of a tokenizer. Newer models have the template in a file beside the tokens,
    `chat_template.jinja`. Raises XMLToolsError for a file that can't be read, and for what is none of these."""
    if isinstance(given, str | PathLike):
        path = Path(given)
        content = _json(path)
        beside = path.with_name("chat_template.jinja")
        template = template_in(content)
        if not template and beside.is_file():
            template = _read(beside)
        return Tokenizer(frozenset(_tokens(content)), template, content.get("response_template"), str(path))
    if isinstance(given, Mapping):
        return Tokenizer(frozenset(_tokens(given)), template_in(given), given.get("response_template"))
    is_list = isinstance(given, Collection) and not isinstance(given, bytes)
    if not is_list or not all(isinstance(each, str) for each in given):
        raise XMLToolsError(
            "vocabulary: expected special tokens, as ['<tool_call>'], or the path or content of a "
            f"tokenizer_config.json, got {given!r:.60}"
        )
    return Tokenizer(frozenset(given))


def template_in(config: Mapping[str, Any]) -> str:
    """Return the chat template in a `tokenizer_config.json`: of several, that for tools. Empty if there is none."""
    found = config.get("chat_template")
    if isinstance(found, list):
        named = {each.get("name"): each.get("template") for each in found if isinstance(each, dict)}
        found = next((named[name] for name in _WITH_TOOLS if name in named), None)
    return found if isinstance(found, str) else ""


def _tokens(config: Mapping[str, Any]) -> Iterator[str]:
    """The tokens that are written out in a `tokenizer_config.json`, or a `tokenizer.json`."""
    found = [value for key, value in config.items() if key.endswith(("_token", "_tokens", "_tokens_decoder"))]
    while found:
        each = found.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            found += [each["content"]] if "content" in each else each.values()
        elif isinstance(each, list):
            found += each


def _json(path: Path) -> dict[str, Any]:
    text = _read(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise XMLToolsError(f"vocabulary: expected JSON in {str(path)!r:.200}; give a tokenizer_config.json") from None
    if not isinstance(content, dict):
        raise XMLToolsError(f"vocabulary: expected an object in {str(path)!r:.200}; give a tokenizer_config.json")
    return content


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            raise XMLToolsError(f"vocabulary: {str(path)!r:.200} has more than {_LONGEST >> 20} MiB")
        return content.decode("utf-8-sig", "replace")
    except XMLToolsError:
        raise
    except (OSError, ValueError) as error:  # such as a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise XMLToolsError(f"vocabulary: {str(path)!r:.200} can't be read: {reason}") from None
