"""Refusals: what a rule raises and the caller receives as problem+json (RFC 9457).

A subclass is named after what happened and is defined above the rule it protects. Its docstring is the page that its
`type` points to; its status and title are the same for every occurrence, and the numbers go into the detail.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from gridloom.kernel.figures import Figure, figures_of

DOCUMENTATION_ROOT: Final = "/docs/problems/"
MAX_TEXT: Final = 4000
"""Characters of a sentence: what a request holds is quoted in some, however long it is."""
_STANDARD_MEMBERS = frozenset({"type", "title", "status", "detail", "figures", "instance", "requestId", "errors"})


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field at fault: a JSON pointer into the body (`/item/start`), or a parameter's name (`product-keys`)."""

    pointer: str
    detail: str
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", self.figures or figures_of(self.detail))
        object.__setattr__(self, "detail", str(self.detail))


def _shorten_text(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _figures_member(figures: Sequence[Figure]) -> dict[str, object]:
    """The quantities of a text as fields, where it has any."""
    listed = [{"text": one.text, "value": one.value, "unit": one.unit} for one in figures]
    return {"figures": listed} if listed else {}


_known: dict[str, type[Problem]] = {}


class Problem(Exception):
    """Something the service refuses, with the reason."""

    status: ClassVar[int]
    title: ClassVar[str]
    type: ClassVar[str]

    def __init_subclass__(cls, *, status: int | None = None, title: str | None = None) -> None:
        """A subclass without a status or a title has that of its base."""
        super().__init_subclass__()
        if status is not None:
            cls.status = status
        if title is not None:
            cls.title = title
        assert hasattr(cls, "status"), f"{cls.__name__} has no status"
        assert hasattr(cls, "title"), f"{cls.__name__} has no title"
        cls.type = DOCUMENTATION_ROOT + _kebab_case(cls.__name__)
        namesake = _known.get(cls.type)
        assert namesake is None or namesake.__module__ == cls.__module__, f"{cls} and {namesake} share a type"
        _known[cls.type] = cls

    def __init__(self, detail: str = "", errors: Sequence[FieldError] = (), **members: object) -> None:
        """`members` are further fields of the answer, under their names on the wire."""
        super().__init__(detail)
        assert not members.keys() & _STANDARD_MEMBERS, "a standard member cannot be given twice"
        self.detail = str(detail)
        self.figures = figures_of(detail)
        self.errors = tuple(errors)
        self.members = members

    @classmethod
    def at(cls, pointer: str, detail: str, error: str | None = None) -> Self:
        """With one field at fault; `error` is what is said of the field, where that is not the whole detail."""
        return cls(detail, [FieldError(pointer, detail if error is None else error)])

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to the answer, such as `Retry-After`."""
        return {}

    def document(self, instance: str | None = None, request_id: str | None = None) -> dict[str, object]:
        """The body of the answer; what is unknown or empty is left out."""
        body: dict[str, object] = {"type": self.type, "title": self.title, "status": self.status}
        if self.detail:
            body |= {"detail": _shorten_text(self.detail)} | _figures_member(self.figures)
        if instance is not None:
            body["instance"] = instance
        if request_id is not None:
            body["requestId"] = request_id
        if self.errors:
            body["errors"] = [
                {"pointer": error.pointer, "detail": _shorten_text(error.detail)} | _figures_member(error.figures)
                for error in self.errors
            ]
        return body | self.members

    @classmethod
    def documentation(cls) -> str:
        return inspect.cleandoc(cls.__doc__ or "")


def known_problems() -> Iterator[type[Problem]]:
    """Every problem type of the modules imported so far, by status, then by type."""
    yield from sorted(_known.values(), key=lambda problem: (problem.status, problem.type))


def _kebab_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


class BadRequest(Problem, status=400, title="The request is malformed"):
    """The request cannot be read: a field or parameter is missing, unknown, of the wrong type or out of range.

    `errors` names each one by its pointer. Sending the same request again fails again.
    """


class Unauthenticated(Problem, status=401, title="A valid token is needed"):
    """The path needs a Bearer token, and the request has none, or one that is malformed, expired or revoked.

    Obtain a token with `POST /auth/public/authenticate`, or renew it with `POST /auth/public/refresh`.
    """

    @property
    def headers(self) -> dict[str, str]:
        return {"WWW-Authenticate": "Bearer"}


class Forbidden(Problem, status=403, title="Permission denied"):
    """The resource exists, but the caller lacks the permission for this operation on it.

    An asset's owner can give another organisation a grant; an administrator can change a member's role.
    """


class NotFound(Problem, status=404, title="Not found"):
    """Nothing has this path or this identifier."""


class MethodNotAllowed(Problem, status=405, title="Method not allowed"):
    """The path exists but does not answer this method. `Allow` lists those that it does."""

    def __init__(self, detail: str = "", allow: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.allow = tuple(allow)

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": ", ".join(self.allow)}


class NotAcceptable(Problem, status=406, title="No acceptable media type"):
    """None of the media types in `Accept` is one that the operation can answer."""


class Conflict(Problem, status=409, title="The request conflicts with the present state"):
    """The request contradicts the present state of the resource. Read it again, then decide."""


class IdempotencyInProgress(Problem, status=409, title="The first request with this key is still running"):
    """The first request with this `Idempotency-Key` is still running. Wait a moment and send the same request again."""

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": "1"}


class PreconditionFailed(Problem, status=412, title="The resource has changed"):
    """The resource has changed since the `ETag` in `If-Match` was given out.

    Read it again, apply the change to what it is now, and send that with the new tag.
    """


class PayloadTooLarge(Problem, status=413, title="The body is too large"):
    """The body is larger than the operation takes. Send it in several requests."""


class UnsupportedMediaType(Problem, status=415, title="The media type is not supported"):
    """The body's `Content-Type` or `Content-Encoding` is not one that the operation reads."""


class Unprocessable(Problem, status=422, title="The request violates a rule"):
    """The request is well-formed but breaks a rule of the domain. Most rules have a problem type of their own."""


class IdempotencyKeyReused(Problem, status=422, title="The key belongs to another request"):
    """This `Idempotency-Key` was used within the last 24 hours for a request with another body. Use a new key."""


class PreconditionRequired(Problem, status=428, title="If-Match is required"):
    """The operation needs `If-Match` with the resource's `ETag`, so that no change is overwritten unseen."""


class TooManyRequests(Problem, status=429, title="Too many requests"):
    """The caller has used up its share for now. `Retry-After` says in how many seconds to try again."""

    def __init__(self, detail: str = "", retry_after_s: int = 1, **members: object) -> None:
        super().__init__(detail, (), **members)
        self.retry_after_s = max(1, retry_after_s)

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after_s)}


class InternalError(Problem, status=500, title="Internal error"):
    """Internal error. Nothing of the request was applied; quote the `requestId` when reporting it."""


class Unavailable(Problem, status=503, title="Service unavailable"):
    """The service cannot answer at the moment, for instance while it starts. Try again after `Retry-After`
    seconds."""

    def __init__(self, detail: str = "", retry_after_s: int = 1, **members: object) -> None:
        super().__init__(detail, (), **members)
        self.retry_after_s = max(1, retry_after_s)

    @property
    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(self.retry_after_s)}


_REFUSED_FIRST: Final = (400, 428, 412, 409, 422)


def first_refusal(found: Sequence[tuple[str, Mapping[str, object], Problem]], member: str) -> Problem:
    """One problem for several parts of a request: the first of 400, 428, 412, 409 and 422 that occurs.

    `found` has where in the request each part stands, what names it, and its problem. The answer lists them all under
    `member`, and `errors` point at them.
    """
    order = {status: place for place, status in enumerate(_REFUSED_FIRST)}
    _, _, first = min(found, key=lambda part: order.get(part[2].status, len(order)))
    listed: list[dict[str, object]] = []
    errors: list[FieldError] = []
    for pointer, name, problem in found:
        described = problem.document()
        described.pop("errors", None)
        listed.append({**name, **described})
        own = problem.errors or (FieldError("", problem.detail or problem.title),)
        errors += [FieldError(pointer + error.pointer, error.detail) for error in own]
    first.errors = tuple(errors)
    first.members[member] = listed
    return first
