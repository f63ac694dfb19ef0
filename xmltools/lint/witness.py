"""The witness: clean blocks once more, by RELAX NG in lxml, with a schema that is made of the tool.

The parser says what a block means, and checks that by the tool's JSON Schema. The witness shares nothing with it but
the tool: another XML parser, another schema language, another validator. Where the two differ, one of them is wrong.

The block is shown as it stands. Only if it is refused, it is shown again as `layout` and `spelling` write it:
the protocol knows white space and spellings that say the same and that the schema doesn't know. Not shown are blocks
with repairs (so all with JSON text in elements, and with characters that XML forbids), blocks whose body is JSON,
and those that are larger than libxml2 takes.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar
from xmltools.lint.readers import Unreadable, is_too_large_for_lxml, plain_block, read_with_lxml
from xmltools.lint.spelling import respell
from xmltools.tools import Tool

__all__ = ["Doubt", "doubt_of"]


class Doubt(NamedTuple):
    """What the witness has against a block, and the line in the block (from 1) where it has it."""

    message: str
    line: int = 1


def doubt_of(block: str, tool: Tool | None) -> Doubt | None:
    """Return what the witness has against a clean block; None if nothing, or if the block is too large for it.

    Takes the block's text and the tool that it calls. Without the tool the block must only be well-formed.
    """
    if is_too_large_for_lxml(block):
        return None
    try:
        tree = read_with_lxml(block)
        schema = _schema_of(tool) if tool else None
    except Unreadable as refused:
        return Doubt(f"lxml does not read the block: {refused}", refused.line)
    except (XMLToolsError, etree.RelaxNGError) as error:
        return Doubt(f"RELAX NG in lxml can't use the schema of the tool: {error}")
    if tool is None or schema is None or schema.validate(tree):
        return None
    return _second_look(block, tool, schema)


def _second_look(block: str, tool: Tool, schema: etree.RelaxNG) -> Doubt | None:
    tree = read_with_lxml(plain_block(block))
    respell(tree, tool.shape)
    if schema.validate(tree):
        return None
    error = schema.error_log[0]
    return Doubt(f"RELAX NG in lxml does not take the block: {error.message}", error.line or 1)


def _schema_of(tool: Tool) -> etree.RelaxNG:
    return _compiled(tool.name, tool.server, json.dumps(tool.parameters))


@lru_cache(maxsize=256)
def _compiled(name: str, server: str, parameters: str) -> etree.RelaxNG:
    tool = Tool(name=name, server=server, parameters=json.loads(parameters))
    return etree.RelaxNG(etree.fromstring(build_grammar(tool, "relaxng").encode("utf-8")))
