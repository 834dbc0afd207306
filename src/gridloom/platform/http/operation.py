"""An operation, declared once beside its handler; routing, OpenAPI, limits and tests all read it from here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Problem
from gridloom.kernel.shares import MEBIBYTE
from gridloom.platform.http.fields import QueryParameters, wire_name
from gridloom.platform.http.responses import JSON

BODY_LIMIT: Final = 10 * MEBIBYTE
PUBLIC_BODY_LIMIT: Final = 16 * 1024
CONSOLE_COOKIE: Final = "gridloom_session"
"""The cookie of the console's session."""

AssetScope: TypeAlias = Literal["filtered", "free"] | None
Transaction: TypeAlias = Literal["automatic", "manual"]
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Which callers an operation is open to."""

    permission: Permission | None = None
    is_public: bool = False
    """Open without a token."""
    is_limited: bool = True
    """Counted by the caller's organisation or, without a token, by its network."""
    is_open_before_enrolment: bool = False
    """Open to a person who still has to set up the second factor that the organisation demands."""
    cookie: Literal["needed", "set"] | None = None
    """Whether the console's cookie takes the place of a token."""

    def __str__(self) -> str:
        return self.permission or ("public" if self.is_public else "signed-in")


PUBLIC: Final = Access(is_public=True)
PROBE: Final = Access(is_public=True, is_limited=False)
"""Answered without asking the database whether a limit is reached."""
CONSOLE_SIGN_IN: Final = Access(is_public=True, cookie="set")
CONSOLE_SESSION: Final = Access(is_public=True, cookie="needed")
SIGNED_IN: Final = Access()
"""Open to every signed-in caller."""
ENROLLING: Final = Access(is_open_before_enrolment=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFormat:
    """Marks a handler's `body` that is no JSON of up to 10 MiB: `Annotated[bytes, BodyFormat(…)]`."""

    limit_bytes: int = BODY_LIMIT
    media_types: tuple[str, ...] = (JSON,)
    schema: dict[str, Any] | None = field(default=None, hash=False)
    """The JSON Schema of a raw body, where it comes as JSON."""
    may_be_gzip: bool = False
    """Whether the body may come with `Content-Encoding: gzip`; the limit is that of what it unpacks to."""


BULK: Final = BodyFormat(limit_bytes=64 * MEBIBYTE)


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The headers of an operation that will go (RFC 9745, RFC 8594)."""

    deprecation: str
    sunset: str


@dataclass(frozen=True, slots=True)
class PathParameter:
    argument: str
    name: str
    type: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """All that is known of an operation before it is called."""

    method: str
    path: str
    operation_id: str
    summary: str
    description: str
    tag: str
    access: Access
    status: int
    location: str | None
    """The path at which what was created is read."""
    may_be_queued: bool
    problems: tuple[type[Problem], ...]
    produces: tuple[str, ...]
    audited: bool
    transaction: Transaction
    secret_response: bool
    replica_read: bool
    asset_scope: AssetScope
    columns: int
    costly_as: tuple[str, ...]
    deprecation: Deprecation | None
    handler: Handler
    changes_state: bool
    path_parameters: tuple[PathParameter, ...]
    query: type[QueryParameters] | None
    body: Any
    """The type of the body, `bytes` for a raw one, None where there is none."""
    body_format: BodyFormat
    response: Any
    response_schema: Any


def operation(
    method: str,
    path: str,
    *,
    summary: str,
    access: Access | Permission,
    status: int | tuple[int, Literal[202]] | None = None,
    location: str | None = None,
    problems: tuple[type[Problem], ...] = (),
    produces: tuple[str, ...] = (JSON,),
    response_schema: Any = None,
    audited: bool = True,
    transaction: Transaction = "automatic",
    secret_response: bool = False,
    replica_read: bool = False,
    asset_scope: AssetScope = None,
    columns: int = 8,
    costly_as: tuple[str, ...] = (),
    deprecation: Deprecation | None = None,
) -> Callable[[H], H]:
    """Declare the function below as the handler of one operation.

    Its arguments say what it takes: `request`, then `body` (a struct, or `bytes` for a raw one, with a `BodyFormat`
    where it is larger than usual or no JSON), `query` (a `QueryParameters` struct) and one argument per path parameter
    (`physical_asset_id` for `{physicalAssetID}`). Its return type says what it answers. The module's `TAG` is where the
    documentation shows it.

    status: with 202 after it where a long one is answered so, with the same body, and made by a job.
    location: of 201, the path at which what was created is read: `{id}` is that of the body. Without it, below the
    operation's own path.
    response_schema: the JSON that a streamed response holds, where the return type cannot say it.
    transaction: "automatic" starts before the handler. "manual": the handler starts it with `await request.begin()`,
    once slow work is done.
    secret_response: the response shows a secret once; what is stored for a safe retry is encrypted.
    replica_read: a read replica may answer it, once it has replayed what the caller must see.
    asset_scope: what it does for an API key made for certain physical assets, where no path parameter names one:
    "filtered" where the handler keeps to these assets, "free" where no asset is concerned; else the key is rejected.
    columns: of a read over a window, how many values a row has unless the query names them, for the share of reads.
    costly_as: the formats in which it takes a place of that share whatever its window is.
    """

    first_status = status[0] if isinstance(status, tuple) else status

    def declare(handler: H) -> H:
        hints = get_type_hints(handler, include_extras=True)
        response = hints.pop("return", None)
        names = re.findall(r"\{([^}]+)\}", path)
        arguments = {wire_name(argument): argument for argument in inspect.signature(handler).parameters}
        missing = [name for name in names if name not in arguments]
        assert not missing, f"{handler.__qualname__} takes no argument for {missing}"
        whole_access = Access(permission=access) if isinstance(access, Permission) else access
        body, body_format = _split_body(hints.get("body"), whole_access)
        declared = Operation(
            method=method,
            path=path,
            operation_id=wire_name(handler.__name__),
            summary=summary,
            description=inspect.getdoc(handler) or "",
            tag=handler.__globals__["TAG"],
            access=whole_access,
            status=first_status or (204 if response in (None, type(None)) else 200),
            location=location or (f"{path}/{{id}}" if first_status == 201 else None),
            may_be_queued=isinstance(status, tuple),
            problems=problems,
            produces=produces,
            audited=audited and method != "GET",
            transaction=transaction,
            secret_response=secret_response,
            replica_read=replica_read,
            asset_scope=asset_scope,
            columns=columns,
            costly_as=costly_as,
            deprecation=deprecation,
            handler=handler,
            changes_state=method != "GET",
            path_parameters=tuple(PathParameter(arguments[name], name, hints[arguments[name]]) for name in names),
            query=hints.get("query"),
            body=body,
            body_format=body_format,
            response=response,
            response_schema=response_schema,
        )
        handler.__operation__ = declared  # type: ignore[attr-defined]
        return handler

    return declare


def _split_body(hint: Any, access: Access) -> tuple[Any, BodyFormat]:
    """The type of a body and its format; without a token a body is short."""
    if get_origin(hint) is Annotated:
        type, *marks = get_args(hint)
        for mark in marks:
            if isinstance(mark, BodyFormat):
                return type, mark
    return hint, BodyFormat(limit_bytes=PUBLIC_BODY_LIMIT if access.is_public else BODY_LIMIT)


def operations_of(*modules: ModuleType) -> tuple[Operation, ...]:
    """The operations declared in these modules, in the order in which they stand there."""
    return tuple(
        value.__operation__
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "__operation__") and value.__module__ == module.__name__
    )


# --- by path -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _RouteNode:
    fixed: dict[str, _RouteNode] = field(default_factory=dict)
    variable: _RouteNode | None = None
    operations: dict[str, Operation] = field(default_factory=dict)


class Router:
    """From a path to its operations: one dictionary step per segment, however many operations there are."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _RouteNode()
        for operation in operations:
            self._add_route(operation)

    def _add_route(self, operation: Operation) -> None:
        node = self._root
        for segment in operation.path.strip("/").split("/"):
            if segment.startswith("{"):
                node.variable = node.variable or _RouteNode()
                node = node.variable
            else:
                node = node.fixed.setdefault(segment, _RouteNode())
        assert operation.method not in node.operations, f"{operation.method} {operation.path} is declared twice"
        node.operations[operation.method] = operation

    def find(self, path: str) -> tuple[dict[str, Operation], list[str]] | None:
        """The operations of a path by their method, and the path's variable parts; None for an unknown path."""
        return _find_route(self._root, path.strip("/").split("/"), 0, [])


def _find_route(
    node: _RouteNode, segments: list[str], depth: int, values: list[str]
) -> tuple[dict[str, Operation], list[str]] | None:
    if depth == len(segments):
        return (node.operations, values) if node.operations else None
    segment = segments[depth]
    fixed = node.fixed.get(segment)
    if fixed is not None:
        found = _find_route(fixed, segments, depth + 1, values)
        if found is not None:
            return found
    if node.variable is not None and segment:
        return _find_route(node.variable, segments, depth + 1, [*values, segment])
    return None
