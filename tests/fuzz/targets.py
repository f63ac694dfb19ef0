"""What atheris calls with its bytes: each target makes something of them and asserts the laws for it.

The first bytes choose tools, options and law, the rest is content, so that mutations of the content keep their meaning;
`render` and `formats` draw all their choices from the bytes. A target raises what it finds, and returns otherwise.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any
from zlib import crc32

from support.calls import law_call, law_untyped, meant, untyped
from support.conversations import conversation
from support.strategies import TOOL_SETS, Case

from fuzz.drawn import Drawn
from fuzz.quick import cut, law_one_cut, laws_of, read
from fuzz.tokens import OPTIONS
from xmltools.errors import XMLToolsError
from xmltools.formats import FORMATS, dump, holds, load, recognise
from xmltools.parser import parse
from xmltools.proxy.bridge.upstream_stream import SSEDecoder
from xmltools.render.writable import same

__all__ = ["HEADER", "TARGETS", "broken"]

HEADER = 3
"""Bytes before the text: they choose tools, options, and a law besides that of the cuts."""
_TOOL_SETS = sorted(TOOL_SETS)


def text(data: bytes) -> None:
    """Any string: it is read as whole as in pieces, and one law more holds."""
    case = _case(data)
    law_one_cut(case)
    laws = laws_of(case)
    if data[2:3] < bytes([len(laws)]) and len(data) >= HEADER:
        laws[data[2]](case)


def _case(data: bytes) -> Case:
    """The text behind the header, with what the header chooses."""
    tools, options = data[:2] if len(data) >= 2 else (0, 255)
    chosen = OPTIONS[options] if options < len(OPTIONS) else {}
    return Case([_decoded(data[HEADER:])], _TOOL_SETS[tools % len(_TOOL_SETS)], chosen)


def _decoded(data: bytes) -> str:
    """The bytes as text that may hold lone surrogates, or as UTF-8 with U+FFFD where it is none."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def utf8(data: bytes) -> None:
    """Any bytes, cut anywhere and decoded as they come: they are read as their text is, whole."""
    case = _case(data[:HEADER])
    content = data[HEADER:]
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    chunks = [decode(piece) for piece in cut(content, Random(crc32(content)))] + [decode(b"", True)]
    assert read(case, chunks) == read(case, [content.decode("utf-8", "replace")]), f"chunks {chunks!r}"


def json_body(data: bytes) -> None:
    """A JSON body: cuts change nothing, and what is a JSON object for `json` is the call that it says, clean."""
    body = _decoded(data)
    case = Case([f"<tool>{body}</tool>"])
    law_one_cut(case)
    meant_call = _meant_by(body)
    if meant_call is None:
        return
    calls = parse(case.text).calls
    assert len(calls) == 1 and calls[0].clean, calls
    assert (calls[0].name, calls[0].legacy_json) == (meant_call["tool_name"], True), calls
    assert same(calls[0].arguments, meant_call["arguments"]), calls


def _meant_by(body: str) -> dict[str, Any] | None:
    """The body as `json` reads it, if it is beyond doubt a call: a plain name, arguments, and nothing else."""
    if not body.startswith("{"):
        return None
    try:
        value = json.loads(body, object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        return None
    names = isinstance(value.get("tool_name"), str) and re.fullmatch(r"[\w.-]{1,256}", value["tool_name"])
    plain = names and value.keys() == {"tool_name", "arguments"} and isinstance(value["arguments"], dict)
    return value if plain and body.count("{") + body.count("[") < 60 else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) or any(not _is_name(name) for name in found):
        raise ValueError("a key that comes again, or that is no name")
    return found


def _is_name(name: str) -> bool:
    return 0 < len(name) <= 256 and name.isprintable() and not re.search(r"[<>]|^\s|\s$", name)


def _refused(word: str) -> Any:
    raise ValueError(word)


def _finite(word: str) -> float:
    value = float(word)
    if value - value:
        raise ValueError(word)
    return value


def render(data: bytes) -> None:
    """A call of a tool, or of none, as the bytes draw it: written and read again it is the same."""
    rng = Drawn(data)
    if rng.random() < 0.2:
        law_untyped(untyped(rng))
    else:
        law_call(meant(rng))


def sse(data: bytes) -> None:
    """Any bytes as server-sent events: whole, in pieces and by the letter of the standard they are the same events."""
    expected = _events(data.decode("utf-8", "replace"))
    assert _decoded_events([data]) == expected
    pieces = cut(data, Random(crc32(data)))
    assert _decoded_events(pieces) == expected, f"pieces {pieces!r}"


def _decoded_events(pieces: list[bytes]) -> list[tuple[str, str]]:
    decoder = SSEDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def _events(stream: str) -> list[tuple[str, str]]:
    """Events as the standard has them; the end of the stream is a blank line too."""
    events, name, lines = [], "", list[str]()
    for line in [*re.split("\r\n|\r|\n", stream.removeprefix("\ufeff")), ""]:
        field, _, value = line.partition(":")
        if not line:
            events += [(name, "\n".join(lines))] if lines else []
            name, lines = "", []
        elif field == "data":
            lines.append(value.removeprefix(" "))
        elif field == "event":
            name = value.removeprefix(" ")
    return events


def formats(data: bytes) -> None:
    """JSON, or a conversation with things put wrong, to each reader: it is read, or refused with XMLToolsError."""
    rng = Drawn(data[:128])
    name = rng.choice(FORMATS)
    value = _json(data[128:])
    if value is None:
        value = dump(conversation(rng, holds(name), grouped=True), name, issues=[])
    for _ in range(rng.randrange(4)):
        value = _wrong(rng, value)
    with suppress(XMLToolsError):
        recognise(value)
    try:
        loaded = load(value, name, issues=[])
        written = dump(loaded, name, issues=[])
    except XMLToolsError:
        return
    again = load(written, name, issues=[])
    assert dump(again, name, issues=[]) == written, f"{name}: {value!r}"


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


_ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, 10**400, "", "x", "\ud800", "</tool>", [], {}, [[]], [None], [{}])
_ODD += ({"type": "text"}, {"role": "tool"}, "tool_use", "assistant", {"type": 1}, {"": ""}, '{"a": ', "{}", [1, "x"])


def _wrong(rng: Random, value: Any) -> Any:
    """JSON with one thing put wrong: a value replaced, left out or repeated, or a key renamed."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.15:
        return rng.choice(_ODD)
    if isinstance(value, list):
        place = rng.randrange(len(value))
        changed = rng.choice([[], [value[place]] * 2, [_wrong(rng, value[place])], [_wrong(rng, value[place])]])
        return [*value[:place], *changed, *value[place + 1 :]]
    key = rng.choice(list(value))
    rest = {name: each for name, each in value.items() if name != key}
    if rng.random() < 0.15:
        return rest
    if rng.random() < 0.1:
        return {**rest, rng.choice(["type", "content", "id", "", "parts", "role"]): value[key]}
    return {**value, key: _wrong(rng, value[key])}


TARGETS: dict[str, Callable[[bytes], None]] = {
    "text": text,
    "utf8": utf8,
    "json": json_body,
    "render": render,
    "sse": sse,
    "formats": formats,
}


def broken(name: str, data: bytes) -> str:
    """Return what is wrong when a target is given the bytes, on one line; nothing, if all is well."""
    try:
        TARGETS[name](data)
    except Exception as error:  # law 2: nothing raises
        return f"{type(error).__name__}: {error}"[:300].replace("\n", " ")
    return ""
