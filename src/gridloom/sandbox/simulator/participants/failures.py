"""Batteries out of order, and when their owners say so: trips, deratings, maintenance, one for a week every four."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from gridloom.kernel.market_time import PERIOD, floor_to_period
from gridloom.sandbox.simulator.api_session import RequestRejected, record_rejection, written
from gridloom.sandbox.simulator.participants.operator import wall_clock
from gridloom.sandbox.simulator.random_streams import stream
from gridloom.sandbox.simulator.scenario import BATTERIES
from gridloom.sandbox.simulator.state import FailureKind, SimulatedOutage, SimulatorState
from gridloom.sandbox.simulator.step_context import StepContext

NEW_DAYS: Final = 4
"""In which nothing fails: a world's batteries are new."""
LONG_FAILURE_EVERY_DAYS: Final = 28
"""From one to the next, the first of them over within the world's first four weeks: any four weeks have one"""
LONG_FAILURE: Final = timedelta(days=7)
MAINTENANCE_NOTICE: Final = timedelta(days=3)
UNSAID_SHARE: Final = 0.15
"""Of trips and deratings: their owners never say so, and only measured values show them."""


@dataclass(frozen=True, slots=True)
class FailureTerms:
    """How often something happens, and how it is announced. `chance` a day and battery; `hours` and `missing`, the
    share of power that is lost, from the least to the most."""

    chance: float
    hours: tuple[float, float]
    missing: tuple[float, float]
    description: str
    cause: str


TERMS: Final[Mapping[FailureKind, FailureTerms]] = {
    FailureKind.TRIP: FailureTerms(0.04, (1.5, 7.0), (0.5, 1.0), "A converter has tripped", "Failure of a converter"),
    FailureKind.DERATING: FailureTerms(
        0.02, (8.0, 30.0), (0.15, 0.4), "Cooling keeps the cells within less power", "Failure of a cooling circuit"
    ),
    FailureKind.MAINTENANCE: FailureTerms(
        0.02, (4.0, 7.0), (1.0, 1.0), "Yearly service of the converters", "Foreseen maintenance"
    ),
    FailureKind.ORDERED: FailureTerms(0.0, (0.0, 0.0), (1.0, 1.0), "Failed on purpose", "Failure on purpose"),
    FailureKind.LONG: FailureTerms(
        0.0, (168.0, 168.0), (1.0, 1.0), "The transformer is out of order", "Failure of a transformer"
    ),
}
_DRAWN: Final = (FailureKind.TRIP, FailureKind.DERATING, FailureKind.MAINTENANCE)


def draw_outages(context: StepContext, day: date) -> None:
    """Draws what fails on a day, and the maintenance three days later."""
    memory = context.memory
    if memory.begun is not None and day < memory.begun + timedelta(days=NEW_DAYS):
        return
    for number, battery in enumerate(BATTERIES):
        for kind in _DRAWN:
            terms = TERMS[kind]
            draws = context.chance(f"failure {kind}", number, day.toordinal()).uniform(size=6)
            if draws[0] >= terms.chance:
                continue
            start = _begin_failure(kind, day, float(draws[1]))
            end = start + PERIOD * round(4 * _scale_between(terms.hours, float(draws[2])))
            missing = round(_scale_between(terms.missing, float(draws[3])), 2)
            _add_outage(
                memory,
                SimulatedOutage(
                    battery.slug,
                    start,
                    end,
                    missing,
                    planned=kind is FailureKind.MAINTENANCE,
                    kind=kind,
                    said_after_min=15 * int(5 * draws[4]) if kind is FailureKind.TRIP else 0,
                    is_unsaid=kind is not FailureKind.MAINTENANCE and bool(draws[5] < UNSAID_SHARE),
                ),
            )
    _draw_long_failure(context, day)


def _scale_between(bounds: tuple[float, float], place: float) -> float:
    return bounds[0] + place * (bounds[1] - bounds[0])


def _begin_failure(kind: FailureKind, day: date, place: float) -> datetime:
    if kind is FailureKind.MAINTENANCE:
        return floor_to_period(wall_clock(day + MAINTENANCE_NOTICE, 9))
    return floor_to_period(wall_clock(day, 4) + timedelta(hours=18 * place))


def _draw_long_failure(context: StepContext, day: date) -> None:
    """Of one battery that works."""
    seed = context.market_data.seed_of(day)
    chosen, begun = stream(seed, "long failure").uniform(), context.memory.begun or date.min
    first_after = NEW_DAYS + int((LONG_FAILURE_EVERY_DAYS - NEW_DAYS - LONG_FAILURE.days) * chosen)
    if ((day - begun).days - first_after) % LONG_FAILURE_EVERY_DAYS:
        return
    draws = stream(seed, "long failure", day.toordinal()).uniform(size=2)
    start = _begin_failure(FailureKind.LONG, day, float(draws[0]))
    first = int(len(BATTERIES) * draws[1])
    for battery in BATTERIES[first:] + BATTERIES[:first]:
        outage = SimulatedOutage(battery.slug, start, start + LONG_FAILURE, 1.0, planned=False, kind=FailureKind.LONG)
        if _add_outage(context.memory, outage):
            return


def _add_outage(memory: SimulatorState, outage: SimulatedOutage) -> bool:
    """Unless the battery is out of order then already; whether it was added."""
    others = (one for one in memory.outages if one.battery == outage.battery)
    is_whole = not any(one.start < outage.end and outage.start < one.end for one in others)
    if is_whole:
        memory.outages.append(outage)
    return is_whole


# --- announcements ---------------------------------------------------------------------------------------------------


async def announce_outages(context: StepContext) -> None:
    """Each with its message to the market: maintenance as soon as it is decided, failures once they are seen."""
    due = [one for one in context.memory.outages if one.is_due(context.step)]
    for outage in due:
        outage.announced = True
    await asyncio.gather(*(_announce_outage(context, outage) for outage in due))


async def _announce_outage(context: StepContext, outage: SimulatedOutage) -> None:
    battery = next(one for one in BATTERIES if one.slug == outage.battery)
    owner, asset = context.sessions[battery.owner], f"/physical-assets/{context.memory.batteries[battery.slug]}"
    key = context.key(f"outage/{battery.slug}/{outage.start:%Y%m%dT%H%M}")
    missing_kw, terms = outage.missing * battery.power_kw, TERMS[outage.kind]
    message = {
        "unavailabilityType": "PLANNED" if outage.planned else "UNPLANNED",
        "eventStart": written(outage.start),
        "eventEnd": written(outage.end),
        "unavailableCapacity": missing_kw,
        "cause": terms.cause,
    }
    try:
        notification = await owner.post(f"{asset}/exchange-notifications", message, f"{key}/message")
        body = {
            "description": terms.description,
            "type": "MAINTENANCE" if outage.planned else "OUTAGE",
            "start": written(outage.start),
            "end": written(outage.end),
            "volume": {"energyCapacity": 0, "powerCapacity": {"charge": missing_kw, "discharge": missing_kw}},
            "exchangeNotificationIds": [notification["id"]],
        }
        await owner.post(f"{asset}/unavailability", body, key)
    except RequestRejected as problem:
        record_rejection(f"outage of {battery.name}", problem)
