"""Holdings of batteries' capacity for a virtual asset or its auction: validated, transferred and released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from gridloom.capacity.holding import CapacityRequest, hold_capacity, release_holdings, replace_holdings
from gridloom.capacity.model import Holding, HoldingGroup, HoldingKind, OneWayEfficiency
from gridloom.capacity.store import LockedBatteries, lock_batteries
from gridloom.kernel.problem import FieldError, Problem
from gridloom.kernel.window import Window
from gridloom.market_calendar import window_periods
from gridloom.physical_assets.model import AssetStatus
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing import store
from gridloom.virtual_assets.backing.shortfall import seal_closed_periods
from gridloom.virtual_assets.backing.store import CycleLimits, PhysicalTerms
from gridloom.virtual_assets.model import MAX_GATE_CLOSURE_S, AssetTerms, BackingShare, Promise


class UnknownBackingAsset(Problem, status=422, title="A backing asset is unknown"):
    """Each `backing` entry names a physical asset that is registered here, once. The detail lists the ids at fault."""


class BackingAssetInactive(Problem, status=409, title="A backing asset is not active"):
    """Only physical assets in status `ACTIVE` can back a virtual asset."""


class DeliveryZonesDiffer(Problem, status=422, title="A backing asset lies in another delivery zone"):
    """A virtual asset and the physical assets behind it lie in the same delivery zone."""


class CycleLimitExceeded(Problem, status=422, title="The batteries allow fewer cycles"):
    """A virtual asset has at most the cycles a day and a year of each battery behind it, by the parameters in force at
    any instant of its life. Left out, they are the lowest of the batteries'; a battery without a limit sets none."""


@dataclass(frozen=True, slots=True)
class HeldBacking:
    """The terms with the batteries' cycle limits where they name none, and the promise of each battery."""

    terms: AssetTerms
    promises: list[Promise]


async def hold_backing(
    db: Database,
    terms: AssetTerms,
    kind: HoldingKind,
    holder_id: UUID,
    organisation_id: UUID | None = None,
    replaced: Sequence[UUID] = (),
    pointer: str = "",
) -> HeldBacking:
    """Hold the capacity that the terms need of each backing asset, or refuse and name the shortage of each.

    `pointer` leads to the terms in the request. `replaced` are batteries of which the same holder holds capacity
    already, which does not count. Locks the batteries in the order of their keys until the transaction ends; a caller
    locks an auction before.
    """
    ids = [share.physical_asset_id for share in terms.backing]
    keys = await store.read_keys(db, [*ids, *replaced])
    locked = await lock_batteries(db, keys.values())
    known = await store.read_physical_terms(db, keys.values())
    _check_backing(terms, known)
    limits = await store.read_cycle_limits(db, [known[one].key for one in ids], terms.window.start, terms.window.end)
    terms = limit_cycles(terms, limits, pointer)
    stands_in = {keys[asset_id] for asset_id in replaced if asset_id in keys}
    promises = [_promise_of(terms, share, known[share.physical_asset_id]) for share in terms.backing]
    requests = [
        CapacityRequest(
            promise.physical_asset_key,
            promise.physical_asset_id,
            [HoldingGroup((backing_holding(terms, promise, kind, holder_id, organisation_id),), f"/backing/{index}")],
            [holder_id] if promise.physical_asset_key in stands_in else (),
        )
        for index, promise in enumerate(promises)
    ]
    if stands_in:
        await _seal_closed_periods(db, locked)
    left = stands_in - {promise.physical_asset_key for promise in promises}
    requests += [CapacityRequest(key, holder_id, released=[holder_id]) for key in left]
    await hold_capacity(db, locked, requests)
    return HeldBacking(terms, promises)


def limit_cycles(terms: AssetTerms, limits: CycleLimits, pointer: str = "") -> AssetTerms:
    """The terms with the batteries' limits where they name none; refused if they name a higher one."""
    faults = [
        FieldError(f"{pointer}/{name}", f"is above the batteries' {limit:g}")
        for name, asked, limit in (
            ("dailyCycleLimit", terms.daily_cycle_limit, limits.daily),
            ("annualCycleLimit", terms.annual_cycle_limit, limits.annual),
        )
        if asked is not None and limit is not None and asked > limit
    ]
    if faults:
        raise CycleLimitExceeded("; ".join(f"{error.pointer} {error.detail}" for error in faults) + ".", faults)
    daily, annual = terms.daily_cycle_limit, terms.annual_cycle_limit
    return replace(
        terms,
        daily_cycle_limit=limits.daily if daily is None else daily,
        annual_cycle_limit=limits.annual if annual is None else annual,
    )


async def transfer_backing(
    db: Database, terms: AssetTerms, auction_id: UUID, virtual_asset_id: UUID, organisation_id: UUID
) -> list[Promise]:
    """Turn the holdings of an auction into promises to the virtual asset that was won, without another validation."""
    keys = await store.read_keys(db, [share.physical_asset_id for share in terms.backing])
    locked = await lock_batteries(db, keys.values())
    known = await store.read_physical_terms(db, keys.values())
    promises = [_promise_of(terms, share, known[share.physical_asset_id]) for share in terms.backing]
    for promise in promises:
        holding = backing_holding(terms, promise, HoldingKind.VIRTUAL_ASSET, virtual_asset_id, organisation_id)
        await replace_holdings(db, locked, promise.physical_asset_key, released=[auction_id], holdings=[holding])
    return promises


async def lock_backing(db: Database, asset_ids: Sequence[UUID]) -> LockedBatteries:
    return await lock_batteries(db, (await store.read_keys(db, asset_ids)).values())


async def release_backing(db: Database, asset_ids: Sequence[UUID], holder_id: UUID) -> LockedBatteries:
    """Release the holder's capacity of these batteries."""
    keys = await store.read_keys(db, asset_ids)
    locked = await lock_batteries(db, keys.values())
    await _seal_closed_periods(db, locked)
    for key in keys.values():
        await release_holdings(db, locked, key, [holder_id])
    return locked


async def _seal_closed_periods(db: Database, locked: LockedBatteries) -> None:
    """Seal what the virtual assets of these batteries lacked at gates that have closed, before others' capacity, which
    bore losses beside them, is released."""
    ahead = Window(locked.since, locked.since + timedelta(seconds=MAX_GATE_CLOSURE_S))
    assets = {asset.key: asset for key in locked.keys for asset in await store.read_assets_backed_by(db, key, ahead)}
    await seal_closed_periods(db, list(assets.values()), locked.since)


def backing_holding(
    terms: AssetTerms, promise: Promise, kind: HoldingKind, holder_id: UUID, organisation_id: UUID | None
) -> Holding:
    first, end = window_periods(terms.window)
    return Holding(
        kind,
        holder_id,
        first,
        end,
        promise.charge_kw,
        promise.discharge_kw,
        promise.energy_kwh,
        losses=OneWayEfficiency(terms.efficiency.charge, terms.efficiency.discharge),
        organisation_id=organisation_id,
    )


def _promise_of(terms: AssetTerms, share: BackingShare, physical: PhysicalTerms) -> Promise:
    return Promise(
        physical.key,
        physical.id,
        share.share,
        share.share * terms.charge_kw,
        share.share * terms.discharge_kw,
        share.share * terms.energy_capacity_kwh,
    )


def _check_backing(terms: AssetTerms, known: dict[UUID, PhysicalTerms]) -> None:
    ids = [share.physical_asset_id for share in terms.backing]
    unknown_ids = [index for index, id in enumerate(ids) if id not in known]
    if unknown_ids:
        raise UnknownBackingAsset(
            f"No physical asset is registered here under {_list_ids(ids, unknown_ids)}.",
            _point_at(unknown_ids, "is not registered here"),
        )
    idle = [index for index, id in enumerate(ids) if known[id].status is not AssetStatus.ACTIVE]
    if idle:
        raise BackingAssetInactive(f"Not active: {_list_ids(ids, idle)}.", _point_at(idle, "is not active"))
    elsewhere = [index for index, id in enumerate(ids) if known[id].delivery_zone != terms.delivery_zone]
    if elsewhere:
        raise DeliveryZonesDiffer(
            f"Not in the delivery zone {terms.delivery_zone}: {_list_ids(ids, elsewhere)}.",
            _point_at(elsewhere, f"lies in {known[ids[elsewhere[0]]].delivery_zone}"),
        )


def _list_ids(ids: Sequence[UUID], indices: Sequence[int]) -> str:
    return ", ".join(str(ids[index]) for index in indices)


def _point_at(indices: Sequence[int], detail: str) -> list[FieldError]:
    return [FieldError(f"/backing/{index}/physicalAssetID", detail) for index in indices]
