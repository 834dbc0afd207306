"""Holders of virtual assets: what is in store, what was cut, what is left of the power."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import as_window, exact, on_virtual
from tests.simulation.calls import Answer, Request
from tests.simulation.market import (
    from_text,
    quarter_of,
)
from tests.simulation.model import VirtualAsset, World
from tests.simulation.oracle.energy import find_activated, find_store, is_plain, is_uncut
from tests.simulation.oracle.shares import available_fraction
from tests.simulation.steps import Pick

CAPACITY_SAMPLES = 30


@on_virtual(weight=4)
def read_store(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    return store_request(world, virtual, projected=pick.chance(50))


def store_request(world: World, virtual: VirtualAsset, *, projected: bool) -> Request:
    """The state of charge over the asset's life, compared where nothing has cut its schedule."""
    expected = find_store(virtual, activated=find_activated(world, virtual))
    stays_within = all(0 <= energy <= virtual.energy for energy in expected.values())
    is_known = is_uncut(virtual) and stays_within
    energy_kwh, first = float(virtual.energy), virtual.initial * virtual.energy

    def check(answer: Answer) -> None:
        for point in answer.body:
            said = 100 * point["energy"] / energy_kwh if projected else point["stateOfChargePercentage"]
            assert 0 <= said <= 100 + 1e-9, f"a state of charge within 0 and 100 %, not {said}"
            if is_known:
                stored = expected[quarter_of(from_text(point["time"]))]
                value = 100 * float(stored) / energy_kwh
                world.compared["store"] += stored != first
                assert abs(said - value) < 1e-3, f"{value} % at {point['time']}, not {said}"

    path = f"{virtual.path}/state-of-energy/projected" if projected else f"{virtual.path}/state-of-charge"
    operation = "readProjectedStateOfEnergy" if projected else "readStateOfCharge"
    query = as_window(virtual.first, min(virtual.end, virtual.first + 400))
    return Request(operation, virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def adjustments_request(world: World, virtual: VirtualAsset) -> Request:
    """Cuts only ever reduce what was accepted, and are of what was accepted."""

    def check(answer: Answer) -> None:
        if answer.body:
            world.due_events.add((virtual.holder.name, "schedule.adjusted"))
        for cut in answer.body:
            accepted, adjusted = exact(cut["acceptedSchedule"]), exact(cut["adjustedSchedule"])
            assert accepted * adjusted >= 0, f"a cut that turns nothing around at {cut['timestamp']}, not {adjusted}"
            assert abs(adjusted) <= abs(accepted) + Fraction(1, 1000), f"a cut at {cut['timestamp']}, not {adjusted}"
            expected = virtual.schedule.get(quarter_of(from_text(cut["timestamp"])), Fraction(0))
            if virtual.has_one_block:
                world.compared["adjustments"] += 1
                assert abs(accepted - expected) < Fraction(1, 1000), (
                    f"accepted {float(expected)} at {cut['timestamp']}, not {float(accepted)}"
                )

    query = {"limit": "1000", **as_window(virtual.first, virtual.end)}
    path = f"{virtual.path}/adjustments"
    return Request("listAdjustments", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def past_store_request(world: World, virtual: VirtualAsset, followed: dict[int, Fraction]) -> Request:
    """What is in store now follows from what was accepted and what of it was cut as announced."""
    is_cut = any(power != virtual.schedule.get(quarter, Fraction(0)) for quarter, power in followed.items())

    def check(answer: Answer) -> None:
        expected = find_store(virtual, {**virtual.schedule, **followed})
        world.compared["store after cuts"] += is_cut
        for point in answer.body:
            value = 100 * float(expected[quarter_of(from_text(point["time"]))]) / float(virtual.energy)
            said = point["stateOfChargePercentage"]
            assert abs(said - value) < 0.01, f"{value} % after cuts at {point['time']}, not {said}"

    query = as_window(virtual.first, min(virtual.end, quarter_of(world.now)))
    path = f"{virtual.path}/state-of-charge"
    return Request("readStateOfCharge", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


READS = {
    "readVirtualAsset": "",
    "listBlocks": "/blocks",
    "readAssetSchedule": "/schedule",
    "readLatestStateOfEnergy": "/state-of-energy/latest",
    "readOperational": "/operational",
    "listAdjustments": "/adjustments",
    "listScheduleHistory": "/schedule-history",
}


@on_virtual(weight=4)
def read_virtual_asset(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    operation = pick.of(list(READS))
    path = virtual.path + READS[operation]
    if operation == "readOperational":
        return operational_request(world, virtual)
    return Request(operation, pick.one_of(virtual.holder.viewer, world.operator.viewer), "GET", path, expect=200)


def operational_request(world: World, virtual: VirtualAsset) -> Request:
    """What can be delivered is within the power and within what is in store."""
    first, end = virtual.first, min(virtual.end, virtual.first + 96)
    store = find_store(virtual)

    def check(answer: Answer) -> None:
        if not is_plain(world, virtual):
            return
        for point in answer.body["data"]["maximumDeliverablePower"]:
            energy = store[quarter_of(from_text(point["time"]))]
            most = min(virtual.discharge, energy * virtual.discharge_efficiency * 4)
            if point["value"] is not None:
                assert exact(point["value"]) <= most + 1, f"at most {float(most)} kW at {point['time']}, not {point}"

    query = as_window(first, end)
    path = f"{virtual.path}/operational"
    return Request("readOperational", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


@on_virtual(weight=1)
def read_block(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    if not virtual.blocks:
        return None
    path = f"{virtual.path}/blocks/{pick.of(list(virtual.blocks))}"
    return Request("readBlock", virtual.holder.viewer, "GET", path, expect=(200, 404))


@on_virtual(weight=2)
def compare_schedule(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    return schedule_request(world, virtual)


def schedule_request(world: World, virtual: VirtualAsset) -> Request:
    """What stands is what was accepted, where nothing has cut it."""

    def check(answer: Answer) -> None:
        compare_capacity(world, virtual, answer.body["powerCapacity"])
        if not is_plain(world, virtual):
            return
        for point in answer.body["schedule"]:
            power = virtual.schedule.get(quarter_of(from_text(point["time"])), Fraction(0))
            world.compared["schedule"] += power != 0
            assert exact(point["power"]) == power, f"schedule at {point['time']}: {float(power)}, not {point['power']}"

    query = as_window(virtual.first, min(virtual.end, virtual.first + 400))
    path = f"{virtual.path}/schedule"
    return Request("readAssetSchedule", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def compare_capacity(world: World, virtual: VirtualAsset, said: list[dict[str, Any]]) -> None:
    """What is left of it, where it has one block alone."""
    if len(virtual.blocks) != 1:
        return
    for point in said[:: max(1, len(said) // CAPACITY_SAMPLES)]:
        expected = available_fraction(world, virtual, quarter_of(from_text(point["time"])))
        world.compared["power left"] += expected.charge != virtual.charge
        for name, value in (("chargePowerCapacity", expected.charge), ("dischargePowerCapacity", expected.discharge)):
            assert abs(exact(point[name]) - value) < Fraction(1, 1000), (
                f"{name} {float(value)} at {point['time']}, not {point[name]}"
            )
