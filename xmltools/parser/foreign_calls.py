"""Calls in the notations of other protocols, which stay text (protocol, 1.9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from xmltools import dialects
from xmltools.dialects import Body, Dialect
from xmltools.errors import Code, Notice
from xmltools.parser.attempts import (
    ARGS,
    END_LENGTH,
    NO_END,
    TAIL,
    TO,
    Attempt,
    name_before,
    read_attempt,
    read_to,
    trigger,
)
from xmltools.parser.block import Block
from xmltools.parser.cut_off_replies import ends_complete
from xmltools.parser.limits import Limits
from xmltools.parser.machine import run
from xmltools.parser.name_value_pairs import read_start
from xmltools.parser.shown import Shown
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, skip_space
from xmltools.syntax.searches import find_rare

_HEAD_LENGTH: Final = 1_024
"""Characters in which a call must show what it is."""
_DEPTH: Final = 128
_S = "[ \t\r\n]"
_NAME = "[^ \t\r\n<>\"'/={}]{1,256}"

_CUT_ELEMENT = re.compile(r"<[\w.:-]*+\Z")
_CUT_OBJECT = late_pattern(rf"{{{_S}*+(?:\"[^{{}}]*+)?\Z")
_CUT_FENCE = late_pattern(rf"(?:``?|```+[^\n`]*+(?:\n{_S}*+\[?{_S}*+)?)\Z")
_FUNCTION = late_pattern(rf"<function(?:=|{_S}{{1,8}}name=)[\"']?({_NAME})[\"']?>")
_FUNCTION_MARK: Final = "<function "
_INVOKE = late_pattern(rf"<((?:[\w-]+:)?invoke){_S}+name{_S}*={_S}*([\"'])({_NAME})\2[^<>]*>")
_TOOL_CALL = late_pattern(
    rf"<tool_call>{_S}*(?:(?:`{{3,}}+[^`\n<{{]*+{_S}*+)?(?=(?P<json>\[?{_S}*{{))|(?=(?P<function><function[= ]))"
    rf"|<(?:tool_)?name>{_S}*(?P<name>{_NAME}){_S}*<"
    rf"|(?P<pythonic>[\w.-]{{1,256}}){_S}*\("
    rf"|(?P<glm>(?!`){_NAME}){_S}*(?:(?P<hunyuan><tool_sep>)|(?=<arg_key>|</tool_call>|{{)))"
)
# At the start of a run of backticks only, or long runs would take quadratic time.
_FENCED = late_pattern(rf"```(?<!````)`*+[^\n`]*+\n{_S}*+\[?{_S}*+(?={{)")
_TOOL = late_pattern(rf"<tool>{_S}*(?:<tool_name>{_S}*(?P<name>{_NAME}){_S}*<|<(?:server_name|arguments)>|{{{_S}*\")")
_TOOL_NAME = late_pattern(rf"<tool_name>{_S}*({_NAME}){_S}*</tool_name>{_S}*<(?:arguments|server_name)>")
"""A call of Forge's without the start tag."""
_OWN_TOOL = late_pattern(
    rf"<tool(?:{_S}[^<>]*+)?>{_S}*(?:<server_name>{_S}*{_NAME}{_S}*</server_name>{_S}*)?<tool_name>"
)
"""One with it, which is only shown, or comes after the last that counts."""
_TAG = late_pattern(
    rf"<([\w.:-]+)((?:{_S}+[\w.:-]+{_S}*={_S}*(?:\"[^\"<]*\"|'[^'<]*'))*){_S}*(?:(?P<closed>/>)"
    rf"|>(?={_S}*(?:{{|<(?P<child>[\w.:-]+)[ \t\r\n/>]|</\1>)))"
)
_TAG_NAME = re.compile(r"[\w.:-]{1,256}")
_ATTRIBUTE = re.compile(rf"{_S}+([\w.:-]+)")
_WRAPPER_END = re.compile(rf"{_S}{{0,64}}</tool_call>")
_WRAPPER_LENGTH: Final = 64 + len("</tool_call>")


@lru_cache(maxsize=64)
def _elements(dialect: Dialect, names: tuple[str, ...], own: tuple[str, ...], has_prefix: bool) -> re.Pattern[str]:
    """A pattern of what a call begins with that begins with `<`: the name of an element as a group, or a mark. The
    elements of the dialect itself are none of them, but for `<function name=`, which not all that have it read, and
    tools with attributes. With tools, it is also what the mark of an attempt begins with.
    `has_prefix`: `<a:invoke>` is one too, which takes twice the time."""
    words = ["tool_call", "tool_name", "tool", "function(?= )" if "function" in own else "function"]
    words += [] if "invoke" in own else ["invoke"]
    tools = [name for name in names if name not in own and _TAG_NAME.fullmatch(name)]
    own_tools = [name for name in names if name in own and dialect.body is Body.TAGS and _TAG_NAME.fullmatch(name)]
    marks = [mark[1:] for mark in _marks(dialect) if mark.startswith("<")]
    attempts, begin = trigger() if names else ("", "(?!)")
    # Nearly all text after a `<` begins none of these, which the next character says sooner than a long pattern.
    firsts = re.escape("".join(sorted({word[0] for word in (*words, *tools, *own_tools, *marks, *attempts)})))
    ahead = "" if has_prefix else f"(?=[{firsts}])"
    words += [r"[\w.-]{1,64}+:invoke"] * has_prefix + [re.escape(name) for name in tools]
    words += [rf"{re.escape(name)}(?=[ \t\r\n])" for name in own_tools]
    marks = [re.escape(mark) for mark in marks]
    return re.compile(rf"<{ahead}(?:({'|'.join(words)})(?=[ \t\r\n>/=])|{'|'.join(marks)}|{begin})")


@lru_cache(maxsize=64)
def _objects(keys: tuple[str, ...], names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of what a JSON object begins with that calls one of the tools, without any mark."""
    key, name = ("|".join(map(re.escape, sorted(words))) for words in (keys, names))
    before = rf'(?:type"{_S}*+:{_S}*+"function"|(?:tool_call_)?id"{_S}*+:{_S}*+"[\w.:-]{{0,64}}+"){_S}*+,{_S}*+"'
    return re.compile(rf'{{{_S}*+"(?:{before}){{0,2}}+(?:{key})"{_S}*+:{_S}*+"(?:{name})"')


_KNOWN: Final = {
    "<function=": "function",
    "<invoke ": "invoke",
    "<steptml:invoke ": ":invoke",
}
"""Marks that the patterns above are for, unless the dialect itself has such elements."""


@lru_cache(maxsize=64)
def _marks(dialect: Dialect) -> dict[str, list[Dialect]]:
    """The other marks with which calls in other dialects than this one begin, the longest first, and how those look."""
    found: dict[str, list[Dialect]] = {"<tool_call>": []}
    own = [form.pairs.name for form in dialect.forms if form.pairs is not None]
    for form in (form for each in dialects.all() if each.name != dialect.name for form in each.forms):
        is_mark = not form.arguments and form.body is not Body.TAGS and not form.in_line
        if is_mark and not form.is_bare and not form.is_first:
            mark = form.pairs.name if form.pairs is not None and form.pairs.bare else form.opener
            if mark not in _KNOWN or any(_KNOWN[mark] in name for name in own):
                found.setdefault(mark, []).append(form)
    del found["<tool_call>"]
    return {mark: found[mark] for mark in sorted(found, key=len, reverse=True)}


def _search_fence(text: str, at: int, end: int) -> re.Match[str] | None:
    place = find_rare(text, "```", at, end)
    return _FENCED.search(text, place, end) if place >= 0 else None


class _OtherMarks(NamedTuple):
    """The marks that begin with no `<`: patterns of where one begins, of what is in each text that holds one with a
    `[`, which is found much faster by its bracket, and of what the end of a text cuts off; the marks without a `[`; and
    the length of the longest."""

    begin: re.Pattern[str]
    bracketed: re.Pattern[str]
    cut: re.Pattern[str]
    plain: tuple[str, ...]
    longest: int

    def are_in(self, text: str) -> bool:
        """Whether there is one in a text."""
        return bool(self.bracketed.search(text)) or any(mark in text for mark in self.plain)


@lru_cache(maxsize=64)
def _other_marks(dialect: Dialect, has_tools: bool) -> _OtherMarks:
    marks = [mark for mark in _marks(dialect) if not mark.startswith("<")] + [ARGS, TO] * has_tools
    starts = sorted({mark[:size] for mark in marks for size in range(1, len(mark))}, key=len, reverse=True)
    around = []
    for mark in marks:
        before, bracket, after = mark.partition("[")
        if bracket:
            around.append((rf"(?<={re.escape(before + bracket)})" if before else "") + re.escape(after))
    return _OtherMarks(
        re.compile("|".join(map(re.escape, marks)) or "(?!)"),
        re.compile(rf"\[(?:{'|'.join(around) or '(?!)'})"),
        re.compile(rf"(?:{'|'.join(map(re.escape, starts)) or '(?!)'})\Z"),
        tuple(mark for mark in marks if "[" not in mark),
        max(map(len, marks), default=0),
    )


def foreign_search(dialect: Dialect, names: tuple[str, ...], tags: tuple[str, ...]) -> Callable[[str, int, int], bool]:
    """Return a function that takes a text, and a beginning and an end in it, and says whether a call in another
    notation may begin there. `names` are those of the tools, `tags` those of reasoning."""
    keys = (*dialect.json_tool_name, *dialect.json_other_tool_name)
    others = _other_marks(dialect, bool(names))

    def may_begin(text: str, at: int, end: int) -> bool:
        return bool(
            (text.find("<", at, end) >= 0 and _elements(dialect, names, tags, True).search(text, at, end + 1))
            or (
                text.find("{", at, end) >= 0
                and ((names and _objects(keys, names).search(text, at, end)) or _search_fence(text, at, end))
            )
            or (text.find("[", at, end) >= 0 and others.bracketed.search(text, at, end))
            or any(text.find(mark, at, end) >= 0 for mark in others.plain)
        )

    return may_begin


class _Call:
    """A call that has begun. Its closer ends it, after the JSON object if it has one. `end`: the place after it, or -1
    while that is not known."""

    __slots__ = (
        "block",
        "closer",
        "end",
        "ends",
        "is_attempt",
        "is_fenced",
        "is_wrapped",
        "name",
        "notation",
        "rest",
        "scanner",
        "start",
    )

    def __init__(self, notation: str, name: str | None, closer: str, *, start: int) -> None:
        self.notation = notation
        self.name = name
        self.closer = closer
        self.start = start
        self.end = -1
        self.ends: re.Pattern[str] | None = None  # in place of the closer
        self.is_attempt = False  # it has the name of a given tool, and is none if it is in a fence
        self.is_fenced = False
        self.is_wrapped = False  # a `</tool_call>` belongs to it as well
        self.scanner: JSONScanner | None = None
        self.block: Block | None = None  # reads it, if it is in a dialect
        self.rest = ""  # what that has not read yet of the text that was taken


class ForeignCalls:
    """Looks for them in the text outside blocks and reasoning, which it hands on to `prose`. As many are found as
    there may be blocks.

    `take` is given the text, and returns how much of it was taken: the rest may be the beginning of something, and is
    to be given again with what follows. What was found is in `notices`, until it is fetched.
    """

    __slots__ = (
        "_at",
        "_call",
        "_dialect",
        "_has_tools",
        "_keys",
        "_left",
        "_limits",
        "_others",
        "_prose",
        "_tail",
        "_toolbox",
        "_words",
        "notices",
    )

    def __init__(
        self, toolbox: Toolbox | None, dialect: Dialect, tags: tuple[str, ...], prose: Shown, limits: Limits
    ) -> None:
        self._limits = limits
        self._left = limits.blocks
        self._toolbox = toolbox
        self._dialect = dialect
        self._prose = prose
        self._words = (dialect, toolbox.names if toolbox is not None else (), tags)
        names = (*dialect.json_tool_name, *dialect.json_other_tool_name)
        self._keys = (names, (*dialect.json_arguments, *dialect.json_other_arguments))
        self._has_tools = toolbox is not None and bool(toolbox.names)
        self._call: _Call | None = None
        self._others: _OtherMarks | None = None  # once they are looked for
        self._at = 0  # the place in the stream up to which text was taken
        self._tail = ""  # the end of that: the name of a tool may stand there, in front of its mark
        self.notices: list[Notice] = []

    def take(self, text: str, *, is_all: bool, is_last: bool = False) -> int:
        """Take the next text. `is_all`: what follows it, if anything, goes on with nothing that has begun in it.
        `is_last`: nothing follows, so that nobody will ask what is open behind it."""
        # Three searches of one character take a fiftieth of the time of one for all three.
        may_begin = self._call is not None or "<" in text or "[" in text or (not is_all and "`" in text)
        may_begin = may_begin or ("{" in text and (self._has_tools or "`" in text))
        if not may_begin and (plain := self._marks().plain):
            may_begin = any(mark in text for mark in plain)
        handed, taken = 0, len(text)
        if self._left and may_begin:
            handed, taken = self._search(text, is_all)
        elif self._left and not is_all:
            taken = self._end_of_plain(text)
        if not is_last:
            self._prose.take(text[handed:taken])
        self._at += taken
        if self._has_tools and taken:
            self._tail = text[taken - TAIL : taken] if taken >= TAIL else (self._tail + text[:taken])[-TAIL:]
        return taken

    def stop(self) -> None:
        """A block or a region begins, or the reply ends: so does a call that is open."""
        call, self._call = self._call, None
        if call is not None:
            if call.scanner is not None:
                self._read_name(call, call.scanner)
            if call.block is not None and ends_complete(call.block, call.rest, self._at - len(call.rest)):
                call.end = self._at
            if call.notation != "json" or self._is_call(call):
                self._tell(call)

    @property
    def is_open(self) -> bool:
        """Whether the text is in a call that has begun. An attempt may have a call of another dialect in it."""
        return self._call is not None and not self._call.is_attempt

    def skip(self, place: int) -> None:
        """Text goes on at this place in the stream."""
        self._at = place
        self._tail = ""

    def _search(self, text: str, is_all: bool) -> tuple[int, int]:
        """Returns how much of the text prose has, and how much of it was taken."""
        handed = at = 0
        size = len(text)
        pattern = _elements(*self._words, "<" in text and ":invoke" in text)
        element = pattern.search(text) if "<" in text else None
        fence = _search_fence(text, 0, size) if "{" in text else None
        objects = _objects(self._keys[0], self._words[1]) if self._has_tools and "{" in text else None
        bare = objects.search(text) if objects is not None else None
        others = self._marks()
        other = others.begin.search(text) if others.are_in(text) else None
        attempt: Attempt | None = None  # one that counts unless another call begins before the name of its tool
        begun = 0  # where it begins
        while True:
            if self._call is not None:
                at, is_decided = self._read_on(self._call, text, at, is_all)
                if not is_decided:
                    break
                continue
            if other is not None and other.start() < at:
                other = others.begin.search(text, at)
            if element is not None and element.start() < at:
                element = pattern.search(text, at)
            if fence is not None and fence.start() < at:
                fence = _search_fence(text, at, size)
            if bare is not None and bare.start() < at and objects is not None:
                bare = objects.search(text, at)
            mark = min(filter(None, (element, other, fence, bare)), key=re.Match.start, default=None)
            if attempt is not None and (mark is None or mark.start() >= attempt.after) and self._left:
                handed, at = self._open_attempt(attempt, text, handed, begun)
                attempt = None
                continue
            if mark is None or not self._left:
                at = size if is_all else self._find_cut(text, max(at, size - _HEAD_LENGTH))
                break
            start = mark.start()
            if mark is fence:
                end = mark.end()
                call = self._json(end, "json") if end - start < _HEAD_LENGTH else None
            elif mark is bare:
                call, end = self._json(start, "json"), start
            else:
                call, end = self._begin(text, mark)
            is_sure = is_all or size - start >= _HEAD_LENGTH
            if end < 0 and not is_sure:
                at = start if attempt is None else begun  # it depends on what follows
                break
            if call is None and attempt is not None:
                at = start + 1
                continue
            if call is None and mark is element and self._toolbox is not None:
                found = read_attempt(self._dialect, self._toolbox, text, start, is_all=is_all)
                if (found is MORE or found) and not is_sure:
                    at = start
                    break
                if isinstance(found, Attempt):
                    attempt, begun, at = found, start, start + 1
                    continue
            if call is not None:
                attempt = None
                start = max(handed, start)  # a name may stand in front of it, where nothing can hide it
                self._prose.take(text[handed:start])
                handed = start
                if mark is not fence:
                    self._prose.settle()
                    call.is_fenced = self._prose.open
                    is_shown = self._prose.may_hide or ((mark is bare or call.is_attempt) and call.is_fenced)
                else:
                    is_shown = not self._prose.may_open_fence
                    call.is_fenced = True
                self._call = None if is_shown else call
            at = start if mark is bare and self._call is not None else max(end, start + 1)
            if call is not None and call.block is not None:
                call.rest = text[start:at]
        return handed, at

    def _open_attempt(self, attempt: Attempt, text: str, handed: int, start: int) -> tuple[int, int]:
        """An attempt begins, if it is not only shown. Returns what prose has, and where to go on."""
        self._prose.take(text[handed:start])
        self._prose.settle()
        if self._prose.may_hide or self._prose.open:
            return start, start + 1
        self._call = call = self._called(attempt.notation, attempt.name, "", start)
        call.is_attempt = True
        call.ends = attempt.ends
        if attempt.end >= 0:
            call.end = self._at + attempt.end
            return start, attempt.end
        return start, attempt.after

    # -- what a call begins with -------------------------------------------------------------------------------------

    def _begin(self, text: str, mark: re.Match[str]) -> tuple[_Call | None, int]:
        """The call that may begin at the mark, and the place after its beginning: -1 if more text may change that."""
        start, end = mark.span()
        word = mark[1] if mark.re.groups else None
        if word is None and mark.re.groups and mark[0] not in _marks(self._dialect):
            # An attempt may begin, or an element or a mark that is cut off.
            is_cut = _CUT_ELEMENT.match(text, start) or self._is_part(text[start : start + _HEAD_LENGTH])
            return None, -1 if is_cut else start + 1
        if word is None and mark[0] in (ARGS, TO) and self._toolbox is not None:
            return self._without_mark(text, start, mark[0], self._toolbox)
        if word is None:
            return self._in_dialect(text, start, mark[0])
        stop = start + _HEAD_LENGTH
        if word == "tool_call":
            return self._tool_call(text, start)
        if word == "tool" and self._dialect.block == word:
            found = _OWN_TOOL.match(text, start, stop)
            return None, found.end() if found else -1
        if word == "tool":
            found = _TOOL.match(text, start, stop)
            return (self._called("forge", found["name"], "</tool>", start), found.end()) if found else (None, -1)
        if word == "tool_name":
            found = _TOOL_NAME.match(text, start, stop)
            return (self._called("forge", found[1], "</arguments>", start), found.end()) if found else (None, -1)
        if word == "function":
            if text.startswith(_FUNCTION_MARK, start) and _FUNCTION_MARK in _marks(self._dialect):
                call, end = self._in_dialect(text, start, _FUNCTION_MARK)
                if call is not None or end < 0:
                    return call, end
            found = _FUNCTION.match(text, start, stop)
            return (self._called("qwen3_coder", found[1], "</function>", start), found.end()) if found else (None, -1)
        if word == "invoke" or word.endswith(":invoke"):
            found = _INVOKE.match(text, start, stop)
            return (self._called("invoke", found[3], f"</{found[1]}>", start), found.end()) if found else (None, -1)
        return self._tag(text, start, self._toolbox) if self._toolbox is not None else (None, end)

    def _without_mark(self, text: str, start: int, mark: str, toolbox: Toolbox) -> tuple[_Call | None, int]:
        """A call that lacks the beginning of its mark: its arguments are an object."""
        after = start + len(mark)
        if mark == TO:
            named = read_to(toolbox, text, start, start + _HEAD_LENGTH)
            if named is None:
                return None, -1
            notation, (name, place), begin = "harmony", named, start + 1
        else:
            place = skip_space(text, after)
            if place == len(text) or place - start >= _HEAD_LENGTH:
                return None, -1
            name, length = name_before(toolbox, (self._tail + text[max(0, start - TAIL) : start])[-TAIL:])
            if not name or text[place] != "{":
                return None, after
            notation, begin = "mistral", start - length
        call = self._json(begin, notation)
        call.name = name
        call.is_attempt = True
        return call, place

    def _in_dialect(self, text: str, start: int, mark: str) -> tuple[_Call | None, int]:
        """A call that begins with a mark of another dialect."""
        for form in _marks(self._dialect)[mark]:
            after = read_start(form, text, start, mark)
            if after is MORE:
                return None, -1
            if after:
                call = self._called(form.name, None, "", start)
                call.block = Block(call.start, max(after - start, 0), form, self._limits, self._toolbox, self._name)
                return call, max(after, start)
        return None, start + 1

    def _name(self, block: Block) -> None:
        """The block that reads a call has named its tool: the schema decides where its values end."""
        if self._toolbox is not None and block.error is None:
            block.shape = self._toolbox.guess(block.name or "", block.server, self._dialect.default_server)

    def _called(self, notation: str, name: str | None, closer: str, start: int) -> _Call:
        return _Call(notation, name, closer, start=self._at + start)

    def _json(self, start: int, notation: str) -> _Call:
        call = self._called(notation, None, "", start)
        call.scanner = JSONScanner(_DEPTH, self._keys[0] + self._keys[1])
        return call

    def _tool_call(self, text: str, start: int) -> tuple[_Call | None, int]:
        stop = start + _HEAD_LENGTH
        found = _TOOL_CALL.match(text, start, stop)
        if found is None:
            return None, -1
        if found["function"]:
            function = _FUNCTION.match(text, found.end(), stop)
            if function is None:
                return None, -1
            call = self._called("qwen3_coder", function[1], "</function>", start)
            call.is_wrapped = True
            return call, function.end()
        if found["json"]:
            call = self._json(start, "hermes")
            call.closer = "</tool_call>"
            return call, found.end() + len(found["json"]) - 1
        notation = next((name for name in ("hunyuan", "glm", "pythonic") if found[name]), "hermes")
        name = found["glm"] or found["pythonic"] or found["name"]
        return self._called(notation, name, "</tool_call>", start), found.end()

    def _tag(self, text: str, start: int, toolbox: Toolbox) -> tuple[_Call | None, int]:
        """An element that is named as a tool."""
        found = _TAG.match(text, start, start + _HEAD_LENGTH)
        if found is None:
            return None, -1
        name = found[1]
        shape = toolbox.guess(name, None, self._dialect.default_server)
        attribute = _ATTRIBUTE.match(found[2])
        is_own = name in self._words[2]
        if is_own and not attribute:
            return None, found.end()
        argument = attribute[1] if attribute else found["child"]
        if argument and (shape is None or not shape.has_property(argument)):
            return None, found.end()
        call = self._called("tag_per_tool", name, f"</{name}>", start)
        call.is_attempt = is_own
        if found["closed"]:
            call.closer = ""
        return call, found.end()

    # -- how it goes on ----------------------------------------------------------------------------------------------

    def _read_on(self, call: _Call, text: str, at: int, is_all: bool) -> tuple[int, bool]:
        """Read the text of a call. The place up to which it was read, and whether the call has ended."""
        if call.block is not None:
            return self._read_block(call, call.block, text, at, is_all)
        if call.scanner is not None:
            at = call.scanner.scan(text, at)
            if not (call.scanner.done or call.scanner.error):
                return at, False
            self._read_name(call, call.scanner)
            if not call.closer and not (call.is_attempt and call.scanner.error):
                if call.scanner.done and (call.is_attempt or self._is_call(call)):
                    call.end = self._at + at
                    self._tell(call)
                self._call = None
                return at, True
            if not call.closer:
                call.ends = NO_END  # nobody knows where it ends
            call.scanner = None
        if call.end < 0 and call.ends is not None:
            ended = call.ends.search(text, at)
            if ended is None:
                return (len(text) if is_all else max(at, len(text) - END_LENGTH)), False
            at = ended.end()
            call.end = self._at + at
        elif call.end < 0:
            place = text.find(call.closer, at)
            if place < 0:
                return (len(text) if is_all else max(at, len(text) - len(call.closer) + 1)), False
            at = place + len(call.closer)
            call.end = self._at + at
        if call.is_wrapped:
            found = _WRAPPER_END.match(text, at)
            if found:
                at = found.end()
                call.end = self._at + at
            elif not is_all and len(text) - at < _WRAPPER_LENGTH:
                return at, False
        self._call = None
        self._tell(call)
        return at, True

    def _read_block(self, call: _Call, block: Block, text: str, at: int, is_all: bool) -> tuple[int, bool]:
        """As `_read_on`, where a block reads the call."""
        held = len(call.rest)
        source = call.rest + text[at:]
        base = self._at + at - held
        end = run(block, source, 0, base, [])
        call.name = block.name
        if block.dialect.json_name_is_key and block.name is None and block.json is not None:
            call.name = next(iter(block.json.scanner.first_keys), None)
        call.rest = source[end:] if is_all and not block.done else source[end:held]
        at = len(text) if is_all and not block.done else at + max(end - held, 0)
        if not block.done:
            return at, False
        call.end = base + end
        self._tell(call)
        self._call = None
        if block.again:  # another call begins in it
            self._call = following = _Call(call.notation, None, "", start=call.end)
            following.block = Block(call.end, 0, block.dialect, self._limits, self._toolbox, self._name)
            following.is_fenced = call.is_fenced
            following.rest = call.rest
        return at, True

    def _read_name(self, call: _Call, scanner: JSONScanner) -> None:
        names = scanner.names
        call.name = call.name or next((names[key] for key in self._keys[0] if names.get(key)), None)

    def _is_call(self, call: _Call) -> bool:
        """Does JSON in a fence, or without a mark, have all that a call needs?"""
        assert call.scanner is not None
        if call.name is None or call.scanner.names.keys().isdisjoint(self._keys[1]):
            return False
        return self._toolbox is None or self._toolbox.resolve(call.name) is not None

    def _tell(self, call: _Call) -> None:
        is_whole = call.end >= 0
        end = call.end if is_whole else max(self._at, call.start)
        self._left -= 1
        of = f" of {call.name!r:.100}" if call.name else ""
        rest = "" if is_whole else ", whose end is missing,"
        is_own = call.notation == self._dialect.name
        what = "that does not begin as it should" if is_own else f"in another notation ({call.notation})"
        message = f"a call{of} {what}{rest} stayed text"
        self.notices.append(
            Notice(Code.FOREIGN_CALL, (call.start, end), message, call.notation, call.name, is_whole, call.is_fenced)
        )

    def _find_cut(self, text: str, at: int) -> int:
        """Where the end of the text, from `at` on, cuts off what a call may begin with; else the length of the text."""
        place = text.rfind("<", at)
        if place >= 0 and (_CUT_ELEMENT.match(text, place) or self._is_part(text[place:])):
            return place
        place = text.rfind("{", at) if self._has_tools else -1
        if place >= 0 and _CUT_OBJECT.match(text, place):
            return place
        others = self._marks()
        cut = others.cut.search(text, max(at, len(text) - others.longest))
        if cut:
            return cut.start()
        place = text.rfind("`", at)
        while place > at and text[place - 1] == "`":
            place -= 1
        return place if place >= 0 and _CUT_FENCE.match(text, place) else len(text)

    def _is_part(self, text: str) -> bool:
        return any(mark.startswith(text) for mark in _marks(self._dialect))

    def _end_of_plain(self, text: str) -> int:
        """Where the end of a text without `<` cuts off a mark that begins with none; else the length of the text."""
        others = self._marks()
        cut = others.cut.search(text, max(0, len(text) - others.longest))
        return cut.start() if cut else len(text)

    def _marks(self) -> _OtherMarks:
        if self._others is None:
            self._others = _other_marks(self._dialect, self._has_tools)
        return self._others
