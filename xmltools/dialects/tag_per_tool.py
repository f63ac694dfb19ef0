"""A tag for each tool, as Cline and Roo ask for: `<NAME><KEY>VALUE</KEY></NAME>`. Only given tools are called so."""

from __future__ import annotations

from xmltools.dialects.dialect import Body, Dialect, ResultForm, ToolList, Writing

TAG_PER_TOOL = Dialect(
    name="tag_per_tool",
    body=Body.TAGS,
    example="<get><n>1</n></get>",
    item="item",
    writing=Writing(
        before="\n\n",
        between="\n\n",
        result=ResultForm(between="\n\n", is_headed=True),
        tools=ToolList(form="schema"),
    ),
)
