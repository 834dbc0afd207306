"""What of a virtual asset is available, from what is left of the physical assets behind it.

What is free of a battery is lost first, then its owner's schedule, then bids without a result. Below that its promises,
open auctions and accepted capacity all shrink alike, to `available ÷ firm`. A virtual asset has the sum of its
promises, `rated · Σ share · min(1, available ÷ firm)`, for charging, discharging and energy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from gridloom.capacity.book import CapacityBook
from gridloom.capacity.loss_order import firm_coverage, precheck_covered
from gridloom.capacity.model import OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity, widen_to_periods
from gridloom.database.pool import Database
from gridloom.kernel.market_time import period_number, period_number_from
from gridloom.kernel.window import Window
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.model import Promise, VirtualAsset

_ONES: Final = np.broadcast_to(np.ones(()), 1 << 40)
"""Of a life however long, in the memory of one number."""


class AvailableFraction(Struct, frozen=True, eq=False):
    """The available parts of what is rated, 0 to 1, in each period from `first` on."""

    first: int
    charge: Floats
    discharge: Floats
    energy: Floats
    is_full: bool = False
    """Whether nothing is known to be lost, of a life however long; where it is not said, the parts may still be 1."""

    @staticmethod
    def full(first: int, end: int) -> AvailableFraction:
        part = _ONES[: max(0, end - first)]
        return AvailableFraction(first, part, part, part, is_full=True)

    def between(self, first: int, end: int) -> AvailableFraction:
        cut = slice(first - self.first, end - self.first)
        return AvailableFraction(first, self.charge[cut], self.discharge[cut], self.energy[cut], self.is_full)

    @property
    def end(self) -> int:
        return self.first + len(self.charge)


class MeanAvailability(Struct, frozen=True):
    """Means over a window of the available parts of what is rated, 0 to 1."""

    power: float
    """Of charging and discharging together; a direction that is rated 0 is left out."""
    energy: float
    deliverable: float
    """Of the lesser of both in each period."""


async def load_available(db: Database, asset: VirtualAsset, first: int, end: int) -> AvailableFraction:
    """What is available of the asset in the periods `first` up to but not `end`."""
    if first >= end:
        return AvailableFraction.full(first, end)
    keys = [promise.physical_asset_key for promise in asset.promises]
    return available_fraction(asset.promises, await load_firm_capacity(db, keys, first, end), first, end)


async def load_available_of_each(
    db: Database, assets: Sequence[VirtualAsset], window: Window
) -> list[tuple[VirtualAsset, AvailableFraction]]:
    """What is available of several assets, each in the part of its life that lies in the window; read all at once."""
    hull = widen_to_periods(window)
    first, end = period_number(hull.start), period_number_from(hull.end)
    keys = {promise.physical_asset_key for asset in assets for promise in asset.promises}
    standing = await load_firm_capacity(db, keys, first, end)
    spans = [(asset, *asset.clip(first, end)) for asset in assets]
    return [
        (asset, available_fraction(asset.promises, standing, low, high)) for asset, low, high in spans if low < high
    ]


def available_fraction(
    promises: Sequence[Promise], standing: Mapping[int, BatteryCapacity], first: int, end: int
) -> AvailableFraction:
    """`standing` has for each battery, over the periods at least, what the firm lines of its book are made of."""
    kept = [find_kept(standing[promise.physical_asset_key], first, end) for promise in promises]
    if all(part is None for part in kept):
        return AvailableFraction.full(first, end)
    parts = np.zeros((3, end - first))
    for promise, part in zip(promises, kept, strict=True):
        parts += promise.share if part is None else promise.share * part
    # Shares sum to 1 up to rounding; what is not lost is there in full.
    parts /= math.fsum(promise.share for promise in promises)
    parts[parts > 1 - 1e-12] = 1.0
    return AvailableFraction(first, parts[0], parts[1], parts[2])


def power_part(charge: Floats, discharge: Floats, rated_kw: tuple[float, float]) -> Floats:
    """The mean of both directions; one that is rated 0 is left out."""
    charge_kw, discharge_kw = rated_kw
    if not charge_kw or not discharge_kw:
        return charge if charge_kw else discharge
    return np.asarray((charge + discharge) / 2)


def mean_available_of(
    shares: Sequence[tuple[int, float]],
    standing: Mapping[int, BatteryCapacity],
    first: int,
    end: int,
    *,
    rated_kw: tuple[float, float],
) -> MeanAvailability:
    """Of a virtual battery with these shares of batteries, by step: a window may be long.

    `standing` has for each battery what the firm lines of its book are made of, the virtual one's own among them.
    """
    books = [(share, _book_firm(standing[key], first, end)) for key, share in shares]
    if all(book is None for _, book in books):
        return MeanAvailability(1.0, 1.0, 1.0)
    edges = np.unique(np.concatenate([book.edges for _, book in books if book is not None]))
    parts = np.zeros((len(edges) - 1, 3))
    for share, book in books:
        parts += (
            share if book is None else share * firm_coverage(book)[np.searchsorted(book.edges, edges[:-1], "right") - 1]
        )
    parts /= math.fsum(share for share, _ in books)
    weights = np.diff(edges) / (end - first)
    power = power_part(parts[:, 0], parts[:, 1], rated_kw)
    energy = parts[:, 2]
    return MeanAvailability(*(min(1.0, float(weights @ part)) for part in (power, energy, np.minimum(power, energy))))


def find_kept(standing: BatteryCapacity, first: int, end: int) -> Floats | None:
    """Which part of its firm holdings one battery keeps: rows for charging, discharging and energy; None for all."""
    book = _book_firm(standing, first, end)
    if book is None:
        return None
    kept = firm_coverage(book)
    if (kept == 1.0).all():
        return None
    return book.by_period(kept).T


def _book_firm(standing: BatteryCapacity, first: int, end: int) -> CapacityBook | None:
    """What is firm of one battery; None where it has, at a glance, all of it."""
    touching = [one for one in standing.holdings if one.is_firm and one.first < end and one.end > first]
    if precheck_covered(standing.ratings_and_outages, touching, first):
        return None
    return BatteryCapacity(standing.ratings_and_outages, touching, OwnSchedule.nothing()).book(first, end)
