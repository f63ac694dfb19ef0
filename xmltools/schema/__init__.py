"""JSON Schema for tool calls: schemas become shapes, elements and JSON become typed, checked arguments."""

from xmltools.schema._compile import compile_schema
from xmltools.schema._names import item_name, singular_of
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
    "AnyShape",
    "ArrayShape",
    "EnumShape",
    "ObjectShape",
    "Problem",
    "Reading",
    "ScalarShape",
    "Shape",
    "TextShape",
    "UnionShape",
    "compile_schema",
    "find_problems",
    "is_code_name",
    "item_name",
    "read_arguments",
    "read_object",
    "sample_arguments",
    "singular_of",
]
