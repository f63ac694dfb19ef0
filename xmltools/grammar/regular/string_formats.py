"""The formats of strings as regular languages: those that the check of a finished call knows, and no others.

Dates, times, UUIDs and IPv4 addresses are all that the check takes, but for the digits of a second, of which there are
nine at most. IPv6 addresses are complete too. Of e-mail addresses and URIs there are those in ASCII that the standards
have; the check asks for less.
"""

from __future__ import annotations

from xmltools.grammar.regular.patterns import pattern
from xmltools.grammar.regular.regular import EMPTY, Regular, Repeat, choice, literal, optional, sequence

# There is no year 0. Every fourth year has a day more; of the full hundreds only every fourth one has.
_YEAR = "(?:[1-9][0-9]{3}|0(?:[1-9][0-9]{2}|0(?:0[1-9]|[1-9][0-9])))"
_FOURTH = "(?:04|08|[2468][048]|[13579][26])"
_DAY = "(?:0[1-9]|1[0-9]|2[0-8])"
_MONTH = "0[13-9]|1[0-2]"
_DATE = (
    f"(?:{_YEAR}-(?:(?:02|{_MONTH})-{_DAY}|(?:{_MONTH})-(?:29|30)|(?:0[13578]|1[02])-31)"
    f"|(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
_HOUR, _MINUTE = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_TIME = rf"{_HOUR}:{_MINUTE}:(?:{_MINUTE}|60)(?:\.[0-9]{{1,9}})?(?:[Zz]|[+-]{_HOUR}:{_MINUTE})"
_HEX = "[0-9A-Fa-f]"
_BYTE = "(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2(?:[0-4][0-9]|5[0-5]))"
_ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = "[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*"
"""A part of a host's name: there are dashes only between letters and digits."""
_PLAIN = "[A-Za-z0-9._~!$&'()*+,;=:@/?-]*"
_TEXT = f"{_PLAIN}(?:%{_HEX}{_HEX}{_PLAIN})*"
_HOST = rf"//(?:[A-Za-z0-9._~!$&'()*+,;=:-]+@)?\[[0-9A-Fa-f:.]+\](?:[:/?]{_TEXT})?"


def _language(expression: str) -> Regular:
    found = pattern(f"^(?:{expression})$")
    assert found is not None
    return found


_IPV4 = _language(rf"(?:{_BYTE}\.){{3}}{_BYTE}")
_GROUP = _language(f"{_HEX}{{1,4}}")
_WITH_COLON = sequence(_GROUP, literal(":"))


def _ipv6() -> Regular:
    """Return eight groups, of which the last two may be an IPv4 address; `::` stands for one group or more."""
    ways = [sequence(Repeat(_WITH_COLON, 7, 7), _GROUP), sequence(Repeat(_WITH_COLON, 6, 6), _IPV4)]
    for before in range(8):
        head = sequence(Repeat(_WITH_COLON, before - 1, before - 1), _GROUP) if before else EMPTY
        ways.append(sequence(head, literal("::"), _groups(7 - before)))
    return choice(*ways)


def _groups(most: int) -> Regular:
    """Return up to `most` groups, of which the last two may be an IPv4 address."""
    tails = [sequence(Repeat(_WITH_COLON, 0, most - 1), _GROUP)] if most else []
    if most >= 2:
        tails.append(sequence(Repeat(_WITH_COLON, 0, most - 2), _IPV4))
    return optional(choice(*tails)) if tails else EMPTY


FORMATS: dict[str, Regular] = {
    "date": _language(_DATE),
    "time": _language(_TIME),
    "date-time": _language(f"{_DATE}[Tt]{_TIME}"),
    "uuid": _language("-".join(f"{_HEX}{{{size}}}" for size in (8, 4, 4, 4, 12))),
    "ipv4": _IPV4,
    "ipv6": _ipv6(),
    "email": _language(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*"),
    "uri": _language(f"[A-Za-z][A-Za-z0-9+.-]*:(?:{_HOST}|{_TEXT})(?:#{_TEXT})?"),
}
"""Languages by the name of the format."""
