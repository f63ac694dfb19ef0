"""Calls and tools as other programs write them in JSON: read into ours, one form at a time.

Pure functions over values that were read from JSON. A form is recognised by the keys that it must have; what only
looks like a call, such as the definition of a tool, is refused: it would be a call without arguments. Each message
says where in the value something is wrong, what was expected and what was found, never more than some words of it.
"""

from xmltools.cli.interop.calls import CALL_FORMATS, load_calls
from xmltools.cli.interop.definitions import DEFINITION_FORMATS, load_definitions

__all__ = [
    "CALL_FORMATS",
    "DEFINITION_FORMATS",
    "load_calls",
    "load_definitions",
]
