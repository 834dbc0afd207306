"""A holder's statement over a window, line by line, from the facts (contract 7 and 12), in exact euros."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise

from tests.simulation.market import day_of_quarter as day_of
from tests.simulation.market import from_text, product_quarters, quarter_of, quarters_of_day, start_of_quarter
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.oracle.announced import find_followed
from tests.simulation.oracle.book import find_turning_points
from tests.simulation.oracle.energy import find_store, is_plain
from tests.simulation.oracle.revenue import ZERO, bucket_end, categories, exact, measure, overlap
from tests.simulation.oracle.shares import left_of

EARNED = {
    "TRADING": (1, "revenue_wholesale"),
    "FCR": (1, "revenue_fcr"),
    "AFRR_CAPACITY": (1, "revenue_afrr_capacity"),
    "AFRR_ENERGY": (1, "revenue_afrr_energy"),
    "AUCTION": (-1, "revenue_vba"),
    "TOLLING": (-1, "revenue_tolling"),
}
"""Lines that a category of the asset says too, and whether the holder earns or pays it."""
CENT = Fraction(1, 100)
SLACK = Fraction(1, 10**6)
LONGEST_GATE = timedelta(hours=1)
MWH_OF_KW_QUARTER = Fraction(1, 4000)
KWH_OF_MWH = 1000
IMBALANCE_PRICE = "REBAP_DE"


def find_statement_difference(
    world: World,
    virtual: VirtualAsset,
    lines: list[dict[str, object]],
    window: tuple[datetime, datetime],
    resolution: str,
) -> str | None:
    """The first line that is not what the facts say, to the cent.

    Cents of buckets add up to those of longer ones, so that a bucket may be a cent off where the sum of all is not.
    """
    said: dict[tuple[str, str], Fraction] = {}
    for line in lines:
        key = (str(line["line"]), str(line["time"]))
        said[key] = said.get(key, ZERO) + exact(line["amount"])
    for (name, time), amount in said.items():
        if name in EARNED:
            start = from_text(time)
            low, high = max(start, window[0]), min(window[1], bucket_end(start, resolution))
            sign, category = EARNED[name]
            expected = sign * (categories(world, virtual, low, high)[category] or ZERO)
            if abs(expected - amount) > CENT + SLACK:
                return f"{name} at {time}: {float(expected)}, not {float(amount)}"
    return _find_wrong_total(world, virtual, lines, window)


def _find_wrong_total(
    world: World, virtual: VirtualAsset, lines: list[dict[str, object]], window: tuple[datetime, datetime]
) -> str | None:
    """Cents are rounded by market day, so that each day of the window may be a cent off."""
    totals: dict[str, Fraction] = {}
    for line in lines:
        totals[str(line["line"])] = totals.get(str(line["line"]), ZERO) + exact(line["amount"])
    allowed = CENT * ((window[1] - window[0]).days + 2) + SLACK
    for name, value in find_expected(world, virtual, window).items():
        world.compared[f"{name} of a holder"] += bool(value)
        if name == "AVAILABILITY" and value is not None and _may_be_substituted(world, virtual):
            if not -allowed <= totals.get(name, ZERO) <= value + allowed:
                return f"{name} of {float(value)} at most, not {float(totals.get(name, ZERO))}"
            continue
        if value is not None and abs(totals.get(name, ZERO) - value) > allowed:
            return f"{name} of {float(value)} in all, not {float(totals.get(name, ZERO))}"
    return None


def _may_be_substituted(world: World, virtual: VirtualAsset) -> bool:
    """Whether another battery of the zone could stand in for a failed one: then its owner is paid, not the holder."""
    return sum(one.zone == virtual.zone for one in world.batteries.values()) > 1


def find_expected(world: World, virtual: VirtualAsset, window: tuple[datetime, datetime]) -> dict[str, Fraction | None]:
    """Euros by line over a window, positive where they come in; None where the model does not know all of it."""
    earned = categories(world, virtual, *window)
    found: dict[str, Fraction | None] = {
        line: sign * (earned[category] or ZERO) for line, (sign, category) in EARNED.items()
    }
    first, end = quarter_of(window[0]), quarter_of(window[1])
    if end > quarter_of(world.now):
        return found
    first, end = max(first, virtual.first), min(end, virtual.end)
    if first < end:
        found["AVAILABILITY"] = find_given_back(world, virtual, first, end)
        found["IMBALANCE"] = find_imbalance_line(world, virtual, first, end)
        found["END_OF_LIFE"] = find_end_of_life(world, virtual) if end == virtual.end else ZERO
    return found


def _sum_shares(
    world: World, parts: Sequence[tuple[VirtualAsset, Fraction]], category: str, window: tuple[datetime, datetime]
) -> Fraction:
    return sum((share * (categories(world, one, *window)[category] or ZERO) for one, share in parts), ZERO)


def find_provisional(battery: Battery, window: tuple[datetime, datetime]) -> dict[str, Fraction]:
    """Euros of accepted results: of FCR for the whole block, of aFRR capacity per hour, as paid or else as bid."""
    found = {"FCR": ZERO, "AFRR_CAPACITY": ZERO}
    for bid in battery.bids.values():
        if bid.status != "ACCEPTED" or bid.product.count("_") != 2:
            continue
        quarters = product_quarters(bid.day, bid.product)
        within = overlap(*window, (start_of_quarter(quarters.start), start_of_quarter(quarters.stop)))
        price = bid.capacity_price if bid.settlement_price is None else bid.settlement_price
        if bid.product.startswith("NEGPOS"):
            found["FCR"] += bid.accepted / 1000 * price * within / Fraction(len(quarters), 4)
        else:
            found["AFRR_CAPACITY"] += bid.accepted / 1000 * price * within
    return found


def find_owner_difference(
    world: World,
    battery: Battery,
    parts: Sequence[tuple[VirtualAsset, Fraction]],
    lines: list[dict[str, object]],
    window: tuple[datetime, datetime],
) -> str | None:
    """Of an owner's statement: its share of prices and tolls and its battery's own awards, but for cents."""
    allowed = CENT * ((window[1] - window[0]).days + 2) * max(1, len(parts) + len(battery.bids)) + SLACK
    due = {name: _sum_shares(world, parts, EARNED[name][1], window) for name in ("AUCTION", "TOLLING")}
    for name, expected in (due | find_provisional(battery, window)).items():
        said = sum((exact(line["amount"]) for line in lines if line["line"] == name), ZERO)
        world.compared[f"{name} of an owner"] += bool(expected)
        if abs(said - expected) > allowed:
            return f"{name} of {float(expected)} in all, not {float(said)}"
    return None


def find_given_back(world: World, virtual: VirtualAsset, first: int, end: int) -> Fraction | None:
    """Σ (1 − a) × paid, where a = min(mean of charge and discharge, energy) at the gates; known where nothing of the
    batteries has changed since the first of them."""
    gate = start_of_quarter(first) - LONGEST_GATE
    batteries = [world.batteries[name] for name, _ in virtual.backing]
    if any(one.changed_at is not None and one.changed_at > gate for one in batteries):
        return None
    points = {quarter for one in batteries for quarter in find_turning_points(world, one, first, end)}
    owed = ZERO
    for start, stop in pairwise([*sorted(points | {first}), end]):
        left = left_of(world, virtual.backing, start)
        missing = 1 - min((left.charge + left.discharge) / 2, left.energy)
        if missing:
            paid = measure(world, virtual, start_of_quarter(start), start_of_quarter(stop))
            owed += missing * (paid["vba_revenue"] + paid["toll_revenue"])
    return owed


def _find_powers(world: World, virtual: VirtualAsset, end: int) -> Mapping[int, Fraction] | None:
    """kW that the asset's store and position follow until `end`."""
    return virtual.schedule if is_plain(world, virtual) else find_followed(world, virtual, end)


def find_imbalance_line(world: World, virtual: VirtualAsset, first: int, end: int) -> Fraction | None:
    """−Σ open × price where one is published; known where nothing but its schedule and what was announced moves the
    asset. What was cut without notice counts as delivered."""
    followed = _find_powers(world, virtual, end)
    if followed is None:
        return None
    opened = {quarter: -power * MWH_OF_KW_QUARTER for quarter, power in followed.items() if first <= quarter < end}
    for (asset, _, quarter, side), row in world.facts.trades.items():
        if asset == virtual.id and first <= quarter < end:
            sign = 1 if side == "SELL" else -1
            opened[quarter] = opened.get(quarter, ZERO) + sign * exact(row["volume"])
    prices = world.prices
    return -sum((volume * prices.get((IMBALANCE_PRICE, quarter), ZERO) for quarter, volume in opened.items()), ZERO)


def find_end_of_life(world: World, virtual: VirtualAsset) -> Fraction | None:
    """Energy beyond the target at the mean imbalance price of the last market day, once all of it is published."""
    followed = _find_powers(world, virtual, virtual.end)
    if followed is None:
        return None
    off = find_store(virtual, followed)[virtual.end] - virtual.target * virtual.energy
    day = quarters_of_day(day_of(virtual.end - 1))
    prices = [world.prices.get((IMBALANCE_PRICE, quarter)) for quarter in day]
    known = [price for price in prices if price is not None]
    if abs(off) <= virtual.tolerance * virtual.energy or len(known) < len(prices):
        return ZERO
    return off / KWH_OF_MWH * sum(known, ZERO) / len(known)
