"""Objects in RELAX NG, besides what their shapes say: which names are open, closed or forbidden, and in what order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.grammar.relaxng.printing import (
    EMPTY,
    NOT_ALLOWED,
    Rule,
    any_number,
    attribute,
    choice,
    data,
    element,
    element_but,
    group,
    interleave,
    optional,
    value,
)
from xmltools.syntax.markup import is_xml_name
from xmltools.tools.schema import NEVER, Node, ObjectShape

MAX_ORDERED = 4
"""Arguments that only an attribute tells apart, and that are written out in all their orders."""
UNDECLARED = "\0"
"""A name that no schema declares and no block can say."""

# XML 1.0 has more, since its fifth edition. To RELAX NG in libxml2 a name is what the fourth took for one, and these
# are scripts that it knew: Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, kana, ideographs and Hangul.
_LETTER = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0131\u0391-\u03a1\u03a3-\u03ce\u0410-\u044f\u05d0-\u05ea"
    "\u0621-\u063a\u0641-\u064a\u0905-\u0939\u0e01-\u0e2e\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
)
_KNOWN_NAME = re.compile(f"[{_LETTER}][-.0-9\u00b7\u0300-\u0345{_LETTER}]*")


class Member(NamedTuple):
    """An element, or what stands in it, among others that stand in any order.

    `hidden`: its name is said in an attribute, though an element could bear it.
    """

    rule: Rule
    required: bool
    hidden: bool = False


def unnamed(names: Iterable[str]) -> list[str]:
    """Return those of the names that elements have, but that the schema cannot name."""
    return [name for name in names if is_xml_name(name) and not _KNOWN_NAME.fullmatch(name)]


def too_many(fields: Mapping[str, Member]) -> list[str]:
    """Return the names that only attributes say, if they are too many to be written out in all their orders."""
    found = _argument_names(fields)
    return found if len(found) > MAX_ORDERED else []


def is_closed(shape: ObjectShape) -> bool:
    """Return whether an object may have no other properties than those that are declared."""
    return any(_closes(part, "additionalProperties") for part in shape.parts) or closes_unevaluated(shape)


def _closes(part: Node, word: str) -> bool:
    return NEVER in part.get(word, ()) and "patternProperties" not in part


def closes_unevaluated(shape: ObjectShape) -> bool:
    """Return whether `unevaluatedProperties` closes an object, and all that it evaluates is known without condition."""
    maker = shape.make
    if maker.conditional_parts(shape.parts) or any(_opens(part) for part in shape.parts):
        return False
    closing = [part for part in shape.parts if "unevaluatedProperties" in part]
    return bool(closing) and all(
        NEVER in part["unevaluatedProperties"] and len(maker.parts((part,))) == len(shape.parts) for part in closing
    )


def _opens(part: Node) -> bool:
    return "additionalProperties" in part or "patternProperties" in part


def is_forbidden(shape: ObjectShape, name: str) -> bool:
    """Return whether one of the schemas of an object allows no property of a name that another one declares."""
    return any(
        NEVER in part.get("properties", {}).get(name, ())
        or (_closes(part, "additionalProperties") and name not in part.get("properties", {}))
        for part in shape.parts
    )


def arranged(fields: Mapping[str, Member], other: Rule | None, arguments: Rule) -> Rule:
    """Return the properties of an object in any order.

    Takes the content of each by its name, that of elements of other names (None: there are none), and the elements
    `argument` among each other.
    """
    tags = [name for name in fields if name not in _argument_names(fields) and _KNOWN_NAME.fullmatch(name)]
    named = [_as_often(element(name, fields[name].rule), fields[name].required) for name in tags]
    others = [any_number(element_but((*tags, FORGE.argument), other))] if other else []
    return interleave(*named, *others, arguments)


def _as_often(rule: Rule, required: bool) -> Rule:
    if required:
        return rule
    return EMPTY if rule.children[-1] == NOT_ALLOWED else optional(rule)


def arguments(fields: Mapping[str, Member]) -> list[Member]:
    """Return the properties that stand in elements `argument`: those whose names are no XML names, and that name."""
    members = [Member(_argument(name, fields[name].rule), fields[name].required) for name in _argument_names(fields)]
    return [each for each in members if each.required or each.rule.children[-1] != NOT_ALLOWED]


def _argument_names(fields: Mapping[str, Member]) -> list[str]:
    """The names of properties that stand in elements `argument`."""
    return [name for name, field in fields.items() if name == FORGE.argument or field.hidden or not is_xml_name(name)]


def _argument(name: str, content: Rule) -> Rule:
    if name == FORGE.argument:
        return element(name, content)
    return element(FORGE.argument, attribute(FORGE.argument_name, value(name, "string")), content)


def other_argument(names: Iterable[str], content: Rule) -> Rule:
    """Return an element `argument` that has none of the names. Without an attribute its own name is its name."""
    names = list(names)
    name = attribute(FORGE.argument_name, data("token", but=(name for name in names if name != FORGE.argument)))
    return element(FORGE.argument, name if FORGE.argument in names else optional(name), content)


def in_any_order(members: Sequence[Member], others: Rule) -> Rule:
    """Return the members in any order, each at most once, with `others` everywhere between them.

    `interleave` cannot tell apart what only an attribute does, so the orders are written out, if they aren't too many.
    """
    if len(members) > MAX_ORDERED:
        return any_number(choice(*(member.rule for member in members), *others.children))
    ways = [
        group(others, member.rule, in_any_order([*members[:at], *members[at + 1 :]], others))
        for at, member in enumerate(members)
    ]
    return choice(*ways) if any(member.required for member in members) else choice(others, *ways)
