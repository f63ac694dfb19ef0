"""The codes of repairs, each with what it means, a block that has it and the same block repaired."""

from __future__ import annotations

from xmltools.errors import Code

__all__ = ["REPAIRS"]

_ADD = "<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>1</a>\n  <b>2</b>\n</arguments>\n</tool>"
_JSON = '<tool>\n{"tool_name": "add", "arguments": {"a": 1, "b": 2}}\n</tool>'


def _write(text: str) -> str:
    return (
        "<tool>\n<tool_name>write_file</tool_name>\n<arguments>\n"
        f"  <path>a.txt</path>\n  <text>{text}</text>\n</arguments>\n</tool>"
    )


def _save(argument: str) -> str:
    return f"<tool>\n<tool_name>save</tool_name>\n<arguments>\n  {argument}\n</arguments>\n</tool>"


def _label(content: str) -> str:
    return f"<tool>\n<tool_name>label</tool_name>\n<arguments>\n  <tags>{content}</tags>\n</arguments>\n</tool>"


def _plot(content: str) -> str:
    return f"<tool>\n<tool_name>plot</tool_name>\n<arguments>\n  <values>{content}</values>\n</arguments>\n</tool>"


_LISTED = _label("\n    <tag>a</tag>\n    <tag>b</tag>\n  ")

REPAIRS: dict[Code, tuple[str, str, str]] = {
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
        "The name of the tool has a prefix, quotes or () around it. Without them it is the name of a tool, which was "
        "taken.",
        _ADD.replace(">add<", ">functions.add()<"),
        _ADD,
    ),
    Code.JOINED_CALLS: (
        "A block holds two calls, one after the other. Each of the two has this code.",
        _ADD.replace("\n</tool>", "\n" + _ADD.removeprefix("<tool>\n")),
        f"{_ADD}\n{_ADD}",
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
        "<tool>\n<tool_name>search</tool_name>\n<arguments>\n  <query>xml</query>\n</arguments>\n</tool>",
        "<tool>\n<server_name>notes</server_name>\n<tool_name>search</tool_name>\n"
        "<arguments>\n  <query>xml</query>\n</arguments>\n</tool>",
    ),
    Code.COMMA_LIST: (
        "A list of numbers, of booleans or of an enum is written as one text, its items separated by commas, and was "
        "read. A list of strings is not read so: texts may hold commas.",
        _plot("1, 2.5"),
        _plot("\n    <value>1</value>\n    <value>2.5</value>\n  "),
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
