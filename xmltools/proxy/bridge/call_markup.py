"""Markup of calls that a reader of the reply need not see: a call in another notation, once the model has made it as it
should, and tags of calls beside one that was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from xmltools import dialects
from xmltools.errors import Code, Notice
from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event, TextDelta
from xmltools.parser.limits import Limits
from xmltools.proxy.bridge.after_failed_call import Outgoing

_MOST = Limits().block_size
"""Characters that are held in a call."""
_REACH = 400
"""Characters that show whether one begins."""
_SOON = 64
"""What seems to be the beginning of one may not seem so before as many have come."""
_TAG = r"<[^<>\s]{0,80}(?:\s+[\w:.-]+=[^\s<>]*)*(?:\s+[\w:.-]*)?"
"""A tag without its end. Prose after a `<` soon differs from it."""
_NAME = (
    r"(?:[\w\"']{1,20}(?:[:=]\s| (?:to=|to?\Z)))?[\[({`]{0,3}(?:[\w:./\"'`-]{1,80}+\s*+)?(?:[\[({]{1,3}[\w\"']{0,40})?"
)
_GOES_ON = re.compile(rf"(?<!`)(?!<[\d=/-])(?:{_TAG}>\s*+{_NAME}\s*+)*+(?:{_TAG})?\Z")
"""Tags, with nothing but a name and brackets after each. The first begins something, and no inline code."""
_TAGS = re.compile(r"\s*(?:<[^<>\s]{1,80}>\s*)+")
_STRAY = re.compile(r"\s{0,40}(?:</[^<>\s]{1,80}>|(?:<(?:/[^<>\s]{0,80})?)?\Z)")
"""An end tag after a call, or the beginning of one."""
_S = r"\s{0,9}"
_VALUE = r"\"[\w:./-]{0,80}"
_BEFORE = rf"(?:\"(?:type|(?:tool_call_)?id)\"{_S}:{_S}{_VALUE}\",{_S})*"
_OBJECT = rf"\[?\{{{_S}{_BEFORE}(?:\"\w{{0,12}}(?:\"{_S}(?::{_S}(?:{_VALUE}\"?)?)?)?)?\Z"
_OTHERS = re.compile(rf"(?:\A|(?<=\n)){_OBJECT}|\[T[A-Z_]{{0,10}}(?:\](?:\S{{0,120}}|{_S}(?:\{{[^\n]{{0,120}})?))?\Z")
"""What else may begin one: an object in a line of its own, Mistral's token, and the delimiter of `arrow`."""
_FENCE = re.compile(r"\s*(?:`{0,3}\Z|`{3,}[^`\n]{0,40}(?:\Z|\n\s*\[?\s*))")
"""One counts only if the reply is nothing else."""
_MARKUP = r"<(?:[/|｜]|[\w:]{0,20}(?:tool|func))[^<>\n]{0,80}>|\[[A-Z_/]{1,20}\]"
_AFTER = re.compile(rf"(?:\s*(?:{_MARKUP}|[\])}},;]))*")
_BETWEEN = re.compile(rf"(?:(?:{_MARKUP}|[\[({{])[\w.:-]{{0,80}}+\s*+){{0,20}}+\Z")
"""Tags and brackets after a call, and before the next one, which may have a name after each."""
Both = tuple[str, str]
"""Text that was held, with calls in other notations and without."""


@lru_cache(maxsize=64)
def _words(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The letters of tags that begin calls, and beginnings of these."""
    starts = [start for each in dialects.known() for form in each.forms for start in form.starts[:2] if "<" in start]
    own = [f"<{word}" for word in ("tool_name", "functions", *names)]
    words = {_letters(start) for start in (*starts, *own)} - {""}
    return frozenset(words), frozenset(word[:size] for word in words for size in range(len(word)))


def _letters(tag: str) -> str:
    """Return the letters of the name in a tag: bars and case differ."""
    return re.sub(r"[\W_]", "", re.split(r"[\s>=]", tag[tag.find("<") + 1 :])[0].lower())


class CallMarkup:
    """Holds text from where a call in another notation seems to begin, which `begins` finds, until the reply ends: if
    another try makes that call, nobody needs to see this one. `names` are those of the tools. If the text `stays`, for
    instance because there will be no other try, nothing is held.

    `before` was held of the replies before: then all text is held until a call begins. Tags right beside a call are
    left out in any case.
    """

    def __init__(
        self, begins: Callable[[str], int], names: tuple[str, ...], outgoing: Outgoing, before: Both, *, stays: bool
    ) -> None:
        self._begins = begins
        self._words, self._parts = _words(names)
        self._outgoing = outgoing
        self._before = before
        self._holds = bool(before[0])
        self._stays = stays and not self._holds
        self._is_after_call = False
        self._held: list[TextDelta] = []
        self._left = _MOST
        self.spans: list[tuple[int, int]] = []
        """Where there are such calls in the reply."""

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now, in text without a character with which calls begin."""
        return not (self._holds or self._held or self._is_after_call)

    @property
    def text(self) -> str:
        """What is held of this reply."""
        return "".join(each.text for each in self._held)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what may be seen."""
        for event in events:
            if isinstance(event, TextDelta):
                yield from self._text(event)
                continue
            is_made = isinstance(event, (CallStarted, CallCompleted))
            is_call = is_made or isinstance(event, CallFailed)
            if is_call and not self._holds and _TAGS.fullmatch(self.text):
                self._held.clear()
            if is_call or not self._holds:
                yield from self.release(with_calls=not is_made)
                self._stays |= is_made
            self._is_after_call = is_call and not isinstance(event, CallStarted)
            yield event

    def both(self, unread: Notice | None) -> Both:
        """Return what is held of this reply and those before. The model is asked again because of the call
        `unread`."""
        rest = self.text
        if unread is not None:  # JSON in a fence is sent back only if the reply is nothing else
            rest = "" if unread.is_fenced and unread.code is Code.FOREIGN_CALL else self._without_calls()
        return self._before[0] + self.text, self._before[1] + rest

    def _without_calls(self) -> str:
        spans = self.spans[::-1]
        pieces: list[str] = []
        for each in self._held:
            at, end = each.start, each.start + len(each.text)
            while at < end:
                while spans and spans[-1][1] <= at:
                    spans.pop()
                start, stop = spans[-1] if spans else (end, end)
                pieces.append(each.text[at - each.start : start - each.start] if at < start else "\0")
                at = start if at < start else stop
        first, *others = "".join(pieces).split("\0")
        texts = ["" if others and _GOES_ON.match(first) else first, *(_AFTER.sub("", text, 1) for text in others)]
        for at in range(1, len(others)):
            texts[at] = texts[at][:-_REACH] + _BETWEEN.sub("", texts[at][-_REACH:], 1)
        rest = "".join(texts)
        return rest if rest.strip() else ""

    def release(self, *, with_calls: bool = True) -> Iterator[Event]:
        """Yield what was held."""
        before, held = self._before, self._held
        self._before, self._held, self._holds = ("", ""), [], False
        if text := before[not with_calls]:
            yield TextDelta.make(text, 0)
        self._outgoing.is_new |= before[0] != ""
        yield from held

    def _text(self, event: TextDelta) -> Iterator[Event]:
        if self._before[0] or (self._holds and len(self._held[0].text) > _REACH):
            self._held.append(event)
            self._left -= len(event.text)
            if self._left < 0:
                yield from self.release()
                self._stays = True
            return
        start = self._held[0].start if self._held else event.start
        text = self.text + event.text
        self._held.clear()
        while self._is_after_call:
            found = _STRAY.match(text)
            self._is_after_call = found is not None and self._is_tag(found[0].replace("/", "", 1))
            if found and self._is_after_call:
                if not found[0].endswith(">"):
                    break
                text, start = text[found.end() :], start + found.end()
        is_early = self._is_after_call or (self._holds and len(text) < _SOON)
        at = 0 if is_early else self._place(text)
        if at:
            yield TextDelta.make(text[:at], start)
        if at < len(text):
            self._held.append(TextDelta.make(text[at:], start + at))

    def _place(self, new: str) -> int:
        """Return from where on the text is held."""
        last = self._outgoing.tail
        text, first = last + new, len(last)
        at = len(text) if self._stays else self._begins(text)
        self._holds = at < len(text)
        at = self._cut(text[:at])
        fence = _FENCE.match(text, first) if self._outgoing.is_blank and not self._stays else None
        return 0 if fence and fence.end() >= at else max(at - first, 0)

    def _cut(self, text: str) -> int:
        """Return the place from where on the end of the text may begin a call or a tag of one."""
        first = max(len(text) - _REACH, 0)
        others = None if self._stays else _OTHERS.search(text, first)
        at = others.start() if others else len(text)
        places = (found.start() for found in re.finditer("<", text[first:at]))
        return next((first + each for each in places if self._may_begin(text, first + each)), at)

    def _may_begin(self, text: str, at: int) -> bool:
        return self._is_tag(text[at:]) and _GOES_ON.match(text, at) is not None

    def _is_tag(self, text: str) -> bool:
        """Return whether the tag in the text begins calls, or the end cuts off one that does."""
        letters = _letters(text)
        return letters in self._words or (letters in self._parts and not re.search(r"<[^<>\s=]*[>\s=]", text))
