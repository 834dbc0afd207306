"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service.

What the package offers is imported when it is first asked for, so that a command that needs little starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridloom_client.calls import AsyncItemIterator, ItemIterator, Response
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
    from gridloom_client.retries import NEVER, RetryPolicy
    from gridloom_client.sse import ServerSentEvent
    from gridloom_client.tokens import InMemoryTokenStore, Tokens, TokenStore
    from gridloom_client.wire import ARROW, CSV, JSON, NDJSON, PARQUET, UNSET, RawResponse, Request

_MODULES = {
    "ARROW": "gridloom_client.wire",
    "AsyncClient": "gridloom_client.client",
    "AsyncItemIterator": "gridloom_client.calls",
    "BadRequestError": "gridloom_client.errors",
    "CSV": "gridloom_client.wire",
    "Client": "gridloom_client.client",
    "ConflictError": "gridloom_client.errors",
    "CredentialsError": "gridloom_client.errors",
    "FieldError": "gridloom_client.errors",
    "ForbiddenError": "gridloom_client.errors",
    "GridloomError": "gridloom_client.errors",
    "InMemoryTokenStore": "gridloom_client.tokens",
    "ItemIterator": "gridloom_client.calls",
    "JSON": "gridloom_client.wire",
    "MissingLibrary": "gridloom_client.frames",
    "NDJSON": "gridloom_client.wire",
    "NEVER": "gridloom_client.retries",
    "NotFoundError": "gridloom_client.errors",
    "PARQUET": "gridloom_client.wire",
    "PayloadTooLargeError": "gridloom_client.errors",
    "PreconditionFailedError": "gridloom_client.errors",
    "PreconditionRequiredError": "gridloom_client.errors",
    "ProblemError": "gridloom_client.errors",
    "RawResponse": "gridloom_client.wire",
    "Request": "gridloom_client.wire",
    "Response": "gridloom_client.calls",
    "ResponseError": "gridloom_client.errors",
    "RetryPolicy": "gridloom_client.retries",
    "Rows": "gridloom_client.frames",
    "ServerSentEvent": "gridloom_client.sse",
    "ServiceError": "gridloom_client.errors",
    "Table": "gridloom_client.frames",
    "Tabular": "gridloom_client.frames",
    "TokenStore": "gridloom_client.tokens",
    "Tokens": "gridloom_client.tokens",
    "TooManyRequestsError": "gridloom_client.errors",
    "TransportError": "gridloom_client.errors",
    "UNSET": "gridloom_client.wire",
    "UnauthenticatedError": "gridloom_client.errors",
    "UnavailableError": "gridloom_client.errors",
    "UnprocessableError": "gridloom_client.errors",
}
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
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


__all__ = [
    "ARROW",
    "CSV",
    "JSON",
    "NDJSON",
    "NEVER",
    "PARQUET",
    "UNSET",
    "AsyncClient",
    "AsyncItemIterator",
    "BadRequestError",
    "Client",
    "ConflictError",
    "CredentialsError",
    "FieldError",
    "ForbiddenError",
    "GridloomError",
    "InMemoryTokenStore",
    "ItemIterator",
    "MissingLibrary",
    "NotFoundError",
    "PayloadTooLargeError",
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
]
