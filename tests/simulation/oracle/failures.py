"""Who owes what a zone did not deliver, and who is paid for standing in (contract 7 and 12).

A battery fails in a quarter-hour by what of its fair part it could not have given with its available power and, at its
fair energy (Σ share × virtual energy, times available ÷ rated energy), within its limits; not where it gave that part.
Where a virtual asset was cut to what its batteries had left, that explains the cut, whatever netting leaves of parts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction

from tests.simulation.market import start_of_quarter
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.announced import Outages, known_at, outages_of
from tests.simulation.oracle.availability import Amounts, available_in
from tests.simulation.oracle.energy import is_activated
from tests.simulation.oracle.revenue import measure
from tests.simulation.oracle.shares import left_of

HOURS = 0.25
SLACK_KW = 1e-6


@dataclass(frozen=True, slots=True)
class ZoneQuarter:
    """A quarter-hour that is over: kW and kWh by name of virtual asset, and what each battery gave for them, in kW.

    `counted` is what counts as delivered, `undelivered` what of that was not, `stored` the energy before it.
    """

    quarter: int
    counted: dict[str, float]
    undelivered: dict[str, float]
    stored: dict[str, float]
    given: dict[str, float]


@dataclass(slots=True)
class Failure:
    """By battery, kW: what of the undelivered power is its owner's, exports positive; what it gave less than it should
    have; and what others gave in place of each."""

    missed: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    short: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    taken_over: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))


def is_zone_simple(world: World, zone: str) -> bool:
    """Whether outages and whole schedules are all that bears on its batteries: what each could have given follows."""
    if world.auctions:
        return False
    for battery in (one for one in world.batteries.values() if one.zone == zone):
        first = battery.versions[0]
        is_bound = battery.versions[1:] or first.daily_cycles or first.usable != 1 or battery.status != "ACTIVE"
        if is_bound or battery.own or battery.bids or battery.samples.get("state_of_charge"):
            return False
    behind = [one for one in world.virtuals.values() if one.zone == zone]
    return not any(one.has_cycle_limit or not one.has_one_block or is_activated(world, one) for one in behind)


def find_failure(world: World, zone: str, known: ZoneQuarter) -> Failure:
    batteries = [one for one in world.batteries.values() if one.zone == zone]
    exported = sum(power for power in known.counted.values() if power > 0)
    imported = -sum(power for power in known.counted.values() if power < 0)
    sign = 1 if exported >= imported else -1
    side = max(exported, imported)
    left = 1 - min(exported, imported) / side if side else 0.0
    fair = {one.name: 0.0 for one in batteries}
    for virtual, share, name in _list_shares(world, known):
        if sign * known.counted[virtual] > 0:
            fair[name] += share * sign * known.counted[virtual] * left
    given = {one.name: max(0.0, sign * known.given.get(one.name, 0.0)) for one in batteries}
    failed = {
        one.name: max(0.0, fair[one.name] - max(given[one.name], _find_possible(world, one, known, sign)))
        for one in batteries
    }
    failed = {name: power if power > SLACK_KW else 0.0 for name, power in failed.items()}
    found = Failure(short=failed)
    _divide(world, known, failed, sign, found)
    _find_substitutes(known, failed, {name: max(0.0, given[name] - fair[name]) for name in fair}, sign, found)
    return found


def _list_shares(world: World, known: ZoneQuarter) -> list[tuple[str, float, str]]:
    return [(name, float(share), battery) for name in known.counted for battery, share in world.virtuals[name].backing]


def _find_possible(world: World, battery: Battery, known: ZoneQuarter, sign: int) -> float:
    """kW out of the battery, or into it, with what was available of it, at its fair energy."""
    rated, available = available_in(battery, known.quarter)
    stored = promised = 0.0
    for virtual, share, name in _list_shares(world, known):
        if name == battery.name:
            stored += share * known.stored[virtual]
            promised += share * float(world.virtuals[virtual].energy)
    left, found = float(available.energy / rated.energy), battery.versions[0]
    if sign > 0:
        return min(float(available.discharge), stored * left * float(found.discharge_efficiency) / HOURS)
    return min(float(available.charge), max(0.0, promised - stored) * left / float(found.charge_efficiency) / HOURS)


def _sum_undelivered(known: ZoneQuarter, sign: int) -> float:
    """On the side of the net."""
    return sum(abs(power) for name, power in known.undelivered.items() if sign * known.counted[name] > 0)


def _divide(world: World, known: ZoneQuarter, failed: dict[str, float], sign: int, found: Failure) -> None:
    """Among the batteries that failed, by how much, then among those that cut virtual assets lacked power of, by how
    much more; what neither explains is the owners', by share."""
    for side, short in ((sign, failed), (-sign, dict.fromkeys(failed, 0.0))):
        undelivered = {name: power for name, power in known.undelivered.items() if side * known.counted[name] > 0}
        owed, total = sum(map(abs, undelivered.values())), sum(short.values())
        if owed < SLACK_KW:
            continue
        lacked = dict.fromkeys(failed, 0.0)
        for name, power in undelivered.items():
            for battery, lacking in _find_lacked(world, known, name, abs(power)).items():
                lacked[battery] += lacking
        more = {name: max(0.0, power - short[name]) for name, power in lacked.items()}
        left = max(0.0, owed - total)
        explained = min(left, sum(more.values()))
        for name in failed:
            part = min(owed, total) * short[name] / total if total else 0.0
            part += explained * more[name] / sum(more.values()) if explained else 0.0
            found.missed[name] += side * part
        for virtual, share, name in _list_shares(world, known):
            found.missed[name] += share * undelivered.get(virtual, 0.0) * (left - explained) / owed


def _find_lacked(world: World, known: ZoneQuarter, name: str, undelivered: float) -> dict[str, float]:
    """What a virtual asset lacks of the power of each of its batteries, as far as it was cut for that."""
    virtual, asked = world.virtuals[name], abs(known.counted[name])
    way = "discharge" if known.counted[name] > 0 else "charge"
    lacking = {
        battery: float(share)
        * (asked - float(getattr(virtual, way) * getattr(left_of(world, [(battery, Fraction(1))], known.quarter), way)))
        for battery, share in virtual.backing
    }
    cut = min(undelivered, sum(lacking.values()))
    lacking = {battery: max(0.0, power) for battery, power in lacking.items()}
    total = sum(lacking.values())
    return {battery: cut * power / total for battery, power in lacking.items()} if cut > SLACK_KW else {}


def _find_substitutes(
    known: ZoneQuarter, failed: dict[str, float], extra: dict[str, float], sign: int, found: Failure
) -> None:
    """What others gave beyond their fair parts, as far as it was what the failed ones should have given."""
    shorts, extras = sum(failed.values()), sum(extra.values())
    taken = min(extras, max(0.0, shorts - _sum_undelivered(known, sign)))
    for name, power in failed.items():
        for helper, more in extra.items():
            if taken and helper != name and power * more:
                found.taken_over[name, helper] += taken * power / shorts * more / extras


def find_owed(world: World, virtual: VirtualAsset, first: int, end: int) -> dict[tuple[str, int], Fraction]:
    """Euros by battery and quarter-hour: (1 − a) × paid, by share × shortfall, as things stood at each gate."""
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    if not any(one.outages or one.past for one in batteries):
        return {}
    found: dict[tuple[str, int], Fraction] = {}
    for quarter in range(max(first, virtual.first), min(end, virtual.end)):
        gate = start_of_quarter(quarter) - timedelta(seconds=virtual.gate_s)
        known = {one.name: known_at(one, gate) for one in batteries}
        if not any(_overlaps(outages, quarter) for outages in known.values()):
            continue
        with outages_of(world, known):
            left = left_of(world, virtual.backing, quarter)
            own = {name: left_of(world, [(name, Fraction(1))], quarter) for name, _ in virtual.backing}
        missing = 1 - _find_part(left)
        short = {name: share * (1 - _find_part(own[name])) for name, share in virtual.backing}
        if missing and any(short.values()):
            paid = measure(world, virtual, start_of_quarter(quarter), start_of_quarter(quarter + 1))
            due = missing * (paid["vba_revenue"] + paid["toll_revenue"])
            found |= {(name, quarter): due * part / sum(short.values()) for name, part in short.items() if part}
    return found


def _overlaps(outages: Outages, quarter: int) -> bool:
    start, end = start_of_quarter(quarter), start_of_quarter(quarter + 1)
    return any(one.start < end and one.end > start for one in outages.values())


def _find_part(left: Amounts) -> Fraction:
    return min((left.charge + left.discharge) / 2, left.energy)
