"""From an HTTP request to a handler and back, in four stages: admit, decode, run, answer."""

from gridloom.platform.http.caller import Caller
from gridloom.platform.http.fields import (
    Instant,
    Name,
    QueryParameters,
    RequestBody,
    ResponseBody,
    Text,
    given_fields,
    pattern_meta,
    to_json,
)
from gridloom.platform.http.figures import FigureView, figures_in
from gridloom.platform.http.operation import (
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
from gridloom.platform.http.paging import PagedWindow, Paging, encode_cursor
from gridloom.platform.http.request import AppState, Request
from gridloom.platform.http.responses import (
    ARROW,
    CLOUD_EVENTS,
    CSV,
    EVENT_STREAM,
    EXCEL_CSV,
    HTML,
    JSON,
    NDJSON,
    PARQUET,
    XLSX,
    XML,
    Content,
    EventStream,
    Page,
    Response,
    Stream,
    plain_type,
)
