"""Mistakes on batteries: codes, parameters, metadata, schedules that do not fit."""

from __future__ import annotations

from tests.simulation.actors.acting import as_window, choose_eic
from tests.simulation.actors.mistakes.making import UNKNOWN, on_battery
from tests.simulation.calls import Request
from tests.simulation.market import quarter_of, start_of_quarter, to_text
from tests.simulation.model import ZONES, Battery, World
from tests.simulation.steps import Pick


@on_battery(422, "invalid-code")
def mistype_eic(world: World, pick: Pick, battery: Battery) -> Request | None:
    code = choose_eic(7)
    wrong = code[:-1] + ("A" if code[-1] != "A" else "B")
    return Request("updatePhysicalAsset", battery.owner.engineer, "PATCH", battery.path, {"eicCode": wrong})


@on_battery(422, "unknown-fleet")
def put_into_unknown_fleet(world: World, pick: Pick, battery: Battery) -> Request | None:
    return Request("updatePhysicalAsset", battery.owner.engineer, "PATCH", battery.path, {"fleetID": UNKNOWN})


def _backs_something(world: World, battery: Battery) -> bool:
    """A virtual asset whose life will not be over in a moment."""
    living = [one for one in world.virtuals.values() if one.end > quarter_of(world.now) + 4]
    return any(name == battery.name for one in living for name, _ in one.backing)


@on_battery(422, "delivery-zone-held")
def move_battery(world: World, pick: Pick, battery: Battery) -> Request | None:
    now = quarter_of(world.now)
    if not any(
        name == battery.name and one.end > now + 4 for one in world.virtuals.values() for name, _ in one.backing
    ):
        return None
    body = {"deliveryZone": ZONES[1] if battery.zone == ZONES[0] else ZONES[0]}
    return Request("updatePhysicalAsset", battery.owner.admin, "PATCH", battery.path, body)


@on_battery(409, "asset-committed")
def retire_committed(world: World, pick: Pick, battery: Battery) -> Request | None:
    if battery.outages or not _backs_something(world, battery):
        return None
    return Request("updatePhysicalAsset", battery.owner.admin, "PATCH", battery.path, {"status": "INACTIVE"})


@on_battery(422, "inconsistent-parameters")
def turn_bounds_around(world: World, pick: Pick, battery: Battery) -> Request | None:
    last = battery.versions[-1]
    body = {
        "ratedChargePower": float(last.charge),
        "ratedDischargePower": float(last.discharge),
        "energyCapacity": float(last.energy),
        "chargeEfficiency": 0.9,
        "dischargeEfficiency": 0.9,
        "minStateOfCharge": 0.9,
        "maxStateOfCharge": 0.1,
    }
    return Request("putParameters", battery.owner.engineer, "PUT", f"{battery.path}/parameters", body)


@on_battery(422, "inconsistent-metadata")
def end_contract_early(world: World, pick: Pick, battery: Battery) -> Request | None:
    body = {"startsOn": "2027-01-01", "endsOn": "2026-01-01"}
    return Request("putMetadata", battery.owner.engineer, "PUT", f"{battery.path}/metadata/contract", body)


@on_battery(422, "unknown-notifications")
def report_with_unknown_message(world: World, pick: Pick, battery: Battery) -> Request | None:
    quarter = quarter_of(world.now) + 4
    body = {
        "description": "Inverter",
        "type": "OUTAGE",
        **as_window(quarter, quarter + 4),
        "volume": {"energyCapacity": 0, "powerCapacity": {"charge": 0, "discharge": 0}},
        "exchangeNotificationIds": [UNKNOWN],
    }
    return Request("createUnavailability", battery.owner.engineer, "POST", f"{battery.path}/unavailability", body)


@on_battery(422, "power-not-available")
def schedule_too_much(world: World, pick: Pick, battery: Battery) -> Request | None:
    power = float(max(version.discharge for version in battery.versions)) + 1
    body = {"schedule": [{"time": to_text(start_of_quarter(quarter_of(world.now) + 8)), "power": power}]}
    return Request("putPhysicalAssetSchedule", battery.owner.trader, "PUT", f"{battery.path}/schedule", body)
