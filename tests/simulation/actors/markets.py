"""Traders look at the stages of delivery days and at what was possible; sites acknowledge dispatch. None of it changes
a figure."""

from __future__ import annotations

from datetime import timedelta

from tests.simulation.actors.acting import action, as_window, exact, on_battery, on_virtual, pick_window
from tests.simulation.calls import Answer, Request
from tests.simulation.market import berlin_day, from_text, midnight, quarter_of, start_of_quarter, to_text
from tests.simulation.model import Battery, Organisation, VirtualAsset, World
from tests.simulation.oracle.energy import is_plain
from tests.simulation.steps import Pick

FORECAST = ("IDA1_DE_LU", "IDA2_DE_LU", "IDA3_DE_LU", "FCR_DE")
FEEDS = ("smard", "energy-charts", "entsoe", "regelleistung", "netztransparenz")
SLACK_KW = 1e-3


def _day(world: World, pick: Pick, low: int, high: int) -> str:
    return (berlin_day(world.now) + timedelta(days=pick.between(low, high))).isoformat()


def _pick_portfolio(world: World, pick: Pick) -> tuple[Organisation, str] | None:
    known = [(holder, portfolio) for holder in world.traders for portfolio in holder.portfolios]
    return pick.of(known) if known else None


@on_virtual(weight=1)
def read_markets(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """The stages of a day, in the order of their gates."""
    query = {"delivery-day": _day(world, pick, -1, 2)}

    def check(answer: Answer) -> None:
        gates = [from_text(one["gate"]) for one in answer.body if "gate" in one]
        assert gates == sorted(gates), f"stages in the order of their gates, not {gates}"

    path, by = f"{virtual.path}/markets", virtual.holder.viewer
    return Request("readAssetMarkets", by, "GET", path, query=query, expect=(200, 422), check=check)


@action(weight=1)
def read_portfolio_markets(world: World, pick: Pick) -> Request | None:
    found = _pick_portfolio(world, pick)
    if found is None:
        return None
    holder, portfolio = found
    path, query = f"/organisations/{holder.id}/portfolios/{portfolio}", {"delivery-day": _day(world, pick, 0, 2)}
    if pick.chance(30):
        body, path = {"deliveryDay": _day(world, pick, 1, 2), "stage": "DAY_AHEAD"}, f"{path}/market-plans"
        return Request("planPortfolioMarket", holder.trader, "POST", path, body, expect=(200, 409, 422))
    by = holder.viewer
    return Request("readPortfolioMarkets", by, "GET", f"{path}/markets", query=query, expect=(200, 422))


@on_virtual(weight=1)
def plan_market(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    if pick.below(2):
        return None
    body = {"deliveryDay": _day(world, pick, 1, 2), "stage": pick.one_of("DAY_AHEAD", "IDA1")}
    path, expect = f"{virtual.path}/market-plans", (200, 409, 422)
    return Request("planMarket", virtual.holder.trader, "POST", path, body, expect=expect)


@on_virtual(weight=2)
def read_headroom(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """By how much each quarter-hour may move: never beyond the asset's power."""
    first = max(virtual.first, quarter_of(world.now))
    if first >= virtual.end:
        return None
    query = as_window(first, min(virtual.end, first + 96))

    def check(answer: Answer) -> None:
        for point in answer.body if is_plain(world, virtual) and virtual.has_one_block else ():
            power = virtual.schedule.get(quarter_of(from_text(point["time"])), exact(0))
            most, least = power + exact(point["up"]), power - exact(point["down"])
            bounds = f"within {float(virtual.charge)} and {float(virtual.discharge)} kW"
            assert most <= virtual.discharge + exact(SLACK_KW), f"{bounds}, not {point}"
            assert least >= -virtual.charge - exact(SLACK_KW), f"{bounds}, not {point}"

    path, by = f"{virtual.path}/headroom", virtual.holder.viewer
    return Request("readHeadroom", by, "GET", path, query=query, expect=(200, 422), check=check)


@action(weight=1)
def list_orders(world: World, pick: Pick) -> Request | None:
    """Nobody has placed any."""
    query = {"delivery-day": _day(world, pick, 0, 1), "stage": "DAY_AHEAD"}

    def check(answer: Answer) -> None:
        assert answer.body == [], f"no orders, not {answer.body}"

    if pick.chance(30):
        by = world.operator.trader
        return Request("listWaitingOrders", by, "GET", "/orders", query=query, expect=200, check=check)
    holder = pick.of(world.traders)
    path = f"/organisations/{holder.id}/orders"
    return Request("listOrders", holder.viewer, "GET", path, query=query, expect=200, check=check)


@action(weight=1)
def forecast_series(world: World, pick: Pick) -> Request | None:
    path, query = f"/forecasts/{pick.of(FORECAST)}", {"delivery-day": _day(world, pick, 0, 1)}
    by = pick.of(world.traders).viewer
    return Request("forecastPriceSeries", by, "GET", path, query=query, expect=(200, 422))


@action(weight=1)
def read_benchmark(world: World, pick: Pick) -> Request | None:
    """What each day could have earned."""
    first, end = midnight(berlin_day(world.now) - timedelta(days=pick.between(1, 3))), midnight(berlin_day(world.now))
    query, expect = {"start": to_text(first), "end": to_text(end)}, (200, 422)
    ways: list[tuple[str, Organisation, str]] = [
        *(("readVirtualAssetBenchmark", one.holder, f"virtual-assets/{one.id}") for one in world.virtuals.values()),
        *(("readPhysicalAssetBenchmark", one.owner, f"physical-assets/{one.id}") for one in world.batteries.values()),
        *(("readFleetBenchmark", owner, f"fleets/{fleet}") for owner in world.owners for fleet in owner.fleets),
        *(("readPortfolioBenchmark", one, f"portfolios/{name}") for one in world.traders for name in one.portfolios),
    ]
    if not ways:
        return None
    kind = pick.of(sorted({name for name, _, _ in ways}))
    operation, by, path = pick.of([one for one in ways if one[0] == kind])
    path = f"/revenue-reporting/{path}/benchmark"
    return Request(operation, by.viewer, "GET", path, query=query, expect=expect)


@action(weight=1)
def look_at_feeds(world: World, pick: Pick) -> Request | None:
    """None is configured."""
    by = world.operator.trader
    if pick.chance(50):
        return Request("listFeeds", by, "GET", "/feeds", expect=200)
    return Request("listFeedRuns", by, "GET", f"/feeds/{pick.of(FEEDS)}/runs", expect=200)


@on_battery(weight=2)
def acknowledge_dispatch(world: World, pick: Pick, battery: Battery) -> Request | None:
    """Or list what was acknowledged; the version is the one that was read last."""
    path = f"{battery.path}/dispatch/acknowledgements"
    if battery.dispatch_version is None or pick.chance(40):
        query, by = as_window(*pick_window(world, pick, -1, 1)), battery.owner.viewer
        return Request("listDispatchAcknowledgements", by, "GET", path, query=query, expect=200)
    body = {
        "version": battery.dispatch_version,
        "time": to_text(start_of_quarter(quarter_of(world.now) + pick.between(-4, 4))),
        "status": pick.one_of("RECEIVED", "APPLIED"),
        "at": to_text(world.now),
    }
    return Request("acknowledgeDispatch", battery.owner.engineer, "POST", path, body, expect=201)
