"""The codes of repairs, each with what it means, a block that has it and the same block mended."""

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


_LISTED = _label("\n    <tag>a</tag>\n    <tag>b</tag>\n  ")

REPAIRS: dict[Code, tuple[str, str, str]] = {
    Code.IGNORED_ATTRIBUTE: (
        "A tag has an attribute that means nothing here, and it was skipped. Only the name of <argument> and "
        'nil="true" mean something. A key of a JSON body that means nothing has this code too.',
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
        "An argument stands directly in the block, without <arguments> around it, and was taken for one.",
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
        "A comma stands behind the last member of a JSON object or list, and was skipped.",
        _JSON.replace("2}", "2,}"),
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
        "A block names no server, and its tool is on another one than local. Only one server has such a tool, and it "
        "was taken.",
        "<tool>\n<tool_name>search</tool_name>\n<arguments>\n  <query>xml</query>\n</arguments>\n</tool>",
        "<tool>\n<server_name>notes</server_name>\n<tool_name>search</tool_name>\n"
        "<arguments>\n  <query>xml</query>\n</arguments>\n</tool>",
    ),
    Code.COERCED_VALUE: (
        "A value has its declared type in another form than JSON's, and was converted. Such forms are a sign +, "
        "leading zeros, 5.0 for an integer, yes for true, and letters in another case.",
        _ADD.replace("<a>1", "<a>+1"),
        _ADD,
    ),
}
