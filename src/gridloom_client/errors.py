"""One tree of errors: whatever goes wrong with a call is a GridloomError.

GridloomError
├── TransportError                  no answer: not reached, or the connection was lost
├── ResponseError                     an answer that is not what the contract says
├── CredentialsError                nothing to sign in with, or no longer
├── PointsRefusedError              some points of telemetry were refused, the others are stored
└── ProblemError                    the service answered with a problem
    ├── BadRequestError 400         ├── PreconditionFailedError 412     ├── UnprocessableError 422
    ├── UnauthenticatedError 401    ├── PayloadTooLargeError 413        ├── PreconditionRequiredError 428
    ├── ForbiddenError 403          └── ConflictError 409               ├── TooManyRequestsError 429
    ├── NotFoundError 404                                               └── ServiceError 5xx
    │                                                                       └── UnavailableError 503
"""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import msgspec

from gridloom_client.wire import RawResponse


class GridloomError(Exception):
    """Anything that keeps a call from succeeding; its text is one sentence for a person.

    `method` is the SDK's method that was called, such as `auctions.bid`; a traceback names it too.
    """

    method: str | None = None

    def name_method(self, name: str, method: str, path: str) -> None:
        if self.method is None:
            self.method = name
            self.add_note(f"In {name}: {method} {path}")


class TransportError(GridloomError):
    """No answer arrived. `is_sent` says whether the service may have received the request."""

    def __init__(self, message: str, *, is_sent: bool) -> None:
        super().__init__(message)
        self.is_sent = is_sent


class ResponseError(GridloomError):
    """The answer cannot be read, for instance since it comes from a proxy or a newer service."""


class CredentialsError(GridloomError):
    """There is nothing to sign in with."""


class PointsRefusedError(GridloomError):
    """Some points were refused and the others are stored; `written` counts both. `partial=True` allows it."""

    def __init__(self, written: Any) -> None:
        self.written = written
        reasons = "; ".join(f"{one.count} since {one.detail}" for one in written.refusals)
        super().__init__(f"{written.refused} of {written.received} points were refused: {reasons}.")


class FieldError(msgspec.Struct, frozen=True):
    """One field at fault: a JSON pointer or a parameter's name, and what is wrong with it."""

    pointer: str = ""
    detail: str = ""


class ProblemError(GridloomError):
    """The service refused, and says why in RFC 9457's terms."""

    _by_status: ClassVar[dict[int, type[ProblemError]]] = {}

    def __init_subclass__(cls, status: int = 0) -> None:
        super().__init_subclass__()
        if status:
            ProblemError._by_status[status] = cls

    def __init__(self, reply: RawResponse) -> None:
        document = _read_document(reply)
        self.status = reply.status
        self.type: str = document.get("type") or "about:blank"
        self.title: str = document.get("title") or f"Status {reply.status}"
        self.detail: str = document.get("detail") or ""
        self.instance: str | None = document.get("instance")
        self.request_id: str | None = document.get("requestId") or reply.headers.get("x-request-id")
        self.errors = tuple(_read_field_errors(document.get("errors")))
        self.members = document
        self.retry_after_s = reply.retry_after_s
        super().__init__(self.sentence)

    @property
    def name(self) -> str:
        """The last word of the type, such as `gate-closed`: what to branch on."""
        return self.type.rstrip("/").rpartition("/")[2]

    @property
    def faults(self) -> list[str]:
        """Each field at fault with what is wrong with it, and the choices where there are some."""
        return [f"{error.pointer}: {error.detail}" if error.pointer else error.detail for error in self.errors]

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        sentence = self.detail or f"{self.title}."
        more = [fault for fault, error in zip(self.faults, self.errors, strict=True) if error.detail not in sentence]
        return f"{sentence} ({'; '.join(more)})" if more else sentence

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, and every field at fault."""
        faults = "".join(f"<li><code>{escape(e.pointer)}</code> {escape(e.detail)}</li>" for e in self.errors)
        listed = f"<ul>{faults}</ul>" if faults else ""
        return f"<p><b>{self.status} {escape(self.title)}</b><br>{escape(self.detail)}</p>{listed}"

    @staticmethod
    def of(reply: RawResponse) -> ProblemError:
        """The error of the most specific class for an answer."""
        fallback = ServiceError if reply.status >= 500 else ProblemError
        return ProblemError._by_status.get(reply.status, fallback)(reply)


def _read_document(reply: RawResponse) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(reply.content)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}


def _read_field_errors(errors: object) -> list[FieldError]:
    try:
        return msgspec.convert(errors or [], list[FieldError])
    except msgspec.ValidationError:
        return []


class BadRequestError(ProblemError, status=400):
    """The request is malformed; `errors` names the fields."""


class UnauthenticatedError(ProblemError, status=401):
    """The credentials or the token were not accepted."""


class ForbiddenError(ProblemError, status=403):
    """Permission denied."""


class NotFoundError(ProblemError, status=404):
    """Not found."""


class ConflictError(ProblemError, status=409):
    """The request conflicts with the present state."""


class PreconditionFailedError(ProblemError, status=412):
    """The resource has changed since its ETag was read."""


class PayloadTooLargeError(ProblemError, status=413):
    """The body is too large."""


class UnprocessableError(ProblemError, status=422):
    """The request violates a rule of the domain; `name` says which."""


class PreconditionRequiredError(ProblemError, status=428):
    """The operation needs `if_match`."""


class TooManyRequestsError(ProblemError, status=429):
    """Throttled; `retry_after_s` says for how long."""


class ServiceError(ProblemError):
    """Internal error."""


class UnavailableError(ServiceError, status=503):
    """Service unavailable."""
