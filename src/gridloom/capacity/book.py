"""The book over some periods: what is there, what each kind of holder has of it, and what is left.

Everything is stored as steps: between two edges nothing changes. The columns are those of availability: CHARGE and
DISCHARGE in kW, ENERGY in kWh. A holding is weighed by the parameters in force in each step, so new parameters need no
rewriting: a battery that loses more than a virtual asset admits imports more to store as much (`η_c` of the virtual
over that of the battery) and holds more to deliver as much (`η_d` likewise), and of its energy only what lies between
its allowed states of charge counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np

from gridloom.capacity.availability import (
    CHARGE,
    CHARGE_EFFICIENCY,
    DISCHARGE,
    DISCHARGE_EFFICIENCY,
    ENERGY,
    PERIOD_MS,
    USABLE,
    RatingsAndOutages,
    available_between,
    change_periods,
)
from gridloom.capacity.model import TOLERANCE, Floats, Holding, HoldingKind, Ints, OwnSchedule
from gridloom.kernel.market_time import market_day_window, market_days_in, period_number, period_start
from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.kernel.window import Window

# Sums are made of whole milliwatts, so that what was taken and given back leaves exactly nothing.
_PARTS_PER_KW = 1_000_000
_CHARGE_ENERGY, _DISCHARGE_ENERGY = 3, 4
"""Columns of a sum of reserves beyond those of availability."""


class BookLine(IntEnum):
    """The lines of a book; what is firm is lost last."""

    PROMISED = 0
    AUCTIONED = 1
    FCR = 2
    AFRR_CAPACITY = 3
    AFRR_ENERGY = 4
    FCR_BID = 5
    AFRR_CAPACITY_BID = 6
    AFRR_ENERGY_BID = 7
    OWN = 8


FIRM = slice(BookLine.PROMISED, BookLine.FCR_BID)
PENDING = slice(BookLine.FCR_BID, BookLine.OWN)

_LINE_OF = {
    (HoldingKind.VIRTUAL_ASSET, True): BookLine.PROMISED,
    (HoldingKind.AUCTION, True): BookLine.AUCTIONED,
    (HoldingKind.FCR, True): BookLine.FCR,
    (HoldingKind.AFRR_CAPACITY, True): BookLine.AFRR_CAPACITY,
    (HoldingKind.AFRR_ENERGY, True): BookLine.AFRR_ENERGY,
    (HoldingKind.FCR, False): BookLine.FCR_BID,
    (HoldingKind.AFRR_CAPACITY, False): BookLine.AFRR_CAPACITY_BID,
    (HoldingKind.AFRR_ENERGY, False): BookLine.AFRR_ENERGY_BID,
}
KIND_OF = {line: kind for (kind, _), line in _LINE_OF.items()} | {BookLine.OWN: HoldingKind.OWN_SCHEDULE}


def line_of(holding: Holding) -> BookLine:
    return _LINE_OF[holding.kind, holding.is_firm]


@dataclass(frozen=True, slots=True, eq=False)
class CapacityBook:
    """A battery's book in the periods from the first edge to the last: a row for each step."""

    edges: Ints
    rated: Floats
    available: Floats
    lines: Floats
    """By `BookLine`, then step, then column."""

    @property
    def taken(self) -> Floats:
        return np.asarray(self.lines.sum(axis=0))

    @property
    def firm(self) -> Floats:
        """Promises, open auctions and accepted capacity."""
        return np.asarray(self.lines[FIRM].sum(axis=0))

    @property
    def waiting(self) -> Floats:
        """Bids without a result."""
        return np.asarray(self.lines[PENDING].sum(axis=0))

    @property
    def own(self) -> Floats:
        return np.asarray(self.lines[BookLine.OWN])

    @property
    def free(self) -> Floats:
        return np.maximum(self.available - self.taken, 0.0)

    @property
    def missing(self) -> Floats:
        """Held capacity that is unavailable."""
        missing = self.taken - self.available
        return np.where(missing > TOLERANCE, missing, 0.0)

    def step_of(self, period: int) -> int:
        return int(np.searchsorted(self.edges, period, "right")) - 1

    def steps_between(self, first: int, end: int) -> slice:
        """The steps that touch the periods `first` up to but not `end`; an empty slice where the book has none."""
        steps = len(self.edges) - 1
        start = max(0, self.step_of(first))
        return slice(start, max(start, min(int(np.searchsorted(self.edges, end, "left")), steps)))

    def by_period(self, values: Floats) -> Floats:
        """Steps' values as one row for each period."""
        return np.repeat(values, np.diff(self.edges), axis=-2)


def build_book(
    ratings_and_outages: RatingsAndOutages, holdings: Sequence[Holding], own: OwnSchedule, first: int, end: int
) -> CapacityBook:
    """The book of a battery in the periods `first` up to but not `end`, which some holdings may exceed.

    `own` holds whole market days, since the energy of the own schedule is that of its day.
    """
    edges = _find_edges(ratings_and_outages, holdings, own, first, end)
    series = available_between(ratings_and_outages, edges[:-1] * PERIOD_MS, int(edges[-1]) * PERIOD_MS)
    return CapacityBook(edges, series.rated, series.available, _sum_lines(holdings, own, edges, series.rated))


def with_fewer_holdings(book: CapacityBook, holdings: Sequence[Holding], own: OwnSchedule) -> CapacityBook:
    """The same battery's book, step by step comparable, with only some of its holdings."""
    return replace(book, lines=_sum_lines(holdings, own, book.edges, book.rated))


def _sum_lines(holdings: Sequence[Holding], own: OwnSchedule, edges: Ints, rated: Floats) -> Floats:
    lines = np.zeros((len(BookLine), len(edges) - 1, 3))
    for holding in _merge_alike(holdings):
        _add_efficiency_weighted(lines[line_of(holding)], holding, edges, rated)
    usable = rated[:, USABLE]
    _add_reserves(lines, [one for one in holdings if one.losses is None], edges, usable)
    _add_own(lines[BookLine.OWN], own, edges, usable)
    return lines


def refine_steps(book: CapacityBook, edges: Ints) -> CapacityBook:
    """The same book cut at more edges."""
    steps = np.searchsorted(book.edges, edges[:-1], "right") - 1
    return replace(
        book, edges=edges, rated=book.rated[steps], available=book.available[steps], lines=book.lines[:, steps]
    )


def _find_edges(
    ratings_and_outages: RatingsAndOutages, holdings: Sequence[Holding], own: OwnSchedule, first: int, end: int
) -> Ints:
    found = [np.array([first, end], dtype=np.int64), change_periods(ratings_and_outages)]
    found.append(np.array([edge for one in holdings for edge in (one.first, one.end)], dtype=np.int64))
    busy = own.periods[own.power_kw != 0]
    found += [busy, busy + 1]
    found += [np.array(span, dtype=np.int64) for span in market_days_of(busy)]
    every = np.unique(np.concatenate(found))
    return every[(every >= first) & (every <= end)]


def _merge_alike(holdings: Sequence[Holding]) -> list[Holding]:
    """Shares of virtual batteries; those with the same window and efficiencies weigh together, as one."""
    merged: dict[object, list[Holding]] = {}
    for one in holdings:
        if one.losses is not None:
            merged.setdefault((one.kind, one.is_firm, one.first, one.end, one.losses), []).append(one)
    return [
        replace(
            alike[0],
            charge_kw=sum(one.charge_kw for one in alike),
            discharge_kw=sum(one.discharge_kw for one in alike),
            energy_kwh=sum(one.energy_kwh for one in alike),
        )
        if len(alike) > 1
        else alike[0]
        for alike in merged.values()
    ]


def _add_efficiency_weighted(line: Floats, holding: Holding, edges: Ints, rated: Floats) -> None:
    """A share of a virtual battery, as it weighs on this one."""
    low, high = np.searchsorted(edges, (holding.first, holding.end))
    steps = slice(max(0, int(low)), min(int(high), len(line)))
    assert holding.losses is not None, "a virtual battery names its efficiencies"
    means = rated[steps]
    charge = np.maximum(1.0, holding.losses.charge / means[:, CHARGE_EFFICIENCY])
    energy = np.maximum(1.0, holding.losses.discharge / means[:, DISCHARGE_EFFICIENCY]) / means[:, USABLE]
    line[steps, CHARGE] += holding.charge_kw * charge
    line[steps, DISCHARGE] += holding.discharge_kw
    line[steps, ENERGY] += holding.energy_kwh * energy


def _add_reserves(lines: Floats, reserves: Sequence[Holding], edges: Ints, usable: Floats) -> None:
    """Balancing capacity, and of balancing energy what exceeds the accepted capacity of its direction."""
    if not reserves:
        return
    sums = _sum_by_line(reserves, edges)
    for line in (BookLine.FCR, BookLine.FCR_BID, BookLine.AFRR_CAPACITY, BookLine.AFRR_CAPACITY_BID):
        lines[line] += sums[line, :, : ENERGY + 1]
    capacity_kw = sums[BookLine.AFRR_CAPACITY]
    accepted = sums[BookLine.AFRR_ENERGY]
    every = accepted + sums[BookLine.AFRR_ENERGY_BID]
    for column, served_column in ((CHARGE, _CHARGE_ENERGY), (DISCHARGE, _DISCHARGE_ENERGY)):
        drawn = capacity_kw[:, column]
        firm_kw = np.maximum(accepted[:, column] - drawn, 0.0)
        waiting_kw = np.maximum(every[:, column] - drawn, 0.0) - firm_kw
        is_asked = every[:, column] > 0
        served = np.divide(every[:, served_column], every[:, column], out=np.zeros(len(every)), where=is_asked)
        for line, excess_kw in ((BookLine.AFRR_ENERGY, firm_kw), (BookLine.AFRR_ENERGY_BID, waiting_kw)):
            lines[line][:, column] += excess_kw
            lines[line][:, ENERGY] += excess_kw * served
    lines[BookLine.FCR : BookLine.OWN, :, ENERGY] /= usable


def _sum_by_line(reserves: Sequence[Holding], edges: Ints) -> Floats:
    """By `BookLine`, then step: power in either direction, energy, and the energy of each direction by itself."""
    amounts = np.array([(one.charge_kw, one.discharge_kw, one.energy_kwh) for one in reserves])
    energy_by_direction = np.where(amounts[:, :ENERGY] > 0, amounts[:, ENERGY:], 0.0)
    parts = np.rint(np.hstack([amounts, energy_by_direction]) * _PARTS_PER_KW).astype(np.int64)
    line = np.array([line_of(one) for one in reserves])
    spans = np.clip([(one.first, one.end) for one in reserves], edges[0], edges[-1])
    first, end = np.searchsorted(edges, spans).T
    changes = np.zeros((len(BookLine), len(edges), parts.shape[1]), dtype=np.int64)
    np.add.at(changes, (line, first), parts)
    np.subtract.at(changes, (line, end), parts)
    return np.cumsum(changes[:, :-1], axis=1) / _PARTS_PER_KW


def _add_own(line: Floats, own: OwnSchedule, edges: Ints, usable: Floats) -> None:
    """Power in its direction, and as energy, in all of a market day, the swing of the running sum in it."""
    inside = (own.periods >= edges[0]) & (own.periods < edges[-1]) & (own.power_kw != 0)
    steps = np.searchsorted(edges, own.periods[inside], "right") - 1
    line[steps, DISCHARGE] += np.maximum(own.power_kw[inside], 0.0)
    line[steps, CHARGE] += np.maximum(-own.power_kw[inside], 0.0)
    busy = own.periods[own.power_kw != 0]
    for first, end in market_days_of(busy):
        low, high = np.searchsorted(edges, (first, end), "left")
        if low < high and low < len(line):
            line[low:high, ENERGY] = energy_range_kwh(own, first, end) / usable[low:high]


def energy_range_kwh(own: OwnSchedule, first: int, end: int) -> float:
    """The highest less the lowest point of the running sum over these periods, which starts at zero."""
    low, high = np.searchsorted(own.periods, (first, end))
    running_kwh = np.cumsum(own.power_kw[low:high]) * QUARTER_HOUR_H
    return float(max(running_kwh.max(initial=0.0), 0.0) - min(running_kwh.min(initial=0.0), 0.0))


def market_days_around(first: int, end: int) -> tuple[int, int]:
    """The periods widened to whole market days."""
    return _day_around(first)[0], _day_around(end - 1)[1]


@lru_cache(maxsize=4096)
def _day_around(period: int) -> tuple[int, int]:
    """The market day in which a period lies: its first period and the first one after it."""
    (day,) = market_days_in(Window(period_start(period), period_start(period + 1)))
    window = market_day_window(day)
    return period_number(window.start), period_number(window.end)


def market_days_of(periods: Ints) -> list[tuple[int, int]]:
    """The market days in which these periods lie, in order."""
    days: list[tuple[int, int]] = []
    index = 0
    while index < len(periods):
        days.append(_day_around(int(periods[index])))
        index = int(np.searchsorted(periods, days[-1][1]))
    return days
