"""What a battery has: the parameters in force less all that is missing, in each quarter-hour at its worst moment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import reduce

from tests.simulation.market import QUARTER_S, start_of_quarter
from tests.simulation.model import Battery, Parameters

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Charging and discharging power in kW, energy in kWh."""

    charge: Fraction = ZERO
    discharge: Fraction = ZERO
    energy: Fraction = ZERO

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.charge + other.charge, self.discharge + other.discharge, self.energy + other.energy)

    def __sub__(self, other: Amounts) -> Amounts:
        return Amounts(self.charge - other.charge, self.discharge - other.discharge, self.energy - other.energy)

    def times(self, factor: Fraction) -> Amounts:
        return Amounts(self.charge * factor, self.discharge * factor, self.energy * factor)

    def within(self, other: Amounts) -> Amounts:
        """The smaller of both, one by one."""
        return Amounts(
            min(self.charge, other.charge), min(self.discharge, other.discharge), min(self.energy, other.energy)
        )

    @property
    def positive(self) -> Amounts:
        return Amounts(max(self.charge, ZERO), max(self.discharge, ZERO), max(self.energy, ZERO))


def parameters_at(battery: Battery, moment: datetime) -> Parameters:
    """The latest version that holds by then; of two from the same moment the later recorded."""
    found = battery.versions[0]
    for version in battery.versions[1:]:
        if (
            version.since is not None
            and version.since <= moment
            and (found.since is None or found.since <= version.since)
        ):
            found = version
    return found


def rated_at(battery: Battery, moment: datetime) -> Amounts:
    found = parameters_at(battery, moment)
    return Amounts(found.charge, found.discharge, found.energy)


def available_at(battery: Battery, moment: datetime) -> Amounts:
    missing = Amounts()
    for outage in battery.outages.values():
        if outage.start <= moment < outage.end:
            missing += Amounts(outage.charge, outage.discharge, outage.energy)
    return (rated_at(battery, moment) - missing).positive


def change_periods(battery: Battery) -> list[datetime]:
    """Where what it has may change."""
    edges = [version.since for version in battery.versions if version.since is not None]
    return edges + [moment for outage in battery.outages.values() for moment in (outage.start, outage.end)]


def available_in(battery: Battery, quarter: int) -> tuple[Amounts, Amounts]:
    """Rated and available in a quarter-hour, at its worst moment."""
    start, end = start_of_quarter(quarter), start_of_quarter(quarter + 1)
    moments = [start, *(edge for edge in change_periods(battery) if start < edge < end)]
    rated, available = rated_at(battery, start), available_at(battery, start)
    for moment in moments[1:]:
        rated = rated.within(rated_at(battery, moment))
        available = available.within(available_at(battery, moment))
    return rated, available


def find_available(battery: Battery) -> Callable[[int], tuple[Amounts, Amounts]]:
    """`available_in` for many quarter-hours of a battery as it stands: worked out once between two changes."""
    edges_s = sorted(edge.timestamp() for edge in change_periods(battery))
    found: dict[tuple[int, int], tuple[Amounts, Amounts]] = {}

    def read(quarter: int) -> tuple[Amounts, Amounts]:
        start_s = quarter * QUARTER_S
        passed = bisect_right(edges_s, start_s), bisect_left(edges_s, start_s + QUARTER_S)
        if passed not in found:
            found[passed] = available_in(battery, quarter)
        return found[passed]

    return read


def lowest_between(battery: Battery, first: datetime, end: datetime) -> Amounts:
    """The smallest rating at any moment of a window."""
    return reduce(Amounts.within, _list_ratings(battery, first, end))


def highest_between(battery: Battery, first: datetime, end: datetime) -> Amounts:
    """The largest power and the largest energy at any moment of a window."""
    rated = _list_ratings(battery, first, end)
    return Amounts(
        max(one.charge for one in rated), max(one.discharge for one in rated), max(one.energy for one in rated)
    )


def _list_ratings(battery: Battery, first: datetime, end: datetime) -> list[Amounts]:
    later = [one.since for one in battery.versions if one.since is not None and first < one.since < end]
    return [rated_at(battery, moment) for moment in (first, *later)]
