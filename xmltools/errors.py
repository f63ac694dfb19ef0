"""Words for what can go wrong: misuse is an exception, a model's mistake is data.

The caller's mistake raises `XMLToolsError`. What a model wrote never raises: a deviation that the parser repaired is
a `Repair` on the call, a block that gives no call is a `CallError`, and what is remarkable in text is a `Notice`. Codes
are API and stay; messages may change.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["CallError", "Code", "Issue", "Notice", "Repair", "XMLToolsError"]


class XMLToolsError(ValueError):
    """The caller's mistake: the message says what was expected, where, and how to fix it."""


_UTF16_MARK = b"\xff\xfe"
"""What UTF-16 begins with, in one order or the other."""


def no_utf8(byte: int, at: int | None = None) -> str:
    """Return what is wrong with a file in which this byte is no UTF-8: the message that stands after its place."""
    encoding = "utf-16" if byte in _UTF16_MARK and not at else "latin1"
    return (
        f"expected UTF-8, got the byte {byte:#04x}{'' if at is None else f' at {at}'}; write the file as UTF-8 "
        f"(iconv -f {encoding} -t utf-8, if that is what it is)"
    )


class Code(StrEnum):
    """Stable names of everything that the parser repairs, refuses (errors) or notices in text.

    A code is its name as a string. `is_error` and `is_notice` say which of the three it is, `hint` is the sentence to
    send to the model, in Forge's dialect; `xmltools.dialects.hint_of` has it for the others.
    """

    hint: str
    is_error: bool
    is_notice: bool

    def __new__(cls, value: str, hint: str, is_error: bool = False, is_notice: bool = False) -> "Code":
        """Make a member whose value is the code and which carries its hint."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.hint = hint
        member.is_error = is_error
        member.is_notice = is_notice
        return member

    # Errors: the block gives no call.
    TRUNCATED = (
        "truncated",
        "The reply ended before the tool call was complete. Write the whole block again and end it with </tool>.",
        True,
    )
    LIMIT_EXCEEDED = (
        "limit_exceeded",
        "The tool call was too large or too deeply nested. Split it into several smaller calls.",
        True,
    )
    MALFORMED_MARKUP = (
        "malformed_markup",
        "The tool call held a tag that could not be read. Write every tag as <name>value</name>, "
        "and put values that hold < or & in <![CDATA[...]]>.",
        True,
    )
    FORBIDDEN_MARKUP = (
        "forbidden_markup",
        "Do not write <!DOCTYPE or <!ENTITY in a tool call. Put such text in <![CDATA[...]]> inside an argument.",
        True,
    )
    DUPLICATE_FIELD = (
        "duplicate_field",
        "A tool call has exactly one <tool_name>, at most one <server_name> and one <arguments>. "
        "Write a block of its own for each call.",
        True,
    )
    DUPLICATE_ARGUMENT = (
        "duplicate_argument",
        "Write each argument once. Only an argument that is a list may be repeated.",
        True,
    )
    INVALID_NAME = (
        "invalid_name",
        "A name is plain text on one line, at most 256 characters long, without < and >.",
        True,
    )
    MISSING_TOOL_NAME = (
        "missing_tool_name",
        "Name the tool: the block must hold <tool_name>name of the tool</tool_name>.",
        True,
    )
    UNKNOWN_TOOL = ("unknown_tool", "There is no such tool. Use exactly one of the tools that are listed.", True)
    INVALID_ARGUMENTS = (
        "invalid_arguments",
        "The arguments do not fit the tool. Correct those that are named and write the call again.",
        True,
    )
    INVALID_JSON = (
        "invalid_json",
        "The JSON in the tool call could not be read. Write the arguments as XML elements, one for each argument.",
        True,
    )
    SEVERAL_CALLS = ("several_calls", "Write one <tool> block for each call.", True)

    # Repairs: the block gives a call, and the deviation is reported.
    IGNORED_ATTRIBUTE = ("ignored_attribute", "Write tags without attributes; values go between the tags.")
    ATTRIBUTE_SYNTAX = ("attribute_syntax", 'Put attribute values in quotes, as in <argument name="my name">.')
    CODE_FENCE = ("code_fence", "Write the tool call as plain text, without a Markdown code fence around it.")
    MISSING_END_TAG = ("missing_end_tag", "Close every element, also </arguments> and </tool>.")
    MISMATCHED_END_TAG = ("mismatched_end_tag", "Close each element with its own name.")
    STRAY_END_TAG = ("stray_end_tag", "Write an end tag only for an element that is open.")
    STRAY_TEXT = ("stray_text", "Do not write text between the elements of a tool call.")
    TAG_WHITE_SPACE = ("tag_white_space", "Write the name of a tag right after < or </.")
    NOT_XML_NAME = (
        "not_xml_name",
        'Where the name of an argument is no XML name, write <argument name="the name">value</argument>.',
    )
    PROCESSING_INSTRUCTION = ("processing_instruction", "Do not write <?...?> between the elements of a tool call.")
    COMMENT_SYNTAX = ("comment_syntax", "Do not write -- inside a comment.")
    UNWRAPPED_ARGUMENT = ("unwrapped_argument", "Put all arguments inside one <arguments> element.")
    JSON_ARGUMENTS = (
        "json_arguments",
        "Write arguments as XML elements inside <arguments>, one for each argument, not as JSON.",
    )
    JSON_VALUE = ("json_value", "Write lists and objects as nested elements, not as JSON.")
    JSON_LINE_BREAK = ("json_line_break", "Write line breaks in JSON strings as \\n.")
    JSON_TRAILING_COMMA = ("json_trailing_comma", "Do not write a trailing comma in a JSON object or list.")
    JSON_ESCAPE = (
        "json_escape",
        "Write each backslash in a JSON string as two, or write the value as an XML element, where it is itself.",
    )
    JSON_EXTRA_BRACE = ("json_extra_brace", "Close each brace of a JSON object once.")
    JSON_MISSING_BRACE = ("json_missing_brace", "Close each brace of a JSON object, also the last one before </tool>.")
    JSON_KEY = ("json_key", "Call the keys of a JSON tool call tool_name and arguments, and put them in one object.")
    PYTHON_LITERAL = ("python_literal", "Write JSON, not Python: double quotes, true, false and null.")
    JSON_STRING = ("json_string", "Write the arguments as a JSON object, not as a string that holds one.")
    MIXED_CONTENT = (
        "mixed_content",
        "Put a value that holds both text and tags in <![CDATA[...]]>.",
    )
    BARE_AMPERSAND = ("bare_ampersand", "Write & as &amp; or put the value in <![CDATA[...]]>.")
    UNKNOWN_ENTITY = (
        "unknown_entity",
        "Only &lt; &gt; &amp; &quot; &apos; and numeric references exist; put other text in <![CDATA[...]]>.",
    )
    BARE_LESS_THAN = ("bare_less_than", "Write < as &lt; or put the value in <![CDATA[...]]>.")
    BARE_CDATA_END = ("bare_cdata_end", "Write ]]> in plain text as ]]&gt;.")
    CDATA_CASE = ("cdata_case", "Write CDATA in capitals: <![CDATA[...]]>.")
    UNSPLIT_CDATA_END = ("unsplit_cdata_end", "Write ]]> inside CDATA as ]]]]><![CDATA[>.")
    FORBIDDEN_CHARACTER = ("forbidden_character", "Leave out control characters, such as those of terminal colours.")
    ARGUMENT_TAG = (
        "argument_tag",
        'Write each argument as an element with its own name: <path>value</path>, not <parameter name="path">.',
    )
    ARGUMENTS_TAG = ("arguments_tag", "Put the arguments in <arguments>, and in no other element.")
    NAME_TAG = ("name_tag", "Write the name of the tool in <tool_name>, and its server in <server_name>.")
    ATTRIBUTE_VALUE = ("attribute_value", "Write values between tags, as in <path>a.py</path>, not as attributes.")
    DECORATED_NAME = (
        "decorated_name",
        "Write the name of the tool exactly as it is listed: no prefix, no quotes, no (), and in the same case.",
    )
    JOINED_CALLS = ("joined_calls", "Write a <tool> block of its own for each call.")
    CHAT_TOKEN = ("chat_token", "Write </tool> right after </arguments>, before the reply ends.")
    WRONG_SERVER = ("wrong_server", "Leave <server_name> out, or write exactly the server that is given for the tool.")
    TAG_CASE = ("tag_case", "Write the names of all tags in lower case: <tool> and </tool>.")
    BARE_NAME = ("bare_name", "Write the name of the tool as <tool_name>name</tool_name>.")
    MISSING_SERVER = ("missing_server", "Name the server of the tool in <server_name>.")
    COMMA_LIST = ("comma_list", "Write each item of a list as an element of its own, not separated by commas.")
    SINGLE_ITEM = ("single_item", "Write a list as nested elements, one for each item, also if there is only one.")
    FOREIGN_DIALECT = (
        "foreign_dialect",
        "Write each tool call as it was described; this one was written as other models do.",
    )
    COERCED_VALUE = ("coerced_value", "Write each value exactly in the form that its type asks for.")

    # Notices: nothing was repaired and nothing refused.
    FOREIGN_CALL = (
        "foreign_call",
        "Write each tool call as it was described; no other form is read.",
        False,
        True,
    )
    SHOWN_CALL = (
        "shown_call",
        "If the call is to run, write it again without a code fence, at the end. If not, answer in words.",
        False,
        True,
    )


@dataclass(frozen=True, slots=True)
class Repair:
    """One deviation that the parser repaired: `code`, `offset` in the reply in characters, and what was done."""

    code: Code
    offset: int
    message: str = field(compare=False, default="")

    def __repr__(self) -> str:
        return f"Repair({self.code.value!r}, {self.offset}, {self.message!r})"


@dataclass(frozen=True, slots=True)
class CallError:
    """A block that gives no call.

    `span` is the block's place in the reply, in characters; `message` says what was wrong, `hint` what to send to
    the model so that its next try is right. `name`, `server` and `arguments` hold what had been read and understood
    before the error (`arguments` is empty if the markup itself broke, since the rest of such a block is skipped),
    `source` the block's text (none, once a limit was exceeded). `offset` is the place of the first offence, in
    characters from the start of the reply as `Repair.offset` is: of a tag, an element, a character. It is None if no
    place can be told, as for a name that is missing.
    """

    code: Code
    span: tuple[int, int]
    message: str
    hint: str
    name: str | None = None
    server: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    source: str = field(default="", repr=False)
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in the text of a reply that its reader may want to know of: no error, and nothing was changed.

    The `code` is `foreign_call` (protocol, 1.9), a call in the notation of another protocol, or text that is plainly
    meant as a call; or `shown_call` (1.4, 1.5a), a call in a code fence, or in the rest of one that can't be read,
    that does not count. Both stayed text. `span` is its
    place in the reply, in characters, `message` says what it is. `notation` is the family of that notation (`forge`,
    `hermes`, `qwen3_coder`, `glm`, `invoke`, `pythonic`, `tag_per_tool`, `json`, …), `name` the tool's name as it is
    written there, None if none was found. `is_whole`: its end was written too; of a `shown_call`: it would be a call.
    `is_fenced`: it is in a Markdown fence.
    """

    code: Code
    span: tuple[int, int]
    message: str = field(compare=False)
    notation: str
    name: str | None
    is_whole: bool
    is_fenced: bool

    @property
    def hint(self) -> str:
        """What to send to the model."""
        return self.code.hint


@dataclass(frozen=True, slots=True)
class Issue:
    """Something in a conversation that is wrong, or that a format cannot hold.

    `code` is a stable name, `index` the place of the message in the conversation (None if it is about the whole),
    `message` says what, and `hint` what to do.
    """

    code: str
    message: str
    index: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        place = "" if self.index is None else f"message {self.index}: "
        return f"{place}{self.message}" + (f" ({self.hint})" if self.hint else "")
