"""Answers and refusals of an operation."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, get_args, get_origin

from gridloom.kernel import problem as problems
from gridloom.kernel.problem import Problem
from gridloom.kernel.shares import ShareExceeded
from gridloom.platform.http.answer.render import PROBLEM_JSON
from gridloom.platform.http.openapi.schemas import Schemas, answered
from gridloom.platform.http.operation import Operation
from gridloom.platform.http.responses import Content, EventStream, Page, Response, Stream
from gridloom.platform.http.windows import WindowTooLong, has_window

HEADERS: dict[str, Any] = {
    "X-Request-Id": {"description": "Names this request in the logs", "schema": {"type": "string"}},
    "RateLimit-Policy": {"description": "The limit that applies", "schema": {"type": "string"}},
    "RateLimit": {"description": "What is left of it", "schema": {"type": "string"}},
    "ETag": {"description": "This version of the resource", "schema": {"type": "string"}},
    "Location": {"description": "Where what was created is read", "schema": {"type": "string"}},
    "Link": {"description": 'The next page, rel="next"', "schema": {"type": "string"}},
    "Idempotency-Replayed": {"description": "The answer of an earlier attempt", "schema": {"const": "true"}},
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "string"}},
}


def describe_responses(operation: Operation, schemas: Schemas, refusals: dict[str, Any]) -> dict[str, Any]:
    """The answers by status; a refusal for one reason alone is described once, in `refusals`."""
    body = answered(operation)
    headers = ["X-Request-Id", *(("RateLimit-Policy", "RateLimit") if operation.access.is_limited else ())]
    if get_origin(operation.response) is Response:
        headers.append("ETag")
    if any(get_origin(answer) is Page for answer in (operation.response, *get_args(operation.response))):
        headers.append("Link")
    if operation.location is not None:
        headers.append("Location")
    if operation.method == "POST":
        headers.append("Idempotency-Replayed")
    success: dict[str, Any] = {
        "description": HTTPStatus(operation.status).phrase,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
    }
    if body is not None or operation.response in (Content, Stream, EventStream):
        success["content"] = {
            media_type: {"schema": schemas[body]} if media_type == "application/json" and body is not None else {}
            for media_type in operation.produces
        }
    responses: dict[str, Any] = {str(operation.status): success}
    if operation.may_be_queued:
        responses["202"] = _describe_queued(success)
    by_status: dict[int, list[type[Problem]]] = {}
    for problem in possible_problems(operation):
        by_status.setdefault(problem.status, []).append(problem)
    for status, kinds in sorted(by_status.items()):
        if len(kinds) > 1:
            responses[str(status)] = _describe_problem(kinds)
            continue
        name = kinds[0].__name__
        responses[str(status)] = {"$ref": f"#/components/responses/{name}"}
        refusals[name] = _describe_problem(kinds)
    return responses


def _describe_queued(success: dict[str, Any]) -> dict[str, Any]:
    """The same body, of what a job will make; `Retry-After` says when to look."""
    headers = {name: header for name, header in success["headers"].items() if name != "ETag"}
    headers["Retry-After"] = {"$ref": "#/components/headers/Retry-After"}
    return {**success, "description": HTTPStatus.ACCEPTED.phrase, "headers": headers}


def _describe_problem(kinds: Sequence[type[Problem]]) -> dict[str, Any]:
    first = kinds[0]
    example = {
        "type": first.type,
        "title": first.title,
        "status": first.status,
        "instance": "/physical-assets",
        "requestId": "5f0c3a4be7fd4f2d9d2f0e6d2f8d1a70",
    }
    headers = ["X-Request-Id", "Retry-After"] if first.status in (429, 503) else ["X-Request-Id"]
    return {
        "description": "; ".join(f"[{kind.title}]({kind.type})" for kind in kinds),
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
    }


def possible_problems(operation: Operation) -> list[type[Problem]]:
    """The problems of an operation: those it declares, and those its shape implies."""
    implied: list[type[Problem]] = [problems.BadRequest, problems.NotAcceptable, problems.TooManyRequests]
    implied += [problems.InternalError, problems.Unavailable]
    if not operation.access.is_public:
        implied += [ShareExceeded, problems.Unauthenticated, problems.Forbidden]
    if operation.path_parameters or operation.query is not None:
        implied.append(problems.NotFound)
    if not operation.changes_state and has_window(operation.query):
        implied.append(WindowTooLong)
    if operation.body is not None:
        implied += [problems.PayloadTooLarge, problems.UnsupportedMediaType]
    if operation.method == "POST":
        implied += [problems.IdempotencyInProgress, problems.IdempotencyKeyReused]
    if operation.method in ("PUT", "PATCH", "DELETE"):
        implied.append(problems.PreconditionFailed)
    return list(dict.fromkeys([*implied, *operation.problems]))
