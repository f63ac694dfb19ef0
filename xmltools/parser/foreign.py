"""Calls in the notations of other protocols: they stay text, and are noticed (protocol, 1.9).

What a call begins with is what it begins with in the records of all dialects. Where models write a notation more
loosely than its record tells it, `_rules` has the looser form. And some text is plainly meant as a call of a given tool
though it is one in no notation, an *attempt*. Three things show one:

- a tag that begins calls in some dialect, whatever its case, its bars, and the `_` and `▁` in it. After it come only
  other such words, quotes and brackets, then the name of the tool, and then what a call goes on with;
- `NAME[ARGS]{`, which lacks Mistral's first delimiter;
- ` to=functions.NAME` and an object, which lacks Harmony's.

Models that know several notations mix them, and servers drop or change special tokens. Prose that mentions a tag has
other words after it.

A call ends where it does in its dialect, which a block reads, or at what its notation ends with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from heapq import merge
from typing import Final

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect, Pairs
from xmltools.errors import Code, Notice
from xmltools.parser.call_start import CallStarts, name_on_trial
from xmltools.parser.cut_off_replies import ends_complete
from xmltools.parser.delimited_starts import read_start
from xmltools.parser.machine import run
from xmltools.parser.open_call import Block
from xmltools.parser.openers import any_of
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.json_scanner import JSONScanner
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import MORE, NAME_LENGTH, NO, SPACE, SPACES

_HEAD_LENGTH: Final = 1_024
"""Characters in which a call must show what it is."""
_TO: Final = " to=functions."
"""As Harmony's ` to=`, but only with this prefix: prose may have the rest."""
_ARGS: Final = "[ARGS]"
"""Mistral's delimiter after the name."""
_S = f"{SPACE}*"
_S64 = f"{SPACE}{{0,64}}"
_NAME = f"(?P<name>[^{SPACES}<>\"'/={{}}]{{1,256}})"

_SIGNS: Final = "<[{(=&"
"""One of them is in each text in which a call begins."""
_NO_TOOLS: Final = Toolbox(())

# At the start of a run of backticks only: long runs would take quadratic time.
_FENCED = rf"```(?<!````)`*+[^\n`]*+\n{_S}+\[?{_S}+(?={{)"
_VALUE = rf"{_S}={_S}(?:\"[^\"<]*\"|'[^'<]*')"
_TOOL_TAG: Final = (
    (
        "tag_per_tool",
        rf"<(?P<name>[\w.:-]+)(?:{SPACE}+(?P<key>[\w.:-]+){_VALUE}(?:{SPACE}+[\w.:-]+{_VALUE})*)?{_S}"
        rf"(?:(?P<closed>/>)|>(?={_S}(?:{{|<(?P<child>[\w.:-]+)[{SPACES}/>]|</\1>)))",
        "",
    ),
)
"""A call that is an element named as its tool, as one of the `_rules`."""
_OWN_TOOL = late_pattern(
    rf"<{FORGE.block}(?:{SPACE}[^<>]*+)?>{_S}"
    rf"(?:<{FORGE.server_name}>{_S}{_NAME}{_S}</{FORGE.server_name}>{_S})?<{FORGE.tool_name}>"
)
"""A call in Forge's own dialect, which is only shown, or comes after the last that counts."""

# -- attempts ----------------------------------------------------------------------------------------------------------

_BARS: Final = r"|｜‖▁_\\"
_TRIGGER = rf"tool|func|invo|[TFI{_BARS}](?:(?i:ool|unc|nvo)|(?<=[{_BARS}])[{_BARS}]{{0,2}} ?[A-Za-z])"
"""What the tag of an attempt begins with, after its `<`. Without bars others are words of HTML, as `<start>` may be."""
_TAG = (
    rf"<(?={_TRIGGER})(?!(?:tool|functions?|invoke)(?![\w{_BARS}=:{SPACES}]))"
    rf"(?P<tag>(?:[\w{_BARS}]|(?<=[|｜‖]) (?=\w)){{1,80}}+)"
)
"""Not one that must have a name in it, and has none."""
_LETTERS = late_pattern("[a-z0-9]+")
_IN_TAG: Final = ("tool", "function", "functions", "invoke")
"""Tags that must have the name in them: documents have `<function>read</function>`."""
_WORD = (
    "antml|arguments|args|begin|calls|call|channel|code|commentary|constrain|content|dsml|functions|function|id|ifm|"
    "index|invoke|json|message|minimax|name|open|parameters|parameter|plugin|python|recipient|section|seed|sep|start|"
    "steptml|tools|tool|type|xml"
)
_WORDS = rf"(?i:{_WORD})(?:_(?:(?i:{_WORD})|\d{{1,9}}))*+"
"""What may come between a tag and the name, alone or with `_` between."""
_GAP_LENGTH: Final = 200
_OTHER_KEY: Final = r"\b(?:id|index|type)[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?\Z"
"""What comes right before a word that is not a name, as in `<functions id="search">`."""
_NEXT = r"(?:[<{\[]|`{3}|[\"'`]{0,3}[\w.-]{1,64}[\"'`]{0,3}[ \t]{0,8}[:=])"
_FOLLOW = late_pattern(
    rf"[\"'`]{{0,3}}(?:\Z|\({_S64}(?:[\"'{{\[)]|\w{{1,64}}{_S64}[=:])|{_S64}(?P<closed>/>)"
    rf"|{_S64}>(?:(?:[ \t]{{0,64}}\r?\n{_S64})?{_NEXT}|[ \t]{{1,64}}[{{\[])|{_S64}(?::\d{{1,9}}|[,:=]{_S64})?{_NEXT})"
)
"""What follows the name: an element, an object, a list, arguments, a key. Prose lists tags with blanks between."""
_OPPOSITE: Final = {"begin": "end", "start": "end", "prefix": "suffix"}
# A backslash before it says that it is only shown.
_LAST_NAME = late_pattern(r"(?<![\w.:/\\-])([\w.:/-]*+(?<=\w))\Z")
_TO_CALL = (
    rf"{_TO}(?P<name>[\w.:/-]{{1,256}}+)"
    r"(?:[\s<>|｜‖]|(?:analysis|assistant|channel|code|commentary|constrain|final|json|message)(?!\w)){0,200}+(?={)"
)


@dataclass
class ForeignCall:
    """A call that has begun at `start`, up to `place`. The rest of it is read by a `trial`, if it is in the form of a
    dialect; otherwise by the `scanner`, if it has an object, and then up to what matches `ends`."""

    notation: str
    name: str | None
    start: int
    place: int
    ends: str = ""
    is_attempt: bool = False
    """It has the name of a given tool, and does not count in a fence."""
    is_fenced: bool = False
    trial: Block | None = None
    scanner: JSONScanner | None = None
    rest: str = ""
    """Of the text that was taken, where the trial has not read it yet."""


def pairs_of(name: str) -> Pairs:
    """The delimiters of the first form of a dialect that has a name and arguments between some."""
    return next(form.pairs for form in dialects.named(name).forms if form.pairs)


@cache
def _rules() -> dict[str, tuple[tuple[str, str, str], ...]]:
    """Calls that models write more loosely than a record tells them (protocol, 1.9), by the element that begins them:
    the notation, a pattern up to the arguments, which are an object if it has no group, and one of the end, if that is
    not the end tag of the element. The text after `<tool_call>` shows which notation it is, `<function=` may have a
    name in quotes or as an attribute, `<invoke` any prefix, and Forge's call may lack its start tag."""
    hermes, qwen = dialects.named("hermes"), pairs_of("qwen3_coder")
    call, name = hermes.opener + _S, FORGE.tool_name
    field = f"<(?:{FORGE.arguments}|{FORGE.server_name})>"
    word = qwen.name[1:-1]
    function = rf"<{word}(?:=|{SPACE}{{1,8}}name=)[\"']?{_NAME}[\"']?>"
    return {
        hermes.block: (
            ("hermes", rf"{call}(?:`{{3,}}+[^`\n<{{]*+{_S}+)?\[?{_S}(?={{)", ""),
            ("qwen3_coder", call + function, f"{qwen.end}(?:{_S64}{hermes.closer})?"),
            ("hermes", rf"{call}<(?:tool_)?name>{_S}{_NAME}{_S}<", ""),
            ("pythonic", rf"{call}(?P<name>[\w.-]{{1,256}}){_S}\(", ""),
            ("hunyuan", rf"{call}(?!`){_NAME}{_S}{pairs_of('hunyuan').name_end}", ""),
            ("glm", rf"{call}(?!`){_NAME}{_S}(?={pairs_of('glm').key}|{hermes.closer}|{{)", ""),
        ),
        name: (("forge", rf"<{name}>{_S}{_NAME}{_S}</{name}>{_S}{field}", f"</{FORGE.arguments}>"),),
        FORGE.block: (("forge", rf"{FORGE.opener}{_S}(?:<{name}>{_S}{_NAME}{_S}<|{field}|{{{_S}\")", ""),),
        word: (("qwen3_coder", function, ""),),
        "invoke": (("invoke", rf"<(?:[\w-]+:)?invoke{SPACE}+name{_S}={_S}([\"']){_NAME}\1[^<>]*>", ""),),
    }


@lru_cache(maxsize=64)
def _forms(dialect: Dialect) -> dict[str, list[Dialect]]:
    """The forms of calls in other dialects by the delimiter that comes first in each of their calls: that of a call by
    itself, or else that of the block."""
    found: dict[str, list[Dialect]] = {}
    for each in dialects.known():
        for form in each.forms:
            is_other = form.name != dialect.name and form.body in (Body.PAIRS, Body.JSON)
            if is_other and not (form.is_bare or form.is_first):
                found.setdefault(form.starts[:2][-1], []).append(form)
    return found


def _parts(dialect: Dialect, names: tuple[str, ...]) -> dict[str, str]:
    """Patterns of parts of calls, with the `name` of a tool or the `key` of an argument, or both, by text in them:
    what is left where an engine drops tokens, and delimiters of the dialect itself after a start that is damaged."""
    key = r"(?P<key>[\w.-]{1,256}+)"
    quote, is_bare = '"?' * dialect.json_name_is_key, any(form.is_bare for form in dialect.forms)
    words = rf"(?:{_WORDS}|&[lg]t;|&quot;|[|｜\s/\"'=:{{\[]){{1,30}}+"
    found = {"&lt;": rf"&lt;[|｜]?{words}(?P<name>{any_of(names)})(?=&|[\"'({SPACES}])"}
    for tool in names:  # a pattern that begins with a word is found fast
        name = re.escape(tool)
        begins = rf"(?<=\[{name})(?<![^\n]\[{name})" + rf"|(?<![^\n]{name})" * is_bare
        found[tool] = (
            rf'(?P<name>{name})(?:(?<=call:{name}){{|(?<=call tool="{name})"|(?:{begins})\({_S64}\w+{_S64}='
            rf"|(?<![\w/-]{name}){quote}(?::\d{{1,9}}|:(?={SPACE}))?{_S64}(?:```\w{{0,9}}\n)?"
            rf'{{{_S64}"{key}"{_S64}:)'
        )
    for form in dialect.forms:
        if pairs := form.pairs:
            if pairs.key:
                name = rf"[^<>\n]{{0,80}}?\b{pairs.key_attribute}=[\"']?" if pairs.key_attribute else _S64
                found[pairs.key_start] = f"{re.escape(pairs.key_start)}{name}{key}"
            elif pairs.name_end not in ("", _ARGS):
                found[pairs.name_end] = f"{re.escape(pairs.name_end)}{_S64}{{"
            if form.block and not form.is_sure:
                found[form.opener] = (
                    rf"(?<![^\n]){re.escape(form.opener)}[ \t]{{0,64}}\r?\n(?!{_S}(?:\Z|{{|<[\w:]+(?:\s\w+=|[=>])))"
                )
        elif form.is_bare:
            found['": {'] = rf'{{{_S64}"\w{{1,64}}"{_S64}:{_S64}"[^"\n]{{1,256}}",{_S64}"\w*(?:arame|argum)\w*"{_S64}:'
    return {lead: f"{text}(?P<part>)" for lead, text in found.items()}


@lru_cache(maxsize=64)
def _beginnings(dialect: Dialect, names: tuple[str, ...], own: tuple[str, ...]) -> dict[str, re.Pattern[str]]:
    """Patterns of what a call in another notation begins with, by a part that is in each text with one. The group is
    the name of the element. `names` are those of the tools, `own` the elements of the dialect."""
    # Each comes before its beginnings.
    tags = sorted((delimiter[1:] for delimiter in _forms(dialect) if delimiter[0] == "<"), reverse=True)
    # Nearly all text after a `<` begins none of these: one look at its next character says so.
    firsts = re.escape("".join({each[:1] for each in (*_rules(), *names, *tags)}))
    # An element of the dialect itself is none, but for `<function name=`, which not all that have it read.
    words = [word + {"invoke": "(?!)", "function": "(?= )"}.get(word, "") * (word in own) for word in _rules()]
    # Its tags with the name of a tool have no attributes.
    is_tool = dialect.body is Body.TAGS
    words += [re.escape(name) + f"(?={SPACE})" * (name in own) for name in names if is_tool or name not in own]
    end = f"(?=[{SPACES}>/=])"
    tags = [f"({'|'.join(words)}){end}", *map(re.escape, tags), _TRIGGER]
    key = any_of(dialect.json_tool_names)
    alike = re.sub(r"\\-|_", "[-_]", any_of(names))  # when the object ends, its name decides
    before = rf'(?:type"{_S}+:{_S}+"function"|(?:tool_call_)?id"{_S}+:{_S}+"[\w.:-]{{0,64}}+"){_S}+,{_S}+"'
    found = _parts(dialect, names) if names else {}
    found |= {delimiter: re.escape(delimiter) for delimiter in _forms(dialect) if delimiter[0] != "<"} | {
        _ARGS: rf'\[ARGS\](?:{_S64}(?={{{_S64}"(?P<key>[\w.-]{{1,256}}+)")|{_S}(?={{))',
        _TO: _TO_CALL,
        ":invoke": rf"<([\w.-]{{1,64}}+:invoke){end}",
        "<": f"<(?=[{firsts}tfiTFI{_BARS}])(?:{'|'.join(tags)})",
        "{": rf'{{{_S}+"(?:{before}){{0,2}}+(?:{key})"{_S}+:{_S}+"(?i:{alike})"',
        "`": _FENCED,
    }
    return {lead: late_pattern(text) for lead, text in found.items()}


@lru_cache(maxsize=64)
def _known(dialect: Dialect) -> dict[str, tuple[str, list[str]]]:
    """By the letters of a tag that begins calls: the notation of an attempt with it, and what ends calls that begin
    so. `<invoke>` begins calls in several dialects, `<functions>` in none."""
    found: dict[str, tuple[str, list[str]]] = {"functions": ("qwen3_coder", [])}
    for each in (dialect, *dialects.known()):
        for form in each.forms:
            for delimiter in form.starts[:2]:  # that of a block, and that of a call by itself
                if tag := re.match("<([^<>=:]+)", delimiter.lower()):
                    letters = "".join(_LETTERS.findall(tag[1]))
                    notation = "invoke" if letters == "invoke" and form.name != dialect.name else form.name
                    ends = found.setdefault(letters, (notation, []))[1]
                    if delimiter == form.opener and form.closer:
                        ends.append(form.closer)
    return found


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    """A tag, what may come between it and the name of one of these tools, and the name."""
    odd = any_of(name for name in names if re.fullmatch(_WORDS, name))  # which have a name of such words only
    words = rf"</|/>|[\"'],|\\n|functions\.|(?!(?:{odd})(?!\w)){_WORDS}(?!\w)|\d{{1,9}}(?!\w)"
    gap = rf"(?P<gap>(?:{words}|[\s<>|｜‖▁:=\"'`\[({{]){{0,{_GAP_LENGTH}}}+)"
    return re.compile(rf"{_TAG}{gap}(?P<name>\w[\w.:/-]{{0,255}}+)")


_object = partial(JSONScanner, 128, has_names=True)
"""What reads the object of a call. One that nests deeper is broken."""


class ForeignCalls:
    """Looks for calls in other notations in the text outside blocks and reasoning, and hands the text on to what knows
    the calls that are only `shown`. It finds as many as there may be blocks.

    `take` is given the text, and returns how much of it was taken: the rest may be the beginning of a call, and comes
    again with the next text. The caller sets `at` where it leaves text out, and fetches the `notices`.
    """

    at = 0
    _call: ForeignCall | None = None

    def __init__(self, calls: CallStarts) -> None:
        self._calls = calls
        self._dialect = calls.starts.dialect
        self._own = calls.starts.own_names
        self._tools = calls.toolbox or _NO_TOOLS
        self._left = calls.limits.blocks
        self.notices: list[Notice] = []

    @property
    def is_open(self) -> bool:
        """Whether the text is in a call that has begun. An attempt may have a call of another dialect in it."""
        return self._call is not None and not self._call.is_attempt

    @property
    def has_begun(self) -> bool:
        """Whether the text is in a call that has begun, or in an attempt: what it has is text."""
        return self._call is not None

    def begins(self, text: str) -> int:
        """Return where in a text a call seems to begin, if nothing is known of what comes after it; its length, if none
        does. Not one right after a backtick, nor JSON in a fence, which may be anything."""
        self._look_at(text)
        call, at = self._find(0, 0)
        while call and (text[:at].endswith("`") or (call.trial is None and "`" in text[at : at + 2])):
            call, at = self._find(call.place, 0)
        return call.start if call else at

    def take(self, text: str, *, is_all: bool, is_last: bool = False) -> int:
        """Take the next text. `is_all`: no later text continues what has begun in it. `is_last`: nothing follows, so
        that nobody will ask what is open after it."""
        behind = 0 if is_all else _HEAD_LENGTH
        handed, taken = 0, len(text) - behind
        if taken < behind:
            return 0  # little is new
        if self._left and (self._call or any(sign in text for sign in _SIGNS)):
            handed, taken = self._search(text, behind)
        if not is_last:
            self._calls.shown.take(text[handed:taken])
        self.at += taken
        return taken

    def stop(self) -> None:
        """A block or a region begins, or the reply ends. An open call ends there."""
        if call := self._call:
            trial, rest = call.trial, call.rest
            self._end(call, self.at, is_whole=trial is not None and ends_complete(trial, rest, self.at - len(rest)))

    def _search(self, text: str, behind: int) -> tuple[int, int]:
        """Returns how much of the text prose has, and how much of it was taken. The last characters are kept, as many
        as `behind`, and those after a place where a call may begin: more text may change what they are."""
        self._look_at(text)
        prose = self._calls.shown
        handed = at = 0
        while True:
            call = self._call
            if call:
                at = self._read_on(call, at, behind)
                if self._call is call:
                    return handed, at
                continue
            begun, start = self._find(at if self._left else len(text), behind)
            if begun is None:
                return handed, start
            prose.take(text[handed:start])
            handed = start
            if text[start] == "`" and begun.trial is None:
                begun.is_fenced = True
                is_shown = prose.marker + prose.line.strip() != "" or prose.may_hide  # it begins no fence line
            else:
                prose.settle()
                begun.is_fenced = prose.fence != ""
                is_shown = prose.may_hide or (begun.is_fenced and (begun.is_attempt or text[start] == "{"))
            if is_shown:
                at = max(begun.place, start + 1)
            else:
                at = start if begun.trial else begun.place
                begun.start += self.at
                self._call = begun

    def _look_at(self, text: str) -> None:
        beginnings = _beginnings(self._dialect, self._tools.names, self._own)
        found = (pattern.finditer(text) for lead, pattern in beginnings.items() if lead in text)
        self._text = text
        self._all = merge(*found, key=re.Match.start)
        self._found = next(self._all, None)

    # -- the beginning of a call --------------------------------------------------------------------------------------

    def _find(self, at: int, behind: int) -> tuple[ForeignCall | None, int]:
        """The first call that begins at `at` or later, and the place of what shows it; without one, the place from
        which on the text is looked at again. A call that begins before the name in an attempt comes first."""
        attempt: ForeignCall | None = None
        size = len(self._text)
        stop = size - 2 * behind  # another call may begin before the name in an attempt
        while found := self._found:
            start = found.start()
            if start >= max(at, stop):
                break
            self._found = next(self._all, None)
            if start < at:
                continue
            call = self._head(found, start) if found.lastgroup != "part" else (not attempt and self._part(found))
            if isinstance(call, ForeignCall):
                return call, start
            if attempt := attempt or self._attempt(start):
                stop = attempt.place
            at = (not attempt and call) or start + 1
        return attempt, attempt.start if attempt else max(at, (found.start() if found else size) - behind)

    def _head(self, found: re.Match[str], start: int) -> ForeignCall | int:
        """The call that was found at `start`, unless it is an attempt with a tag; otherwise where to go on."""
        end, written = found.end(), found[0]
        stop = start + _HEAD_LENGTH
        if end >= stop:
            return end
        if written.startswith((_ARGS, _TO)):
            return self._without_first(found) or end
        word = found[1] if found.lastindex else ""
        if word == FORGE.block == self._dialect.block:
            return (_OWN_TOOL.match(self._text, start, stop) or found).end()
        delimiter = f"{written} " if word == "function" else written
        for form in _forms(self._dialect).get(delimiter, ()):
            after = read_start(form, self._text, start, delimiter)
            if after:
                trial = self._calls.on_trial(form, self.at + start, self.at + after)
                return ForeignCall(form.name, None, start, after, trial=trial)
            if after is MORE:
                return NO
        if written[0] in "{`":
            place = start if written[0] == "{" else end
            return ForeignCall("json", None, place, place, scanner=_object())
        if not word:
            return NO
        rules = _rules().get("invoke" if word.endswith(":invoke") else word)
        is_own = rules is None and word in self._own
        for notation, pattern, ends in rules or _TOOL_TAG:
            head = re.compile(pattern).match(self._text, start, stop)
            if head and not (is_own and not head["key"]):
                return self._begin(notation, head, ends or f"</{re.escape(word)}>", is_own) or head.end()
        return end

    def _part(self, found: re.Match[str]) -> ForeignCall | None:
        """A part of a call without its beginning."""
        ends = any_of(form.closer for form in self._dialect.forms if form.closer)
        return self._begin(self._dialect.name, found, ends, is_attempt=True)

    def _begin(self, notation: str, head: re.Match[str], ends: str, is_attempt: bool) -> ForeignCall | None:
        """The call with this beginning. If that names an argument, the tool, or a given one, must have it."""
        parts, tools = head.groupdict(), self._tools
        name, key = parts.get("name"), parts.get("key") or parts.get("child")
        shapes = [tools.guess(each, None, self._dialect.default_server) for each in ([name] if name else tools.names)]
        if key and not any(shape and shape.has_property(key) for shape in shapes):
            return None
        ends = "(?=)" if parts.get("closed") else ends
        scanner = None if head.re.groups else _object()
        return ForeignCall(notation, name, head.start(), head.end(), ends, is_attempt, scanner=scanner)

    def _without_first(self, found: re.Match[str]) -> ForeignCall | None:
        """An attempt that lacks the delimiter before the one that was found."""
        at, is_to = found.start(), found.lastgroup == "name"
        named = found if is_to else _LAST_NAME.search(self._text, at - NAME_LENGTH - 1, at)
        name = named and self._tools.resolve(named[1].rstrip(".:/-"))
        if named and name:
            start, notation = (at + 1, "harmony") if is_to else (named.start(), "mistral")
            return ForeignCall(notation, name, start, found.end(), is_attempt=True, scanner=_object())
        is_word = self._text[at - 1 : at].isalnum() and named is None  # it is escaped, or no name at all
        return None if is_to or is_word or not found["key"] else self._part(found)

    def _attempt(self, at: int) -> ForeignCall | None:
        """The attempt that begins with the tag at `at`, if one does."""
        named = _named(self._tools.names).match(self._text, at, at + 3 * _GAP_LENGTH)
        if named is None:
            return None
        words = _LETTERS.findall(named["tag"].lower())
        letters = "".join(words)
        known, is_in_tag = _known(self._dialect).get(letters), letters in _IN_TAG
        gap, (start, after) = named["gap"], named.span("name")
        if (
            known is None
            or len(gap) >= _GAP_LENGTH
            or re.search(_OTHER_KEY, gap)
            or (is_in_tag and not re.fullmatch(f"(?=[=:{SPACES}])[^>]*+", gap))
        ):
            return None
        notation, closers = known
        last = [_OPPOSITE.get(word, word) for word in words]
        slash = rf"[{_BARS}]{{0,3}}/" if last == words else ""
        tag = rf"[{_BARS} ]{{0,3}}".join(last)
        ends = rf"<{slash}[{_BARS}]{{0,3}}(?i:{tag})[{_BARS}]{{0,3}}{SPACE}{{0,8}}>|" + any_of(closers)
        bare = re.sub(r":\d{1,9}\Z", "", named["name"]).rstrip(".:/-")
        if name := self._tools.resolve(bare):
            after = start + len(bare)
            follows = _FOLLOW.match(self._text, after)
            if follows is None:
                return None
            if is_in_tag and follows["closed"]:
                after, ends = follows.end(), "(?=)"
        else:
            # The name of an argument comes right after it, and the delimiters between the two are missing.
            glm = pairs_of("glm")
            if self._text.startswith((glm.key, glm.key_end, glm.value, glm.value_end), after):
                name = max(filter(named["name"].startswith, self._tools.names), key=len, default=None)
        return ForeignCall(notation, name, at, after, ends, is_attempt=True) if name else None

    # -- the rest of a call --------------------------------------------------------------------------------------------

    def _read_on(self, call: ForeignCall, at: int, behind: int) -> int:
        """Read the text of a call, which may end. Returns the place up to which it was read."""
        text, scanner, block = self._text, call.scanner, call.trial
        if block:
            held = len(call.rest)
            source, at = call.rest + text[at:], at - held
            end = at + run(block, source, 0, self.at + at)
            if not (behind or block.done):
                call.rest = source[end - at :]
                return len(text)
            call.rest = source[end - at : held]
            if block.done:
                self._end(call, self.at + end)
            if block.again:  # another call begins in it
                start = self.at + end
                self._call = replace(call, start=start, trial=self._calls.on_trial(block.dialect, start, start))
            return max(at + held, end)
        if scanner:
            at = scanner.scan(text, at)
            if not (scanner.done or scanner.error):
                return at
            if not call.ends and (scanner.done or call.notation == "json"):
                self._end(call, self.at + at)
                return at
        # Nobody knows where an attempt ends if its object is broken.
        ended = re.compile(call.ends or "(?!)").search(text, at)
        if ended is None or len(text) - ended.end() < behind:  # more of the end may follow
            return max(at, ended.start() if ended else len(text) - behind)
        self._end(call, self.at + ended.end())
        return ended.end()

    def _end(self, call: ForeignCall, end: int, *, is_whole: bool = True) -> None:
        """Tell a call that ends, or is cut off, at `end` in the stream. An object by itself must be one, name a tool
        and have arguments."""
        self._call = None
        name, notation, scanner = call.name, call.notation, call.scanner
        if call.trial:
            name = name_on_trial(call.trial) or None
        elif scanner:
            name = name or next(filter(None, map(scanner.names.get, self._dialect.json_tool_names)), None)
            if notation == "json":
                is_tool = name and (self._calls.toolbox is None or self._tools.resolve(name))
                has_arguments = not scanner.names.keys().isdisjoint(self._dialect.json_arguments_names)
                if not (is_tool and (self._dialect.is_bare if scanner.error else has_arguments)):
                    return
                is_whole &= not scanner.error
        self._left -= 1
        of = f" of {name!r:.100}" if name else ""
        rest = "" if is_whole else ", whose end is missing,"
        is_own = notation == self._dialect.name
        what = "that does not begin as it should" if is_own else f"in another notation ({notation})"
        message = f"a call{of} {what}{rest} stayed text"
        self.notices.append(
            Notice(Code.FOREIGN_CALL, (call.start, end), message, notation, name, is_whole, call.is_fenced)
        )
