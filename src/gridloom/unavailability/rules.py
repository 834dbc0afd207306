"""Rules of unavailabilities, and their logbook entries."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from gridloom.capacity.availability import Rating, maximum_rating
from gridloom.kernel.figures import Sentence, join, kw, kwh, say
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.problem import BadRequest, FieldError, Problem
from gridloom.kernel.window import Window
from gridloom.unavailability.model import NewUnavailability, NewVolume


class VolumeBeyondRated(Problem, status=422, title="More is missing than is rated"):
    """More is declared missing than the asset is rated for at any instant of the window.

    The volume is what is *missing*, in kWh and kW. `errors` names the parts and what is rated.
    """


class UnknownNotifications(Problem, status=422, title="The asset has no such exchange notifications"):
    """Some of the exchange notifications do not exist, or belong to another asset. `errors` names them."""


def unavailable_window(body: NewUnavailability, pointer: str = "/end") -> Window:
    if body.start >= body.end:
        detail = "is not before the end" if pointer == "/start" else "is not after the start"
        raise BadRequest.at(pointer, "The unavailability ends before it starts.", detail)
    return Window(body.start, body.end)


def reduces_further(before: NewUnavailability, after: NewUnavailability) -> bool:
    """Whether a change declares anything missing that was not before; what only shortens an outage, or describes it
    better, stays possible when the ratings have fallen since."""
    return after.volume != before.volume or after.start < before.start or after.end > before.end


def check_volume(volume: NewVolume, ratings: Sequence[Rating], window: Window) -> None:
    """Of several ratings over the window the greatest counts: what is missing is capped at each instant."""
    charge_kw, discharge_kw, energy_kwh = maximum_rating(ratings, window)
    asked = (
        ("/volume/energyCapacity", kwh(volume.energy_capacity), kwh(energy_kwh)),
        ("/volume/powerCapacity/charge", kw(volume.power_capacity.charge), kw(charge_kw)),
        ("/volume/powerCapacity/discharge", kw(volume.power_capacity.discharge), kw(discharge_kw)),
    )
    faults = {
        pointer: say("{} are more than the {} that are rated", missing, rated)
        for pointer, missing, rated in asked
        if missing.value > rated.value
    }
    if faults:
        detail = say("{}.", join("; ", [*faults.values()]))
        raise VolumeBeyondRated(detail, errors=[FieldError(*each) for each in faults.items()])


def check_notifications(given: list[UUID], known: set[UUID]) -> None:
    faults = [
        FieldError(f"/exchangeNotificationIds/{position}", f"{notification_id} is not a notification of this asset")
        for position, notification_id in enumerate(given)
        if notification_id not in known
    ]
    if faults:
        raise UnknownNotifications("; ".join(error.detail for error in faults) + ".", errors=faults)


def logbook_text(body: NewUnavailability) -> Sentence:
    """Its text in the logbook."""
    volume = body.volume
    return say(
        "{} of charging, {} of discharging and {} are missing from {} to {}.{}",
        kw(volume.power_capacity.charge),
        kw(volume.power_capacity.discharge),
        kwh(volume.energy_capacity),
        format_instant(body.start),
        format_instant(body.end),
        f"\n{body.description}" if body.description else "",
    )
