"""The codes of errors, each with what it means, a block that has it and the same block repaired."""

from __future__ import annotations

from xmltools.errors import Code

__all__ = ["ERRORS"]

_ADD = "<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>1</a>\n  <b>2</b>\n</arguments>\n</tool>"
_WRITE = (
    "<tool>\n<tool_name>write_file</tool_name>\n<arguments>\n"
    "  <path>a.txt</path>\n  <text>Hello</text>\n</arguments>\n</tool>"
)

ERRORS: dict[Code, tuple[str, str, str]] = {
    Code.TRUNCATED: (
        "The reply ends inside a block. What was read of it is no call, however complete it looks: the rest could be "
        "anything. The usual cause is a limit on the length of replies.",
        _ADD[: _ADD.index("\n</arguments>")],
        _ADD,
    ),
    Code.LIMIT_EXCEEDED: (
        "A block is too large, has too many elements or nests too deep. The limits are 10 MiB, 10,000 elements and 64 "
        "levels, those of JSON in a value included; a host can set others.",
        "<tool>\n<tool_name>label</tool_name>\n<arguments>\n"
        f"  <tags>{'[' * 65}{']' * 65}</tags>\n</arguments>\n</tool>",
        "<tool>\n<tool_name>label</tool_name>\n<arguments>\n"
        "  <tags>\n    <tag>a</tag>\n  </tags>\n</arguments>\n</tool>",
    ),
    Code.MALFORMED_MARKUP: (
        "Between elements stands a < that begins no tag, comment or CDATA section, or a tag whose name XML does not "
        "allow. What belongs to which argument can't be said then.",
        "<tool>\n<tool_name>save</tool_name>\n<arguments>\n  <1st>Hello</1st>\n</arguments>\n</tool>",
        '<tool>\n<tool_name>save</tool_name>\n<arguments>\n  <argument name="1st">Hello</argument>\n'
        "</arguments>\n</tool>",
    ),
    Code.FORBIDDEN_MARKUP: (
        "A document type or an entity is declared between elements. Declarations can make XML readers open files and "
        "expand texts without end, so none is taken. In a value they are text like any other.",
        _WRITE.replace("<arguments>", "<!DOCTYPE html>\n<arguments>"),
        _WRITE.replace("Hello", "<![CDATA[<!DOCTYPE html>]]>"),
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
