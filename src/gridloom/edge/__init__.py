"""What all routes share: declared operations, wire types, problems, paging, safe retries, limits, OpenAPI."""

from gridloom.edge.caller import Caller
from gridloom.edge.fields import Instant, Name, QueryParameters, RequestBody, ResponseBody, Text, to_json
from gridloom.edge.operation import (
    BULK_BODY_LIMIT,
    PUBLIC,
    SIGNED_IN,
    Operation,
    operation,
    operations_of,
)
from gridloom.edge.paging import Paging, encode_cursor
from gridloom.edge.request import AppState, Request
from gridloom.edge.responses import (
    ARROW,
    CSV,
    EVENT_STREAM,
    HTML,
    JSON,
    NDJSON,
    PARQUET,
    XML,
    Content,
    EventStream,
    Page,
    Response,
    Stream,
)

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
    "AppState",
    "Caller",
    "Content",
    "EventStream",
    "Instant",
    "Name",
    "Operation",
    "Page",
    "Paging",
    "QueryParameters",
    "Request",
    "RequestBody",
    "Response",
    "ResponseBody",
    "Stream",
    "Text",
    "encode_cursor",
    "operation",
    "operations_of",
    "to_json",
]
