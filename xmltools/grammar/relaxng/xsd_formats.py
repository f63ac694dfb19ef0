"""The formats of strings as patterns: those that the check of a finished call knows, in full."""

from __future__ import annotations

__all__ = ["FORMATS"]

_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_DAYS = "(?:0[1-9]|1[0-9]|2[0-8])"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[1-9]|1[0-2])-{_DAYS}|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    f"|(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
_HOUR = "(?:[01][0-9]|2[0-3])"
_TIME = rf"{_HOUR}:[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-]{_HOUR}:[0-5][0-9])"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"(?:{_BYTE}\.){{3}}{_BYTE}"
_GROUP = "[0-9A-Fa-f]{1,4}"


def _shortened(before: int) -> str:
    """Return IPv6 addresses with `before` groups in front of the `::`, which stands for one group at least."""
    left = rf"{_GROUP}(?::{_GROUP}){{{before - 1}}}" if before else ""
    most = 7 - before
    tails = [rf"(?:{_GROUP}:){{0,{most - 1}}}{_GROUP}"] * (most > 0)
    tails += [rf"(?:{_GROUP}:){{0,{most - 2}}}{_IPV4}"] * (most > 1)
    return f"{left}::(?:{'|'.join(tails)})?" if tails else f"{left}::"


_IPV6 = "|".join([rf"(?:{_GROUP}:){{7}}{_GROUP}", rf"(?:{_GROUP}:){{6}}{_IPV4}", *map(_shortened, range(8))])
FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "uuid": "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^(?:{_IPV6})$",
    "email": r"^[^@\s]+@[^@\s]+$",
    "uri": r'^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*$',
}
"""Patterns by the name of the format, as Python reads them."""
