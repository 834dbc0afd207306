"""Every category computed slowly and obviously, with fractions and one fact at a time, to compare the product with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
QUARTER = timedelta(minutes=15)


@dataclass(frozen=True)
class Trade:
    asset: int
    trade_id: str
    time: datetime
    side: str
    volume: Fraction
    price: Fraction


@dataclass(frozen=True)
class FCR:
    asset: int
    day: date
    product: str
    capacity: Fraction
    price: Fraction
    hours: Fraction


@dataclass(frozen=True)
class AFRRCapacity:
    asset: int
    day: date
    product: str
    capacity: Fraction
    price: Fraction
    hours: Fraction


@dataclass(frozen=True)
class AFRREnergy:
    asset: int
    time: datetime
    direction: str
    volume: Fraction
    price: Fraction


@dataclass(frozen=True)
class NetOff:
    asset: int
    time: datetime
    volume: Fraction


@dataclass(frozen=True)
class Toll:
    asset: int
    contract_id: str
    start: datetime
    end: datetime
    annual_price: Fraction


@dataclass(frozen=True)
class Auction:
    asset: int
    start: datetime
    end: datetime
    price: Fraction
    hurdle: Fraction | None


Fact = Trade | FCR | AFRRCapacity | AFRREnergy | NetOff | Toll | Auction


def utc(day: date, hour: int) -> datetime:
    if hour == 24:
        day, hour = day + timedelta(days=1), 0
    return datetime(day.year, day.month, day.day, hour, tzinfo=BERLIN).astimezone(UTC)


def block_of(fact: FCR | AFRRCapacity) -> tuple[datetime, datetime]:
    first, last = fact.product.split("_")[-2:]
    return utc(fact.day, int(first)), utc(fact.day, int(last))


def period_of(fact: Fact) -> tuple[datetime, datetime]:
    if isinstance(fact, FCR | AFRRCapacity):
        return block_of(fact)
    if isinstance(fact, Toll | Auction):
        return fact.start, fact.end
    return fact.time, fact.time + QUARTER


def seconds(span: timedelta) -> Fraction:
    return Fraction(span // timedelta(microseconds=1), 1_000_000)


def overlap(fact: Fact, bucket: tuple[datetime, datetime]) -> Fraction:
    """How much of the fact's own period lies in the bucket."""
    start, end = period_of(fact)
    shared = min(end, bucket[1]) - max(start, bucket[0])
    return max(Fraction(0), seconds(shared)) / seconds(end - start)


def buckets_of(start: datetime, end: datetime, resolution: str) -> list[tuple[datetime, datetime, datetime]]:
    """(name, start, end): each bucket cut to the window, walked in the smallest steps there are."""
    found: dict[datetime, tuple[datetime, datetime, datetime]] = {}
    quarter = start.replace(minute=start.minute // 15 * 15, second=0, microsecond=0)
    while quarter < end:
        local = quarter.astimezone(BERLIN)
        name = {
            "15-minute": quarter,
            "hourly": quarter.replace(minute=0),
            "daily": utc(local.date(), 0),
        }[resolution]
        low, high = max(quarter, start), min(quarter + QUARTER, end)
        found[name] = (name, found[name][1] if name in found else low, high)
        quarter += QUARTER
    return list(found.values())


@dataclass
class Sums:
    buy: Fraction = Fraction(0)
    buy_eur: Fraction = Fraction(0)
    sell: Fraction = Fraction(0)
    sell_eur: Fraction = Fraction(0)
    net_off: Fraction = Fraction(0)
    fcr_eur: Fraction = Fraction(0)
    fcr_mw_h: Fraction = Fraction(0)
    fcr_price_h: Fraction = Fraction(0)
    fcr_h: Fraction = Fraction(0)
    afrr_capacity_eur: Fraction = Fraction(0)
    pos: Fraction = Fraction(0)
    pos_eur: Fraction = Fraction(0)
    neg: Fraction = Fraction(0)
    neg_eur: Fraction = Fraction(0)
    tolling_eur: Fraction = Fraction(0)
    vba_eur: Fraction = Fraction(0)


def toll_in(toll: Toll, bucket: tuple[datetime, datetime], power_mw: Fraction) -> Fraction:
    """EUR/MW/year × MW × hours ÷ hours in that calendar year, year by year."""
    total = Fraction(0)
    for year in range(toll.start.year - 1, toll.end.year + 2):
        new_year, next_year = utc(date(year, 1, 1), 0), utc(date(year + 1, 1, 1), 0)
        low = max(toll.start, bucket[0], new_year)
        high = min(toll.end, bucket[1], next_year)
        if low < high:
            total += toll.annual_price * power_mw * seconds(high - low) / seconds(next_year - new_year)
    return total


def sums_of(facts: list[Fact], bucket: tuple[datetime, datetime], power_mw: Fraction) -> Sums:
    """One asset's facts in one bucket."""
    sums = Sums()
    for fact in facts:
        part = overlap(fact, bucket)
        if isinstance(fact, Trade) and fact.side == "BUY":
            sums.buy += fact.volume * part
            sums.buy_eur += fact.volume * fact.price * part
        elif isinstance(fact, Trade):
            sums.sell += fact.volume * part
            sums.sell_eur += fact.volume * fact.price * part
        elif isinstance(fact, FCR):
            sums.fcr_eur += fact.capacity * fact.price * fact.hours * part
            sums.fcr_mw_h += fact.capacity * fact.hours * part
            sums.fcr_price_h += fact.price * fact.hours * part
            sums.fcr_h += fact.hours * part
        elif isinstance(fact, AFRRCapacity):
            sums.afrr_capacity_eur += fact.capacity * fact.price * fact.hours * part
        elif isinstance(fact, AFRREnergy) and fact.direction == "POS":
            sums.pos += fact.volume * part
            sums.pos_eur += fact.volume * fact.price * part
        elif isinstance(fact, AFRREnergy):
            sums.neg += fact.volume * part
            sums.neg_eur += fact.volume * fact.price * part
        elif isinstance(fact, NetOff):
            sums.net_off += fact.volume * part
        elif isinstance(fact, Toll):
            sums.tolling_eur += toll_in(fact, bucket, power_mw)
        elif isinstance(fact, Auction):
            sums.vba_eur += fact.price * part
    return sums


def divided(upper: Fraction, lower: Fraction) -> Fraction | None:
    return upper / lower if lower else None


def annual_price(facts: list[Fact], bucket: tuple[datetime, datetime], power: dict[int, Fraction]) -> Fraction | None:
    """The mean of what all tolls of an asset cost together, over the time in which it has one; weighted by power."""
    upper = lower = Fraction(0)
    for asset, mw in power.items():
        tolls = [fact for fact in facts if isinstance(fact, Toll) and fact.asset == asset]
        edges = {*bucket, *(edge for toll in tolls for edge in (toll.start, toll.end))}
        inside = sorted(edge for edge in edges if bucket[0] <= edge <= bucket[1])
        for low, high in pairwise(inside):
            standing = [toll.annual_price for toll in tolls if toll.start <= low < toll.end]
            if standing:
                upper += sum(standing, Fraction(0)) * mw * seconds(high - low)
                lower += mw * seconds(high - low)
    return divided(upper, lower)


def hurdle_price(facts: list[Fact], bucket: tuple[datetime, datetime], power: dict[int, Fraction]) -> Fraction | None:
    """The time-weighted mean of a price that holds for a while, weighted by rated power over the assets."""
    upper = lower = Fraction(0)
    for fact in facts:
        if not isinstance(fact, Auction) or fact.hurdle is None:
            continue
        price = fact.hurdle
        start, end = period_of(fact)
        weight = overlap(fact, bucket) * seconds(end - start) * power[fact.asset]
        upper += price * weight
        lower += weight
    return divided(upper, lower)


def categories_in(
    facts: list[Fact], bucket: tuple[datetime, datetime], power: dict[int, Fraction]
) -> dict[str, Fraction | None]:
    """All 46 for the assets in `power` (rated MW) together."""
    inside = [fact for fact in facts if touches(fact, bucket)]
    return _categories_of(inside, bucket, power) if inside else dict(_categories_of_nothing(tuple(power.items())))


def touches(fact: Fact, bucket: tuple[datetime, datetime]) -> bool:
    """Whether any of the fact's own period lies in the bucket; else it adds nothing to it."""
    start, end = period_of(fact)
    return start < bucket[1] and end > bucket[0]


@cache
def _categories_of_nothing(power: tuple[tuple[int, Fraction], ...]) -> dict[str, Fraction | None]:
    """The same for every bucket in which nothing happens."""
    return _categories_of([], (utc(date(2026, 1, 1), 0), utc(date(2026, 1, 1), 24)), dict(power))


def _categories_of(
    facts: list[Fact], bucket: tuple[datetime, datetime], power: dict[int, Fraction]
) -> dict[str, Fraction | None]:
    each = {asset: sums_of([f for f in facts if f.asset == asset], bucket, mw) for asset, mw in power.items()}

    def total(name: str) -> Fraction:
        return sum((getattr(sums, name) for sums in each.values()), Fraction(0))

    delivering = [sums for sums in each.values() if sums.fcr_h]
    capacity = sum((sums.fcr_mw_h / sums.fcr_h for sums in delivering), Fraction(0)) if delivering else None
    price = divided(
        sum((sums.fcr_price_h / sums.fcr_h * sums.fcr_mw_h for sums in delivering), Fraction(0)), total("fcr_mw_h")
    )
    if price is None:
        price = divided(total("fcr_price_h"), total("fcr_h"))
    revenues = {
        "wholesale": total("sell_eur") - total("buy_eur"),
        "fcr": total("fcr_eur"),
        "afrr_capacity": total("afrr_capacity_eur"),
        "afrr_energy": total("pos_eur") + total("neg_eur"),
        "afrr_energy_pos": total("pos_eur"),
        "afrr_energy_neg": total("neg_eur"),
        "vba": total("vba_eur"),
        "tolling": total("tolling_eur"),
    }
    revenues["total"] = sum(
        (revenues[name] for name in ("wholesale", "fcr", "afrr_capacity", "afrr_energy", "vba", "tolling")), Fraction(0)
    )
    rated = sum(power.values(), Fraction(0))
    found: dict[str, Fraction | None] = {
        "revenue_total_revenue": revenues["total"],
        "revenue_wholesale": revenues["wholesale"],
        "buy_vwap_wholesale": divided(total("buy_eur"), total("buy")),
        "sell_vwap_wholesale": divided(total("sell_eur"), total("sell")),
        "buy_volume_wholesale": total("buy"),
        "sell_volume_wholesale": total("sell"),
        "net_volume_wholesale": total("sell") - total("buy"),
        "net_off_volume_wholesale": total("net_off"),
        "revenue_fcr": revenues["fcr"],
        "capacity_fcr": capacity,
        "settlement_price_fcr": price,
        "weighted_capacity_fcr": total("fcr_mw_h"),
        "weighted_settlement_price_fcr": total("fcr_price_h"),
        "delivery_hours_fcr": total("fcr_h"),
        "capacity_fcr_weighted_avg": divided(total("fcr_mw_h"), total("fcr_h")),
        "settlement_price_fcr_weighted_avg": divided(total("fcr_price_h"), total("fcr_h")),
        "revenue_afrr_capacity": revenues["afrr_capacity"],
        "revenue_afrr_energy": revenues["afrr_energy"],
        "revenue_afrr_energy_pos": revenues["afrr_energy_pos"],
        "revenue_afrr_energy_neg": revenues["afrr_energy_neg"],
        "settlement_price_afrr_energy_pos": divided(total("pos_eur"), total("pos")),
        "settlement_price_afrr_energy_neg": divided(total("neg_eur"), total("neg")),
        "total_volume_afrr_energy_pos": total("pos"),
        "total_volume_afrr_energy_neg": total("neg"),
        "revenue_tolling": revenues["tolling"],
        "annual_price_tolling": annual_price(facts, bucket, power),
        "revenue_vba": revenues["vba"],
        "hurdle_price_vba": hurdle_price(facts, bucket, power),
    }
    for name, revenue in revenues.items():
        found[f"revenue_normalised_{name}"] = revenue / rated
        found[f"revenue_normalised_per_year_{name}"] = revenue / rated * 365
    return found
