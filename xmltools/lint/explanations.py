"""What each code means, with a block that has it and the same block repaired."""

from __future__ import annotations

from typing import NamedTuple

from xmltools.dialects import FORGE, Dialect, hint_of, named
from xmltools.errors import Code, XMLToolsError
from xmltools.lint.check import OWN_CODES, READERS_DISAGREE, WITNESS_DISAGREES
from xmltools.tools import Tool

_JSON = '<tool>\n{"tool_name": "add", "arguments": {"a": 1, "b": 2}}\n</tool>'


def _block(tool: str, arguments: str) -> str:
    return f"<tool>\n<tool_name>{tool}</tool_name>\n<arguments>\n  {arguments}\n</arguments>\n</tool>"


def _write(text: str) -> str:
    return _block("write_file", f"<path>a.txt</path>\n  <text>{text}</text>")


def _save(argument: str) -> str:
    return _block("save", argument)


def _label(content: str) -> str:
    return _block("label", f"<tags>{content}</tags>")


_ADD = _block("add", "<a>1</a>\n  <b>2</b>")
_HERMES = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
_LISTED = _label("\n    <tag>a</tag>\n    <tag>b</tag>\n  ")

_ERRORS: dict[Code, tuple[str, str, str]] = {
    Code.TRUNCATED: (
        "The reply ends inside a block. What was read of it is no call, however complete it looks: the rest could be "
        "anything. The usual cause is a limit on the length of replies.",
        _ADD[: _ADD.index("\n</arguments>")],
        _ADD,
    ),
    Code.LIMIT_EXCEEDED: (
        "A block is too large, has too many elements or nests too deep. The limits are 10 MiB, 10,000 elements and 64 "
        "levels, those of JSON in a value included; a host can set others.",
        _label("[" * 65 + "]" * 65),
        _label("\n    <tag>a</tag>\n  "),
    ),
    Code.MALFORMED_MARKUP: (
        "Between elements stands a < that begins no tag, comment or CDATA section, or a tag whose name XML does not "
        "allow. What belongs to which argument can't be said then.",
        _save("<1st>Hello</1st>"),
        _save('<argument name="1st">Hello</argument>'),
    ),
    Code.FORBIDDEN_MARKUP: (
        "A document type or an entity is declared between elements. Declarations can make XML readers open files and "
        "expand texts without end, so none is taken. In a value they are text like any other.",
        _write("Hello").replace("<arguments>", "<!DOCTYPE html>\n<arguments>"),
        _write("<![CDATA[<!DOCTYPE html>]]>"),
    ),
    Code.DUPLICATE_FIELD: (
        "A block names its tool twice, or has two servers or two lists of arguments. Which one is meant can't be "
        "said. Two calls need two blocks.",
        _ADD.replace("<arguments>", "<tool_name>write_file</tool_name>\n<arguments>"),
        _ADD,
    ),
    Code.DUPLICATE_ARGUMENT: (
        "An argument that is no list is given twice. Elements may be repeated only for an argument that the schema "
        "declares as an array.",
        _ADD.replace("<b>", "<a>5</a>\n  <b>"),
        _ADD,
    ),
    Code.INVALID_NAME: (
        "The name of a server, a tool or an argument is no name. It holds a line break, another control character, < "
        "or >, is empty, or has more than 256 characters.",
        _ADD.replace("<tool_name>add", "<tool_name>ad\nd"),
        _ADD,
    ),
    Code.MISSING_TOOL_NAME: (
        "A block does not say which tool it calls.",
        _ADD.replace("<tool_name>add</tool_name>\n", ""),
        _ADD,
    ),
    Code.UNKNOWN_TOOL: (
        "A block calls a tool that is not among those given, or is not on the server that the block names. Where "
        "several servers have such a tool, the block must say which.",
        _ADD.replace("<tool_name>add", "<tool_name>ad"),
        _ADD,
    ),
    Code.INVALID_ARGUMENTS: (
        "The arguments do not fit the JSON Schema of the tool. The message names each one that does not, what was "
        "expected and what came: a type, a range, a pattern, or an argument that is missing.",
        _ADD.replace("<a>1", "<a>one"),
        _ADD,
    ),
    Code.INVALID_JSON: (
        "The JSON in a block can't be read, not even with the repairs that are made for models. So it is for keys that "
        "are repeated, for NaN, for backslashes whose meaning is in doubt, and for anything that stands after the "
        "object.",
        '<tool>\n{"tool_name": "add", "arguments": {"a": 1, "b": two}}\n</tool>',
        _ADD,
    ),
    Code.SEVERAL_CALLS: (
        "A block holds a list of JSON objects, one for each call. None of them is made: each call needs a block.",
        '<tool>\n[{"tool_name": "add", "arguments": {"a": 1, "b": 2}}]\n</tool>',
        _ADD,
    ),
}

_REPAIRS: dict[Code, tuple[str, str, str]] = {
    Code.IGNORED_ATTRIBUTE: (
        "A tag has an attribute that means nothing here, and it was skipped. Only the name of <argument> and "
        'nil="true" mean something. A key of a JSON body that means nothing has this code too, such as "id".',
        _ADD.replace("<a>", '<a type="integer">'),
        _ADD,
    ),
    Code.ATTRIBUTE_SYNTAX: (
        "The value of an attribute stands without quotes, and was read to the next white space.",
        _save("<argument name=data>Hello</argument>"),
        _save('<argument name="data">Hello</argument>'),
    ),
    Code.CODE_FENCE: (
        "A block stands in a Markdown code fence, or its content does. It was taken for a call, and not for an "
        "example; a host can choose the other reading.",
        f"```xml\n{_ADD}\n```",
        _ADD,
    ),
    Code.MISSING_END_TAG: (
        "An element was still open where one around it ended, and was closed there.",
        _ADD.replace("</arguments>\n", ""),
        _ADD,
    ),
    Code.MISMATCHED_END_TAG: (
        "A value ends with the end tag of another element, and was closed by it.",
        _ADD.replace("1</a>", "1</x>"),
        _ADD,
    ),
    Code.STRAY_END_TAG: (
        "An end tag closes nothing that is open, and was skipped.",
        _ADD.replace("</a>", "</a></x>"),
        _ADD,
    ),
    Code.STRAY_TEXT: (
        "Text stands between the elements of a block, where it belongs to no value, and was skipped.",
        _ADD.replace("</a>", "</a> and"),
        _ADD,
    ),
    Code.TAG_WHITE_SPACE: (
        "White space stands between < and the name of a tag, and was left out.",
        _ADD.replace("<a>", "< a>"),
        _ADD,
    ),
    Code.NOT_XML_NAME: (
        "The name of an argument is no name of an XML element, or has a colon, and stands in a tag all the same. It "
        "was taken because the schema declares it.",
        _save("<x:trace>on</x:trace>"),
        _save('<argument name="x:trace">on</argument>'),
    ),
    Code.PROCESSING_INSTRUCTION: (
        "A processing instruction or an XML declaration stands in a block, and was skipped.",
        _ADD.replace("<arguments>", '<?xml version="1.0"?>\n<arguments>'),
        _ADD,
    ),
    Code.COMMENT_SYNTAX: (
        "A comment holds two hyphens, which XML does not allow. It was skipped like any other.",
        _ADD.replace("<arguments>", "<!-- add -- both -->\n<arguments>"),
        _ADD.replace("<arguments>", "<!-- add both -->\n<arguments>"),
    ),
    Code.UNWRAPPED_ARGUMENT: (
        "An argument stands directly in the block, without <arguments> around it, and was taken for one. In a JSON "
        "body it stands beside the name.",
        _save("<data>Hello</data>").replace("<arguments>\n", "").replace("</arguments>\n", ""),
        _save("<data>Hello</data>"),
    ),
    Code.JSON_ARGUMENTS: (
        "The arguments are written as a JSON object in <arguments>, or stand in <arguments> twice, and were read.",
        '<tool>\n<tool_name>add</tool_name>\n<arguments>{"a": 1, "b": 2}</arguments>\n</tool>',
        _ADD,
    ),
    Code.JSON_VALUE: (
        "A list or an object is written as JSON text in its element, and was read. Grammars write objects whose "
        "properties no schema names in this way, since nothing else can be said of them there.",
        _label('["a", "b"]'),
        _LISTED,
    ),
    Code.JSON_LINE_BREAK: (
        "A string in JSON holds a line break, a tab or another control character as it is, and was read with it.",
        '<tool>\n{"tool_name": "save", "arguments": {"data": "one\ntwo"}}\n</tool>',
        _save("<data>one\ntwo</data>"),
    ),
    Code.JSON_TRAILING_COMMA: (
        "A comma comes after the last member of a JSON object or list, and was skipped.",
        _JSON.replace("2}", "2,}"),
        _ADD,
    ),
    Code.JSON_ESCAPE: (
        "A string in JSON holds a backslash that begins no escape of JSON, as in a Windows path, and was read with it. "
        "If the string also holds \\n, \\t or the like, what they mean is in doubt, and that is an error.",
        '<tool>\n{"tool_name": "save", "arguments": {"data": "C:\\dir\\a.py"}}\n</tool>',
        _save("<data>C:\\dir\\a.py</data>"),
    ),
    Code.JSON_EXTRA_BRACE: (
        "After a JSON object stands one closing brace too many, and was skipped.",
        _JSON.replace("}}", "}}}"),
        _ADD,
    ),
    Code.JSON_MISSING_BRACE: (
        "The last closing brace of a JSON body is missing before </tool>, and was added. If one is missing inside the "
        "arguments, nobody can say where it belongs, and that is an error.",
        _JSON.replace("}}", "}"),
        _ADD,
    ),
    Code.JSON_KEY: (
        "A JSON body names the tool or the arguments by another key, or holds them in an object of its own. Some APIs "
        "write calls so.",
        '<tool>\n{"tool": "add", "args": {"a": 1, "b": 2}}\n</tool>',
        _ADD,
    ),
    Code.PYTHON_LITERAL: (
        "A JSON body is written in Python: in single quotes, or with True, False, None or tuples. It was read.",
        "<tool>\n{'tool_name': 'add', 'arguments': {'a': 1, 'b': 2}}\n</tool>",
        _ADD,
    ),
    Code.JSON_STRING: (
        "The arguments in a JSON body are a string that holds JSON, as some APIs write them, and were read.",
        '<tool>\n{"tool_name": "add", "arguments": "{\\"a\\": 1, \\"b\\": 2}"}\n</tool>',
        _ADD,
    ),
    Code.MIXED_CONTENT: (
        "A value whose type no schema says holds both text and elements, and was taken for text as it stands.",
        _save("<data><b>bold</b> word</data>"),
        _save("<data><![CDATA[<b>bold</b> word]]></data>"),
    ),
    Code.BARE_AMPERSAND: (
        "An & stands in a value and begins no reference; it was kept.",
        _write("salt & pepper"),
        _write("salt &amp; pepper"),
    ),
    Code.UNKNOWN_ENTITY: (
        "A reference is none of those that XML has without declarations, and was kept as text.",
        _write("a&nbsp;b"),
        _write("a&#160;b"),
    ),
    Code.BARE_LESS_THAN: (
        "A < stands in a value and begins no markup of the block; it was kept, with all that follows in the value.",
        _write("if a < b:"),
        _write("<![CDATA[if a < b:]]>"),
    ),
    Code.BARE_CDATA_END: (
        "The end of a CDATA section stands in plain text, where XML does not allow it, and was kept.",
        _write("a[b[0]]>1"),
        _write("<![CDATA[a[b[0]]]]><![CDATA[>1]]>"),
    ),
    Code.CDATA_CASE: (
        "The word CDATA is not written in capitals; the section was read all the same.",
        _write("<![cdata[a < b]]>"),
        _write("<![CDATA[a < b]]>"),
    ),
    Code.UNSPLIT_CDATA_END: (
        "A CDATA section holds ]]> as text. What follows showed that the section did not end there.",
        _write("<![CDATA[if a[b[0]]>1 & c: pass]]>"),
        _write("<![CDATA[if a[b[0]]]]><![CDATA[>1 & c: pass]]>"),
    ),
    Code.FORBIDDEN_CHARACTER: (
        "A character stands in the block that XML has no place for, such as those of terminal colours. It was kept.",
        _write("\x1b[31mred\x1b[0m"),
        _write("red"),
    ),
    Code.ARGUMENT_TAG: (
        "The name of an argument stands in an attribute, as in <parameter name=...> or <parameter=...>. It was read as "
        "the argument of that name.",
        _save('<parameter name="data">Hello</parameter>'),
        _save("<data>Hello</data>"),
    ),
    Code.ARGUMENTS_TAG: (
        "The arguments stand in <parameters>, <args> or another spelling of <arguments>, and were read.",
        _ADD.replace("arguments>", "parameters>"),
        _ADD,
    ),
    Code.NAME_TAG: (
        "The name of the tool stands in <name>, in an attribute of <tool>, or in another spelling of <tool_name>, and "
        "was read. A server's name in another spelling of <server_name> has this code too.",
        _ADD.replace("tool_name>", "name>"),
        _ADD,
    ),
    Code.ATTRIBUTE_VALUE: (
        "A value, or a property of one, is written as an attribute, and was read.",
        _ADD.replace("<a>1</a>", '<a value="1"/>'),
        _ADD,
    ),
    Code.DECORATED_NAME: (
        "The name of the tool has a prefix, quotes or () around it, is in another case, or has - for _. Without that "
        "it is the name of one tool, which was taken.",
        _ADD.replace(">add<", ">functions.add()<"),
        _ADD,
    ),
    Code.JOINED_CALLS: (
        "A block holds two calls, one after the other. Each of the two has this code.",
        _ADD.replace("\n</tool>", "\n" + _ADD.removeprefix("<tool>\n")),
        f"{_ADD}\n{_ADD}",
    ),
    Code.FOREIGN_DIALECT: (
        "The call is written in another dialect than the one that was asked for. It names a given tool, and calls in "
        'other dialects are read as well (also="known"), so it was read.',
        _HERMES,
        _ADD,
    ),
    Code.CHAT_TOKEN: (
        "A token of a chat template stands after the arguments, and was skipped.",
        _ADD.replace("\n</tool>", "<|im_end|>\n</tool>"),
        _ADD,
    ),
    Code.WRONG_SERVER: (
        "A block names a server that no tool is on. Only one tool has the name of the block, and it was taken.",
        _ADD.replace("<tool_name>", "<server_name>calculator</server_name>\n<tool_name>"),
        _ADD,
    ),
    Code.TAG_CASE: (
        "The opener of a block is written with capital letters. What follows it looks like a call, so it was read as "
        "one, and an end tag with the same letters ends it.",
        _ADD.replace("<tool>", "<Tool>").replace("</tool>", "</Tool>"),
        _ADD,
    ),
    Code.BARE_NAME: (
        "The name of a tool stands right after the opener, without its element. Only the name of a tool that is given "
        "is read so, and only if something to call it with follows.",
        _ADD.replace("<tool_name>add</tool_name>", "add"),
        _ADD,
    ),
    Code.MISSING_SERVER: (
        "A block names no server, the tools are on several, and its tool is on another one than local. Only one server "
        "has such a tool, and it was taken.",
        _block("search", "<query>xml</query>"),
        _block("search", "<query>xml</query>").replace("<tool_name>", "<server_name>notes</server_name>\n<tool_name>"),
    ),
    Code.COMMA_LIST: (
        "A list of numbers, of booleans or of an enum is written as one text, its items separated by commas, and was "
        "read. A list of strings is not read so: texts may hold commas.",
        _block("plot", "<values>1, 2.5</values>"),
        _block("plot", "<values>\n    <value>1</value>\n    <value>2.5</value>\n  </values>"),
    ),
    Code.SINGLE_ITEM: (
        "A list is written as plain text, which was taken for its only item.",
        _label("a"),
        _label("\n    <tag>a</tag>\n  "),
    ),
    Code.COERCED_VALUE: (
        "A value has its declared type in another form than JSON's, and was converted. Such forms are a sign +, "
        "leading zeros, 5.0 for an integer, yes for true, quotes around a number, and letters in another case.",
        _ADD.replace("<a>1", "<a>+1"),
        _ADD,
    ),
}


class Explanation(NamedTuple):
    """A code in words. Without `wrong` there is no block that has it, unless something is broken."""

    meaning: str
    wrong: str
    repaired: str
    hint: str
    is_error: bool


_NOTICES = {
    Code.FOREIGN_CALL: (
        "The text holds a call in the notation of another protocol. It is not read, and stays text. Such notations are "
        'JSON in <tool_call>, <function=name>, <invoke name="name">, an element named as a tool, and JSON in a code '
        "fence. Often the model was trained to write calls so, and no instructions told it otherwise.",
        _HERMES,
        _ADD,
    ),
    Code.SHOWN_CALL: (
        "A block is in a code fence that is not at the end of the reply, or the rest of a call that can't be "
        "read follows it. It was "
        "taken for an example: it is not run, and stays text.",
        f"```xml\n{_ADD}\n```\n\nThis is how I add.\n\nShall I?",
        _ADD,
    ),
}
_OWN = {
    WITNESS_DISAGREES: (
        "A block that the parser takes without a repair is not accepted by the witness. That is lxml, with a RELAX NG "
        "schema made of the tool; where no tools are given, lxml alone. One of the two has a defect: no block is "
        "known to bring this about.",
        "",
        "",
    ),
    READERS_DISAGREE: (
        "lxml or defusedxml finds another call in a clean block than the parser does, or cannot read it. This is "
        "checked with --strict only. The example is a name of characters that came to XML with its fifth edition, "
        "and that expat, under defusedxml, does not know.",
        _save("<\U00010000>1</\U00010000>"),
        _save('<argument name="\U00010000">1</argument>'),
    ),
}


def _entries() -> dict[str, Explanation]:
    told = {**_ERRORS, **_REPAIRS, **_NOTICES}
    codes = {code.value: Explanation(*told[code], code.hint, code.is_error) for code in Code}
    return codes | {code: Explanation(*_OWN[code], hint, False) for code, hint in OWN_CODES.items()}


CODES = _entries()
"""What can be explained: the codes of the parser, errors first, and those of `lint` itself."""


def _tool(name: str, required: tuple[str, ...] = (), server: str = "local", **properties: dict[str, object]) -> Tool:
    # `__` stands for a colon, which no keyword of a call can have.
    renamed = {each.replace("__", ":"): schema for each, schema in properties.items()}
    parameters = {"type": "object", "properties": renamed, "required": list(required)}
    return Tool(name=name, server=server, parameters=parameters)


EXAMPLE_TOOLS = (
    _tool("add", ("a", "b"), a={"type": "integer"}, b={"type": "integer"}),
    _tool("write_file", ("path", "text"), path={"type": "string"}, text={"type": "string"}),
    _tool("label", tags={"type": "array", "items": {}}),
    _tool("plot", values={"type": "array", "items": {"type": "number"}}),
    _tool("save", data={}, x__trace={"type": "string"}),
    _tool("search", ("query",), server="notes", query={"type": "string"}),
)
"""The tools that the examples call. `search` is on the server `notes`, the others are on `local`."""


_KINDS = {
    "error": "the block gives no call",
    "repair": "the block gives a call all the same",
    "notice": "the text stays as it is",
    "doubt": "the block gives a call all the same, but another reader does not take it so",
}


def _kind(code: str) -> str:
    if code in OWN_CODES:
        return "doubt"
    if code in _NOTICES:
        return "notice"
    return "error" if CODES[code].is_error else "repair"


def explain(code: str, dialect: Dialect | str = FORGE) -> str:
    """Return what a code means, with an example of a wrong block and the repaired one, as text of several lines.

    Takes a code of the parser or of `lint`, and the dialect in which the model writes: the hint is in its words, and a
    call is shown in it; the example is in Forge's. Raises `XMLToolsError` for a code or a dialect that there is not.
    """
    written_in = named(dialect)
    if not isinstance(code, str) or code not in CODES:
        raise XMLToolsError(f"there is no code {code!r:.80}; there are {', '.join(CODES)}")
    entry = CODES[code]
    kind = _kind(code)
    hint = next((hint_of(each, written_in) for each in Code if each.value == code), entry.hint)
    parts = [f"{code} ({kind}: {_KINDS[kind]})", entry.meaning, f"Hint: {hint}"]
    if entry.wrong:
        of_forge = "" if written_in == FORGE else " (in Forge's notation)"
        parts += [f"Wrong{of_forge}:\n{_indented(entry.wrong)}", f"Right{of_forge}:\n{_indented(entry.repaired)}"]
    if written_in != FORGE:
        parts.append(f"A call in {written_in.name}:\n{_indented(written_in.example)}")
    return "\n\n".join(parts)


def list_codes() -> str:
    """Return all codes by their kinds, each with its hint, as text of several lines."""
    width = max(map(len, CODES))
    parts = []
    for kind, means in _KINDS.items():
        lines = [f"  {code:<{width}}  {CODES[code].hint}" for code in CODES if _kind(code) == kind]
        parts.append("\n".join([f"{kind}: {means}", *lines]))
    return "\n\n".join(parts)


def headline(code: str) -> str:
    """Return the first sentence of what a code means. Takes a code of `CODES`."""
    return CODES[code].meaning.partition(". ")[0].removesuffix(".")


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.split("\n"))
