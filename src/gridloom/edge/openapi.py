"""OpenAPI 3.1.0 from the declared operations, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from http import HTTPStatus
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from gridloom.edge.answers import Answer, Content, EventStream, Page, Stream
from gridloom.edge.operation import CONSOLE_COOKIE, PUBLIC, SIGNED_IN, Operation
from gridloom.edge.reply import PROBLEM_JSON
from gridloom.edge.wire import RequestBody
from gridloom.kernel import problem as problems
from gridloom.kernel.money import Euro
from gridloom.kernel.problem import Problem

INTERFACE_VERSION = "1.0.1"

_REFERENCE = "#/components/schemas/{name}"

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
                },
            },
        },
    },
}

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes a retry safe: the same key and body answer the first attempt's response for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "Apply the change only if the resource still has this ETag.",
    "schema": {"type": "string"},
}

_HEADERS: dict[str, Any] = {
    "X-Request-Id": {"description": "Names this request in the logs", "schema": {"type": "string"}},
    "RateLimit-Policy": {"description": "The limit that applies", "schema": {"type": "string"}},
    "RateLimit": {"description": "What is left of it", "schema": {"type": "string"}},
    "ETag": {"description": "This version of the resource", "schema": {"type": "string"}},
    "Link": {"description": 'The next page, rel="next"', "schema": {"type": "string"}},
    "Idempotency-Replayed": {"description": "The answer of an earlier attempt", "schema": {"const": "true"}},
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "string"}},
}


def describe(operations: Sequence[Operation], *, servers: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The whole interface as one OpenAPI document. servers: (address, description)."""
    schemas = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, schemas, refusals)
    tags = dict.fromkeys(operation.tag for operation in operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gridloom",
            "version": INTERFACE_VERSION,
            "summary": "Physical batteries woven into virtual ones.",
            "description": (
                "Power is signed: positive is export (discharging, selling), negative is import. Times are RFC 3339 "
                "and answered in UTC; every interval is half-open. Errors are application/problem+json."
            ),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url, "description": description} for url, description in servers],
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": {**dict(sorted(schemas.components.items())), "Problem": PROBLEM_SCHEMA},
            "responses": dict(sorted(refusals.items())),
            "headers": _HEADERS,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT or API key"},
                "consoleSession": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": CONSOLE_COOKIE,
                    "description": f"The console's session; in production it is named __Secure-{CONSOLE_COOKIE}.",
                },
            },
        },
        "security": [{"bearer": []}],
    }


class _Schemas:
    def __init__(self, of: dict[int, Any], components: dict[str, Any]) -> None:
        self._of = of
        self.components = components

    def __getitem__(self, type: Any) -> Any:
        return self._of[id(type)]


def _schemas(operations: Iterable[Operation]) -> _Schemas:
    """Every type that crosses the wire, each struct once."""
    wanted: dict[int, Any] = {}
    for operation in operations:
        for type in (operation.body, answered(operation), operation.query):
            if type is not None and type is not bytes:
                wanted[id(type)] = type
        for parameter in operation.path_parameters:
            wanted[id(parameter.type)] = parameter.type
    resolved = {key: _transparent(type) for key, type in wanted.items()}
    schemas, components = msgspec.json.schema_components(list(resolved.values()), ref_template=_REFERENCE)
    structs = {struct.__name__: struct for struct in _structs(resolved.values())}
    for name, component in components.items():
        _state_decimals(component, structs.get(name))
        if component.get("description", "").startswith(f"{name}("):
            del component["description"]
    return _Schemas(dict(zip(resolved, schemas, strict=True)), components)


def answered(operation: Operation) -> Any:
    """The type of the answer's JSON body; None where there is none to describe."""
    answer = operation.answers if operation.answers is not None else operation.answer
    if get_origin(answer) is Answer:
        answer = get_args(answer)[0]
    if answer in (None, type(None), Content, Stream, EventStream):
        return None
    return answer


def _transparent(type: Any) -> Any:
    """A page is a plain array on the wire."""
    return list[get_args(type)[0]] if get_origin(type) is Page else type  # type: ignore[misc]


def _structs(types: Iterable[Any]) -> Iterable[type[msgspec.Struct]]:
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
    """Euros: a number in answers; a number or its decimal text in requests, with the bounds."""
    if struct is None:
        return
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        euro = _euro(hints[field.name])
        schema = component.get("properties", {}).get(field.encode_name)
        if schema is None:
            continue
        number: dict[str, Any] = {"type": "number"}
        if euro is not None:
            number |= {"minimum": float(euro.low), "maximum": float(euro.high), "multipleOf": 0.01}
        text = {"type": "string", "pattern": r"^-?[0-9]{1,12}(\.[0-9]{1,2})?(?!\n)$"}
        _replace_decimal(schema, {"anyOf": [number, text]} if issubclass(struct, RequestBody) else number)


def _replace_decimal(schema: Any, replacement: dict[str, Any]) -> None:
    if isinstance(schema, dict):
        if schema.get("format") == "decimal":
            del schema["format"], schema["type"]
            schema.update(replacement)
        for value in schema.values():
            _replace_decimal(value, replacement)
    if isinstance(schema, list):
        for value in schema:
            _replace_decimal(value, replacement)


def _euro(hint: Any) -> Euro | None:
    if get_origin(hint) is Annotated and get_args(hint)[0] is Decimal:
        return next((mark for mark in get_args(hint)[1:] if isinstance(mark, Euro)), None)
    return next((found for found in map(_euro, get_args(hint)) if found is not None), None)


def _operation(operation: Operation, schemas: _Schemas, refusals: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": _parameters(operation, schemas),
        "responses": _responses(operation, schemas, refusals),
    }
    if operation.description:
        described["description"] = operation.description
    if operation.cookie is not None:
        described["security"] = (
            [{"consoleSession": []}] if operation.cookie == "needed" else [{}, {"consoleSession": []}]
        )
    elif operation.access == PUBLIC:
        described["security"] = []
    elif operation.access != SIGNED_IN:
        described["x-permission"] = operation.access
    if operation.deprecated is not None:
        described["deprecated"] = True
    if operation.body is not None:
        content = {media_type: _body_schema(operation, schemas, media_type) for media_type in operation.consumes}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _body_schema(operation: Operation, schemas: _Schemas, media_type: str) -> dict[str, Any]:
    if operation.takes_raw_body:
        documented = operation.body_schema if media_type in operation.body_schema_for else None
        return {"schema": documented} if documented is not None else {}
    return {"schema": schemas[operation.body]}


def _parameters(operation: Operation, schemas: _Schemas) -> list[dict[str, Any]]:
    described = [
        {"name": parameter.name, "in": "path", "required": True, "schema": schemas[parameter.type]}
        for parameter in operation.path_parameters
    ]
    if operation.query is not None:
        component = schemas.components[schemas[operation.query]["$ref"].rsplit("/", 1)[-1]]
        for name, schema in component["properties"].items():
            described.append(_query_parameter(name, schema, required=name in component.get("required", ())))
    if operation.method == "POST":
        described.append(IDEMPOTENCY_KEY)
    if operation.method in ("PUT", "PATCH", "DELETE"):
        described.append(IF_MATCH)
    return described


def _query_parameter(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    plain = dict(options[0]) if len(options) == 1 else dict(schema)
    described = {"name": name, "in": "query", "required": required, "schema": plain}
    description = plain.pop("description", None) or schema.get("description")
    if description:
        described["description"] = description
    if plain.get("type") == "array":
        plain.setdefault("minItems", 1)
        described |= {"style": "form", "explode": False}
    return described


def _responses(operation: Operation, schemas: _Schemas, refusals: dict[str, Any]) -> dict[str, Any]:
    """The answers by status; what operations refuse alike is described once, in `refusals`."""
    body = answered(operation)
    headers = ["X-Request-Id", "RateLimit-Policy", "RateLimit"]
    if get_origin(operation.answer) is Answer:
        headers.append("ETag")
    if any(get_origin(answer) is Page for answer in (operation.answer, *get_args(operation.answer))):
        headers.append("Link")
    if operation.method == "POST":
        headers.append("Idempotency-Replayed")
    success: dict[str, Any] = {
        "description": HTTPStatus(operation.status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
    }
    if body is not None or operation.answer in (Content, Stream, EventStream):
        success["content"] = {
            media_type: {"schema": schemas[body]} if media_type == "application/json" and body is not None else {}
            for media_type in operation.produces
        }
    responses: dict[str, Any] = {str(operation.status): success}
    by_status: dict[int, list[type[Problem]]] = {}
    for problem in possible_problems(operation):
        by_status.setdefault(problem.status, []).append(problem)
    for status, kinds in sorted(by_status.items()):
        responses[str(status)] = {"$ref": f"#/components/responses/{_refusal_name(kinds)}"}
        refusals[_refusal_name(kinds)] = {
            "description": "; ".join(f"[{kind.title}]({kind.type})" for kind in kinds),
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            "headers": {"X-Request-Id": {"$ref": "#/components/headers/X-Request-Id"}},
        }
    return responses


def _refusal_name(kinds: Sequence[type[Problem]]) -> str:
    return "Or".join(kind.__name__ for kind in kinds)


def possible_problems(operation: Operation) -> list[type[Problem]]:
    """What an operation can refuse with: what it declares, and what its shape implies."""
    implied: list[type[Problem]] = [problems.BadRequest, problems.NotAcceptable, problems.TooManyRequests]
    implied += [problems.InternalError, problems.Unavailable]
    if operation.access != PUBLIC:
        implied += [problems.Unauthenticated, problems.Forbidden]
    if operation.path_parameters or operation.query is not None:
        implied.append(problems.NotFound)
    if operation.body is not None:
        implied += [problems.PayloadTooLarge, problems.UnsupportedMediaType]
    if operation.method == "POST":
        implied += [problems.IdempotencyInProgress, problems.IdempotencyKeyReused]
    if operation.method in ("PUT", "PATCH", "DELETE"):
        implied.append(problems.PreconditionFailed)
    return list(dict.fromkeys([*implied, *operation.problems]))
