"""The effect of an unavailability on holders of the asset's capacity: computed in a transaction that is rolled back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.capacity.availability import CHARGE, ENERGY
from gridloom.capacity.book import CapacityBook
from gridloom.capacity.loss_order import firm_coverage, own_schedule_limit, pending_coverage
from gridloom.capacity.model import Floats, HoldingKind
from gridloom.capacity.reach import move_reach_of_one
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.dependency import Dependency
from gridloom.platform.database.pool import Database
from gridloom.platform.http import ResponseBody


class HolderPreview(ResponseBody):
    """The capacity of a holder now and then, at the worst instant."""

    kind: HoldingKind
    before: float
    after: float
    energy_before: float
    energy_after: float
    virtual_asset_id: UUID | UnsetType = UNSET
    organisation_name: str | UnsetType = UNSET
    auction_id: UUID | UnsetType = UNSET
    product_date_code: str | UnsetType = UNSET


class PreviewedCut(ResponseBody):
    """A quarter-hour of a virtual asset's schedule that would be cut at gate closure."""

    virtual_asset_id: UUID
    timestamp: datetime
    accepted_schedule: float
    adjusted_schedule: float
    reason: str


class UnavailabilityPreview(ResponseBody):
    """Free capacity is lost first, then the own schedule, then bids without a result, then all that is firm alike.

    `unreachableEnergy` is the most of what the battery will store that it cannot reach meanwhile: by its dispatch and,
    where none is planned yet, by its shares of what virtual assets will store; left out where it backs none.
    """

    free: float
    cut: float
    holders: list[HolderPreview]
    expected_cuts: list[PreviewedCut]
    unreachable_energy: float | UnsetType = UNSET


READ_STORED_KWH: Dependency[Callable[[Database, int, int, int], Awaitable[Floats | None]]] = Dependency(
    "energy that batteries are planned to store"
)
"""Of a battery, at the start of each of the periods [first, end); None where it is not known."""


def find_unreachable_kwh(stored_kwh: Floats, before: BatteryCapacity, after: BatteryCapacity, first: int) -> float:
    """The most that is out of reach in any of the periods from `first` on, with `stored_kwh` at the start of each."""
    end = first + len(stored_kwh)
    was, would = (_find_fractions(one.book(first, end)) for one in (before, after))
    fractions = [float(was[0]), *would.tolist()]
    unreachable_kwh = most_kwh = 0.0
    for kwh, fraction_before, fraction in zip(stored_kwh.tolist(), fractions[:-1], fractions[1:], strict=True):
        unreachable_kwh = move_reach_of_one(kwh - unreachable_kwh, unreachable_kwh, fraction_before, fraction)
        most_kwh = max(most_kwh, unreachable_kwh)
    return most_kwh


def _find_fractions(book: CapacityBook) -> Floats:
    """The available part of the energy capacity in each period."""
    rated = book.rated[:, ENERGY]
    fractions = np.divide(book.available[:, ENERGY], rated, out=np.ones(len(rated)), where=rated > 0)
    return book.by_period(fractions[:, None])[:, 0]


def preview_of(
    before: BatteryCapacity, after: BatteryCapacity, first: int, end: int, names: Mapping[UUID, str]
) -> tuple[float, float, list[HolderPreview]]:
    """The free part of the loss, the cuts, and what it leaves each holder, at the worst instant of these periods."""
    was, would = before.book(first, end), after.book(first, end)
    edges = np.union1d(was.edges, would.edges)
    old, new = _BookCoverage(was, edges), _BookCoverage(would, edges)
    lost = old.at(was.available) - new.at(would.available)
    cut = new.at(would.missing) - old.at(was.missing)
    power_cut = cut[:, :ENERGY]
    step, column = _find_greatest(power_cut)
    if power_cut[step, column] <= 0:
        step, column = _find_greatest(lost[:, :ENERGY])
    borne_kw = max(0.0, float(cut[step, column]))
    worst_energy = int(np.argmax(cut[:, ENERGY]))
    holders = _list_holders(before, old, new, edges, step, column, worst_energy, names)
    return max(0.0, float(lost[step, column]) - borne_kw), borne_kw, holders


def _find_greatest(powers: Floats) -> tuple[int, int]:
    """The step and direction with the greatest power; of equals the earliest, and discharging."""
    backwards = int(np.argmax(powers[:, ::-1]))
    return backwards // ENERGY, ENERGY - 1 - backwards % ENERGY


class _BookCoverage:
    """A book at the steps between some edges, with what each rank keeps."""

    def __init__(self, book: CapacityBook, edges: np.ndarray) -> None:
        self.steps = np.searchsorted(book.edges, edges[:-1], "right") - 1
        self.firm, self.waiting = self.at(firm_coverage(book)), self.at(pending_coverage(book))
        self.own = np.minimum(self.at(own_schedule_limit(book)), self.at(book.own))

    def at(self, values: Floats) -> Floats:
        return values[self.steps]


def _list_holders(
    capacity: BatteryCapacity,
    old: _BookCoverage,
    new: _BookCoverage,
    edges: np.ndarray,
    step: int,
    column: int,
    worst_energy: int,
    names: Mapping[UUID, str],
) -> list[HolderPreview]:
    found = []
    for one in capacity.holdings:
        held = [each for each in (step, worst_energy) if one.first <= edges[each] < one.end]
        if not held:
            continue
        here, there = held[0], held[-1]
        power_kw = one.charge_kw if column == CHARGE else one.discharge_kw
        had, has = (old.firm, new.firm) if one.is_firm else (old.waiting, new.waiting)
        found.append(
            HolderPreview(
                kind=one.kind,
                before=round(power_kw * float(had[here, column]), 6),
                after=round(power_kw * float(has[here, column]), 6),
                energy_before=round(one.energy_kwh * float(had[there, ENERGY]), 6),
                energy_after=round(one.energy_kwh * float(has[there, ENERGY]), 6),
                virtual_asset_id=one.holder_id if one.kind is HoldingKind.VIRTUAL_ASSET else UNSET,
                organisation_name=names.get(one.organisation_id, UNSET) if one.organisation_id else UNSET,
                auction_id=one.holder_id if one.kind is HoldingKind.AUCTION else UNSET,
                product_date_code=one.product_date_code if one.product else UNSET,
            )
        )
    if old.own[step, column] or old.own[worst_energy, ENERGY]:
        found.append(
            HolderPreview(
                kind=HoldingKind.OWN_SCHEDULE,
                before=round(float(old.own[step, column]), 6),
                after=round(float(new.own[step, column]), 6),
                energy_before=round(float(old.own[worst_energy, ENERGY]), 6),
                energy_after=round(float(new.own[worst_energy, ENERGY]), 6),
            )
        )
    return found
