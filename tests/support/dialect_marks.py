"""The marks of a dialect, and calls written with them: made from its record, so that each new dialect has them."""

from __future__ import annotations

import json
from typing import Any

from xmltools.dialects import Body, Dialect, Pairs

__all__ = ["marks_of", "write"]


def marks_of(dialect: Dialect, names: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    """What calls in a dialect consist of, and parts of that. `names` and `keys` of tools and arguments."""
    found: list[str] = [*dialect.turn_ends, *(mark for pair in dialect.thoughts for mark in pair)]
    found += [f"{start}{name}{end}" for start, end in dialect.headers for name in ("", *names)]
    if dialect.body is Body.TAGS:
        found += [f"{start}{name}>" for name in (*names, *keys) for start in ("<", "</", "\n<")]
        found += [
            *(f"<{name}/>" for name in names),
            f"<{names[0].upper()}>",
            f"</{names[0]}",
            '{"s": "',
            '"}',
            "<item>",
        ]
        found += ["</item>", f"{names[0]}\n", "1", "&lt;", "]]>", "<![CDATA[", f'<{keys[0]} a="b">', f"<{keys[0]}/>"]
    if dialect.body is Body.ELEMENTS:
        found += [f"<{slash}{name}>" for name in (dialect.tool_name, dialect.arguments) for slash in ("", "/")]
        found += [f"<{dialect.tool_name}>{name}</{dialect.tool_name}>" for name in names]
    for form in dialect.forms:
        openers = [form.opener.replace("{name}", name) for name in names[: 1 + form.opener.count("{name}")]]
        found += [*openers, form.closer, form.closer[:-1], form.opener + "\n", "\n" + form.closer, form.separator]
        pairs = form.pairs
        if pairs is not None:
            found += [pairs.name, pairs.name_end, pairs.end, pairs.key, pairs.key_end, pairs.value, pairs.value_end]
            found += [_head(pairs, name) for name in names]
            found += [_key(pairs, key, kind) for key in keys for kind in ("true", "false", "")]
            if mark := pairs.tag_mark:
                found += [mark, mark[:-1], *(f"{mark}</{key}>" for key in keys), f"{mark}<item>a{mark}</item>"]
                found += [f"{mark}<item>", f"{mark}</item>", f"{mark}</{keys[0]}", f"{mark}<in>1{mark}</in>", "</item>"]
            found += [pairs.value_end[:-1], pairs.value_end + "\n", pairs.end + "\n", "\n" + pairs.value_end]
            found += ["1", "\n1\n", '["a"]', "null", "a\n\n"] if not pairs.json else []
            if pairs.value_end.startswith("</"):  # ends that stand for it, and keys that are none
                found += [f"</{keys[0]}>", pairs.value_end[:5] + ">\n", pairs.value_end[:-2] + ">", "</parameters>"]
                found += [f"<{keys[0]}>", f"<param={keys[0]}>", *(pairs.key[1:] + key for key in keys), "</arg_key>"]
        if pairs is not None and (pairs.quote or pairs.python):
            found += [
                pairs.quote,
                f"{pairs.quote},",
                f"{pairs.quote}}}",
                ",n:1",
                ",s:",
                "(n=1)",
                "s=",
                "s='",
                "'",
                "(",
                ")",
            ]
            found += [f"{name}(" for name in names] + [f"call:{name}{{" for name in names]
        if dialect.body is Body.JSON or dialect.json_is_usual or (pairs is not None and pairs.json):
            found += ['{"s": "', '"}', '{"n": 1}', "{}", '{"on": true', ', "', '": ', '\\"', "\\n", '"', "}", "]"]
            found += [f'{{"name": "{name}", "arguments": {{}}}}' for name in names] if pairs is None else []
            found += ["</x>", "</tool_cal>"]
    return tuple(dict.fromkeys(mark for mark in found if mark))


def write(dialect: Dialect, name: str, arguments: dict[str, Any], gap: str = "", *, wrapped: bool = True) -> str:
    """A call in a dialect; strings stand as they are where the dialect has them as text. `gap` is put where white space
    lays a call out. Not `wrapped`: without the marks of the block, where the dialect allows that."""
    pairs = dialect.pairs
    if dialect.body is Body.TAGS:
        inside = "".join(f"{gap}<{key}>{_text(value)}</{key}>" for key, value in arguments.items())
        return f"<{name}>{inside}{gap}</{name}>"
    if dialect.body is Body.ELEMENTS:
        named = f"<{dialect.tool_name}>{name}</{dialect.tool_name}>"
        inside = f"<{dialect.arguments}>{gap}{json.dumps(arguments)}{gap}</{dialect.arguments}>"
        return f"{dialect.opener}{gap}{named}{gap}{inside}{gap}{dialect.closer}"
    if pairs is None:
        assert dialect.body is Body.JSON
        body = json.dumps({dialect.json_tool_name[0]: name, dialect.json_arguments[0]: arguments})
        if dialect.is_bare:
            return body if dialect.start == "{" else f"[{gap}{body}{gap}]"
        end = "]" if dialect.opener.endswith("[") else dialect.closer
        return f"{dialect.opener}{gap}{body}{gap}{end}"
    if pairs.python:
        inside = ", ".join(
            f"{key}={json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)}"
            for key, value in arguments.items()
        )
        call = f"{name}({inside})"
        start = "" if dialect.is_bare else dialect.opener
        return f"{start}[{gap}{call}{gap}]{dialect.closer}"
    if pairs.json:
        inside = json.dumps(arguments)
        if pairs.quote:
            written = (
                f"{key}:{pairs.quote}{value}{pairs.quote}" if isinstance(value, str) else f"{key}:{json.dumps(value)}"
                for key, value in arguments.items()
            )
            inside = f"{{{','.join(written)}}}"
    else:
        inside = "".join(
            _key(pairs, key, "true" if isinstance(value, str) else "false")
            + pairs.value
            + (f"\n{_text(value)}\n" if pairs.framing else _text(value))
            + (f"{pairs.tag_mark}</{key}>" if pairs.tag_mark else pairs.value_end)
            + gap
            for key, value in arguments.items()
        )
    call = f"{_head(pairs, name)}{'' if pairs.json else gap}{inside}{gap if not pairs.json else ''}{pairs.end}"
    if dialect.is_bare or pairs.name == dialect.opener or (pairs.bare and not wrapped):
        return call
    before = gap if pairs.name else ""
    return f"{dialect.opener}{before}{call}{gap}{dialect.closer}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _head(pairs: Pairs, name: str) -> str:
    written = f'{pairs.name_attribute}="{name}"' if pairs.name_attribute else name
    return f"{pairs.name}{written}{pairs.name_end}"


def _key(pairs: Pairs, key: str, kind: str) -> str:
    if pairs.tag_mark:
        return f"{pairs.tag_mark}<{key}>"
    if not pairs.key_attribute:
        return f"{pairs.key}{key}{pairs.key_end}"
    if pairs.kind == "type":
        kind = {"true": "string", "false": "number"}.get(kind, "")
    said = f' {pairs.kind}="{kind}"' if pairs.kind and kind else ""
    return f'{pairs.key}{pairs.key_attribute}="{key}"{said}{pairs.key_end}'
