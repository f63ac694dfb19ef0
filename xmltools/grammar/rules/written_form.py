"""How a dialect's calls are written: which of its forms, and the literal text of each part.

The text around the name of the tool and around the arguments is cut out of the example in the dialect's record, so that
whatever a notation has there needs no rules. A name can be said in a dialect if the parser reads it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NoReturn

from xmltools.dialects import Body, Dialect
from xmltools.dialects import all as all_dialects
from xmltools.errors import XMLToolsError
from xmltools.parser import parse
from xmltools.render.example_calls import misread
from xmltools.render.writable import ORDINARY_NAME, escape_name
from xmltools.tools import Tool

Part = tuple[str, ...]
"""Texts with a number between each two, which counts the calls of a reply: any number will do."""

_NAME = "\0"
"""A placeholder for the name of the tool."""
_EXAMPLE_NAME = re.compile(r"(?<!\w)get(?!\w)")
_COUNT = re.compile(r"(?<!\w)[0-9]+(?!\w)")
_JSON_TOKEN = re.compile(r'"[^"]*"|[^\s"]')
_PYTHON_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """One form of a dialect, and the texts that its calls consist of."""

    dialect: Dialect
    before: str = ""
    """The text between the delimiter with which a block begins and the arguments, with `_NAME` in it."""
    after: str = ""
    """The text between the arguments and the delimiter with which a block ends."""
    is_list: bool = False
    """Whether calls are in brackets, with commas between them."""
    is_counted: bool = False
    """Whether numbers in these texts count calls."""

    @property
    def json(self) -> bool:
        """Whether the arguments are one object, in JSON or in a notation like it."""
        return self.dialect.pairs is None or self.dialect.pairs.json

    @property
    def quote(self) -> str:
        """The marks around strings in place of quotes; empty if they are JSON's."""
        return "" if self.dialect.pairs is None else self.dialect.pairs.quote

    @property
    def python(self) -> bool:
        """Whether calls and values are written in Python."""
        return self.dialect.pairs is not None and self.dialect.pairs.python

    @property
    def tag_mark(self) -> str:
        """The token before each tag, where arguments are elements; otherwise empty."""
        return "" if self.dialect.pairs is None else self.dialect.pairs.tag_mark

    @property
    def kinds(self) -> tuple[str, str]:
        """What the attribute of an argument calls text, and a number; empty if there is no such attribute."""
        if self.dialect.pairs is None or not self.dialect.pairs.kind:
            return "", ""
        return ("string", "number") if self.dialect.pairs.kind == "type" else ("true", "false")

    @property
    def trigger(self) -> str:
        """The delimiter with which a block begins; empty if a call has none."""
        return "" if self.dialect.is_bare else self.dialect.opener

    @property
    def opening(self) -> str:
        """What begins a list of calls, after the trigger."""
        return "[" if self.is_list and not self.trigger.endswith("[") else ""

    @property
    def closing(self) -> str:
        """What ends a list of calls."""
        return "]" if self.is_list else ""

    def head(self, name: str) -> tuple[Part, ...]:
        """Return what a call begins with, up to its arguments. White space may come between the parts."""
        if self.dialect.pairs is None:
            name = json.dumps(name, ensure_ascii=False)[1:-1]
        elif self.dialect.pairs.name_attribute:
            name = escape_name(name)
        return tuple(tuple(text.replace(_NAME, name) for text in part) for part in self._parts(self.before))

    @property
    def tail(self) -> tuple[Part, ...]:
        """What ends a call after its arguments. White space may come between the parts."""
        return self._parts(self.after)

    def _parts(self, text: str) -> tuple[Part, ...]:
        parts = _JSON_TOKEN.findall(text) if self.dialect.pairs is None else [text] if text else []
        return tuple(tuple(_COUNT.split(part)) if self.is_counted else (part,) for part in parts)

    def key(self, name: str, kind: str) -> tuple[str, ...]:
        """Return the text before a value of a kind (`kinds`). White space may come between the parts."""
        pairs = self.dialect.pairs
        assert pairs is not None
        if pairs.tag_mark:
            return (f"{pairs.tag_mark}<{name}>",)
        if not pairs.key_attribute:
            return tuple(filter(None, (f"{pairs.key}{name}{pairs.key_end}", pairs.value)))
        said = f' {pairs.kind}="{kind}"' if pairs.kind else ""
        return (f'{pairs.key_start}{pairs.key_attribute}="{escape_name(name)}"{said}{pairs.key_end}',)

    @property
    def value_end(self) -> str:
        """The delimiter that ends a value."""
        assert self.dialect.pairs is not None
        return self.tag_mark or self.dialect.pairs.value_end

    def after_value(self, name: str) -> str:
        """Return what follows the delimiter that ends the value of an argument."""
        return f"</{name}>" if self.tag_mark else ""

    def arguments(self, key: str, value: str, kind: str) -> tuple[str, ...]:
        """Return the arguments with one value, as it is written. White space may come between the parts."""
        if self.python:
            return key, "=", value
        if self.json:
            return "{", key if self.quote else json.dumps(key, ensure_ascii=False), ":", value, "}"
        return *self.key(key, kind), value, self.value_end + self.after_value(key)

    def sample(self, name: str, key: str = "n", value: str = "1", *, is_text: bool = False, number: int = 0) -> str:
        """Return a reply with one call and one argument, without white space between its parts."""
        if is_text and self.json:
            value = f"{self.quote}{value}{self.quote}" if self.quote else json.dumps(value)
        head, tail = ("".join(map(str(number).join, parts)) for parts in (self.head(name), self.tail))
        inner = "".join(self.arguments(key, value, self.kinds[0 if is_text else 1]))
        return f"{self.trigger}{self.opening}{head}{inner}{tail}{self.closing}{self.dialect.closer}"


@lru_cache(maxsize=64)
def written_form(dialect: Dialect) -> WrittenForm:
    """Return the form of a dialect in which a grammar writes calls. Raises XMLToolsError if it writes none."""
    found = _form_of(dialect)
    if found is None or misread(dialect.example, dialect):
        _refuse(dialect)
    return found


def _form_of(dialect: Dialect) -> WrittenForm | None:
    """Return the form of the example, if its parts, put together again, are read as the call that it is."""
    # Where calls begin as other text does, the text beside them could not be told from a call.
    forms = (form for form in dialect.forms if form.body in (Body.JSON, Body.PAIRS) and not form.by_name)
    cuts = (_cut(form, dialect.example.strip()) for form in forms)
    for found in cuts:
        if found is not None and not misread(found.sample("get"), dialect):
            counted = replace(found, is_counted=_COUNT.search(found.before + found.after) is not None)
            return counted if not misread(counted.sample("get", number=7), dialect) else found
    return None


def _cut(form: Dialect, example: str) -> WrittenForm | None:
    """Return the texts of an example; None if it is not in this form."""
    written = WrittenForm(form)
    start, end = written.trigger, form.closer
    if not (example.startswith(start) and example.endswith(end)):
        return None
    arguments = r"\s*".join(map(re.escape, written.arguments("n", "1", written.kinds[1])))
    parts = re.split(rf"\b{arguments}" if written.python else arguments, example[len(start) : len(example) - len(end)])
    if len(parts) != 2:
        return None
    before, after = _EXAMPLE_NAME.sub(_NAME, parts[0].lstrip()), parts[1].strip()
    if (form.pairs is None or form.pairs.python) and (start.endswith("[") or before.startswith("[")):
        written = replace(written, is_list=True)
        before, after = before[len(written.opening) :].lstrip(), after.removesuffix("]").rstrip()
    if before.count(_NAME) != 1 or not _has_marks(form, start, before, after):
        return None
    size = before.index(_NAME) + len(_NAME) + len(form.pairs.name_end if form.pairs is not None else "")
    return replace(written, before=before[:size] + before[size:].rstrip(), after=after)


def _has_marks(form: Dialect, start: str, before: str, after: str) -> bool:
    """Return whether the text around the arguments has what a call in this form needs."""
    if form.pairs is None:
        try:
            return isinstance(json.loads(f"{before}{{}}{after}".replace(_NAME, "get")), dict)
        except ValueError:
            return False
    first, _, last = (start + before).partition(_NAME)
    attribute = f'{form.pairs.name_attribute}="' if form.pairs.name_attribute else ""
    has_name = f"{form.pairs.name_start}{attribute}" in first and form.pairs.name_end in last
    return has_name and form.pairs.end in after


def _by_record(form: Dialect) -> WrittenForm | None:
    """Return a form with the texts that the record says, as far as it does: of a dialect without an example."""
    pairs = form.pairs
    if form.body is Body.JSON:
        name, arguments = (json.dumps(keys[0]) for keys in (form.json_tool_name, form.json_arguments))
        return WrittenForm(form, f'{{{name}: "{_NAME}", {arguments}: ', "}")
    if form.body is not Body.PAIRS or pairs is None:
        return None
    name = f'{pairs.name_attribute}="{_NAME}"' if pairs.name_attribute else _NAME
    before = f"{pairs.name_start}{name}{pairs.name_end}"
    if pairs.python:
        return WrittenForm(form, f"{before}(", ")")
    is_own = form.is_bare or pairs.name == form.opener
    return WrittenForm(form, before.removeprefix(form.opener) if is_own else before, pairs.end)


def _samples(dialect: Dialect) -> Iterator[str]:
    """Yield calls as the record says that they are, if they are read."""
    for form in filter(None, map(_by_record, dialect.forms)):
        if not misread(sample := form.sample("get"), dialect):
            yield sample


def _refuse(dialect: Dialect) -> NoReturn:
    """Raise the error that says why there is no grammar."""
    name, example = repr(dialect.name), dialect.example
    sample = next(_samples(dialect), "")
    so = sample and f", as example={sample!r}"
    if not example:
        raise XMLToolsError(
            f"dialect: the record of {name} has no `example`, by which a grammar knows in which form calls are "
            f"written; give it a call of the tool `get` with `n` = 1{so}"
        )
    if found := misread(example, dialect):
        raise XMLToolsError(
            f"dialect: the `example` of {name} is not read as a call of the tool `get` with `n` = 1; it is "
            f"{example!r}, and read as {found}. Give it such a call{so}"
        )
    why = f": a grammar would write {sample!r}, where its `example` has {example!r}" if sample else ""
    names = ", ".join(each.name for each in all_dialects() if each.body in (Body.ELEMENTS, Body.TAGS) or _form_of(each))
    raise XMLToolsError(f"dialect: no grammar can be made for calls in {name}{why}; there are: {names}")


# Names


def refuse_unreadable(form: WrittenForm, name: str, what: str) -> None:
    """Raise XMLToolsError for the name of a tool or an argument that no call in this form can say.

    `what` has it: "a tool" or "an argument".
    """
    if not is_readable(form, name, is_tool=what == "a tool"):
        raise XMLToolsError(
            f"{name!r:.80} is no name for {what} that a call in {form.dialect.name!r} could say; "
            "rename it, or use another dialect"
        )


@lru_cache(maxsize=1024)
def is_readable(form: WrittenForm, name: str, *, is_tool: bool = False) -> bool:
    """Return whether the name of an argument, or of a tool, is read back as it is."""
    plain = _PYTHON_NAME if form.python else ORDINARY_NAME
    if plain.fullmatch(name) and not (form.python or form.tag_mark):
        return True
    if form.json and not is_tool and not (form.quote or form.python):
        return True
    tool, key = (name, "n") if is_tool else ("get", name)
    try:
        known = Tool(name=tool, parameters={"type": "object", "properties": {key: {"type": "string"}}})
        calls = parse(form.sample(tool, key, "x", is_text=True), [known], dialect=form.dialect).calls
    except XMLToolsError:
        return False
    return [(call.name, call.arguments, call.clean) for call in calls] == [(tool, {key: "x"}, True)]
