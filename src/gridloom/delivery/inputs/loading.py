"""A zone as it is: what its virtual assets will do, what its batteries can do, and what they hold in reserve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY
from gridloom.capacity.book import market_days_around
from gridloom.capacity.loss_order import firm_coverage
from gridloom.capacity.store import load_battery_capacity
from gridloom.delivery.inputs import store
from gridloom.delivery.inputs.store import ActiveAsset, BackingRow, Reserve
from gridloom.delivery.model import CODE_OF_KIND, BatteryLimits, Mask, PartKind, sum_rows
from gridloom.delivery.planning.distribution import energy_changes_kwh
from gridloom.delivery.planning.model import StoredInputs, ZoneInput
from gridloom.delivery.planning.reserves import HeldReserves, ReserveCapability, ReservePower, hold_reserves
from gridloom.kernel.market_time import period_number, period_start
from gridloom.market_calendar import PERIOD_S, Floats, Ints, first_period_of_utc_day, utc_day_of
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.energy.projection import project
from gridloom.virtual_assets.history.store import read_unannounced_cuts, spread_cuts
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.store import read_asset_by_key


@dataclass(frozen=True, slots=True, eq=False)
class LoadedZone:
    """A zone, and what it was loaded from besides schedules."""

    zone: ZoneInput
    inputs: StoredInputs


@dataclass(frozen=True, slots=True, eq=False)
class _Backing:
    """Which batteries stand behind the active assets; `share_of` has the indices of asset and battery."""

    assets: Sequence[ActiveAsset]
    rows: Sequence[BackingRow]
    battery_keys: Sequence[int]
    share_of: Ints
    shares: Floats


async def load_zone(db: Database, name: str, first: int, end: int) -> LoadedZone:
    """The periods [first, end)."""
    assets = await store.read_active_assets(db, name, period_start(first), period_start(end))
    keys = [asset.key for asset in assets]
    day_first = first_period_of_utc_day(utc_day_of(first))
    since_kw = await store.read_powers_kw(db, keys, day_first, end)
    today_kw = since_kw[:, : first - day_first]
    powers = await _apply_cuts(db, assets, since_kw[:, first - day_first :], first, end)
    backing = await _load_backing(db, assets)
    blocks = await store.read_block_reserves(db, keys, first, end)
    digest = await store.read_holdings_digest(db, backing.battery_keys, *market_days_around(first, end))
    park = await _load_park(db, backing, _block_reserves(blocks, backing, first, end), first, end)
    efficiencies = np.array([(one.charge_efficiency, one.discharge_efficiency) for one in assets]).reshape(-1, 2)
    lifetimes = np.array([(one.first, one.end) for one in assets], dtype=np.int64).reshape(-1, 2)
    energies_kwh = await _load_energies_kwh(db, assets, first, today_kw)
    inputs = StoredInputs(
        first,
        lifetimes,
        efficiencies,
        energies_kwh,
        *list_reserves(blocks),
        digest,
        park.limits,
        park.capacity_kwh,
    )
    zone = ZoneInput(
        first=first,
        end=end,
        asset_keys=np.array(keys, dtype=np.int64),
        battery_keys=np.array(backing.battery_keys, dtype=np.int64),
        power_kw=powers.power_kw,
        undelivered_kw=powers.undelivered_kw,
        share_of=backing.share_of,
        shares=backing.shares,
        limits=park.limits,
        share_energy_changes_kwh=share_energy_changes_kwh(
            powers.power_kw + powers.undelivered_kw, inputs, backing.share_of, backing.shares
        ),
        capacity_kwh=park.capacity_kwh,
        reserve_keys=park.reserves.keys,
        reserve_kw=park.reserves.power_kw,
        shortfall_keys=_name_shortfalls(park.reserves.shortfall_keys, backing.battery_keys),
        shortfall_kw=park.reserves.shortfall_kw,
    )
    return LoadedZone(zone, inputs)


async def _load_backing(db: Database, assets: Sequence[ActiveAsset]) -> _Backing:
    rows = await store.read_backing(db, [asset.key for asset in assets])
    battery_keys = sorted({one.physical_asset_key for one in rows})
    asset_indices = {asset.key: index for index, asset in enumerate(assets)}
    battery_indices = {key: index for index, key in enumerate(battery_keys)}
    pairs = [(asset_indices[one.asset_key], battery_indices[one.physical_asset_key]) for one in rows]
    share_of = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return _Backing(assets, rows, battery_keys, share_of, np.array([one.share for one in rows]))


@dataclass(frozen=True, slots=True, eq=False)
class BatteryPark:
    """Batteries in the order of their keys: what they can do and store, and the reserves in them."""

    limits: BatteryLimits
    capacity_kwh: Floats
    reserves: HeldReserves


async def load_released_batteries(db: Database, keys: Sequence[int], first: int, end: int) -> BatteryPark:
    """Batteries that back no virtual asset in these periods: they follow their owners, and hold their own awards."""
    backing = _Backing([], [], list(keys), np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    return await _load_park(db, backing, [], first, end)


async def _load_park(
    db: Database, backing: _Backing, block_reserves: Sequence[ReservePower], first: int, end: int
) -> BatteryPark:
    keys = backing.battery_keys
    indices = {key: index for index, key in enumerate(keys)}
    awards = await store.read_awarded_reserves(db, keys, period_start(first), period_start(end))
    own = [_reserve_power(indices[one.asset_key], one, 0, 1.0, first, end) for one in awards]
    promised_kwh = _sum_promised(backing, lambda asset: asset.capacity_kwh, first, end)
    books = await _load_books(db, keys, first, end)
    reserves = hold_reserves([*block_reserves, *own], books.capability(promised_kwh > 0))
    limits, capacity_kwh = await _load_limits(db, backing, reserves, books, promised_kwh, first, end)
    return BatteryPark(limits, capacity_kwh, reserves)


@dataclass(frozen=True, slots=True, eq=False)
class AssetPowers:
    """Of virtual assets, a row each: the power after all cuts, and what of the cuts counts as delivered besides."""

    power_kw: Floats
    undelivered_kw: Floats


async def load_powers(db: Database, keys: Sequence[int], first: int, end: int) -> AssetPowers:
    """Of each asset; keys in their order."""
    scheduled_kw = await store.read_powers_kw(db, keys, first, end)
    return await _apply_cuts(db, await store.read_assets(db, keys), scheduled_kw, first, end)


def list_reserves(blocks: Sequence[Reserve]) -> tuple[Ints, Floats]:
    """Balancing blocks as the arrays of `StoredInputs`."""
    names = [(one.asset_key, CODE_OF_KIND[PartKind(one.market)], one.first, one.end) for one in blocks]
    amounts = [(one.power_kw, one.reserve_h) for one in blocks]
    return np.array(names, dtype=np.int64).reshape(-1, 4), np.array(amounts, dtype=np.float64).reshape(-1, 2)


def asset_changes_kwh(power_kw: Floats, inputs: StoredInputs, rows: Ints | slice = slice(None)) -> Floats:
    """How the energy of virtual assets goes on; at the end of a life it becomes the target.

    What an asset ends off its target is between its holder and the owners: from then on it is drift of the batteries.
    """
    efficiencies, energies_kwh, lifetimes = inputs.efficiencies[rows], inputs.energies_kwh[rows], inputs.lifetimes[rows]
    changes_kwh = energy_changes_kwh(power_kw, efficiencies[:, :1], efficiencies[:, 1:])
    last = lifetimes[:, 1] - inputs.first - 1
    ending = np.flatnonzero(last < power_kw.shape[1])
    ends_kwh = energies_kwh[ending, 0] + changes_kwh[ending].sum(axis=1)
    changes_kwh[ending, last[ending]] += energies_kwh[ending, 2] - ends_kwh
    return changes_kwh


def share_energy_changes_kwh(power_kw: Floats, inputs: StoredInputs, share_of: Ints, shares: Floats) -> Floats:
    """The change of each battery's energy by shares and own schedules alone."""
    limits = inputs.limits
    own_kwh = energy_changes_kwh(limits.own_kw, limits.charge_efficiency, limits.discharge_efficiency)
    changes_kwh = asset_changes_kwh(power_kw, inputs)
    return own_kwh + sum_rows(shares[:, None] * changes_kwh[share_of[:, 0]], share_of[:, 1], len(own_kwh))


async def _load_energies_kwh(db: Database, assets: Sequence[ActiveAsset], first: int, today_kw: Floats) -> Floats:
    """Of each virtual asset: stored at `first`, energy capacity, target of the end of life.

    `today_kw` is what they do in the periods of the UTC day before `first`.
    """
    changes_kwh = await store.read_energy_changes_kwh(db, [asset.key for asset in assets], utc_day_of(first))
    activated_kwh = await store.read_activated_changes_kwh(db, assets, first)
    today_kwh = energy_changes_kwh(
        today_kw,
        np.array([[one.charge_efficiency] for one in assets]).reshape(-1, 1),
        np.array([[one.discharge_efficiency] for one in assets]).reshape(-1, 1),
    ).sum(axis=1)
    initial_kwh, capacity_kwh, target_kwh = (
        np.array([getattr(one, name) for one in assets]) for name in ("initial_kwh", "capacity_kwh", "target_kwh")
    )
    stored_kwh = np.clip(initial_kwh + changes_kwh + today_kwh + activated_kwh, 0.0, capacity_kwh)
    return np.stack([stored_kwh, capacity_kwh, target_kwh], axis=1).reshape(-1, 3)


async def _apply_cuts(
    db: Database, assets: Sequence[ActiveAsset], scheduled_kw: Floats, first: int, end: int
) -> AssetPowers:
    """Cuts that were made, and those to expect."""
    power_kw, undelivered_kw = scheduled_kw.copy(), np.zeros_like(scheduled_kw)
    made = await read_unannounced_cuts(db, [asset.key for asset in assets], first, end)
    for row, asset in enumerate(assets):
        undelivered_kw[row] = spread_cuts(made.get(asset.key, ()), first, end).unfollowed_kw
        power_kw[row] -= undelivered_kw[row]
        if asset.first_misfit is None or asset.first_misfit >= end:
            continue
        low, high = max(first, asset.first), min(end, asset.end)
        whole = await read_asset_by_key(db, asset.key)
        if whole is None or low >= high:
            continue
        _, projected = await load_projection_input(db, whole, low, high, closed=whole.first_misfit)
        projection = project(projected)
        for cut in projection.cuts:
            index = low - first + cut.position
            power_kw[row, index], undelivered_kw[row, index] = cut.adjusted_kw, cut.scheduled_kw - cut.adjusted_kw
    return AssetPowers(power_kw, undelivered_kw)


def _block_reserves(blocks: Sequence[Reserve], backing: _Backing, first: int, end: int) -> list[ReservePower]:
    """Each battery's share of virtual assets' blocks."""
    indices = {key: index for index, key in enumerate(backing.battery_keys)}
    behind: dict[int, list[BackingRow]] = {}
    for one in backing.rows:
        behind.setdefault(one.asset_key, []).append(one)
    return [
        _reserve_power(indices[one.physical_asset_key], block, block.asset_key, one.share, first, end)
        for block in blocks
        for one in behind.get(block.asset_key, ())
    ]


def _reserve_power(battery: int, reserve: Reserve, asset_key: int, share: float, first: int, end: int) -> ReservePower:
    power_kw = np.zeros(end - first)
    power_kw[max(0, reserve.first - first) : max(0, reserve.end - first)] = share * reserve.power_kw
    return ReservePower(battery, PartKind(reserve.market), asset_key, power_kw, reserve.reserve_h)


def _name_shortfalls(keys: Ints, battery_keys: Sequence[int]) -> Ints:
    """From the battery's index, the kind and the asset to the asset, the kind and the battery's key."""
    named = [(asset, kind, battery_keys[battery]) for battery, kind, asset in keys.tolist()]
    return np.array(named, dtype=np.int64).reshape(-1, 3)


def _sum_promised(backing: _Backing, amount: Callable[[ActiveAsset], float], first: int, end: int) -> Floats:
    """Σ share × an amount of each virtual asset, by battery, in the periods in which the asset is alive."""
    amounts = np.array([amount(asset) for asset in backing.assets])
    lifetimes = np.array([(asset.first, asset.end) for asset in backing.assets], dtype=np.int64).reshape(-1, 2)
    periods = np.arange(first, end)
    is_alive = (periods >= lifetimes[:, :1]) & (periods < lifetimes[:, 1:])
    indices = backing.share_of[:, 0]
    rows = np.where(is_alive[indices], (backing.shares * amounts[indices])[:, None], 0.0)
    return sum_rows(rows, backing.share_of[:, 1], len(backing.battery_keys))


async def _load_limits(
    db: Database,
    backing: _Backing,
    reserves: HeldReserves,
    books: _Books,
    promised_kwh: Floats,
    first: int,
    end: int,
) -> tuple[BatteryLimits, Floats]:
    """Each battery's limits, and its energy capacity."""
    keys, count = backing.battery_keys, len(backing.battery_keys)
    available, rated = books.available, books.rated_kwh
    means = await _load_parameters(db, keys, first, end)
    fcr_kw, up_kw, down_kw = reserves.by_kind(count)
    fcr_kwh, up_kwh, down_kwh = reserves.energy_by_kind(count)
    reserve_stored_kwh = (fcr_kwh + up_kwh) / means.discharge
    reserve_headroom_kwh = (fcr_kwh + down_kwh) * means.charge
    low_kwh = means.min_soc * available[ENERGY] + reserve_stored_kwh
    high_kwh = means.max_soc * available[ENERGY] - reserve_headroom_kwh
    limits = BatteryLimits(
        charge_kw=np.maximum(available[CHARGE] - fcr_kw - down_kw, 0.0),
        discharge_kw=np.maximum(available[DISCHARGE] - fcr_kw - up_kw, 0.0),
        low_kwh=low_kwh,
        high_kwh=np.maximum(high_kwh, low_kwh),
        charge_efficiency=means.charge,
        discharge_efficiency=means.discharge,
        own_kw=await store.read_own_kw(db, keys, first, end),
        drift_kw=await store.read_drift_kw(db, keys, first, end),
        free_charge_kw=reserves.free_charge_kw,
        free_discharge_kw=reserves.free_discharge_kw,
        promised_kwh=promised_kwh,
        ramp_kw=means.ramp_kw,
        daily_export_kwh=_find_export_limits(
            backing, means.daily_cycles * rated, lambda asset: asset.daily_cycle_limit, first, end
        ),
        annual_export_kwh=_find_export_limits(
            backing, means.annual_cycles * rated, lambda asset: asset.annual_cycle_limit, first, end
        ),
        reserve_stored_kwh=reserve_stored_kwh,
        reserve_headroom_kwh=reserve_headroom_kwh,
        available_fraction=np.divide(available[ENERGY], rated, out=np.ones_like(rated), where=rated > 0),
        energy_kwh=np.zeros(count),
    )
    return limits, rated


def _find_export_limits(
    backing: _Backing, battery_kwh: Floats, limit: Callable[[ActiveAsset], float | None], first: int, end: int
) -> Floats:
    """A battery's cycle limit, or what it was promised to where that is more: promises keep the limits they have."""

    def promised_kwh(asset: ActiveAsset) -> float:
        cycles = limit(asset)
        return np.inf if cycles is None else cycles * asset.capacity_kwh

    return np.maximum(battery_kwh, _sum_promised(backing, promised_kwh, first, end))


@dataclass(frozen=True, slots=True, eq=False)
class _Parameters:
    charge: Floats
    discharge: Floats
    min_soc: Floats
    max_soc: Floats
    ramp_kw: Floats
    daily_cycles: Floats
    annual_cycles: Floats


async def _load_parameters(db: Database, keys: Sequence[int], first: int, end: int) -> _Parameters:
    """The parameters in force in each period; infinite where there is no limit."""
    indices = {key: index for index, key in enumerate(keys)}
    shape = (len(keys), end - first)
    ones, unlimited = np.ones(shape), np.full(shape, np.inf)
    found = _Parameters(ones, ones.copy(), np.zeros(shape), ones.copy(), unlimited, unlimited.copy(), unlimited.copy())
    for one in await store.read_parameters(db, keys, period_start(end)):
        row, low = indices[one.asset_key], max(0, period_number(one.valid_from) - first)
        found.charge[row, low:] = one.charge_efficiency
        found.discharge[row, low:] = one.discharge_efficiency
        found.min_soc[row, low:] = one.min_soc
        found.max_soc[row, low:] = one.max_soc
        found.ramp_kw[row, low:] = np.inf if one.ramp_rate_kw_s is None else one.ramp_rate_kw_s * PERIOD_S
        found.daily_cycles[row, low:] = np.inf if one.daily_cycle_limit is None else one.daily_cycle_limit
        found.annual_cycles[row, low:] = np.inf if one.annual_cycle_limit is None else one.annual_cycle_limit
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Books:
    """Of all batteries' books, by column (CHARGE, DISCHARGE, ENERGY), battery and period: what is available, what of it
    is free, and which fraction of its firm holdings a loss of capacity leaves; and the rated energy."""

    available: Floats
    free: Floats
    coverage: Floats
    rated_kwh: Floats

    def capability(self, backs_virtual_asset: Mask) -> ReserveCapability:
        return ReserveCapability(
            self.free[CHARGE],
            self.free[DISCHARGE],
            self.free[ENERGY],
            self.coverage[CHARGE],
            self.coverage[DISCHARGE],
            self.coverage[ENERGY],
            backs_virtual_asset,
        )


async def _load_books(db: Database, keys: Sequence[int], first: int, end: int) -> _Books:
    shape = (3, len(keys), end - first)
    found = _Books(np.zeros(shape), np.zeros(shape), np.ones(shape), np.zeros(shape[1:]))
    capacity = await load_battery_capacity(db, keys, first, end)
    for index, key in enumerate(keys):
        book = capacity[key].book(first, end)
        steps = np.repeat(np.arange(len(book.edges) - 1), np.diff(book.edges))
        found.available[:, index] = book.available[steps].T
        found.free[:, index] = book.free[steps].T
        found.coverage[:, index] = firm_coverage(book)[steps].T
        found.rated_kwh[index] = book.rated[steps, ENERGY]
    return found
