"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service.

What the package offers is imported when it is first asked for, so that a command that needs little starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom_client.calls import AsyncItemIterator, AsyncPage, ItemIterator, Page, Response
    from gridloom_client.client import AsyncClient, Client
    from gridloom_client.errors import (
        BadRequestError,
        ConflictError,
        CredentialsError,
        FieldError,
        ForbiddenError,
        GridloomError,
        NotFoundError,
        PayloadTooLargeError,
        PointsRefusedError,
        PreconditionFailedError,
        PreconditionRequiredError,
        ProblemError,
        ResponseError,
        ServiceError,
        TooManyRequestsError,
        TransportError,
        UnauthenticatedError,
        UnavailableError,
        UnprocessableError,
    )
    from gridloom_client.frames import MissingLibrary, Rows, Table, Tabular
    from gridloom_client.response_types import Event
    from gridloom_client.retries import NEVER, RetryPolicy
    from gridloom_client.sse import ServerSentEvent
    from gridloom_client.streams import read_event
    from gridloom_client.tokens import InMemoryTokenStore, Tokens, TokenStore
    from gridloom_client.wire import ARROW, CSV, EXCEL_CSV, JSON, NDJSON, PARQUET, UNSET, XLSX, RawResponse, Request

_MODULES = {
    name: module
    for module, names in (
        ("calls", ("AsyncItemIterator", "AsyncPage", "ItemIterator", "Page", "Response")),
        ("client", ("AsyncClient", "Client")),
        ("frames", ("MissingLibrary", "Rows", "Table", "Tabular")),
        ("response_types", ("Event",)),
        ("retries", ("NEVER", "RetryPolicy")),
        ("sse", ("ServerSentEvent",)),
        ("streams", ("read_event",)),
        ("tokens", ("InMemoryTokenStore", "TokenStore", "Tokens")),
        ("wire", ("ARROW", "CSV", "EXCEL_CSV", "JSON", "NDJSON", "PARQUET", "UNSET", "XLSX", "RawResponse", "Request")),
    )
    for name in names
}
"""Where a name is defined; all others are errors."""
_FORMER_NAMES = {
    "Answer": "Response",
    "AnswerError": "ResponseError",
    "AwaitedItems": "AsyncItemIterator",
    "Items": "ItemIterator",
    "KEEP": "UNSET",
    "Memory": "InMemoryTokenStore",
    "Reply": "RawResponse",
    "Retries": "RetryPolicy",
}
"""Names of 0.2, for one release."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gridloom")
    if name in _FORMER_NAMES:
        import warnings

        warnings.warn(f"gridloom_client.{name} is now {_FORMER_NAMES[name]}.", DeprecationWarning, stacklevel=2)
        name = _FORMER_NAMES[name]
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


__all__ = [
    "ARROW",
    "CSV",
    "EXCEL_CSV",
    "JSON",
    "NDJSON",
    "NEVER",
    "PARQUET",
    "UNSET",
    "XLSX",
    "AsyncClient",
    "AsyncItemIterator",
    "AsyncPage",
    "BadRequestError",
    "Client",
    "ConflictError",
    "CredentialsError",
    "Event",
    "FieldError",
    "ForbiddenError",
    "GridloomError",
    "InMemoryTokenStore",
    "ItemIterator",
    "MissingLibrary",
    "NotFoundError",
    "Page",
    "PayloadTooLargeError",
    "PointsRefusedError",
    "PreconditionFailedError",
    "PreconditionRequiredError",
    "ProblemError",
    "RawResponse",
    "Request",
    "Response",
    "ResponseError",
    "RetryPolicy",
    "Rows",
    "ServerSentEvent",
    "ServiceError",
    "Table",
    "Tabular",
    "TokenStore",
    "Tokens",
    "TooManyRequestsError",
    "TransportError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnprocessableError",
    "read_event",
]
