"""The market settles: trades, awards, activations, contracts and prices, once, again, and corrected."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from tests.simulation.actors.acting import action, as_window, day_of_quarter, exact, on_virtual
from tests.simulation.calls import Answer, Person, Request
from tests.simulation.market import (
    BLOCKS,
    berlin_day,
    block_of_quarter,
    block_quarters,
    from_text,
    midnight,
    quarter_of,
    quarters_of_day,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import VirtualAsset, World
from tests.simulation.steps import Pick

SERIES = ("DAY_AHEAD_DE_LU", "REBAP_DE", "INTRADAY_DE_LU")
OPERATOR, TRADER = "OPERATOR", "TRADER"
HISTORY_DAYS = 35


def pick_quarter(pick: Pick, virtual: VirtualAsset) -> int:
    return virtual.first + pick.below(virtual.end - virtual.first)


def counts_check(world: World, rows: int, new: int, replaced: int, unchanged: int) -> Any:
    def check(answer: Answer) -> None:
        world.compared["settlement counts"] += 1
        expected = {"received": rows, "inserted": new, "replaced": replaced, "unchanged": unchanged}
        assert answer.body == expected, f"{expected}, not {answer.body}"

    return check


def record(
    world: World,
    operation: str,
    path: str,
    kept: dict[Any, dict[str, Any]],
    rows: dict[Any, dict[str, Any]],
    by: Person,
) -> Request:
    """Rows by key, with what the counts must say."""
    said = {key: {name: value for name, value in row.items() if name != "origin"} for key, row in rows.items()}
    origin = OPERATOR if by.organisation == "operator" else TRADER
    new = [key for key in rows if key not in kept]
    shadowed = [key for key in rows if key in kept and kept[key]["origin"] == OPERATOR and origin == TRADER]
    same = [
        key
        for key in rows
        if key in kept
        and key not in shadowed
        and {n: v for n, v in kept[key].items() if n != "origin"} == said[key]
        and kept[key]["origin"] == origin
    ]
    replaced = len(rows) - len(new) - len(same) - len(shadowed)
    is_taken_over = any(key in kept and kept[key]["origin"] == TRADER and origin == OPERATOR for key in rows)
    check = counts_check(world, len(rows), len(new), replaced, len(same) + len(shadowed))

    holders = {one.id: one.holder.name for one in world.virtuals.values()}
    changed = {holders[key[0]] for key in rows if key not in same and key not in shadowed and key[0] in holders}

    def remember(_: Answer) -> None:
        for key, row in said.items():
            if key not in shadowed:
                kept[key] = {**row, "origin": origin}

    return Request(
        operation,
        by,
        "POST",
        path,
        list(said.values()),
        expect=200,
        on_success=remember,
        check=None if is_taken_over else check,
        hints=tuple((name, "data-points.updated") for name in sorted(changed)),
    )


@on_virtual(weight=8)
def record_trades(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    by = pick.one_of(world.operator.trader, virtual.holder.trader)
    facts, rows = world.facts.trades, {}
    most = (virtual.charge + virtual.discharge) / 1000
    known = [key for key in facts if key[0] == virtual.id]
    for _ in range(pick.between(1, 4)):
        if known and pick.chance(25):
            key = pick.of(known)
        else:
            key = (virtual.id, f"T{pick.below(30)}", pick_quarter(pick, virtual), pick.one_of("BUY", "SELL"))
        volume = float(most * Fraction(pick.between(0, 100), 100))
        rows[key] = {
            "tradeID": key[1],
            "assetID": key[0],
            "time": to_text(start_of_quarter(key[2])),
            "side": key[3],
            "volume": volume,
            "price": pick.between(-10000, 30000) / 100,
            "market": pick.one_of("DAY_AHEAD", "INTRADAY_CONTINUOUS", "OTC"),
        }
    return record(world, "recordWholesaleTrades", "/settlements/wholesale-trades", facts, rows, by)


@on_virtual(weight=1)
def record_implausible_trade(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """A volume beyond what the asset could move, or a moment outside its life."""
    outside = pick.chance(50)
    quarter = virtual.end if outside else virtual.first
    most = float((virtual.charge + virtual.discharge) / 1000)
    row = {
        "tradeID": "implausible",
        "assetID": virtual.id,
        "time": to_text(start_of_quarter(quarter)),
        "side": "SELL",
        "volume": most if outside else most + 0.5,
        "price": 10,
        "market": "OTC",
    }
    path = "/settlements/wholesale-trades"
    expect = (422, "implausible-settlement")
    return Request("recordWholesaleTrades", world.operator.trader, "POST", path, [row], expect=expect)


def _pick_block(pick: Pick, virtual: VirtualAsset) -> tuple[date, str, Fraction] | None:
    """A market block that lies wholly within the asset's life, and kW of it; half of the time one that is reserved."""
    reserved = [one for one in virtual.blocks.values() if one.market == "FCR"]
    if reserved and pick.chance(50):
        one = pick.of(reserved)
        return day_of_quarter(one.first), block_of_quarter(one.first), one.charge
    day = day_of_quarter(pick_quarter(pick, virtual))
    block = pick.of(BLOCKS)
    quarters = block_quarters(day, block)
    power = min(virtual.charge, virtual.discharge) * Fraction(pick.one_of(1, 2, 4), 4)
    return (day, block, power) if virtual.first <= quarters.start and quarters.stop <= virtual.end else None


def _award(virtual: VirtualAsset, found: tuple[date, str, Fraction], direction: str) -> dict[str, Any]:
    day, block, power = found
    product = {"deliveryDay": day.isoformat(), "product": f"{direction}_{block}"}
    return {"assetID": virtual.id, **product, "capacity": float(power / 1000)}


@on_virtual(weight=4)
def record_fcr(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    found = _pick_block(pick, virtual)
    if found is None:
        return None
    row = _award(virtual, found, "NEGPOS") | {"settlementPrice": pick.between(0, 3_000_000) / 10**5}
    rows = {(virtual.id, found[0], row["product"]): row}
    return record(world, "recordFcr", "/settlements/fcr", world.facts.fcr, rows, world.operator.trader)


@on_virtual(weight=3)
def record_afrr_capacity(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    found = _pick_block(pick, virtual)
    if found is None:
        return None
    row = _award(virtual, found, pick.one_of("POS", "NEG")) | {"price": pick.between(0, 3000) / 100}
    rows = {(virtual.id, found[0], row["product"]): row}
    path = "/settlements/afrr-capacity"
    return record(world, "recordAfrrCapacity", path, world.facts.afrr_capacity, rows, world.operator.trader)


@on_virtual(weight=3)
def record_afrr_energy(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    key = (virtual.id, pick_quarter(pick, virtual), pick.one_of("POS", "NEG"))
    row = {
        "assetID": key[0],
        "time": to_text(start_of_quarter(key[1])),
        "direction": key[2],
        "volume": float(virtual.charge / 4000 * Fraction(pick.between(0, 4), 4)),
        "price": pick.between(-5000, 30000) / 100,
    }
    path = "/settlements/afrr-energy"
    return record(world, "recordAfrrEnergy", path, world.facts.afrr_energy, {key: row}, world.operator.trader)


@on_virtual(weight=1)
def record_net_off(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    key = (virtual.id, pick_quarter(pick, virtual))
    row = {
        "assetID": key[0],
        "time": to_text(start_of_quarter(key[1])),
        "volume": float(virtual.charge / 4000 * Fraction(pick.between(-4, 4), 4)),
    }
    request = record(
        world, "recordNetOff", "/settlements/net-off", world.facts.net_off, {key: row}, world.operator.trader
    )
    request.check = None  # a row that the platform has computed is replaced
    return request


@on_virtual(weight=2)
def record_toll(world: World, pick: Pick, virtual: VirtualAsset) -> Request | None:
    """Within the asset's life, beyond it, several at a time."""
    key = (virtual.id, f"C{pick.below(3)}")
    first = midnight(day_of_quarter(virtual.first)) + timedelta(days=pick.between(-3, 2))
    row = {
        "contractID": key[1],
        "assetID": key[0],
        "start": to_text(first),
        "end": to_text(first + timedelta(days=pick.one_of(1, 5, 30, 365))),
        "annualPrice": pick.between(1000, 15_000_000) / 100,
    }
    path = "/settlements/tolling-contracts"
    return record(world, "recordTollingContracts", path, world.facts.tolls, {key: row}, world.operator.trader)


LISTS = {
    "listWholesaleTrades": "wholesale-trades",
    "listFcr": "fcr",
    "listAfrrCapacity": "afrr-capacity",
    "listAfrrEnergy": "afrr-energy",
    "listNetOff": "net-off",
    "listTollingContracts": "tolling-contracts",
}


@action(weight=2)
def list_facts(world: World, pick: Pick) -> Request | None:
    operation = pick.of(list(LISTS))
    query = {"limit": "1000"}
    if pick.chance(40):
        query["versions"] = "true"

    def check(answer: Answer) -> None:
        if operation != "listWholesaleTrades" or "versions" in query or len(answer.body) == 1000:
            return
        said = {
            (row["assetID"], row["tradeID"], quarter_of_text(row["time"]), row["side"]): exact(row["volume"])
            for row in answer.body
            if row["origin"] != "COMPUTED"
        }
        expected = {key: exact(row["volume"]) for key, row in world.facts.trades.items() if key[0] not in world.deleted}
        assert said == expected, f"{len(expected)} trades, not {len(said)}: {dict(said.items() ^ expected.items())}"

    path = f"/settlements/{LISTS[operation]}"
    return Request(operation, world.operator.trader, "GET", path, query=query, expect=200, check=check)


def quarter_of_text(text: str) -> int:
    return quarter_of(from_text(text))


@action(weight=4)
def publish_prices(world: World, pick: Pick) -> Request | None:
    """A market day of a series, all at one price or by quarter-hours; published again it is another version."""
    series = pick.one_of(SERIES[0], SERIES[0], *SERIES)
    day = berlin_day(world.now) + timedelta(days=pick.one_of(-1, -3, -2, 0, 1))
    quarters = quarters_of_day(day)
    price, slope = pick.between(-2000, 20000), pick.between(0, 50)
    step = pick.one_of(1, 1, 4)
    rows = [
        {
            "series": series,
            **as_window(quarter, quarter + step),
            "price": (price + slope * (quarter - quarters.start)) / 100,
        }
        for quarter in range(quarters.start, quarters.stop, step)
    ]

    def remember(_: Answer) -> None:
        world.drift_trades = None
        for row, quarter in zip(rows, range(quarters.start, quarters.stop, step), strict=True):
            for each in range(quarter, quarter + step):
                world.prices[series, each] = exact(row["price"])

    return Request(
        "recordReferencePrices", world.operator.trader, "POST", "/reference-prices", rows, on_success=remember
    )


def hours_request(world: World, pick: Pick, series: str, since: date, until: date) -> Request:
    """The prices of market days by the hour."""
    first, end, today = quarter_of(midnight(since)), quarter_of(midnight(until)), berlin_day(world.now)
    level = pick.between(1000, 9000)
    prices = {hour: Fraction(level + (hour * 37) % 4000, 100) for hour in range(first, end, 4)}
    rows = [{"series": series, **as_window(hour, hour + 4), "price": float(price)} for hour, price in prices.items()]

    def remember(_: Answer) -> None:
        world.drift_trades = None
        world.prices |= {(series, hour + part): price for hour, price in prices.items() for part in range(4)}
        if series == "DAY_AHEAD_DE_LU" and since <= today - timedelta(days=HISTORY_DAYS):
            world.prices_until = today

    by = world.operator.trader
    return Request("recordReferencePrices", by, "POST", "/reference-prices", rows, expect=200, on_success=remember)


@action(weight=2)
def publish_history(world: World, pick: Pick) -> Request | None:
    """By hours: weeks of day-ahead prices, which forecasts and back-tests need, or the imbalance prices of a week."""
    series = pick.one_of("DAY_AHEAD_DE_LU", "REBAP_DE")
    today = berlin_day(world.now)
    before, after = (HISTORY_DAYS, 0) if series == "DAY_AHEAD_DE_LU" else (3, 4)
    return hours_request(world, pick, series, today - timedelta(days=before), today + timedelta(days=after))


@action(weight=1)
def read_prices(world: World, pick: Pick) -> Request | None:
    series = pick.of(SERIES)
    if pick.chance(30):
        query = {"kind": "wholesale-trades"}
        path = "/reference-prices/deviations"
        return Request("listPriceDeviations", world.operator.trader, "GET", path, query=query, expect=200)
    return prices_request(world, series, berlin_day(world.now) - timedelta(days=pick.between(0, 3)))


def prices_request(world: World, series: str, day: date) -> Request:
    quarters = quarters_of_day(day)
    query = {"series": series, "limit": "1000", **as_window(quarters.start, quarters.stop)}

    def check(answer: Answer) -> None:
        for row in answer.body:
            quarter = quarter_of_text(row["start"])
            expected = world.prices.get((series, quarter))
            world.compared["reference prices"] += 1
            assert expected == exact(row["price"]), f"{series} at {row['start']}: {expected}, not {row['price']}"

    path = "/reference-prices"
    by = world.traders[0].viewer
    return Request("listReferencePrices", by, "GET", path, query=query, expect=200, check=check)
