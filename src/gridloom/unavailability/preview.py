"""What an unavailability would do to those who hold capacity of the asset: tried out, and undone again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from uuid import UUID

import numpy as np
from msgspec import UNSET, Meta, UnsetType

from gridloom.capacity.availability import CHARGE, ENERGY
from gridloom.capacity.book import CapacityBook
from gridloom.capacity.loss_order import firm_coverage, own_schedule_limit, pending_coverage
from gridloom.capacity.model import Floats, Holding, HoldingKind
from gridloom.capacity.rules import BatteryCapacity
from gridloom.edge import ResponseBody


class HolderPreview(ResponseBody):
    """What one who holds capacity has of it now and would have then, at the worst moment."""

    kind: HoldingKind
    before: Annotated[float, Meta(description="kW that are covered now")]
    after: Annotated[float, Meta(description="kW that would be covered")]
    energy_before: Annotated[float, Meta(description="kWh that are covered now")]
    energy_after: Annotated[float, Meta(description="kWh that would be covered")]
    virtual_asset_id: UUID | UnsetType = UNSET
    organisation_name: Annotated[str, Meta(description="Who holds it, for the owner and the operator")] | UnsetType = (
        UNSET
    )
    auction_id: UUID | UnsetType = UNSET
    product_date_code: str | UnsetType = UNSET


class PreviewedCut(ResponseBody):
    """A quarter-hour of a virtual asset's schedule that would be cut at gate closure."""

    virtual_asset_id: UUID
    timestamp: datetime
    accepted_schedule: Annotated[float, Meta(description="kW, as it was accepted")]
    adjusted_schedule: Annotated[float, Meta(description="kW, what would be left of it")]
    reason: str


class UnavailabilityPreview(ResponseBody):
    """Free capacity is lost first, then the own schedule, then bids without a result, then all that is firm alike."""

    free: Annotated[float, Meta(description="kW of the loss that nobody holds, in the direction that is hit harder")]
    cut: Annotated[float, Meta(description="kW of the loss that holders bear, at the worst moment")]
    holders: Annotated[list[HolderPreview], Meta(description="Who holds capacity of the asset then")]
    expected_cuts: Annotated[list[PreviewedCut], Meta(description="What gate closure would cut, the earliest first")]


def preview_of(
    before: BatteryCapacity, after: BatteryCapacity, first: int, end: int, names: Mapping[UUID, str]
) -> tuple[float, float, list[HolderPreview]]:
    """What of the loss is free, what is cut, and what it leaves each holder, at the worst moment of these periods."""
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
    standing: BatteryCapacity,
    old: _BookCoverage,
    new: _BookCoverage,
    edges: np.ndarray,
    step: int,
    column: int,
    worst_energy: int,
    names: Mapping[UUID, str],
) -> list[HolderPreview]:
    found = []
    for one in standing.holdings:
        power_step = step if _stands_at(one, edges, step) else None
        energy_step = worst_energy if _stands_at(one, edges, worst_energy) else power_step
        if power_step is None and energy_step is None:
            continue
        here = power_step if power_step is not None else energy_step
        there = energy_step if energy_step is not None else power_step
        assert here is not None
        assert there is not None
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


def _stands_at(holding: Holding, edges: np.ndarray, step: int) -> bool:
    return bool(holding.first <= edges[step] < holding.end)
