"""Paths, ETags, lookups and locks that the routes of virtual assets share."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Final
from uuid import UUID

from gridloom.kernel.entity_tag import entity_tag
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import NotFound
from gridloom.platform.database.pool import Database
from gridloom.platform.http import ARROW, CSV, JSON, PARQUET, Caller, Request
from gridloom.platform.identity.authorization import ORGANISATION, authorize_organisation
from gridloom.virtual_assets import store
from gridloom.virtual_assets.model import Author, LockedAsset, VirtualAsset
from gridloom.virtual_assets.store import version_at

MAX_LOCK_S: Final = 10.0
"""A change is rolled back if it commits later than this after it has locked its asset, before its gate was checked.
Finalisation waits so long for changes that were in time."""


ASSETS = ORGANISATION + "/virtual-assets"
ASSET = ASSETS + "/{virtualAssetID}"
TABLES = (JSON, CSV, ARROW, PARQUET)
MAX_ANSWERED_PERIODS = 672  # a week of a long schedule is shown in the answer of a PUT


def author_of(request: Request) -> Author:
    return Author(request.caller.kind, request.caller.id)


def etag_of(asset: VirtualAsset) -> str:
    """All blocks of an asset share its stored energy, so the asset and its blocks have one version and one ETag."""
    return etag_at(asset, asset.version)


def etag_at(asset: VirtualAsset, version: int) -> str:
    """The ETag at a version that was written since; it covers the name and the portfolio, which have no version."""
    return entity_tag(version, asset.key, asset.terms.name, asset.terms.portfolio_id)


async def require_asset(db: Database, caller: Caller, organisation_id: UUID, virtual_asset_id: UUID) -> VirtualAsset:
    """The asset, if it belongs to the organisation and the caller may read that organisation."""
    owner = await authorize_organisation(db, caller, organisation_id)
    asset = await store.read_asset(db, owner, virtual_asset_id)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {virtual_asset_id}.")
    return asset


async def require_locked_asset(request: Request, organisation_id: UUID, virtual_asset_id: UUID) -> LockedAsset:
    """The same, locked until the transaction ends, which must commit within `MAX_LOCK_S`."""
    db = await request.begin()
    owner = await authorize_organisation(db, request.caller, organisation_id)
    asset = await store.lock_virtual_asset(db, owner, virtual_asset_id)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {virtual_asset_id}.")
    request.set_commit_deadline(MAX_LOCK_S)
    return asset


async def version_as_of(db: Database, asset: VirtualAsset, instant: datetime | None) -> int | None:
    """The version at the instant; None for the present."""
    if instant is None:
        return None
    version = await version_at(db, asset.key, instant)
    if version is None:
        raise NotFound(f"The virtual asset was not there yet at {format_instant(instant)}.")
    return version


MAX_IDLE_LOCKS: Final = 5000
"""Locks that stay although no request waits for them."""


_locks: dict[UUID, asyncio.Lock] = {}


def asset_lock(asset_id: UUID) -> asyncio.Lock:
    """The process's lock of an asset; acquire it immediately, before a connection: unlocked ones may be evicted.

    The row lock keeps changes apart. This one keeps a burst of changes of one asset from filling the pool with
    connections that wait for its row.
    """
    return _find_lock(asset_id)


def organisation_lock(organisation_id: UUID) -> asyncio.Lock:
    """The same for changes of many assets at once, which hold a connection for seconds: of an organisation one at a
    time, so that connections are left to others. No asset's lock is acquired under it."""
    return _find_lock(organisation_id)


def _find_lock(id: UUID) -> asyncio.Lock:
    lock = _locks.get(id)
    if lock is None:
        if len(_locks) >= MAX_IDLE_LOCKS:
            _evict_idle_locks()
        lock = _locks[id] = asyncio.Lock()
    return lock


def _evict_idle_locks() -> None:
    for asset_id, lock in list(_locks.items()):
        if not lock.locked():
            del _locks[asset_id]
