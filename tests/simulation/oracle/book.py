"""The book of a battery (contract 3.4), added up anew from what the model remembers."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from tests.simulation.market import (
    day_of_quarter,
    product_quarters,
    quarter_after,
    quarter_of,
    quarters_of_day,
    start_of_quarter,
)
from tests.simulation.model import Battery, World
from tests.simulation.oracle.availability import ZERO, Amounts, available_in, change_periods, parameters_at

FCR_HOURS = Fraction(15, 60)
AFRR_HOURS = Fraction(60, 60)
ENERGY_HOURS = Fraction(15, 60)
HOUR_OF_QUARTER = Fraction(1, 4)
SLACK = Fraction(1, 1_000_000)


@dataclass(slots=True)
class Page:
    """The book in one quarter-hour."""

    rated: Amounts
    available: Amounts
    promised: Amounts = field(default_factory=Amounts)
    offered: Amounts = field(default_factory=Amounts)
    fcr: Amounts = field(default_factory=Amounts)
    afrr_capacity: Amounts = field(default_factory=Amounts)
    afrr_energy: Amounts = field(default_factory=Amounts)
    own: Amounts = field(default_factory=Amounts)

    @property
    def taken(self) -> Amounts:
        return self.promised + self.offered + self.fcr + self.afrr_capacity + self.afrr_energy + self.own

    @property
    def free(self) -> Amounts:
        return (self.available - self.taken).positive

    @property
    def missing(self) -> Amounts:
        return (self.taken - self.available).positive


def weigh(battery: Battery, quarter: int, power: Amounts, losses: tuple[Fraction, Fraction]) -> Amounts:
    """What a share of a virtual battery takes of this one: more to import and to hold where this one loses more."""
    found = parameters_at(battery, start_of_quarter(quarter))
    charge = max(Fraction(1), losses[0] / found.charge_efficiency)
    energy = max(Fraction(1), losses[1] / found.discharge_efficiency) / found.usable
    return Amounts(power.charge * charge, power.discharge, power.energy * energy)


def read_page(world: World, battery: Battery, quarter: int) -> Page:
    rated, available = available_in(battery, quarter)
    page = Page(rated, available)
    for virtual in world.virtuals.values():
        if virtual.first <= quarter < virtual.end:
            asked = Amounts(virtual.charge, virtual.discharge, virtual.energy)
            losses = (virtual.charge_efficiency, virtual.discharge_efficiency)
            for share in (share for name, share in virtual.backing if name == battery.name):
                page.promised += weigh(battery, quarter, asked.times(share), losses)
    for auction in world.auctions.values():
        is_won = auction.winner is not None and auction.virtual is None
        is_gone = auction.is_cancelled or (auction.is_cleared and not is_won)
        if is_gone or not auction.first <= quarter < auction.last:
            continue
        item = auction.item
        asked = Amounts(
            Fraction(item["ratedChargePower"]), Fraction(item["ratedDischargePower"]), Fraction(item["energyCapacity"])
        )
        losses = (Fraction(str(item["chargeEfficiency"])), Fraction(str(item["dischargeEfficiency"])))
        for share in (share for name, share in auction.backing if name == battery.name):
            weight = weigh(battery, quarter, asked.times(share), losses)
            if is_won:  # its virtual asset is there, only nobody has looked at it
                page.promised += weight
            else:
                page.offered += weight
    _add_reserves(page, battery, quarter)
    _add_own(page, battery, quarter)
    return page


def _add_reserves(page: Page, battery: Battery, quarter: int) -> None:
    usable = parameters_at(battery, start_of_quarter(quarter)).usable
    energy_held = {"POS": ZERO, "NEG": ZERO}
    accepted = {"POS": ZERO, "NEG": ZERO}
    for bid in battery.bids.values():
        power = {"OFFERED": bid.capacity, "ACCEPTED": bid.accepted}.get(bid.status, ZERO)
        if not power or quarter not in product_quarters(bid.day, bid.product):
            continue
        direction, _, rest = bid.product.partition("_")
        if direction == "NEGPOS":
            page.fcr += Amounts(power, power, 2 * FCR_HOURS * power / usable)
        elif "_" in rest:
            page.afrr_capacity += _of_direction(direction, power, AFRR_HOURS / usable)
            accepted[direction] += power if bid.status == "ACCEPTED" else ZERO
        else:
            energy_held[direction] += power
    for direction, power in energy_held.items():
        excess = max(ZERO, power - accepted[direction])
        page.afrr_energy += _of_direction(direction, excess, ENERGY_HOURS / usable)


def _of_direction(direction: str, power: Fraction, hours: Fraction) -> Amounts:
    if direction == "POS":
        return Amounts(ZERO, power, power * hours)
    return Amounts(power, ZERO, power * hours)


def _add_own(page: Page, battery: Battery, quarter: int) -> None:
    power = battery.own.get(quarter, ZERO)
    usable = parameters_at(battery, start_of_quarter(quarter)).usable
    swing = swing_of_day(battery, quarter)
    page.own = Amounts(max(-power, ZERO), max(power, ZERO), swing / usable)


def swing_of_day(battery: Battery, quarter: int) -> Fraction:
    """Highest less lowest of the own schedule's running sum within the market day, in kWh."""
    if not battery.own:
        return ZERO
    return _read_own(battery).find_swing(day_of_quarter(quarter))


class _OwnSchedule:
    """What follows from an own schedule, worked out once while it stands."""

    def __init__(self, powers: dict[int, Fraction]) -> None:
        self.powers = powers
        self._swings: dict[date, Fraction] = {}
        days = {day_of_quarter(quarter) for quarter in powers}
        edges = {edge for day in days for edge in (quarters_of_day(day).start, quarters_of_day(day).stop)}
        self.turning_points = sorted(edges.union(powers, (quarter + 1 for quarter in powers)))

    def find_swing(self, day: date) -> Fraction:
        if day not in self._swings:
            running = highest = lowest = ZERO
            for quarter in quarters_of_day(day):
                power = self.powers.get(quarter)
                if power:
                    running += power * HOUR_OF_QUARTER
                    highest, lowest = max(highest, running), min(lowest, running)
            self._swings[day] = highest - lowest
        return self._swings[day]


_own_schedules: dict[str, _OwnSchedule] = {}
"""By the battery's id."""


def _read_own(battery: Battery) -> _OwnSchedule:
    known = _own_schedules.get(battery.id)
    if known is None or known.powers is not battery.own:
        known = _own_schedules[battery.id] = _OwnSchedule(battery.own)
    return known


def find_turning_points(world: World, battery: Battery, first: int, end: int) -> list[int]:
    """Quarter-hours within a window at which the book may change; nothing differs between two of them."""
    found = {first}
    for edge in change_periods(battery):
        found |= {quarter_of(edge), quarter_after(edge)}
    for virtual in world.virtuals.values():
        found |= {virtual.first, virtual.end}
    for auction in world.auctions.values():
        found |= {auction.first, auction.last}
    for bid in battery.bids.values():
        if bid.status in ("OFFERED", "ACCEPTED"):
            quarters = product_quarters(bid.day, bid.product)
            found |= {quarters.start, quarters.stop}
    if battery.own:
        known = _read_own(battery).turning_points
        found.update(known[bisect_left(known, first) : bisect_left(known, end)])
    return sorted(quarter for quarter in found if first <= quarter < end)


def find_shortage(
    world: World, battery: Battery, asked: Amounts, losses: tuple[Fraction, Fraction] | None, first: int, end: int
) -> str | None:
    """`unavailable` where the battery has not got it at all, `taken` where others hold it, None where it fits.

    With `losses` what is asked for is a share of a virtual battery with these efficiencies.
    """
    worst = None
    for quarter in find_turning_points(world, battery, first, end):
        page = read_page(world, battery, quarter)
        wanted = asked if losses is None else weigh(battery, quarter, asked, losses)
        if _exceeds(wanted, page.available):
            return "unavailable"
        if _exceeds(wanted, page.available - page.taken):
            worst = "taken"
    return worst


def _exceeds(asked: Amounts, there: Amounts) -> bool:
    pairs = ((asked.charge, there.charge), (asked.discharge, there.discharge), (asked.energy, there.energy))
    return any(wanted > 0 and wanted > left + SLACK for wanted, left in pairs)
