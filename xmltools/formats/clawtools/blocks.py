"""Blocks of Clawtools, and the parts that they are: one reader and one writer, for all roles.

A block of another type than these is none of the model's parts; who reads a list keeps it, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from xmltools.formats.shared.extra import completed, extra_of, kept_for, plain, read_arguments, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Reasoning, Text, ToolCall
from xmltools.models.json_fields import expect, fail

NAME = "clawtools"
"""The name by which the format is asked for."""

RIGHT_CALL = '{"type": "toolCall", "id": "…", "name": "…", "arguments": {…}}'
_RIGHT_TEXT = 'text, as in {"type": "text", "text": "…"}'
_RIGHT_THINKING = 'text, as in {"type": "thinking", "thinking": "…"}'
_RIGHT_URL = 'a URL, as in {"type": "image_url", "image_url": {"url": "…"}}'
_RIGHT_IMAGE = 'text, as in {"type": "image", "data": "…", "mimeType": "image/png"}'

_ENDINGS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}

Block = Text | Reasoning | Media | ToolCall


def read_block(value: Any, where: str, medium: str, report: Report, index: int) -> tuple[Mapping[str, Any], Any]:
    """Read a block, which stands at `where` in the message `index`.

    `medium` is the type of the blocks that media are there. Returns the block, and the part that it is, None if it is
    of a type that only Clawtools knows. Raises XMLToolsError for what is no block.
    """
    block = expect(plain(value), Mapping, where, f"a block, as in {_RIGHT_TEXT[9:]}")
    kind = expect(block.get("type"), str, f"{where}.type", 'text, as in "text"')
    match kind:
        case "text":
            return block, Text(text=expect(block.get("text"), str, f"{where}.text", _RIGHT_TEXT), **_extra(block))
        case "thinking":
            text = expect(block.get("thinking"), str, f"{where}.thinking", _RIGHT_THINKING)
            return block, Reasoning(text=text, **_extra(block))
        case "toolCall":
            return block, _read_call(block, where, report, index)
        case "image":
            return block, _read_image(block, where, medium)
        case "image_url":
            return block, _read_image_url(block, where, medium, report, index)
    return block, None


_KNOWN = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking"),
    "toolCall": ("type", "id", "name", "arguments"),
    "image": ("type", "data", "mimeType"),
}


def _extra(block: Mapping[str, Any], **known: Any) -> dict[str, Any]:
    """Return `extra` as a field: the keys that are not known, and what was spelled otherwise than it will be."""
    return {"extra": extra_of(NAME, {**known, **rest(block, _KNOWN[block["type"]])})}


def _read_call(block: Mapping[str, Any], where: str, report: Report, index: int) -> ToolCall:
    call_id = expect(block.get("id"), str, f"{where}.id", f"text, as in {RIGHT_CALL}")
    name = expect(block.get("name"), str, f"{where}.name", f"text, as in {RIGHT_CALL}")
    arguments, raw = read_arguments(block.get("arguments"), name, report, index)
    return ToolCall(id=call_id, name=name, arguments=arguments, **_extra(block, **raw))


# Media


def _read_image(block: Mapping[str, Any], where: str, medium: str) -> Media:
    data = expect(block.get("data"), str, f"{where}.data", _RIGHT_IMAGE)
    media_type = expect(block.get("mimeType"), str, f"{where}.mimeType", _RIGHT_IMAGE)
    return Media(media_type=media_type, data=data, **_extra(block, **_kind("image", medium)))


def _read_image_url(block: Mapping[str, Any], where: str, medium: str, report: Report, index: int) -> Media:
    image = block.get("image_url")
    if isinstance(image, str):
        report.add("image_url_text", f"{where}.image_url is a text", index, 'write {"image_url": {"url": "…"}}')
        image = {"url": image}
    if not isinstance(image, Mapping):
        fail(f"{where}.image_url", _RIGHT_URL, image)
    url = expect(image.get("url"), str, f"{where}.image_url.url", _RIGHT_URL)
    found = read_medium(url, block.get("mimeType"))
    own: dict[str, Any] = _kind("image_url", medium)
    if inner := rest(image, ("url",)):
        own["image_url"] = inner
    own |= rest(block, _write_image_url(found, {}))
    return found.model_copy(update={"extra": extra_of(NAME, own)})


def _kind(kind: str, usual: str) -> dict[str, Any]:
    return {} if kind == usual else {"type": kind}


def read_medium(url: str, media_type: Any = None) -> Media:
    """Return what a URL shows: the data, if it is a `data:` URL in base64. `media_type` is known from elsewhere."""
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:") and "," not in head:
        return Media(media_type=head[5:], data=data)
    media_type = media_type if isinstance(media_type, str) else _type_of(url)
    return Media(media_type=media_type, url=url)


def _type_of(url: str) -> str:
    """Return the type that a URL shows by its ending. A URL says no more, and most of them are images."""
    ending = url[:2000].partition("?")[0].partition("#")[0].rpartition(".")[2]
    return _ENDINGS.get(ending.lower(), "image/*")


# Writing


def write_block(part: Block, medium: str, report: Report, index: int) -> list[dict[str, Any]]:
    """Return the block that a part is; none, with an issue, for a medium that holds nothing."""
    own = kept_for(part, NAME)
    match part:
        case Text():
            return [completed({"type": "text", "text": part.text}, own)]
        case Reasoning():
            return [completed({"type": "thinking", "thinking": part.text}, own)]
        case ToolCall():
            return [completed(_write_call(part, own), own)]
    return _write_medium(part, medium, report, index)


def _write_call(call: ToolCall, own: Mapping[str, Any]) -> dict[str, Any]:
    raw = not call.arguments and "arguments" in own
    arguments = own["arguments"] if raw else call.arguments
    return {"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments}


def _write_medium(medium: Media, usual: str, report: Report, index: int) -> list[dict[str, Any]]:
    """Return a medium as a block of the type that is usual, or of the one that it was read from."""
    own = kept_for(medium, NAME)
    kind = own["type"] if own.get("type") in ("image", "image_url") else usual
    if medium.data is None and medium.url is None:
        report.add("empty_media", "a medium that has neither data nor a URL is left out", index)
        return []
    if medium.data is not None and medium.url is not None:
        report.add("media_url", "of a medium that has data and a URL the URL is left out", index)
    if kind == "image" and medium.data is not None:
        return [completed({"type": "image", "data": medium.data, "mimeType": medium.media_type}, own)]
    if kind == "image" and usual == "image":
        hint = "fetch it, and give it as data"
        report.add("media_url", "a result holds images as data, not as URLs: the URL is written as text", index, hint)
        return [{"type": "text", "text": medium.url}]
    return [completed(_write_image_url(medium, own), own)]


def _write_image_url(medium: Media, own: Mapping[str, Any]) -> dict[str, Any]:
    inner = own.get("image_url")
    fields = inner if isinstance(inner, Mapping) else {}
    if medium.data is not None:
        url = f"data:{medium.media_type};base64,{medium.data}"
        return {"type": "image_url", "image_url": completed({"url": url}, fields)}
    block = {"type": "image_url", "image_url": completed({"url": medium.url}, fields)}
    if medium.media_type != _type_of(medium.url or ""):
        block["mimeType"] = medium.media_type  # the URL does not say it
    return block


# Blocks that only Clawtools knows


def unknown_blocks(own: Mapping[str, Any]) -> list[tuple[int, Any]]:
    """Return the unknown blocks that are kept under "content", each with its place in the list of blocks."""
    content = own.get("content")
    found = content.get("unknown") if isinstance(content, Mapping) else None
    pairs = found if isinstance(found, (list, tuple)) else ()
    return [(each[0], each[1]) for each in pairs if _is_placed(each)]


def _is_placed(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], int) and value[0] < 2**31


def interleave(blocks: Iterable[Any], unknown: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return the blocks with the unknown ones at their places, or as near to them as there are blocks."""
    known: Iterator[Any] = iter(blocks)
    written: list[Any] = []
    for place, block in unknown:
        written += islice(known, max(place - len(written), 0))
        written.append(block)
    return [*written, *known]
