"""Results of tools in the forms of OpenAI, Anthropic, MCP and LangChain: as JSON, or as objects of their libraries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from xmltools.errors import XMLToolsError
from xmltools.models.foreign_fields import Object, at, expect_format, found, id_of, keys_of, object_of, text_of
from xmltools.models.media import Media
from xmltools.models.parts import Text

Block = Text | Media
Fields = dict[str, Any]
"""Of a `ToolResult`."""
_Kinds = Mapping[str, Callable[[Object], Block]]
"""How blocks are read, by their type."""

_DATA_URL = re.compile("data:([^;,]*)[^,]*;base64,")
_ANY_IMAGE, _ANY_DOCUMENT, _ANY_FILE = "image/*", "application/*", "application/octet-stream"


def result_fields(value: Any, format: str) -> Fields:
    """Return the fields of the result of a tool in the form of another program, but for the tool's name.

    Takes the value and one of `RESULT_FORMATS`. Images, sounds and files become `Media`. Blocks that follow each other
    are kept apart by a line break; content that is all text is one string. Raises `XMLToolsError` for anything else.
    """
    expect_format(format, RESULT_FORMATS)
    form = _FORMS[format]
    if not form.fits(value):
        raise XMLToolsError(f"expected {form.shown}, got {keys_of(value)}")
    return form.read(value)


class _Form(NamedTuple):
    shown: str
    fits: Callable[[Any], bool]
    read: Callable[[Any], Fields]


def _text(value: str) -> Fields:
    return {"call_id": "", "content": value}


def _openai(value: Object) -> Fields:
    key, id_key = ("content", "tool_call_id") if _is_chat(value) else ("output", "call_id")
    return {"call_id": id_of(value, id_key), "content": _content(value, key, _OPENAI)}


def _is_chat(value: Object) -> bool:
    return value.get("role") == "tool"


def _anthropic(value: Object) -> Fields:
    id, is_error = id_of(value, "tool_use_id"), _flag(value, "is_error")
    content = "" if value.get("content") is None else _content(value, "content", _ANTHROPIC)
    return {"call_id": id, "content": content, "is_error": is_error}


def _mcp(value: Object) -> Fields:
    structured = value.get("structuredContent")
    if value.get("content") or structured is None:
        content = _content(value, "content", _MCP)
    else:
        content = json.dumps(structured, ensure_ascii=False)
    return {"call_id": "", "content": content, "is_error": _flag(value, "isError")}


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


# Objects of libraries


def _as_json(value: object) -> object:
    """Return a pydantic model of another library as JSON has it, and all else as it is."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    return value


def mcp_fields(value: object) -> Fields:
    """As `result_fields`, for what an MCP session's `call_tool` returned, or the same as JSON."""
    return result_fields(_as_json(value), "mcp")


def langchain_fields(value: object) -> Fields:
    """As `result_fields`, for a `ToolMessage` of LangChain, or the same as JSON. It may have a `name`, else None."""
    message = _as_json(value)
    if not isinstance(message, Mapping) or "tool_call_id" not in message or "content" not in message:
        raise XMLToolsError(f"expected a ToolMessage of LangChain, got {keys_of(message)}")
    content = message["content"]
    if isinstance(content, list):
        content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
    return {
        "call_id": id_of(message, "tool_call_id"),
        "name": None if message.get("name") is None else text_of(message, "name"),
        "content": _content({"content": content}, "content", _LANGCHAIN),
        "is_error": message.get("status") == "error",
    }


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


def _langchain_media(media_type: str) -> Callable[[Object], Block]:
    """Blocks of LangChain: of 1.0, of 0.3 (`source_type`), and those that it hands on from others (`source`)."""

    def read(block: Object) -> Block:
        if "source" in block:
            return _source(block, media_type)
        kind = media_type if block.get("mime_type") is None else text_of(block, "mime_type")
        if "url" in block:
            return Media(media_type=kind, url=text_of(block, "url"))
        if block.get("source_type") == "text":
            return _text_block(block)
        return Media(media_type=kind, data=text_of(block, "base64" if "base64" in block else "data"))

    return read


_LANGCHAIN: _Kinds = {
    "text": _text_block,
    "image_url": _image_url,
    "image": _langchain_media(_ANY_IMAGE),
    "audio": _langchain_media("audio/*"),
    "video": _langchain_media("video/*"),
    "file": _langchain_media(_ANY_FILE),
    "text-plain": _text_block,
}
