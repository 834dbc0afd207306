"""Parameters of the path, the query and the headers: what several operations share is among the components."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from gridloom.platform.http.decode.parameters import EXCEL, FIRST_MILLISECOND, LAST_MILLISECOND
from gridloom.platform.http.openapi.schemas import Schemas
from gridloom.platform.http.openapi.vocabulary import Vocabulary
from gridloom.platform.http.operation import Operation
from gridloom.platform.http.responses import CSV

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes a retry safe: the same key and body answer the first attempt's response for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
EXCEL_PARAMETER = {
    "name": EXCEL,
    "in": "query",
    "required": False,
    "description": "Answer CSV for Excel: a byte order mark, semicolons between cells, decimal commas.",
    "schema": {"type": "boolean", "default": False},
}
MILLISECONDS = {
    "type": "integer",
    "description": "Milliseconds since 1970 in UTC",
    "minimum": FIRST_MILLISECOND,
    "exclusiveMaximum": LAST_MILLISECOND,
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "Apply the change only if the resource still has this ETag.",
    "schema": {"type": "string"},
}


def describe_parameters(operation: Operation, schemas: Schemas, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    described = [
        {"name": parameter.name, "in": "path", "required": True, "schema": schemas[parameter.type]}
        for parameter in operation.path_parameters
    ]
    owner = ""
    if operation.query is not None:
        owner = operation.query.__name__
        component = schemas.components[schemas[operation.query]["$ref"].rsplit("/", 1)[-1]]
        for name, schema in component["properties"].items():
            described.append(_describe_query_parameter(name, schema, required=name in component.get("required", ())))
    for parameter in described:
        term = vocabulary.find(parameter["name"], owner if parameter["in"] == "query" else "")
        if term is not None:
            parameter["description"] = term.description
    if CSV in operation.produces:
        described.append(EXCEL_PARAMETER)
    if operation.method == "POST":
        described.append(IDEMPOTENCY_KEY)
    if operation.method in ("PUT", "PATCH", "DELETE"):
        described.append(IF_MATCH)
    return described


def _describe_query_parameter(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    options = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    plain = dict(options[0]) if len(options) == 1 else dict(schema)
    if plain.get("format") == "date-time":
        plain = {"anyOf": [plain, MILLISECONDS]}
    described = {"name": name, "in": "query", "required": required, "schema": plain}
    if plain.get("type") == "array":
        plain.setdefault("minItems", 1)
        described |= {"style": "form", "explode": False}
    return described


def share_parameters(document: dict[str, Any]) -> None:
    """Move each parameter that several operations declare alike among the components, under its own name."""
    operations = [(path, operation) for path, item in document["paths"].items() for operation in item.values()]
    uses = Counter(_key_of(parameter) for _, operation in operations for parameter in operation["parameters"])
    names: dict[str, str] = {}
    shared: dict[str, Any] = {}
    for key, count in uses.most_common():
        parameter = json.loads(key)
        if count > 1:
            names[key] = _find_free_name(parameter, shared)
            shared[names[key]] = parameter
    for _, operation in operations:
        operation["parameters"] = [
            {"$ref": f"#/components/parameters/{names[key]}"} if (key := _key_of(parameter)) in names else parameter
            for parameter in operation["parameters"]
        ]
    document["components"]["parameters"] = dict(sorted(shared.items()))


def _key_of(parameter: dict[str, Any]) -> str:
    return json.dumps(parameter, sort_keys=True)


def _find_free_name(parameter: dict[str, Any], taken: dict[str, Any]) -> str:
    """`asOf` for `as-of`; what the most operations mean by a name has it, others also say what they are of."""
    first, *rest = parameter["name"].split("-")
    name = "".join([first, *(word.capitalize() for word in rest)])
    candidates = [name, f"{name}In{parameter['in'].capitalize()}", *(f"{name}{number}" for number in range(2, 20))]
    return next(candidate for candidate in candidates if candidate not in taken)
