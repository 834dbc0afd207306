"""Paths, ETags, lookups and locks that the routes of virtual assets share."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID
from zlib import crc32

from gridloom.database.pool import Database
from gridloom.edge import ARROW, CSV, JSON, PARQUET, Caller, Request
from gridloom.identity.authorization import authorize_organisation
from gridloom.kernel.instant import format_instant
from gridloom.kernel.problem import NotFound
from gridloom.virtual_assets import store
from gridloom.virtual_assets.model import Author, LockedAsset, VirtualAsset
from gridloom.virtual_assets.store import version_at

MAX_LOCK_S: Final = 10.0
"""From the moment on in which a change holds its asset, before its gate is judged, until it is committed. Whoever makes
closed periods final waits for changes that were in time, and for none that takes longer: those are undone."""


TAG = "Virtual assets"


ASSETS = "/organisations/{organisationID}/virtual-assets"


ASSET = ASSETS + "/{virtualAssetID}"


TABLES = (JSON, CSV, ARROW, PARQUET)


MAX_ANSWERED_PERIODS = 672  # a week: what a PUT shows of a long schedule it has accepted


def author_of(request: Request) -> Author:
    return Author(request.caller.kind, request.caller.id)


def etag_of(asset: VirtualAsset) -> str:
    """All blocks of an asset share one store, so one version stands for the asset and each of its blocks."""
    return etag_at(asset, asset.version)


def etag_at(asset: VirtualAsset, version: int) -> str:
    """Of a version that was made since; its name and its portfolio, which change without its schedules, count too."""
    return f"{asset.key}-{version}-{_describe_asset(asset.terms.name, asset.terms.portfolio_id)}"


@lru_cache(maxsize=4096)
def _describe_asset(name: str, portfolio_id: UUID | None) -> str:
    described = f"{name}\0{portfolio_id}".encode()
    return f"{crc32(described):08x}"


async def require_asset(db: Database, caller: Caller, organisation_id: UUID, virtual_asset_id: UUID) -> VirtualAsset:
    """The asset, if it is one of the organisation's and the caller may look at that organisation."""
    owner = await authorize_organisation(db, caller, organisation_id)
    asset = await store.read_asset(db, owner, virtual_asset_id)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {virtual_asset_id}.")
    return asset


async def require_locked_asset(request: Request, organisation_id: UUID, virtual_asset_id: UUID) -> LockedAsset:
    """The same, held until the call's transaction ends, which it has to soon."""
    db = await request.begin()
    owner = await authorize_organisation(db, request.caller, organisation_id)
    asset = await store.lock_virtual_asset(db, owner, virtual_asset_id)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {virtual_asset_id}.")
    request.set_commit_deadline(MAX_LOCK_S)
    return asset


async def version_as_of(db: Database, asset: VirtualAsset, moment: datetime | None) -> int | None:
    """The version that stood at the moment; None for the present."""
    if moment is None:
        return None
    version = await version_at(db, asset.key, moment)
    if version is None:
        raise NotFound(f"The virtual asset was not there yet at {format_instant(moment)}.")
    return version


async def audit_version(request: Request, periods: int, version: int) -> None:
    """Have the audit log know of a version of so many periods, in the statement that writes it."""
    request.audit_details.update(version=version, periods=periods)
    await request.record_audit(request.operation.status)


MAX_IDLE_LOCKS: Final = 5000
"""Queues that are kept although nobody stands in them."""


_locks: dict[UUID, asyncio.Lock] = {}


def asset_lock(asset_id: UUID) -> asyncio.Lock:
    """To be held from before the connection is taken until the change is written, and from this moment on: what nobody
    holds may be forgotten whenever somebody asks for another."""
    lock = _locks.get(asset_id)
    if lock is None:
        if len(_locks) >= MAX_IDLE_LOCKS:
            _evict_idle_locks()
        lock = _locks[asset_id] = asyncio.Lock()
    return lock


def _evict_idle_locks() -> None:
    for asset_id, lock in list(_locks.items()):
        if not lock.locked():
            del _locks[asset_id]
