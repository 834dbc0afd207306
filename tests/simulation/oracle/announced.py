"""Cuts that were announced are the holder's to trade around; every other cut counts as delivered (contract 12)."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

from tests.simulation.market import day_of_quarter, start_of_quarter, wall_clock
from tests.simulation.model import Outage, VirtualAsset, World
from tests.simulation.oracle.shares import available_fraction

SLACK_KW = Fraction(1, 100)


def find_delivered(
    world: World, virtual: VirtualAsset, quarter: int, accepted: Fraction, adjusted: Fraction
) -> Fraction | None:
    """kW that count as delivered of a schedule that was cut; None where it depends on more than outages.

    Announced is what was recorded before 12:00 in Berlin of the day before. Where nothing was, all counts; where
    everything was, and power is what the cut leaves, only that does. An outage that begins later, or was over
    before the asset began, has no part in it.
    """
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    if any(one.is_rewritten or one.versions[1:] or one.own for one in batteries) or virtual.has_cycle_limit:
        return None
    noon = wall_clock(day_of_quarter(quarter) - timedelta(days=1), 12)
    outages = [outage for one in batteries for outage in one.outages.values()]
    moment, begin = start_of_quarter(quarter), start_of_quarter(virtual.first)
    outages = [one for one in outages if one.start < moment + timedelta(minutes=15) and one.end > begin]
    known = [outage for outage in outages if _is_recorded_before(outage, noon)]
    if not known:
        return accepted
    overlapping = [one for one in outages if one.end > moment]
    left = available_fraction(world, virtual, quarter)
    power = left.discharge if accepted > 0 else left.charge
    is_by_power = bool(overlapping) and abs(abs(adjusted) - power) < SLACK_KW
    return adjusted if is_by_power and all(one in known for one in overlapping) else None


def _is_recorded_before(outage: Outage, noon: datetime) -> bool:
    return outage.recorded_at is not None and outage.recorded_at < noon
