"""What the formats of the three large APIs share in reading and writing values: objects of SDKs, argument text, URLs.

Argument text is what a model wrote, so it never raises. Where its spelling is not what would be written, it is kept,
and written again as long as it says what the call says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from xmltools.errors import Code
from xmltools.formats.shared.extra import kept_for, plain
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, ToolCall
from xmltools.models.json_fields import expect
from xmltools.syntax.json_reader import JSONError, loads_lenient

_DEPTH = 200
"""Containers that arguments may have inside one another."""
_DATA_URL = re.compile(r"data:([^,;]++)?+(?:;[^,;]++)*?;base64,", re.IGNORECASE)
_ENDING = re.compile(r"\.(\w{1,5})(?:[?#].*)?\Z", re.DOTALL)
_TYPES = {
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "png": "image/png",
    "wav": "audio/wav",
    "webp": "image/webp",
}


def objects(value: Any, where: str, what: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects in a list, each with its place. Raises XMLToolsError if there is anything else."""
    for place, each in enumerate(expect(value, (list, tuple), where, what)):
        yield place, expect(plain(each), Mapping, f"{where}[{place}]" if where else str(place), "an object")


def entries(value: Any) -> Sequence[Any]:
    """Return a list as it is, nothing for anything else."""
    return value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else ()


def insert(written: list[Any], others: Any) -> list[Any]:
    """Return a list with what was kept of it, [place, value] each, back where it stood."""
    result: list[Any] = []
    rest = iter(written)
    for place, value in others or ():
        result += islice(rest, max(place - len(result), 0))
        result.append(value)
    return [*result, *rest]


# Arguments


def compact(value: Any) -> str:
    """Return JSON without white space, non-ASCII characters as they are. Raises as `json.dumps` for what is no JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_arguments(text: str, name: str, report: Report, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the argument text of a call of the tool `name`.

    Returns the arguments, none if the text holds no object, and what is to be kept: the text under "arguments", if it
    is not what would be written. It is read as arguments in replies are: also a Python literal, and JSON in a string of
    JSON. What is repaired is reported as `mended_arguments`, what cannot be read as `invalid_arguments`. Text
    without anything in it is no arguments, and no mistake.
    """
    arguments, code, problem = _read(text)
    if code:
        hint = 'write the JSON text of an object, as in \'{"path":"a.py"}\''
        report.add(code, f"the arguments of {name!r:.80}: {problem}", index, hint)
    return arguments, {} if not code and _is_usual(text, arguments) else {"arguments": text}


def _read(text: str) -> tuple[dict[str, Any], str, str]:
    """Return the arguments, and the code and the message of what is wrong with their text."""
    if not text.strip():
        return {}, "", ""
    try:
        value, slips = loads_lenient(text, depth=_DEPTH, loose=True)
        if isinstance(value, str) and value.lstrip().startswith("{"):
            value, more = loads_lenient(value, depth=_DEPTH, loose=True)
            slips = [(Code.JSON_STRING, 0, "a string that contains JSON"), *slips, *more]
    except JSONError as error:
        return {}, "invalid_arguments", str(error)
    if not isinstance(value, dict):
        return {}, "invalid_arguments", f"this is no object but a {type(value).__name__}"
    return (value, "mended_arguments", slips[0][2]) if slips else (value, "", "")


def _is_usual(text: str, arguments: dict[str, Any]) -> bool:
    return text == compact(arguments)


def arguments_text(call: ToolCall, name: str, report: Report, index: int) -> str:
    """Return the argument text of a call: as the format `name` kept it, if it says the same, else compact JSON."""
    try:
        text = compact(call.arguments)
    except (ValueError, TypeError, RecursionError):
        report.add("unwritable_arguments", f"the arguments of {call.name!r:.80} are no JSON, and are left out", index)
        text = "{}"
    before = kept_for(call, name).get("arguments")
    return before if isinstance(before, str) and compact(_read(before)[0]) == text else text


# URLs


def split_data_url(url: str) -> tuple[Media | None, str]:
    """Return the medium in a `data:` URL in base64, and the start of the URL, if it has more than the type in it.

    The medium is None for any other URL.
    """
    found = _DATA_URL.match(url)
    if not found:
        return None, ""
    medium = Media(media_type=found[1] or "text/plain", data=url[found.end() :])
    return medium, "" if data_url(medium) == url else found[0]


def data_url(medium: Media) -> str:
    """Return the data of a medium as a URL."""
    return f"data:{medium.media_type};base64,{medium.data}"


def type_of_url(url: str, otherwise: str) -> str:
    """Return the MIME type that the ending of a URL tells, `otherwise` if it tells none."""
    found = _ENDING.search(url[-300:])
    return _TYPES.get(found[1].lower(), otherwise) if found else otherwise
