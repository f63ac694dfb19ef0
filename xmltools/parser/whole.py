"""Whole replies: a clean block that a text has from its start to its end is read in one step, by one pattern or by
`json`.

`parse` and the batches have whole texts. This module knows which blocks are so clean that XML, JSON, or a look at their
delimiters says the same of them as the protocol. Tools are found, and values read, as for all blocks. For any other
block `read_call` returns None, and the machine reads it from its start.

- Elements are clean if the fields come in the usual order, tags have no attributes, entities are the five of XML, and
  CDATA is all that its element contains.
- Names and values between delimiters are clean if each delimiter is there as the dialect's record has it, with nothing
  but white space beside values, and no value contains a `<`, with which all of them begin.
- JSON is clean if the object names one tool and one object with its arguments, and `json` reads it.
- The tool is given, by this name, and all arguments are valid as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from xmltools.dialects import Body, Dialect
from xmltools.models import ToolCall
from xmltools.parser.decode_text import TextReader
from xmltools.parser.delimiters import SPACE
from xmltools.parser.limits import Limits
from xmltools.parser.toolbox import Toolbox
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_reader import loads_clean
from xmltools.syntax.markup import BREAK, CDATA_OPEN, OPENER_SPACE, SPACES, decode_entities, find_forbidden, skip_space
from xmltools.tools.schema import LEVELS, UNREAD

_MOST: Final = 4_096
"""Characters of a block of elements. The machine is as fast for longer ones."""
_MOST_JSON: Final = 65_536
"""Characters of a block with JSON. The rest of a reply is not searched again for each opener without an end."""
_ELEMENTS: Final = Body.ELEMENTS
_JSON: Final = Body.JSON
_TOOL: Final = re.compile(r"[-\w./:]{1,256}")
_TAG: Final = "[A-Za-z_][-.0-9A-Za-z_]{0,99}+"


def read_call(
    form: Dialect, text: str, at: int, base: int, limits: Limits, toolbox: Toolbox, new_id: Callable[[], str]
) -> ToolCall | None:
    """Return the call of the block whose opener is `at` in `text`, whose first character is at `base` in the reply, in
    this form. None if it is not clean."""
    if form.slip:
        return None
    is_element = form.body is _ELEMENTS
    has_json = form.body is _JSON
    read = None if has_json else _read_children(form, limits, toolbox, text, at)
    is_json = read is None and (is_element or has_json)
    if is_json:
        read = _read_json(form, limits, toolbox, text, at)
    if read is None:
        return None
    name, server, arguments, end = read
    return ToolCall.unchecked(
        id=new_id(),
        name=name,
        arguments=arguments,
        server=server,
        repairs=(),
        legacy_json=is_json and is_element,
        dialect=form.name,
        span=(base + at, base + end),
    )


_Call = tuple[str, str, dict[str, Any], int]
"""Names of the tool and its server, the arguments, and the place after the block."""


def _read_json(form: Dialect, limits: Limits, toolbox: Toolbox, text: str, at: int) -> _Call | None:
    """Read the block at `at`, which contains a JSON object."""
    body_at = skip_space(text, at + len(form.opener))
    end = text.find(form.closer, body_at, at + min(_MOST_JSON, limits.block_size - 1))
    if not form.closer or end < 0 or not text.startswith("{", body_at) or body_at - at > OPENER_SPACE:
        return None
    body = text[body_at:end].rstrip(SPACES)
    try:
        value = loads_clean(body, limits.depth)
    except (ValueError, RecursionError):
        return None
    if len(value) != 2 or (form.body is _ELEMENTS and find_forbidden(body, 0, len(body)) >= 0):
        return None
    name, arguments = (
        next((value[key] for key in keys if key in value), None) for keys in (form.json_tool_name, form.json_arguments)
    )
    if not isinstance(name, str) or not isinstance(arguments, dict) or not _TOOL.fullmatch(name):
        return None
    found = toolbox.find_plain(name, None, form.default_server)
    if found is None or any(map(found[1].wraps, arguments)) or not found[1].is_clean(arguments, LEVELS):
        return None
    return name, found[0], arguments, end + len(form.closer)


def _read_children(form: Dialect, limits: Limits, toolbox: Toolbox, text: str, at: int) -> _Call | None:
    """Read the block at `at`, which contains elements, or names and values between delimiters."""
    pattern, argument = _clean_block(form)
    block = pattern.match(text, at, at + min(_MOST, limits.block_size - 1))
    if block is None:
        return None
    named, name, source = block.group(1, 2, 3)
    found = toolbox.find_plain(name, named, form.default_server)
    if found is None or source.count("<") + 3 > limits.elements:
        return None
    server, shape = found
    if argument is not None:
        children: list[Element] | None = [Element(key, text=value) for key, value in argument.findall(source)]
    else:
        children = _children_in(source, min(limits.depth - 1, LEVELS))
    if children is None:
        return None
    arguments = shape.clean_children(children, "", LEVELS)
    is_clean = arguments is not UNREAD and shape.is_valid(arguments) and not any(map(shape.wraps, arguments))
    is_clean = is_clean and (argument is None or all(map(shape.declares, arguments)))
    return (name, server, arguments, block.end()) if is_clean else None


@lru_cache(maxsize=64)
def _clean_block(form: Dialect) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """Return a pattern of blocks in this form, with the names of the server and the tool, and the source of the
    arguments; and one of an argument, with its name and value, unless arguments are elements. They match nothing if
    there is more to the form than that."""
    pairs = form.pairs
    if form.body is _ELEMENTS:
        return re.compile(_elements(form)), None
    if pairs is None or not form.closer or pairs.json or pairs.tag_mark or pairs.name_pattern:
        return re.compile("(?!)"), None
    end = re.escape(pairs.value_end)
    value = "([^<]*+)"
    if pairs.framing:  # with a line break on each side
        value = rf"(?:\r?\n)?((?:[^<\r\n]++|(?!{BREAK}{end})[\r\n])*+){BREAK}?"
    key = _between(pairs.key_start, pairs.key_attribute, _TAG, pairs.key_end)
    argument = f"{SPACE}{key}{_spaced(pairs.value)}{value}{end}"
    name = _between(pairs.name_start, pairs.name_attribute, rf"(?=\w){_TOOL.pattern}(?<!/)", pairs.name_end)
    start = f"{re.escape(form.opener)}{SPACE}((?!))?{name}"
    return re.compile(f"{start}((?:{argument})*+){_spaced(pairs.end)}{_spaced(form.closer)}"), re.compile(argument)


def _between(start: str, attribute: str, name: str, end: str) -> str:
    """Return a pattern of a name between two delimiters, or of the attribute that says it."""
    said = f'{attribute}="({name})"' if attribute else f"({name})"
    return f"{re.escape(start)}{said}{re.escape(end)}"


def _spaced(delimiter: str) -> str:
    """Return a pattern of a delimiter, if there is one, after white space."""
    return delimiter and SPACE + re.escape(delimiter)


def _elements(form: Dialect) -> str:
    """Return a pattern of blocks of elements. In the arguments, a start tag comes before a value that ends, or before
    another start tag."""
    names = form.block, form.server_name, form.tool_name, form.arguments
    block, server, tool, arguments = map(re.escape, names)
    space = rf"[ \t\n]{{0,{OPENER_SPACE}}}+"
    text = r"[^<&\r]*+(?:&(?:lt|gt|amp|quot|apos);[^<&\r]*+)*+"
    section = r"<!\[CDATA\[(?:[^]<\r]++|<(?!!\[)|\](?!\]>))*+\]\]>"
    end = f"</(?!{block}>|{arguments}>){_TAG}>{space}"
    inner = f"(?:<{_TAG}>(?:(?:{text}|{section}){end}|{space}(?=<[A-Za-z_]))|{end})*+"
    return (
        f"<{block}>{space}(?:<{server}>({_TOOL.pattern})</{server}>{space})?<{tool}>({_TOOL.pattern})</{tool}>{space}"
        f"<{arguments}>{space}({inner})</{arguments}>{space}</{block}>"
    )


_TOKEN: Final = re.compile(rf"<(/?)({_TAG})>(?:<!\[CDATA\[((?:[^]]++|\](?!\]>))*+)|([^<]*+))")
"""A tag, and the section or the text after it."""


def _children_in(source: str, levels: int) -> list[Element] | None:
    """Return the elements in a source of clean tags, at most so many levels of them; None if the tags do not fit, or if
    XML takes some of the text for another thing, or not at all."""
    if source.count("]]>") > source.count(CDATA_OPEN) or find_forbidden(source, 0, len(source)) >= 0:
        return None
    stack = [Element("")]
    for slash, name, section, text in _TOKEN.findall(source):
        if slash:
            if stack.pop().name != name:
                return None
            continue
        if len(stack) > levels:
            return None
        holder, element = stack[-1], Element(name, text=section or _value_of(text))
        holder.children = holder.children or []
        holder.children.append(element)
        stack.append(element)
    return stack[0].children or [] if len(stack) == 1 else None


def _value_of(text: str) -> str:
    """Return the value of a leaf with this text. What begins with white space may be laid out."""
    if text[:1] > " ":
        return decode_entities(text)
    reader = TextReader()
    return text and reader.text(text) + reader.end()
