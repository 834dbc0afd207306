"""Allocating a virtual asset with its promises and its first block, and undoing an allocation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from gridloom.capacity.model import HoldingKind
from gridloom.kernel.dependency import Dependency
from gridloom.kernel.ids import BlockID, OrganisationID, VirtualAssetID, uuid7
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import NotFound, Problem
from gridloom.market_calendar import format_period
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.events.outbox import record_event
from gridloom.platform.identity.store.organisations import lock_organisation
from gridloom.platform.jobs import enqueue
from gridloom.virtual_assets import block_store, store
from gridloom.virtual_assets.backing.holdings import hold_backing, release_backing, transfer_backing
from gridloom.virtual_assets.model import AssetTerms, Author, Block, Market, VirtualAsset
from gridloom.virtual_assets.rules import first_open_period
from gridloom.virtual_assets.schedule.change.store import add_first_version


class AllocationStands(Problem, status=409, title="The allocation cannot be undone"):
    """An allocation can be undone before the asset's first gate closes, while nothing is traded or settled on it, and
    unless it was won in an auction. The detail names the reason."""


DISPATCH_JOB: Final = "delivery.dispatch"
"""The job, keyed by a delivery zone, that dispatches the zone's batteries; `delivery` declares its handler."""


HAS_WAITING_ORDER: Final[Dependency[Callable[[Database, int], Awaitable[bool]]]] = Dependency(
    "whether an order waits for its result on a virtual asset, by its key"
)


async def allocate(db: Database, organisation_id: UUID, terms: AssetTerms, author: Author) -> VirtualAsset:
    """Create a virtual asset for an organisation with its first block and its backing, all in the caller's transaction.

    Call it with a connection inside a transaction and roll back when it raises. It takes a lock on each backing asset,
    in the order of their keys, until the transaction ends, so take your own locks (an auction's row) before calling.

    Raises `UnknownBackingAsset`, `BackingAssetInactive`, `DeliveryZonesDiffer`, `CycleLimitExceeded`,
    `CapacityNotAvailable` or `CapacityTaken`, each before it has written anything; `terms.backing` must be shares that
    sum to 1, `terms.window` must lie on the quarter-hour grid. With `terms.auction_id` set, the
    holdings of the auction become the promises without another validation; a second allocation for the same auction
    violates `auction_allocated_once`.
    """
    asset_id = VirtualAssetID(uuid7())
    await lock_organisation(db, organisation_id)
    if terms.auction_id is None:
        taken = await hold_backing(db, terms, HoldingKind.VIRTUAL_ASSET, asset_id, organisation_id)
        terms, promises = taken.terms, taken.promises
    else:
        promises = await transfer_backing(db, terms, terms.auction_id, asset_id, organisation_id)
    asset = await store.insert_asset(db, asset_id, organisation_id, terms, promises)
    block = Block(BlockID(uuid7()), 0, asset.first, asset.end, Market.WHOLESALE, terms.charge_kw, terms.discharge_kw)
    await block_store.replace_blocks(db, asset, asset.version, (), (block,))
    await add_first_version(db, asset, author, block.id)
    await record_event(
        db,
        type="virtual-asset.allocated",
        organisation_id=OrganisationID(organisation_id),
        subject=f"virtual-assets/{asset.id}",
        permission=Permission.READ_VIRTUAL_ASSETS,
        asset_key=asset.key,
        data={"virtualAssetID": asset.id, "auctionID": terms.auction_id},
    )
    await enqueue(
        db, DISPATCH_JOB, key=terms.delivery_zone, due=asset.created_at, clock="platform", keep_earlier_due=True
    )
    return asset


async def undo_allocation(db: Database, seen: VirtualAsset, check: Callable[[VirtualAsset], None]) -> None:
    """Delete a virtual asset, and release its holdings of its batteries' capacity.

    `check` is called with the locked asset. Batteries are locked before the virtual asset, as everywhere.
    """
    await lock_organisation(db, seen.organisation_id)
    ids = [promise.physical_asset_id for promise in seen.promises]
    await release_backing(db, ids, seen.id)
    asset = await store.lock_virtual_asset_by_key(db, seen.key)
    if asset is None:
        raise NotFound(f"The organisation has no virtual asset {seen.id}.")
    check(asset)
    if asset.terms.auction_id is not None:
        raise AllocationStands(f"The asset was won in the auction {asset.terms.auction_id}.")
    if asset.first < first_open_period(await platform_now(db), asset.terms.gate_closure_s):
        raise AllocationStands(f"The gate of its first period, {format_period(asset.first)}, has closed.")
    if await HAS_WAITING_ORDER.get()(db, asset.key):
        raise AllocationStands("An order on the asset waits for its result.")
    if not await store.delete_asset(db, asset):
        raise AllocationStands("Something is traded or settled on the asset.")
    now = await platform_now(db)
    await enqueue(db, DISPATCH_JOB, key=asset.terms.delivery_zone, due=now, clock="platform", keep_earlier_due=True)
