"""An operation, declared once beside its handler; dispatch, OpenAPI, limits and tests all read it from here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_type_hints

from gridloom.edge.fields import Decoder, ParameterDecoder, QueryParameters, wire_name
from gridloom.edge.responses import JSON
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Problem

MEBIBYTE = 1024 * 1024
BODY_LIMIT = 10 * MEBIBYTE
BULK_BODY_LIMIT = 64 * MEBIBYTE

PUBLIC: Final = "public"
"""Open to anyone, without a token."""
SIGNED_IN: Final = "signed-in"
"""Open to every signed-in caller."""
Access: TypeAlias = Permission | Literal["public", "signed-in"]

AssetScope: TypeAlias = Literal["filtered", "free"] | None
Transaction: TypeAlias = Literal["automatic", "manual", "single statement"]

CONSOLE_COOKIE = "gridloom_session"
"""What holds the console's session in a browser."""

Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)


@dataclass(frozen=True, slots=True)
class PathParameter:
    argument: str
    name: str
    type: Any


@dataclass(frozen=True, slots=True)
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
    problems: tuple[type[Problem], ...]
    produces: tuple[str, ...]
    consumes: tuple[str, ...]
    body_limit_bytes: int
    rate_limit: str | None
    audited: bool
    transaction: Transaction
    secret_response: bool
    replica_read: bool
    cookie: str | None
    open_before_enrolment: bool
    asset_scope: AssetScope
    deprecated: str | None
    sunset: str | None
    handler: Handler
    path_parameters: tuple[PathParameter, ...]
    query: type[QueryParameters] | None
    body: Any
    answer: Any
    response_schema: Any
    body_schema: dict[str, Any] | None
    body_schema_for: tuple[str, ...]
    read_query: ParameterDecoder | None
    read_body: Decoder | None

    @property
    def changes_state(self) -> bool:
        return self.method != "GET"

    @property
    def takes_raw_body(self) -> bool:
        return self.body is bytes


def operation(
    method: str,
    path: str,
    *,
    summary: str,
    access: Access,
    status: int | None = None,
    problems: tuple[type[Problem], ...] = (),
    produces: tuple[str, ...] = (JSON,),
    consumes: tuple[str, ...] = (JSON,),
    body_limit_bytes: int = BODY_LIMIT,
    rate_limit: str | None = "public",
    tag: str | None = None,
    audited: bool = True,
    transaction: Transaction = "automatic",
    secret_response: bool = False,
    replica_read: bool = False,
    cookie: str | None = None,
    open_before_enrolment: bool = False,
    asset_scope: AssetScope = None,
    deprecated: str | None = None,
    sunset: str | None = None,
    operation_id: str | None = None,
    response_schema: Any = None,
    body_schema: dict[str, Any] | None = None,
    body_schema_for: tuple[str, ...] = (JSON,),
) -> Callable[[H], H]:
    """Declare the function below as the handler of one operation.

    Its arguments say what it takes: `request`, then `body` (a struct, or `bytes` for a raw one), `query` (a
    `QueryParameters` struct) and one argument per path parameter (`physical_asset_id` for `{physicalAssetID}`).
    Its return type says what it answers.

    access: a permission word, or PUBLIC, or SIGNED_IN.
    rate_limit: the class of the limit; None for what must be answered without asking anybody.
    transaction: "automatic" starts before the handler. "manual": the handler starts it with `await request.begin()`,
    once slow work is done. "single statement": the handler puts all its rows into `request.rows` and reads none of
    them, so that they, the audit row and the stored response are one statement without a transaction around it.
    response_schema: the JSON that a streamed response holds, where the return type cannot say it.
    body_schema: the JSON Schema of a raw body, for the media types in body_schema_for.
    cookie: "needed" or "set" where the console's cookie takes the place of a token.
    open_before_enrolment: open to a person who still has to set up the second factor that the organisation demands.
    asset_scope: what it does for an API key made for certain physical assets, where no path parameter names one:
    "filtered" where the handler keeps to these assets, "free" where no asset is concerned; else the key is refused.
    replica_read: a read replica may answer it, once it has replayed what the caller must see.
    secret_response: the response shows a secret once; what is stored for a safe retry is encrypted.
    tag: where the documentation shows it; the module's `TAG` when left out.
    """

    def declare(handler: H) -> H:
        hints = get_type_hints(handler, include_extras=True)
        answer = hints.pop("return", None)
        names = re.findall(r"\{([^}]+)\}", path)
        arguments = {wire_name(argument): argument for argument in inspect.signature(handler).parameters}
        missing = [name for name in names if name not in arguments]
        assert not missing, f"{handler.__qualname__} takes no argument for {missing}"
        query, body = hints.get("query"), hints.get("body")
        declared = Operation(
            method=method,
            path=path,
            operation_id=operation_id or wire_name(handler.__name__),
            summary=summary,
            description=inspect.getdoc(handler) or "",
            tag=tag or handler.__globals__["TAG"],
            access=access,
            status=status or (204 if answer in (None, type(None)) else 200),
            problems=problems,
            produces=produces,
            consumes=consumes,
            body_limit_bytes=body_limit_bytes,
            rate_limit=rate_limit,
            audited=audited and method != "GET",
            transaction=transaction,
            secret_response=secret_response,
            replica_read=replica_read,
            cookie=cookie,
            open_before_enrolment=open_before_enrolment,
            asset_scope=asset_scope,
            deprecated=deprecated,
            sunset=sunset,
            handler=handler,
            path_parameters=tuple(PathParameter(arguments[name], name, hints[arguments[name]]) for name in names),
            query=query,
            body=body,
            answer=answer,
            response_schema=response_schema,
            body_schema=body_schema,
            body_schema_for=body_schema_for,
            read_query=ParameterDecoder(query) if query is not None else None,
            read_body=Decoder(body) if body is not None and body is not bytes else None,
        )
        handler.__operation__ = declared  # type: ignore[attr-defined]
        return handler

    return declare


def operations_of(*modules: ModuleType) -> tuple[Operation, ...]:
    """The operations declared in these modules, in the order in which they stand there."""
    return tuple(
        value.__operation__
        for module in modules
        for value in vars(module).values()
        if hasattr(value, "__operation__") and value.__module__ == module.__name__
    )
