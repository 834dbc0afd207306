"""Reading what was delivered: positions, dispatch, measured performance, runs of the zones."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import (
    action,
    as_window,
    exact,
    on_battery,
    on_virtual,
    pick_window,
)
from tests.simulation.calls import Answer, Request
from tests.simulation.market import from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.dispatch import find_broken_limit
from tests.simulation.oracle.energy import is_plain
from tests.simulation.oracle.measured import measure_quarter
from tests.simulation.oracle.netting import is_zone_plain, net_off
from tests.simulation.oracle.revenue import is_near
from tests.simulation.steps import Pick

DISPATCHED = ("VIRTUAL", "OWN", "DRIFT")
"""The kinds of parts that are power, and no reserve."""


@on_virtual(weight=3)
def read_position(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    return position_request(world, virtual, *pick_window(world, pick, -2, 2))


def position_request(world: World, virtual: VirtualAsset, first: int, end: int) -> Request:
    """`open` = sold − bought + activated − delivered, in every quarter-hour."""

    def check(answer: Answer) -> None:
        for point in answer.body:
            owed = point["sold"] - point["bought"] + point["activated"] - point["delivered"]
            world.compared["position"] += bool(point["open"])
            assert abs(point["open"] - owed) < 1e-6, f"open {owed} at {point['time']}, not {point['open']}"
            _compare_point(world, virtual, point)

    path = f"{virtual.path}/position"
    query = as_window(first, end)
    return Request("readPosition", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check)


def _compare_point(world: World, virtual: VirtualAsset, point: dict[str, Any]) -> None:
    """What was traded, activated and accepted for a quarter-hour, in MWh."""
    quarter = quarter_of(from_text(point["time"]))
    facts = world.facts
    expected = {
        "bought": _sum_trades(world, virtual, quarter, "BUY"),
        "sold": _sum_trades(world, virtual, quarter, "SELL"),
        "activated": sum(
            sign * exact(facts.afrr_energy[virtual.id, quarter, direction]["volume"])
            for direction, sign in (("POS", 1), ("NEG", -1))
            if (virtual.id, quarter, direction) in facts.afrr_energy
        ),
        "scheduled": virtual.schedule.get(quarter, Fraction(0)) / 4000,
    }
    if quarter < quarter_of(world.now) and is_zone_plain(world, virtual.zone):
        expected["netted"] = net_off(world, virtual, quarter)
        world.compared["netted position"] += expected["netted"] != 0
    for name, value in expected.items():
        if name != "scheduled" or is_plain(world, virtual):
            assert is_near(point[name], Fraction(value)), f"{name} {float(value)} at {point['time']}, not {point[name]}"


def _sum_trades(world: World, virtual: VirtualAsset, quarter: int, side: str) -> Fraction:
    return sum(
        (
            exact(row["volume"])
            for (asset, _, at, way), row in world.facts.trades.items()
            if (asset, at, way) == (virtual.id, quarter, side)
        ),
        Fraction(0),
    )


@on_battery(weight=4)
def read_dispatch(world: World, pick: Pick, battery: Battery) -> Request | None:
    """The power of a battery is the sum of the parts that are no reserve."""
    first, end = pick_window(world, pick, -1, 1)
    return dispatch_request(world, battery, first, end)


def dispatch_request(world: World, battery: Battery, first: int, end: int) -> Request:
    """Parts that sum to the power, within what is available, and a store that follows from it."""

    def check(answer: Answer) -> None:
        if any(point["power"] for point in answer.body["dispatch"]):
            world.due_events.add((battery.owner.name, "dispatch.updated"))
        for point in answer.body["dispatch"]:
            parts = sum(part["power"] for part in point["parts"] if part["kind"] in DISPATCHED)
            assert abs(parts - point["power"]) < 1e-3, f"power {parts} at {point['time']}, not {point['power']}"
        broken = find_broken_limit(world, battery, answer.body["dispatch"])
        assert broken is None, broken
        if answer.body["dispatch"]:
            battery.dispatch_version = answer.body["version"]

    path = f"{battery.path}/dispatch"
    query = as_window(first, end)
    return Request("readDispatch", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@on_battery(weight=2)
def read_performance(world: World, pick: Pick, battery: Battery) -> Request | None:
    first, end = pick_window(world, pick, -2, 0)
    return performance_request(world, battery, first, end)


def performance_request(world: World, battery: Battery, first: int, end: int) -> Request:
    """What was measured, from the samples as they were last written."""
    samples = battery.samples.get("active_power", {})
    now = quarter_of(world.now)

    def check(answer: Answer) -> None:
        for point in answer.body["performance"]:
            quarter = quarter_of(from_text(point["time"]))
            if quarter >= now:
                continue
            share, power = measure_quarter(samples, quarter) or (Fraction(0), None)
            said = point.get("measuredPower")
            world.compared["measured power"] += power is not None
            assert abs(point["measuredShare"] - share) < 1e-4, (
                f"measured {float(share)} of {point['time']}, not {point['measuredShare']}"
            )
            assert (said is None) == (power is None), f"measured power at {point['time']}: {power}, not {said}"
            assert power is None or abs(said - power) < 1e-2, f"{float(power)} kW at {point['time']}, not {said}"

    path, query = f"{battery.path}/performance", as_window(first, end)
    return Request("readPerformance", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=1)
def read_runs(world: World, pick: Pick) -> Request | None:
    if pick.chance(50):
        quarter = quarter_of(world.now)
        query = {
            "start": to_text(start_of_quarter(quarter) - timedelta(hours=6)),
            "end": to_text(start_of_quarter(quarter) + timedelta(hours=6)),
        }
        return Request("listDeliveryZones", world.operator.viewer, "GET", "/delivery/zones", query=query, expect=200)
    if world.delivery_runs and pick.chance(50):
        path = f"/delivery/runs/{pick.of(world.delivery_runs)}"
        return Request("readDeliveryRun", world.operator.viewer, "GET", path, expect=200)

    def remember(answer: Answer) -> None:
        world.delivery_runs = [run["id"] for run in answer.body[:3]]

    return Request("listDeliveryRuns", world.operator.viewer, "GET", "/delivery/runs", expect=200, on_success=remember)
