"""Results of tools in the forms of OpenAI, Anthropic and MCP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from xmltools.cli.interop.foreign_fields import Object, at, expect_format, found, id_of, keys_of, object_of, text_of
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Text, ToolResult

Block = Text | Media
_Kinds = Mapping[str, Callable[[Object], Block]]
"""How blocks are read, by their type."""

_DATA_URL = re.compile("data:([^;,]*)[^,]*;base64,")
_ANY_IMAGE, _ANY_DOCUMENT, _ANY_FILE = "image/*", "application/*", "application/octet-stream"


def load_result(value: Any, format: str, name: str) -> ToolResult:
    """Read the result of the tool `name` in the form of another program.

    Takes the value and one of `RESULT_FORMATS`. Images, sounds and files become `Media`. Blocks that follow each other
    are kept apart by a line break; content that is all text is one string. Raises `XMLToolsError` for anything else.
    """
    expect_format(format, RESULT_FORMATS)
    form = _FORMS[format]
    if not form.fits(value):
        raise XMLToolsError(f"expected {form.shown}, got {keys_of(value)}")
    return form.read(value, name)


class _Form(NamedTuple):
    shown: str
    fits: Callable[[Any], bool]
    read: Callable[[Any, str], ToolResult]


def _text(value: str, name: str) -> ToolResult:
    return ToolResult(call_id="", name=name, content=value)


def _openai(value: Object, name: str) -> ToolResult:
    key, id_key = ("content", "tool_call_id") if _is_chat(value) else ("output", "call_id")
    return ToolResult(call_id=id_of(value, id_key), name=name, content=_content(value, key, _OPENAI))


def _is_chat(value: Object) -> bool:
    return value.get("role") == "tool"


def _anthropic(value: Object, name: str) -> ToolResult:
    id, is_error = id_of(value, "tool_use_id"), _flag(value, "is_error")
    content = "" if value.get("content") is None else _content(value, "content", _ANTHROPIC)
    return ToolResult(call_id=id, name=name, content=content, is_error=is_error)


def _mcp(value: Object, name: str) -> ToolResult:
    structured = value.get("structuredContent")
    if value.get("content") or structured is None:
        content = _content(value, "content", _MCP)
    else:
        content = json.dumps(structured, ensure_ascii=False)
    return ToolResult(call_id="", name=name, content=content, is_error=_flag(value, "isError"))


_FORMS = {
    "text": _Form("text", lambda value: isinstance(value, str), _text),
    "openai": _Form(
        'a result for OpenAI, {"role": "tool", "tool_call_id": "…", "content": "…"} (chat) or '
        '{"type": "function_call_output", "call_id": "…", "output": "…"} (Responses)',
        lambda value: isinstance(value, Mapping) and (_is_chat(value) or value.get("type") == "function_call_output"),
        _openai,
    ),
    "anthropic": _Form(
        'a result for Anthropic, {"type": "tool_result", "tool_use_id": "…", "content": "…", "is_error": false}',
        lambda value: isinstance(value, Mapping) and value.get("type") == "tool_result",
        _anthropic,
    ),
    "mcp": _Form(
        'a result of MCP, {"content": [{"type": "text", "text": "…"}], "isError": false}',
        lambda value: isinstance(value, Mapping) and ("content" in value or "structuredContent" in value),
        _mcp,
    ),
}
RESULT_FORMATS = tuple(_FORMS)


def _flag(value: Object, key: str) -> bool:
    flag = value.get(key)
    if flag is not None and not isinstance(flag, bool):
        raise XMLToolsError(f"{key}: expected true or false, got {found(flag)}")
    return bool(flag)


def _content(value: Object, key: str, kinds: _Kinds) -> str | tuple[Block, ...]:
    content = value.get(key)
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise XMLToolsError(f"{key}: expected text or a list of blocks, got {found(content)}")
    blocks = []
    for position, each in enumerate(content):
        with at(f"{key}[{position}]"):
            if not isinstance(each, Mapping):
                raise XMLToolsError(f"expected an object with a type, got {keys_of(each)}")
            blocks.append(_read_block(each, kinds))
    return _join(blocks)


def _join(blocks: list[Block]) -> str | tuple[Block, ...]:
    """Return blocks as content, each on a line of its own: a tool that gives several means them apart."""
    parts: list[Block] = []
    for block in blocks:
        if isinstance(block, Text) and not block.text:
            continue
        if parts and not (isinstance(parts[-1], Text) and parts[-1].text.endswith("\n")):
            parts.append(Text(text="\n"))
        parts.append(block)
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "".join(texts) if len(texts) == len(parts) else tuple(parts)


# Blocks


def _read_block(block: Object, kinds: _Kinds) -> Block:
    kind = block.get("type")
    if isinstance(kind, str) and kind in kinds:
        return kinds[kind](block)
    *others, last = kinds
    told = found(kind, is_word=True) if "type" in block else "nothing"
    raise XMLToolsError(f"type: expected {', '.join(others)} or {last}, got {told}")


def _text_block(block: Object, key: str = "text") -> Block:
    return Text(text=text_of(block, key))


def _image_url(block: Object) -> Block:
    image = object_of(block, "image_url")
    with at("image_url"):
        return _image(image, "url")


def _image(block: Object, key: str) -> Block:
    url = text_of(block, key)
    data = _DATA_URL.match(url)
    if data:
        return Media(media_type=data[1] or _ANY_IMAGE, data=url[data.end() :])
    return Media(media_type=_ANY_IMAGE, url=url)


_OPENAI: _Kinds = {
    "text": _text_block,
    "image_url": _image_url,
    "input_text": _text_block,
    "input_image": lambda block: _image(block, "image_url"),
}


def _source(block: Object, media_type: str) -> Block:
    kinds: _Kinds = {
        "base64": lambda source: Media(media_type=text_of(source, "media_type"), data=text_of(source, "data")),
        "url": lambda source: Media(media_type=media_type, url=text_of(source, "url")),
        "text": lambda source: _text_block(source, "data"),
    }
    source = object_of(block, "source")
    with at("source"):
        return _read_block(source, kinds)


_ANTHROPIC: _Kinds = {
    "text": _text_block,
    "image": lambda block: _source(block, _ANY_IMAGE),
    "document": lambda block: _source(block, _ANY_DOCUMENT),
}


def _data(block: Object) -> Block:
    return Media(media_type=text_of(block, "mimeType"), data=text_of(block, "data"))


def _resource(block: Object) -> Block:
    resource = object_of(block, "resource")
    with at("resource"):
        if "text" in resource:
            return _text_block(resource)
        return Media(media_type=_mcp_type(resource), data=text_of(resource, "blob"))


def _mcp_type(resource: Object) -> str:
    return _ANY_FILE if resource.get("mimeType") is None else text_of(resource, "mimeType")


_MCP: _Kinds = {
    "text": _text_block,
    "image": _data,
    "audio": _data,
    "resource": _resource,
    "resource_link": lambda block: Media(media_type=_mcp_type(block), url=text_of(block, "uri")),
}
