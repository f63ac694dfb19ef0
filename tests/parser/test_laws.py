"""The laws of the parser, each a function of one case that asserts; Hypothesis and `fuzz` bring the cases.

1 chunks don't matter · 2 nothing raises · 3 what was said is never taken back · 4 spans tile the input
5 what is held back is bounded · 8 clean blocks read the same in lxml. (6, growth, is in `benchmarks/`.)
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from support.calls import Meant, meant_calls, untyped_calls
from support.often import examples
from support.strategies import SOUP, TOOL_SETS, Case, cases, chunkings, clean_cases, pieces
from support.xml_layout import plain_block

from xmltools import dialects
from xmltools.dialects import Body, beside, named
from xmltools.errors import Code, Notice, XMLToolsError
from xmltools.models import Reasoning, Text, ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.parser import Limits, Parser, parse
from xmltools.render import render_call
from xmltools.render.writable import only_server
from xmltools.tools import Tool

pytestmark = pytest.mark.no_cover
OFTEN = examples(250)

SHOWN = re.compile(r"<!--|<!\[(?i:CDATA)\[|`|</?(?i:think|plan)|<(?!tool)(?i:tool)")
"""What may hide what follows it, or make a block of it, depending on text that comes later."""

BEGINNING = re.compile(r"<(?:tool|server[_-]*name)", re.IGNORECASE)
"""What a block of Forge's dialect begins with, or another call in it."""
STARTS = tuple(
    mark
    for dialect in dialects.all()
    for form in dialect.forms
    for mark in (form.opener, form.pairs.name if form.pairs else "")
    if mark and dialect is not dialects.FORGE
)
"""Marks with which calls of other dialects begin."""
NEXT = re.compile(r"[,{]|[A-Za-z_][\w.]*[ \t\r\n]*\(")
"""What another call of a list begins with, or of calls in Python."""
MARKS = tuple(
    mark
    for dialect in dialects.all()
    for mark in (
        *dialect.turn_ends,
        *dialect.strays,
        *dialect.frame,
        *(start for start, _ in dialect.headers if start),
        *(f"</{tag}>" for tag in dialect.reasoning),
        *(form.opener for form in dialect.forms if form.many and form.closer),  # empty sections
    )
)
HEADS = tuple(end for dialect in dialects.all() for start, end in dialect.headers if not start)

Seen = list[tuple[Any, ...]]
SPACE = " \t\r\n"


# --- running the parser ------------------------------------------------------------------------------------


def parser_for(case: Case, **changes: Any) -> Parser:
    """A parser for the case, whose ids are 0, 1, 2, …"""
    ids = itertools.count()
    return Parser(case.tools, new_id=lambda: str(next(ids)), **{**case.options, **changes})


def run(case: Case, chunks: Iterable[str], **changes: Any) -> tuple[list[Event], bool]:
    """All events, and whether the reply ended in reasoning."""
    parser = parser_for(case, **changes)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return [*events, *parser.close()], parser.unclosed_reasoning


def merge(events: Iterable[Event]) -> Seen:
    """Events as tuples, with all that is in them, adjacent deltas joined: what chunks must not change.

    Without notices: how long after its text one comes depends on the chunks.
    """
    seen: Seen = []
    for event in (each for each in events if not isinstance(each, Noticed)):
        kind, key, text, end = _told(event)
        if seen and text is not None and (kind, key) == seen[-1][:2]:
            seen[-1] = (kind, key, seen[-1][2] + text, end)
        elif text != "" or kind in ("ReasoningDelta", "Skipped"):
            seen.append((kind, key, text, end))
    return seen


def _told(event: Event) -> tuple[str, Any, str | None, int | None]:
    """Kind, all that tells it from its neighbours, text (None: it can't be joined to another), and end."""
    kind = type(event).__name__
    if isinstance(event, TextDelta | ReasoningDelta):
        return kind, None, event.text, event.span[1]
    if isinstance(event, ArgumentDelta):
        return kind, event.path, event.text, None
    if isinstance(event, CallFailed):
        return kind, (repr(event), event.error.source), None, None
    if isinstance(event, Skipped):
        return kind, None, "", event.span[1]
    return kind, repr(event), None, None


def notices_of(events: Iterable[Event]) -> list[Notice]:
    """The notices among the events."""
    return [event.notice for event in events if isinstance(event, Noticed)]


def ends(events: Iterable[Event]) -> list[CallCompleted | CallFailed]:
    """The events that end a block."""
    return [event for event in events if isinstance(event, CallCompleted | CallFailed)]


def calls_of(events: Iterable[Event]) -> list[ToolCall]:
    """The calls among the events."""
    return [event.call for event in events if isinstance(event, CallCompleted)]


# --- laws 1 to 4 -------------------------------------------------------------------------------------------


def law_chunks(case: Case) -> None:
    """1. However the text is cut, the parser says the same."""
    events, unclosed = run(case, [case.text])
    expected = merge(events)
    for chunks in chunkings(case.text):
        now, unclosed_now = run(case, chunks)
        assert merge(now) == expected, f"chunks {chunks!r}"
        assert notices_of(now) == notices_of(events), f"chunks {chunks!r}"
        assert unclosed_now == unclosed, f"chunks {chunks!r}"


def law_far_on(case: Case) -> None:
    """1. That text is kept piece by piece, of some 4,096 characters each, changes nothing either."""
    end = len(case.text)
    for cut in {1, end // 2, end - 1}:
        before = "prose, so that a piece ends in the text. " * 100
        text = before[: 4_096 - cut - 1] + "\n" + case.text
        whole, small = run(case, [text]), run(case, [text[: 4_096 - cut], *text[4_096 - cut :]])
        assert merge(small[0]) == merge(whole[0]) and small[1] == whole[1], f"cut at {cut}"
        assert notices_of(small[0]) == notices_of(whole[0]), f"cut at {cut}"


def law_without_deltas(case: Case) -> None:
    """1. Without deltas of arguments all else is the same."""
    events, unclosed = run(case, [case.text])
    expected = merge(event for event in events if not isinstance(event, ArgumentDelta))
    for chunks in chunkings(case.text):
        silent, unclosed_now = run(case, chunks, argument_deltas=False)
        assert not any(isinstance(event, ArgumentDelta) for event in silent)
        assert merge(silent) == expected and unclosed_now == unclosed, f"chunks {chunks!r}"
        assert notices_of(silent) == notices_of(events), f"chunks {chunks!r}"


def law_prefix(case: Case) -> None:
    """3. The events of a prefix stand; closing there adds a call only if just `</tool>` was missing, or if it could not
    be told yet whether the call is only shown, or where a value that holds an opener ends (protocol, 4.9)."""
    whole, _ = run(case, [case.text])
    expected, notices, calls = merge(whole), notices_of(whole), [_told_early(call) for call in calls_of(whole)]
    for chunks in chunkings(case.text)[1:3]:
        prefix = "".join(chunks[: len(chunks) // 2 + 1])
        parser = parser_for(case)
        events = parser.feed(prefix)
        assert_begins(expected, merge(events), prefix)
        early_notices = notices_of(events)
        assert notices[: len(early_notices)] == early_notices, f"prefix {prefix!r}: {early_notices} and then {notices}"
        is_undecided, is_held = parser._block is None, parser._held.is_waiting
        early = calls_of(parser.close())
        if parser.has_decided:
            continue
        untrue = [call for call in early if _told_early(call) not in calls and not _was_cut(call, prefix, whole)]
        untrue = [call for call in untrue if not (is_held or (is_undecided and _may_be_shown(call, prefix)))]
        assert not untrue, f"prefix {prefix!r}: {untrue}"


def _told_early(call: ToolCall) -> str:
    """All of a call, but its end if that is a mark that need not come, or what separates the call from the next one."""
    forms = named(call.dialect).forms
    may_lack_end = any(
        form.may_lack_end or form.separator or (form.pairs is not None and form.pairs.bare) for form in forms
    )
    return repr(call.model_copy(update={"span": call.span[:1]}) if may_lack_end and call.span else call)


def _was_cut(call: ToolCall, prefix: str, whole: list[Event]) -> bool:
    """True if the call was repaired at the end of the reply, where the end mark had not come yet. A section with many
    calls may go on with stray text before it: the call is the same, with another repair."""
    if call.span is None or Code.MISSING_END_TAG not in _codes(call):
        return False
    if not prefix[call.span[1] :].strip(SPACE):
        return True
    later = [(each.name, each.arguments) for each in calls_of(whole) if each.span and each.span[0] == call.span[0]]
    return named(call.dialect).many and later == [(call.name, call.arguments)]


def _may_be_shown(call: ToolCall, prefix: str) -> bool:
    """True if something before the call may go on and hide it: a comment, a section, inline code, reasoning."""
    return call.span is not None and SHOWN.search(prefix[: call.span[0]]) is not None


def assert_begins(whole: Seen, start: Seen, prefix: str) -> None:
    """Assert that `whole` begins with what was said for a prefix; its last text may have grown."""
    assert len(start) <= len(whole), f"prefix {prefix!r}: {start} and then {whole}"
    if not start:
        return
    (kind, key, text, _), (later_kind, later_key, later_text, _) = start[-1], whole[len(start) - 1]
    same = (kind, key) == (later_kind, later_key) and (later_text or "").startswith(text or "")
    assert start[:-1] == whole[: len(start) - 1] and same, f"prefix {prefix!r}: {start} and then {whole}"


def law_spans(case: Case) -> None:
    """4. The spans of text, reasoning and blocks tile the input, and text is what stands there."""
    for chunks in [[case.text], *chunkings(case.text)[:3]]:
        events = run(case, chunks)[0]
        assert_that_spans_tile(events, case.text, f"; chunks {chunks!r}")
        for event in events:
            if isinstance(event, CallCompleted | CallFailed):
                source = case.text[slice(*event.span)]
                begins = BEGINNING.match(source) or source.startswith(STARTS) or NEXT.match(source)
                begins = begins or source.lower().startswith(_beginnings(case))
                begins = begins or not source  # the error of thought calls (DIALECTS.md, 1.4)
                assert begins, f"{event} does not begin at a block"


def assert_that_spans_tile(events: Iterable[Event], text: str, where: str = "") -> None:
    """Assert that the spans of text, reasoning, blocks and what is skipped tile the text, and that text is what stands
    there."""
    at = 0
    for event in events:
        if not isinstance(event, TextDelta | ReasoningDelta | CallCompleted | CallFailed | Skipped):
            continue
        start, end = event.span
        assert start == at and end >= start, f"{event} begins at {start}, not at {at}{where}"
        source, at = text[start:end], end
        if isinstance(event, TextDelta):
            assert event.text == source != ""
        elif isinstance(event, ReasoningDelta):
            assert event.text in source
        elif isinstance(event, Skipped):
            assert source
            is_headed = start == 0 and text.startswith(HEADS, end)  # a word at the beginning of the reply
            assert is_headed or not source.strip(SPACE) or source.lstrip(SPACE).startswith(MARKS)
    assert at == len(text), f"the spans end at {at} of {len(text)}{where}"


def _beginnings(case: Case) -> tuple[str, ...]:
    """What calls begin with in the dialects that are read, or another call in the same block."""
    own = named(case.options.get("dialect", "forge"))
    found: list[str] = []
    for form in (form for dialect in (own, *beside(own, case.options.get("also"))) for form in dialect.forms):
        found += [form.opener.removesuffix(">"), form.pairs.name if form.pairs else "", "{" * form.is_bare]
        if form.body is Body.JSON:
            found += ["{", "[", ","]  # another call of a list
        if form.body is Body.TAGS:
            found += [f"<{tool.name}" for tool in case.tools or ()]
            found += [f"{tool.name}{end}" for tool in case.tools or () for end in ("\n", ":\n", "\r\n", ":\r\n")]
    return tuple(mark.lower() for mark in found if mark)


# --- more that always holds --------------------------------------------------------------------------------


def law_strict(case: Case) -> None:
    """Strict mode changes nothing but that a block with repairs is an error with the code of the first."""
    lenient, strict = (ends(run(case, [case.text], strict=on)[0]) for on in (False, True))
    assert [one.span for one in lenient] == [one.span for one in strict]
    for one, other in zip(lenient, strict, strict=True):
        if isinstance(one, CallCompleted) and one.call.repairs:
            assert isinstance(other, CallFailed), f"{one}, {other}"
            assert other.error.code == one.call.repairs[0].code, f"{one}, {other}"
        else:
            assert repr(one) == repr(other)


def law_reply(case: Case) -> None:
    """`parse` is `feed` and `close`."""
    reply = parse(case.text, case.tools, new_id=lambda: "", **case.options)
    events, unclosed = run(case, [case.text])
    assert reply.unclosed_reasoning == unclosed
    assert reply.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert reply.reasoning == "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert [_told_call(call) for call in reply.calls] == [_told_call(call) for call in calls_of(events)]
    assert list(reply.errors) == [event.error for event in events if isinstance(event, CallFailed)]
    assert list(reply.notices) == notices_of(events)
    assert all(part.text for part in reply.parts if isinstance(part, Text | Reasoning))


def _told_call(call: ToolCall) -> str:
    """All of a call but its id."""
    return repr(call.model_copy(update={"id": ""}))


def law_records(case: Case) -> None:
    """Repairs stand in their block, in order, and none has an error's code; errors explain themselves. Notices stand
    in the text, in order, none in another."""
    events, _ = run(case, [case.text])
    texts = {place for event in events if isinstance(event, TextDelta) for place in range(*event.span)}
    at = 0
    for notice in notices_of(events):
        start, end = notice.span
        assert at <= start < end and texts.issuperset(range(start, end)), notice
        assert notice.code.is_notice and notice.message and notice.hint, notice
        at = end
    for event in ends(events):
        if isinstance(event, CallCompleted):
            start, end = event.span
            offsets = [repair.offset for repair in event.call.repairs]
            assert offsets == sorted(offsets) and all(start <= offset <= end for offset in offsets), event
            assert not any(code.is_error for code in _codes(event.call)), event
        else:
            # Shown and thought calls are refused with the code that their repair has where they count.
            is_error = event.error.code.is_error or event.error.code in (Code.CODE_FENCE, Code.MISSING_END_TAG)
            assert is_error and event.error.message and event.error.hint, event


def law_starts(case: Case) -> None:
    """A call starts once, with the id and the name of its end; its deltas come between, and so does no other call."""
    for chunks in ([case.text], list(case.text)):
        started: CallStarted | None = None
        for event in run(case, chunks)[0]:
            if isinstance(event, CallStarted):
                assert started is None and event.name, f"{event} after {started}; chunks {chunks!r}"
                started = event
            elif isinstance(event, ArgumentDelta):
                assert started is not None, f"{event}; chunks {chunks!r}"
            elif isinstance(event, CallCompleted | CallFailed):
                end = (event.call.id, event.call.name) if isinstance(event, CallCompleted) else (event.id, None)
                begun = (None, None) if started is None else (started.id, started.name)
                assert end[0] == begun[0] and end[1] in (begun[1], None), f"{event} after {started}; chunks {chunks!r}"
                started = None


def law_deltas(case: Case) -> None:
    """The deltas of an argument that is declared as a string, joined, are the argument."""
    strings = {tool.name: _strings(tool) for tool in case.tools or ()}
    for chunks in ([case.text], list(case.text)):
        joined: dict[str, str] = {}
        for event in run(case, chunks)[0]:
            if isinstance(event, ArgumentDelta) and len(event.path) == 1:
                joined[event.path[0]] = joined.get(event.path[0], "") + event.text
            elif isinstance(event, CallCompleted):
                for name in joined.keys() & strings.get(event.call.name, set()):
                    assert event.call.arguments[name] == joined[name], f"{name}; chunks {chunks!r}"
            if ends([event]):
                joined.clear()


def _strings(tool: Tool) -> set[str]:
    return {name for name, schema in tool.parameters["properties"].items() if schema == {"type": "string"}}


# --- law 8: lxml reads the same ----------------------------------------------------------------------------


def law_lxml(case: Case) -> None:
    """8. A block without repairs is well-formed XML, and lxml finds the same values in it."""
    for call in calls_of(run(case, [case.text])[0]):
        if not call.legacy_json and call.clean and call.dialect == "forge":
            unnamed = only_server(case.tools or ()) or "local"
            check_xml(call, case.text[slice(*call.span)], typed=case.tools is not None, unnamed=unnamed)


def law_rendered(meant: Meant) -> None:
    """8, on the way out: a call that is written clean reads the same in lxml and in expat."""
    for server_names in (None, True):
        source = render_call(meant.call, meant.tool, server_names=server_names)
        call = parse(source, tools=[meant.tool] if meant.tool else None).calls[0]
        if not call.legacy_json and call.clean:
            check_xml(call, source, typed=meant.tool is not None)


def check_xml(call: ToolCall, source: str, *, typed: bool, unnamed: str = "local") -> None:
    """lxml and expat find in the block what the call says; `typed`: by a schema, which they don't know. A block that
    names no server means the `unnamed` one."""
    source = plain_block(source)
    root = read_xml(source)
    assert _names_and_texts(root) == _names_and_texts(read_with_defusedxml(source)), source
    fields = {child.tag: (child.text or "").strip(SPACE) for child in root}
    assert (call.name, call.server) == (fields["tool_name"], fields.get("server_name") or unnamed), source
    arguments = root.find("arguments")
    if typed:
        ours, theirs = Counter(_leaves(call.arguments)), Counter(_xml_leaves(arguments))
        assert ours == theirs, f"{source!r}: only ours {ours - theirs}, only in lxml {theirs - ours}"
    else:
        expected = {} if arguments is None else _object(arguments)
        assert call.arguments == expected, source


def read_xml(source: str) -> etree._Element:
    """The block as lxml reads it: no entities, no DTD, no network; the encoding is ours, not the text's."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(source.encode("utf-8"), parser)
    except (etree.LxmlError, ValueError) as error:
        raise AssertionError(f"clean, but no XML ({error}): {source!r}") from error


def read_with_defusedxml(source: str) -> Any:
    """The block as expat reads it, which must agree with lxml: a second witness with DTDs and entities forbidden."""
    return ElementTree.fromstring(source.encode("utf-8"), forbid_dtd=True)


def _names_and_texts(root: Any) -> list[tuple[str, str]]:
    return [(element.tag, element.text or "") for element in root.iter()]


def _object(element: etree._Element) -> dict[str, Any]:
    """The children of an element by name; a name that comes again makes a list (protocol 3.5)."""
    values: dict[str, list[Any]] = {}
    for child in element:
        values.setdefault(_name(child), []).append(_value(child))
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def _name(element: etree._Element) -> str:
    return element.get("name", element.tag).strip(SPACE) if element.tag == "argument" else element.tag


def _value(element: etree._Element) -> Any:
    """What an element says without a schema (protocol 3.5)."""
    if element.get("nil") == "true" and not len(element) and not element.text:
        return None
    if not len(element):
        return element.text or ""
    names = {_name(child) for child in element}
    if len(names) == 1 and names <= {"item", *_singulars(_name(element))}:
        return [_value(child) for child in element]
    return _object(element)


def _singulars(tag: str) -> Iterator[str]:
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    return (tag.removesuffix(plural) + singular for plural, singular in endings if tag.endswith(plural))


def _leaves(value: Any) -> Iterator[str]:
    """The scalars in a value, as text in which `5` and `5.0` are the same; empty ones and nulls left out."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    elif value is not None and value != "" and not (isinstance(value, str) and value.strip(SPACE) == "null"):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield from filter(None, [_number(text.strip(SPACE))])


def _xml_leaves(element: etree._Element | None) -> Iterator[str]:
    if element is None:
        return
    if not len(element) and element.text:
        yield from _leaves(element.text)
    for child in element:
        yield from _xml_leaves(child)


def _number(text: str) -> str:
    return repr(float(text)) if re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) else text


def law_clean(case: Case) -> None:
    """A block that was written clean is read as one call without repairs (and then law 8 holds for it)."""
    events, _ = run(case, [case.text])
    calls = calls_of(events)
    assert len(ends(events)) == len(calls) == 1, f"{case.text!r}: {events}"
    assert calls[0].clean, f"{case.text!r}: {_codes(calls[0])}"


def _codes(call: ToolCall) -> list[Code]:
    return [repair.code for repair in call.repairs]


LAWS: tuple[Callable[[Case], None], ...] = (
    law_chunks, law_without_deltas, law_prefix, law_spans, law_strict, law_reply, law_records, law_starts, law_deltas,
    law_lxml, law_far_on,
)  # fmt: skip


# --- the tests ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "plain"),
    [
        ("a", "a"),
        ("a\r\nb\r", "a&#13;\nb&#13;"),
        ("\n  a\n", "  a"),
        ("\r\n  a\r\n  ", "  a"),
        (" a\n", " a\n"),
        ("\n\n\n", "\n"),
        ("\n<![CDATA[a]]>\n", "<![CDATA[a]]>"),
        (" <![CDATA[a\r]]> <![CDATA[\n]]>", "<![CDATA[a]]>&#13;<![CDATA[]]><![CDATA[\n]]>"),
        ("\n a <![CDATA[<b>\n]]> c \n", " a <![CDATA[<b>\n]]> c "),
        (" <!-- a --> ", "<!-- a -->"),
    ],
)
def test_layout_is_taken_away_as_the_protocol_says(content: str, plain: str) -> None:
    assert plain_block(f"<a\r>{content}</a>") == f"<a >{plain}</a>"


@pytest.mark.parametrize("law", LAWS)
def test_law(law: Callable[[Case], None]) -> None:
    given(case=cases())(OFTEN(lambda case: law(case)))()


@pytest.mark.parametrize("law", [law_clean, *LAWS])
def test_law_on_clean_blocks(law: Callable[[Case], None]) -> None:
    given(case=clean_cases())(examples(150)(lambda case: law(case)))()


@given(meant_calls | untyped_calls)
@examples(300)
def test_law_on_rendered_calls(meant: Meant) -> None:
    law_rendered(meant)


@given(text=st.text(), tool_set=st.sampled_from(sorted(TOOL_SETS)))
def test_any_string(text: str, tool_set: str) -> None:
    """2. Any string in, no exception out (`test_law` says so for text that looks like a protocol)."""
    law_chunks(Case([text], tool_set))


@given(
    case=cases(),
    strict=st.booleans(),
    sizes=st.tuples(*[st.integers(1, 300)] + [st.integers(1, 6)] * 3),
    code_fences=st.sampled_from(["last", "call", "text"]),
)
def test_small_limits(case: Case, strict: bool, sizes: tuple[int, ...], code_fences: str) -> None:
    """1, 2 and 4 with limits so small that every block meets one."""
    limits = Limits(block_size=sizes[0], depth=sizes[1], elements=sizes[2], blocks=sizes[3])
    options = {**case.options, "limits": limits, "strict": strict, "code_fences": code_fences}
    limited = Case(case.tokens, case.tool_set, options)
    law_chunks(limited)
    law_spans(limited)


# Law 5: a block's opener has at most 512 characters, the white space behind it 1,024; no prose waits longer. What may
# be only shown, or end reasoning, waits for up to 10,000 characters.
MOST_HELD = 1_600
MOST_UNDECIDED = 10_100
CONFIRMED = re.compile(r"<(?i:tool)\b.{0,510}?>[ \t\r\n]{0,1024}[<{\[`~]", re.DOTALL)


CDATA = "<tool><tool_name>apply_diff</tool_name><arguments><diff><![CDATA["
LENGTHS = st.integers(1, 200)
RANDOM = st.randoms(use_true_random=False)
TOKENS = st.sampled_from([token for _, kind in SOUP for token in kind])


@given(tokens=st.lists(st.tuples(TOKENS, st.integers(1, 900))), longest=LENGTHS, rng=RANDOM)
def test_prose_is_not_held_back(tokens: list[tuple[str, int]], longest: int, rng: Random) -> None:
    """5. Outside blocks, whatever is repeated however often, only a tail waits for more."""
    text = "".join(token * count for token, count in tokens)[:20_000]
    parser, fed, covered = Parser(), 0, 0
    for chunk in pieces(rng, text, longest):
        fed += len(chunk)
        covered = max([covered, *(event.span[1] for event in parser.feed(chunk) if hasattr(event, "span"))])
        held = text[covered:fed]
        most = MOST_UNDECIDED if SHOWN.search(text[: covered + 7]) else MOST_HELD
        assert len(held) <= most or CONFIRMED.match(held), held[:60]


@given(text=st.text(alphabet="ab<>&/ \n[é", min_size=1), longest=LENGTHS, rng=RANDOM)
@pytest.mark.parametrize("tool_set", ["none", "diff"])
def test_cdata_is_not_held_back(tool_set: str, text: str, longest: int, rng: Random) -> None:
    """5. Inside CDATA at most three characters wait, even those that look like markup."""
    parser = Parser(TOOL_SETS[tool_set])
    parser.feed(CDATA)
    fed = said = 0
    for chunk in pieces(rng, text * 20, longest):
        fed += len(chunk)
        said += sum(len(event.text) for event in parser.feed(chunk) if isinstance(event, ArgumentDelta))
        assert fed - said <= 3


def test_words_are_not_held_back() -> None:
    """5. Plain text without markup or white space is said at once."""
    parser = Parser(TOOL_SETS["diff"])
    parser.feed("<tool><tool_name>apply_diff</tool_name><arguments><diff>x")
    for _ in range(50):
        assert [event.text for event in parser.feed("words") if isinstance(event, ArgumentDelta)] == ["words"]


# --- misuse ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [b"bytes", bytearray(b"x"), None, 1, ["x"]])
@pytest.mark.parametrize("before", ["", "prose ", "<tool", CDATA])
def test_only_strings_are_fed(before: str, chunk: Any) -> None:
    parser = Parser()
    parser.feed(before)
    with pytest.raises((XMLToolsError, TypeError), match="str"):  # the latter from a compiled parser
        parser.feed(chunk)


@pytest.mark.parametrize("chunk", ["more", ""])
def test_nothing_is_fed_after_close(chunk: str) -> None:
    parser = Parser()
    parser.close()
    with pytest.raises(XMLToolsError, match="close"):
        parser.feed(chunk)


@pytest.mark.parametrize(
    "options", [{"code_fences": "maybe"}, {"reasoning_tags": "think"}, {"tools": ["read"]}], ids=str
)
def test_options_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(XMLToolsError):
        Parser(**options)
