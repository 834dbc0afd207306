"""OpenAPI 3.1.0 from the declared operations, and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridloom.platform.http.openapi.parameters import describe_parameters
from gridloom.platform.http.openapi.responses import HEADERS, describe_responses
from gridloom.platform.http.openapi.schemas import PROBLEM_SCHEMA, Schemas, make_schemas
from gridloom.platform.http.openapi.vocabulary import Vocabulary
from gridloom.platform.http.operation import CONSOLE_COOKIE, Operation
from gridloom.platform.http.responses import JSON

INTERFACE_VERSION = "1.0.1"


def describe(
    operations: Sequence[Operation], vocabulary: Vocabulary, *, servers: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """The whole interface as one OpenAPI document. servers: (address, description)."""
    schemas = make_schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    refusals: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe_operation(
            operation, schemas, refusals, vocabulary
        )
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
            "headers": HEADERS,
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


def _describe_operation(
    operation: Operation, schemas: Schemas, refusals: dict[str, Any], vocabulary: Vocabulary
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": describe_parameters(operation, schemas, vocabulary),
        "responses": describe_responses(operation, schemas, refusals),
    }
    if operation.description:
        described["description"] = operation.description
    access = operation.access
    if access.cookie is not None:
        described["security"] = [{"consoleSession": []}] if access.cookie == "needed" else [{}, {"consoleSession": []}]
    elif access.is_public:
        described["security"] = []
    elif access.permission is not None:
        described["x-permission"] = access.permission
    if operation.deprecation is not None:
        described["deprecated"] = True
    if operation.body is not None:
        media_types = operation.body_format.media_types
        content = {media_type: _describe_body(operation, schemas, media_type) for media_type in media_types}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _describe_body(operation: Operation, schemas: Schemas, media_type: str) -> dict[str, Any]:
    if operation.body is bytes:
        if operation.body_format.schema is not None and media_type == JSON:
            return {"schema": operation.body_format.schema}
        is_text = media_type.startswith("text/") or media_type.endswith("json")
        return {"schema": {"type": "string"} if is_text else {"type": "string", "format": "binary"}}
    return {"schema": schemas[operation.body]}
