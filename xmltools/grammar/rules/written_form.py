"""How a dialect's calls are written: which of its forms, and the literal text of each part.

A grammar can be made for a dialect if its parts, put together, are the example in its record. A name can be said in it
if the parser reads it back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from xmltools.dialects import Body, Dialect
from xmltools.dialects import all as all_dialects
from xmltools.errors import XMLToolsError
from xmltools.parser import parse
from xmltools.render.example_calls import misread
from xmltools.render.writable import ORDINARY_NAME, escape_name
from xmltools.tools import Tool


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """One form of a dialect, and the texts that its calls consist of. `json`: the arguments are an object of JSON."""

    dialect: Dialect

    @property
    def json(self) -> bool:
        """Whether the arguments are an object of JSON."""
        return self.dialect.pairs is None or self.dialect.pairs.json

    @property
    def begins_itself(self) -> bool:
        """Whether a call's own mark, or the call itself, is what begins a block."""
        pairs = self.dialect.pairs
        return self.dialect.is_bare or (pairs is not None and pairs.name == self.dialect.opener)

    @property
    def trigger(self) -> str:
        """The mark with which a block begins; empty if a call has none."""
        return "" if self.dialect.is_bare else self.dialect.opener

    def head(self, name: str) -> tuple[str, ...]:
        """Return what a call begins with, up to its arguments. White space may stand between the parts."""
        pairs = self.dialect.pairs
        if pairs is None:
            keys = (self.dialect.json_tool_name[0], self.dialect.json_arguments[0])
            said, arguments = (json.dumps(key) for key in keys)
            return "{", said, ":", json.dumps(name, ensure_ascii=False), ",", arguments, ":"
        if pairs.name_attribute:
            text = f'{pairs.name_start}{pairs.name_attribute}="{escape_name(name)}"{pairs.name_end}'
        else:
            text = f"{pairs.name}{name}{pairs.name_end}"
        return (text.removeprefix(self.dialect.opener) if self.begins_itself else text,)

    def key(self, name: str, *, is_text: bool) -> tuple[str, ...]:
        """Return what stands before a value. White space may stand between the parts."""
        pairs = self.dialect.pairs
        assert pairs is not None
        if not pairs.key_attribute:
            return tuple(filter(None, (f"{pairs.key}{name}{pairs.key_end}", pairs.value)))
        kind = f' {pairs.kind}="{str(is_text).lower()}"' if pairs.kind else ""
        return (f'{pairs.key_start}{pairs.key_attribute}="{escape_name(name)}"{kind}{pairs.key_end}',)

    @property
    def tail(self) -> str:
        """What ends a call, after its arguments; empty if nothing does."""
        return "}" if self.dialect.pairs is None else self.dialect.pairs.end

    def sample(self, name: str, key: str, value: str, *, is_text: bool) -> str:
        """Return a reply with one call, without white space."""
        pairs = self.dialect.pairs
        if pairs is None or pairs.json:
            given = json.dumps(value, ensure_ascii=False) if is_text else value
            arguments: tuple[str, ...] = ("{", json.dumps(key, ensure_ascii=False), ":", given, "}")
        else:
            arguments = (*self.key(key, is_text=is_text), value, pairs.value_end)
        return "".join((self.trigger, *self.head(name), *arguments, self.tail, self.dialect.closer))


@lru_cache(maxsize=64)
def written_form(dialect: Dialect) -> WrittenForm:
    """Return the form of a dialect in which a grammar writes calls. Raises XMLToolsError if it writes none."""
    found = _form_of(dialect)
    if found is None or misread(dialect.example, dialect):
        _refuse(dialect)
    return found


def _form_of(dialect: Dialect) -> WrittenForm | None:
    example = "".join(dialect.example.split())
    return next((form for form in _candidates(dialect) if "".join(_sample(form).split()) == example), None)


def _candidates(dialect: Dialect) -> list[WrittenForm]:
    """The forms of a dialect of the kinds that have rules."""
    return [WrittenForm(form) for form in dialect.forms if _is_known_kind(form)]


def _is_known_kind(form: Dialect) -> bool:
    if form.body is Body.JSON:
        return not form.json_name_is_key
    pairs = form.pairs
    return form.body is Body.PAIRS and pairs is not None and not (pairs.python or pairs.quote or pairs.tag_mark)


def _sample(form: WrittenForm) -> str:
    """Return the call of `get` with `n` = 1."""
    return form.sample("get", "n", "1", is_text=False)


def _refuse(dialect: Dialect) -> NoReturn:
    """Raise the error that says why there is no grammar."""
    name, example = repr(dialect.name), dialect.example
    readable = (sample for form in _candidates(dialect) if not misread(sample := _sample(form), dialect))
    sample = next(readable, "")
    so = sample and f", as example={sample!r}"
    if _candidates(dialect) and not example:
        raise XMLToolsError(
            f"dialect: the record of {name} has no `example`, by which a grammar knows in which form calls are "
            f"written; give it a call of the tool `get` with `n` = 1{so}"
        )
    if example and (found := misread(example, dialect)):
        raise XMLToolsError(
            f"dialect: the `example` of {name} is not read as a call of the tool `get` with `n` = 1; it is "
            f"{example!r}, and read as {found}. Give it such a call{so}"
        )
    why = f": a grammar would write {sample!r}, where its `example` has {example!r}" if sample else ""
    names = ", ".join(each.name for each in all_dialects() if each.body is Body.ELEMENTS or _form_of(each))
    raise XMLToolsError(f"dialect: no grammar can be made for calls in {name}{why}; there are: {names}")


# Names


def refuse_unreadable(form: WrittenForm, name: str, what: str) -> None:
    """Raise XMLToolsError for the name of a tool or an argument that no call in this form can say.

    `what` has it: "a tool" or "an argument".
    """
    if not ORDINARY_NAME.fullmatch(name) and not _is_readable(form, name, what == "a tool"):
        raise XMLToolsError(
            f"{name!r:.80} is no name for {what} that a call in {form.dialect.name!r} could say; "
            "rename it, or use another dialect"
        )


def _is_readable(form: WrittenForm, name: str, is_tool: bool) -> bool:
    tool, key = (name, "n") if is_tool else ("get", name)
    if form.json and not is_tool:
        return True
    try:
        known = Tool(name=tool, parameters={"type": "object", "properties": {key: {"type": "string"}}})
        calls = parse(form.sample(tool, key, "x", is_text=True), [known], dialect=form.dialect).calls
    except XMLToolsError:
        return False
    return [(call.name, call.arguments, call.clean) for call in calls] == [(tool, {key: "x"}, True)]
