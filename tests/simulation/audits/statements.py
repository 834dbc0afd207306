"""Statements of all parties over the last market days: each line, and that payments add up to nothing."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.simulation.actors.acting import exact
from tests.simulation.actors.delivered import dispatch_request
from tests.simulation.actors.statement_lines import holder_request, owner_request
from tests.simulation.audits.failures import (
    compare_availability,
    compare_substitution,
    find_failures,
    list_missed,
    sum_line,
)
from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.market import berlin_day, from_text, midnight, quarter_after, quarter_of
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.owner_imbalance import find_owner_imbalance
from tests.simulation.oracle.payments import CENT, LONGEST_GATE, SLACK
from tests.simulation.oracle.statements import find_imbalance

if TYPE_CHECKING:
    from tests.simulation.life import Life

DAYS = 2
ALL = 1000
DRIFT_SERIES = "DAY_AHEAD_DE_LU"
Rows = list[dict[str, Any]]


async def compare_statements(life: Life) -> None:
    world = life.world
    today = berlin_day(world.now)
    first, end = quarter_of(midnight(today - timedelta(days=DAYS))), quarter_of(midnight(today))
    asked = [holder_request(world, virtual, first, end, "daily") for virtual in world.virtuals.values()]
    said: list[dict[str, Any]] = [(await life.ask(request)).body for request in asked]
    for virtual in world.virtuals.values():
        await _compare_since_change(life, virtual)
    drifts = await read_drift(life, first, end)
    failures = await find_failures(life, first, end)
    await compare_availability(life, failures, first, end)
    for battery in world.batteries.values():
        request = owner_request(world, battery, first, end, "daily")
        answer = await life.ask(request)
        said.append(answer.body)
        compare_substitution(life, failures, battery, (first, end), (request, answer))
        if drifts is not None:
            _compare_drift(world, request, answer, drifts[battery.id])
            missed = list_missed(failures, battery)
            await _compare_imbalance(life, battery, (first, end), (request, answer), drifts[battery.id], missed)
    world.compared["zero over all parties"] += any(one["lines"] for one in said)
    error = find_imbalance(said)
    if error is not None:
        raise Finding("zero over all parties", error)


async def _compare_since_change(life: Life, virtual: VirtualAsset) -> None:
    """From the first gate after the latest change of a battery behind it: there the oracle knows what was available."""
    world = life.world
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    changes = [one.changed_at for one in batteries if one.changed_at is not None]
    end = min(virtual.end, quarter_of(world.now))
    first = max([virtual.first, *(quarter_after(moment + LONGEST_GATE) + 1 for moment in changes)])
    if first < end and any(one.outages for one in batteries):
        await life.ask(holder_request(world, virtual, max(first, end - 192), end, "hourly"))


def _compare_drift(world: World, request: Request, answer: Answer, rows: Rows) -> None:
    """The line is volume × price of its trades, and their prices are those that were published."""
    paid, due = sum_line(answer, "DRIFT"), sum((_sign(row) * exact(row["price"]) for row in rows), Fraction(0))
    world.compared["DRIFT of an owner"] += bool(due)
    if abs(paid - due) > DAYS * CENT + SLACK:
        raise Finding("drift", f"DRIFT of {float(due)}, not {float(paid)}", request, answer)
    for row in rows:
        quarter = quarter_of(from_text(row["time"]))
        known = {world.prices.get((DRIFT_SERIES, quarter)), world.traded_prices.get(quarter)}
        world.compared["prices of drift"] += 1
        if exact(row["price"]) not in {None if price is None else round(price, 2) for price in known}:
            raise Finding("drift", f"a price of {[str(price) for price in known]} at {row['time']}, not {row['price']}")


async def _compare_imbalance(
    life: Life,
    battery: Battery,
    window: tuple[int, int],
    said: tuple[Request, Answer],
    rows: Rows,
    missed: dict[int, float] | None,
) -> None:
    points = (await life.ask(dispatch_request(life.world, battery, *window))).body["dispatch"]
    traded: dict[int, Fraction] = defaultdict(Fraction)
    for row in rows:
        traded[quarter_of(from_text(row["time"]))] += _sign(row)
    expected = find_owner_imbalance(life.world, battery, points, traded, window, missed)
    if expected is None:
        return
    life.world.compared["IMBALANCE of an owner"] += abs(expected) > CENT
    life.world.compared["IMBALANCE of a failed owner"] += any((missed or {}).values())
    paid = sum_line(said[1], "IMBALANCE")
    if abs(paid - expected) > 2 * DAYS * CENT:
        raise Finding("imbalance", f"an owner's IMBALANCE of {float(expected)}, not {float(paid)}", *said)


def _sign(row: dict[str, Any]) -> Fraction:
    """MWh, positive where they are sold."""
    return exact(row["volume"]) * (1 if row["side"] == "SELL" else -1)


async def read_drift(life: Life, first: int, end: int) -> dict[str, Rows] | None:
    """The trades of a window by which drift goes to market, by battery's id."""
    query = {"limit": str(ALL)}
    by = life.world.operator.trader
    request = Request("listWholesaleTrades", by, "GET", "/settlements/wholesale-trades", query=query, expect=200)
    rows = (await life.ask(request)).body
    if len(rows) == ALL:
        return None
    life.world.drift_trades = [row for row in rows if row["tradeID"].startswith("drift-")]
    found: dict[str, Rows] = defaultdict(list)
    for row in life.world.drift_trades:
        if first <= quarter_of(from_text(row["time"])) < end:
            found[row["assetID"]].append(row)
    return found
