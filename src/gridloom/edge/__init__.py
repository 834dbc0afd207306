"""From an HTTP request to a handler and back, in four stages: admit, decode, run, answer."""

from gridloom.edge.caller import Caller
from gridloom.edge.fields import Instant, Name, QueryParameters, RequestBody, ResponseBody, Text, pattern_meta, to_json
from gridloom.edge.operation import (
    BULK,
    CONSOLE_SESSION,
    CONSOLE_SIGN_IN,
    ENROLLING,
    PROBE,
    PUBLIC,
    SIGNED_IN,
    BodyFormat,
    Operation,
    operation,
    operations_of,
)
from gridloom.edge.paging import PagedWindow, Paging, encode_cursor
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
