"""Names that a tag of reasoning cannot have, whoever asks for one: a reader, a prompt or a grammar."""

from __future__ import annotations

from xmltools.dialects.dialect import Dialect
from xmltools.errors import XMLToolsError


def refuse_tag_of_calls(tag: str, dialect: Dialect, option: str) -> None:
    """Raise XMLToolsError if calls begin with that tag in the dialect. `option` is what the tag was given as."""
    if tag.lower() == dialect.block:
        raise XMLToolsError(f"{option}: {tag!r} is the tag of calls in {dialect.name!r}; take another, such as 'think'")
