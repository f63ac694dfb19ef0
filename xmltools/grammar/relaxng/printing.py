"""The XML of a RELAX NG schema: its patterns as small trees, and how they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xmltools.syntax.markup import find_forbidden

NAMESPACE = "http://relaxng.org/ns/structure/1.0"
DATATYPES = "http://www.w3.org/2001/XMLSchema-datatypes"
_SPECIAL = re.compile('[&<>"\t\n\r]')
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Rule(NamedTuple):
    """An element of the schema. One with text has no children."""

    tag: str
    attributes: tuple[tuple[str, str], ...] = ()
    children: tuple[Rule, ...] = ()
    text: str | None = None


TEXT = Rule("text")
EMPTY = Rule("empty")
NOT_ALLOWED = Rule("notAllowed")


def is_in_xml(text: str) -> bool:
    """Return whether XML has all characters of a text."""
    return find_forbidden(text, 0, len(text)) < 0


def element(name: str, *content: Rule) -> Rule:
    """Return the pattern of an element."""
    return Rule("element", (("name", name),), content)


def element_but(names: Iterable[str], *content: Rule) -> Rule:
    """Return the pattern of an element of any other name."""
    but = tuple(Rule("name", text=name) for name in names)
    return Rule(
        "element", children=(Rule("anyName", children=(Rule("except", children=but),) if but else ()), *content)
    )


def attribute(name: str, content: Rule) -> Rule:
    """Return the pattern of an attribute."""
    return Rule("attribute", (("name", name),), (content,))


def value(text: str, type: str = "token") -> Rule:
    """Return the pattern of just this text; white space around it does not count for a token."""
    return Rule("value", (("type", type),), text=text)


def data(type: str, *facets: tuple[str, str], but: Iterable[str] = ()) -> Rule:
    """Return the pattern of a text of a type, with facets; `but` are tokens that it must not be."""
    params = tuple(Rule("param", (("name", name),), text=text) for name, text in facets)
    others = tuple(value(each) for each in but)
    return Rule("data", (("type", type),), params + ((Rule("except", children=others),) if others else ()))


def reference(name: str) -> Rule:
    """Return a reference to a definition."""
    return Rule("ref", (("name", name),))


def define(name: str, content: Rule) -> Rule:
    """Return a definition."""
    return Rule("define", (("name", name),), (content,))


def optional(rule: Rule) -> Rule:
    """Return the pattern or nothing."""
    return rule if rule == EMPTY else EMPTY if rule == NOT_ALLOWED else Rule("optional", children=(rule,))


def any_number(rule: Rule) -> Rule:
    """Return the pattern as often as you like."""
    return Rule("zeroOrMore", children=(rule,))


def choice(*rules: Rule) -> Rule:
    """Return any of the patterns, each once."""
    flat = dict.fromkeys(each for rule in rules for each in (rule.children if rule.tag == "choice" else (rule,)))
    flat.pop(NOT_ALLOWED, None)
    return _together("choice", tuple(flat), NOT_ALLOWED)


def group(*rules: Rule) -> Rule:
    """Return the patterns one after the other."""
    flat = tuple(each for rule in rules for each in (rule.children if rule.tag == "group" else (rule,)))
    return NOT_ALLOWED if NOT_ALLOWED in flat else _together("group", _filled(flat), EMPTY)


def interleave(*rules: Rule) -> Rule:
    """Return the patterns in any order."""
    return NOT_ALLOWED if NOT_ALLOWED in rules else _together("interleave", _filled(rules), EMPTY)


def _filled(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    return tuple(each for each in rules if each != EMPTY)


def _together(tag: str, rules: tuple[Rule, ...], otherwise: Rule) -> Rule:
    return Rule(tag, children=rules) if len(rules) > 1 else rules[0] if rules else otherwise


def comment(text: str) -> Rule:
    """Return a comment: what a comment cannot hold is changed."""
    return Rule("!--", text=_NO_XML.sub("\ufffd", re.sub("-(?=-)", "- ", text)))


NIL = group(attribute("nil", value("true")), EMPTY)


def grammar(note: str, start: Rule, definitions: Iterable[Rule]) -> Rule:
    """Return a whole schema, with a comment at its top."""
    names = (("xmlns", NAMESPACE), ("datatypeLibrary", DATATYPES))
    return Rule("grammar", names, (comment(note), Rule("start", children=(start,)), *definitions))


def printed(rule: Rule) -> str:
    """Return a pattern as XML, indented, with a line break at its end."""
    return "".join(f"{line}\n" for line in _lines(rule, ""))


def _lines(rule: Rule, indent: str) -> Iterator[str]:
    if rule.tag == "!--":
        yield f"{indent}<!-- {rule.text} -->"
        return
    start = rule.tag + "".join(f' {name}="{_escaped(text)}"' for name, text in rule.attributes)
    if rule.text is not None:
        yield f"{indent}<{start}>{_escaped(rule.text)}</{rule.tag}>"
    elif not rule.children:
        yield f"{indent}<{start}/>"
    else:
        yield f"{indent}<{start}>"
        for child in rule.children:
            yield from _lines(child, indent + "  ")
        yield f"{indent}</{rule.tag}>"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _REFERENCES[match[0]], text)
