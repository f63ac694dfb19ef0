"""`grammars/tool.rng`, the schema of a block of any tool, run by lxml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lxml import etree

__all__ = ["read_xml", "rng_accepts"]


def rng_accepts(block: str) -> bool:
    """Whether tool.rng takes one block, which has no document type and no processing instruction."""
    try:
        root = read_xml(block)
    except etree.XMLSyntaxError:
        return False
    if root.getroottree().docinfo.doctype or next(root.iter(etree.PI), None) is not None:
        return False
    return _schema().validate(root)


def read_xml(text: str) -> etree._Element:
    """Read XML that nobody vouches for: no entities of its own, no document type, no network."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(text.encode("utf-8"), parser)


@cache
def _schema() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(Path(__file__).parents[2] / "grammars" / "tool.rng"))
