"""The client and the interface document say the same: operations, parameters, bodies and answers."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, Unpack, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from tests.each import for_each

from gridloom_client import Client, Rows, read_event
from gridloom_client.events import EVENTS
from gridloom_client.input_types import InputStruct
from gridloom_client.operations import OPERATIONS, Collection, Endpoint, Stream
from gridloom_client.wire import field_name, parameter_name

HEADERS = {"if_match", "idempotency_key", "content_type", "last_event_id"}
OWN = {"partial"}
"""What the client does with an answer, of which the service is told nothing."""


@cache
def interface() -> dict[str, Any]:
    """As it is committed: another test compares it with what the service declares."""
    document: dict[str, Any] = json.loads((Path(__file__).parents[2] / "openapi.json").read_bytes())
    return document


def documented() -> Iterator[tuple[str, str]]:
    for path, operations in interface()["paths"].items():
        for method in operations:
            if method != "parameters":
                yield method.upper(), path


CLIENT = Client()


def declared(method: str, path: str) -> Endpoint[..., Any]:
    surface, _, name = OPERATIONS[method, path].partition(".")
    found = type(getattr(CLIENT, surface)).__dict__[name]
    assert isinstance(found, Endpoint)
    return found


def operation_of(method: str, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = interface()["paths"][path][method.lower()]
    return operation


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        _, kind, name = schema["$ref"].rsplit("/", 2)
        schema = interface()["components"][kind][name]
    return schema


def hints_of(operation: Endpoint[..., Any]) -> dict[str, Any]:
    """The types of parameters, those of a TypedDict that is unpacked among them."""
    hints = get_type_hints(operation.function)
    unpacked = [get_args(hint)[0] for hint in hints.values() if get_origin(hint) is Unpack]
    return hints | {name: hint for kind in unpacked for name, hint in get_type_hints(kind).items()}


def wire_parameters(operation: Endpoint[..., Any], *, is_in_query: bool) -> dict[str, bool]:
    """What is left of the signature beside path and headers, and whether it must be given."""
    return {
        name: parameter.default is parameter.empty
        for name, parameter in operation.signature.parameters.items()
        if name not in {"self", *HEADERS, *OWN, *operation.in_path} and operation.is_in_query(name) == is_in_query
    }


DOCUMENTED = sorted(documented())
SHARED = [pair for pair in DOCUMENTED if pair in OPERATIONS]


class TestEveryOperation:
    @for_each(DOCUMENTED)
    def test_has_a_method(self, method: str, path: str):
        assert (method, path) in OPERATIONS

    @for_each(SHARED)
    def test_needs_no_identity_where_the_interface_asks_for_none(self, method: str, path: str):
        asks_for_none = operation_of(method, path).get("security") == [] and path != "/metrics"  # a token of its own
        assert declared(method, path).is_public is asks_for_none

    @for_each(SHARED)
    def test_takes_the_query_that_the_interface_documents(self, method: str, path: str):
        parameters = map(resolved, operation_of(method, path).get("parameters", []))
        documented = {parameter["name"] for parameter in parameters if parameter["in"] == "query"}
        given = wire_parameters(declared(method, path), is_in_query=True)
        names = {"limit" if name == "page_size" else parameter_name(name) for name in given}
        assert names - {"cursor"} == documented - {"cursor", "excel"}  # `content` asks for a format

    @for_each(SHARED)
    def test_sends_the_body_that_the_interface_documents(self, method: str, path: str):
        content = operation_of(method, path).get("requestBody", {}).get("content", {})
        given = wire_parameters(declared(method, path), is_in_query=False)
        if "body" in given:
            assert content
            return
        if not given:
            return
        schema = resolved(content["application/json"]["schema"])
        names = {field_name(name) for name in given}
        assert names == set(schema["properties"])
        if method != "PATCH":
            mandatory = {field_name(name) for name, is_mandatory in given.items() if is_mandatory}
            assert mandatory <= set(schema.get("required", names))

    @for_each(SHARED)
    def test_has_a_literal_for_every_word_that_the_interface_lists(self, method: str, path: str):
        operation, described = declared(method, path), operation_of(method, path)
        parameters = map(resolved, described.get("parameters", []))
        listed = {parameter["name"]: _words_of_schema(parameter["schema"]) for parameter in parameters}
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        listed |= {name: _words_of_schema(schema) for name, schema in resolved(body).get("properties", {}).items()}
        hints = hints_of(operation)
        for name in wire_parameters(operation, is_in_query=True) | wire_parameters(operation, is_in_query=False):
            words = listed.get(parameter_name(name)) or listed.get(field_name(name))
            if words:
                assert _words_of_type(hints[name]) == words, name

    @for_each(SHARED)
    def test_has_inputs_with_the_fields_that_the_interface_documents(self, method: str, path: str):
        operation, described = declared(method, path), operation_of(method, path)
        schema = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        hints = hints_of(operation)
        for name in wire_parameters(operation, is_in_query=False):
            part = schema if name == "body" else resolved(schema)["properties"][field_name(name)]
            for kind in _inputs_of(hints[name]):
                assert not list(_input_differences(kind, _object_of(part), kind.__name__))

    @for_each(SHARED)
    def test_reads_the_answer_that_the_interface_documents(self, method: str, path: str):
        operation, answer = declared(method, path), _answer_schema(method, path)
        if isinstance(operation, Stream) or operation.answer_type is bytes:
            return
        if answer is None:
            assert operation.answer_type is type(None)
            return
        if isinstance(operation, Collection):
            assert resolved(answer)["type"] == "array"
            answer = resolved(answer)["items"]
        assert not list(_differences(operation.answer_type, answer, ""))


class TestEveryTypeOfEvent:
    @for_each([(name,) for name in sorted(interface()["webhooks"])])
    def test_is_read_as_the_interface_documents(self, name: str):
        content = interface()["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]
        event = read_event(json.dumps(content["example"]))
        assert type(event) is EVENTS[name]
        assert not list(_differences(type(event.data), content["schema"]["properties"]["data"], name))
        assert json.loads(msgspec.json.encode(event.data)).keys() <= content["example"]["data"].keys()


def _words_of_schema(schema: dict[str, Any]) -> set[str]:
    schema = resolved(schema)
    inner = [*schema.get("anyOf", []), *schema.get("oneOf", []), *([schema["items"]] if "items" in schema else [])]
    return {word for word in schema.get("enum", []) if word is not None} | {
        word for each in inner for word in _words_of_schema(each)
    }


def _words_of_type(hint: Any) -> set[str]:
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {word for each in get_args(hint) for word in _words_of_type(each)}


def _inputs_of(hint: Any) -> set[type[InputStruct]]:
    if isinstance(hint, type) and issubclass(hint, InputStruct):
        return {hint}
    return {kind for each in get_args(hint) for kind in _inputs_of(each)}


def _object_of(schema: dict[str, Any]) -> dict[str, Any]:
    """The object that a schema is, lists, or allows beside null."""
    schema = resolved(schema)
    if "items" in schema:
        return _object_of(schema["items"])
    for alternative in schema.get("anyOf", []):
        found = _object_of(alternative)
        if "properties" in found:
            return found
    return schema


def _input_differences(kind: type[InputStruct], schema: dict[str, Any], where: str) -> Iterator[str]:
    fields = msgspec.structs.fields(kind)
    if {field.encode_name for field in fields} != set(schema["properties"]):
        yield f"{where}: {sorted(field.encode_name for field in fields)} against {sorted(schema['properties'])}"
    if not set(schema.get("required", [])) <= {field.encode_name for field in fields if field.required}:
        yield f"{where}: more is required"
    hints = get_type_hints(kind)
    for field in fields:
        part = schema["properties"].get(field.encode_name, {})
        words = _words_of_schema(part)
        if words and "properties" not in _object_of(part) and _words_of_type(hints[field.name]) != words:
            yield f"{where}.{field.name}: other words than {sorted(words)}"
        for inner in _inputs_of(hints[field.name]):
            yield from _input_differences(inner, _object_of(part), f"{where}.{field.name}")


def _answer_schema(method: str, path: str) -> dict[str, Any] | None:
    responses = operation_of(method, path)["responses"]
    for status, response in responses.items():
        if status.startswith("2"):
            media = response.get("content", {}).get("application/json")
            return media["schema"] if media else None
    return None


def _differences(kind: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    """Where an answer that fits the schema would not fit the type."""
    schema = resolved(schema)
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if kind is Any:
        return
    if alternatives:
        for alternative in alternatives:
            yield from _differences(kind, alternative, where)
        return
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [list(_differences(option, schema, where)) for option in get_args(kind)]
        if all(options):
            yield from min(options, key=len)
        return
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _field_differences(kind, schema, where)
    elif origin is dict or kind is dict:
        if schema.get("type") != "object":
            yield f"{where}: a mapping against {schema}"
        elif isinstance(schema.get("additionalProperties"), dict) and get_args(kind):
            yield from _differences(get_args(kind)[1], schema["additionalProperties"], f"{where}/*")
    elif origin in (tuple, list, Sequence, Rows):
        if schema.get("type") != "array":
            yield f"{where}: a sequence against {schema}"
        else:
            yield from _differences(get_args(kind)[0], schema.get("items", {}), f"{where}/0")
    elif not _scalar_fits(kind, schema):
        yield f"{where}: {kind} against {schema}"


def _field_differences(kind: type[msgspec.Struct], schema: dict[str, Any], where: str) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"{where}: {kind.__name__} against {schema}"
        return
    hints = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        place = f"{where}/{field.encode_name}"
        if field.encode_name not in schema.get("properties", {}):
            if field.required:  # else another answer of the same type has it
                yield f"{place}: not in the interface"
            continue
        if field.required and field.encode_name not in schema.get("required", []):
            yield f"{place}: may be missing"
        yield from _differences(hints[field.name], schema["properties"][field.encode_name], place)


def _scalar_fits(kind: Any, schema: dict[str, Any]) -> bool:
    of = schema.get("type") or {str: "string", int: "integer", float: "number"}.get(
        type(next(iter(schema.get("enum", [0]))))
    )
    if kind is type(None):
        return of == "null"
    if kind is bool:
        return of == "boolean"
    if kind is int:
        return of == "integer"
    if kind is float:
        return of in ("number", "integer")
    if kind is Decimal:
        return of in ("number", "integer", "string")
    return kind in (str, UUID, datetime, date) and of == "string"
