"""One day of the simulated world, from the bids for a virtual battery to what each party is paid for it."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.test_consistency import LARGEST_LOT_MWH, broken_batteries
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window
from gridloom.sandbox.simulator.api_session import ApiSession, written
from gridloom.sandbox.simulator.credentials import member_name, member_password
from gridloom.sandbox.simulator.market.intraday import IntradayAuction
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.strategies import customers_prices
from gridloom.sandbox.simulator.participants.valuing import annual_toll
from gridloom.sandbox.simulator.scenario import AUCTIONED_SHARE, ORGANISATIONS, TOLLED_SHARE, batteries_in

pytestmark = pytest.mark.slow

Lines = dict[tuple[str, str], Decimal]
"""EUR by line and counterparty"""
BETWEEN_PARTIES = ("AUCTION", "TOLLING", "END_OF_LIFE", "AVAILABILITY", "SUBSTITUTION")


def cents(amount: float | Decimal) -> Decimal:
    return Decimal(amount).quantize(Decimal("0.01"), ROUND_HALF_UP)


async def read_statement(world: SimulatedWorld, asset: Any, start: datetime, end: datetime) -> Lines:
    """As its holder or its owner reads it."""
    name = next(one["name"] for one in await world.get("/organisations") if one["id"] == asset["organisationID"])
    slug = next(one.slug for one in ORGANISATIONS if one.name == name)
    kind = "virtual-assets" if "blockIDs" in asset else "physical-assets"
    async with world.connect(member_name(world.kept, slug), member_password(world.kept, slug)) as client:
        found = await ApiSession(client, asset["organisationID"]).get(
            f"/revenue-reporting/{kind}/{asset['id']}/statement?start={written(start)}&end={written(end)}"
        )
    sums: Lines = defaultdict(Decimal)
    for line in found["lines"]:
        sums[line["line"], line["counterparty"]] += Decimal(str(line["amount"]))
    assert sum(sums.values()) == Decimal(str(found["total"]))
    return dict(sums)


def of_line(lines: Lines, line: str) -> Decimal:
    return sum((amount for (name, _), amount in lines.items() if name == line), Decimal())


async def read_virtual_assets(world: SimulatedWorld, start: datetime, end: datetime) -> list[Any]:
    span = {"start": start.isoformat(), "end": end.isoformat()}
    return [
        asset
        for organisation in await world.get("/organisations")
        for asset in await world.pages(f"/organisations/{organisation['id']}/virtual-assets", **span)
    ]


async def read_powers_kw(world: SimulatedWorld, asset: Any, start: datetime, end: datetime) -> np.ndarray:
    target = f"/organisations/{asset['organisationID']}/virtual-assets/{asset['id']}/blocks"
    powers = np.zeros((end - start) // PERIOD)
    for block in await world.get(target, start=start.isoformat(), end=end.isoformat()):
        for point in block["schedule"]:
            powers[(datetime.fromisoformat(point["time"]) - start) // PERIOD] += point["power"]
    return powers


async def whole_zone(world: SimulatedWorld, start: datetime, end: datetime) -> tuple[str, list[Any]]:
    """A zone in which nothing was out of order, and its batteries."""
    broken = await broken_batteries(world, start - timedelta(days=1), end)
    zones: dict[str, list[Any]] = defaultdict(list)
    for battery in await world.get("/physical-assets"):
        zones[battery["deliveryZone"]].append(battery)
    return next(
        (zone, batteries)
        for zone, batteries in sorted(zones.items())
        if not any(battery["id"] in broken for battery in batteries)
    )


async def test_a_bid_becomes_power_and_money_as_it_should(
    world: SimulatedWorld, window: tuple[datetime, datetime]
) -> None:
    delivered = market_day_window(market_day_of(window[1]))  # the first day that was auctioned
    start, end = delivered.start, delivered.end
    span = {"start": start.isoformat(), "end": end.isoformat()}
    zone, batteries = await whole_zone(world, start, end)
    powers_mw = sum(battery.power_kw for battery in batteries_in(zone)) / 1000

    # The auction: the higher offer has won, and holds a quarter of the zone's batteries for the day.
    [auction] = [
        one
        for one in await world.pages("/auctions")
        if one["item"]["deliveryZone"] == zone and datetime.fromisoformat(one["item"]["start"]) == start
    ]
    results = await world.get(f"/auctions/{auction['id']}/results")
    best = max(results["bids"], key=lambda bid: Decimal(str(bid["price"])))
    assert (results["winnerID"], results["winningBidID"]) == (best["organisationID"], best["id"])
    price = Decimal(str(best["price"]))
    assert price >= Decimal(str((await world.get(f"/auctions/{auction['id']}"))["hurdlePrice"]))
    assets = [one for one in await read_virtual_assets(world, start, end) if one["deliveryZone"] == zone]
    won, toll = sorted(assets, key=lambda one: one["id"] != results["virtualAssetID"])
    assert (won["id"], won["organisationID"]) == (results["virtualAssetID"], results["winnerID"])
    assert won["ratedDischargePower"] == int(1000 * AUCTIONED_SHARE * powers_mw)

    # Its schedule was sold at the published prices, quarter-hour by quarter-hour, but for parts of a lot.
    power_kw = await read_powers_kw(world, won, start, end)
    assert np.abs(power_kw).max() > 0
    market_data, day = MarketData(lambda _: 1), market_day_of(start)
    published = {
        "DAY_AHEAD": [market_data.day_ahead(day)],
        "INTRADAY_AUCTION": [market_data.auction(day, auction) for auction in IntradayAuction],
        "INTRADAY_CONTINUOUS": [market_data.intraday(day)],
        "OTC": [customers_prices(market_data.day_ahead(day))],
    }
    trades = [row for row in await world.pages("/settlements/wholesale-trades", **span) if row["assetID"] == won["id"]]
    traded_mwh = np.zeros(len(power_kw))
    for trade in trades:
        place = (datetime.fromisoformat(trade["time"]) - start) // PERIOD
        assert float(trade["price"]) in [prices[place] for prices in published[trade["market"]]]
        traded_mwh[place] += float(trade["volume"]) * (1 if trade["side"] == "SELL" else -1)
    assert traded_mwh == pytest.approx(power_kw / 4000, abs=LARGEST_LOT_MWH / 2 + 1e-8)
    target = f"/organisations/{won['organisationID']}/virtual-assets/{won['id']}"
    position = await world.get(f"{target}/position", **span)
    assert [point["scheduled"] for point in position] == pytest.approx((power_kw / 4000).tolist(), abs=1e-8)
    assert [point["open"] for point in position] == pytest.approx((traded_mwh - power_kw / 4000).tolist(), abs=1e-6)

    # The zone's batteries do together what its virtual batteries are scheduled for.
    dispatched_kw = np.zeros_like(power_kw)
    for battery in batteries:
        dispatch = (await world.get(f"/physical-assets/{battery['id']}/dispatch", **span))["dispatch"]
        for place, point in enumerate(dispatch):
            dispatched_kw[place] += sum(part["power"] for part in point["parts"] if part["kind"] == "VIRTUAL")
    scheduled_kw = power_kw + await read_powers_kw(world, toll, start, end)
    assert dispatched_kw == pytest.approx(scheduled_kw, abs=0.01)

    # The holder is paid by the market and pays the auction's price, to the cent.
    earned = sum(
        Decimal(str(row["volume"])) * Decimal(str(row["price"])) * (1 if row["side"] == "SELL" else -1)
        for row in trades
    )
    held = await read_statement(world, won, start, end)
    assert of_line(held, "TRADING") == held["TRADING", "MARKET"] == cents(earned)
    assert of_line(held, "AUCTION") == -price
    assert abs(of_line(held, "IMBALANCE")) < Decimal("0.05") * abs(cents(earned))
    points = await world.get(
        f"/revenue-reporting/virtual-assets/{won['id']}/data-points",
        resolution="daily", datapoints="revenue_wholesale,revenue_vba", **span,
    )  # fmt: skip
    assert points["data"]["revenue_wholesale"][0]["value"] == pytest.approx(float(earned), abs=0.005)

    # The owners share that price, and the toll on the other half, by what their batteries can do.
    share_of = {one.name: one.power_kw / 1000 / powers_mw for one in batteries_in(zone)}
    statements = {one["name"]: await read_statement(world, one, start, end) for one in batteries}
    for name, lines in statements.items():
        assert float(of_line(lines, "AUCTION")) == pytest.approx(float(price) * share_of[name], abs=0.03)
    assert sum(of_line(lines, "AUCTION") for lines in statements.values()) == price
    year_h = (market_day_window(date(start.year + 1, 1, 1)).start - market_day_window(date(start.year, 1, 1)).start) / (
        timedelta(hours=1)
    )
    toll_mw = int(1000 * TOLLED_SHARE * powers_mw) / 1000
    agreed = annual_toll(market_data, zone, market_day_of(world.made_at) - timedelta(days=3))
    due = agreed * toll_mw * ((end - start) / timedelta(hours=1)) / year_h
    tolled = await read_statement(world, toll, start, end)
    assert float(of_line(tolled, "TOLLING")) == pytest.approx(-due, abs=0.01)
    assert sum(of_line(lines, "TOLLING") for lines in statements.values()) == -of_line(tolled, "TOLLING")

    # What balancing power a battery sold is paid by the grid operators: award by award.
    for battery in batteries:
        fcr = [row for row in await world.pages("/settlements/fcr", **span) if row["assetID"] == battery["id"]]
        expected = sum(
            Decimal(str(row["capacity"])) * Decimal(str(row["settlementPrice"])) * _hours_of(start, row["product"])
            for row in fcr
        )
        assert of_line(statements[battery["name"]], "FCR") == cents(expected)


def _hours_of(start: datetime, product: str) -> int:
    """Of a block such as `NEGPOS_00_04`: one hour less or more when the clocks change."""
    first, last = (int(hours) for hours in product.split("_")[1:])
    day = market_day_window(market_day_of(start))
    shift = (day.end - day.start) // timedelta(hours=1) - 24
    return last - first + (shift if first == 0 else 0)


async def test_over_all_parties_every_statement_adds_up_to_zero(
    world: SimulatedWorld, window: tuple[datetime, datetime]
) -> None:
    start, end = window[0], market_day_window(market_day_of(window[1])).end
    between: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    assets = await read_virtual_assets(world, start, end) + await world.get("/physical-assets")
    for asset in assets:
        for (line, other), amount in (await read_statement(world, asset, start, end)).items():
            if line in BETWEEN_PARTIES or (line == "RESERVE_SHORTFALL" and other != "GRID_OPERATOR"):
                between[line, asset["organisationID"], other] += amount
            else:
                assert other in ("MARKET", "GRID_OPERATOR"), (line, other)
    assert any(amount for amount in between.values())
    for (line, payer, payee), amount in between.items():
        assert between.get((line, payee, payer), Decimal()) == -amount, (line, payer, payee)
