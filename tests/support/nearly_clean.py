"""Clean and nearly clean replies: calls of the tools of `strategies` in any dialect, with a slip or two, prose, code
and reasoning around them, and calls of tools with narrow schemas.

As in `strategies`, everything is drawn from a `random.Random`, and a reply is a `Case` of the same laws.
`law_plain_reply` reads a whole reply with `parse`, and with a parser that does not know that it is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from support.dialect_marks import write
from support.strategies import NARROW, TOOL_SETS, Case

from xmltools import dialects
from xmltools.models import Reply, ToolCall
from xmltools.parser import Limits, Parser, parse
from xmltools.parser.replies import build_reply

__all__ = [
    "law_plain_reply",
    "narrow_case",
    "nearly_clean_case",
    "nearly_clean_dialect_case",
    "nearly_clean_reply",
    "whole_block_case",
]

_SPACES = ("", "", "\n", "\n    ", " \n  ")
_BETWEEN = ("", "", "\n", "Now this: ", "`a` and ", "``` ", "<think>x</think>", "<!-- c -->\n")
_TEXTS = ("x", "src/a.py", "some text", "\nline\n", "a\nb", " y", "z ", "a]b", "]]", "", "1", "null", "é", " ", "\n ")
_IN_SECTION = ("", "", "<b>", "</x>", "&", "]", "]]", "<![CDATA[q", "<!-- c", "\x01", "]]>z")
_SLIPS = (
    *("<path>", "</path>", "<diff>", "</diff>", "<item>", "</item>", "<b>", "<x", "</", "<", ">", "&", "&amp;", "]]>"),
    *("<![CDATA[", "]", "</arguments>", "</tool>", "<tool>", "<tool_name>", "<!--", "\x00", '<path a="1">', " ", "x"),
)


_AFTER_FENCED = ("\n```\n", "\n```\n", "\n \n  ````\r\n", "", "\n", " x\n```\n", "```\n", "\n``` x\n", "\n~~~\n")
_OPENINGS = ("<tool >", "<tool\n>", '<tool id="1">', "<tool id='>' b=2>", '<tool name="types">', "<tool a=b>", "<Tool>")

_PROSE = (
    "Some words. ",
    "one, ",
    "\n",
    " ",
    "`x` ",
    "`a` and `b`\n",
    "a < b ",
    "[1] ",
    "# T\n",
    "é ",
    "&amp; ",
    "~ ",
    "\r\n",
    "\n```py\na < `b`\n```\n",
    "```\nx\n\n  ```` \r\n",
)
_ODD_PROSE = (
    *(
        "\\",
        "\\n ",
        "~~~\n",
        "```",
        "```\n",
        "\n   ```xml\n",
        "\n```py\na\n```",
        "\n``` x\n",
        "\n    ```\n",
        "a ```b``` c\n",
        "`",
        "``",
        "{",
        '{"a": 1} ',
        "[x](y) ",
        "<b>bold</b>",
        "List<int>",
        "<br/>",
    ),
    *(
        "]]>",
        "-->",
        "<!",
        "<!-- ",
        "<function",
        "</think>",
        "<think",
        "<think>",
        "<tool",
        "<tool>",
        "</tool>",
        "<path>",
    ),
    *('{"name": "types", "arguments": {}}', "[TOOL_CALLS]", "<types>", '<invoke name="types">', "<|im_end|>", "<", "["),
    *("\nTool: a\nResult: b\n", "<tool_call>", "</arguments>", "\x00", "<x:invoke ", "[", "<|", "<｜", " " * 1100),
)
"""What plain prose is made of, and what is none of it, or only in some places."""
_FENCES = (
    *("```\n", "```\n", "````\n", "```py\n", "   ```\n", "    ```\n", "``` \r\n", "``` x\n", "```a``` b\n", "~~~\n"),
    "```",
    *("x\n", "x\n", "\n", "a ```b``` c\n", "`a`\n", "`", "a\\\n", "<!-- ", "-->\n", "<b>\n", f"```{'a' * 300}\n"),
)
"""Lines of code fences, and what may be in them."""
_IN_FENCES = 1.0


def nearly_clean_reply(rng: Random) -> Case:
    """A whole reply with reasoning, prose and calls, a third of them with something odd in the prose, and a third with
    slips in the calls."""
    tool_set = rng.choice(list(TOOL_SETS))
    dialect = rng.choice(dialects.all()) if rng.random() < 0.7 else dialects.FORGE
    odd, slips = rng.choice((0, 0, 0.1, 0.1, _IN_FENCES)), rng.choice((0, 0, 0.5))
    text = ""
    if rng.random() < 0.4:
        tag = rng.choice((*dialect.reasoning, *dialect.reasoning, "think", "THINK"))
        text += f"{_prose(rng, 0)}<{tag}>{_prose(rng, odd)}</{tag}>"
    for _ in range(rng.randint(0, 3)):
        is_forge = dialect is dialects.FORGE
        call = _block(rng, tool_set).removeprefix("``` ") if is_forge else _call(rng, tool_set, dialect)
        if rng.random() < 0.1:
            call = call.replace("<tool>", rng.choice(_OPENINGS), 1)
        call = _slip(rng, call) if rng.random() < slips else call
        if rng.random() < 0.1:
            call = f"\n```{rng.choice(('', 'xml', ' a'))}\n{rng.choice(_SPACES)}{call}{rng.choice(_AFTER_FENCED)}"
        text += _prose(rng, odd) + call
    text += _prose(rng, odd) if rng.random() < 0.7 else ""
    options: dict[str, Any] = {"dialect": dialect.name}
    if rng.random() < 0.1:
        options["reasoning_tags"] = rng.choice((["thought"], ["Think", "a.b"], []))
    if rng.random() < 0.1:
        options["code_fences"] = rng.choice(("text", "call"))
    if rng.random() < 0.1:
        options["strict"] = True
    return Case([text], tool_set, options)


def _slip(rng: Random, text: str, slips: Sequence[str] = _SLIPS) -> str:
    """Put something into a text, leave out some characters, or cut it off."""
    at, how = rng.randrange(len(text) + 1), rng.randrange(5)
    rest = text[at + rng.randint(1, 6) :] if how == 1 else "" if how == 2 else text[at:]
    return text[:at] + (rng.choice(slips) if how != 1 else "") + rest


def _prose(rng: Random, odd: float) -> str:
    if odd == _IN_FENCES:
        return "".join(rng.choices(_FENCES, k=rng.randint(1, 5)))
    pieces = (rng.choice(_ODD_PROSE if rng.random() < odd else _PROSE) for _ in range(rng.choice((0, 1, 2, 5))))
    return "".join(pieces)


def nearly_clean_case(rng: Random) -> Case:
    """One to three calls with prose between them, half of them with a slip or two, and often with options. Some are one
    call again and again: the short way expects what came last."""
    tool_set = rng.choice(list(TOOL_SETS))
    count = rng.randint(1, 3)
    if rng.random() < 0.3:
        text = f"{_block(rng, tool_set)}{rng.choice(_SPACES)}" * count
    else:
        text = "".join(_block(rng, tool_set) for _ in range(count))
    text += rng.choice(("", "\n", "Bye."))
    for _ in range(rng.choice((0, 0, 1, 2))):
        text = _slip(rng, text)
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["argument_deltas"] = False
    if rng.random() < 0.1:
        options["strict"] = True
    if rng.random() < 0.1:
        limits = {
            "block_size": rng.choice((4096, 4200)),
            "elements": rng.choice((3, 5, 8)),
            "blocks": rng.choice((1, 2)),
        }
        options["limits"] = Limits(**limits)
    if rng.random() < 0.1:
        options["also"] = "known"
    return Case([text], tool_set, options)


def _block(rng: Random, tool_set: str) -> str:
    tools, space = TOOL_SETS[tool_set], rng.choice(_SPACES)
    tool = rng.choice(tools) if tools else None
    name, properties = ("f", {"a": {}, "b": {}}) if tool is None else (tool.name, tool.parameters.get("properties", {}))
    server = ""
    if rng.random() < 0.3:
        server = f"<server_name>{tool.server if tool and rng.random() < 0.8 else 'local'}</server_name>{space}"
    given = [(key, properties[key]) for key in rng.sample(list(properties), rng.randint(0, min(5, len(properties))))]
    inner = "".join(f"<{key}>{_value(rng, schema, space, 0)}</{key}>{space}" for key, schema in given)
    head = f"<tool>{space}{server}<tool_name>{name}</tool_name>{space}<arguments>{space}"
    return f"{rng.choice(_BETWEEN)}{head}{inner}</arguments>{space}</tool>"


def _value(rng: Random, schema: Any, space: str, depth: int) -> str:
    if not isinstance(schema, dict) or depth > 3 or rng.random() < 0.05:
        return rng.choice(_SLIPS) + rng.choice(_TEXTS)
    kind = schema.get("type")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if "enum" in schema:
        return str(rng.choice(schema["enum"]))
    if kind == "integer":
        return rng.choice((str(rng.randint(-5, 300)), " 7 ", "007"))
    if kind == "number":
        return rng.choice(("1.5", "2", "-0.25", "1e3", "-0"))
    if kind == "boolean":
        return rng.choice(("true", "false", "True"))
    if kind == "array":
        items = (_value(rng, schema.get("items", {}), space, depth + 1) for _ in range(rng.randint(0, 3)))
        return space + "".join(f"<item>{item}</item>{space}" for item in items)
    if kind == "object":
        given = [each for each in schema.get("properties", {}).items() if rng.random() < 0.7]
        return space + "".join(f"<{key}>{_value(rng, inner, space, depth + 1)}</{key}>{space}" for key, inner in given)
    if rng.random() < 0.3:
        return f"<![CDATA[{rng.choice(_TEXTS)}{rng.choice(_IN_SECTION)}]]>"
    return rng.choice(_TEXTS) * rng.choice((1, 1, 1, 90))


_JSON_SLIPS = (*_SLIPS, '"', "\\", "{", "}", "\\u0041", "\\b", "\r\n", "<function=", "</parameter>", "<arg_key>", "</")


def nearly_clean_dialect_case(rng: Random) -> Case:
    """As `nearly_clean_case`, in another dialect than Forge's, or with JSON in Forge's."""
    dialect, tool_set = rng.choice(dialects.all()), rng.choice(list(TOOL_SETS))
    gap = rng.choice(("", "\n", "\n", " "))
    text = ""
    for _ in range(rng.randint(1, 3)):
        text += rng.choice(_BETWEEN) + _call(rng, tool_set, dialect, gap) + rng.choice(("", gap))
    text += rng.choice(("", "\n", "Bye."))
    for _ in range(rng.choice((0, 0, 1, 2))):
        text = _slip(rng, text, _JSON_SLIPS)
    options: dict[str, Any] = {"dialect": dialect.name}
    if rng.random() < 0.5:
        options["argument_deltas"] = False
    if rng.random() < 0.1:
        options["strict"] = True
    if rng.random() < 0.1:
        options["limits"] = Limits(block_size=rng.choice((4096, 4200)), blocks=rng.choice((1, 2)))
    if rng.random() < 0.1:
        options["also"] = "known"
    return Case([text], tool_set, options)


def _call(rng: Random, tool_set: str, dialect: dialects.Dialect, gap: str = "\n") -> str:
    tools = TOOL_SETS[tool_set]
    tool = rng.choice(tools) if tools else None
    name, properties = ("f", {"a": {}}) if tool is None else (tool.name, tool.parameters.get("properties", {}))
    keys = rng.sample(list(properties), rng.randint(0, min(5, len(properties))))
    given = {key: _python_value(rng, properties[key], 0) for key in keys}
    if dialect is dialects.FORGE:
        return f"<tool>{gap}{json.dumps({'tool_name': name, 'arguments': given})}{gap}</tool>"
    return write(rng.choice(dialect.forms), name, given, gap)


def _python_value(rng: Random, schema: Any, depth: int) -> Any:
    """A value of a schema, most of the time."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind is None or depth > 3 or rng.random() < 0.05:
        return rng.choice((None, True, 1, -0.0, 1e300, 10**20, [], {}, "x", "1", *_SLIPS))
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if kind == "integer":
        return rng.choice((rng.randint(-5, 300), 0, 2.0))
    if kind == "number":
        return rng.choice((1.5, 2, -0.25, 1e3, 7.0, 0.1 + 0.2))
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "array":
        return [_python_value(rng, schema.get("items", {}), depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == "object":
        given = [each for each in schema.get("properties", {}).items() if rng.random() < 0.7]
        return {key: _python_value(rng, inner, depth + 1) for key, inner in given}
    return rng.choice(_TEXTS) + rng.choice(("", "", "\n", "\n\n", "&lt;", '"q"', "\\")) * rng.choice((1, 1, 1, 90))


# fmt: off
_WRITTEN_SCALARS = (
    "1", "2", "0", "-3", "+1", "1.0", "1.5", "1e0", "-0", "12345678901234567890", '"1"', "'a'", "a", "abc", "x", "A",
    "null", "None", "NULL", "true", "True", "yes", "", " a", "1 ", "a\nb", "[]", "{}", "a, b", "1,2",
)
# fmt: on


def narrow_case(rng: Random) -> Case:
    """A call or two of a tool whose arguments may have several types and limits, in any dialect: values are often those
    of another type."""
    case = Case([], f"{NARROW}{rng.randrange(1_000_000)}")
    (tool,) = case.tools or ()
    given = {name: _narrow_value(rng, schema) for name, schema in tool.parameters["properties"].items()}
    dialect = rng.choice(dialects.all()) if rng.random() < 0.5 else dialects.FORGE
    if dialect is dialects.FORGE:
        inner = "".join(f"<{name}>{_elements(value)}</{name}>\n" for name, value in given.items())
        text = f"<tool>\n<tool_name>f</tool_name>\n<arguments>\n{inner}</arguments>\n</tool>\n"
    else:
        text = write(rng.choice(dialect.forms), "f", given, "\n")
    options: dict[str, Any] = {"dialect": dialect.name}
    if rng.random() < 0.3:
        options["argument_deltas"] = False
    return replace(case, tokens=[text * rng.randint(1, 2)], options=options)


def _narrow_value(rng: Random, schema: dict[str, Any]) -> Any:
    ways = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()
    if ways and rng.random() < 0.8:
        return _narrow_value(rng, rng.choice(ways))
    if "array" in schema.get("type", ()) and rng.random() < 0.8:
        return [_narrow_value(rng, schema.get("items", {})) for _ in range(rng.randint(0, 3))]
    if ("object" in schema.get("type", ()) or "properties" in schema) and rng.random() < 0.8:
        return {"k": _narrow_value(rng, schema.get("properties", {}).get("k", {}))}
    return rng.choice((1, 2, 0, -3, 1.0, 1.5, None, True, False, *_WRITTEN_SCALARS))


def _elements(value: Any) -> str:
    if isinstance(value, list):
        return "".join(f"<item>{_elements(each)}</item>" for each in value)
    if isinstance(value, dict):
        return "".join(f"<{key}>{_elements(each)}</{key}>" for key, each in value.items())
    return value if isinstance(value, str) else json.dumps(value)


_ODD_CONTENTS = (
    *(
        "\r",
        "a\r\nb",
        "&#10;",
        "&#65;",
        "&nbsp;",
        "&x;",
        "&amp;lt;",
        "&",
        "x<b>y</b>",
        "x<b/>",
        "<!-- c -->",
        "<?p x?>",
    ),
    *("<!DOCTYPE a>", "<!ENTITY a 'b'>", "]]>", "a]]b", "]]&gt;", "<![CDATA[]]>", "<![CDATA[a]]>", "\n<![CDATA[a]]>\n"),
    *(" <![CDATA[ a ]]>", "<![CDATA[\n a\n]]>", "<![CDATA[ a]]>", "<![CDATA[a]]><![CDATA[b]]>", "<![CDATA[a]]> x"),
    *("x<![CDATA[y]]>", "x><![CDATA[y]]>", "<![CDATA[<![CDATA[a]]>", "<![CDATA[a]]]]><![CDATA[>b]]>", "<![cdata[a]]>"),
    *("<![CDATA[</tool>]]>", "<![CDATA[<tool><a>]]>", "<![CDATA[</arguments></tool>]]>", "<![CDATA[&amp;<b>]]>"),
    *("\u0085", "\u2028", "\ufeff", "\U0001f600", "\U0001fffe", "\ufffe", "\uffff", "\x00", "\x01", "\x1f", "\ud800"),
    *("\x7f", "\x9f", "\xa0", "\n\na\n\n", "\n", " ", "\t\n x \n\t", "a\n ", "{}", '{"a": 1}', "[]", "[1]", "null"),
    *(
        "</tool>",
        "<tool>",
        "</arguments></tool>",
        "<arguments>",
        "<tool/>",
        "<arguments/>",
        "<item>",
        "</item>",
        "x" * 4_200,
        " " * 1_100,
    ),
)
"""What is put between two tags of a clean block. Most of it makes the block unclean."""
_ODD_NUMBERS = ("NaN", "-Infinity", "-0", "-0.0", "1e400", "1e5", "01", "1.0", "+1", ".5", "9" * 700, "null", "[[[1]]]")
_ODD_JSON = (
    *(
        '"',
        "\\",
        "\\n",
        "\\u0041",
        "\\ud800",
        "\\ud83d\\ude00",
        "\\u0000",
        "\\x",
        "\n",
        "\t",
        "\x01",
        "\x7f",
        "\ufeff",
        "\ufffe",
    ),
    *(
        ",",
        "{",
        "}",
        "[",
        "]",
        "'",
        "// c",
        "/* c */",
        "<",
        "</tool_call>",
        "</tool>",
        "\ud800",
        "\U0001f600",
        "```",
        "x",
    ),
)
_TAG = re.compile(r"<[^<>]*>")


def _odd_tag(rng: Random, tag: str) -> str:
    """A tag that is another one, or that XML or the machine reads with care."""
    name = tag[1:-1].lstrip("/")
    written = (
        *("", tag * 2, tag.upper(), tag[:-1] + " >", tag[:-1] + "/>", tag[:-1] + ' a="1">', tag[:-1] + " xmlns='a'>"),
        *(
            tag.replace("<", "<x:"),
            tag.replace("<", "< "),
            f"<{name}/>",
            f"<{name}></{name}>",
            f"<{name} />",
            f"{tag}<!---->",
        ),
        *(f'<{name} nil="true"/>', f"<{name}\n>", tag.replace(name, name + "é"), tag.replace(name, name + "x" * 300)),
    )
    return rng.choice(written)


def whole_block_case(rng: Random) -> Case:
    """A reply with a block or two that are clean, or have one thing or two that a short way may not read as a call of
    elements or JSON is read."""
    tool_set, text = rng.choice([name for name in TOOL_SETS if TOOL_SETS[name]]), ""
    dialect = rng.choice((dialects.FORGE, *map(dialects.named, ("hermes", "granite", "internlm2", "cohere"))))
    is_json = dialect is not dialects.FORGE or rng.random() < 0.3
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not is_json:
            block = _block(rng, tool_set)
            for _ in range(rng.choice((0, 1, 1, 2))):
                found = rng.choice(list(_TAG.finditer(block)))
                tag = found[0] + rng.choice(_ODD_CONTENTS) if rng.random() < 0.6 else _odd_tag(rng, found[0])
                block = block[: found.start()] + tag + block[found.end() :]
        else:
            block = _call(rng, tool_set, dialect, rng.choice(("", "\n", " ")))
            for _ in range(rng.choice((0, 1, 1, 2))):
                block = _odd_json(rng, block)
        text += rng.choice((*_BETWEEN, "\n", " \n\t\n", " " * 1_100)) + block
    options: dict[str, Any] = {"dialect": dialect.name}
    if rng.random() < 0.2:
        limits = {"block_size": rng.randint(1, 400), "elements": rng.randint(1, 12), "depth": rng.randint(1, 6)}
        options["limits"] = Limits(blocks=rng.randint(1, 2), **limits)
    if rng.random() < 0.1:
        options["also"] = "known"
    return Case([text + rng.choice(("", "\n", "Bye.", "</tool>", "]]></path>"))], tool_set, options)


def _odd_json(rng: Random, text: str) -> str:
    if rng.random() < 0.3:
        return re.sub(r"-?\d+(\.\d+)?", rng.choice(_ODD_NUMBERS), text, count=1)
    if rng.random() < 0.3:
        key = rng.choice(("name", "tool_name", "function", "server", "arguments", "parameters", "id", "type"))
        return text.replace("{", f'{{"{key}": {rng.choice(("1", "{}", chr(34) * 2, json.dumps("types")))}, ', 1)
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_ODD_JSON) + text[at:]


def law_plain_reply(case: Case) -> None:
    """A whole reply says what a parser makes of it, which does not know that it is whole."""
    options = {name: value for name, value in case.options.items() if name != "argument_deltas"}
    ids, again = iter(range(1_000_000)), iter(range(1_000_000))
    found = parse(case.text, case.tools, new_id=lambda: f"c{next(ids)}", **options)
    parser = Parser(case.tools, argument_deltas=False, new_id=lambda: f"c{next(again)}", **options)
    events = [*parser.feed(case.text), *parser.close()]
    wanted = build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)
    assert _parts(found) == _parts(wanted)


def _parts(reply: Reply) -> list[str]:
    told = [repr(part.__dict__ if isinstance(part, ToolCall) else part) for part in reply.parts]
    return [*told, *(error.source for error in reply.errors), repr(reply.notices), repr(reply.unclosed_reasoning)]
