"""Allocating a virtual asset: promising physical capacity, and giving birth to the asset with its first block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

from gridloom.database.pool import Database
from gridloom.events.outbox import record_event
from gridloom.kernel.ids import BlockID, OrganisationID, VirtualAssetID, uuid7
from gridloom.kernel.instant import written
from gridloom.kernel.problem import FieldError, Problem
from gridloom.physical_assets.availability.series import AvailabilitySeries, availability
from gridloom.physical_assets.availability.store import load_circumstances
from gridloom.virtual_assets import store
from gridloom.virtual_assets.backing import store as backing_store
from gridloom.virtual_assets.backing.ledger import Available, Capacity, Demand, Shortage, promise
from gridloom.virtual_assets.backing.store import PhysicalTerms
from gridloom.virtual_assets.blocks import store as block_store
from gridloom.virtual_assets.model import AssetTerms, Author, Block, Market, Promise, VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store


class UnknownBackingAsset(Problem):
    """Each `backing` entry names a physical asset that is registered here, once, and that is rated over the window.

    The detail lists the ids at fault.
    """

    status = 422
    title = "A backing asset is unknown"


class BackingAssetInactive(Problem):
    """Only physical assets in status `ACTIVE` can back a virtual asset."""

    status = 409
    title = "A backing asset is not active"


class CapacityTaken(Problem):
    """A physical asset can be promised once: what is asked for must be free over the whole window.

    Free is what is available (rated, less all unavailabilities) and not promised to another virtual asset. `shortages`
    says for each backing asset from when to when too little is free, and how much is asked for, available, promised and
    free. A virtual asset that is more efficient than its backing takes more of it, since its losses have to be made up.
    """

    status = 409
    title = "The capacity is not free"


async def allocate(db: Database, organisation_id: UUID, terms: AssetTerms, author: Author) -> VirtualAsset:
    """Create a virtual asset for an organisation with its first block and its backing, all in the caller's transaction.

    Call it with a connection inside a transaction and roll back when it raises. It takes a lock on each backing asset,
    in the order of their keys, until the transaction ends, so take your own locks (an auction's row) before calling.

    Raises `UnknownBackingAsset`, `BackingAssetInactive` or `CapacityTaken`, each before it has written anything;
    `terms.backing` must be shares that sum to 1, `terms.window` must lie on the quarter-hour grid. With
    `terms.auction_id` set, a second allocation for the same auction violates `virtual_asset_of_auction`.
    """
    promises = await promise_capacity(db, terms)
    asset = await store.insert_asset(db, VirtualAssetID(uuid7()), organisation_id, terms, promises)
    block = Block(BlockID(uuid7()), 0, asset.first, asset.end, Market.WHOLESALE, terms.charge_kw, terms.discharge_kw)
    await block_store.replace_blocks(db, asset, asset.version, (), (block,))
    await schedule_store.add_first_version(db, asset, author, block.id)
    await record_event(
        db,
        type="virtual-asset.allocated",
        organisation_id=OrganisationID(organisation_id),
        subject=f"virtual-assets/{asset.id}",
        permission="Read:virtual-assets",
        asset_key=asset.key,
        data={"virtualAssetID": asset.id, "auctionID": terms.auction_id},
    )
    return asset


async def promise_capacity(db: Database, terms: AssetTerms) -> list[Promise]:
    """Take what the terms ask of each backing asset, or refuse and say for each what is taken."""
    ids = [share.physical_asset_id for share in terms.backing]
    keys = await backing_store.lock_physical_assets(db, ids)
    known = {known.id: known for known in await backing_store.read_physical_terms(db, keys.values(), terms.window)}
    strangers = [place for place, id in enumerate(ids) if id not in known]
    if strangers:
        raise UnknownBackingAsset(
            f"No physical asset is rated here over the window under {_listed(ids, strangers)}.",
            _at(strangers, "is not rated here over the window"),
        )
    idle = [place for place, id in enumerate(ids) if known[id].status != "ACTIVE"]
    if idle:
        raise BackingAssetInactive(f"Not active: {_listed(ids, idle)}.", _at(idle, "is not active"))
    circumstances = await load_circumstances(db, list(keys.values()), terms.window)
    steps = await backing_store.read_steps(db, keys.values(), terms.window)
    promises, replacements, shortages = [], [], []
    rated = Capacity(terms.charge_kw, terms.discharge_kw, terms.energy_capacity_kwh)
    for share in terms.backing:
        physical = known[share.physical_asset_id]
        asked = Demand(terms.window, share.share, rated, terms.efficiency).asked_of(physical.worst)
        there = circumstances[physical.key]
        outcome = promise(
            steps[physical.key],
            _available(availability(there.ratings, there.outages, terms.window)),
            terms.window,
            asked,
        )
        if isinstance(outcome, Shortage):
            shortages.append(_told(physical, asked, outcome))
            continue
        replacements.append((physical.key, steps[physical.key], outcome))
        promises.append(Promise(physical.key, physical.id, share.share, **asdict(asked)))
    if shortages:
        first = shortages[0]
        raise CapacityTaken(
            f"Of the physical asset {first['physicalAssetID']} too little is free from {first['start']} on.",
            shortages=shortages,
        )
    for key, before, after in replacements:
        await backing_store.replace_steps(db, key, before, after)
    return promises


def _listed(ids: Sequence[UUID], places: Sequence[int]) -> str:
    return ", ".join(str(ids[place]) for place in places)


def _at(places: Sequence[int], detail: str) -> list[FieldError]:
    return [FieldError(f"/backing/{place}/physicalAssetID", detail) for place in places]


def _available(series: AvailabilitySeries) -> list[Available]:
    return [
        Available(run.start, run.end, Capacity(run.charge_power_kw, run.discharge_power_kw, run.energy_kwh))
        for run in series.runs()
    ]


def _told(physical: PhysicalTerms, asked: Capacity, shortage: Shortage) -> dict[str, object]:
    def wire(capacity: Capacity) -> dict[str, float]:
        return {
            "charge": round(capacity.charge_kw, 6),
            "discharge": round(capacity.discharge_kw, 6),
            "energyCapacity": round(capacity.energy_kwh, 6),
        }

    return {
        "physicalAssetID": str(physical.id),
        "start": written(shortage.start),
        "end": written(shortage.end),
        "asked": wire(asked),
        "available": wire(shortage.available),
        "promised": wire(shortage.promised),
        "free": wire(shortage.free),
    }
