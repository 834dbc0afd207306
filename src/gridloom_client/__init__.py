"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service."""

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
from gridloom_client.server_sent import ServerSentEvent
from gridloom_client.tokens import Memory, Tokens, TokenStore
from gridloom_client.wire import ARROW, CSV, JSON, KEEP, NDJSON, PARQUET, Reply, Request


def __getattr__(name: str) -> str:
    if name == "__version__":  # looked up when asked for: it reads the installed package's metadata
        from importlib.metadata import version

        return version("gridloom")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
