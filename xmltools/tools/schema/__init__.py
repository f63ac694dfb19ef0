"""JSON Schema for tool calls: schemas become shapes, elements and JSON become typed, checked arguments."""

from typing import TYPE_CHECKING

from xmltools.first_use import on_first_use
from xmltools.tools.schema.document import NEVER, Node
from xmltools.tools.schema.elements_to_arguments import Reading, find_problems, place_of, read_arguments, read_object
from xmltools.tools.schema.equality import Problem
from xmltools.tools.schema.item_names import ITEM, item_name, singular_of
from xmltools.tools.schema.shapes import (
    ANY,
    LEVELS,
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
    compile_json,
    compile_schema,
)
from xmltools.tools.schema.text_to_scalar import UNREAD
from xmltools.tools.schema.written_numbers import written_number

if TYPE_CHECKING:
    from xmltools.tools.schema.constraints import (
        Bounds,
        Items,
        Property,
        TextFacts,
        bounds_of,
        is_impossible,
        items_of,
        needs_arguments,
        other_keywords,
        properties_of,
        text_facts,
    )
    from xmltools.tools.schema.examples import example_arguments, is_code_name

__all__ = [
    "ANY",
    "ITEM",
    "LEVELS",
    "NEVER",
    "UNREAD",
    "AnyShape",
    "ArrayShape",
    "Bounds",
    "EnumShape",
    "Items",
    "Node",
    "ObjectShape",
    "Problem",
    "Property",
    "Reading",
    "ScalarShape",
    "Shape",
    "TextFacts",
    "TextShape",
    "UnionShape",
    "bounds_of",
    "compile_json",
    "compile_schema",
    "example_arguments",
    "find_problems",
    "is_code_name",
    "is_impossible",
    "item_name",
    "items_of",
    "needs_arguments",
    "other_keywords",
    "place_of",
    "properties_of",
    "read_arguments",
    "read_object",
    "singular_of",
    "text_facts",
    "written_number",
]

# What prompts and grammars are made of; reading arguments takes none of it.
__getattr__ = on_first_use(
    __name__,
    {
        "Bounds": "constraints",
        "Items": "constraints",
        "Property": "constraints",
        "TextFacts": "constraints",
        "bounds_of": "constraints",
        "is_impossible": "constraints",
        "items_of": "constraints",
        "needs_arguments": "constraints",
        "other_keywords": "constraints",
        "properties_of": "constraints",
        "text_facts": "constraints",
        "example_arguments": "examples",
        "is_code_name": "examples",
    },
)
