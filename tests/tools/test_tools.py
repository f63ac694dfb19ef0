"""Tools from functions, models and other people's definitions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pytest
from pydantic import BaseModel, Field, validate_call

import xmltools as xt
from xmltools.errors import XMLToolsError
from xmltools.tools import Tool, load_tools
from xmltools.tools.schema import compile_schema, read_object


class Point(BaseModel):
    """A place."""

    x: int = Field(description="to the right")
    y: int = 0


def google(path: str, lines: list[int] | None = None, *, mode: Literal["r", "w"] = "r", schema: bool = False) -> str:
    """Read a file.

    It may be long.

    Args:
        path (str): Where it is,
            from the root.
        lines: Which lines.
        schema: Whether to show
            the schema: it is short.

    Returns:
        path: not this one.
    """
    return path


def numpy(path, _mode=1):
    """Read a file.

    Parameters
    ----------
    path : str
        Where it is,
        from the root.
    _mode
        How.

    Returns
    -------
    str
        The text.
    """


def rest(path: str, place: Point):
    """Read a file.

    :param path: Where it is,
        from the root.
    :type path: str
    :param Point place: The place.
    :returns: nothing
    """


def test_a_google_docstring():
    tool = Tool.of(google, server="files")
    assert (tool.name, tool.server, tool.description) == (
        "google",
        "files",
        "Read a file.\n\nIt may be long.",
    )
    properties = tool.parameters["properties"]
    assert list(properties) == ["path", "lines", "mode", "schema"]
    assert properties["path"] == {"type": "string", "description": "Where it is, from the root."}
    assert properties["lines"]["description"] == "Which lines."
    assert properties["mode"]["enum"] == ["r", "w"]
    assert properties["mode"]["default"] == "r"
    assert properties["schema"]["description"] == "Whether to show the schema: it is short."
    assert tool.parameters["required"] == ["path"]
    shape = compile_schema(tool.parameters)
    assert read_object({"path": "a", "lines": ["1"]}, shape, 0).arguments == {"path": "a", "lines": [1]}


def test_other_docstrings():
    tool = Tool.of(numpy)
    assert tool.description == "Read a file."
    assert tool.parameters["properties"]["path"] == {"description": "Where it is, from the root."}
    assert tool.parameters["properties"]["_mode"] == {"default": 1, "description": "How."}
    tool = Tool.of(rest)
    assert tool.description == "Read a file."
    assert tool.parameters["properties"]["path"]["description"] == "Where it is, from the root."
    assert tool.parameters["properties"]["place"]["description"] == "The place."
    assert tool.parameters["$defs"]["Point"]["properties"]["x"] == {
        "type": "integer",
        "description": "to the right",
    }


def test_names_and_descriptions_can_be_given():
    tool = Tool.of(google, name="read", description="")
    assert (tool.name, tool.description) == ("read", "")


def test_a_pydantic_model():
    tool = Tool.of(Point)
    assert (tool.name, tool.description) == ("Point", "A place.")
    assert tool.parameters["required"] == ["x"]
    assert "title" not in str(tool.parameters)


def test_other_callables():
    @dataclass
    class Job:
        name: str
        count: int = 1

        def run(self, force: bool) -> None:
            """Run it."""

        def __call__(self, again: int) -> None: ...

    assert list(Tool.of(Job).parameters["properties"]) == ["name", "count"]
    assert Tool.of(Job("a").run).parameters["properties"] == {"force": {"type": "boolean"}}
    assert Tool.of(Job("a")).parameters["properties"] == {"again": {"type": "integer"}}
    assert Tool.of(Job("a")).name == "Job"


def test_a_partial_function_is_the_function_without_what_is_bound():
    tool = Tool.of(functools.partial(functools.partial(google, mode="w"), lines=[1]))
    assert (tool.name, tool.description) == ("google", "Read a file.\n\nIt may be long.")
    assert list(tool.parameters["properties"]) == ["path", "schema"]
    assert tool.parameters["properties"]["schema"]["description"] == "Whether to show the schema: it is short."
    assert list(Tool.of(functools.partial(google, "a.txt")).parameters["properties"]) == ["lines", "mode", "schema"]
    with pytest.raises(XMLToolsError, match="a lambda has no name"):
        Tool.of(functools.partial(lambda a, b: a, b=1))


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Order:
    article: str
    size: Size = Size.SMALL
    notes: list[str] = field(default_factory=list)
    at: InitVar[int] = 0


class Pair(NamedTuple):
    first: int
    second: str = "b"


class Greeting:
    """Greet."""

    def __init__(self, name: str): ...


SIZES = {"enum": ["s", "l"], "type": "string"}


@pytest.mark.parametrize(
    ("source", "properties"),
    [
        (
            Order,
            {
                "article": {"type": "string"},
                "size": {"$ref": "#/$defs/Size", "default": "s"},
                "notes": {"type": "array", "items": {"type": "string"}},
                "at": {"type": "integer", "default": 0},
            },
        ),
        (Pair, {"first": {"type": "integer"}, "second": {"type": "string", "default": "b"}}),
        (Greeting, {"name": {"type": "string"}}),
    ],
)
def test_a_class_is_a_tool_of_its_fields_with_their_types(source, properties):
    tool = Tool.of(source)
    assert tool.parameters["properties"] == properties
    assert tool.parameters["required"] == [next(iter(properties))]
    assert tool.description == ("Greet." if source is Greeting else "")


def test_parameters_may_be_of_classes():
    def buy(
        order: Order | None,
        pair: Pair,
        sizes: dict[Size, int],
        how: Literal["now", "later"] = "now",
        big: Size = Size.LARGE,
    ): ...

    parameters = Tool.of(buy).parameters
    assert parameters["$defs"]["Size"] == SIZES
    assert parameters["$defs"]["Order"]["required"] == ["article"]
    assert parameters["$defs"]["Order"]["additionalProperties"] is False
    assert parameters["$defs"]["Pair"]["type"] == "array"
    assert parameters["properties"]["how"]["enum"] == ["now", "later"]
    assert parameters["properties"]["big"] == {"$ref": "#/$defs/Size", "default": "l"}


def test_annotated_parameters():
    def search(limit: Annotated[int, Field(ge=1, description="How many")] = 5, **filters: str) -> None: ...

    tool = Tool.of(search)
    assert tool.parameters["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "description": "How many",
        "default": 5,
    }
    assert tool.parameters["additionalProperties"] is True
    assert "required" not in tool.parameters


def test_no_parameters():
    closed = {**Tool(name="stop").parameters, "additionalProperties": False}
    assert Tool.of(lambda: None, name="stop").parameters == closed


@pytest.mark.parametrize("wrap", [lambda function: function, validate_call])
def test_a_field_as_the_default_describes_the_parameter_and_keeps_its_name(wrap):
    many, page, empty = Field(5, ge=1, description="How many"), Field(gt=3), Field(default_factory=list)

    def search(limit: int = many, *, _page: int = page, words: list[str] = empty): ...

    for _ in range(2):  # what belongs to the function is not changed
        parameters = Tool.of(wrap(search)).parameters
        assert parameters["properties"] == {
            "limit": {"type": "integer", "default": 5, "minimum": 1, "description": "How many"},
            "_page": {"type": "integer", "exclusiveMinimum": 3},
            "words": {"type": "array", "items": {"type": "string"}},
        }
        assert parameters["required"] == ["_page"]
    assert many.alias is None


def test_a_function_takes_no_other_arguments_unless_it_says_so():
    def write(path: str) -> None: ...

    def note(path: str, **more: str) -> None: ...

    call = "<tool><tool_name>{}</tool_name><arguments><path>a</path><append>1</append></arguments></tool>"
    tools = [Tool.of(write), Tool.of(note)]
    (error,) = xt.parse(call.format("write"), tools).errors
    assert error.code == "invalid_arguments" and "append" in error.hint
    (taken,) = xt.parse(call.format("note"), tools).calls
    assert taken.arguments == {"path": "a", "append": "1"}


class Opaque: ...


def unresolved(a: Nowhere): ...  # noqa: F821


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (lambda a, /: a, "'a' cannot be given by name"),
        (lambda *a: a, "'*a' cannot be given by name"),
        (3, "expected a function or a pydantic model class, found 3"),
        (unresolved, "a type hint cannot be resolved"),
        (dict, "no signature"),
        (Size, "Size is an Enum, which is one value and takes no named arguments"),
    ],
)
def test_what_is_no_tool(source, words):
    with pytest.raises(XMLToolsError) as caught:
        Tool.of(source)
    assert words in str(caught.value)


def test_one_definition_in_place_of_a_list():
    with pytest.raises(XMLToolsError, match="found an object with 'name', 'parameters'; of one tool give a list"):
        load_tools({"name": "f", "parameters": {}})


def test_types_without_a_schema():
    def opaque(first: int, a: Opaque) -> None: ...

    def function(first: int, a: Callable[[], int]) -> None: ...

    def wrong(first: int, a: callable) -> None: ...  # type: ignore[valid-type]

    for source in (opaque, function, wrong):
        with pytest.raises(XMLToolsError, match="the type of the parameter 'a' has no JSON Schema") as caught:
            Tool.of(source)
        assert "\n" not in str(caught.value)


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    "definition",
    [
        {
            "type": "function",
            "function": {"name": "t", "description": "d", "parameters": SCHEMA, "strict": True},
        },
        {"type": "function", "name": "t", "description": "d", "parameters": SCHEMA, "strict": None},
        {"name": "t", "description": "d", "input_schema": SCHEMA, "cache_control": {}},
        {"name": "t", "description": "d", "inputSchema": SCHEMA, "annotations": {}, "title": "T"},
        {"name": "t", "description": "d", "parametersJsonSchema": SCHEMA},
        {
            "name": "t",
            "description": "d",
            "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
        },
        {"function": {"name": "t", "description": "d", "parameters": SCHEMA}},
        Tool(name="t", description="d", parameters=SCHEMA, server="s").model_dump(),
    ],
)
def test_definitions(definition):
    assert Tool.load(definition, server="s") == Tool(name="t", description="d", parameters=SCHEMA, server="s")


@pytest.mark.parametrize(
    "more",
    [
        {"outputSchema": SCHEMA, "icons": [], "_meta": {}, "execution": {}, "annotations": {"title": "T"}},
        {"output_schema": SCHEMA, "input_examples": [{"a": "b"}], "eager_input_streaming": True},
        {"strict": True, "type": "custom", "format": {"type": "text"}},
        {"behavior": "BLOCKING", "response": SCHEMA, "responseJsonSchema": SCHEMA},
        {"arguments": [{"name": "a"}]},
        {"max_uses": 5, "display_width_px": 9},
        {5: "x"},
    ],
)
def test_what_definitions_have_beside_is_passed_over(more):
    assert Tool.load({"name": "t", **more}) == Tool(name="t")
    whole = {"name": "t", "description": "d", "parameters": SCHEMA}
    assert Tool.load({**whole, **more, "parametrs": {}, "args": {}}) == Tool(**whole)


def test_a_dumped_tool_keeps_its_server():
    assert Tool.load({"name": "t", "server": "own"}, server="given").server == "own"
    assert Tool.load({"name": "t", "description": None}) == Tool(name="t")
    assert Tool.load({"name": "t", "input_schema": {"type": "object"}}).parameters == Tool(name="t").parameters


def test_gemini_schemas():
    schema = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "ARRAY", "items": {"type": "INTEGER", "nullable": True}, "minItems": "1"},
            "b": {"anyOf": [{"type": "NUMBER"}, {"type": "TYPE_UNSPECIFIED"}]},
        },
    }
    assert Tool.load({"name": "t", "parameters": schema}).parameters["properties"] == {
        "type": {"type": "array", "items": {"type": "integer", "nullable": True}, "minItems": 1},
        "b": {"anyOf": [{"type": "number"}, {}]},
    }


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ([], "found list"),
        ({}, "found an object with nothing; accepted: "),
        ({"type": "web_search"}, "found an object with 'type'"),
        ({"name": ""}, "found an object with 'name'"),
        ({"name": "t", "parameters": []}, "'parameters' is no JSON Schema object but list"),
        ({"name": "t", "description": 5}, "description is no text but int"),
        ({"name": "t" * 300}, "name: expected a name of 1 to 256 characters, got 300 characters"),
        ({"name": "\ud800"}, "name: expected a name of 1 to 256 characters, got text with half a character"),
        ({"name": "t", "server": 5}, "tool 't': server: expected text, got a number"),
        (
            {"name": "t", "parameters": {5: 1}},
            "tool 't': parameters: expected a JSON Schema object, got an object with a key that is no text",
        ),
        ({"name": "t", "server": 5}, "server"),
        (
            {"name": "t", "parametrs": SCHEMA},
            "tool 't': expected the JSON Schema of the arguments in 'parameters', found no such key but 'parametrs'; "
            "put what it holds in 'parameters'",
        ),
        ({"name": "t", "input_shema": SCHEMA}, "in 'input_schema', found no such key but 'input_shema'"),
        ({"name": "t", "Parameters": SCHEMA}, "in 'parameters', found no such key but 'Parameters'"),
        ({"type": "function", "function": {"name": "t", "parametrs": SCHEMA}}, "found no such key but 'parametrs'"),
        ({"name": "t", "args": {"a": {"type": "string"}}}, "in 'parameters', found no such key but 'args'"),
        ({"name": "t", "properties": {"a": {}}, "required": ["a"]}, "found no such key but 'properties'"),
        ({"name": "t", "descripton": "d"}, "expected the description in 'description', found no such key but"),
    ],
)
def test_wrong_definitions(definition, words):
    with pytest.raises(XMLToolsError) as caught:
        Tool.load(definition)
    assert words in str(caught.value)


def test_lists_of_tools():
    tool = Tool(name="t")
    assert load_tools([{"name": "t"}, tool]) == [tool, tool]
    assert load_tools({"model": "m", "tools": [{"name": "t"}]}) == [tool]
    assert load_tools({"functions": [{"name": "t"}]}) == [tool]
    assert load_tools({"tools": [{"functionDeclarations": [{"name": "t"}, {"name": "t"}]}]}) == [tool, tool]
    assert load_tools([]) == []
    for file in ("tools.json", Path("tools.json"), '[{"name": "t"}]'):
        with pytest.raises(XMLToolsError, match="found the name of a file, or JSON as text"):
            load_tools(file)
    for wrong, words in [
        (5, "found int"),
        ({"name": "t"}, "found an object with 'name'; of one tool give a list"),
        ([tool, 5], "tool 1 of the list: "),
    ]:
        with pytest.raises(XMLToolsError, match=words):
            load_tools(wrong)


def test_tools_are_values():
    one, same = Tool(name="t"), Tool(name="t")
    assert one == same and hash(one) == hash(same)
    with pytest.raises(ValueError, match="frozen"):
        one.name = "u"


def test_tools_stay_equal_when_one_has_been_used():
    one, other = Tool(name="f"), Tool(name="f")
    assert one.shape is not None
    assert one == other
    assert one != Tool(name="f", description="x")
    assert one != "f"


def test_lists_inside_lists_inside_lists_are_no_tools():
    nested = {"tools": [{"name": "f"}]}
    assert load_tools([nested, {"name": "g"}]) == [Tool(name="f"), Tool(name="g")]
    for _ in range(2000):
        nested = {"tools": [nested]}
    with pytest.raises(XMLToolsError, match="expected a tool definition"):
        load_tools(nested)


def test_a_copy_with_other_parameters_has_a_shape_of_its_own():
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    assert list(tool.shape.properties) == ["a"]
    other = tool.model_copy(update={"parameters": {"type": "object", "properties": {"z": {"type": "integer"}}}})
    assert list(other.shape.properties) == ["z"]
    assert tool.model_copy().shape is tool.shape


# -- what people hold
# `tests/agents/test_held_objects.py` has the objects of other libraries.


def test_functions_models_and_definitions_may_be_mixed() -> None:
    class Forecast(BaseModel):
        """The next days."""

        days: int = 3

    def weather(city: str) -> str:
        """The weather."""
        return city

    held = [weather, Forecast, {"name": "a"}, Tool(name="b"), {"functionDeclarations": [{"name": "c"}]}]
    assert [(each.name, each.description) for each in load_tools(held)] == [
        ("weather", "The weather."),
        ("Forecast", "The next days."),
        ("a", ""),
        ("b", ""),
        ("c", ""),
    ]


@pytest.mark.parametrize("held", [object(), 3, None, "weather"])
def test_what_is_no_tool_is_refused_with_what_would_be(held: object) -> None:
    with pytest.raises(XMLToolsError, match=r"tool 0 of the list: expected a tool definition, found .*; accepted: "):
        load_tools([held])


class Folder(BaseModel):
    """A folder in folders."""

    name: str
    inside: Folder | None = None


def test_a_model_that_holds_itself_is_an_object() -> None:
    tool = Tool.of(Folder)
    assert (
        tool.parameters["type"] == "object"
        and tool.parameters["required"] == ["name"]
        and "$ref" not in tool.parameters
    )
    text = (
        "<tool><tool_name>Folder</tool_name><arguments><name>a</name><inside><name>b</name></inside></arguments></tool>"
    )
    (call,) = xt.parse(text, [tool]).calls
    assert call.clean and call.arguments == {"name": "a", "inside": {"name": "b"}}


class Shop:
    def buy(self, count: int) -> None: ...


def wait(seconds: float = float("inf")) -> None: ...


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Shop.buy, "function Shop.buy: 'self' is no argument that a model could give; take the method of an object"),
        (wait, "the default of the parameter 'seconds' is no JSON value: inf; take None"),
    ],
)
def test_what_no_model_could_give_is_refused(source: object, said: str) -> None:
    with pytest.raises(XMLToolsError, match=re.escape(said)):
        Tool.of(source)
    assert Tool.of(Shop().buy).parameters["required"] == ["count"]
