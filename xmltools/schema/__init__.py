"""JSON Schema for tool calls: schemas become shapes, elements and JSON become typed, checked arguments."""

from xmltools.schema._compile import compile_schema
from xmltools.schema._document import NEVER, Node
from xmltools.schema._facts import (
    Bounds,
    Items,
    Property,
    TextFacts,
    bounds_of,
    is_impossible,
    items_of,
    other_keywords,
    parts_of,
    properties_of,
    text_facts,
)
from xmltools.schema._names import ITEM, item_name, singular_of
from xmltools.schema._read import Reading, find_problems, read_arguments, read_object
from xmltools.schema._sample import sample_arguments
from xmltools.schema._shapes import (
    ANY,
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
)
from xmltools.schema._topics import is_code_name
from xmltools.schema._values import Problem

__all__ = [
    "ANY",
    "ITEM",
    "NEVER",
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
    "compile_schema",
    "find_problems",
    "is_code_name",
    "is_impossible",
    "item_name",
    "items_of",
    "other_keywords",
    "parts_of",
    "properties_of",
    "read_arguments",
    "read_object",
    "sample_arguments",
    "singular_of",
    "text_facts",
]
