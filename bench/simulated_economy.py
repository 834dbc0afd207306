"""What a simulated world looks like to a trading desk: prices paid and earned, results, reserves, failures, imbalance
prices. All of it read through the interface, as the operator."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import correlation, median
from typing import Any
from urllib.parse import urlencode

from gridloom_client import Client

PAGE = 1000
NEW_DAYS = 4
"""At the beginning of a world, in which nothing fails."""
PAID_LINES = ("TOLLING", "AUCTION")
RESERVE_LINES = ("FCR", "AFRR_CAPACITY", "AFRR_ENERGY")


@dataclass(frozen=True)
class Lot:
    day: str
    paid_eur_mw: float
    earned_eur_mw: float
    bidders: int
    lead: float | None
    """Of the winner over the second"""


@dataclass(frozen=True)
class Economy:
    lots: list[Lot]
    results: dict[str, float]
    """What is left to each trader, as a share of what it paid"""
    lines: dict[str, dict[str, float]]
    """Of each trader's statement, as shares of what it paid"""
    customers_share: float
    """Of all traders' profit, what customers paid beyond the day-ahead price"""
    reserves_eur: float
    tolls_eur_mw_a: list[float]
    availability: float
    imbalance_prices: list[float]

    @property
    def correlation(self) -> float:
        return correlation([one.paid_eur_mw for one in self.lots], [one.earned_eur_mw for one in self.lots])

    @property
    def gaining_share(self) -> float:
        return sum(one.earned_eur_mw > one.paid_eur_mw for one in self.lots) / len(self.lots)

    @property
    def dearest_over_median(self) -> float:
        """What the day that earned most sold for, over what a day usually sells for."""
        paid, earned = defaultdict(list), defaultdict(list)
        for one in self.lots:
            paid[one.day].append(one.paid_eur_mw)
            earned[one.day].append(one.earned_eur_mw)
        dearest = max(earned, key=lambda day: sum(earned[day]) / len(earned[day]))
        return (sum(paid[dearest]) / len(paid[dearest])) / median(one.paid_eur_mw for one in self.lots)

    def describe(self) -> dict[str, Any]:
        leads = [one.lead for one in self.lots if one.lead is not None]
        return {
            "lots": len(self.lots),
            "correlation": round(self.correlation, 2),
            "gain": round(self.gaining_share, 2),
            "dearest_over_median": round(self.dearest_over_median, 2),
            "bidders": round(sum(one.bidders for one in self.lots) / len(self.lots), 1),
            "winner_over_second": round(median(leads), 3),
            "results": {name: round(share, 3) for name, share in sorted(self.results.items())},
            "lines": self.lines,
            "customers": round(self.customers_share, 3),
            "reserves_eur": round(self.reserves_eur),
            "tolls_eur_mw_a": f"{min(self.tolls_eur_mw_a):g} to {max(self.tolls_eur_mw_a):g}",
            "availability": round(self.availability, 4),
            "rebap": f"{min(self.imbalance_prices):g} to {max(self.imbalance_prices):g}",
            "rebap_beyond_1000": sum(abs(price) > 1000 for price in self.imbalance_prices),
        }

    def misses(self) -> list[str]:
        """The targets that are missed."""
        leads = [one.lead for one in self.lots if one.lead is not None]
        bidders = sum(one.bidders for one in self.lots) / len(self.lots)
        met = {
            "correlation >= 0.5": self.correlation >= 0.5,
            "two lots of three gain": 0.5 <= self.gaining_share <= 0.85,
            "the dearest day above the median": self.dearest_over_median > 1,
            "3 to 6 bidders": 3 <= bidders <= 6,
            "winner 3 to 10 % above the second": 0.03 <= median(leads) <= 0.1,
            "results -5 to +25 %": all(-0.05 <= share <= 0.25 for share in self.results.values()),
            "customers at most 10 % of profit": self.customers_share <= 0.1,
            "tolls 80 to 150 k EUR/MW a year": 80_000 <= median(self.tolls_eur_mw_a) <= 150_000,
            "availability 95 to 98 %": 0.95 <= self.availability <= 0.98,
            "imbalance prices beyond 1,000": any(abs(price) > 1000 for price in self.imbalance_prices),
        }
        return [name for name, is_met in met.items() if not is_met]


def read_economy(operator: Client, start: datetime, end: datetime) -> Economy:
    """Of a world between two midnights."""
    names = {one["id"]: one["name"] for one in _get(operator, "/organisations")}
    lines = {id: _sum_lines(operator, f"/revenue-reporting/organisations/{id}/statement", start, end) for id in names}
    traders = {id: found for id, found in lines.items() if any(found[line] < 0 for line in PAID_LINES)}
    paid = {id: -sum(found[line] for line in PAID_LINES) for id, found in traders.items()}
    profit = {id: sum(found.values()) for id, found in traders.items()}
    customers = _customers_gain(operator, start, end)
    return Economy(
        lots=list(_read_lots(operator, start, end)),
        results={names[id]: profit[id] / paid[id] for id in traders},
        lines={
            names[id]: {line: round(amount / paid[id], 3) for line, amount in sorted(found.items())}
            for id, found in traders.items()
        },
        customers_share=customers / sum(profit.values()),
        reserves_eur=sum(found[line] for found in traders.values() for line in RESERVE_LINES),
        tolls_eur_mw_a=[one["annualPrice"] for one in _rows(operator, "/settlements/tolling-contracts", start, end)],
        availability=_read_availability(operator, max(start, start + timedelta(days=NEW_DAYS - 1)), end),
        imbalance_prices=[one["price"] for one in _rows(operator, "/reference-prices", start, end, series="REBAP_DE")],
    )


def _sum_lines(operator: Client, path: str, start: datetime, end: datetime) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for line in _get(operator, f"{path}?{_span(start, end)}")["lines"]:
        sums[line["line"]] += line["amount"]
    return sums


def _get(operator: Client, target: str) -> Any:
    return json.loads(operator.call("GET", target).content)


def _span(start: datetime, end: datetime) -> str:
    return urlencode({"start": start.isoformat(), "end": end.isoformat()})


def _pages(operator: Client, path: str, **filters: str) -> Iterator[Any]:
    target = f"{path}?{urlencode({'limit': str(PAGE), **filters})}"
    while target:
        reply = operator.call("GET", target)
        yield from json.loads(reply.content)
        following = re.search(r'<([^>]+)>; *rel="?next', reply.headers.get("link", ""))
        target = "" if following is None else following[1]


def _rows(operator: Client, path: str, start: datetime, end: datetime, **filters: str) -> Iterator[Any]:
    return _pages(operator, path, start=start.isoformat(), end=end.isoformat(), **filters)


def _read_lots(operator: Client, start: datetime, end: datetime) -> Iterator[Lot]:
    for auction in _pages(operator, "/auctions"):
        item = auction["item"]
        first, last = datetime.fromisoformat(item["start"]), datetime.fromisoformat(item["end"])
        if first < start or last > end or auction["status"] != "CLEARED":  # under an outage some are cancelled
            continue
        found = _get(operator, f"/auctions/{auction['id']}/results")
        if found["outcome"] != "ALLOCATED":
            continue
        best: dict[str, float] = defaultdict(float)
        for bid in found["bids"]:
            best[bid["organisationID"]] = max(best[bid["organisationID"]], float(bid["price"]))
        offers = sorted(best.values(), reverse=True)
        lines = _sum_lines(
            operator, f"/revenue-reporting/virtual-assets/{found['virtualAssetID']}/statement", first, last
        )
        power_mw = item["ratedDischargePower"] / 1000
        yield Lot(
            item["start"],
            offers[0] / power_mw,
            (sum(lines.values()) - lines["AUCTION"]) / power_mw,
            len(offers),
            offers[0] / offers[1] - 1 if len(offers) > 1 else None,
        )


def _customers_gain(operator: Client, start: datetime, end: datetime) -> float:
    """EUR that customers paid beyond the day-ahead price of the quarter-hour."""
    spot = {
        row["start"]: row["price"] for row in _rows(operator, "/reference-prices", start, end, series="DAY_AHEAD_DE_LU")
    }
    return sum(
        (float(row["price"]) - float(spot[row["time"]])) * float(row["volume"]) * (1 if row["side"] == "SELL" else -1)
        for row in _rows(operator, "/settlements/wholesale-trades", start, end)
        if row["market"] == "OTC"
    )


def _read_availability(operator: Client, start: datetime, end: datetime) -> float:
    """Of rated power and time, as measured: what owners never said counts as well."""
    rated = available = 0.0
    for battery in _get(operator, "/physical-assets"):
        found = _get(
            operator,
            f"/monitoring/{battery['id']}/datapoints?{_span(start, end)}&resolution=hourly"
            "&datapoints=available_discharge_power",
        )
        values = [point["value"] for point in found["data"]["available_discharge_power"]]
        rated += battery["parameters"]["ratedDischargePower"] * len(values)
        available += sum(values)
    return float(available / rated)
