"""Blocks of Anthropic's messages for models that know text and images only: what they say is written as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Notes

__all__ = ["plain_blocks"]

_KNOWN = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")
_NO_FILES = "no files are kept here; give what is in it, as base64 or as text"


def plain_blocks(messages: list[Any], notes: Notes) -> list[Any]:
    """Return messages whose blocks can be read anywhere: documents and search results that are text become it.

    What tools of Anthropic's servers did, and blocks that are not known, are noted and left out. Raises Refusal for a
    block that refers to a file, and for one that is left out if it is to be strict.
    """
    return [_with_plain(message, f"messages[{number}].", notes) for number, message in enumerate(messages)]


def _with_plain(source: Any, at: str, notes: Notes) -> Any:
    if not isinstance(source, Mapping) or not isinstance(source.get("content"), list):
        return source
    blocks = enumerate(source["content"])
    content = [plain for number, each in blocks for plain in _plain(each, f"{at}content[{number}]", notes)]
    return {**source, "content": content}


def _plain(block: Any, at: str, notes: Notes) -> list[Any]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        return [block]  # which is no block: its reader says so
    source = block.get("source")
    if kind == "container_upload" or (isinstance(source, Mapping) and source.get("type") == "file"):
        raise Refusal(f"{at}: {_NO_FILES}", param="messages")
    if kind == "document" and isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        inner = source.get("data") if source["type"] == "text" else source.get("content")
        return [*_heading(block, "title", "context"), *_inside(inner, at, notes)]
    if kind == "search_result":
        return [*_heading(block, "title", "source"), *_inside(block.get("content"), at, notes)]
    if kind == "tool_result":
        return [_with_plain(block, f"{at}.", notes)]
    if kind in _KNOWN:
        return [block]
    notes.ignore(f"messages.{kind}", "blocks of this type can't be read here; leave it out", at)
    return []


def _heading(block: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    lines = [block[name] for name in names if isinstance(block.get(name), str) and block[name]]
    return [{"type": "text", "text": "\n".join(lines) + "\n"}] if lines else []


def _inside(content: Any, at: str, notes: Notes) -> list[Any]:
    """Return the blocks of what is text, or a list of blocks. Raises Refusal for anything else."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise Refusal(f"{at}: expected text or a list of blocks in it, got {content!r:.60}", param="messages")
    return list(_with_plain({"content": content}, f"{at}.", notes)["content"])
