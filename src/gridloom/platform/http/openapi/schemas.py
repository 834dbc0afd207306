"""The types that cross the wire as JSON Schema, each struct once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from gridloom.kernel.money import Euro
from gridloom.platform.http.fields import RequestBody
from gridloom.platform.http.operation import Operation
from gridloom.platform.http.responses import Content, EventStream, Page, Response, Stream

_FIGURES: dict[str, Any] = {
    "type": "array",
    "description": "The quantities in `detail`, in their order, as the values they have",
    "items": {
        "type": "object",
        "required": ["text", "value", "unit"],
        "properties": {
            "text": {"type": "string", "description": "As `detail` writes it, such as `300 kW`"},
            "value": {"type": "number"},
            "unit": {"type": "string", "description": "Empty for a bound of a field, which has the field's own"},
        },
    },
}
REFERENCE = "#/components/schemas/{name}"

PROBLEM_SCHEMA: dict[str, Any] = {
    "title": "Problem",
    "description": "Why a request was refused (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "instance", "requestId"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference", "description": "Which problem; leads to its page"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "figures": _FIGURES,
        "instance": {"type": "string", "description": "The path that was asked for"},
        "requestId": {"type": "string", "description": "Names this request in the logs"},
        "errors": {
            "type": "array",
            "description": "The fields at fault",
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {
                        "type": "string",
                        "description": "JSON pointer into the body, or query:name, path:name, header:name",
                    },
                    "detail": {"type": "string"},
                    "figures": _FIGURES,
                },
            },
        },
    },
}


class Schemas:
    """The schema of a type that an operation names, and the components that it refers to."""

    def __init__(self, of: dict[int, Any], components: dict[str, Any]) -> None:
        self._of = of
        self.components = components

    def __getitem__(self, type: Any) -> Any:
        return self._of[id(type)]


def make_schemas(operations: Iterable[Operation]) -> Schemas:
    """Every type that crosses the wire, each struct once."""
    wanted: dict[int, Any] = {}
    for operation in operations:
        for type in (operation.body, answered(operation), operation.query):
            if type is not None and type is not bytes:
                wanted[id(type)] = type
        for parameter in operation.path_parameters:
            wanted[id(parameter.type)] = parameter.type
    resolved = {key: _unwrap_page(type) for key, type in wanted.items()}
    schemas, components = msgspec.json.schema_components(list(resolved.values()), ref_template=REFERENCE)
    complete_components(components, resolved.values())
    return Schemas(dict(zip(resolved, schemas, strict=True)), components)


def complete_components(components: dict[str, Any], types: Iterable[Any]) -> None:
    """State what the schema of a struct leaves open: decimals and instants. Drops generated docstrings."""
    structs = {struct.__name__: struct for struct in _list_structs(types)}
    for name, component in components.items():
        _state_decimals(component, structs.get(name))
        _state_instants(component, structs.get(name))
        if component.get("description", "").startswith(f"{name}("):
            del component["description"]


def answered(operation: Operation) -> Any:
    """The type of the answer's JSON body; None where there is none to describe."""
    answer = operation.response_schema if operation.response_schema is not None else operation.response
    if get_origin(answer) is Response:
        answer = get_args(answer)[0]
    if answer in (None, type(None), Content, Stream, EventStream):
        return None
    return answer


def _unwrap_page(type: Any) -> Any:
    """A page is a plain array on the wire."""
    return list[get_args(type)[0]] if get_origin(type) is Page else type  # type: ignore[misc]


def _list_structs(types: Iterable[Any]) -> Iterable[type[msgspec.Struct]]:
    seen: set[Any] = set()
    queue = list(types)
    while queue:
        found = queue.pop()
        if isinstance(found, type) and issubclass(found, msgspec.Struct) and found not in seen:
            seen.add(found)
            queue.extend(get_type_hints(found, include_extras=True).values())
            yield found
        else:
            queue.extend(get_args(found))


def _state_decimals(component: dict[str, Any], struct: type[msgspec.Struct] | None) -> None:
    """Euros: an exact number in answers; a number or its decimal text in requests, with the bounds."""
    if struct is None:
        return
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        euro = _find_euro(hints[field.name])
        schema = component.get("properties", {}).get(field.encode_name)
        if schema is None:
            continue
        number: dict[str, Any] = {"type": "number"}
        if euro is not None:
            number |= {"minimum": float(euro.low), "maximum": float(euro.high), "multipleOf": 0.01}
        text = {"type": "string", "pattern": r"^-?[0-9]{1,12}(\.[0-9]{1,2})?(?!\n)$"}
        exact = number | {"format": "decimal"}
        _replace_decimal(schema, {"anyOf": [number, text]} if issubclass(struct, RequestBody) else exact)


def _replace_decimal(schema: Any, replacement: dict[str, Any]) -> None:
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            del schema["format"], schema["type"]
            schema.update(replacement)
            return
        for value in schema.values():
            _replace_decimal(value, replacement)
    if isinstance(schema, list):
        for value in schema:
            _replace_decimal(value, replacement)


def _state_instants(component: dict[str, Any], struct: type[msgspec.Struct] | None) -> None:
    """A `datetime` is an instant, also where its type does not demand an offset."""
    if struct is None:
        return
    hints = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        schema = component.get("properties", {}).get(field.encode_name)
        if schema is not None and _mentions_instant(hints[field.name]):
            _add_instant_format(schema)


def _mentions_instant(hint: Any) -> bool:
    return hint is datetime or any(map(_mentions_instant, get_args(hint)))


def _add_instant_format(schema: dict[str, Any]) -> None:
    if schema.get("type") == "string" and not {"format", "enum", "pattern"} & schema.keys():
        schema["format"] = "date-time"
    for inner in (*schema.get("anyOf", ()), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            _add_instant_format(inner)


def _find_euro(hint: Any) -> Euro | None:
    if get_origin(hint) is Annotated and get_args(hint)[0] is Decimal:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, Euro)), None)
    return next((found for found in map(_find_euro, get_args(hint)) if found is not None), None)
