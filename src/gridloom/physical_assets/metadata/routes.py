"""Metadata over HTTP: one body type per category."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec

from gridloom.capacity.store import lock_batteries
from gridloom.edge import Answer, Call, operation
from gridloom.edge.wire import Decoder
from gridloom.identity.reach import asset_reach
from gridloom.kernel.permission import Permission
from gridloom.physical_assets.metadata import store
from gridloom.physical_assets.metadata.model import BODIES, Category, Metadata, MetadataBody
from gridloom.physical_assets.metadata.rules import InconsistentMetadata, check_metadata
from gridloom.physical_assets.rules import InvalidCode

TAG = "Physical assets"
READ = Permission.READ_PHYSICAL_ASSETS
UPDATE = Permission.UPDATE_PHYSICAL_ASSETS

_DECODERS = {category: Decoder(body) for category, body in BODIES.items()}


def _body_schema() -> dict[str, Any]:
    """One of the five bodies, each written out in place."""
    schemas, components = msgspec.json.schema_components(list(BODIES.values()), ref_template="{name}")

    def inlined(schema: Any) -> Any:
        if isinstance(schema, list):
            return [inlined(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return inlined(components[schema["$ref"]])
        return {name: inlined(part) for name, part in schema.items()}

    return {"anyOf": inlined(list(schemas))}


@operation("GET", "/physical-assets/{physicalAssetID}/metadata", summary="Read all metadata", tag=TAG, access=READ)
async def read_all_metadata(call: Call, physical_asset_id: UUID) -> Metadata:
    """Every category at once; a category that was never written is left out."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    stored = await store.read_all(call.db, reach.key)
    return Metadata(**{category.value: stored[category].body for category in Category})  # type: ignore[arg-type]


@operation(
    "GET",
    "/physical-assets/{physicalAssetID}/metadata/{category}",
    summary="Read one category of metadata",
    tag=TAG,
    access=READ,
    answers=dict[str, Any],
)
async def read_metadata(call: Call, physical_asset_id: UUID, category: Category) -> Answer[MetadataBody]:
    """In the shape in which it is put."""
    reach = await asset_reach(call.db, call.caller, physical_asset_id, READ)
    stored = await store.read_one(call.db, reach.key, category)
    return Answer(stored.body, etag=str(stored.version))


@operation(
    "PUT",
    "/physical-assets/{physicalAssetID}/metadata/{category}",
    summary="Replace one category of metadata",
    tag=TAG,
    access=UPDATE,
    problems=(InvalidCode, InconsistentMetadata),
    body_schema=_body_schema(),
    answers=dict[str, Any],
)
async def put_metadata(call: Call, physical_asset_id: UUID, category: Category, body: bytes) -> Answer[MetadataBody]:
    """Codes are checked as the industry gives them; what has no field of its own goes into `extra`."""
    given: MetadataBody = _DECODERS[category](body)
    reach = await asset_reach(call.db, call.caller, physical_asset_id, UPDATE)
    check_metadata(given)
    await lock_batteries(call.db, [reach.key])
    call.check_if_match(str((await store.read_one(call.db, reach.key, category)).version))
    stored = await store.put(call.db, reach.key, category, given, call.caller.id)
    return Answer(stored.body, etag=str(stored.version))
