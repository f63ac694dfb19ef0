"""Records from what a checkpoint says of its own notation: the `response_template` in its `tokenizer_config.json`.

The rules are in `grammars/DIALECTS.md`, section 8. A record consists of strings, so expressions of the template become
the literal text that they consist of, or are refused; none of them is ever run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from xmltools.dialects.dialect import Body, Dialect, Pairs, ResultForm, Writing
from xmltools.dialects.expressions import Edge, Part, Run, Sequence, Slot, Space, alternatives
from xmltools.errors import XMLToolsError

_CALLS: Final = "tool_calls"
_TEXT: Final = "content"
_REASONING: Final = ("thinking", "reasoning", "reasoning_content")
_TEMPLATE_KEYS: Final = ("version", "defaults", "fields", "start_anchor", "start_anchor_pattern")
_DELIMITER_KEYS: Final = ("open", "open_pattern", "close", "close_pattern")
_CONTENT_KEYS: Final = ("content", "content_args", "transform", "transform_each", "repeats", "join", "optional")
_IDS: Final = ("id", "tool_call_id", "call_id", "type")
"""Keys beside the name and the arguments that say nothing more. A template does not mention what it does not use."""
_CONTENTS: Final = "a record has calls that are json, xml-inline or python-call-list"
_LITERALS: Final = "a record has literal delimiters, with white space between them"

_MOST: Final = 32
_LONGEST: Final = 256
"""Delimiters on a side of a field, and characters of one."""

_NAME: Final = "-"
_NUMBERED: Final = r":\d++"
_TOKEN = re.compile(r"[|｜▁]|^\[[A-Z_]+\]$")
"""What is in a delimiter that is a token of its own, which models write for nothing else."""
_BETWEEN_TAGS = re.compile(r"(?<=[>\]])\s*(?=[<\[])|(?<=>)\s+")
_ATTRIBUTE = re.compile(r"(?P<tag>.*\S)\s+(?P<name>[\w:-]+)=(?P<quote>[\"'])", re.DOTALL)
_OTHER_ATTRIBUTE = re.compile(r"\s+(?P<name>[\w:-]+)=[\"'](?:true|false)?(?:[\"']>)?")
_TAG = re.compile(r"<(?P<mark>[^\w\s<>/]*)(?P<name>[^\W\d][\w.:-]*)(?P<rest>[^\w<>]*)>?")
_PLAIN_TAG = re.compile(r"<([^\W\d][\w.:-]*)>")
_PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")


def dialect_of(described: Mapping[str, Any], name: str = "response_template") -> Dialect:
    """Return the record of what a template describes, or of the template in a `tokenizer_config.json`.

    Raises XMLToolsError for what is no template, and for what no record can say: the message names the part.
    """
    if not isinstance(described, Mapping):
        raise XMLToolsError(
            f"response template: expected an object, as in tokenizer_config.json, got {described!r:.60}"
        )
    template, turn_ends = described, tuple[str, ...]()
    if "fields" not in described:
        template = described.get("response_template") or _missing(described)
        end = described.get("eos_token")
        end = end.get("content") if isinstance(end, Mapping) else end
        turn_ends = (end,) if isinstance(end, str) and end.strip() else ()
    return _Template(template).dialect(name, turn_ends)


def read(path: str) -> Dialect:
    """Return the record of the template in a file: a `tokenizer_config.json`, or the template alone.

    The name of the record is the path. Raises XMLToolsError as `dialect_of`, and for a file that can't be read.
    """
    try:
        described = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise XMLToolsError(f"expected a JSON file with a response_template: {why}") from None
    return dialect_of(described, path)


def _missing(config: Mapping[str, Any]) -> Mapping[str, Any]:
    if "response_schema" in config or "x-regex" in config or "properties" in config:
        raise XMLToolsError(
            "response template: this is the older response_schema, whose expressions find parts of a whole reply; "
            "transformers 5.24 no longer reads it. Write a response_template for it, or describe the dialect"
        )
    raise XMLToolsError("response template: there is no `response_template`, and no `fields` as a template has")


class _Template:
    """A template that is checked, and what its fields say of text and reasoning."""

    def __init__(self, template: Mapping[str, Any]) -> None:
        if not isinstance(template, Mapping):
            raise XMLToolsError(f"response template: expected an object, got {template!r:.60}")
        if template.get("version", 1) != 1:
            raise XMLToolsError(f"response template: version: expected 1, got {template['version']!r:.60}")
        if unknown := [key for key in template if key not in _TEMPLATE_KEYS]:
            known = _listed(_TEMPLATE_KEYS)
            raise XMLToolsError(f"response template: {unknown[0]}: no key of a template; there are: {known}")
        fields = template.get("fields")
        if not isinstance(fields, Mapping) or _CALLS not in fields:
            raise XMLToolsError("response template: fields: there is no `tool_calls`, so it describes no calls")
        for name in fields:
            if name not in (_CALLS, _TEXT, *_REASONING):
                raise XMLToolsError(
                    f"response template: fields.{name}: a reply has {_listed((_CALLS, _TEXT, *_REASONING))} for a "
                    "record, and nothing else"
                )
        self._fields = {name: _Field(f"fields.{name}", field) for name, field in fields.items()}
        anchor = template.get("start_anchor")
        anchors = anchor if isinstance(anchor, list) else [anchor]
        # Some models write it again, between the parts of a message.
        self._anchors = tuple(each.strip() for each in anchors if isinstance(each, str) and _TOKEN.search(each))

    def dialect(self, name: str, more_turn_ends: tuple[str, ...]) -> Dialect:
        """Return the record: the first form of calls, with the others as its variants."""
        calls = _Calls(self._fields[_CALLS])
        tags, thoughts = self._reasoning()
        ends = (*self._around_text(), *calls.other_ends, *self._anchors, *more_turn_ends)
        text = self._fields.get(_TEXT)
        common: dict[str, Any] = {
            "name": name,
            "reasoning": tags,
            "thoughts": thoughts,
            "layout": text is None or text.args.get("strip", True) is not False,
            "turn_ends": tuple(dict.fromkeys(ends)),
        }
        first, *others = (replace(form, **common) for form in calls.forms())
        return replace(first, variants=tuple(others))

    def _reasoning(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        tags: list[str] = []
        thoughts: list[tuple[str, str]] = []
        for field in (self._fields[name] for name in _REASONING if name in self._fields):
            field.expect_text()
            opens, closes = field.literals("open"), field.literals("close")
            if not opens or not closes:
                raise field.refused("", "reasoning stands between two delimiters, and one of them is missing")
            for start in opens:
                tag = _PLAIN_TAG.fullmatch(start)
                if tag and closes == (f"</{tag[1]}>",):
                    tags.append(tag[1])
                else:
                    thoughts += [(start, end) for end in closes]
        return tuple(tags), tuple(thoughts)

    def _around_text(self) -> tuple[str, ...]:
        field = self._fields.get(_TEXT)
        if field is None:
            return ()
        field.expect_text()
        return (*field.literals("open"), *field.literals("close"))


class _Field:
    """A field of a template, checked."""

    def __init__(self, where: str, field: Any) -> None:
        self._where = where
        if not isinstance(field, Mapping):
            raise self.refused("", f"expected an object, got {field!r:.60}")
        if unknown := [key for key in field if key not in (*_DELIMITER_KEYS, *_CONTENT_KEYS)]:
            known = _listed((*_DELIMITER_KEYS, *_CONTENT_KEYS))
            raise self.refused(str(unknown[0]), f"no key of a field; there are: {known}")
        self.opens, self.closes = (self._delimiters(field, side) for side in ("open", "close"))
        self.content = field.get("content", "text")
        self.args = field.get("content_args", {})
        self.transform = field.get("transform")
        self.is_each = field.get("transform_each", False) is True
        self.repeats = field.get("repeats", False) is True
        if not isinstance(self.args, Mapping):
            raise self.refused("content_args", f"expected an object, got {self.args!r:.60}")

    def _delimiters(self, field: Mapping[str, Any], side: str) -> tuple[Sequence, ...]:
        pattern = field.get(f"{side}_pattern")
        literals = field.get(side, [])
        if pattern is None:
            literals = [literals] if isinstance(literals, str) else literals
            if not isinstance(literals, list) or not all(isinstance(each, str) and each for each in literals):
                raise self.refused(side, f"expected a string, or strings in a list, got {literals!r:.60}")
            if len(literals) > _MOST or max(map(len, literals), default=0) > _LONGEST:
                raise self.refused(
                    side, f"there are more than {_MOST} strings, or more than {_LONGEST} characters in one"
                )
            return tuple((each,) for each in literals)
        if side in field:
            raise self.refused(f"{side}_pattern", f"there is `{side}` too; give one of the two")
        return self.read(f"{side}_pattern", pattern)

    def read(self, key: str, pattern: Any) -> tuple[Sequence, ...]:
        """Return what an expression consists of."""
        if not isinstance(pattern, str):
            raise self.refused(key, f"expected a regular expression, got {pattern!r:.60}")
        try:
            return alternatives(pattern)
        except XMLToolsError as error:
            raise self.refused(key, f"the expression can't be told in literals: {error}; {_LITERALS}") from None

    def literals(self, side: str) -> tuple[str, ...]:
        """Return the delimiters of a side. That the reply begins or ends there needs none."""
        found = []
        for sequence in self.opens if side == "open" else self.closes:
            parts = [part for part in sequence if not isinstance(part, Space | Edge)]
            if len(parts) > 1 or not all(isinstance(part, str) for part in parts):
                raise self.refused(side, f"{_words(sequence)} is more than one literal; {_LITERALS}")
            found += [_trimmed(part) for part in parts if isinstance(part, str) and part.strip()]
        return tuple(dict.fromkeys(found))

    def expect_text(self) -> None:
        """Raise XMLToolsError if this is not text as it is."""
        if self.content != "text" or self.transform is not None:
            raise self.refused("content", "text and reasoning are text as it is in a record, without a transform")

    def refused(self, key: str, why: str) -> XMLToolsError:
        """The error for a part of the field."""
        return XMLToolsError(f"response template: {self._where}{'.' if key else ''}{key}: {why}")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where a transform finds the name of the tool and its arguments.

    In a group of the opening delimiter, or under keys of the content.
    """

    slot: str = ""
    name: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


class _Calls:
    """The field of the calls."""

    def __init__(self, field: _Field) -> None:
        self._field = field
        self._asked = self._read_transform()
        if not field.opens:
            raise field.refused("", "there is no `open`, so a call could begin anywhere")
        self._ends = self._closing()
        single = [ends[0] for ends in self._ends if len(ends) == 1]
        self._end = "" if self._ends_itself else next(iter(single), "")
        """What ends a call, if that is not said together with the end of its section."""
        self.other_ends: tuple[str, ...] = tuple(each for each in single if each != self._end)
        """What else ends calls, and then a turn, or a part of it."""

    def forms(self) -> list[Dialect]:
        """Return the forms in which calls are written, without what they have in common."""
        field = self._field
        if field.content == "xml-inline" or (field.content == "json" and self._asked.slot):
            return self._named_forms(is_json=field.content == "json")
        if field.content not in ("json", "python-call-list"):
            raise field.refused("content", f"{field.content!r:.40}: {_CONTENTS}")
        starts = field.literals("open")
        if any(isinstance(sequence[0], Edge) for sequence in field.opens if sequence):
            raise field.refused("open_pattern", "a call may begin anywhere in a reply, not only where that begins")
        if not starts:
            raise field.refused("open", "there is no literal in it, so a call could begin anywhere")
        return [self._json(start) if field.content == "json" else self._python(start) for start in starts]

    def _read_transform(self) -> _Asked:
        field, transform = self._field, self._field.transform
        if transform is None:
            return _Asked()
        function = transform.get("function", transform) if isinstance(transform, Mapping) else transform
        if function == "{content}" and not field.is_each:
            return _Asked()
        if not isinstance(function, Mapping):
            raise field.refused("transform", f"expected an object with `name` and `arguments`, got {transform!r:.60}")
        slots = {part.name for parts in field.opens for part in parts if isinstance(part, Slot)}
        late = {part.name for parts in field.closes for part in parts if isinstance(part, Slot)}
        found = {}
        for key in ("name", "arguments"):
            value = function.get(key)
            place = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
            if place is None:
                raise field.refused(f"transform.{key}", f"expected a {{placeholder}}, got {value!r:.60}")
            found[key] = place[1].split(".")
        if late & {found["name"][0], found["arguments"][0]}:
            raise field.refused("close_pattern", "the name of a tool comes before its arguments in a record")
        root, *inner = found["name"]
        slot = root if root in slots and not inner else ""
        paths: dict[str, tuple[str, ...]] = {"name": ()}
        for key, (first, *rest) in found.items():
            if key == "name" and slot:
                continue
            if not field.is_each and first != "content":
                raise field.refused(f"transform.{key}", f"{{{first}}} is neither the content nor a group before it")
            paths[key] = (first, *rest) if field.is_each else tuple(rest)
        named = _PLACEHOLDER.fullmatch(str(transform.get("id")))
        return _Asked(slot, **paths, ids=(named[1].split(".")[-1],) if named else ())

    def _closing(self) -> list[tuple[str, ...]]:
        """Return the delimiters at the end: of a call, or of a call and then of its section."""
        found = []
        for sequence in self._field.closes:
            pieces = _pieces(part for part in sequence if not isinstance(part, Edge))
            if pieces is None or len(pieces) > 2:
                raise self._field.refused("close_pattern", f"{_words(sequence)}: {_LITERALS}")
            found.append(pieces)
        return list(dict.fromkeys(filter(None, found)))

    @property
    def _ends_itself(self) -> bool:
        """Whether a call may end without a delimiter, where something else begins: then its own brace ends it."""
        return any(all(isinstance(part, Space | Edge) for part in sequence) for sequence in self._field.closes)

    @property
    def _only_end(self) -> str:
        if any(len(ends) > 1 for ends in self._ends):
            raise self._field.refused("close", f"{''.join(self._ends[0])!r} is more than one delimiter")
        return self._end

    def _marked(self, start: str, end: str, **words: Any) -> Dialect:
        """A record of the content between two delimiters: as an element, if it is one."""
        words.setdefault("may_lack_end", end != "" and len(self._ends) > 1)
        tag = _PLAIN_TAG.fullmatch(start)
        try:
            if tag and end == f"</{tag[1]}>":
                return Dialect(name=_NAME, block=tag[1], **words)
            return Dialect(name=_NAME, start=start, end=end, is_sure=_TOKEN.search(start) is not None, **words)
        except XMLToolsError as error:
            why = str(error).removeprefix(f"dialect {_NAME!r}: ")
            raise self._field.refused("", f"its delimiters can't be told apart in a record: {why}") from None

    # A JSON object with the name, and calls in Python.

    def _json(self, start: str) -> Dialect:
        field, asked = self._field, self._asked
        if field.args.get("string_delims"):
            raise field.refused(
                "content_args.string_delims",
                "a record has strings between delimiters only where the name comes before the arguments",
            )
        if len(asked.name) > 2 or len(asked.name) != len(asked.arguments) or asked.name[:-1] != asked.arguments[:-1]:
            raise field.refused("transform", "name and arguments are keys of one object, which may be in one other")
        keys: dict[str, Any] = {"json_other_keys": tuple(dict.fromkeys((*asked.ids, *_IDS)))}
        if asked.name:
            others = ("name", "tool_name", "tool", "function")
            keys |= {"json_tool_name": asked.name[-1:], "json_arguments": asked.arguments[-1:]}
            keys["json_other_tool_name"] = tuple(each for each in others if each != asked.name[-1])
            keys["json_other_keys"] = tuple(key for key in keys["json_other_keys"] if key not in asked.name)
        many = field.is_each or not field.repeats
        form = self._marked(start, self._only_end, body=Body.JSON, many=many, **keys)
        if len(asked.name) == 2:
            return replace(form, json_wrappers=asked.name[:1])
        inside = f'{{"{form.json_tool_name[0]}": "get", "{form.json_arguments[0]}": {{"n": 1}}}}'
        return _written(form, "[" if field.is_each else "", inside, "]" if field.is_each else "")

    def _python(self, start: str) -> Dialect:
        field, asked = self._field, self._asked
        if field.transform is not None and (asked.name, asked.arguments) != (("name",), ("arguments",)):
            raise field.refused("transform", "calls in Python have a `name` and `arguments`")
        pairs = Pairs(json=True, python=True)
        form = self._marked(start, self._only_end, body=Body.PAIRS, many=True, pairs=pairs)
        return _written(form, "[", "get(n=1)", "]")

    # A name, and then JSON, or keys and values.

    def _named_forms(self, *, is_json: bool) -> list[Dialect]:
        field, asked = self._field, self._asked
        if not asked.slot:
            raise field.refused("transform", "where the content is xml-inline, the name is a group of open_pattern")
        if asked.arguments:
            raise field.refused("transform", "after a name the whole content is the arguments")
        pairs = self._read_json_pairs() if is_json else self._read_tag()
        found: dict[tuple[str, str, Sequence], list[str]] = {}
        for sequence in field.opens:
            at = next((n for n, part in enumerate(sequence) if part == Slot(asked.slot)), None)
            if at is None:
                raise field.refused("open_pattern", f"{_words(sequence)} has no name; each alternative needs one")
            head = _pieces(sequence[:at]) or ()
            is_worded = is_json and len(head) > 1 and head[-1][0] not in "<["
            head, word = (head[:-1], head[-1]) if is_worded else (head, "")
            if not 0 < len(head) < 3:
                raise field.refused("open_pattern", f"before the name, {_words(sequence[:at])}: {_LITERALS}")
            tail = tuple(Run() if isinstance(part, Slot) else part for part in sequence[at + 1 :])
            found.setdefault((head[-1], word, tail), []).append("".join(head[:-1]))
        return [self._named(*one, sections, pairs) for one, sections in found.items()]

    def _named(self, call: str, word: str, tail: Sequence, sections: list[str], pairs: Pairs) -> Dialect:
        """The form of calls that begin with `call`, and perhaps a word before the name; each in one of the sections, or
        in none where that is empty."""
        call, attribute, tail = _attribute(call, tail)
        pattern, name_end = self._after_name(_without_attributes(tail) if attribute else tail, word, pairs.json)
        pairs = replace(pairs, name_end=name_end, name_attribute=attribute, name_pattern=pattern)
        section, may_lack = next(filter(None, sections), ""), "" in sections
        end, section_end = self._ends_of(call, section, may_lack)
        if not section and section_end:
            section, may_lack = _start_tag(section_end), True
        if section and section_end:
            pairs = replace(pairs, name=call, end=end, bare=may_lack and end != "")
            return self._form(section, section_end, pairs, word, many=may_lack)
        self.other_ends = (*self.other_ends, *filter(None, (section, section_end)))
        if not pairs.json and (attribute or call.endswith("=")):
            return self._form(call, "", replace(pairs, name=call, end=end or self._unended(), bare=True))
        if pairs.quote and ">" in call:  # where an example of a call in a string begins
            before, mark, after = call.rpartition(">")
            call, pairs = before + mark, replace(pairs, name=after)
        return self._form(call, end if pairs.json else end or self._unended(), pairs, word)

    def _ends_of(self, call: str, section: str, may_lack: bool) -> tuple[str, str]:
        """Return what ends a call, and its section. A tag ends with its end tag, where the template leaves that out."""
        both = next((ends for ends in self._ends if len(ends) == 2), None)
        if both:
            return both[0], both[1]
        end = self._end
        if not section:
            return end or ("" if call.startswith("<|") else _end_tag(call) * call.endswith(("=", " "))), ""
        if end == _end_tag(section) or not (may_lack or end == _end_tag(call)):
            return _end_tag(call), end
        return end, _end_tag(section)

    def _unended(self) -> str:
        raise self._field.refused("close", "keys and values need a delimiter at the end of the call")

    def _form(self, start: str, end: str, pairs: Pairs, word: str = "", *, many: bool = False) -> Dialect:
        lacks = pairs.json and not many and end != "" and len(self._ends) > 1
        form = self._marked(start, end, body=Body.PAIRS, many=many, may_lack_end=lacks, pairs=pairs)
        name = f"{word}{{name}}{':{number}' * pairs.name_pattern.endswith(_NUMBERED)}"
        is_named = pairs.name == start
        call = f"{pairs.name_start}{_example(pairs, name.format(name='get', number=0))}"
        words: dict[str, Any] = {}
        if not is_named:
            words = {"start": start, "end": end} if many else {"call_start": start, "call_end": end}
        frame = "\n" if pairs.framing else ""
        writing = Writing(name=name, around_value=frame, result=ResultForm(role="tool"), **words)
        return replace(form, example=call if is_named else f"{start}{call}{end}", writing=writing)

    def _after_name(self, tail: Sequence, word: str, is_json: bool) -> tuple[str, str]:
        """Return the pattern of the content between two delimiters, the name in it, and the second of them."""
        field = self._field
        last = max((n for n, part in enumerate(tail) if isinstance(part, str) and part.strip()), default=-1)
        between, end = tail[: max(last, 0)], str(tail[last]) if last >= 0 else ""
        if any(not isinstance(part, Space) and str(part).strip() for part in tail[last + 1 :]):
            raise field.refused("open_pattern", f"after the name, {_words(tail)} ends with no literal; {_LITERALS}")
        if not word and all(isinstance(part, Space) for part in between):
            return "", end.strip()
        if not is_json:
            raise field.refused("open_pattern", f"after the name, {_words(tail)} is more than one literal; {_LITERALS}")
        if sum(isinstance(part, Run) for part in between) > 1:
            raise field.refused("open_pattern", f"after the name, {_words(tail)} could end in several places")
        stop = re.escape(between[0][0]) if between and isinstance(between[0], str) else ""
        before = f"(?:{re.escape(word)})?" if word else ""
        while between and isinstance(between[-1], Space):
            between = between[:-1]
        return rf"{before}(?P<name>[^\s<{stop}]+){''.join(map(_pattern_of, between))}", end.strip()

    def _read_json_pairs(self) -> Pairs:
        field = self._field
        quotes = field.args.get("string_delims", [])
        if not quotes:
            return Pairs(json=True)
        pair = quotes[0] if isinstance(quotes, list) and len(quotes) == 1 else ()
        if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] != pair[1] or not isinstance(pair[0], str):
            raise field.refused("content_args.string_delims", "a record has one delimiter, before and after strings")
        if field.args.get("unquoted_keys") is not True:
            raise field.refused("content_args.string_delims", "with these a record has keys without quotes")
        return Pairs(json=True, quote=pair[0])

    def _read_tag(self) -> Pairs:
        """Return the delimiters of keys and values."""
        field, key = self._field, "content_args.tag_pattern"
        kind, tags = "", field.read(key, field.args.get("tag_pattern"))
        if len(tags) == 2 and _swapped(tags[0]) == tags[1]:  # an attribute that is true or false
            tags = tags[:1]
        places = [[part.name if isinstance(part, Slot) else "" for part in tag] for tag in tags]
        if len(tags) != 1 or places[0].count("key") != 1 or places[0].count("value") != 1:
            raise field.refused(key, "expected one form, with the groups `key` and `value`")
        at, value_at = places[0].index("key"), places[0].index("value")
        head, middle, tail = tags[0][:at], tags[0][at + 1 : value_at], tags[0][value_at + 1 :]
        starts, ends = _pieces(head), _pieces(tail)
        if not starts or len(starts) > 1 or not ends or len(ends) > 1 or value_at < at:
            raise field.refused(key, f"one literal comes before a key, and one after its value; {_LITERALS}")
        start, attribute, rest = _attribute(starts[0], middle)
        for part in rest if attribute else ():
            other = _OTHER_ATTRIBUTE.match(part) if isinstance(part, str) else None
            kind = other["name"] if other and other["name"] in ("string", "type") else kind
        if attribute:
            rest = _without_attributes(rest)
        marks = _pieces(rest)
        if not marks or len(marks) > 2:
            raise field.refused(key, f"between key and value, {_words(rest)} is no literal; {_LITERALS}")
        before, after = _is_space(middle[-1:]), _is_space(tail[:1])
        if before != after and not self._strips():
            raise field.refused(key, "white space is dropped on one side of a value only")
        value = marks[1] if len(marks) == 2 else ""
        for mark in (start, value, ends[0]):
            if mark and not mark.startswith("<"):
                raise field.refused(key, f"{mark!r}: delimiters of keys and values begin with < in a record")
        return Pairs(
            key=start,
            key_attribute=attribute,
            key_end=marks[0],
            kind=kind,
            value=value,
            value_end=ends[0],
            framing=before or after or self._strips(),
        )

    def _strips(self) -> bool:
        """Whether values lose the white space around them. Raises XMLToolsError for values that are no text."""
        field, key = self._field, "content_args.value_parser"
        parser = field.args.get("value_parser")
        if parser is None:
            return False
        parser = parser if isinstance(parser, Mapping) else {"name": parser}
        name, args = parser.get("name", "text"), parser.get("args", {})
        if name == "json" and isinstance(args, Mapping) and args.get("allow_non_json") is True:
            return True
        if name == "text" and isinstance(args, Mapping):
            return args.get("strip", True) is not False
        raise field.refused(
            key, f"{name!r:.40}: values are text in a record, and typed by the tool; text, or json with allow_non_json"
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _words(parts: Iterable[Part]) -> str:
    """Parts of an expression, for a message."""
    said = {Space: "white space", Run: "any characters", Edge: "an end of the text"}
    return " and ".join(repr(part) if isinstance(part, str) else said.get(type(part), "a group") for part in parts)


def _trimmed(literal: str) -> str:
    """A literal without white space around it, unless another word could go on where it ends."""
    short = literal.strip()
    return literal.lstrip() if short[-1:].isalnum() else short


def _is_space(parts: Sequence) -> bool:
    return any(isinstance(part, Space) or (isinstance(part, str) and part != part.strip()) for part in parts)


def _pieces(parts: Iterable[Part]) -> tuple[str, ...] | None:
    """The delimiters that are next to each other, perhaps with white space between them; None for more than that."""
    found: list[str] = []
    for part in parts:
        if isinstance(part, str):
            found += (piece.strip() for piece in _BETWEEN_TAGS.split(part) if piece.strip())
        elif not isinstance(part, Space):
            return None
    return tuple(found)


def _attribute(call: str, tail: Sequence) -> tuple[str, str, Sequence]:
    """A start and what follows the name, if the name is the value of an attribute: without that attribute."""
    found = _ATTRIBUTE.fullmatch(call)
    if found is None or not tail or not isinstance(tail[0], str) or not tail[0].startswith(found["quote"]):
        return call, "", tail
    rest = tail[0][1:]
    return f"{found['tag']} ", found["name"], ((rest, *tail[1:]) if rest else tail[1:])


def _without_attributes(parts: Sequence) -> Sequence:
    """What follows an attribute, without the attributes after it."""
    joined = "".join(part if isinstance(part, str) else "\0" for part in parts)
    _, end, rest = joined.partition(">")
    return tuple(Space() if piece == "\0" else piece for piece in re.split("(\0)", end + rest) if piece)


def _swapped(tag: Sequence) -> Sequence:
    return tuple(part.replace('"true"', '"false"') if isinstance(part, str) else part for part in tag)


def _pattern_of(part: Part) -> str:
    """A part as a pattern of ours, which takes linear time."""
    if isinstance(part, str):
        return re.escape(part)
    if isinstance(part, Run):
        return r"\d++" if part.is_number else ".*"
    return r"\s*+"


def _end_tag(start: str) -> str:
    """The end tag of what begins with `start`, `<function=` or `<invoke `; empty if that is no tag."""
    found = _TAG.fullmatch(start.strip())
    return f"</{found['mark']}{found['name']}>" if found and not found["mark"] and "|" not in start else ""


def _start_tag(end: str) -> str:
    return f"<{end[2:]}" if _end_tag(f"<{end[2:]}") == end else ""


def _example(pairs: Pairs, name: str) -> str:
    """A call of `get`, from its name to its own end."""
    named = f'{pairs.name_attribute}="{name}"' if pairs.name_attribute else name
    if pairs.json:
        arguments = "{n:1}" if pairs.quote else json.dumps({"n": 1})
    else:
        kind = f' {pairs.kind}="{"number" if pairs.kind == "type" else "false"}"' if pairs.kind else ""
        key = f'{pairs.key_attribute}="n"{kind}' if pairs.key_attribute else "n"
        arguments = f"{pairs.key_start}{key}{pairs.key_end}{pairs.value}1{pairs.value_end}"
    return f"{named}{pairs.name_end}{arguments}{pairs.end}"


def _written(form: Dialect, start: str, inside: str, end: str) -> Dialect:
    """The record with how its calls are written: in one list, or each by itself."""
    result = ResultForm(role="tool")
    opener, closer = f"{form.opener}{start}", f"{end}{form.closer}"
    example = f"{opener}{inside}{closer}"
    if start:
        return replace(form, example=example, writing=Writing(start=opener, end=closer, between=", ", result=result))
    return replace(form, example=example, writing=Writing(call_start=opener, call_end=closer, result=result))
