"""Whether a write may take what it asks for: never more than the battery has, never more than is free."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np

from gridloom.capacity.book import (
    KIND_OF,
    Book,
    Line,
    keep_book,
    market_days_around,
    market_days_of,
    swing_kwh,
    with_edges,
)
from gridloom.capacity.model import TOLERANCE, Floats, Holding, HoldingKind, Ints, OwnSchedule, Taking
from gridloom.capacity.series import CHARGE, DISCHARGE, ENERGY, FCR, Circumstances
from gridloom.kernel.instant import written
from gridloom.kernel.market_time import period_start
from gridloom.kernel.problem import FieldError, Problem


class CapacityNotAvailable(Problem):
    """More is asked of a battery than it has at some moment of the window, whoever holds it.

    Available is what is rated then, less everything unavailable; FCR needs both directions and is limited to the
    battery's `fcrLimitRatio` of rated power as well. `available` says what could be asked for, `start` and `end` when.
    """

    status = 422
    title = "The capacity is not available"


class CapacityTaken(Problem):
    """A battery's capacity is given once: what is asked for must be free over the whole window.

    Free is what is available and not promised to a virtual asset, offered in an open auction, offered or accepted as
    balancing capacity, or used by the battery's own schedule. `asked` and `free` are those of the first moment at which
    too little is free, `holders` the kinds that hold the rest; `shortages` has the same for each battery. A virtual
    asset that is more efficient than its battery takes more of it, since the losses have to be made up.
    """

    status = 409
    title = "The capacity is not free"


@dataclass(frozen=True, slots=True, eq=False)
class OwnChange:
    """Periods of a battery's own schedule that are to be replaced, in order."""

    periods: Ints
    power_kw: Floats
    settled_before: int
    """What lies before this period is over: it is judged by what is rated."""


@dataclass(frozen=True, slots=True)
class Standing:
    """All that the book of one battery is made of, over some periods; the own schedule in whole market days."""

    circumstances: Circumstances
    holdings: Sequence[Holding]
    own: OwnSchedule

    def without(self, holder_ids: Collection[UUID]) -> Standing:
        return replace(self, holdings=[one for one in self.holdings if one.holder_id not in holder_ids])

    def book(self, first: int, end: int) -> Book:
        return keep_book(self.circumstances, self.holdings, self.own, first, end)


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first stretch in which a battery has, or has free, too little."""

    first: int
    end: int
    asked: tuple[float, float, float]
    there: tuple[float, float, float]
    held_by: tuple[HoldingKind, ...]
    is_taken: bool
    """Whether the battery has it and others hold it; else it has not got it at all."""
    pointers: tuple[str, ...] = ()


def judge(standing: Standing, takings: Sequence[Taking]) -> Shortage | None:
    """Why these takings cannot all stand beside what stands, if so. What they replace is gone already."""
    if not takings:
        return None
    first, end = min(one.first for one in takings), max(one.end for one in takings)
    added = [holding for taking in takings for holding in taking.holdings]
    after = replace(standing, holdings=[*standing.holdings, *added]).book(first, end)
    for taking in takings:
        alone = _beyond_battery(standing.circumstances, taking, after)
        if alone is not None:
            return alone
    before = keep_book(standing.circumstances, standing.holdings, standing.own, first, end, edges=after.edges)
    shortage = _beyond_free(before, after, before.available)
    if shortage is None:
        return None
    at_fault = [taking.pointer for taking in takings if taking.first < shortage.end and shortage.first < taking.end]
    return replace(shortage, pointers=tuple(at_fault))


def judge_own(standing: Standing, change: OwnChange) -> Shortage | None:
    """The same for periods of the own schedule; the energy of their market days is judged where it grows.

    That each power is within what the battery has is judged before, point by point.
    """
    first, end = market_days_around(int(change.periods[0]), int(change.periods[-1]) + 1)
    own = standing.own.with_periods(change.periods, change.power_kw)
    rest = standing.own.with_periods(change.periods, np.zeros(len(change.periods)))
    after = replace(standing, own=own).book(first, end)
    before = replace(standing, own=rest).book(first, end)
    edges = np.union1d(after.edges, before.edges)
    after, before = with_edges(after, edges), with_edges(before, edges)
    before.lines[Line.OWN, :, ENERGY] = 0.0
    for day_first, day_end in market_days_of(change.periods):
        if swing_kwh(own, day_first, day_end) <= swing_kwh(standing.own, day_first, day_end) + TOLERANCE:
            steps = before.steps_between(day_first, day_end)
            before.lines[Line.OWN, steps, ENERGY] = after.lines[Line.OWN, steps, ENERGY]
    untouched = ~_within_days(edges[:-1], market_days_of(change.periods))
    before.lines[Line.OWN, untouched, ENERGY] = after.lines[Line.OWN, untouched, ENERGY]
    available = before.available.copy()
    over = edges[:-1] < change.settled_before
    available[over] = before.rated[over, : available.shape[1]]
    return _beyond_free(before, after, available)


def _within_days(periods: Ints, days: Sequence[tuple[int, int]]) -> np.ndarray:
    starts, ends = np.array(days, dtype=np.int64).reshape(-1, 2).T
    place = np.searchsorted(starts, periods, "right") - 1
    return (place >= 0) & (periods < ends[np.maximum(place, 0)])


def _beyond_battery(circumstances: Circumstances, taking: Taking, book: Book) -> Shortage | None:
    alone = keep_book(circumstances, taking.holdings, OwnSchedule.nothing(), taking.first, taking.end)
    asked = alone.taken
    if taking.holdings[0].kind is HoldingKind.AFRR_ENERGY:
        asked = asked * (1.0, 1.0, 0.0)  # it may draw on accepted capacity: what it adds is judged by what is free
    limit = alone.available.copy()
    if taking.holdings[0].kind is HoldingKind.FCR:
        limit[:, :ENERGY] = np.minimum(limit[:, :ENERGY], alone.rated[:, [FCR]])
    wrong = np.asarray((asked > limit + TOLERANCE).any(axis=1))
    return _find_shortage(alone, wrong, asked, limit, (), is_taken=False, pointers=(taking.pointer,))


def _beyond_free(before: Book, after: Book, available: Floats) -> Shortage | None:
    asked = after.taken - before.taken
    free = np.maximum(available - before.taken, 0.0)
    beyond = (asked > TOLERANCE) & (asked > free + TOLERANCE)
    wrong = np.asarray(beyond.any(axis=1))
    if not wrong.any():
        return None
    step = int(np.argmax(wrong))
    columns = np.flatnonzero(beyond[step])
    held = {KIND_OF[line] for line in Line if (before.lines[line, step, columns] > TOLERANCE).any()}
    return _find_shortage(
        before, wrong, asked, free, tuple(kind for kind in HoldingKind if kind in held), is_taken=True
    )


def _find_shortage(
    book: Book,
    wrong: np.ndarray,
    asked: Floats,
    there: Floats,
    held_by: tuple[HoldingKind, ...],
    *,
    is_taken: bool,
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
        is_taken,
        pointers,
    )


def _row_of(amounts: Floats, step: int) -> tuple[float, float, float]:
    return float(amounts[step, CHARGE]), float(amounts[step, DISCHARGE]), float(amounts[step, ENERGY])


def refusal(shortages: Sequence[tuple[UUID, Shortage]]) -> Problem:
    """What is answered: what no battery could give comes before what others hold."""
    lacking = [pair for pair in shortages if not pair[1].is_taken]
    if lacking:
        return _not_available(lacking)
    asset_id, first = shortages[0]
    detail = (
        f"Of the battery {asset_id}, {_in_words(first.asked)} are asked for from {written(period_start(first.first))} "
        f"on, and {_in_words(first.there)} are free; the rest is held by {', '.join(first.held_by) or 'nobody'}."
    )
    return CapacityTaken(
        detail,
        errors=[FieldError(pointer, "asks for more than is free") for pointer in first.pointers if pointer],
        asked=_wire_amount(first.asked),
        free=_wire_amount(first.there),
        holders=list(first.held_by),
        start=written(period_start(first.first)),
        end=written(period_start(first.end)),
        shortages=[_tell_shortage(asset_id, shortage) for asset_id, shortage in shortages],
    )


def _not_available(lacking: Sequence[tuple[UUID, Shortage]]) -> Problem:
    asset_id, first = lacking[0]
    detail = (
        f"The battery {asset_id} has {_in_words(first.there)} for it from {written(period_start(first.first))} on, "
        f"and {_in_words(first.asked)} are asked for."
    )
    return CapacityNotAvailable(
        detail,
        errors=[FieldError(pointer, detail) for _, one in lacking for pointer in one.pointers if pointer],
        physicalAssetID=str(asset_id),
        asked=_wire_amount(first.asked),
        available=_wire_amount(first.there),
        start=written(period_start(first.first)),
        end=written(period_start(first.end)),
    )


def _tell_shortage(asset_id: UUID, shortage: Shortage) -> dict[str, object]:
    return {
        "physicalAssetID": str(asset_id),
        "start": written(period_start(shortage.first)),
        "end": written(period_start(shortage.end)),
        "asked": _wire_amount(shortage.asked),
        "free": _wire_amount(shortage.there),
        "holders": list(shortage.held_by),
    }


def _in_words(amount: tuple[float, float, float]) -> str:
    return f"{amount[0]:.6g} kW of charging, {amount[1]:.6g} kW of discharging and {amount[2]:.6g} kWh"


def _wire_amount(amount: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("charge", "discharge", "energy"), (round(each, 6) for each in amount), strict=True))
