"""A dialect: how a model spells its calls. Strings only; the readers in `xmltools.parser` do the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from typing import Any

from xmltools.errors import Code, XMLToolsError

_TOKEN = re.compile("[|｜▁]|<\\]|:tool_call")
"""What is in a token, and not in other tags."""


class Body(StrEnum):
    """What a call consists of, and so which reader reads it."""

    ELEMENTS = "elements"
    """Nested XML elements, or a JSON object in their place."""
    TAGS = "tags"
    """As elements, but the element of a call is named as its tool, and its content is the arguments."""
    PAIRS = "pairs"
    """The tool's name, then names and values of arguments between literal marks."""
    JSON = "json"
    """A JSON object with the name of the tool and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The marks of a call that is a name and arguments: names and values, with text between the marks, or JSON.

    The name of the tool is between `name` and `name_end`; without `name_end` it is the text up to a line break or a
    mark.
    """

    name: str = ""
    """The mark before the name of the tool; empty if the block's start mark stands there."""
    name_end: str = ""
    """The mark after the name of the tool. Without it the name goes up to a line break or the next mark."""
    may_lack_name_end: bool = False
    """Whether the first argument, or the end of the arguments, may end the name too: `<call>get<sep><key>n…` and
    `<call>get<key>n…`."""
    name_attribute: str = ""
    """The attribute that says the name, if `name` and `name_end` are the ends of a tag with attributes."""
    name_pattern: str = ""
    """A regular expression for what stands between `name` and `name_end`, whose group `name` is the name."""
    loose_name_pattern: str = ""
    """Another one, which counts where only its group `name` is the name of a given tool (`decorated_name`)."""
    end: str = ""
    """Ends the arguments. Without it the block's own end mark does, so that a call without that was cut off."""
    other_ends: tuple[str, ...] = ()
    """Other marks that end the arguments as well."""
    json: bool = False
    """Whether the arguments are a JSON object, which ends with its own brace."""
    python: bool = False
    """Whether they are those of a call in Python instead: `NAME(key=value)`. Calls may be in a list, or follow each
    other."""
    quote: str = ""
    """What stands around strings in place of quotes; nothing in them is escaped, and keys have no quotes at all."""
    key: str = ""
    """The mark before the name of an argument."""
    key_end: str = ""
    """The mark after the name of an argument."""
    key_attribute: str = ""
    """As `name_attribute`, for the name of an argument."""
    kind_start: str = ""
    """The mark before the type of a value, if that may stand between `key_end` and `value`; see `kind`."""
    kind_end: str = ""
    """The mark after the type of a value."""
    kind: str = ""
    """The attribute beside `key_attribute` that says whether the value is text: `string` or `true`. Others are JSON."""
    value: str = ""
    """Begins the value, if that is not right after `key_end`."""
    value_end: str = ""
    """The mark after a value."""
    object: str = ""
    """The mark before a JSON object with all arguments, which may stand in place of the pairs."""
    object_end: str = ""
    """The mark after such an object."""
    cdata: bool = False
    """Whether a value that begins with `<![CDATA[` ends with `]]>`, and is what stands between the two."""
    tag_mark: str = ""
    """A token that stands before each tag of the call, whose arguments are elements that are named as they are, and may
    contain others. With `~` a call may look like this: `~<call name="get">~<n>1~</n>~</call>`."""
    framing: bool = False
    """Whether one line break on each side of a value only lays it out: `<value>\\n1\\n</value>` says 1."""
    bare: bool = False
    """Whether a call may begin with `name`, without the block's start mark."""

    @property
    def ends(self) -> tuple[str, ...]:
        """The marks that end the arguments."""
        return (self.end, *self.other_ends) if self.end else ()

    @property
    def nameless(self) -> str:
        """The mark of a call that says no name: `<invoke>` for `<invoke name="get">`; empty if there is none."""
        return self.name[:-1] + self.name_end if self.name[-1:] in _BEFORE_NAME else ""

    @property
    def starts(self) -> tuple[str, ...]:
        """What a call may begin with by itself: `name`, as models write it, or one that says no name."""
        if not self.bare:
            return ()
        if not self.nameless:
            return (self.name,)
        before = self.name[:-1]
        others = (f"{before} =",) if self.name[-1] == "=" else (f"{before}\u0120", f"{before}{self.name_attribute}=")
        return (self.name, *others, self.nameless + self.key, f"{self.nameless}\n{self.key}")

    @property
    def name_start(self) -> str:
        """What is written before the name of the tool, up to it or to its attribute."""
        return _apart(self.name, self.name_attribute)

    @property
    def key_start(self) -> str:
        """What is written before the name of an argument, up to it or to its attribute."""
        return _apart(self.key, self.key_attribute)


_BEFORE_NAME = (" ", "=")
"""What ends a mark, if the name of a tool, or the attribute that says it, follows at once."""


def _apart(mark: str, attribute: str) -> str:
    """A mark with a blank at its end, if an attribute follows that would else be a part of it."""
    return f"{mark} " if attribute and mark and not mark[-1].isspace() else mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolList:
    """How a prompt lists the tools, as the model's chat template does."""

    form: str = "function"
    """How a tool is told: as JSON, `{"type": "function", "function": {…}}` (`function`) or only what is in that
    (`schema`); as elements of XML (`elements`); under a heading (`heading`); as Gemma's objects (`declaration`); or as
    types of TypeScript (`types`)."""
    start: str = ""
    """What stands before all tools."""
    end: str = ""
    """What stands after all tools."""
    each_start: str = ""
    """What stands before each tool."""
    each_end: str = ""
    """What stands after each tool."""
    between: str = "\n"
    """What stands between two tools."""
    indent: int | None = None
    """Blanks for each level of JSON, if it is not on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultForm:
    """How results are written, as the model's chat template does. Without marks a result is its content, and nothing
    else."""

    start: str = ""
    """What stands before all results of a turn."""
    end: str = ""
    """What stands after all results of a turn."""
    each_start: str = ""
    """What stands before each; `{name}` is the name of the tool, `{number}` how many results came before, and `{next}`
    one more."""
    each_end: str = ""
    """What stands after each. In what a result says, these marks are made harmless."""
    older: str = ""
    """The delimiters in templates of older models of the dialect, joined. They are escaped too."""
    between: str = "\n"
    """What stands between two results."""
    is_headed: bool = False
    """Whether each begins with lines as Forge's, `Tool: NAME` and `Result: `, in place of marks."""
    role: str = "user"
    """In which role the template writes them: that of users, or one of their own (`tool`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How calls, results and tools are laid out where the model's chat template writes them.

    The marks in `pairs` are written by themselves. Those with which a block begins and ends stand where they are given
    here: around all calls of a turn, or around each.
    """

    start: str = ""
    """What stands before all calls of a turn: the start mark, if it stands once for all of them."""
    end: str = ""
    """What stands after all calls of a turn."""
    call_start: str = ""
    """What stands before each call: the start mark, if each has one, and white space; not the `name` of `pairs`."""
    call_end: str = ""
    """What stands after each call."""
    between: str = "\n"
    """What stands between two calls."""
    before: str = "\n"
    """What stands between text or reasoning and the calls of a message."""
    after_name: str = ""
    """White space after the name of the tool, in a call of pairs."""
    after_key: str = ""
    """White space after the name of an argument and its mark."""
    around_value: str = ""
    """White space before and after a value, inside its marks."""
    after_value: str = ""
    """White space after the mark that ends a value."""
    name: str = "{name}"
    """How a call names its tool; `{number}` says how many calls of the turn came before."""
    name_attributes: str = ""
    """Attributes beside that of the name; `{next}` counts the calls from 1."""
    id: str | int = ""
    """The only form that the chat template takes for the id of a call, if any: `{name}` in it is the name of the tool,
    `{number}` counts the calls of the conversation; a number is one of letters and digits."""
    result: ResultForm = ResultForm()
    """How results are written."""
    tools: ToolList = ToolList()
    """How the tools are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How calls are written. All element names are without brackets; words that a kind of body does not have are empty.

    Raises XMLToolsError if its marks can't work.
    """

    name: str
    """By which the registry, commands and `ToolCall.dialect` name it."""
    body: Body
    """What a call consists of."""
    block: str = ""
    """The element that is a call, or in which calls are."""
    start: str = ""
    """The mark with which a block begins, if it is not the start tag of `block`. It may begin with any character; with
    keys and values between marks, with `<`. With `is_bare`, `{name}` in it is replaced by each given tool's name."""
    end: str | None = None
    """The mark with which a block ends, if it is not the end tag of `block`; `""`: the call itself shows its end."""
    slip: Code | None = None
    """The repair that calls in this form have, if models write it by mistake."""
    is_sure: bool = False
    """Whether `start` is a token that models write for nothing else, so that nothing has to confirm it."""
    may_lack_end: bool = False
    """Whether models often leave the end mark out, so that this is no repair."""
    is_first: bool = False
    """Whether `start` counts only where the reply begins, after nothing but white space and reasoning."""
    is_bare: bool = False
    """Whether `start` is no mark, but what the call itself begins with, as `{`. It counts only where the reply begins,
    and only if what begins there names a given tool."""
    by_name: bool = False
    """Whether the dialect is read only where it is asked for by its name, and not by `also="known"`: its calls begin as
    other text does."""
    in_line: bool = False
    """Whether a line that has nothing but the name of the tool stands in place of the start tag."""
    many: bool = False
    """Whether there may be several calls in a block."""
    fillers: tuple[str, ...] = ()
    """Marks between the calls of a block that say nothing more."""
    separator: str = ""
    """What may stand between two calls that are JSON objects without marks."""
    variants: tuple[Dialect, ...] = ()
    """Other forms that models of the same dialect write. They have its name, and are read beside it."""
    example: str = ""
    """A call of the tool `get` with `n` = 1. It is shown to people, and tells a grammar in which form calls are
    written: there is none without it."""
    reasoning: tuple[str, ...] = ("think", "thinking")
    """Elements whose content is reasoning, unless the parser is told otherwise."""
    thoughts: tuple[tuple[str, str], ...] = ()
    """Other marks that enclose reasoning; where one has several ends, there is a pair for each. One that ends
    with a colon is words, which count only in the dialect itself, where nothing but white space comes before them."""
    ends_reasoning: bool = False
    """Whether calls in open reasoning count where the reply ends with them; otherwise they are a part of it."""
    layout: bool = False
    """Whether white space next to calls and to tags of reasoning only lays them out, and is no text."""
    turn_ends: tuple[str, ...] = ()
    """Tokens that end a turn, or a part of it. They are no text."""
    headers: tuple[tuple[str, str], ...] = ()
    """Marks with one word between them, that of the tool or of whoever is addressed. They are not text. The second is
    also one of `turn_ends`, or begins a call. The first is empty where the prompt ends with it: then the word counts
    only where the reply begins."""
    answers: tuple[str, ...] = ()
    """Of `turn_ends`, those after which all is text up to the next token or header: calls there are only shown."""
    around_text: tuple[str, ...] = ()
    """Those of `turn_ends` that the model writes around its text, and between its calls, within a reply. A grammar
    allows these; the others end the reply in the engine."""
    leftovers: tuple[str, ...] = ()
    """Tokens that are not text where they come without a call, in addition to those that `strays` finds by itself."""
    frame: tuple[str, ...] = ()
    """What some templates write around a reply: no text where nothing but white space comes before it, or, for an end
    tag, after it."""
    pairs: Pairs | None = None
    writing: Writing | None = None
    """How calls are written, if that is known. Of several forms the first that has it is written."""
    default_server: str = "local"

    # Of a body of elements.
    server_name: str = ""
    tool_name: str = ""
    arguments: str = ""
    argument: str = ""
    """The element for an argument whose name is no XML name; `argument_name` is the attribute that says it."""
    argument_name: str = ""
    name_words: tuple[str, ...] = ()
    arguments_words: tuple[str, ...] = ()
    argument_words: tuple[str, ...] = ()
    """Other words that models write for `tool_name`, for `arguments` and for `argument`."""
    value: str = ""
    """The attribute that gives the value of an empty element: `<x value="a"/>`."""
    nil: str = ""
    """The attribute that makes a value null: `<x nil="true"/>`."""
    item: str = ""
    """The element of a list item that no singular names."""

    json_is_usual: bool = False
    """Whether the arguments are a JSON object in `arguments`; otherwise such an object is repaired."""

    # Of a JSON object.
    json_tool_name: tuple[str, ...] = ("name",)
    json_server_name: tuple[str, ...] = ()
    json_arguments: tuple[str, ...] = ("arguments", "parameters")
    """Keys, the preferred one first."""
    json_other_tool_name: tuple[str, ...] = ("tool_name", "tool", "function")
    json_other_arguments: tuple[str, ...] = ("args", "params", "input")
    """Keys that models write in place of those."""
    json_other_keys: tuple[str, ...] = ()
    """Keys beside these that models were trained to write, and that say nothing more."""
    json_name_is_key: bool = False
    """Whether the object has one key, the name of the tool, whose value is the arguments."""
    json_is_python: bool = False
    """Whether models write the object as a literal of Python, so that this needs no repair."""
    json_wrappers: tuple[str, ...] = ("function", "tool", "tool_call", "function_call")
    """Keys in which models put the whole object."""

    opener: str = field(init=False)
    """The mark with which a block begins."""
    closer: str = field(init=False)
    """The mark with which a block ends; empty if there is none."""
    base: Dialect | None = field(init=False, default=None, repr=False, compare=False)
    """The dialect of which this one is a variant."""

    @classmethod
    def from_response_template(cls, template: Mapping[str, Any], name: str = "response_template") -> Dialect:
        """Return the record of a checkpoint's `response_template`, or of the one in its `tokenizer_config.json`.

        It is a record as any other. Raises XMLToolsError, naming the part of the template, for what is no template and
        for what a record cannot say.
        """
        dialect: Dialect = import_module("xmltools.dialects.response_templates").dialect_of(template, name)
        return dialect

    def __hash__(self) -> int:
        """Of what nearly always tells two dialects apart: there are caches that are asked for each reply."""
        return hash((self.name, self.block, self.start))

    def __post_init__(self) -> None:
        """Refuse marks that can't work."""
        self._check_words()
        is_open = self.body is Body.TAGS and not self.block  # the tools are not known
        object.__setattr__(self, "opener", self.start or ("" if is_open else f"<{self.block}>"))
        object.__setattr__(self, "closer", ("" if is_open else f"</{self.block}>") if self.end is None else self.end)
        marks = {"name": self.name}
        if self.body is Body.ELEMENTS:
            marks |= {"tool_name": self.tool_name, "arguments": self.arguments}
        pairs = self.pairs
        if self.body is Body.PAIRS:
            if pairs is None:
                raise XMLToolsError(f"dialect {self.name!r}: a body of pairs needs `pairs`, the marks between them")
            if not pairs.json and not pairs.tag_mark:
                marks |= {"key": pairs.key, "key_end": pairs.key_end, "value_end": pairs.value_end}
        for what, mark in marks.items():
            if not mark:
                raise XMLToolsError(f"dialect {self.name!r}: `{what}` is empty, so a call could begin anywhere")
        self._check_start_and_end()
        if pairs is not None:
            self._check_pairs(pairs)
        if self.writing is not None:
            self._check_results(self.writing.result)
        for variant in self.variants:
            if variant.name != self.name:
                raise XMLToolsError(f"dialect {self.name!r}: its variant {variant.name!r} needs the same name")
            object.__setattr__(variant, "base", self)

    def _check_pairs(self, pairs: Pairs) -> None:
        inside = () if pairs.json else (pairs.end, pairs.key, pairs.value, pairs.value_end)
        marks = [mark for mark in (pairs.name, *inside) if mark]
        for mark in marks:
            if pairs.tag_mark and mark.startswith(pairs.tag_mark):
                continue
            if not mark.startswith("<") and not pairs.json:
                raise XMLToolsError(f"dialect {self.name!r}: the mark {mark!r} does not begin with <")
            for other in marks:
                if mark is not other and other.startswith(mark):
                    raise XMLToolsError(f"dialect {self.name!r}: {mark!r} begins {other!r}: nobody can tell them apart")
        if pairs.value_end and not pairs.json and pairs.value_end in (pairs.key, pairs.value, pairs.key_end):
            raise self._wrong(f"`value_end`, {pairs.value_end!r}, also begins something: nobody can tell the two apart")
        if pairs.bare and not pairs.end:
            raise self._wrong("a call without the block's marks needs an `end` of its own")
        if pairs.name and pairs.name == self.opener and not pairs.bare:
            raise self._wrong(
                "`start` and the `name` of `pairs` are the same mark: leave `name` empty, or, if calls end with a mark "
                "of their own, say bare=True"
            )
        if pairs.end and pairs.end in (pairs.name, self.opener):
            raise self._wrong(f"the `end` of `pairs`, {pairs.end!r}, also begins a call: nobody can tell them apart")
        for key in ("name_pattern", "loose_name_pattern"):
            pattern: str = getattr(pairs, key)
            try:
                groups = re.compile(pattern).groupindex
            except re.error as error:
                raise self._wrong(f"`{key}` is no regular expression: {error}; got {pattern!r}") from None
            if pattern and "name" not in groups:
                raise self._wrong(f"`{key}` needs a group called `name`, as (?P<name>.+)")

    def _wrong(self, what: str) -> XMLToolsError:
        return XMLToolsError(f"dialect {self.name!r}: {what}")

    def _check_words(self) -> None:
        """Refuse what is of a wrong type, in the record and in those that it holds."""
        for name, kind in (("pairs", Pairs), ("writing", Writing)):
            held = getattr(self, name)
            if held is not None and not isinstance(held, kind):
                raise self._wrong(f"`{name}` is to be {kind.__name__}(…), got {held!r:.40}")
        for record, of in ((self, ""), (self.pairs, "pairs."), (self.writing, "writing.")):
            for each in fields(record) if record is not None else ():
                value = getattr(record, each.name, "")
                if each.type == "str" and not isinstance(value, str):
                    raise self._wrong(f"`{of}{each.name}` is to be a string, got {value!r:.40}")
                if each.type == "tuple[str, ...]" and not _is_tuple(value, str):
                    raise self._wrong(f"`{of}{each.name}` is to be a tuple of strings, as ('…',), got {value!r:.40}")
        for name in ("thoughts", "headers"):
            held = getattr(self, name)
            if not _is_tuple(held, tuple) or not all(_is_tuple(each, str, 2) for each in held):
                raise self._wrong(f"`{name}` is to be a tuple of pairs, as (('…', '…'),), got {held!r:.40}")
        if not _is_tuple(self.variants, Dialect):
            raise self._wrong(f"`variants` is to be a tuple of dialects, as (replace(…),), got {self.variants!r:.40}")
        if self.writing is not None and self.writing.tools.form not in _FORMS:
            known = ", ".join(map(repr, _FORMS))
            raise self._wrong(
                f"the `form` of the list of tools is to be one of {known}, got {self.writing.tools.form!r:.40}"
            )
        if not isinstance(self.body, Body):
            raise self._wrong(
                f"`body` is to be one of {', '.join(f'Body.{each.name}' for each in Body)}, got {self.body!r:.40}"
            )
        if self.end is not None and not isinstance(self.end, str):
            raise self._wrong(f"`end` is to be a string, or None for the end tag of `block`, got {self.end!r:.40}")

    def _check_start_and_end(self) -> None:
        start, end = self.opener, self.closer
        if not (self.start or self.block) and self.body is not Body.TAGS:
            raise self._wrong("there is no `start` and no `block`, so a call could begin anywhere; give one of them")
        if self.end is None and not self.block and self.body is not Body.TAGS:
            raise self._wrong('no `end` and no `block`: give one of them, or end="" if the call itself shows its end')
        if end and end == start:
            raise self._wrong(f"`end` is the same mark as `start`, {start!r}: nobody can tell them apart")
        if end and end != end.strip():
            raise self._wrong(f"there is white space around `end`, {end!r}: leave it out, it is read anyway")
        is_name = not (self.is_bare or self.in_line) and (start[:1].isalpha() or start[:1] == "_")
        if is_name and (start[-1].isalnum() or start[-1] in "._-"):
            raise self._wrong(
                f"`start`, {start!r}, could be a word of a text; end it with another character, as {start + ':'!r}"
            )
        pairs = self.pairs
        if pairs is not None and not pairs.json and not pairs.python and not pairs.tag_mark and not self.is_bare:
            for what, mark in (("start", start), ("end", end)):
                if mark and not mark.startswith("<") and not self.is_first:
                    raise self._wrong(f"with keys and values between marks, `{what}` has to begin with <, got {mark!r}")

    def _check_results(self, form: ResultForm) -> None:
        for what in ("each_start", "each_end"):
            mark = getattr(form, what)
            if mark and not mark.partition("{")[0].strip():
                raise self._wrong(
                    f"results begin or end with no mark of their own: `{what}` is {mark!r}; what is in a result could "
                    "forge another one"
                )

    @property
    def thought_ends(self) -> tuple[str, ...]:
        """The tags and delimiters that end reasoning."""
        return (*(f"</{tag}>" for tag in self.reasoning), *(end for _, end in self.thoughts))

    @property
    def starts(self) -> tuple[str, ...]:
        """What a call in this form may begin with."""
        return (self.opener, *(self.pairs.starts if self.pairs is not None else ()))

    @property
    def ends(self) -> tuple[str, ...]:
        """What may end a call in this form, or the block around it: brackets too, where nothing else must."""
        end = self.pairs.end.strip("`") if self.pairs is not None else ""
        has_mark = self.has_end or end or self.body in (Body.ELEMENTS, Body.TAGS)
        return (*filter(None, (self.closer.strip("`"), end)), *("" if has_mark else "}])"))

    @property
    def inner_ends(self) -> tuple[str, ...]:
        """What ends a part of a call in this form, or the call, and no block around several."""
        if self.pairs is not None and (end := self.pairs.value_end or self.pairs.quote or self.pairs.end.strip("`")):
            return (end,)
        arguments = (f"</{self.arguments}>",) if self.body is Body.ELEMENTS else ()
        return () if self.many else (*arguments, *filter(None, (self.closer.strip("`"),)))

    @property
    def strays(self) -> tuple[str, ...]:
        """Tokens that are not text where they come without a call: those that end calls, sections without one, and what
        models for another dialect, Harmony's, write between calls."""
        ends = [end for form in self.forms if form.is_sure for end in form.ends]
        begins = [mark for form in self.forms for mark in form.starts]
        others = [token for token in ("<|call|>", "<|start|>assistant") if token not in begins]
        tokens = (*others, *self.leftovers, *filter(_TOKEN.search, ends))
        sections = [form for form in self.forms if form.many and form.closer and not form.is_bare]
        empty = (f"{form.opener}{gap}{form.closer}" for form in sections for gap in ("", "\n", "\n\n", " ", "[]"))
        return tuple(dict.fromkeys((*tokens, *empty)))

    @property
    def has_end(self) -> bool:
        """Whether each call, or its block, has an end tag or delimiter."""
        return self.closer != "" and not self.may_lack_end

    @property
    def has_line(self) -> bool:
        """Whether a call begins with the name of a given tool, in any line, and nothing else is in its lines."""
        return self.is_bare and not self.is_first and self.pairs is not None and not self.pairs.python

    @property
    def forms(self) -> tuple[Dialect, ...]:
        """The dialect itself, and its variants."""
        return (self, *self.variants)

    @property
    def written(self) -> Dialect | None:
        """The form in which calls are written; None if that is not known. Of elements only Forge's are written."""
        has_writer = (form for form in self.forms if form.body is not Body.ELEMENTS)
        return next((form for form in has_writer if form.writing is not None), None)

    @property
    def has_escapes(self) -> bool:
        """Whether a value can be written so that none of its characters stands in the call as it is."""
        form = self.written or self
        pairs = form.pairs
        return pairs is None or pairs.python or (pairs.json and not pairs.quote)

    @property
    def notation(self) -> str:
        """What messages call the arguments that can't be read: they say what is wrong with them as with JSON."""
        return "arguments" if self.pairs is not None and self.pairs.python else "JSON"

    @property
    def form(self) -> str:
        """How a call looks, with words in place of its parts; empty for elements that have a hint of their own."""
        if self.json_is_usual:
            named = f"<{self.tool_name}>tool name</{self.tool_name}>"
            inside = f'{named}<{self.arguments}>{{"key": value}}</{self.arguments}>'
            return f"{self.opener}<{self.server_name}>server name</{self.server_name}>{inside}{self.closer}"
        inside = f'{{"{self.json_tool_name[0]}": "tool name", "{self.json_arguments[0]}": {{"key": value}}}}'
        if self.json_name_is_key:
            inside = '[{"tool name": {"key": value}}]'
        if pairs := self.pairs:
            inside = self._form_of(pairs)
        if self.body is Body.TAGS:
            return "<tool name><key>value</key></tool name>"
        starts_itself = self.is_bare or (self.pairs is not None and self.pairs.name == self.opener)
        start = "" if starts_itself else self.opener
        end = "]" if start.endswith("[") else self.closer
        return "" if self.body is Body.ELEMENTS else f"{start}{inside}{end}"

    def _form_of(self, pairs: Pairs) -> str:
        name = f'{pairs.name_attribute}="tool name"' if pairs.name_attribute else "tool name"
        if pairs.python:
            return "[tool name(key=value)]"
        if pairs.json:
            value = f"{{key:{pairs.quote}value{pairs.quote}}}" if pairs.quote else '{"key": value}'
        elif pairs.tag_mark:
            value = f"{pairs.tag_mark}<key>value{pairs.tag_mark}</key>"
        else:
            kind = f' {pairs.kind}="{"string" if pairs.kind == "type" else "true"}"' if pairs.kind else ""
            key = f'{pairs.key_attribute}="key"{kind}' if pairs.key_attribute else "key"
            value = f"{pairs.key_start}{key}{pairs.key_end}{pairs.value}value{pairs.value_end}"
        return f"{pairs.name_start}{name}{pairs.name_end}{value}{pairs.end}"

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a JSON body that name a server or a tool."""
        return (*self.json_server_name, *self.json_tool_names)

    @property
    def json_tool_names(self) -> tuple[str, ...]:
        """The keys of a JSON body that name a tool, the usual ones first."""
        return (*self.json_tool_name, *self.json_other_tool_name)

    @property
    def json_arguments_names(self) -> tuple[str, ...]:
        """The keys of a JSON body whose value is the arguments, the usual ones first."""
        return (*self.json_arguments, *self.json_other_arguments)


_FORMS = ("function", "schema", "elements", "heading", "declaration", "types")


def _is_tuple(value: object, kind: type, size: int | None = None) -> bool:
    is_long = isinstance(value, tuple) and (size is None or len(value) == size)
    return is_long and all(isinstance(each, kind) for each in value)  # type: ignore[attr-defined]


@lru_cache(maxsize=64)
def forms_for(dialect: Dialect, names: tuple[str, ...]) -> tuple[Dialect, ...]:
    """The forms of calls of tools with these names. Where the element of a call is named as its tool, there are two for
    each: with its start tag, and with a line in place of that. A tool whose name can't be that of an element has none.
    """
    if dialect.body is not Body.TAGS:
        found: list[Dialect] = []
        for form in dialect.forms:
            if _TOOL not in form.start:
                found.append(form)
                continue
            for name in names:
                named = replace(form, start=form.start.replace(_TOOL, name), variants=())
                object.__setattr__(named, "base", dialect)
                found.append(named)
        return tuple(found)
    tags = [replace(dialect, block=name, arguments=name) for name in names if _ELEMENT_NAME.fullmatch(name)]
    return (*tags, *(replace(form, start=f"{form.block}\n", in_line=True) for form in tags))


_TOOL = "{name}"
_ELEMENT_NAME = re.compile(r"[^\W\d](?:[\w.:-]*\w)?")


def plain(name: str) -> str:
    """A name without what models get wrong in it: case, underscores and hyphens."""
    return name.lower().replace("_", "").replace("-", "")


@lru_cache(maxsize=32)
def spellings(dialect: Dialect) -> dict[str, str]:
    """The elements directly in a block, by their `plain` names."""
    return {plain(name): name for name in (dialect.server_name, dialect.tool_name, dialect.arguments)}
