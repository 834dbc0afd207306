"""The available fraction of a virtual asset, from the batteries that back it.

A loss of a battery first takes its free capacity, then its owner's schedule, then bids without a result. Promises, open
auctions and accepted capacity bear the rest pro rata, `available ÷ firm`. A virtual asset has
`rated · Σ share · min(1, available ÷ firm)` of charging, discharging and energy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from msgspec import Struct

from gridloom.capacity.availability import ENERGY
from gridloom.capacity.book import CapacityBook
from gridloom.capacity.loss_order import firm_coverage, precheck_covered
from gridloom.capacity.model import OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity
from gridloom.kernel.market_time import period_number
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats, touched_periods
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.model import Promise, VirtualAsset

_ONES: Final = np.broadcast_to(np.ones(()), 1 << 40)
"""A view on one number, for lives of any length."""


class AvailableFraction(Struct, frozen=True, eq=False):
    """Available ÷ rated, 0 to 1, in each period from `first` on."""

    first: int
    charge: Floats
    discharge: Floats
    energy: Floats
    is_full: bool = False
    """Whether nothing is lost; if False, the fractions may still all be 1."""

    @staticmethod
    def full(first: int, end: int) -> AvailableFraction:
        fraction = _ONES[: max(0, end - first)]
        return AvailableFraction(first, fraction, fraction, fraction, is_full=True)

    def between(self, first: int, end: int) -> AvailableFraction:
        cut = slice(first - self.first, end - self.first)
        return AvailableFraction(first, self.charge[cut], self.discharge[cut], self.energy[cut], self.is_full)

    @property
    def end(self) -> int:
        return self.first + len(self.charge)


class MeanAvailability(Struct, frozen=True):
    """Means of available ÷ rated over a window, 0 to 1."""

    power: float
    """The mean of charging and discharging; a direction that is rated 0 is left out."""
    energy: float
    deliverable: float
    """The mean of the lesser of both in each period."""


async def load_available(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    """In the periods [first, end)."""
    if first >= end:
        return AvailableFraction.full(first, end)
    keys = [promise.physical_asset_key for promise in asset.promises]
    return available_fraction(asset.promises, await load_firm_capacity(db, keys, first, end), first, end)


async def load_available_energy(db: Database, assets: Sequence[VirtualAsset], now: datetime) -> dict[int, float]:
    """By key, the fraction of each asset's energy that is available in the current period, or the nearest one of its
    life. Each battery is booked once for all assets that it backs."""
    periods = {asset.key: min(max(period_number(now), asset.first), asset.end - 1) for asset in assets}
    asked: dict[int, set[int]] = {}
    for asset in assets:
        for promise in asset.promises:
            asked.setdefault(promise.physical_asset_key, set()).add(periods[asset.key])
    capacities = await load_firm_capacity(db, asked, min(periods.values()), max(periods.values()) + 1)
    remaining = {key: remaining_energy_at(capacities[key], some) for key, some in asked.items()}
    fractions = {}
    for asset in assets:
        parts = [remaining[promise.physical_asset_key][periods[asset.key]] for promise in asset.promises]
        fractions[asset.key] = float(_weigh_by_shares(asset.promises, parts))
    return fractions


async def load_available_of_each(
    db: Database, assets: Sequence[VirtualAsset], window: Window
) -> list[tuple[VirtualAsset, AvailableFraction]]:
    """Of several assets, each in the part of its life that lies in the window; their capacity is read in one query."""
    first, end = touched_periods(window)
    keys = {promise.physical_asset_key for asset in assets for promise in asset.promises}
    capacities = await load_firm_capacity(db, keys, first, end)
    spans = [(asset, *asset.clip(first, end)) for asset in assets]
    return [
        (asset, available_fraction(asset.promises, capacities, low, high)) for asset, low, high in spans if low < high
    ]


def available_fraction(
    promises: Sequence[Promise], capacities: Mapping[int, BatteryCapacity], first: int, end: int
) -> AvailableFraction:
    """`capacities` has the firm capacity of each battery, over these periods at least."""
    remaining = [remaining_fraction(capacities[promise.physical_asset_key], first, end) for promise in promises]
    if all(fraction is None for fraction in remaining):
        return AvailableFraction.full(first, end)
    parts = [1.0 if fraction is None else fraction for fraction in remaining]
    return AvailableFraction(first, *_weigh_by_shares(promises, parts))


def _weigh_by_shares(promises: Sequence[Promise], parts: Sequence[Floats | float]) -> Floats:
    """The fraction of a virtual asset from those of its batteries; shares sum to 1 up to rounding."""
    weighed = sum(promise.share * part for promise, part in zip(promises, parts, strict=True))
    fractions = np.asarray(weighed) / math.fsum(promise.share for promise in promises)
    return np.where(fractions > 1 - 1e-12, 1.0, fractions)


def mean_power_fraction(charge: Floats, discharge: Floats, rated_kw: tuple[float, float]) -> Floats:
    """The mean of both directions; one that is rated 0 is left out."""
    charge_kw, discharge_kw = rated_kw
    if not charge_kw or not discharge_kw:
        return charge if charge_kw else discharge
    return np.asarray((charge + discharge) / 2)


def mean_available_of(
    shares: Sequence[tuple[int, float]],
    capacities: Mapping[int, BatteryCapacity],
    first: int,
    end: int,
    *,
    rated_kw: tuple[float, float],
) -> MeanAvailability:
    """Of a virtual asset with these shares of batteries, by steps of their books: a window may be long.

    `capacities` has the firm capacity of each battery, with the holding of the virtual asset itself.
    """
    books = [(share, _book_firm(capacities[key], first, end)) for key, share in shares]
    if all(book is None for _, book in books):
        return MeanAvailability(1.0, 1.0, 1.0)
    edges = np.unique(np.concatenate([book.edges for _, book in books if book is not None]))
    fractions = np.zeros((len(edges) - 1, 3))
    for share, book in books:
        fractions += (
            share if book is None else share * firm_coverage(book)[np.searchsorted(book.edges, edges[:-1], "right") - 1]
        )
    fractions /= math.fsum(share for share, _ in books)
    weights = np.diff(edges) / (end - first)
    power = mean_power_fraction(fractions[:, 0], fractions[:, 1], rated_kw)
    energy = fractions[:, 2]
    return MeanAvailability(
        *(min(1.0, float(weights @ fraction)) for fraction in (power, energy, np.minimum(power, energy)))
    )


def remaining_fraction(capacity: BatteryCapacity, first: int, end: int) -> Floats | None:
    """The fraction of a battery's firm holdings that remains: rows for charging, discharging, energy; None for all."""
    book = _book_firm(capacity, first, end)
    if book is None:
        return None
    remaining = firm_coverage(book)
    if (remaining == 1.0).all():
        return None
    return book.by_period(remaining).T


def remaining_energy_at(capacity: BatteryCapacity, periods: Collection[int]) -> dict[int, float]:
    """The fraction of the energy of a battery's firm holdings that remains in each of these periods, by one book."""
    book = _book_firm(capacity, min(periods), max(periods) + 1)
    if book is None:
        return dict.fromkeys(periods, 1.0)
    remaining = firm_coverage(book)[:, ENERGY]
    return {period: float(remaining[book.step_of(period)]) for period in periods}


def _book_firm(capacity: BatteryCapacity, first: int, end: int) -> CapacityBook | None:
    """The firm holdings of one battery; None if a precheck proves that they are covered."""
    holdings = [one for one in capacity.holdings if one.is_firm and one.first < end and one.end > first]
    if precheck_covered(capacity.ratings_and_outages, holdings, first):
        return None
    return BatteryCapacity(capacity.ratings_and_outages, holdings, OwnSchedule.nothing()).book(first, end)
