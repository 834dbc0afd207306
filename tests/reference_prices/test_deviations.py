"""Settled prices that differ from the published ones, and published prices on the grid of quarter-hours."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import numpy as np
import pytest
from tests.reference_prices.listing import without_origin
from tests.revenue.world import World

from gridloom.kernel.market_time import period_number
from gridloom.reference_prices.routes import PRICES_CHANGED
from gridloom.reference_prices.store import read_period_prices, read_price_arrays

START = "2033-05-01T10:00:00Z"


def at(minutes: int) -> str:
    return f"2033-05-01T{10 + minutes // 60:02}:{minutes % 60:02}:00Z"


def price(start: str, end: str, value: float, series: str = "DAY_AHEAD_DE_LU") -> dict[str, Any]:
    return {"series": series, "start": start, "end": end, "price": value}


async def trade(
    operator: httpx2.AsyncClient, asset: UUID, time: str, settled: float, name: str = "T", market: str = "DAY_AHEAD"
) -> None:
    volume = 0 if name == "T8" else 1
    row = {"tradeID": name, "assetID": str(asset), "time": time, "side": "SELL", "volume": volume, "price": settled}
    answer = await operator.post("/settlements/wholesale-trades", json=[{**row, "market": market}])
    assert answer.status_code == 200, answer.text


async def deviations(client: httpx2.AsyncClient, **query: Any) -> list[Any]:
    params = {"kind": "wholesale-trades", **{name.replace("_", "-"): value for name, value in query.items()}}
    answer = await client.get("/reference-prices/deviations", params=params)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()
    return found


class TestDeviations:
    async def test_of_trades_are_above_or_below_the_price_of_the_hour_by_more_than_the_tolerance(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        asset = await world.bare_asset()
        await operator.post("/reference-prices", json=[price(at(0), at(60), 50), price(at(60), at(75), 80)])
        for place, (time, settled) in enumerate(((0, 50), (15, 50), (30, 49), (45, 51), (60, 80.01), (75, 1))):
            await trade(operator, asset, at(time), settled, f"T{place}")
        await trade(operator, asset, at(30), 20, "T9", market="INTRADAY_AUCTION")  # which has no one price
        await trade(operator, asset, at(30), 20, "T8")  # of nothing
        found = await deviations(operator, asset_id=asset)
        assert [(one["time"], one["settledPrice"], one["publishedPrice"], one["difference"]) for one in found] == [
            (at(30), 49, 50, -1),
            (at(45), 51, 50, 1),
            (at(60), 80.01, 80, 0.01),
        ]
        assert {one["series"] for one in found} == {"DAY_AHEAD_DE_LU"}
        assert [one["reference"] for one in await deviations(operator, asset_id=asset, tolerance=0.5)] == ["T2", "T3"]
        assert await deviations(operator, asset_id=asset, tolerance=1) == [], "by no more than it"
        window = await deviations(operator, asset_id=asset, start=at(45), end=at(60))
        assert [one["reference"] for one in window] == ["T3"]

    async def test_of_awards_paid_as_bid_are_those_above_the_marginal_price_of_their_direction(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        """Of the block that begins at four on the wall clock, on a day that has lost an hour before."""
        asset, series = await world.bare_asset(), "AFRR_CAPACITY_{}_DE_MARGINAL"
        block = ("2033-03-27T02:00:00Z", "2033-03-27T06:00:00Z")
        marginal = {"POS": 7, "NEG": 9}
        rows = [price(*block, value, series.format(direction)) for direction, value in marginal.items()]
        await operator.post("/reference-prices", json=rows)
        award = {"assetID": str(asset), "deliveryDay": "2033-03-27", "capacity": 1}
        for above, listed in ((-0.5, []), (0.5, ["NEG", "POS"])):
            awards = [
                {**award, "product": f"{direction}_04_08", "price": value + above}
                for direction, value in marginal.items()
            ]
            answer = await operator.post("/settlements/afrr-capacity", json=awards)
            assert answer.status_code == 200, answer.text
            found = await deviations(operator, asset_id=asset, kind="afrr-capacity")
            assert found == [
                {
                    "assetID": str(asset),
                    "time": block[0],
                    "reference": f"{direction}_04_08",
                    "series": series.format(direction),
                    "settledPrice": marginal[direction] + above,
                    "publishedPrice": marginal[direction],
                    "difference": above,
                }
                for direction in listed
            ]

    @pytest.mark.parametrize(
        ("day", "starts"),
        [
            ("2033-03-27", ("2033-03-26T23:00:00Z", "2033-03-27T02:00:00Z", "2033-03-27T18:00:00Z")),
            ("2033-10-30", ("2033-10-29T22:00:00Z", "2033-10-30T03:00:00Z", "2033-10-30T19:00:00Z")),
        ],
    )
    @pytest.mark.parametrize(
        ("kind", "direction", "series", "field"),
        [
            ("fcr", "NEGPOS", "FCR_DE", "settlementPrice"),
            ("afrr-capacity", "NEG", "AFRR_CAPACITY_NEG_DE_MARGINAL", "price"),
        ],
    )
    async def test_of_awards_are_from_the_price_of_their_block_by_the_wall_clock(
        self,
        operator: httpx2.AsyncClient,
        world: World,
        kind: str,
        direction: str,
        series: str,
        field: str,
        day: str,
        starts: tuple[str, ...],
    ) -> None:
        """The first block of a day on which clocks change has three or five hours, and the others begin after it."""
        asset = await world.bare_asset()
        blocks = [
            (f"{direction}_{block}", start, number)
            for number, (block, start) in enumerate(zip(("00_04", "04_08", "20_24"), starts, strict=True), start=1)
        ]
        published = [
            price(start, start.replace(":00:00Z", ":30:00Z"), 10 * number, series) for _, start, number in blocks
        ]
        assert (await operator.post("/reference-prices", json=published)).status_code == 200
        awards = [
            {"assetID": str(asset), "deliveryDay": day, "product": product, "capacity": 1, field: 11 * number}
            for product, _, number in blocks
        ]
        sent = await operator.post(f"/settlements/{kind}", json=awards)
        assert sent.status_code == 200, sent.text
        assert await deviations(operator, asset_id=asset, kind=kind) == [
            {
                "assetID": str(asset),
                "time": start,
                "reference": product,
                "series": series,
                "settledPrice": 11 * number,
                "publishedPrice": 10 * number,
                "difference": number,
            }
            for product, start, number in blocks
        ]

    async def test_go_on_page_by_page(self, operator: httpx2.AsyncClient, world: World) -> None:
        asset = await world.bare_asset()
        await operator.post("/reference-prices", json=[price(START, at(60), 50)])
        for place in (2, 0, 1):
            await trade(operator, asset, at(15 * place), 70 + place, f"P{place}")
        await trade(operator, asset, at(0), 70, "N0")
        query: dict[str, str | int] = {"kind": "wholesale-trades", "asset-id": str(asset), "limit": 2}
        first = await operator.get("/reference-prices/deviations", params=query)
        rest = await operator.get(first.links["next"]["url"])
        assert [one["reference"] for one in first.json() + rest.json()] == ["N0", "P0", "P1", "P2"]

    async def test_go_on_page_by_page_through_assets_and_both_sides_of_a_trade(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        """The later asset traded earlier, and both bought and sold in one period by one name."""
        first, second = [await world.bare_asset() for _ in range(2)]
        start, other = "2033-06-01T10:00:00Z", "2033-06-01T11:00:00Z"
        await operator.post(
            "/reference-prices",
            json=[price(start, "2033-06-01T12:00:00Z", 50), price(other, "2033-06-01T12:00:00Z", 50)],
        )
        rows = [
            {"tradeID": "T", "assetID": str(asset), "time": time, "side": side, "volume": 1, "price": settled}
            for asset, time, side, settled in (
                (second, start, "SELL", 61),
                (second, start, "BUY", 62),
                (first, other, "SELL", 63),
                (first, other, "BUY", 64),
            )
        ]
        sent = await operator.post(
            "/settlements/wholesale-trades", json=[{**row, "market": "DAY_AHEAD"} for row in rows]
        )
        assert sent.status_code == 200, sent.text
        found, path = [], f"/reference-prices/deviations?kind=wholesale-trades&start={start}&end=2033-06-02T00:00:00Z"
        link = f"{path}&limit=1"
        while link:
            page = await operator.get(link)
            found += [(one["assetID"], one["settledPrice"]) for one in page.json()]
            link = page.links["next"]["url"] if "next" in page.links else ""
        assert found == [(str(first), 64), (str(first), 63), (str(second), 62), (str(second), 61)]

    async def test_of_another_organisations_assets_are_not_shown(
        self, operator: httpx2.AsyncClient, world: World, new_organisation: Any
    ) -> None:
        asset, stranger = await world.bare_asset(), await new_organisation()
        own = await World(world.pool, stranger.id).bare_asset()
        await operator.post("/reference-prices", json=[price(START, at(60), 50)])
        await trade(operator, asset, START, 99)
        assert await deviations(operator, asset_id=asset) != []
        assert await deviations(stranger.admin, start=START, end=at(60)) == []
        await trade(operator, own, START, 98)
        shown = await deviations(stranger.admin, start=START, end=at(60))
        assert [(one["assetID"], one["settledPrice"]) for one in shown] == [(str(own), 98)], "its own, unnamed"
        refused = await stranger.admin.get(
            "/reference-prices/deviations", params={"kind": "wholesale-trades", "asset-id": str(asset)}
        )
        assert refused.status_code == 403
        await world.pool.execute(
            "insert into asset_grant values ($1, $2, $3, $2)",
            await world.key_of(asset),
            stranger.id,
            ["Read:revenue"],
        )
        assert len(await deviations(stranger.admin, asset_id=asset)) == 1, "but to who was granted its revenue"
        unknown = {"kind": "fcr", "asset-id": str(UUID(int=1))}
        assert (await operator.get("/reference-prices/deviations", params=unknown)).status_code == 404


class TestPrices:
    async def test_are_listed_where_they_overlap_the_window_page_by_page(self, operator: httpx2.AsyncClient) -> None:
        rows = [price(at(15 * n), at(15 * n + 15), n, "AFRR_ENERGY_POS_DE_AVERAGE") for n in range(4)]
        await operator.post("/reference-prices", json=rows)
        query = {"series": "AFRR_ENERGY_POS_DE_AVERAGE", "start": at(15), "end": at(45)}
        assert without_origin(await operator.get("/reference-prices", params=query)) == rows[1:3]
        within = {**query, "start": at(20), "end": at(35)}
        assert without_origin(await operator.get("/reference-prices", params=within)) == rows[1:3], "also those it cuts"
        first = await operator.get("/reference-prices", params={**query, "start": at(0), "end": at(60), "limit": 3})
        assert without_origin(first) == rows[:3]
        assert without_origin(await operator.get(first.links["next"]["url"])) == rows[3:]

    async def test_count_in_each_of_their_quarter_hours(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        rows = [price(at(0), at(60), 10, "INTRADAY_DE_LU"), price(at(60), at(75), 20, "INTRADAY_DE_LU")]
        await operator.post("/reference-prices", json=rows)
        first = period_number(datetime.fromisoformat(at(0)))
        found = await read_period_prices(pool, "INTRADAY_DE_LU", first - 1, first + 6)
        assert found.tolist() == pytest.approx([np.nan, 10, 10, 10, 10, 20, np.nan], nan_ok=True)
        inside = await read_period_prices(pool, "INTRADAY_DE_LU", first + 2, first + 5)
        assert inside.tolist() == [10, 10, 20]
        moment = datetime.fromisoformat(at(60))
        starts, ends, values = await read_price_arrays(pool, "INTRADAY_DE_LU", datetime.fromisoformat(at(0)), moment)
        assert (len(starts), ends[0] - starts[0], values) == (1, 3600, [10.0])
        earlier = [price(at(-15), at(0), 5, "INTRADAY_DE_LU"), price(at(0), at(60), 7, "IDA1_DE_LU")]
        await operator.post("/reference-prices", json=earlier)
        since = datetime.fromisoformat(START) - timedelta(minutes=15)
        until = moment + timedelta(minutes=15)
        starts, ends, values = await read_price_arrays(pool, "INTRADAY_DE_LU", since, until)
        begins = int(since.timestamp())
        assert starts == [begins, begins + 900, begins + 4500]
        assert ends == [begins + 900, begins + 4500, begins + 5400]
        assert values == [5.0, 10.0, 20.0], "by their start, of one series"

    async def test_that_hold_for_months_count_to_their_end(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        row = price("2047-01-01T00:00:00Z", "2047-04-01T00:00:00Z", 30, "IDA2_DE_LU")
        await operator.post("/reference-prices", json=[row])
        end = period_number(datetime.fromisoformat(str(row["end"])))
        found = await read_period_prices(pool, "IDA2_DE_LU", end - 2, end + 1)
        assert found.tolist() == pytest.approx([30, 30, np.nan], nan_ok=True)

    async def test_as_of_the_instant_of_a_correction_are_the_corrected_ones_alone(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        series = "IDA3_DE_LU"
        for row in (price(at(0), at(60), 10, series), price(at(0), at(15), 20, series)):  # too long at first
            await operator.post("/reference-prices", json=[row])
            await pool.execute("select pg_sleep(0.002)")  # versions are kept by the millisecond
        start = datetime.fromisoformat(at(0))
        corrected_at = await pool.fetchval(
            "select superseded_at from reference_price_superseded where (series, start_at) = ($1, $2)", series, start
        )
        first = period_number(start)
        for moment, known in (
            (corrected_at - timedelta(milliseconds=1), [10, 10, 10, 10]),
            (corrected_at, [20, np.nan, np.nan, np.nan]),
        ):
            found = await read_period_prices(pool, series, first, first + 4, moment)
            assert found.tolist() == pytest.approx(known, nan_ok=True)
            as_of = moment.isoformat().replace("+00:00", "Z")
            query = {"series": series, "start": at(0), "end": at(60), "as-of": as_of}
            listed = (await operator.get("/reference-prices", params=query)).json()
            assert [one["price"] for one in listed] == [known[0]]

    async def test_that_change_notify_what_depends_on_them(
        self, operator: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[list[float]] = []

        async def note(db: Any, prices: Any) -> None:
            told.append([float(one.price) for one in prices])

        monkeypatch.setattr(PRICES_CHANGED, "get", lambda: note)
        row = price(at(0), at(15), 1, "AFRR_ENERGY_NEG_DE_AVERAGE")
        for value in (1, 1, 2):
            await operator.post("/reference-prices", json=[{**row, "price": value}])
        assert told == [[1.0], [2.0]]
