"""Metadata over HTTP: one body type per category."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import msgspec

from gridloom.capacity.store import lock_batteries
from gridloom.kernel.codes import EicKind
from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Problem
from gridloom.physical_assets.metadata import store
from gridloom.physical_assets.metadata.model import (
    BODY_TYPES,
    ContractMetadata,
    GridMetadata,
    MarketMetadata,
    Metadata,
    MetadataBody,
    MetadataCategory,
)
from gridloom.physical_assets.rules import InvalidCode, check_eic_code
from gridloom.platform.http import BodyFormat, Request, Response, operation
from gridloom.platform.http.decode.json_decoder import Decoder
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, authorize_asset


class InconsistentMetadata(Problem, status=422, title="The metadata contradicts itself"):
    """Two fields of the metadata contradict each other, such as a contract that ends before it starts."""


def check_metadata(body: MetadataBody) -> None:
    if isinstance(body, GridMetadata):
        check_eic_code(body.eic_code, "/eicCode", EicKind.RESOURCE)
    if isinstance(body, MarketMetadata):
        check_eic_code(body.bidding_zone, "/biddingZone", EicKind.AREA)
        check_eic_code(body.balancing_group, "/balancingGroup", EicKind.PARTY)
        check_eic_code(body.market_participant_eic, "/marketParticipantEic", EicKind.PARTY)
    if isinstance(body, ContractMetadata):
        _check_order(body)


def _check_order(body: ContractMetadata) -> None:
    if body.starts_on is None or body.ends_on is None or body.starts_on <= body.ends_on:
        return
    detail = f"The contract ends on {body.ends_on}, before it starts on {body.starts_on}."
    raise InconsistentMetadata.at("/endsOn", detail)


TAG = "Physical assets"
READ = Permission.READ_PHYSICAL_ASSETS
UPDATE = Permission.UPDATE_PHYSICAL_ASSETS

_DECODERS = {category: Decoder(body) for category, body in BODY_TYPES.items()}


def _body_schema() -> dict[str, Any]:
    """One of the five bodies, each written out in place."""
    schemas, components = msgspec.json.schema_components(list(BODY_TYPES.values()), ref_template="{name}")

    def inlined(schema: Any) -> Any:
        if isinstance(schema, list):
            return [inlined(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return inlined(components[schema["$ref"]])
        return {name: inlined(part) for name, part in schema.items()}

    return {"anyOf": inlined(list(schemas))}


_BODY = BodyFormat(schema=_body_schema())


@operation("GET", PHYSICAL_ASSET + "/metadata", summary="Read all metadata", access=READ)
async def read_all_metadata(request: Request, physical_asset_id: UUID) -> Metadata:
    """Every category at once; the fields of one that was never put are empty."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    stored = await store.read_all(request.db, authorized.key)
    return Metadata(**{category.value: stored[category].body for category in MetadataCategory})  # type: ignore[arg-type]


@operation(
    "GET",
    PHYSICAL_ASSET + "/metadata/{category}",
    summary="Read one category of metadata",
    access=READ,
    response_schema=dict[str, Any],
)
async def read_metadata(
    request: Request, physical_asset_id: UUID, category: MetadataCategory
) -> Response[MetadataBody]:
    """In the shape in which it is put."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    stored = await store.read_one(request.db, authorized.key, category)
    return Response(stored.body, etag=entity_tag(stored.version))


@operation(
    "PUT",
    PHYSICAL_ASSET + "/metadata/{category}",
    summary="Replace one category of metadata",
    access=UPDATE,
    problems=(InvalidCode, InconsistentMetadata),
    response_schema=dict[str, Any],
)
async def put_metadata(
    request: Request, physical_asset_id: UUID, category: MetadataCategory, body: Annotated[bytes, _BODY]
) -> Response[MetadataBody]:
    """Codes are checked as the industry gives them; what has no field of its own goes into `extra`."""
    given: MetadataBody = _DECODERS[category](body)
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, UPDATE)
    check_metadata(given)
    await lock_batteries(request.db, [authorized.key])
    request.check_if_match(entity_tag((await store.read_one(request.db, authorized.key, category)).version))
    stored = await store.put(request.db, authorized.key, category, given, request.caller.id)
    return Response(stored.body, etag=entity_tag(stored.version))
