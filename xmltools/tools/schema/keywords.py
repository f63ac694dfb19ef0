"""The keywords of JSON Schema that a value can fail at: one small generator each, and the table of all of
them.

A function takes (context, the keyword's own value, node, value, path) and yields problems, and requests to check other
values or nodes (`requests`). Generators, so that asking only *whether* a value fits stops at the first problem.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sized
from fractions import Fraction
from typing import Any

from xmltools.tools.schema.context import Ask, Context, Steps, Sub
from xmltools.tools.schema.document import NEVER, Node
from xmltools.tools.schema.equality import (
    ABSENT,
    Path,
    Problem,
    comparable,
    describe,
    equal,
    fits_type,
    is_one_of,
    listed,
)

# Any value


def _type(_: Context, names: list[str], node: Node, value: Any, path: Path) -> Steps:
    if not is_one_of(value, names):
        expected = "one of " + listed(node["enum"]) if "enum" in node else " or ".join(names)
        yield Problem(path, expected, describe(value))


def _never(_: Context, __: bool, node: Node, value: Any, path: Path) -> Steps:
    yield Problem(path, "nothing of this name", describe(value))


def _enum(_: Context, values: list[Any], node: Node, value: Any, path: Path) -> Steps:
    wanted = comparable(value)
    if not any(comparable(each) == wanted for each in values):
        yield Problem(path, "one of " + listed(values), describe(value))


def _const(_: Context, constant: Any, node: Node, value: Any, path: Path) -> Steps:
    if not equal(constant, value):
        yield Problem(path, describe(constant), describe(value))


def _ref(context: Context, _: str, node: Node, value: Any, path: Path) -> Steps:
    yield Sub(context.document.target(node), value, path)


def _all_of(context: Context, nodes: list[Node], node: Node, value: Any, path: Path) -> Steps:
    for each in nodes:
        yield Sub(each, value, path)


def _any_of(context: Context, nodes: list[Node], node: Node, value: Any, path: Path) -> Steps:
    for each in nodes:
        if (yield Ask(each, value)):
            return
    likely = yield from context.choose(nodes, value)
    if likely is None:
        yield Problem(path, context.expectation({"anyOf": nodes}), describe(value))
    else:
        yield Sub(likely, value, path)


def _one_of(context: Context, nodes: list[Node], node: Node, value: Any, path: Path) -> Steps:
    fitting = 0
    for each in nodes:
        fitting += bool((yield Ask(each, value)))
    if not fitting:
        yield from _any_of(context, nodes, node, value, path)
    elif fitting > 1:
        yield Problem(path, f"something that fits exactly one alternative, not {fitting}", describe(value))


def _not(context: Context, other: Node, node: Node, value: Any, path: Path) -> Steps:
    if (yield Ask(other, value)):
        yield Problem(path, f"anything but {context.expectation(other)}", describe(value))


def _if(context: Context, condition: Node, node: Node, value: Any, path: Path) -> Steps:
    branch = node.get("then" if (yield Ask(condition, value)) else "else")
    if branch is not None:
        yield Sub(branch, value, path)


# Strings and numbers


def _pattern(context: Context, text: str, node: Node, value: Any, path: Path) -> Steps:
    pattern = context.document.patterns.get(text)
    if pattern and isinstance(value, str) and not pattern.found(value):
        if len(value) > pattern.longest:
            yield Problem(path, f"at most {pattern.longest} characters", f"{len(value)}")
        else:
            yield Problem(path, f"text that matches {text}", describe(value))


def _format(_: Context, name: str, node: Node, value: Any, path: Path) -> Steps:
    from xmltools.tools.schema.string_formats import FORMATS  # only here: few schemas have formats

    check = FORMATS.get(name)
    if check and isinstance(value, str) and not check(value):
        yield Problem(path, f"text of the format {name}", describe(value))


def _at_least(kind: type[Sized], words: str) -> Check:
    def check(_: Context, least: int, node: Node, value: Any, path: Path) -> Steps:
        if isinstance(value, kind) and len(value) < least:
            yield Problem(path, f"at least {least} {words}", describe(value) if kind is str else f"{len(value)}")

    return check


def _at_most(kind: type[Sized], words: str) -> Check:
    def check(_: Context, most: int, node: Node, value: Any, path: Path) -> Steps:
        if isinstance(value, kind) and len(value) > most:
            yield Problem(path, f"at most {most} {words}", f"{len(value)}")

    return check


def _bound(words: str, holds: Callable[[Any, Any], bool]) -> Check:
    def check(_: Context, limit: float, node: Node, value: Any, path: Path) -> Steps:
        if fits_type(value, "number") and not holds(value, limit):
            yield Problem(path, f"a number {words} {limit}", describe(value))

    return check


def _fraction(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _multiple_of(_: Context, unit: float, node: Node, value: Any, path: Path) -> Steps:
    # Decimal digits decide, as the schema's author wrote them: 0.3 is a multiple of 0.1.
    if fits_type(value, "number") and _fraction(value) % _fraction(unit):
        yield Problem(path, f"a multiple of {unit}", describe(value))


# Lists


def _items(context: Context, item: Node, node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, list):
        types = context.document.plain.get(id(item))
        for number in range(len(node.get("prefixItems", ())), len(value)):
            if types is None or not is_one_of(value[number], types):  # the short way for most items
                yield Sub(item, value[number], (*path, number))


def _prefix_items(context: Context, nodes: list[Node], node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, list):
        for number, (each, item) in enumerate(zip(nodes, value, strict=False)):
            yield Sub(each, item, (*path, number))


def _contains(context: Context, wanted: Node, node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, list):
        found = 0
        for item in value:
            found += bool((yield Ask(wanted, item)))
        least, most = node.get("minContains", 1), node.get("maxContains", found)
        if not least <= found <= most:
            bounds = f"at least {least}" if found < least else f"at most {most}"
            yield Problem(path, f"{bounds} items that are {context.expectation(wanted)}", f"{found}")


def _unique_items(_: Context, unique: bool, node: Node, value: Any, path: Path) -> Steps:
    if unique and isinstance(value, list):
        seen: set[Any] = set()
        for number, item in enumerate(value):
            key = comparable(item)
            if key in seen:
                yield Problem((*path, number), "no item twice", describe(item))
                return
            seen.add(key)


# Objects


def _properties(context: Context, nodes: dict[str, Node], node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, dict):
        plain = context.document.plain
        for name, wanted in nodes.items():
            if name in value:
                types = plain.get(id(wanted))
                if types is None or not is_one_of(value[name], types):  # the short way for most properties
                    yield Sub(wanted, value[name], (*path, name))


def _patterned(context: Context, nodes: dict[str, Node], node: Node, value: Any, path: Path) -> Steps:
    for name in value if isinstance(value, dict) else ():
        for text, wanted in nodes.items():
            pattern = context.document.patterns.get(text)
            if pattern and pattern.found(name):
                yield Sub(wanted, value[name], (*path, name))
            elif pattern and len(name) > pattern.longest:
                yield Problem((*path, name), f"a name of at most {pattern.longest} characters", f"{len(name)}")


def _additional(context: Context, other: Node, node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, dict):
        patterns = node.get("patternProperties", ())
        declared = node.get("properties", {})
        for name in value:
            if name not in declared and not context.document.matching(patterns, name):
                yield Sub(other, value[name], (*path, name))


def _property_names(context: Context, wanted: Node, node: Node, value: Any, path: Path) -> Steps:
    for name in value if isinstance(value, dict) else ():
        if not (yield Ask(wanted, name)):
            for problem in context.explained(wanted, name):
                yield Problem((*path, name), f"a name that is {problem.expected}", problem.got)


def _required(context: Context, names: list[str], node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                wanted = node.get("properties", {}).get(name, {})
                yield Problem((*path, name), context.expectation(wanted), describe(ABSENT))


def _dependent_required(context: Context, names: dict[str, list[str]], node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, dict):
        for name in filter(value.__contains__, names):
            yield from _required(context, names[name], node, value, path)


def _dependent_schemas(context: Context, nodes: dict[str, Node], node: Node, value: Any, path: Path) -> Steps:
    if isinstance(value, dict):
        for name in filter(value.__contains__, nodes):
            yield Sub(nodes[name], value, path)


# What the schemas of a value have looked at: `unevaluatedProperties` and `unevaluatedItems` get the rest


def _unevaluated(kind: type[dict[str, Any]] | type[list[Any]]) -> Check:
    def check(context: Context, other: Node, node: Node, value: Any, path: Path) -> Steps:
        if isinstance(value, kind):
            evaluated = yield from _evaluated(context, node, value)
            places: Iterable[Any] = value if isinstance(value, dict) else range(len(value))
            for place in places:
                if place not in evaluated:
                    yield Sub(other, value[place], (*path, place))

    return check


def _evaluated(
    context: Context, node: Node, value: dict[str, Any] | list[Any]
) -> Generator[Ask, bool | None, frozenset[Any]]:
    """Return the properties or positions in `value` that `node`, or what applies with it, describes."""
    is_object = isinstance(value, dict)
    others, rest = ("additionalProperties", "unevaluatedProperties") if is_object else ("items", "unevaluatedItems")
    every = frozenset(value if is_object else range(len(value)))
    if others in node:
        return every
    key = id(node), id(value)
    known: frozenset[Any] | None = context.evaluated.get(key)
    if known is not None:
        return known
    found: set[Any] = set()
    if isinstance(value, dict):
        patterns = node.get("patternProperties", ())
        found |= {name for name in value if name in node.get("properties", ())}
        found |= {name for name in value if patterns and context.document.matching(patterns, name)}
    else:
        found |= set(range(min(len(value), len(node.get("prefixItems", ())))))
        for number, item in enumerate(value if "contains" in node else ()):
            if (yield Ask(node["contains"], item)):
                found.add(number)
    for each in (yield from _applied(context, node, value)):
        found |= every if rest in each else (yield from _evaluated(context, each, value))
    context.evaluated[key] = frozenset(found)
    return frozenset(found)


def _applied(context: Context, node: Node, value: Any) -> Generator[Ask, bool | None, list[Node]]:
    """Return the nodes that apply to the same value and that it fits."""
    nodes = [each for word in ("allOf", "anyOf", "oneOf") for each in node.get(word, ())]
    if "$ref" in node:
        nodes.append(context.document.target(node))
    if "if" in node:
        nodes.append(node["if"])
        nodes.append(node.get("then" if (yield Ask(node["if"], value)) else "else", {}))
    nodes += (each for name, each in node.get("dependentSchemas", {}).items() if name in value)
    fitting = []
    for each in nodes:
        if (yield Ask(each, value)):
            fitting.append(each)  # noqa: PERF401 - no comprehension may yield
    return fitting


Check = Callable[[Context, Any, Node, Any, Path], Steps]

CHECKS: dict[str, Check] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "$ref": _ref,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "minLength": _at_least(str, "characters"),
    "maxLength": _at_most(str, "characters"),
    "pattern": _pattern,
    "format": _format,
    "minimum": _bound("of at least", lambda value, limit: value >= limit),
    "maximum": _bound("of at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": _bound("above", lambda value, limit: value > limit),
    "exclusiveMaximum": _bound("below", lambda value, limit: value < limit),
    "multipleOf": _multiple_of,
    "minItems": _at_least(list, "items"),
    "maxItems": _at_most(list, "items"),
    "items": _items,
    "prefixItems": _prefix_items,
    "unevaluatedItems": _unevaluated(list),
    "contains": _contains,
    "uniqueItems": _unique_items,
    "properties": _properties,
    "patternProperties": _patterned,
    "additionalProperties": _additional,
    "unevaluatedProperties": _unevaluated(dict),
    "propertyNames": _property_names,
    "required": _required,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "minProperties": _at_least(dict, "properties"),
    "maxProperties": _at_most(dict, "properties"),
    NEVER: _never,
}
