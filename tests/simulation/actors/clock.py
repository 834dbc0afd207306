"""Time passes: by minutes, to the next gate, over midnights and clock changes, by weeks."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.simulation.actors.acting import action
from tests.simulation.calls import Answer, Request
from tests.simulation.market import berlin_day, quarter_of, start_of_quarter, to_text, wall_clock
from tests.simulation.model import World
from tests.simulation.oracle.clearing import clear_due_auctions
from tests.simulation.steps import Pick

DAY_AHEAD = "DAY_AHEAD_DE_LU"


def choose_moment(world: World, pick: Pick) -> datetime:
    """Never just before an edge: the platform's clock runs on while a life is lived."""
    quarter = quarter_of(world.now)
    today = berlin_day(world.now)
    kind = pick.below(12)
    if kind < 5:
        return start_of_quarter(quarter + 1 + pick.between(0, 8)) + timedelta(minutes=pick.one_of(0, 2, 5))
    if kind < 7:
        return start_of_quarter(quarter + 8 + pick.between(0, 40)) + timedelta(minutes=2)
    if kind == 7:
        return wall_clock(today + timedelta(days=1), pick.one_of(8, 9, 10, 12))
    if kind < 11:
        return wall_clock(today + timedelta(days=1), 0, pick.one_of(0, 3, 30))
    return wall_clock(today + timedelta(days=pick.between(2, 8)), pick.one_of(0, 10), 3)


@action(weight=6)
def let_time_pass(world: World, pick: Pick) -> Request | None:
    moment = choose_moment(world, pick)
    return None if moment <= world.now else move_request(world, pick, moment)


@action(weight=0, is_sought=False)
def let_hours_pass(world: World, pick: Pick) -> Request | None:
    """So that each day is seen in parts."""
    midnight = wall_clock(berlin_day(world.now) + timedelta(days=1), 0, 3)
    hours = start_of_quarter(quarter_of(world.now) + 4 * pick.one_of(4, 8, 12)) + timedelta(minutes=2)
    return move_request(world, pick, pick.one_of(hours, midnight))


def move_request(world: World, pick: Pick, moment: datetime) -> Request:
    person = pick.of([world.operator.admin, world.operator.trader, world.traders[0].trader])

    def remember(_: Answer) -> None:
        world.now, world.drift_trades = moment, None
        world.traded_prices = {at: price for (series, at), price in world.prices.items() if series == DAY_AHEAD}
        clear_due_auctions(world)

    body = {"now": to_text(moment)}
    return Request("moveClock", person, "PUT", "/sandbox/clock", body, expect=200, on_success=remember)


@action(weight=1)
def turn_back_time(world: World, pick: Pick) -> Request | None:
    body = {"now": to_text(world.now - timedelta(minutes=pick.between(15, 6000)))}
    return Request("moveClock", world.operator.admin, "PUT", "/sandbox/clock", body, expect=409)


@action(weight=1)
def read_clock(world: World, pick: Pick) -> Request | None:
    return Request("readClock", pick.of(world.traders).viewer, "GET", "/sandbox/clock", expect=200)
