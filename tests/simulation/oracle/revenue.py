"""The categories of revenue reporting for one virtual asset, from its facts, as exact fractions (contract 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction

from tests.simulation.market import (
    BERLIN,
    berlin_day,
    from_text,
    midnight,
    product_quarters,
    start_of_quarter,
)
from tests.simulation.model import VirtualAsset, World

ZERO = Fraction(0)
NORMALISED = (
    "total",
    "wholesale",
    "fcr",
    "afrr_capacity",
    "afrr_energy",
    "afrr_energy_pos",
    "afrr_energy_neg",
    "vba",
    "tolling",
)


def exact(number: object) -> Fraction:
    return Fraction(str(number))


@dataclass(slots=True)
class Measures:
    """Sums over the facts of a bucket."""

    sums: dict[str, Fraction] = field(default_factory=dict)

    def add(self, name: str, amount: Fraction) -> None:
        self.sums[name] = self.sums.get(name, ZERO) + amount

    def __getitem__(self, name: str) -> Fraction:
        return self.sums.get(name, ZERO)


def hours_between(start: datetime, end: datetime) -> Fraction:
    return Fraction(int((end - start).total_seconds()), 3600)


def overlap(start: datetime, end: datetime, other: tuple[datetime, datetime]) -> Fraction:
    first, last = max(start, other[0]), min(end, other[1])
    return hours_between(first, last) if first < last else ZERO


def measure(world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> Measures:
    """Of what lies within a bucket; what lasts longer counts pro rata by time."""
    found = Measures()
    _add_trades(found, world, virtual, start, end)
    _add_awards(found, world, virtual, start, end)
    for (asset, quarter, direction), row in world.facts.afrr_energy.items():
        if asset == virtual.id and start <= start_of_quarter(quarter) < end:
            volume = exact(row["volume"])
            found.add(f"afrr_{direction}_volume", volume)
            found.add(f"afrr_{direction}_revenue", volume * exact(row["price"]))
    _add_tolls(found, world, virtual, start, end)
    _add_auction(found, world, virtual, start, end)
    return found


def _add_trades(found: Measures, world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> None:
    for (asset, _, quarter, side), row in world.facts.trades.items():
        if asset == virtual.id and start <= start_of_quarter(quarter) < end:
            volume = exact(row["volume"])
            found.add(f"{side}_volume", volume)
            found.add(f"{side}_eur", volume * exact(row["price"]))


def _add_awards(found: Measures, world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> None:
    kinds = (("fcr", world.facts.fcr, "settlementPrice"), ("afrr_capacity", world.facts.afrr_capacity, "price"))
    for kind, rows, price_name in kinds:
        for (asset, day, product), row in rows.items():
            if asset != virtual.id:
                continue
            quarters = product_quarters(day, product)
            block = (start_of_quarter(quarters.start), start_of_quarter(quarters.stop))
            hours = overlap(start, end, block)
            capacity, price = exact(row["capacity"]), exact(row[price_name])
            found.add(f"{kind}_revenue", capacity * price * hours)
            found.add(f"{kind}_capacity_h", capacity * hours)
            found.add(f"{kind}_price_h", price * hours)
            found.add(f"{kind}_h", hours)


def _add_tolls(found: Measures, world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> None:
    """While the asset lives; a year has the hours of its calendar year in market time."""
    life = (start_of_quarter(virtual.first), start_of_quarter(virtual.end))
    stands = []
    for (asset, _), row in world.facts.tolls.items():
        if asset != virtual.id:
            continue
        first, last = max(from_text(row["start"]), life[0]), min(from_text(row["end"]), life[1])
        for year in range(start.year - 1, end.year + 2):
            turn = (_new_year(year), _new_year(year + 1))
            low, high = max(first, turn[0]), min(last, turn[1])
            hours = overlap(start, end, (low, high))
            accrued = exact(row["annualPrice"]) * virtual.mean_power_mw * hours / hours_between(*turn)
            found.add("toll_revenue", accrued)
            found.add("toll_price_h", exact(row["annualPrice"]) * hours)
        stands.append((first, last))
    found.add("toll_h", _united_hours(stands, start, end))


def _united_hours(spans: list[tuple[datetime, datetime]], start: datetime, end: datetime) -> Fraction:
    """Hours of a bucket in which at least one of the spans stands."""
    total, reached = ZERO, start
    for first, last in sorted(spans):
        low, high = max(first, reached), min(last, end)
        if low < high:
            total += hours_between(low, high)
            reached = high
    return total


def _new_year(year: int) -> datetime:
    return datetime(year, 1, 1, tzinfo=BERLIN)


def _add_auction(found: Measures, world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> None:
    auction = None if virtual.auction is None else world.auctions.get(virtual.auction)
    if auction is None:
        return
    life = (start_of_quarter(virtual.first), start_of_quarter(virtual.end))
    hours = overlap(start, end, life)
    found.add("vba_revenue", auction.price * hours / hours_between(*life))
    if auction.hurdle is not None:
        found.add("hurdle_h", hours)
        found.add("hurdle_price_h", auction.hurdle * hours)


def _ratio(above: Fraction, below: Fraction) -> Fraction | None:
    return above / below if below else None


def categories(world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> dict[str, Fraction | None]:
    """All but the netted volume, which the platform computes itself."""
    m = measure(world, virtual, start, end)
    wholesale = m["SELL_eur"] - m["BUY_eur"]
    energy = m["afrr_POS_revenue"] + m["afrr_NEG_revenue"]
    revenue = {
        "wholesale": wholesale,
        "fcr": m["fcr_revenue"],
        "afrr_capacity": m["afrr_capacity_revenue"],
        "afrr_energy": energy,
        "tolling": m["toll_revenue"],
        "vba": m["vba_revenue"],
    }
    revenue["total"] = sum(revenue.values(), ZERO)
    revenue |= {"afrr_energy_pos": m["afrr_POS_revenue"], "afrr_energy_neg": m["afrr_NEG_revenue"]}
    found: dict[str, Fraction | None] = {f"revenue_{name}": value for name, value in revenue.items() if name != "total"}
    found |= {
        "revenue_total_revenue": revenue["total"],
        "buy_vwap_wholesale": _ratio(m["BUY_eur"], m["BUY_volume"]),
        "sell_vwap_wholesale": _ratio(m["SELL_eur"], m["SELL_volume"]),
        "buy_volume_wholesale": m["BUY_volume"],
        "sell_volume_wholesale": m["SELL_volume"],
        "net_volume_wholesale": m["SELL_volume"] - m["BUY_volume"],
        "weighted_capacity_fcr": m["fcr_capacity_h"],
        "weighted_settlement_price_fcr": m["fcr_price_h"],
        "delivery_hours_fcr": m["fcr_h"],
        "capacity_fcr_weighted_avg": _ratio(m["fcr_capacity_h"], m["fcr_h"]),
        "settlement_price_fcr_weighted_avg": _ratio(m["fcr_price_h"], m["fcr_h"]),
        "capacity_fcr": _ratio(m["fcr_capacity_h"], m["fcr_h"]),
        "settlement_price_fcr": _ratio(m["fcr_price_h"], m["fcr_h"]),
        "settlement_price_afrr_energy_pos": _ratio(m["afrr_POS_revenue"], m["afrr_POS_volume"]),
        "settlement_price_afrr_energy_neg": _ratio(m["afrr_NEG_revenue"], m["afrr_NEG_volume"]),
        "total_volume_afrr_energy_pos": m["afrr_POS_volume"],
        "total_volume_afrr_energy_neg": m["afrr_NEG_volume"],
        "annual_price_tolling": _ratio(m["toll_price_h"], m["toll_h"]),
        "hurdle_price_vba": _ratio(m["hurdle_price_h"], m["hurdle_h"]),
    }
    for name in NORMALISED:
        value = revenue[name] / virtual.mean_power_mw
        found |= {f"revenue_normalised_{name}": value, f"revenue_normalised_per_year_{name}": value * 365}
    return found


def bucket_end(start: datetime, resolution: str) -> datetime:
    """Where the bucket that holds a moment ends: market hours and market days."""
    if resolution == "15-minute":
        return start + timedelta(minutes=15)
    if resolution == "hourly":
        return start.replace(minute=0, second=0) + timedelta(hours=1)
    return midnight(berlin_day(start) + timedelta(days=1))


def find_difference(
    world: World,
    virtual: VirtualAsset,
    data: dict[str, list[dict[str, object]]],
    window: tuple[datetime, datetime],
    resolution: str,
) -> str | None:
    """The first point that is not as the facts have it."""
    cached: dict[datetime, dict[str, Fraction | None]] = {}
    for name, points in data.items():
        if name == "net_off_volume_wholesale":
            continue
        for point in points:
            start = from_text(str(point["time"]))
            if start not in cached:
                end = min(window[1], bucket_end(start, resolution))
                cached[start] = categories(world, virtual, max(start, window[0]), end)
            expected, said = cached[start][name], point["value"]
            if (expected is None) != (said is None):
                return f"{name} at {point['time']}: {expected}, not {said}"
            if expected is not None and abs(exact(said) - expected) > max(Fraction(1, 10**6), abs(expected) / 10**9):
                return f"{name} at {point['time']}: {float(expected)}, not {said}"
    return None


ADDED_UP = (
    "revenue_wholesale",
    "revenue_afrr_energy",
    "revenue_tolling",
    "revenue_vba",
    "buy_volume_wholesale",
    "sell_volume_wholesale",
    "total_volume_afrr_energy_pos",
)
"""Additive categories that no provisional award of a battery has a part in."""


def find_share_difference(
    world: World,
    parts: list[tuple[VirtualAsset, Fraction]],
    data: dict[str, list[dict[str, object]]],
    window: tuple[datetime, datetime],
) -> str | None:
    """Of several virtual assets together, or of a battery's shares in them: the first daily sum that is not theirs."""
    for name in ADDED_UP:
        for point in data[name]:
            start = from_text(str(point["time"]))
            low, high = max(start, window[0]), min(window[1], bucket_end(start, "daily"))
            expected = sum((share * (categories(world, one, low, high)[name] or ZERO) for one, share in parts), ZERO)
            said = exact(point["value"] or 0)
            if abs(said - expected) > max(Fraction(1, 10**5), abs(expected) / 10**8):
                return f"{name} at {point['time']}: {float(expected)}, not {point['value']}"
    return None
