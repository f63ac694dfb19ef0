"""The tree that a block is read into: what the parser builds and the schema walk reads."""

from __future__ import annotations

TEXT = "text"
JSON = "json"


class Element:
    """One element of a block.

    A *leaf* has `children is None` and its decoded content in `text`. A *node* has its child elements in `children`.
    `name` is the argument's name (that of the tag, or of the `name` attribute of `<argument>`), `offset` the place of
    the start tag in the reply, `nil`: it was marked as null. `inner` is the content between the tags as it was
    written; a node whose schema asks for a string is read from it. `kind`: what the mark of the value
    says it is, `TEXT` or `JSON`, if it says that.
    """

    __slots__ = ("children", "inner", "kind", "name", "nil", "offset", "text")

    def __init__(self, name: str, offset: int = 0, *, nil: bool = False, text: str = "") -> None:
        self.name = name
        self.offset = offset
        self.nil = nil
        self.children: list[Element] | None = None
        self.text = text
        self.inner = ""
        self.kind = ""
