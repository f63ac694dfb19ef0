"""The formats of strings as regular languages: those that the check of a finished call knows, and no others.

Dates, times, UUIDs and IPv4 addresses are all that the check takes, but for the digits of a second, of which there are
nine at most. IPv6 addresses are complete too. Of e-mail addresses and URIs there are those in ASCII that the standards
have; the check asks for less.
"""

from __future__ import annotations

from xmltools.grammar.regular.regular import EMPTY, Regular, Repeat, chars, choice, literal, optional, sequence, star

_DIGIT = chars((0x30, 0x39))
_LETTERS = (0x41, 0x5A), (0x61, 0x7A)
_HEX = chars((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))


def _digits(first: str, last: str = "") -> Regular:
    """Return numbers of two digits, by what each digit may be."""
    return sequence(chars(first), chars(last) if last else _DIGIT)


_DASH, _COLON, _POINT = chars("-"), chars(":"), chars(".")


def _date() -> Regular:
    no_zero = chars((0x31, 0x39))
    day = choice(_digits("0", "123456789"), _digits("1"), _digits("2", "012345678"))
    months = choice(_digits("0", "13456789"), _digits("1", "012"))
    long_months = choice(_digits("0", "13578"), _digits("1", "02"))
    days = choice(
        sequence(choice(literal("02"), months), _DASH, day),
        sequence(months, _DASH, choice(literal("29"), literal("30"))),
        sequence(long_months, literal("-31")),
    )
    two = Repeat(_DIGIT, 2, 2)
    year = choice(
        sequence(no_zero, Repeat(_DIGIT, 3, 3)),
        sequence(literal("0"), choice(sequence(no_zero, two), sequence(literal("0"), _not_00()))),
    )
    # Every fourth year, but of the full hundreds only every fourth one; there is no year 0.
    fourth = choice(literal("04"), literal("08"), _digits("2468", "048"), _digits("13579", "26"))
    leap = choice(sequence(two, fourth), sequence(fourth, literal("00")))
    return choice(sequence(year, _DASH, days), sequence(leap, literal("-02-29")))


def _not_00() -> Regular:
    return choice(_digits("0", "123456789"), _digits("123456789"))


def _time() -> Regular:
    hour, minute = choice(_digits("01"), _digits("2", "0123")), _digits("012345")
    second = choice(minute, literal("60"))
    part = optional(sequence(_POINT, Repeat(_DIGIT, 1, 9)))
    zone = choice(chars("Zz"), sequence(chars("+-"), hour, _COLON, minute))
    return sequence(hour, _COLON, minute, _COLON, second, part, zone)


def _uuid() -> Regular:
    groups = [Repeat(_HEX, size, size) for size in (8, 4, 4, 4, 12)]
    return sequence(groups[0], *(part for group in groups[1:] for part in (_DASH, group)))


def _ipv4() -> Regular:
    byte = choice(
        _DIGIT,
        _digits("123456789"),
        sequence(literal("1"), _DIGIT, _DIGIT),
        sequence(literal("2"), choice(_digits("01234"), _digits("5", "012345"))),
    )
    return sequence(Repeat(sequence(byte, _POINT), 3, 3), byte)


def _ipv6() -> Regular:
    """Return eight groups, of which the last two may be an IPv4 address; `::` stands for one group or more."""
    group = Repeat(_HEX, 1, 4)
    with_colon = sequence(group, _COLON)
    ways = [sequence(Repeat(with_colon, 7, 7), group), sequence(Repeat(with_colon, 6, 6), _ipv4())]
    for before in range(8):
        head = sequence(Repeat(with_colon, before - 1, before - 1), group) if before else EMPTY
        ways.append(sequence(head, literal("::"), _groups(group, 7 - before)))
    return choice(*ways)


def _groups(group: Regular, most: int) -> Regular:
    """Return up to `most` groups, of which the last two may be an IPv4 address."""
    with_colon = sequence(group, _COLON)
    tails = [sequence(Repeat(with_colon, 0, most - 1), group)] if most else []
    if most >= 2:
        tails.append(sequence(Repeat(with_colon, 0, most - 2), _ipv4()))
    return optional(choice(*tails)) if tails else EMPTY


def _email() -> Regular:
    atom = _some(chars(*_LETTERS, (0x30, 0x39), "!#$%&'*+/=?^_`{|}~-"))
    inner = chars(*_LETTERS, (0x30, 0x39))
    # One dash or more only between letters and digits.
    label = sequence(_some(inner), star(sequence(_some(_DASH), _some(inner))))
    return sequence(atom, star(sequence(_POINT, atom)), literal("@"), label, star(sequence(_POINT, label)))


def _some(part: Regular) -> Regular:
    return Repeat(part, 1)


def _uri() -> Regular:
    scheme = sequence(chars(*_LETTERS), star(chars(*_LETTERS, (0x30, 0x39), "+.-")))
    plain = chars(*_LETTERS, (0x30, 0x39), "-._~!$&'()*+,;=:@/?")
    text = sequence(star(plain), star(sequence(literal("%"), _HEX, _HEX, star(plain))))
    user = optional(sequence(_some(chars(*_LETTERS, (0x30, 0x39), "-._~!$&'()*+,;=:")), literal("@")))
    host = sequence(
        literal("//"), user, literal("["), _some(choice(_HEX, chars(":."))), literal("]"), optional(_after_host(text))
    )
    return sequence(scheme, _COLON, choice(host, text), optional(sequence(literal("#"), text)))


def _after_host(text: Regular) -> Regular:
    return sequence(chars(":/?"), text)


FORMATS: dict[str, Regular] = {
    "date": _date(),
    "time": _time(),
    "date-time": sequence(_date(), chars("Tt"), _time()),
    "uuid": _uuid(),
    "ipv4": _ipv4(),
    "ipv6": _ipv6(),
    "email": _email(),
    "uri": _uri(),
}
"""Languages by the name of the format."""
