"""Marks in data: what would begin a call, reasoning or a turn in any dialect is changed so that it can't.

The first character of a mark is written as a reference of XML in text (`&lt;` or `&#91;`), and as an escape in a
string of JSON, where the data stays what it is. In texts that are read back (`hide` and `show`), what looks like that
already gets one level more, `&amp;lt;`, so that it can be undone exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect, ResultForm
from xmltools.models.parts import Value
from xmltools.syntax.markup import SPACES
from xmltools.syntax.searches import find_rare
from xmltools.tools import Tool

_TURNS = (
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<sop>", "<eop>", "<sep>", "[gMASK]", "]~b]", "]~!b[", "[e~["),
    *("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[MODEL_SETTINGS]", "[/MODEL_SETTINGS]"),
    *("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[ARGS]"),
    *("[CALL_ID]", "[BOS]", "[EOS]", "[EOT]", "[start_header_id]", "[end_header_id]"),  # the latter: Kimi-K2
    *("<s>", "<SYS>>", "</SYS>>"),  # Llama 2
    *("[|system|]", "[|user|]", "[|assistant|]", "[|tool|]", "[|endofturn|]"),  # EXAONE
    *("<role>SYSTEM", "<role>HUMAN", "<role>ASSISTANT", "<role>OBSERVATION"),  # Ling
    *("<beginning_of_sentence>", "<end_of_sentence>"),  # MiniMax-Text-01
    *("<start_function_response>", "<end_function_response>", "<end_function_call>"),  # FunctionGemma
    *("<start_function_declaration>", "<end_function_declaration>"),
    # Around results in the templates of many models, including those whose dialect is not known.
    *("<tool_response>", "</tool_response>", "<function_results>", "</function_results>"),
    *("<tool_output ", "</tool_output>"),  # Muse
)
"""Tokens with which chat templates begin and end turns, beside those that dialects name, and those of `_TOKEN`."""
_COMMENTS = ("<!--",)
"""What hides an example that follows, if it has no end."""
_BARRED = (
    r"\|/?[A-Za-z_][^<>|\n]{0,60}+\|?>",  # <|im_start|>, <|tool_call>
    r"/?[A-Za-z_]{1,60}+\|>",  # <tool_call|>
    r"/?｜",  # <｜tool▁calls▁begin｜>
    r"/?ifm\|",
)
"""What follows the `<` of tokens that are of one pattern, with a bar in it; most text has no bar."""
_NUMBERED = (
    r"SPECIAL_[0-9]{1,4}>",  # Nemotron Nano
    r"extra_id_[0-9]{1,4}>",
    r"reserved_10[67]>",  # Baichuan
)
_TOKEN = re.compile(f"<(?:{'|'.join((*_BARRED, *_NUMBERED))})")
_TAG = re.compile(r"<(/?)([\w.:-]+)([ >=])")
_FRAME_TAG = re.compile(r"</?[\w.:-]+>")
_FIELD = re.compile(r"\{(?:name|number|next)\}")
_LETTER = re.compile("[A-Za-z/](?![?*+{])")
_AFTER_NAME = {"=": r"[ \t]*=", " ": f"[{SPACES}]", ">": r"(?![\w.-])"}
_SPECIAL = {"functools[": rf"unctools\[[{SPACES}]*(?:\{{|\Z)", "]<]minimax[>[": r"<\]minimax\[>\["}
"""Patterns of what follows the first character of a mark."""
_REACH = 320
"""How many characters after a mark's first one may have to be looked at, beside those up to the next such character."""


_SHORT = 256
"""In fewer characters one pattern looks for all needles sooner than a search for each of them."""
_NEEDLES = {"f": "functools[", "]": "]~", "A": "Action:", "`": "```tool_code"}
"""What to look for first, where a mark begins with what is in each text."""


class Marks:
    """Finds the marks that no data may hold in what is written in one dialect."""

    __slots__ = ("_ampersand", "_barred", "_hidden_ampersand", "_marks", "_needles", "_shown")

    def __init__(self, marks: Iterable[tuple[str, str]], names: tuple[str, ...] | None = ()) -> None:
        by_first: dict[str, dict[str, str]] = {"<": {}}
        for mark, rest in marks:
            if not _TOKEN.match(mark):
                by_first.setdefault(mark[0], {}).setdefault(mark, rest)
        tags = ("[A-Za-z_]",) if names is None else tuple(f"{re.escape(name)}(?![\\w.:-])" for name in names)
        rests = {first: {*marks.values()} for first, marks in by_first.items()}
        rests["<"].update(_NUMBERED, tags)
        barred = rests | {"<": rests["<"].union(_BARRED)}
        # What to look for first, a pattern of the marks, and the character that they begin with.
        self._marks, self._barred = (
            [
                (_needle(first, by_first[first]), re.compile(f"{re.escape(first)}(?={_any_of(each)})"), first)
                for first, each in those.items()
            ]
            for those in (rests, barred)
        )
        needles = [needle for needle, _, _ in self._barred]
        shortest = [each for each in needles if not any(other in each for other in needles if other != each)]
        self._needles = re.compile("|".join(map(re.escape, shortest)))
        hidden = "|".join(f"{_reference(first)[1:]}(?={_any_of(each)})" for first, each in barred.items())
        # What was hidden last is shown first: what follows it is then what it was when the mark was found.
        self._shown = [(_reference(first), first, re.compile(_any_of(each))) for first, each in [*barred.items()][::-1]]
        self._ampersand = re.compile(f"&(?=(?:amp;)*(?:{hidden}))")
        self._hidden_ampersand = re.compile(f"&amp;(?=(?:amp;)*(?:{hidden}))")

    def _may_be_in(self, text: str) -> Sequence[tuple[re.Pattern[str], str]]:
        """Return patterns of the marks that there may be in a text, and what each begins with."""
        if len(text) < _SHORT and not self._needles.search(text):
            return ()
        patterns = self._barred if "|" in text or "｜" in text else self._marks
        return [(mark, first) for needle, mark, first in patterns if find_rare(text, needle) >= 0]

    def is_in(self, text: str) -> bool:
        """Return whether there is a mark in a text."""
        return any(mark.search(text) for mark, _ in self._may_be_in(text))

    def growth_before(self, text: str, place: int) -> int:
        """Return by how much `neutral` makes what stands before a place in a text longer."""
        return sum(
            len(_reference(first)) - 1
            for mark, first in self._may_be_in(text)
            for found in mark.finditer(text)
            if found.start() < place
        )

    def neutral(self, text: str) -> str:
        """Return text without marks, for good."""
        for mark, first in self._may_be_in(text):
            text = mark.sub(_reference(first), text)
        return text

    def neutral_value(self, value: Any) -> Any:
        """Return JSON, or a part of a message, with no marks in any of its strings, including the names of fields."""
        if isinstance(value, str):
            return self.neutral(value)
        if isinstance(value, dict):
            return {self.neutral_value(key): self.neutral_value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.neutral_value, value))
        return value.model_copy(update=self.neutral_value(dict(value))) if isinstance(value, Value) else value

    def neutral_json(self, text: str) -> str:
        """Return JSON without marks, in which all strings are what they were."""
        for mark, first in self._may_be_in(text):
            text = mark.sub(rf"\\u{ord(first):04x}", text)
        return text

    def divided(self, text: str, between: str) -> str:
        """Return text with something inside each mark. It may end with a bracket, so it does not come right after the
        bracket, or the slash, of a mark that begins with one."""
        for mark, first in self._may_be_in(text):
            ends = [found.end() + 2 * (first == "[") for found in mark.finditer(text)]
            text = between.join(text[start:end] for start, end in pairwise([0, *ends, len(text)]))
        return text

    def hide(self, text: str) -> str:
        """Return text without marks, so that `show` gives it back."""
        if "&" in text:
            text = self._ampersand.sub("&amp;", text)  # first: the ampersands that follow are right already
        return self.neutral(text)

    def show(self, text: str) -> str:
        """Undo `hide`."""
        if "&" not in text:
            return text
        for reference, first, rest in self._shown:
            if reference in text:
                text = _shown(text, reference, first, rest)
        return self._hidden_ampersand.sub("&", text)


def _shown(text: str, reference: str, first: str, rest: re.Pattern[str]) -> str:
    """Return text with the first character of marks for its reference. It goes from the end to the start, since a mark
    may hold the first character of another one, which must be there to recognise it."""
    pieces: list[str] = []
    end, following = len(text), ""
    while (at := text.rfind(reference, 0, end)) >= 0:
        between = text[at + len(reference) : end]
        right = between + following
        shown = first if rest.match(right) else reference
        pieces += (between, shown)
        end, following = at, f"{shown}{right[:_REACH]}"
    pieces.append(text[:end])
    return "".join(reversed(pieces))


def _any_of(patterns: Iterable[str]) -> str:
    """Return a pattern of all these. What begins with the same letter is one, so that few are tried at each place."""
    found: dict[str, list[str]] = {}
    for pattern in sorted(patterns):
        lead = pattern[0] if _LETTER.match(pattern) else ""
        found.setdefault(lead, []).append(pattern.removeprefix(lead))
    return "|".join(f"{lead}(?:{'|'.join(rests)})" for lead, rests in found.items())


def _needle(first: str, marks: Iterable[str]) -> str:
    """Return what is in each text that holds one of these marks, which begin with the same character."""
    needle = _NEEDLES.get(first, first)
    return needle if all(needle in mark for mark in marks) else first


def _reference(character: str) -> str:
    return "&lt;" if character == "<" else f"&#{ord(character)};"


def _token(mark: str) -> tuple[str, str]:
    """Return a mark with a pattern of what follows its first character."""
    return mark, next((rest for start, rest in _SPECIAL.items() if mark.startswith(start)), re.escape(mark[1:]))


def _opener(mark: str) -> tuple[str, str]:
    """Return the same for what may be a tag, which is read in any case and with white space in it."""
    tag = _TAG.fullmatch(mark)
    return (mark, f"{tag[1]}(?i:{re.escape(tag[2])}){_AFTER_NAME[tag[3]]}") if tag else _token(mark)


def _marks(dialect: Dialect, thoughts: bool) -> Iterator[tuple[str, str]]:
    """Yield the marks of all dialects, and those around results and tools in this one."""
    for each in dict.fromkeys((*dialects.known(), dialect)):
        yield from map(_opener, _openers(each))
        yield from map(_opener, (f"<{tag}>" for tag in each.reasoning if thoughts))
    yield from _turns()
    yield from _turns_of(dialect)
    yield from map(_token, _COMMENTS if thoughts else ())
    writing = dialect.written.writing if dialect.written else None
    if writing is not None:
        result, tools = writing.result, writing.tools
        frames = (result.start, result.end, result.each_start, result.each_end, result.older, tools.start, tools.end)
        for frame in (*frames, tools.each_start, tools.each_end, _ELEMENTS if tools.form == "elements" else ""):
            yield from map(_opener, _FRAME_TAG.findall(frame))
        yield from map(_token, _plain_frames(result))


def _turns() -> Iterator[tuple[str, str]]:
    """Yield what begins or ends turns, and thoughts between tokens, in any chat template that is known."""
    for each in dialects.known():
        yield from _turns_of(each)
    yield from map(_token, _TURNS)


def _turns_of(dialect: Dialect) -> Iterator[tuple[str, str]]:
    tokens = (*dialect.turn_ends, *dialect.strays, *dialect.frame, *chain.from_iterable(dialect.thoughts))
    return (_token(token.strip()) for token in tokens if not token.endswith(":"))


def _plain_frames(form: ResultForm) -> Iterator[str]:
    """Yield what stands around results and holds neither a tag nor what `_TOKEN` is for. Where nothing ends a result,
    each begins on a line of its own, and `xmltools.render.results` takes care of that."""
    starts = (form.start, form.end, *((form.each_start, form.each_end) if form.each_end else ()))
    for start in starts:
        plain = _FIELD.split(start)[0].strip()
        if plain and not _FRAME_TAG.search(plain) and not _TOKEN.search(plain):
            yield plain


_ELEMENTS = "</name></type></description></parameter></parameters></function>"


def _openers(dialect: Dialect) -> Iterator[str]:
    """Yield what begins a call in a dialect, whatever the tools are."""
    for form in dialect.forms if dialect.body is not Body.TAGS else ():
        if form.is_bare or form.is_first:
            continue
        yield form.opener.rstrip("\n")  # a line break may follow that is not of the data
        if form.pairs is not None and form.pairs.bare:
            yield form.pairs.name


@lru_cache(maxsize=128)
def marks_for(
    dialect: Dialect, *, thoughts: bool = True, names: tuple[str, ...] | None = (), closers: bool = False
) -> Marks:
    """Return the marks that no data may hold in what is written in a dialect.

    Not `thoughts`: but for the tags of reasoning and for comments, which matter only if calls follow. `names` are those
    of elements that are marks too; None: all are. `closers`: the end tags of reasoning in the dialect are too.
    """
    ends = map(_opener, (f"</{tag}>" for tag in dialect.reasoning if closers))
    return Marks(chain(_marks(dialect, thoughts), ends), names)


def marks_beside(
    tools: Iterable[Tool] | None, dialect: Dialect, *, thoughts: bool = True, closers: bool = False
) -> Marks:
    """Return the same for what is written for these tools: in some dialects calls begin with a tag that is named as the
    tool, or with that of an argument. None: they are not known, so any name may be one."""
    if dialect.body is not Body.TAGS:
        return marks_for(dialect, thoughts=thoughts, closers=closers)
    if tools is None:
        return marks_for(dialect, thoughts=thoughts, names=None, closers=closers)
    names = {name for tool in tools for name in (tool.name, *tool.shape.properties)}
    return marks_for(dialect, thoughts=thoughts, names=tuple(sorted(names)), closers=closers)


@lru_cache(maxsize=64)
def marks_in_calls(dialect: Dialect) -> Marks:
    """Return what nothing in a call may hold besides, where a chat template writes it as it is: what ends the call or a
    value, and what begins another argument."""
    pairs = dialect.pairs
    own = (
        (pairs.key, pairs.key_end, pairs.value, pairs.value_end, pairs.quote, *pairs.ends) if pairs is not None else ()
    )
    tokens = (mark for mark in (dialect.closer, *own) if len(mark) > 3 and mark[0] == "<")  # others are punctuation
    return Marks(map(_opener, tokens))


COMMON = marks_for(FORGE)
"""Those that no data may hold anywhere."""


@cache
def turn_marks() -> Marks:
    """Return the tokens of chat templates alone: they are not marks of calls, but an engine that finds them in a
    message ends it there."""
    return Marks(_turns())
