"""From a bid to what everyone is paid, each number computed by hand."""

from __future__ import annotations

from collections import defaultdict
from contextlib import AsyncExitStack
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx2
from tests.auctions.conftest import Market, bid, make_market, wire

from gridloom.kernel.market_time import market_day_of, market_day_window

QUARTER = timedelta(minutes=15)


async def sent(answer: httpx2.Response) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def statement(client: httpx2.AsyncClient, path: str, start: datetime, end: datetime, **more: str) -> Any:
    params = {"start": wire(start), "end": wire(end), **more}
    return await sent(await client.get(f"/revenue-reporting/{path}/statement", params=params))


def by_line(answer: dict[str, Any]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line in answer["lines"]:
        sums[line["line"]] += Decimal(str(line["amount"]))
    return dict(sums)


async def publish_imbalance_prices(market: Market, first: date, last: date) -> None:
    """50 EUR/MWh in every quarter-hour of these market days."""
    moment, end, rows = market_day_window(first).start, market_day_window(last).end, []
    while moment < end:
        rows.append({"series": "REBAP_DE", "start": wire(moment), "end": wire(moment + QUARTER), "price": 50})
        moment += QUARTER
    await sent(await market.operator.post("/reference-prices", json=rows))


async def test_every_party_is_paid_what_it_is_due_to_the_cent(fresh_app: Any) -> None:
    async with AsyncExitStack() as stack:
        market = await make_market(await fresh_app(), stack, traders=2)
        small, large = await market.battery(), await market.battery()
        terms = await market.terms(small)
        terms["backing"] = [{"physicalAssetID": small, "share": 0.35}, {"physicalAssetID": large, "share": 0.65}]
        auction = (await sent(await market.operator.post("/auctions", json=terms)))["id"]
        start, end = (datetime.fromisoformat(terms["item"][name]) for name in ("start", "end"))

        # The auction: 1,600.01 EUR wins.
        trader, rival = market.traders
        await sent(await bid(trader, auction, "1600.01"))
        await sent(await bid(rival, auction, "1200"))
        await market.advance("PT61M")
        won = await sent(await trader.trader.get(f"/auctions/{auction}"))
        assert won["status"] == "WON"
        virtual = won["virtualAssetID"]
        base = f"/organisations/{trader.id}/virtual-assets/{virtual}"

        # 2 MW for an hour, of which 2.1 MWh were sold at 80: 0.1 MWh too much in the first quarter-hour.
        times = [wire(start + place * QUARTER) for place in range(4)]
        schedule = [{"time": time, "power": 2000} for time in times]
        block = (await sent(await trader.trader.get(base)))["blockIDs"][0]
        await sent(await trader.trader.put(f"{base}/blocks/{block}", json={"schedule": schedule}))
        trades = [
            {
                "tradeID": "sold",
                "assetID": virtual,
                "time": time,
                "side": "SELL",
                "volume": 0.6 if place == 0 else 0.5,
                "price": 80,
                "market": "DAY_AHEAD",
            }
            for place, time in enumerate(times)
        ]
        await sent(await market.operator.post("/settlements/wholesale-trades", json=trades))

        # A toll of 10 EUR per MW and hour on 4 MW for two days.
        year = market_day_of(start).year
        year_start, year_end = (market_day_window(date(one, 1, 1)).start for one in (year, year + 1))
        hours = (year_end - year_start) // timedelta(hours=1)
        toll = {
            "contractID": "toll",
            "assetID": virtual,
            "start": wire(start - timedelta(days=9)),
            "end": wire(end + timedelta(days=9)),
            "annualPrice": 10 * hours,
        }
        await sent(await market.operator.post("/settlements/tolling-contracts", json=[toll]))

        # The small battery's own FCR: 1 MW for the block at 60.00, provisional.
        day = market_day_of(start + timedelta(hours=12))
        offer = {"deliveryDay": day.isoformat(), "product": "NEGPOS_08_12"}
        placed = await sent(
            await market.owner.trader.post(
                f"/physical-assets/{small}/ancillary/bids",
                json=[{**offer, "bids": [{"capacityPrice": 40, "offeredCapacity": 1000}]}],
            )
        )
        result = {
            "bidID": placed[0]["bids"][0]["id"],
            "accepted": True,
            "acceptedCapacity": 1000,
            "settlementPrice": 60,
        }
        await sent(
            await market.owner.trader.post(
                f"/physical-assets/{small}/ancillary/results", json=[{**offer, "results": [result]}]
            )
        )

        await market.advance("P5D")
        await publish_imbalance_prices(market, market_day_of(start), market_day_of(end))

        # The holder. Its store ends 2,000 ÷ 0.95 kWh short of half: 2.105263 MWh at 50 EUR.
        held = await statement(trader.trader, f"virtual-assets/{virtual}", start, end)
        assert by_line(held) == {
            "TRADING": Decimal("168.00"),
            "TOLLING": Decimal("-1920.00"),
            "AUCTION": Decimal("-1600.01"),
            "IMBALANCE": Decimal("-5.00"),
            "END_OF_LIFE": Decimal("-105.26"),
        }
        assert Decimal(str(held["total"])) == Decimal("-3462.27")
        assert {line["counterparty"] for line in held["lines"]} == {"MARKET", "GRID_OPERATOR", str(market.owner.id)}

        # The owner: 35 % and 65 %, the odd cents to the larger share.
        smaller = await statement(market.owner.trader, f"physical-assets/{small}", start, end)
        assert by_line(smaller) == {
            "AUCTION": Decimal("560.00"),
            "TOLLING": Decimal("672.00"),
            "END_OF_LIFE": Decimal("36.84"),
            "FCR": Decimal("60.00"),
        }
        larger = await statement(market.owner.trader, f"physical-assets/{large}", start, end)
        assert by_line(larger) == {
            "AUCTION": Decimal("1040.01"),
            "TOLLING": Decimal("1248.00"),
            "END_OF_LIFE": Decimal("68.42"),
        }
        for line in ("AUCTION", "TOLLING", "END_OF_LIFE"):
            assert by_line(held)[line] + by_line(smaller)[line] + by_line(larger)[line] == 0

        # Whatever the buckets, the same cents; and a part and the rest are the whole.
        for resolution in ("15-minute", "hourly"):
            fine = await statement(trader.trader, f"virtual-assets/{virtual}", start, end, resolution=resolution)
            assert by_line(fine) == by_line(held)
        middle = start + timedelta(hours=7, minutes=15)
        parts = [
            await statement(trader.trader, f"virtual-assets/{virtual}", *window)
            for window in ((start, middle), (middle, end))
        ]
        assert sum(Decimal(str(part["total"])) for part in parts) == Decimal("-3462.27")

        # A fleet is its batteries, a portfolio its virtual assets.
        fleet = await sent(
            await market.owner.admin.post(
                "/fleets",
                json={"name": "All", "organisationID": str(market.owner.id), "physicalAssetIDs": [small, large]},
            )
        )
        together = await statement(market.owner.trader, f"fleets/{fleet['id']}", start, end)
        assert Decimal(str(together["total"])) == Decimal("560.00") + 672 + Decimal("36.84") + 60 + Decimal("2356.43")
        portfolio = await sent(
            await trader.admin.post(
                f"/organisations/{trader.id}/portfolios", json={"name": "All", "virtualAssetIDs": [virtual]}
            )
        )
        assert (await statement(trader.trader, f"portfolios/{portfolio['id']}", start, end))["total"] == held["total"]

        # An organisation is all that it holds and owns, in a portfolio or not; what it pays to itself is left out.
        for party, alone in ((trader, held), (market.owner, together)):
            whole = await statement(party.trader, f"organisations/{party.id}", start, end)
            assert (whole["lines"], whole["total"]) == (alone["lines"], alone["total"])
