"""The formats of strings that are checked: dates, times, addresses and identifiers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from ipaddress import IPv4Address, IPv6Address

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|[+-](?P<zone>[0-9]{2}:[0-9]{2}))"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    # A second of 60 is a leap second.
    return bool(
        match
        and int(match["hour"]) < 24
        and int(match["minute"]) < 60
        and int(match["second"]) <= 60
        and (match["zone"] is None or (match["zone"][:2] < "24" and match["zone"][3:] < "60"))
    )


def _is_date_time(text: str) -> bool:
    return len(text) > 10 and text[10] in "Tt" and _is_date(text[:10]) and _is_time(text[11:])


def _is_address(kind: type[IPv4Address] | type[IPv6Address]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return check


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "uuid": _matches(_UUID),
    "ipv4": _is_address(IPv4Address),
    "ipv6": _is_address(IPv6Address),
    "email": _matches(_EMAIL),
    "uri": _matches(_URI),
}
"""Checks by the name of the format; a format that is not here is not checked."""
