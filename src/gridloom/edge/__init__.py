"""What all routes share: declared operations, wire types, problems, paging, safe retries, limits, OpenAPI."""

from gridloom.edge.answers import (
    ARROW,
    CSV,
    EVENT_STREAM,
    HTML,
    JSON,
    NDJSON,
    PARQUET,
    XML,
    Answer,
    Content,
    EventStream,
    Page,
    Stream,
)
from gridloom.edge.call import Call, Resources
from gridloom.edge.caller import Caller
from gridloom.edge.operation import (
    BULK_BODY_LIMIT,
    PUBLIC,
    SIGNED_IN,
    Operation,
    operation,
    operations_of,
)
from gridloom.edge.paging import Paging, encode_cursor
from gridloom.edge.wire import Instant, Name, QueryParameters, RequestBody, Text, View, to_json

__all__ = [
    "ARROW",
    "BULK_BODY_LIMIT",
    "CSV",
    "EVENT_STREAM",
    "HTML",
    "JSON",
    "NDJSON",
    "PARQUET",
    "PUBLIC",
    "SIGNED_IN",
    "XML",
    "Answer",
    "Call",
    "Caller",
    "Content",
    "EventStream",
    "Instant",
    "Name",
    "Operation",
    "Page",
    "Paging",
    "QueryParameters",
    "RequestBody",
    "Resources",
    "Stream",
    "Text",
    "View",
    "encode_cursor",
    "operation",
    "operations_of",
    "to_json",
]
