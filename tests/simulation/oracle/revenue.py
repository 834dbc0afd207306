"""The categories of revenue reporting for one virtual asset, from its facts, as exact fractions (contract 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from functools import cache, lru_cache

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
    """A number of a body as it is written, so that 0.95 is 19/20."""
    return _read_exactly(str(number))


@lru_cache(maxsize=16_384)
def _read_exactly(text: str) -> Fraction:
    return Fraction(text)


def is_near(said: object, expected: Fraction, absolute: float = 1e-6, relative: float = 0.0) -> bool:
    """Whether a double that was said is what was computed exactly: the last step alone is of doubles."""
    if not said and not expected:
        return True
    value = float(expected)
    return abs(float(str(said)) - value) <= max(absolute, abs(value) * relative)


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
            if not hours:
                continue
            accrued = exact(row["annualPrice"]) * virtual.mean_power_mw * hours / hours_between(*turn)
            found.add("toll_revenue", accrued)
            found.add("toll_price_mw_h", exact(row["annualPrice"]) * hours * virtual.mean_power_mw)
        stands.append((first, last))
    found.add("toll_mw_h", _united_hours(stands, start, end) * virtual.mean_power_mw)


def _united_hours(spans: list[tuple[datetime, datetime]], start: datetime, end: datetime) -> Fraction:
    """Hours of a bucket in which at least one of the spans stands."""
    total, reached = ZERO, start
    for first, last in sorted(spans):
        low, high = max(first, reached), min(last, end)
        if low < high:
            total += hours_between(low, high)
            reached = high
    return total


@cache
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
        found.add("hurdle_mw_h", hours * virtual.mean_power_mw)
        found.add("hurdle_price_mw_h", auction.hurdle * hours * virtual.mean_power_mw)


def _ratio(above: Fraction, below: Fraction) -> Fraction | None:
    return above / below if below else None


def measure_all(world: World, virtuals: Sequence[VirtualAsset], start: datetime, end: datetime) -> Measures:
    """Sums over several assets; the level of FCR is the sum of their capacities at a price weighted by them."""
    total = Measures()
    for virtual in virtuals:
        own = measure(world, virtual, start, end)
        for name, amount in own.sums.items():
            total.add(name, amount)
        if own["fcr_h"]:
            total.add("fcr_capacity", own["fcr_capacity_h"] / own["fcr_h"])
            total.add("fcr_price_capacity", own["fcr_price_h"] / own["fcr_h"] * own["fcr_capacity_h"])
    return total


def find_rated_mw(virtuals: Sequence[VirtualAsset], start: datetime, end: datetime) -> Fraction:
    """Of one asset its own; several count for the part of the bucket in which they live."""
    if len(virtuals) == 1:
        return virtuals[0].mean_power_mw
    lives = [(one, (start_of_quarter(one.first), start_of_quarter(one.end))) for one in virtuals]
    living = sum((one.mean_power_mw * overlap(start, end, life) for one, life in lives), ZERO)
    return living / hours_between(start, end)


def categories(world: World, virtual: VirtualAsset, start: datetime, end: datetime) -> dict[str, Fraction | None]:
    """All but the netted volume, which the platform computes itself."""
    return categories_of(world, [virtual], start, end)


def categories_of(
    world: World, virtuals: Sequence[VirtualAsset], start: datetime, end: datetime
) -> dict[str, Fraction | None]:
    """The same of several assets together."""
    m = measure_all(world, virtuals, start, end)
    revenue = _sum_revenue(m)
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
        "capacity_fcr": m["fcr_capacity"] if m["fcr_h"] else None,
        "settlement_price_fcr": _ratio(m["fcr_price_capacity"], m["fcr_capacity_h"]),
        "settlement_price_afrr_energy_pos": _ratio(m["afrr_POS_revenue"], m["afrr_POS_volume"]),
        "settlement_price_afrr_energy_neg": _ratio(m["afrr_NEG_revenue"], m["afrr_NEG_volume"]),
        "total_volume_afrr_energy_pos": m["afrr_POS_volume"],
        "total_volume_afrr_energy_neg": m["afrr_NEG_volume"],
        "annual_price_tolling": _ratio(m["toll_price_mw_h"], m["toll_mw_h"]),
        "hurdle_price_vba": _ratio(m["hurdle_price_mw_h"], m["hurdle_mw_h"]),
    }
    rated_mw = find_rated_mw(virtuals, start, end)
    for name in NORMALISED if rated_mw else ():  # where none of several lives, the contract says nothing
        value = revenue[name] / rated_mw
        found |= {f"revenue_normalised_{name}": value, f"revenue_normalised_per_year_{name}": value * 365}
    return found


def _sum_revenue(m: Measures) -> dict[str, Fraction]:
    revenue = {
        "wholesale": m["SELL_eur"] - m["BUY_eur"],
        "fcr": m["fcr_revenue"],
        "afrr_capacity": m["afrr_capacity_revenue"],
        "afrr_energy": m["afrr_POS_revenue"] + m["afrr_NEG_revenue"],
        "tolling": m["toll_revenue"],
        "vba": m["vba_revenue"],
    }
    revenue["total"] = sum(revenue.values(), ZERO)
    return revenue | {"afrr_energy_pos": m["afrr_POS_revenue"], "afrr_energy_neg": m["afrr_NEG_revenue"]}


def bucket_end(start: datetime, resolution: str) -> datetime:
    """Where the bucket that holds a moment ends: market hours and market days."""
    if resolution == "15-minute":
        return start + timedelta(minutes=15)
    if resolution == "hourly":
        return start.replace(minute=0, second=0) + timedelta(hours=1)
    return midnight(berlin_day(start) + timedelta(days=1))
