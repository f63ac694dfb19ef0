"""What atheris begins with: the texts of the corpus as bytes for each target, and the protocol's tokens as words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

from support.corpus import REQUIRED
from support.strategies import SOUP

from fuzz.targets import HEADER

__all__ = ["seeds_of", "words"]

_TESTS = Path(__file__).resolve().parents[1]
_DRAWN = 64
"""Seeds of targets that draw from the bytes: random ones, as what is drawn cannot be turned back into bytes."""


def seeds_of(target: str) -> list[bytes]:
    """Return the seeds of a target."""
    texts = [_bytes(case["text"]) for case in _corpus()]
    if target in ("text", "utf8"):
        return [_header(number) + text for number, text in enumerate(texts)]
    if target == "json":
        return [body for text in texts for body in re.findall(rb"<tool>(\s*\{.*?)(?:</tool>|\Z)", text, re.DOTALL)]
    if target == "sse":
        return [_event(case["text"], number) for number, case in enumerate(_corpus())]
    drawn = [Random(number).randbytes(128) for number in range(_DRAWN)]
    if target == "formats":
        return drawn + [drawn[number % _DRAWN] + value for number, value in enumerate(_conversations())]
    return drawn


def _corpus() -> list[dict[str, Any]]:
    return [case for case in REQUIRED if len(case["text"]) < 2000]


def _header(number: int) -> bytes:
    return bytes([number % 4, number % 16, number % 64][:HEADER])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _event(text: str, number: int) -> bytes:
    end = ("\n", "\r\n", "\r")[number % 3]
    lines = [
        f"event: {number}",
        f"data: {json.dumps({'text': text})}",
        "",
        *(f"data: {line}" for line in text.split("\n")),
    ]
    return _bytes(end.join([*lines, "", ""]))


def _conversations() -> list[bytes]:
    lines = (_TESTS / "seeds" / "cases.jsonl").read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    return [json.dumps(case[key]).encode() for case in cases for key in ("input", "expect") if key in case]


def words() -> str:
    """Return the protocol's tokens as a dictionary of libFuzzer."""
    tokens = {token for _, kind in SOUP for token in kind}
    escaped = ["".join(f"\\x{byte:02x}" for byte in _bytes(token)) for token in sorted(tokens)]
    return "".join(f'"{token}"\n' for token in escaped)
