"""Settled prices that differ from the published ones, and published prices on the grid of quarter-hours."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import httpx2
import numpy as np
import pytest
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
    row = {"tradeID": name, "assetID": str(asset), "time": time, "side": "SELL", "volume": 1, "price": settled}
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
        found = await deviations(operator, asset_id=asset)
        assert [(one["time"], one["settledPrice"], one["publishedPrice"], one["difference"]) for one in found] == [
            (at(30), 49, 50, -1),
            (at(45), 51, 50, 1),
            (at(60), 80.01, 80, 0.01),
        ]
        assert {one["series"] for one in found} == {"DAY_AHEAD_DE_LU"}
        assert [one["reference"] for one in await deviations(operator, asset_id=asset, tolerance=0.5)] == ["T2", "T3"]
        window = await deviations(operator, asset_id=asset, start=at(45), end=at(60))
        assert [one["reference"] for one in window] == ["T3"]

    async def test_of_awards_paid_as_bid_are_those_above_the_marginal_price(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        asset, series = await world.bare_asset(), "AFRR_CAPACITY_POS_DE_MARGINAL"
        block = ("2033-05-02T22:00:00Z", "2033-05-03T02:00:00Z")
        await operator.post("/reference-prices", json=[price(*block, 7, series)])
        award = {"assetID": str(asset), "deliveryDay": "2033-05-03", "product": "POS_00_04", "capacity": 1}
        for settled, count in ((6.5, 0), (7.5, 1)):
            await operator.post("/settlements/afrr-capacity", json=[{**award, "price": settled}])
            assert len(await deviations(operator, asset_id=asset, kind="afrr-capacity")) == count

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

    async def test_of_another_organisations_assets_are_not_shown(
        self, operator: httpx2.AsyncClient, world: World, new_organisation: Any
    ) -> None:
        asset, stranger = await world.bare_asset(), await new_organisation()
        await operator.post("/reference-prices", json=[price(START, at(60), 50)])
        await trade(operator, asset, START, 99)
        assert await deviations(operator, asset_id=asset) != []
        assert await deviations(stranger.admin, start=START, end=at(60)) == []
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
        assert (await operator.get("/reference-prices", params=query)).json() == rows[1:3]
        first = await operator.get("/reference-prices", params={**query, "start": at(0), "end": at(60), "limit": 3})
        assert first.json() == rows[:3]
        assert (await operator.get(first.links["next"]["url"])).json() == rows[3:]

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
