"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service.

What the package offers is imported when it is first asked for, so that a command that needs little starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom_client.calls import Answer, AwaitedItems, Items
    from gridloom_client.client import AsyncClient, Client
    from gridloom_client.errors import (
        AnswerError,
        BadRequestError,
        ConflictError,
        CredentialsError,
        FieldError,
        ForbiddenError,
        GridloomError,
        NotFoundError,
        PayloadTooLargeError,
        PreconditionFailedError,
        PreconditionRequiredError,
        ProblemError,
        ServiceError,
        TooManyRequestsError,
        TransportError,
        UnauthenticatedError,
        UnavailableError,
        UnprocessableError,
    )
    from gridloom_client.frames import MissingLibrary, Rows, Table, Tabular
    from gridloom_client.retries import NEVER, Retries
    from gridloom_client.sse import ServerSentEvent
    from gridloom_client.tokens import Memory, Tokens, TokenStore
    from gridloom_client.wire import ARROW, CSV, JSON, KEEP, NDJSON, PARQUET, Reply, Request

_PLACES = {
    "ARROW": "gridloom_client.wire",
    "Answer": "gridloom_client.calls",
    "AnswerError": "gridloom_client.errors",
    "AsyncClient": "gridloom_client.client",
    "AwaitedItems": "gridloom_client.calls",
    "BadRequestError": "gridloom_client.errors",
    "CSV": "gridloom_client.wire",
    "Client": "gridloom_client.client",
    "ConflictError": "gridloom_client.errors",
    "CredentialsError": "gridloom_client.errors",
    "FieldError": "gridloom_client.errors",
    "ForbiddenError": "gridloom_client.errors",
    "GridloomError": "gridloom_client.errors",
    "Items": "gridloom_client.calls",
    "JSON": "gridloom_client.wire",
    "KEEP": "gridloom_client.wire",
    "Memory": "gridloom_client.tokens",
    "MissingLibrary": "gridloom_client.frames",
    "NDJSON": "gridloom_client.wire",
    "NEVER": "gridloom_client.retries",
    "NotFoundError": "gridloom_client.errors",
    "PARQUET": "gridloom_client.wire",
    "PayloadTooLargeError": "gridloom_client.errors",
    "PreconditionFailedError": "gridloom_client.errors",
    "PreconditionRequiredError": "gridloom_client.errors",
    "ProblemError": "gridloom_client.errors",
    "Reply": "gridloom_client.wire",
    "Request": "gridloom_client.wire",
    "Retries": "gridloom_client.retries",
    "Rows": "gridloom_client.frames",
    "ServerSentEvent": "gridloom_client.sse",
    "ServiceError": "gridloom_client.errors",
    "Table": "gridloom_client.frames",
    "Tabular": "gridloom_client.frames",
    "TokenStore": "gridloom_client.tokens",
    "Tokens": "gridloom_client.tokens",
    "TooManyRequestsError": "gridloom_client.errors",
    "TransportError": "gridloom_client.errors",
    "UnauthenticatedError": "gridloom_client.errors",
    "UnavailableError": "gridloom_client.errors",
    "UnprocessableError": "gridloom_client.errors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("gridloom")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


__all__ = [
    "ARROW",
    "CSV",
    "JSON",
    "KEEP",
    "NDJSON",
    "NEVER",
    "PARQUET",
    "Answer",
    "AnswerError",
    "AsyncClient",
    "AwaitedItems",
    "BadRequestError",
    "Client",
    "ConflictError",
    "CredentialsError",
    "FieldError",
    "ForbiddenError",
    "GridloomError",
    "Items",
    "Memory",
    "MissingLibrary",
    "NotFoundError",
    "PayloadTooLargeError",
    "PreconditionFailedError",
    "PreconditionRequiredError",
    "ProblemError",
    "Reply",
    "Request",
    "Retries",
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
]
