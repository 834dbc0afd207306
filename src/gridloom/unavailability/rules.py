"""Rules of unavailabilities, and their logbook entries."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from gridloom.capacity.availability import Rating, maximum_rating
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
        ("/volume/energyCapacity", volume.energy_capacity, energy_kwh, "kWh"),
        ("/volume/powerCapacity/charge", volume.power_capacity.charge, charge_kw, "kW"),
        ("/volume/powerCapacity/discharge", volume.power_capacity.discharge, discharge_kw, "kW"),
    )
    faults = [
        FieldError(pointer, f"{missing:g} {unit} are more than the {rated:g} {unit} that are rated")
        for pointer, missing, rated, unit in asked
        if missing > rated
    ]
    if faults:
        raise VolumeBeyondRated("; ".join(error.detail for error in faults) + ".", errors=faults)


def check_notifications(given: list[UUID], known: set[UUID]) -> None:
    faults = [
        FieldError(f"/exchangeNotificationIds/{position}", f"{notification_id} is not a notification of this asset")
        for position, notification_id in enumerate(given)
        if notification_id not in known
    ]
    if faults:
        raise UnknownNotifications("; ".join(error.detail for error in faults) + ".", errors=faults)


def logbook_text(body: NewUnavailability) -> str:
    """Its text in the logbook."""
    volume = body.volume
    return (
        f"{volume.power_capacity.charge:g} kW of charging, {volume.power_capacity.discharge:g} kW of discharging and "
        f"{volume.energy_capacity:g} kWh are missing from {format_instant(body.start)} to {format_instant(body.end)}."
        + (f"\n{body.description}" if body.description else "")
    )
