"""Whether a write may take what it asks for: never more than the battery has, never more than is free."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, FCR, RatingsAndOutages
from gridloom.capacity.book import (
    KIND_OF,
    BookLine,
    CapacityBook,
    build_book,
    energy_range_kwh,
    market_days_around,
    market_days_of,
    refine_steps,
    with_fewer_holdings,
)
from gridloom.capacity.model import TOLERANCE, Floats, Holding, HoldingGroup, HoldingKind, Ints, OwnSchedule
from gridloom.kernel.figures import Sentence, kw, kwh, say
from gridloom.kernel.market_time import format_instant, period_start
from gridloom.kernel.problem import FieldError, Problem


class CapacityNotAvailable(Problem, status=422, title="The capacity is not available"):
    """More is requested of a battery than it has at some instant of the window, held or not.

    Available is what is rated then, less everything unavailable; FCR needs both directions and is limited to the
    battery's `fcrLimitRatio` of rated power as well. `available` says what could be asked for, `start` and `end` when.
    """


class CapacityTaken(Problem, status=409, title="The capacity is not free"):
    """A battery's capacity is given once: what is asked for must be free over the whole window.

    Free is what is available and not promised to a virtual asset, offered in an open auction, offered or accepted as
    balancing capacity, or used by the battery's own schedule. `asked` and `free` are those of the first instant when
    too little is free, `holders` the kinds that hold the rest; `shortages` has the same for each battery. A virtual
    asset that is more efficient than its battery takes more of it, since the losses have to be made up.
    """


@dataclass(frozen=True, slots=True, eq=False)
class OwnChange:
    """Periods of a battery's own schedule that are to be replaced, in order."""

    periods: Ints
    power_kw: Floats
    past_before: int
    """Periods before this one are over: they are validated against the ratings."""


@dataclass(frozen=True, slots=True)
class BatteryCapacity:
    """All that the book of one battery is made of, over some periods; the own schedule in whole market days."""

    ratings_and_outages: RatingsAndOutages
    holdings: Sequence[Holding]
    own: OwnSchedule

    def without(self, holder_ids: Collection[UUID]) -> BatteryCapacity:
        return replace(self, holdings=[one for one in self.holdings if one.holder_id not in holder_ids])

    def book(self, first: int, end: int) -> CapacityBook:
        return build_book(self.ratings_and_outages, self.holdings, self.own, first, end)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first interval in which a battery has, or has free, too little."""

    first: int
    end: int
    asked: tuple[float, float, float]
    there: tuple[float, float, float]
    held_by: tuple[HoldingKind, ...]
    is_held_by_others: bool
    """Whether the battery has it and others hold it; else it has not got it at all."""
    pointers: tuple[str, ...] = ()


def find_shortage(capacity: BatteryCapacity, groups: Sequence[HoldingGroup]) -> Shortage | None:
    """Why these requests cannot all be held beside the existing holdings, if so. What they replace is gone already."""
    if not groups:
        return None
    first, end = min(one.first for one in groups), max(one.end for one in groups)
    added = [holding for group in groups for holding in group.holdings]
    after = replace(capacity, holdings=[*capacity.holdings, *added]).book(first, end)
    for group in groups:
        alone = _exceeds_battery(capacity.ratings_and_outages, group, after)
        if alone is not None:
            return alone
    before = with_fewer_holdings(after, capacity.holdings, capacity.own)
    shortage = _exceeds_free(before, after, before.available)
    if shortage is None:
        return None
    at_fault = [group.pointer for group in groups if group.first < shortage.end and shortage.first < group.end]
    return replace(shortage, pointers=tuple(at_fault))


def find_own_schedule_shortage(capacity: BatteryCapacity, change: OwnChange) -> Shortage | None:
    """The same for periods of the own schedule; the energy of their market days is validated where it grows.

    Each power is validated against the battery's ratings before, point by point.
    """
    first, end = market_days_around(int(change.periods[0]), int(change.periods[-1]) + 1)
    own = capacity.own.with_periods(change.periods, change.power_kw)
    rest = capacity.own.with_periods(change.periods, np.zeros(len(change.periods)))
    after = replace(capacity, own=own).book(first, end)
    before = replace(capacity, own=rest).book(first, end)
    edges = np.union1d(after.edges, before.edges)
    after, before = refine_steps(after, edges), refine_steps(before, edges)
    before.lines[BookLine.OWN, :, ENERGY] = 0.0
    for day_first, day_end in market_days_of(change.periods):
        if energy_range_kwh(own, day_first, day_end) <= energy_range_kwh(capacity.own, day_first, day_end) + TOLERANCE:
            steps = before.steps_between(day_first, day_end)
            before.lines[BookLine.OWN, steps, ENERGY] = after.lines[BookLine.OWN, steps, ENERGY]
    untouched = ~_within_days(edges[:-1], market_days_of(change.periods))
    before.lines[BookLine.OWN, untouched, ENERGY] = after.lines[BookLine.OWN, untouched, ENERGY]
    available = before.available.copy()
    over = edges[:-1] < change.past_before
    available[over] = before.rated[over, : available.shape[1]]
    return _exceeds_free(before, after, available)


def _within_days(periods: Ints, days: Sequence[tuple[int, int]]) -> np.ndarray:
    starts, ends = np.array(days, dtype=np.int64).reshape(-1, 2).T
    index = np.searchsorted(starts, periods, "right") - 1
    return (index >= 0) & (periods < ends[np.maximum(index, 0)])


def _exceeds_battery(
    ratings_and_outages: RatingsAndOutages, group: HoldingGroup, book: CapacityBook
) -> Shortage | None:
    alone = build_book(ratings_and_outages, group.holdings, OwnSchedule.nothing(), group.first, group.end)
    asked = alone.taken
    if group.holdings[0].kind is HoldingKind.AFRR_ENERGY:
        # It may draw on accepted capacity; what it adds must be free.
        asked = asked * (1.0, 1.0, 0.0)
    limit = alone.available.copy()
    if group.holdings[0].kind is HoldingKind.FCR:
        limit[:, :ENERGY] = np.minimum(limit[:, :ENERGY], alone.rated[:, [FCR]])
    wrong = np.asarray((asked > limit + TOLERANCE).any(axis=1))
    return _find_shortage(alone, wrong, asked, limit, (), is_held_by_others=False, pointers=(group.pointer,))


def _exceeds_free(before: CapacityBook, after: CapacityBook, available: Floats) -> Shortage | None:
    asked = after.taken - before.taken
    free = np.maximum(available - before.taken, 0.0)
    beyond = asked > free + TOLERANCE
    wrong = np.asarray(beyond.any(axis=1))
    if not wrong.any():
        return None
    step = int(np.argmax(wrong))
    columns = np.flatnonzero(beyond[step])
    held = {KIND_OF[line] for line in BookLine if (before.lines[line, step, columns] > TOLERANCE).any()}
    return _find_shortage(
        before, wrong, asked, free, tuple(kind for kind in HoldingKind if kind in held), is_held_by_others=True
    )


def _find_shortage(
    book: CapacityBook,
    wrong: np.ndarray,
    asked: Floats,
    there: Floats,
    held_by: tuple[HoldingKind, ...],
    *,
    is_held_by_others: bool,
    pointers: tuple[str, ...] = (),
) -> Shortage | None:
    if not wrong.any():
        return None
    step = int(np.argmax(wrong))
    rest = np.flatnonzero(~wrong[step:])
    last = step + int(rest[0]) if len(rest) else len(wrong)
    return Shortage(
        int(book.edges[step]),
        int(book.edges[last]),
        _row_of(asked, step),
        _row_of(there, step),
        held_by,
        is_held_by_others,
        pointers,
    )


def _row_of(amounts: Floats, step: int) -> tuple[float, float, float]:
    return float(amounts[step, CHARGE]), float(amounts[step, DISCHARGE]), float(amounts[step, ENERGY])


def shortage_problem(shortages: Sequence[tuple[UUID, Shortage]]) -> Problem:
    """The problem of a shortage: beyond the battery comes before held by others."""
    lacking = [pair for pair in shortages if not pair[1].is_held_by_others]
    if lacking:
        return _not_available(lacking)
    asset_id, first = shortages[0]
    detail = say(
        "Of the battery {}, {} are asked for from {} on, and {} are free; the rest is held by {}.",
        asset_id,
        _format_amount(first.asked),
        format_instant(period_start(first.first)),
        _format_amount(first.there),
        ", ".join(first.held_by) or "no other holder",
    )
    return CapacityTaken(
        detail,
        errors=[FieldError(pointer, "asks for more than is free") for pointer in first.pointers if pointer],
        asked=_wire_amount(first.asked),
        free=_wire_amount(first.there),
        holders=list(first.held_by),
        start=format_instant(period_start(first.first)),
        end=format_instant(period_start(first.end)),
        shortages=[_describe_shortage(asset_id, shortage) for asset_id, shortage in shortages],
    )


def _not_available(lacking: Sequence[tuple[UUID, Shortage]]) -> Problem:
    asset_id, first = lacking[0]
    detail = say(
        "The battery {} has {} for it from {} on, and {} are asked for.",
        asset_id,
        _format_amount(first.there),
        format_instant(period_start(first.first)),
        _format_amount(first.asked),
    )
    return CapacityNotAvailable(
        detail,
        errors=[FieldError(pointer, detail) for _, one in lacking for pointer in one.pointers if pointer],
        physicalAssetID=str(asset_id),
        asked=_wire_amount(first.asked),
        available=_wire_amount(first.there),
        start=format_instant(period_start(first.first)),
        end=format_instant(period_start(first.end)),
    )


def _describe_shortage(asset_id: UUID, shortage: Shortage) -> dict[str, object]:
    return {
        "physicalAssetID": str(asset_id),
        "start": format_instant(period_start(shortage.first)),
        "end": format_instant(period_start(shortage.end)),
        "asked": _wire_amount(shortage.asked),
        "free": _wire_amount(shortage.there),
        "holders": list(shortage.held_by),
    }


def _format_amount(amount: tuple[float, float, float]) -> Sentence:
    return say("{} of charging, {} of discharging and {}", kw(amount[0]), kw(amount[1]), kwh(amount[2]))


def _wire_amount(amount: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("charge", "discharge", "energy"), (round(each, 6) for each in amount), strict=True))
