"""Mistakes in market messages: sums, intervals, references, lengths."""

from __future__ import annotations

from typing import Any

from tests.simulation.actors.acting import as_window, choose_eic
from tests.simulation.actors.mistakes.making import UNKNOWN, on_battery
from tests.simulation.calls import Request
from tests.simulation.market import quarter_of
from tests.simulation.model import Battery, World
from tests.simulation.steps import Pick


def _message(world: World, **more: Any) -> dict[str, Any]:
    window = as_window(quarter_of(world.now) + 4, quarter_of(world.now) + 12)
    return {
        "unavailabilityType": "UNPLANNED",
        "eventStart": window["start"],
        "eventEnd": window["end"],
        "unavailableCapacity": 1,
        "cause": "Inverter",
        "assetEic": choose_eic(11),
        **more,
    }


def _publish(battery: Battery, body: dict[str, Any]) -> Request:
    return Request(
        "publishNotification", battery.owner.engineer, "POST", f"{battery.path}/exchange-notifications", body
    )


@on_battery(422, "capacity-mismatch")
def publish_wrong_sum(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _publish(battery, _message(world, installedCapacity=10, availableCapacity=5, unavailableCapacity=10))


@on_battery(422, "intervals-do-not-cover-event")
def publish_with_gap(world: World, pick: Pick, battery: Battery) -> Request | None:
    first = quarter_of(world.now) + 4
    interval = {**as_window(first, first + 2), "unavailableCapacity": 1}
    return _publish(battery, _message(world, capacityIntervals=[interval]))


@on_battery(422, "unknown-unavailabilities")
def publish_for_unknown_outage(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _publish(battery, _message(world, unavailabilityIDs=[UNKNOWN]))


@on_battery(422, "remarks-too-long")
def publish_long_remarks(world: World, pick: Pick, battery: Battery) -> Request | None:
    return _publish(battery, _message(world, remarks="r" * 400, durationUncertainty="u" * 400))


@on_battery(409, "message-id-taken")
def publish_again(world: World, pick: Pick, battery: Battery) -> Request | None:
    if not battery.messages:
        return None
    return _publish(battery, _message(world, messageID=battery.messages[0]))
