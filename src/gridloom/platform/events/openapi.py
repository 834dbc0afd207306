"""Events in OpenAPI besides the operations: the header that resumes a stream, and what webhooks are sent."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from gridloom.platform.events.types import EVENT_TYPES, EventType
from gridloom.platform.http.openapi.schemas import REFERENCE, complete_components

LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The `id` of the last event that was read; the stream goes on after it. 0 for all that are kept.",
    "schema": {"type": "string", "pattern": r"^[0-9]{1,18}(?!\n)$", "examples": ["0"]},
}

_SIGNED = [
    {"name": name, "in": "header", "required": True, "description": description, "schema": {"type": "string"}}
    for name, description in (
        ("webhook-id", "The event's id: the same in every attempt, by which a receiver recognises a repeated call"),
        ("webhook-timestamp", "When the call was signed, in seconds since 1970"),
        ("webhook-signature", "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in Base64; two during a rotation"),
    )
]


def add_events(document: dict[str, Any]) -> None:
    """Complete an OpenAPI document."""
    document["paths"]["/events"]["get"].setdefault("parameters", []).append(LAST_EVENT_ID)
    kinds = list(EVENT_TYPES.values())
    types = [kind.data for kind in kinds]
    _, schemas = msgspec.json.schema_components(types, ref_template=REFERENCE)
    complete_components(schemas, types)
    document["components"]["schemas"] = dict(sorted({**document["components"]["schemas"], **schemas}.items()))
    document["webhooks"] = {kind.name: {"post": _describe_call(kind)} for kind in kinds}


def _describe_call(kind: EventType) -> dict[str, Any]:
    event = {
        "title": "Event",
        "type": "object",
        "required": ["id", "type", "time", "organisationID", "subject", "data"],
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "type": {"const": kind.name},
            "time": {"type": "string", "format": "date-time"},
            "organisationID": {"type": "string", "format": "uuid"},
            "subject": {"type": "string"},
            "data": {"$ref": REFERENCE.format(name=kind.data.__name__)},
        },
    }
    return {
        "operationId": "receive" + "".join(word.capitalize() for word in re.split(r"[.-]", kind.name)),
        "summary": kind.name,
        "description": kind.description,
        "tags": ["Events"],
        "parameters": _SIGNED,
        "requestBody": {"required": True, "content": {"application/json": {"schema": event}}},
        "responses": {"2XX": {"description": "Taken; anything else is tried again for three days."}},
    }
