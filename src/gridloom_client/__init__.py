"""The Gridloom client: the SDK and the commands of its users. Imports nothing of the service."""

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
from gridloom_client.operations import Answer
from gridloom_client.retries import NEVER, Retries
from gridloom_client.server_sent import ServerSentEvent
from gridloom_client.tokens import Memory, Tokens, TokenStore
from gridloom_client.wire import ARROW, CSV, JSON, KEEP, NDJSON, PARQUET, Reply, Request

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
    "BadRequestError",
    "Client",
    "ConflictError",
    "CredentialsError",
    "FieldError",
    "ForbiddenError",
    "GridloomError",
    "Memory",
    "NotFoundError",
    "PayloadTooLargeError",
    "PreconditionFailedError",
    "PreconditionRequiredError",
    "ProblemError",
    "Reply",
    "Request",
    "Retries",
    "ServerSentEvent",
    "ServiceError",
    "TokenStore",
    "Tokens",
    "TooManyRequestsError",
    "TransportError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnprocessableError",
]
