"""What to tell a model that writes another dialect than Forge's: the sentences of codes, in the words of that dialect.

`Code.hint` has the sentences for Forge's dialect, and those that hold for all.
"""

from __future__ import annotations

from typing import Final

from xmltools.dialects.record import Body, Dialect
from xmltools.errors import Code

_HINTS: Final = {
    Code.TRUNCATED: "The reply ended before the tool call was complete. Write the whole call again: {form}",
    Code.MALFORMED_MARKUP: "Write each call in this form: {form}",
    Code.MISSING_TOOL_NAME: "Name the tool. Write each call in this form: {form}",
    Code.DUPLICATE_FIELD: "A tool call names one tool and has one set of arguments. Write a call of its own for each.",
    Code.INVALID_JSON: "The JSON in the tool call could not be read. Write each call in this form: {form}",
    Code.SEVERAL_CALLS: "Write each call between {start} and {end} of its own.",
    Code.IGNORED_ATTRIBUTE: "Write nothing beside the name of the tool and its arguments.",
    Code.MISSING_END_TAG: "Close everything that you open. Write each call in this form: {form}",
    Code.UNWRAPPED_ARGUMENT: "Put all arguments into the object with the arguments: {form}",
    Code.JSON_ARGUMENTS: "Write each call in this form: {form}",
    Code.JSON_VALUE: "Write lists and objects as they are, not as a string that holds one.",
    Code.JSON_ESCAPE: "Write each backslash in a JSON string as two.",
    Code.JSON_MISSING_BRACE: "Close each brace of a JSON object, also the last one before {end}.",
    Code.JSON_KEY: "Write each call in this form: {form}",
    Code.JOINED_CALLS: "Write each call between {start} and {end} of its own.",
    Code.COMMA_LIST: "Write a list as JSON.",
    Code.SINGLE_ITEM: "Write a list as JSON, also if it has only one item.",
    Code.MISSING_SERVER: "Several servers have a tool of this name; this call does not say which is meant.",
    Code.WRONG_SERVER: "Name no server, or exactly the one that is given for the tool.",
}


def hint_of(code: Code, dialect: Dialect) -> str:
    """Return the sentence to send to a model that writes this dialect, for a code."""
    hint = _HINTS.get(code) if dialect.body is not Body.ELEMENTS else None
    if hint is None:
        return code.hint
    return hint.format(form=dialect.form, start=f"<{dialect.block}>", end=f"</{dialect.block}>")
