"""A zone as it stands: what its virtual assets will do, what its batteries can do, and what stands by in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.capacity.book import market_days_around
from gridloom.capacity.losses import kept_of_firm
from gridloom.capacity.store import load_standing as load_standing_books
from gridloom.database.pool import Database
from gridloom.delivery.model import CODE_OF_KIND, Batteries, Floats, Ints, PartKind, sum_rows
from gridloom.delivery.planning.spreading import changes_kwh
from gridloom.delivery.planning.zone import Inputs, Zone
from gridloom.delivery.situation import store
from gridloom.delivery.situation.store import LiveAsset, Reserve
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import CHARGE, DISCHARGE, ENERGY, load_availability
from gridloom.virtual_assets.energy.projection import project
from gridloom.virtual_assets.energy.standing import load_standing
from gridloom.virtual_assets.store import read_asset_by_key


@dataclass(frozen=True, slots=True, eq=False)
class StandBy:
    """Power that stands by in a battery; `asset_key` is the virtual asset whose block it is, 0 where it is its own.

    `reserve_h`: for how long full power must be in store, or have room, as it was when the capacity was promised.
    """

    battery: int
    kind: PartKind
    asset_key: int
    power_kw: Floats
    reserve_h: float


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A zone, and what it was made from besides schedules."""

    zone: Zone
    inputs: Inputs


async def load_zone(db: Database, name: str, first: int, end: int) -> Loaded:
    """The periods `first` up to but not `end`."""
    start, stop = period_start(first), period_start(end)
    assets = await store.read_live_assets(db, name, start, stop)
    keys = [asset.key for asset in assets]
    power_kw = await load_powers_kw(db, assets, first, end)
    backing = await store.read_backing(db, keys)
    battery_keys = sorted({one.physical_asset_key for one in backing})
    asset_places = {key: place for place, key in enumerate(keys)}
    battery_places = {key: place for place, key in enumerate(battery_keys)}
    share_of = np.array(
        [(asset_places[one.asset_key], battery_places[one.physical_asset_key]) for one in backing], dtype=np.int64
    ).reshape(-1, 2)
    shares = np.array([one.share for one in backing])
    blocks = await store.read_block_reserves(db, keys, first, end)
    marks = await store.read_book_marks(db, battery_keys, *market_days_around(first, end))
    stand_bys = _block_stand_bys(blocks, backing, battery_places, first, end)
    serves = _find_serving(assets, share_of, len(battery_keys), first, end)
    park = await _load_park(db, battery_keys, stand_bys, serves, first, end)
    limits = park.limits
    efficiencies = np.array([(one.charge_efficiency, one.discharge_efficiency) for one in assets]).reshape(-1, 2)
    inputs = Inputs(
        first,
        np.array([(one.first, one.end) for one in assets], dtype=np.int64).reshape(-1, 2),
        efficiencies,
        *list_reserves(blocks),
        marks,
        limits,
        park.capacity_kwh,
    )
    zone = Zone(
        first,
        end,
        np.array(keys, dtype=np.int64),
        np.array(battery_keys, dtype=np.int64),
        power_kw,
        share_of,
        shares,
        limits,
        due_changes_kwh(power_kw, efficiencies, share_of, shares, limits),
        park.capacity_kwh,
        park.stand_by_of,
        park.stand_by_kw,
    )
    return Loaded(zone, inputs)


@dataclass(frozen=True, slots=True, eq=False)
class Park:
    """Batteries in the order of their keys: what they can do and hold, and what stands by in them, named as in
    `Zone`."""

    limits: Batteries
    capacity_kwh: Floats
    stand_by_of: Ints
    stand_by_kw: Floats


async def load_idle_park(db: Database, keys: Sequence[int], first: int, end: int) -> Park:
    """Batteries that back nobody in these periods: they follow their owners, and hold what those were awarded."""
    return await _load_park(db, keys, [], np.zeros((len(keys), end - first)), first, end)


async def _load_park(
    db: Database, keys: Sequence[int], block_stand_bys: Sequence[StandBy], serves: Floats, first: int, end: int
) -> Park:
    places = {key: place for place, key in enumerate(keys)}
    awards = await store.read_awarded_reserves(db, keys, period_start(first), period_start(end))
    own = [_stand_by(places[one.asset_key], one, 0, 1.0, first, end) for one in awards]
    free_kw, kept = await _load_books(db, keys, first, end)
    stand_bys = [_shrink_stand_by(one, kept) for one in (*block_stand_bys, *own)]
    limits, capacity_kwh = await _load_limits(db, keys, stand_bys, free_kw, serves, first, end)
    return Park(limits, capacity_kwh, *_sum_stand_bys(stand_bys, end - first))


async def load_powers_kw(db: Database, assets: Sequence[LiveAsset], first: int, end: int) -> Floats:
    """What each of the assets will do, after the cuts that are known to come."""
    power_kw = await store.read_powers_kw(db, [asset.key for asset in assets], first, end)
    await _lay_cuts(db, assets, power_kw, first, end)
    return power_kw


def list_reserves(blocks: Sequence[Reserve]) -> tuple[Ints, Floats]:
    """Balancing blocks as the arrays of `Inputs`."""
    names = [(one.asset_key, CODE_OF_KIND[PartKind(one.market)], one.first, one.end) for one in blocks]
    amounts = [(one.power_kw, one.reserve_h) for one in blocks]
    return np.array(names, dtype=np.int64).reshape(-1, 4), np.array(amounts, dtype=np.float64).reshape(-1, 2)


def due_changes_kwh(
    power_kw: Floats, efficiencies: Floats, share_of: Ints, shares: Floats, limits: Batteries
) -> Floats:
    """What shares and owners' schedules alone do to each battery's energy."""
    stored_kwh = changes_kwh(power_kw, efficiencies[:, :1], efficiencies[:, 1:])
    due_kwh = changes_kwh(limits.own_kw, limits.charge_efficiency, limits.discharge_efficiency)
    due_kwh += sum_rows(shares[:, None] * stored_kwh[share_of[:, 0]], share_of[:, 1], len(limits.own_kw))
    return due_kwh


def _sum_stand_bys(stand_bys: Sequence[StandBy], periods: int) -> tuple[Ints, Floats]:
    """Names and powers, one row for each name."""
    held: dict[tuple[int, int, int], Floats] = {}
    for one in stand_bys:
        name = (one.battery, CODE_OF_KIND[one.kind], one.asset_key)
        held[name] = held.get(name, np.zeros(periods)) + one.power_kw
    return np.array(list(held), dtype=np.int64).reshape(-1, 3), np.array(list(held.values())).reshape(-1, periods)


async def _lay_cuts(db: Database, assets: Sequence[LiveAsset], power_kw: Floats, first: int, end: int) -> None:
    """What is known to be cut when its gate closes will not be done."""
    for place, asset in enumerate(assets):
        if asset.first_misfit is None or asset.first_misfit >= end:
            continue
        low, high = max(first, asset.first), min(end, asset.end)
        whole = await read_asset_by_key(db, asset.key)
        if whole is None or low >= high:
            continue
        _, standing = await load_standing(db, whole, low, high)
        cut_kw = project(standing).power_kw
        power_kw[place, low - first : high - first] = cut_kw.sum(axis=0)


def _block_stand_bys(
    blocks: Sequence[Reserve],
    backing: Sequence[store.Backing],
    battery_places: dict[int, int],
    first: int,
    end: int,
) -> list[StandBy]:
    """Each battery holds its share of a virtual asset's blocks."""
    behind: dict[int, list[store.Backing]] = {}
    for one in backing:
        behind.setdefault(one.asset_key, []).append(one)
    return [
        _stand_by(battery_places[one.physical_asset_key], block, block.asset_key, one.share, first, end)
        for block in blocks
        for one in behind.get(block.asset_key, ())
    ]


def _stand_by(battery: int, reserve: Reserve, asset_key: int, share: float, first: int, end: int) -> StandBy:
    power_kw = np.zeros(end - first)
    power_kw[max(0, reserve.first - first) : max(0, reserve.end - first)] = share * reserve.power_kw
    return StandBy(battery, PartKind(reserve.market), asset_key, power_kw, reserve.reserve_h)


def _find_serving(assets: Sequence[LiveAsset], share_of: Ints, batteries: int, first: int, end: int) -> Floats:
    """1 where a virtual asset lives that the battery backs, else 0."""
    serves = np.zeros((batteries, end - first))
    for asset, battery in share_of.tolist():
        serves[battery, max(0, assets[asset].first - first) : max(0, assets[asset].end - first)] = 1.0
    return serves


async def _load_limits(
    db: Database,
    keys: Sequence[int],
    stand_bys: Sequence[StandBy],
    free_kw: Floats,
    serves: Floats,
    first: int,
    end: int,
) -> tuple[Batteries, Floats]:
    """What each battery can do, and what it can hold."""
    count, periods = len(keys), end - first
    window = Window(period_start(first), period_start(end))
    series = await load_availability(db, keys, window)
    there = np.array([series[key].available for key in keys]).reshape(count, periods, 3)
    rated = np.array([series[key].rated[:, ENERGY] for key in keys]).reshape(count, periods)
    means = await _load_means(db, keys, first, end)
    held_kw, reserved_kwh = np.zeros((2, 3, count, periods))
    for one in stand_bys:
        held_kw[_ROW[one.kind], one.battery] += one.power_kw
        reserved_kwh[_ROW[one.kind], one.battery] += one.reserve_h * one.power_kw
    own_kw = await store.read_own_kw(db, keys, first, end)
    fcr_kw, up_kw, down_kw = held_kw
    charge_kw = np.maximum(there[:, :, CHARGE] - fcr_kw - down_kw, 0.0)
    discharge_kw = np.maximum(there[:, :, DISCHARGE] - fcr_kw - up_kw, 0.0)
    fcr_kwh, up_kwh, down_kwh = reserved_kwh
    low_kwh = means.lowest * there[:, :, ENERGY] + (fcr_kwh + up_kwh) / means.discharge
    high_kwh = means.highest * there[:, :, ENERGY] - (fcr_kwh + down_kwh) * means.charge
    limits = Batteries(
        charge_kw,
        discharge_kw,
        low_kwh,
        np.maximum(high_kwh, low_kwh),
        means.charge,
        means.discharge,
        own_kw,
        free_kw[0],
        free_kw[1],
        serves,
        np.zeros(count),
    )
    return limits, rated


_ROW: Final = {PartKind.FCR: 0, PartKind.AFRR_POS: 1, PartKind.AFRR_NEG: 2}


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    charge: Floats
    discharge: Floats
    lowest: Floats
    highest: Floats


async def _load_means(db: Database, keys: Sequence[int], first: int, end: int) -> _Means:
    """Efficiencies and allowed states of charge in each period."""
    places = {key: place for place, key in enumerate(keys)}
    shape = (len(keys), end - first)
    means = _Means(np.ones(shape), np.ones(shape), np.zeros(shape), np.ones(shape))
    for one in await store.read_parameters(db, keys, period_start(end)):
        row, low = places[one.asset_key], max(0, period_number(one.valid_from) - first)
        means.charge[row, low:] = one.charge_efficiency
        means.discharge[row, low:] = one.discharge_efficiency
        means.lowest[row, low:] = one.lowest_part
        means.highest[row, low:] = one.highest_part
    return means


async def _load_books(db: Database, keys: Sequence[int], first: int, end: int) -> tuple[Floats, Floats]:
    """By each battery's book, with rows for charging and discharging: what nobody holds, and which part of what is firm
    a loss of capacity leaves."""
    free_kw = np.zeros((2, len(keys), end - first))
    kept = np.ones_like(free_kw)
    standing = await load_standing_books(db, keys, first, end)
    for place, key in enumerate(keys):
        book = standing[key].book(first, end)
        lengths, kept_parts = np.diff(book.edges), kept_of_firm(book)
        for row, column in enumerate((CHARGE, DISCHARGE)):
            free_kw[row, place] = np.repeat(book.free[:, column], lengths)
            kept[row, place] = np.repeat(kept_parts[:, column], lengths)
    return free_kw, kept


def _shrink_stand_by(one: StandBy, kept: Floats) -> StandBy:
    """What stands by is lost like all that is firm: FCR as the direction that loses more, aFRR as its own."""
    down, up = kept[0, one.battery], kept[1, one.battery]
    part = {PartKind.FCR: np.minimum(down, up), PartKind.AFRR_POS: up, PartKind.AFRR_NEG: down}[one.kind]
    return replace(one, power_kw=one.power_kw * part)
