"""Reading what was earned, who owes whom, what was delivered: figures on random windows and resolutions."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, as_window, exact, pick_battery, pick_virtual, pick_window
from tests.simulation.actors.virtual_assets import is_plain
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.market import from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.availability import available_in
from tests.simulation.oracle.revenue import find_difference, find_share_difference
from tests.simulation.steps import Pick

DISPATCHED = ("VIRTUAL", "OWN", "DRIFT")
"""The kinds of parts that are power, and no reserve."""
ONE = Fraction(1)
RESOLUTIONS = ("daily", "hourly", "15-minute")


@action(weight=8)
def read_data_points(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    resolution = pick.of(RESOLUTIONS)
    length = {"daily": 96 * 4, "hourly": 60, "15-minute": 24}[resolution]
    first = virtual.first - 8 + pick.below(virtual.end - virtual.first + 8)
    return data_points_request(world, virtual, first, first + pick.between(1, length), resolution)


def data_points_request(world: World, virtual: VirtualAsset, first: int, end: int, resolution: str) -> Request:
    def check(answer: Answer) -> None:
        window = (start_of_quarter(first), start_of_quarter(end))
        difference = find_difference(world, virtual, answer.body["data"], window, resolution)
        assert difference is None, difference

    path = f"/revenue-reporting/virtual-assets/{virtual.id}/data-points"
    query = {**as_window(first, end), "resolution": resolution}
    return Request(
        "readVirtualAssetDataPoints", virtual.holder.viewer, "GET", path, query=query, expect=200, check=check
    )


@action(weight=4)
def read_groups(world: World, pick: Pick) -> Request | None:
    """Portfolios, fleets and batteries: the sums of what they hold or back."""
    first, end = pick_window(world, pick, -3, 2)
    kind = pick.below(3)
    if kind == 0:
        holder = pick.of(world.traders)
        if not holder.portfolios:
            return None
        portfolio = pick.of(list(holder.portfolios))
        parts = [(one, ONE) for one in world.virtuals.values() if one.id in holder.portfolios[portfolio]]
        path = f"/revenue-reporting/portfolios/{portfolio}/data-points"
        return _group("readPortfolioDataPoints", holder.viewer, path, parts, world, (first, end))
    if kind == 1:
        owner = pick.of(world.owners)
        if not owner.fleets:
            return None
        fleet = pick.of(list(owner.fleets))
        within = [one for one in world.batteries.values() if one.id in owner.fleets[fleet]]
        parts = [part for battery in within for part in _parts_of(world, battery)]
        path = f"/revenue-reporting/fleets/{fleet}/data-points"
        return _group("readFleetDataPoints", owner.viewer, path, parts, world, (first, end))
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    path = f"/revenue-reporting/physical-assets/{battery.id}/data-points"
    parts = _parts_of(world, battery)
    return _group("readPhysicalAssetDataPoints", battery.owner.viewer, path, parts, world, (first, end))


def _parts_of(world: World, battery: Battery) -> list[tuple[VirtualAsset, Fraction]]:
    return [(one, share) for one in world.virtuals.values() for name, share in one.backing if name == battery.name]


def _group(
    operation: str,
    by: Person,
    path: str,
    parts: list[tuple[VirtualAsset, Fraction]],
    world: World,
    quarters: tuple[int, int],
) -> Request:
    window = (start_of_quarter(quarters[0]), start_of_quarter(quarters[1]))

    def check(answer: Answer) -> None:
        if any(one.winner is not None and one.virtual is None for one in world.auctions.values()):
            return  # an asset that was won and not looked at has revenue too
        difference = find_share_difference(world, parts, answer.body["data"], window)
        assert difference is None, difference

    query = {**as_window(*quarters), "resolution": "daily"}
    return Request(operation, by, "GET", path, query=query, expect=200, check=check)


@action(weight=3)
def read_statement(world: World, pick: Pick) -> Request | None:
    first, end = pick_window(world, pick, -5, 1)
    query = {**as_window(first, end), "resolution": pick.of(RESOLUTIONS)}
    kind = pick.below(4)
    virtual, battery = pick_virtual(world, pick), pick_battery(world, pick)
    if kind < 2 and virtual is not None:
        path = f"/revenue-reporting/virtual-assets/{virtual.id}/statement"
        return _statement("readVirtualAssetStatement", virtual.holder.viewer, path, query)
    if kind == 2 and battery is not None:
        path = f"/revenue-reporting/physical-assets/{battery.id}/statement"
        return _statement("readPhysicalAssetStatement", battery.owner.viewer, path, query)
    holder, owner = pick.of(world.traders), pick.of(world.owners)
    if holder.portfolios and pick.chance(50):
        path = f"/revenue-reporting/portfolios/{pick.of(list(holder.portfolios))}/statement"
        return _statement("readPortfolioStatement", holder.viewer, path, query)
    if owner.fleets:
        path = f"/revenue-reporting/fleets/{pick.of(list(owner.fleets))}/statement"
        return _statement("readFleetStatement", owner.viewer, path, query)
    return None


def _statement(operation: str, by: Any, path: str, query: dict[str, str]) -> Request:
    def check(answer: Answer) -> None:
        cents = sum(round(100 * line["amount"]) for line in answer.body["lines"])
        assert cents == round(100 * answer.body["total"]), f"a total of {cents} cents, not {answer.body['total']}"

    return Request(operation, by, "GET", path, query=query, expect=200, check=check)


BUCKETS = {
    "readWholesaleRevenue": "wholesale",
    "readAncillaryRevenue": "ancillary",
    "readTollingRevenue": "tolling",
    "readVirtualBatteryAuctionRevenue": "virtual-battery-auction",
}


@action(weight=2)
def read_buckets(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    operation = pick.of(list(BUCKETS))
    query = as_window(virtual.first, min(virtual.end, virtual.first + 200))
    path = f"/revenue-reporting/{virtual.id}/{BUCKETS[operation]}"
    return Request(operation, virtual.holder.viewer, "GET", path, query=query, expect=200)


@action(weight=3)
def read_position(world: World, pick: Pick) -> Request | None:
    """`open` = sold − bought + activated − delivered, in every quarter-hour."""
    virtual = pick_virtual(world, pick)
    if virtual is None:
        return None
    first, end = pick_window(world, pick, -2, 2)

    def check(answer: Answer) -> None:
        for point in answer.body:
            owed = point["sold"] - point["bought"] + point["activated"] - point["delivered"]
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
    for name, value in expected.items():
        if name != "scheduled" or is_plain(world, virtual):
            assert abs(exact(point[name]) - value) < Fraction(1, 10**6), (
                f"{name} {float(value)} at {point['time']}, not {point[name]}"
            )


def _sum_trades(world: World, virtual: VirtualAsset, quarter: int, side: str) -> Fraction:
    return sum(
        (
            exact(row["volume"])
            for (asset, _, at, way), row in world.facts.trades.items()
            if (asset, at, way) == (virtual.id, quarter, side)
        ),
        Fraction(0),
    )


@action(weight=4)
def read_dispatch(world: World, pick: Pick) -> Request | None:
    """The power of a battery is the sum of the parts that are no reserve."""
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, -1, 1)
    return dispatch_request(world, battery, first, end)


def dispatch_request(world: World, battery: Battery, first: int, end: int) -> Request:
    """Parts that sum to the power, within what is rated; of virtual assets that stand behind it alone."""

    def check(answer: Answer) -> None:
        for point in answer.body["dispatch"]:
            parts = sum(part["power"] for part in point["parts"] if part["kind"] in DISPATCHED)
            assert abs(parts - point["power"]) < 1e-3, f"power {parts} at {point['time']}, not {point['power']}"
            rated, _ = available_in(battery, quarter_of(from_text(point["time"])))
            held = -float(rated.charge) - 1e-3 <= point["power"] <= float(rated.discharge) + 1e-3
            assert held, f"power within what is rated at {point['time']}, not {point['power']}"

    path = f"{battery.path}/dispatch"
    query = as_window(first, end)
    return Request("readDispatch", battery.owner.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=2)
def read_performance(world: World, pick: Pick) -> Request | None:
    battery = pick_battery(world, pick)
    if battery is None:
        return None
    first, end = pick_window(world, pick, -2, 0)
    path = f"{battery.path}/performance"
    return Request("readPerformance", battery.owner.viewer, "GET", path, query=as_window(first, end), expect=200)


@action(weight=1)
def read_runs(world: World, pick: Pick) -> Request | None:
    if pick.chance(50):
        quarter = quarter_of(world.now)
        query = {
            "start": to_text(start_of_quarter(quarter) - timedelta(hours=6)),
            "end": to_text(start_of_quarter(quarter) + timedelta(hours=6)),
        }
        return Request("listDeliveryZones", world.operator.viewer, "GET", "/delivery/zones", query=query, expect=200)
    return Request("listDeliveryRuns", world.operator.viewer, "GET", "/delivery/runs", expect=200)
