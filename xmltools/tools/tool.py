"""Tools: name, description and JSON Schema; from functions, pydantic models and other people's formats."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import EnumType
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, PydanticUserError, ValidationError, create_model

from xmltools.errors import XMLToolsError
from xmltools.models import BUILD_LATE, DEFAULT_SERVER
from xmltools.models.json_fields import found
from xmltools.tools.schema import ObjectShape, compile_json, compile_schema

_ACCEPTED = (
    '{"type": "function", "function": {...}} (OpenAI chat), {"type": "function", "name", "parameters"} '
    '(OpenAI Responses), {"name", "input_schema"} (Anthropic), {"name", "inputSchema"} (MCP), '
    '{"name", "parameters"} (Gemini, or a Tool that was dumped); for load_tools also functions, pydantic models, and '
    "tools of MCP, LangChain, pydantic-ai and OpenAI Agents"
)


def not_a_tool(found: object) -> XMLToolsError:
    """Return the error for what was given in a list of tools and is none."""
    if isinstance(found, tuple) and found[:1] == ("name",):  # the first field of a tool in place of the list
        return XMLToolsError("tools: expected a list of xmltools.Tool, got one Tool; give a list of it: [tool]")
    how = "of a dict give the values" if isinstance(found, str) else "load_tools() makes tools of functions and dicts"
    return XMLToolsError(f"tools: expected xmltools.Tool, got {type(found).__name__}; {how}")


def list_of_tools(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools as a list. Raises XMLToolsError for what is no list of tools."""
    if not isinstance(tools, Iterable):
        raise XMLToolsError(f"tools: expected a list of xmltools.Tool, got {type(tools).__name__}")
    listed = list(tools)
    for tool in listed:
        if not isinstance(tool, Tool):
            raise not_a_tool(tool)
    return listed


def _no_parameters() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


_LONGEST_NAME = 256


class Tool(BaseModel):
    """A tool that a model may call: `parameters` is the JSON Schema of its arguments.

    `server` tells tools of one name apart. The schema is read when it is first needed (`shape`). Raises pydantic's
    `ValidationError` for fields of a wrong type, and for a name that is empty or longer than 256 characters.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=BUILD_LATE)

    name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=_no_parameters)
    server: str = DEFAULT_SERVER

    _shape: ObjectShape | None = PrivateAttr(default=None)
    _compiled: dict[str, Any] | None = PrivateAttr(default=None)  # what the shape was made of: copies may have another
    _is_small: bool = PrivateAttr(default=False)

    def __eq__(self, other: object) -> bool:
        # pydantic's own also compares what is kept here for later.
        return self.__dict__ == other.__dict__ if isinstance(other, Tool) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.server))

    @property
    def shape(self) -> ObjectShape:
        """The compiled schema, which tools with the same schema share: servers make their tools anew for each request.

        Raises XMLToolsError if the schema is invalid.
        """
        kept = self._kept
        shape: ObjectShape | None = kept.get("_shape")
        if shape is None or kept["_compiled"] is not self.parameters:
            try:
                shape, is_small = _compile(self.parameters)
            except XMLToolsError as error:
                raise XMLToolsError(f"tool {self.name!r}: {error}") from None
            kept.update(_shape=shape, _compiled=self.parameters, _is_small=is_small)
        return shape

    @property
    def unchecked_patterns(self) -> tuple[str, ...]:
        """What is to be said of patterns in the schema that are not checked, with their places: most schemas have none.

        Raises XMLToolsError if the schema is invalid.
        """
        return tuple(f"tool {self.name!r}: {each}" for each in self.shape.make.document.unchecked.values())

    @property
    def _kept(self) -> dict[str, Any]:
        # Its private attributes by their own names: pydantic takes 1 µs for each, and each parser asks each tool.
        return self.__pydantic_private__ or {}

    @property
    def is_small(self) -> bool:
        """Whether what is made of the tool may be kept for others that are equal: it bounds what caches hold."""
        return self.shape is not None and self._kept.get("_is_small", False) and len(self.description) <= _SHARED_SIZE

    @classmethod
    def of(
        cls,
        source: Callable[..., Any] | type[BaseModel],
        *,
        name: str | None = None,
        server: str = DEFAULT_SERVER,
        description: str | None = None,
    ) -> Tool:
        """Make a tool from a function or a pydantic model class, or from another class that takes named arguments.

        Type hints become the schema, the docstring becomes the description and those of the parameters (its
        Google, NumPy or reST sections are read); `name` and `description` take the place of its own. A function takes
        no other arguments than it names, unless it has `**kwargs`. What `functools.partial` has bound is no argument
        of the tool, which has the name of the function inside. Raises XMLToolsError for what cannot be called with
        named arguments, for a type that has no JSON Schema, and for a lambda without `name`.
        """
        inside = source.func if isinstance(source, partial) else source
        if isinstance(source, type) and issubclass(source, BaseModel):
            schema = _schema_of_model(source)
        elif callable(source):
            schema = _schema_of_function(source)
        else:
            raise XMLToolsError(f"expected a function or a pydantic model class, found {source!r:.80}")
        if name is None and getattr(inside, "__name__", "") == "<lambda>":
            raise XMLToolsError("a lambda has no name that a call could say; give one: Tool.of(…, name='double')")
        from xmltools.tools.docstrings import read_docstring  # only here: tools also come as JSON

        summary, described = read_docstring(_docstring_of(inside))
        if description is None:
            description = summary
        return _make(
            cls,
            name=name or str(getattr(inside, "__name__", type(inside).__name__)),
            description=description,
            parameters=_described(schema, described),
            server=server,
        )

    @classmethod
    def load(cls, definition: Mapping[str, Any], *, server: str = DEFAULT_SERVER) -> Tool:
        """Make a tool from a definition for OpenAI, Anthropic, MCP or Gemini, or from a dumped Tool.

        A dumped tool keeps its own server. Keys that say nothing about calls are passed over. Raises XMLToolsError for
        anything else, and where the schema or the description is missing and another key seems to hold it.
        """
        if not isinstance(definition, Mapping):
            raise _no_definition(type(definition).__name__)
        inner = definition.get("function") if "name" not in definition else definition
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str) or not inner["name"]:
            raise _no_definition(f"an object with {_shown(definition)}")
        _refuse_misnamed(inner)
        name, description = inner["name"], inner.get("description") or ""
        if not isinstance(description, str):
            raise XMLToolsError(f"tool {name!r}: the description is no text but {type(description).__name__}")
        own = inner.get("server", server)
        return _make(cls, name=name, description=description, parameters=_find_schema(inner), server=own)


_SHARED_SIZE = 16_384
"""Longest schema, as JSON, that is kept for other tools: it bounds what the cache can hold."""


def _compile(parameters: dict[str, Any]) -> tuple[ObjectShape, bool]:
    """Return the shape, and whether it is shared."""
    try:
        text = json.dumps(parameters)
    except (TypeError, ValueError, RecursionError):
        text = ""  # no JSON: the compiler says where and why
    if 0 < len(text) <= _SHARED_SIZE:
        return _shared_shape(text), True
    return compile_schema(parameters), False


@lru_cache(maxsize=256)
def _shared_shape(text: str) -> ObjectShape:
    return compile_json(text)


def _shown(definition: Mapping[str, Any]) -> str:
    return ", ".join(f"{key!r:.80}" for key in list(definition)[:20]) or "nothing"


def _no_definition(found: str) -> XMLToolsError:
    return XMLToolsError(f"expected a tool definition, found {found}; accepted: {_ACCEPTED}")


def load_tools(definitions: Any) -> list[Tool]:
    """Make tools from a list of tools of any kind, or from an object that has one.

    The list may hold, also mixed: definitions as JSON, functions and pydantic model classes, and the tools of MCP
    (its `ListToolsResult` may take the place of the list), LangChain, pydantic-ai and the OpenAI Agents SDK. An object
    in JSON is that of a request or an MCP answer: {"tools": [...]}, {"functions": [...]} or Gemini's
    {"functionDeclarations": [...]}, which may also stand inside the list. Raises XMLToolsError for others.
    """
    return _load_list(definitions, nested=False)


def _load_list(definitions: Any, *, nested: bool) -> list[Tool]:
    if isinstance(definitions, BaseModel) and not isinstance(definitions, Tool):
        definitions = _definition_of(definitions)
    if isinstance(definitions, Mapping):
        for key in _LISTS:
            if isinstance(definitions.get(key), (list, tuple)):
                definitions = definitions[key]
                break
    if isinstance(definitions, (str, bytes, PurePath)):
        raise XMLToolsError(
            "expected a list of tools or an object with one, found the name of a file, or JSON as text: give what "
            "json.loads returns of it"
        )
    if not isinstance(definitions, (list, tuple)):
        is_object = isinstance(definitions, Mapping)
        found = f"an object with {_shown(definitions)}; of one tool give a list" if is_object else ""
        raise XMLToolsError(
            f"expected a list of tools or an object with {', '.join(map(repr, _LISTS))}, "
            f"found {found or type(definitions).__name__}"
        )
    tools: list[Tool] = []
    for position, each in enumerate(definitions):
        try:
            tools += _load_entry(each, nested)
        except XMLToolsError as error:
            raise XMLToolsError(f"tool {position} of the list: {error}") from None
    return tools


_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")


def _load_entry(definition: Any, nested: bool) -> list[Tool]:
    if isinstance(definition, Tool):
        return [definition]
    is_list = isinstance(definition, Mapping) and "name" not in definition and any(key in definition for key in _LISTS)
    if is_list and not nested:
        return _load_list(definition, nested=True)
    if not isinstance(definition, Mapping):
        found = _definition_of(definition)
        if found is None:
            return [Tool.of(definition)] if callable(definition) else [Tool.load(definition)]
        return _load_entry(found, nested)
    return [Tool.load(definition)]


# Tools of other libraries, which are known by what holds the schema of their arguments: `FunctionTool` of the OpenAI
# Agents SDK, `BaseTool` of LangChain (without what it fills in itself), `ToolDefinition` of pydantic-ai. What
# else is a pydantic model, as those of MCP and of the SDKs, says it as JSON does.
_SCHEMA_ATTRIBUTES = ("params_json_schema", "tool_call_schema", "parameters_json_schema")


def _definition_of(held: Any) -> Mapping[str, Any] | None:
    """Return the definition of a tool that is an object of another library; None if it is no such object.

    Also that of a list of tools that is a pydantic model, as MCP's `ListToolsResult`.
    """
    if isinstance(held, type):
        return None
    held = getattr(held, "tool_def", held)  # of pydantic-ai's `Tool`
    for attribute in _SCHEMA_ATTRIBUTES:
        schema = getattr(held, attribute, None)
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema = schema.model_json_schema()
        if isinstance(schema, Mapping):
            return {**{key: getattr(held, key, None) for key in ("name", "description")}, "parameters": schema}
    return held.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(held, BaseModel) else None


def _make(cls: type[Tool], **fields: Any) -> Tool:
    try:
        return cls(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise XMLToolsError(f"tool {fields['name']!r:.80}: {_wrong_field(first['loc'], fields)}") from None


def _wrong_field(place: tuple[int | str, ...], fields: Mapping[str, Any]) -> str:
    """Return what is wrong with a field, in our own words: those of pydantic are for whoever writes the class."""
    name = str(place[0])
    value = fields[name]
    if name == "parameters":
        where = f"parameters: expected a JSON Schema object, got {found(value)}"
        return where if len(place) == 1 else f"{where} with a key that is no text"
    expected = f"a name of 1 to {_LONGEST_NAME} characters" if name == "name" else "text"
    if not isinstance(value, str):
        return f"{name}: expected {expected}, got {found(value)}"
    if name == "name" and not 1 <= len(value) <= _LONGEST_NAME:
        return f"{name}: expected {expected}, got {len(value):,} characters"
    return f"{name}: expected {expected}, got text with half a character (a lone surrogate) in it"


# Schemas in other people's definitions

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def _find_schema(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a definition, whatever its key; the schema of no arguments if there is none."""
    for key in _SCHEMA_KEYS:
        schema = definition.get(key)
        if schema is None:
            continue
        if not isinstance(schema, Mapping):
            raise XMLToolsError(
                f"tool {definition['name']!r}: {key!r} is no JSON Schema object but {type(schema).__name__}"
            )
        schema = _without_capitals(schema) if _is_gemini(schema) else dict(schema)
        return {**_no_parameters(), **schema} if schema.get("type") == "object" or not schema else schema
    return _no_parameters()


# A tool whose schema is not found takes anything, so a typo would turn off the checks.
_KNOWN_KEYS = frozenset(
    (
        *("name", "description", *_SCHEMA_KEYS),
        *(  # noqa: SIM905 - a list would be twenty lines
            "annotations behavior cache_control defer_loading eager_input_streaming execution format function icons "
            "input_examples metadata outputSchema output_schema response responseJsonSchema response_json_schema "
            "return returns server strict title type _meta"
        ).split(),
    )
)
"""What definitions for OpenAI, Anthropic, Gemini and MCP have."""
_WORDS_FOR_SCHEMAS = ("args", "args_schema", "arguments", "input", "json_schema", "params", "properties", "schema")
_NEAR = 0.8
"""How much of a key is the same as in the one that was meant."""


def _refuse_misnamed(definition: Mapping[str, Any]) -> None:
    """Raise XMLToolsError for a key that is a slip of one that is missing."""
    unknown = [key for key in definition if isinstance(key, str) and key not in _KNOWN_KEYS]
    for wanted, keys in (("the JSON Schema of the arguments", _SCHEMA_KEYS), ("the description", ("description",))):
        for key in unknown if definition.keys().isdisjoint(keys) else ():
            if meant := _key_meant(key, definition[key], keys):
                raise XMLToolsError(
                    f"tool {definition['name']!r:.80}: expected {wanted} in {meant!r}, found no such key but "
                    f"{key!r:.80}; put what it holds in {meant!r}"
                )


def _key_meant(key: str, value: Any, keys: tuple[str, ...]) -> str | None:
    """Return which of the `keys` an unknown key stands for; None if it seems to be another one."""
    from difflib import get_close_matches  # only here: few definitions have unknown keys

    if keys is _SCHEMA_KEYS and key in _WORDS_FOR_SCHEMAS and isinstance(value, Mapping):
        return keys[0]
    return next(iter(get_close_matches(key[:100], keys, n=1, cutoff=_NEAR)), None)


def _is_gemini(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return isinstance(kind, str) and kind.isupper()


# Gemini's schema is OpenAPI's as Protocol Buffers write it: types in capitals, 64-bit numbers as strings.
_GEMINI_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


def _without_capitals(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return Gemini's schema as JSON Schema."""
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            if value != "TYPE_UNSPECIFIED":
                result[key] = value.lower()
        elif key in _GEMINI_COUNTS and isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value):
            result[key] = int(value)
        elif key == "properties" and isinstance(value, Mapping):
            result[key] = {name: _lowered(each) for name, each in value.items()}
        elif key in ("items", "additionalProperties", "anyOf"):
            result[key] = [_lowered(each) for each in value] if isinstance(value, list) else _lowered(value)
        else:
            result[key] = value
    return result


def _lowered(schema: Any) -> Any:
    return _without_capitals(schema) if isinstance(schema, Mapping) else schema


# Schemas from Python


def _schema_of_function(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a function's parameters, as pydantic writes it, without those that are bound."""
    import inspect  # it costs a tenth of the package's start-up, and only this needs it

    if isinstance(function, EnumType):
        raise XMLToolsError(
            f"{function.__name__} is an Enum, which is one value and takes no named arguments: make it the type of a "
            "parameter of a function"
        )
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise XMLToolsError(f"{function!r:.80} has no signature that can be read: {error}") from None
    bound, function = (function.keywords, function.func) if isinstance(function, partial) else ({}, function)
    if parameters and _is_method_of_a_class(function, parameters[0]):
        raise XMLToolsError(
            f"{_called(function)}: {parameters[0].name!r} is no argument that a model could give; take the method of "
            "an object, as in Tool.of(Shop().buy)"
        )
    fields: dict[str, Any] = {}
    extra = "forbid"
    hints, factories = _hints_of(function), _factories_of(function)
    for number, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise XMLToolsError(
                f"{_called(function)}: the parameter {str(parameter)!r} cannot be given by name, as "
                "those of a tool are; make it an ordinary parameter or wrap the function"
            )
        if parameter.name in bound:
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        # pydantic reserves some names for itself (a leading underscore, `schema`), so fields are numbered.
        hint = hints.get(parameter.name, Any)
        fields[f"field_{number}"] = _field(parameter.name, hint, factories.get(parameter.name, default))
    config = ConfigDict(extra=extra, arbitrary_types_allowed=False)  # type: ignore[typeddict-item]
    return _schema_of_fields(fields, config, _called(function))


def _is_method_of_a_class(function: Any, first: Any) -> bool:
    """Return whether a function is the method of a class that was not taken from an object of it."""
    owner = getattr(function, "__qualname__", "").rpartition(".")[0]
    is_inside = bool(owner) and not owner.endswith("<locals>")
    return is_inside and first.name in ("self", "cls") and first.annotation is first.empty


def _schema_of_fields(fields: dict[str, Any], config: ConfigDict, owner: str) -> dict[str, Any]:
    try:
        model: type[BaseModel] = create_model("Arguments", __config__=config, **fields)
        return model.model_json_schema()
    except (PydanticUserError, TypeError) as error:
        for number, field in fields.items() if len(fields) > 1 else ():
            _schema_of_fields({number: field}, config, owner)  # so that the error names the one that has none
        names = " and ".join(repr(field.alias) for _, field in fields.values())
        why = error.message if isinstance(error, PydanticUserError) else str(error)
        raise XMLToolsError(
            f"{owner}: the type of the parameter {names} has no JSON Schema ({why.partition('. ')[0].rstrip('.')}); "
            "take one that JSON can hold, or a dataclass or a pydantic model of such"
        ) from None


def _field(name: str, hint: Any, default: Any) -> tuple[Any, Any]:
    """Return the type and the default of a field that is called `name` outside."""
    from pydantic.fields import FieldInfo

    if isinstance(hint, dataclasses.InitVar):
        hint = hint.type
    if isinstance(default, FieldInfo):  # it may have no default, and belongs to the function
        return Annotated[hint, default], Field(alias=name)
    return hint, Field(default, alias=name)


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    from typing import get_type_hints

    target: Any = function
    if isinstance(function, type):
        has_fields = dataclasses.is_dataclass(function) or hasattr(function, "_fields")
        made_by = function.__new__ if function.__init__ is object.__init__ else function.__init__  # type: ignore[misc]
        target = function if has_fields else made_by
    elif not any(hasattr(function, name) for name in ("__code__", "__wrapped__", "__func__")):
        target = type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise XMLToolsError(f"{_called(function)}: a type hint cannot be resolved: {error}") from None


def _factories_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the fields of a dataclass whose defaults are made anew: its signature has a stand-in for them."""
    fields = dataclasses.fields(function) if dataclasses.is_dataclass(function) else ()
    made = {each.name: each.default_factory for each in fields}
    return {
        name: Field(default_factory=made_by) for name, made_by in made.items() if made_by is not dataclasses.MISSING
    }


def _docstring_of(source: Any) -> str:
    """Return what was written about it: a dataclass and a NamedTuple without docstring have their signature there."""
    text = source.__doc__ or ""
    has_fields = dataclasses.is_dataclass(source) or hasattr(source, "_fields")
    return "" if has_fields and text.startswith(f"{getattr(source, '__name__', '')}(") else text


def _called(function: Callable[..., Any]) -> str:
    return f"function {getattr(function, '__qualname__', repr(function)[:80])}"


def _schema_of_model(model: type[BaseModel]) -> dict[str, Any]:
    try:
        schema = model.model_json_schema()
    except PydanticUserError as error:
        raise XMLToolsError(f"a type of {model.__name__} has no JSON Schema: {error.message}") from None
    # Of a model that holds itself pydantic gives a reference, where APIs expect an object.
    root = schema.get("$defs", {}).get(schema.pop("$ref", "").removeprefix("#/$defs/"), {})
    return {**root, **schema}


def _described(schema: dict[str, Any], described: Mapping[str, str]) -> dict[str, Any]:
    """Return pydantic's schema with descriptions from a docstring where it has none of its own.

    Raises XMLToolsError for a default that is no JSON value.
    """
    for noise in ("title", "description"):
        schema.pop(noise, None)
    properties = schema.setdefault("properties", {})
    for name, each in properties.items():
        _refuse_numbers_of_no_json(name, each.get("default"))
        if name in described and "description" not in each:
            each["description"] = described[name]
    for each in (*properties.values(), *schema.get("$defs", {}).values()):
        _drop_titles(each)
    return schema


def _refuse_numbers_of_no_json(name: str, default: Any) -> None:
    try:
        json.dumps(default, allow_nan=False)
    except ValueError:
        raise XMLToolsError(
            f"the default of the parameter {name!r} is no JSON value: {default!r:.80}; "
            "take None, or a number that is finite"
        ) from None


def _drop_titles(schema: dict[str, Any]) -> None:
    # pydantic makes a title of each name; it says nothing new and costs tokens.
    schema.pop("title", None)
    for each in schema.get("properties", {}).values():
        each.pop("title", None)
