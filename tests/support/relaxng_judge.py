"""A RELAX NG schema that was made from a tool, run by lxml."""

from __future__ import annotations

from lxml import etree

from xmltools.grammar.issues import GrammarIssue, Report
from xmltools.grammar.relaxng.schema import relaxng
from xmltools.tools import Tool

__all__ = ["Judge"]


class Judge:
    """Says whether a block is a call of its tool. `schema` is the text, `issues` what it does not enforce.

    `only` is the server of all tools, if they are on one.
    """

    def __init__(self, tool: Tool, only: str | None = None) -> None:
        report = Report(tool.name)
        self.schema = relaxng(tool, report, only)
        self.issues: list[GrammarIssue] = report.issues
        self._schema = etree.RelaxNG(read_xml(self.schema))

    def accepts(self, block: str) -> bool:
        """Whether the block is well-formed XML and fits the schema."""
        try:
            return self.fits(read_xml(block))
        except etree.XMLSyntaxError:
            return False

    def fits(self, block: etree._Element) -> bool:
        """Whether a block that was read fits the schema."""
        return self._schema.validate(block)


def read_xml(text: str) -> etree._Element:
    """Read XML that nobody vouches for: no entities of its own, no document type, no network."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(text.encode("utf-8"), parser)
