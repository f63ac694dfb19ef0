"""Formats as regular languages: every text of them passes the check, and what is ordinary is among them."""

from __future__ import annotations

import calendar
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.regulars import accepts, sentences, size

from xmltools.grammar.regular.string_formats import FORMATS
from xmltools.tools.schema.string_formats import FORMATS as CHECKS

EXACT = ["date", "time", "date-time", "uuid", "ipv4", "ipv6"]


def test_every_format_that_is_checked_has_its_language():
    assert FORMATS.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_every_text_of_a_language_passes_the_check(name, data):
    assert CHECKS[name](data.draw(sentences(FORMATS[name])))


@pytest.mark.parametrize("name", EXACT)
@given(data=st.data())
def test_a_text_with_a_slip_is_in_if_and_only_if_it_passes_the_check(name, data):
    text = data.draw(sentences(FORMATS[name]))
    place = data.draw(st.integers(0, len(text)))
    slip = data.draw(st.text("0129:.-zTaf+", max_size=2))
    text = text[:place] + slip + text[place + data.draw(st.integers(0, 2)) :]
    if accepts(FORMATS[name], text):
        assert CHECKS[name](text)
    elif CHECKS[name](text):
        assert "." in text and len(text.rpartition(".")[2]) > 9  # a fraction of a second with many digits


@given(st.dates())
def test_every_day_of_the_calendar_is_in(day):
    assert accepts(FORMATS["date"], f"{day:%Y}".zfill(4) + f"-{day:%m-%d}")


@pytest.mark.parametrize("year", [1, 4, 100, 400, 1900, 1996, 2000, 2023, 2024, 2100, 9996, 9999])
@pytest.mark.parametrize("month", range(1, 13))
def test_a_month_has_its_last_day_and_no_more(year, month):
    last = calendar.monthrange(year, month)[1]
    assert accepts(FORMATS["date"], date(year, month, last).isoformat())
    assert not accepts(FORMATS["date"], f"{year:04}-{month:02}-{last + 1:02}")


@given(st.datetimes(timezones=st.timezones()))
def test_every_time_that_python_writes_is_in(moment):
    text = moment.isoformat()
    if len(text.rpartition("T")[2].replace("-", "+").partition("+")[2]) <= 5:  # no seconds in the zone
        assert accepts(FORMATS["date-time"], text)
        assert accepts(FORMATS["time"], text.partition("T")[2])


@given(st.uuids(), st.ip_addresses(v=4), st.ip_addresses(v=6))
def test_identifiers_and_addresses_that_python_writes_are_in(identifier, four, six):
    assert accepts(FORMATS["uuid"], str(identifier))
    assert accepts(FORMATS["ipv4"], str(four))
    assert accepts(FORMATS["ipv6"], str(six))
    assert accepts(FORMATS["ipv6"], six.exploded)


@given(st.emails(domains=st.sampled_from(["example.com", "mail.example.co.uk", "xn--bcher-kva.example"])))
def test_ordinary_e_mail_addresses_are_in(address):
    assert accepts(FORMATS["email"], address)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("date", ["2024-02-29", "0001-01-01"], ["0000-01-01", "2023-02-29", "1900-02-29", "2024-1-1", "2024-00-10"]),
        ("time", ["23:59:60Z", "00:00:00z", "10:00:00.5+02:00"], ["24:00:00Z", "10:00:00", "10:00Z", "10:00:00.Z"]),
        ("date-time", ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00-00:30"], ["2024-02-29 12:00:00Z", "2024-02-29"]),
        ("ipv4", ["0.0.0.0", "255.255.255.255", "192.168.0.1"], ["256.0.0.1", "01.0.0.0", "1.2.3", "1.2.3.4.5"]),
        (
            "ipv6",
            [
                "::",
                "::1",
                "1::",
                "fe80::1",
                "1:2:3:4:5:6:7::",
                "::2:3:4:5:6:7:8",
                "::ffff:1.2.3.4",
                "1:2:3:4:5:6:1.2.3.4",
            ],
            [":", "1:2:3:4:5:6:7", "1::2::3", "::1:2:3:4:5:6:7:8", "12345::", "fe80::1%eth0", "1:2:3:4:5:6:7:1.2.3.4"],
        ),
        ("uuid", ["123e4567-e89b-12d3-A456-426614174000"], ["123e4567e89b12d3a456426614174000", "urn:uuid:"]),
        ("email", ["a@b", "first.last+tag@example.com"], ["a", "@b", "a@", "a b@c.de", ".a@b.c", "a@-b.c", "a@b..c"]),
        (
            "uri",
            [
                "https://example.com/a/b.html?x=1&y=%20#top",
                "http://user:pw@[::1]:8080/",
                "mailto:a@b.c",
                "urn:isbn:0451450523",
                "file:///etc/hosts",
            ],
            ["example.com", "//x", "http://a b", "http://a/%zz", "http://a/<b>", "1http://a", "http://a#b#c"],
        ),
    ],
)
def test_examples(name, inside, outside):
    assert [text for text in inside if not accepts(FORMATS[name], text)] == []
    assert [text for text in outside if accepts(FORMATS[name], text)] == []


@pytest.mark.parametrize("name", FORMATS)
def test_languages_are_small(name):
    assert size(FORMATS[name]) < 500
