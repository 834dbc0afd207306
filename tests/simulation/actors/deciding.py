"""Traders ask what to do: optimisations, repairs, valuations, forecasts and back-tests. They change nothing."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from tests.simulation.actors.acting import action, as_window, next_open_quarter, pick_virtual
from tests.simulation.actors.virtual_assets import allocate
from tests.simulation.calls import Answer, Request
from tests.simulation.market import berlin_day, from_text, quarter_of, start_of_quarter, to_text
from tests.simulation.model import VirtualAsset, World
from tests.simulation.oracle.energy import find_store, is_plain
from tests.simulation.steps import Pick

SELDOM = 4
"""Each costs the solver some tenths of a second."""


def _choose_prices(world: World, pick: Pick, first: int, end: int) -> dict[str, Any]:
    if pick.chance(30):
        return {"series": "DAY_AHEAD_DE_LU"}
    return _list_prices(first, end)


def _list_prices(first: int, end: int) -> dict[str, Any]:
    values = [
        {"time": to_text(start_of_quarter(quarter)), "price": 50 + (quarter * 7) % 40} for quarter in range(first, end)
    ]
    return {"values": values}


def _open_window(world: World, pick: Pick, virtual: VirtualAsset) -> tuple[int, int] | None:
    first = max(virtual.first, next_open_quarter(world, virtual.gate_s))
    return (first, min(virtual.end, first + pick.one_of(16, 48, 96))) if first < virtual.end else None


@action(weight=2)
def optimise(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    window = None if virtual is None or pick.below(SELDOM) else _open_window(world, pick, virtual)
    if virtual is None or window is None:
        return None
    prices = _choose_prices(world, pick, *window)
    body: dict[str, Any] = {**as_window(*window), "prices": prices, "endStateOfCharge": pick.one_of("FREE", "HARD")}
    path = f"{virtual.path}/optimisations"
    expect = (200, 422)

    def check(answer: Answer) -> None:
        said = answer.body
        if "value" in said and "bound" in said:
            assert said["bound"] >= said["value"] - 0.01, f"a bound of at least {said['value']}, not {said['bound']}"

    return Request("optimiseVirtualAsset", virtual.holder.trader, "POST", path, body, expect=expect, check=check)


@action(weight=1)
def optimise_nothing(world: World, pick: Pick) -> Request | None:
    """The one block of an asset is kept, and what is scheduled misses its target: nothing can be done."""
    whole = [one for one in world.virtuals.values() if one.has_one_block and len(one.blocks) == 1]
    off = [one for one in whole if is_plain(world, one) and _misses_target(one)]
    windows = [(one, window) for one in off if (window := _open_window(world, pick, one)) is not None]
    if not windows:
        return None
    virtual, window = pick.of(windows)
    prices = _list_prices(*window)
    body = {**as_window(*window), "prices": prices, "keep": list(virtual.blocks), "endStateOfCharge": "HARD"}
    expect = (422, "no-feasible-schedule")
    path = f"{virtual.path}/optimisations"
    return Request("optimiseVirtualAsset", virtual.holder.trader, "POST", path, body, expect=expect)


def _misses_target(virtual: VirtualAsset) -> bool:
    off = find_store(virtual)[virtual.end] - virtual.target * virtual.energy
    return abs(off) > virtual.tolerance * virtual.energy + 1


@action(weight=2)
def repair(world: World, pick: Pick) -> Request | None:
    virtual = pick_virtual(world, pick)
    window = None if virtual is None or pick.below(SELDOM) else _open_window(world, pick, virtual)
    if virtual is None or window is None:
        return None
    power = float(virtual.discharge) * pick.one_of(1, -1, 2)
    schedule = [{"time": to_text(start_of_quarter(quarter)), "power": power} for quarter in range(*window)]
    body = {"schedule": schedule, "objective": "NEAREST"}
    path = f"{virtual.path}/repairs"
    return Request("repairSchedule", virtual.holder.trader, "POST", path, body, expect=(200, 422))


@action(weight=1)
def optimise_portfolio(world: World, pick: Pick) -> Request | None:
    holder = pick.of(world.traders)
    if not holder.portfolios or pick.below(SELDOM):
        return None
    portfolio = pick.of(list(holder.portfolios))
    within = [one for one in world.virtuals.values() if one.id in holder.portfolios[portfolio]]
    window = _open_window(world, pick, within[0]) if within else None
    if window is None:
        return None
    body = {**as_window(*window), "prices": _choose_prices(world, pick, *window), "endStateOfCharge": "FREE"}
    path = f"/organisations/{holder.id}/portfolios/{portfolio}/optimisations"
    return Request("optimisePortfolio", holder.trader, "POST", path, body, expect=(200, 422))


@action(weight=1)
def value_auction(world: World, pick: Pick) -> Request | None:
    running = [one for one in world.auctions.values() if one.start <= world.now < one.end and not one.is_cancelled]
    if not running or pick.below(SELDOM):
        return None
    auction = pick.of(running)
    bidder = world.find_organisation(pick.of(auction.participants))
    path = f"/auctions/{auction.id}/valuations"
    body = {"basis": pick.one_of("FORESIGHT", "POLICY")}
    return Request("valueAuction", bidder.trader, "POST", path, body, expect=(200, 409, 422))


@action(weight=1)
def forecast(world: World, pick: Pick) -> Request | None:
    day = berlin_day(world.now) + timedelta(days=pick.between(0, 2))
    query = {"delivery-day": day.isoformat()}
    return Request(
        "forecastDayAhead", pick.of(world.traders).viewer, "GET", "/forecasts/day-ahead", query=query, expect=(200, 422)
    )


def _pick_priced_day(world: World) -> date:
    """A market day whose day-ahead prices are published with those of the weeks before, if there is one."""
    return (world.prices_until or berlin_day(world.now)) - timedelta(days=1)


@action(weight=1)
def backtest(world: World, pick: Pick) -> Request | None:
    trader = pick.of(world.traders)
    kind = pick.below(4)
    if kind == 0:
        return Request("listBacktests", trader.trader, "GET", "/backtests", expect=200)
    if world.backtests and kind < 3:
        asked, name = pick.of(list(world.backtests.items()))
        by = world.find_organisation(name).trader
        if kind == 1:
            return Request("readBacktest", by, "GET", f"/backtests/{asked}", expect=200)
        return Request("listBacktestDays", by, "GET", f"/backtests/{asked}/days", expect=200)
    if pick.below(SELDOM):
        return None
    day = _pick_priced_day(world)
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}
    body = {
        "start": day.isoformat(),
        "end": (day + timedelta(days=1)).isoformat(),
        "policy": pick.one_of("FORESIGHT", "FORESIGHT", "YESTERDAY", "FORECAST"),
        "battery": battery,
    }

    def remember(answer: Answer) -> None:
        world.backtests[answer.body["id"]] = trader.name

    by = trader.trader
    return Request("createBacktest", by, "POST", "/backtests", body, expect=(202, 422, 429), on_success=remember)


@action(weight=1)
def plan_long(world: World, pick: Pick) -> Request | None:
    """More than 31 days at once, which a job does; for that an asset of forty days is allocated."""
    if world.optimisations:
        path, name = pick.of(list(world.optimisations.items()))
        virtual = world.virtuals.get(name)
        if virtual is None:
            return None
        return Request("readOptimisation", virtual.holder.trader, "GET", path, expect=200)
    now = quarter_of(world.now)
    long = [one for one in world.virtuals.values() if one.end - max(one.first, now + 96) > 32 * 96]
    if not long:
        if pick.below(2 * SELDOM):
            return None
        request = allocate(world, pick)
        if request is not None and request.expect == 201:
            start = from_text(request.body["start"])
            request.body["end"] = to_text(start + timedelta(days=40))
            request.body |= {"ratedChargePower": 100, "ratedDischargePower": 100, "energyCapacity": 200}
            request.expect = (201, 409, 422)
        return request
    virtual = long[0]
    first = max(virtual.first, now + 96)
    body = {**as_window(first, virtual.end), "prices": _list_prices(first, virtual.end)}
    path = f"{virtual.path}/optimisations"

    def remember(answer: Answer) -> None:
        world.optimisations[f"{path}/{answer.body['id']}"] = virtual.name

    by = virtual.holder.trader
    return Request("optimiseVirtualAsset", by, "POST", path, body, expect=(202, 429), on_success=remember)
