"""A cleared auction shows in the revenue of its virtual asset by itself."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from tests.auctions.conftest import Market, bid, market, new_market
from tests.revenue.reference import utc
from tests.revenue.reports import report
from tests.revenue.world import World

from gridloom.platform.http.application import Application
from gridloom.revenue.model import Contribution, Subject
from gridloom.revenue.store import read_auction_results

__all__ = ["market", "new_market"]


class TestAuctionResult:
    async def test_is_spread_over_the_delivery_window_without_anybody_recording_it(self, market: Market) -> None:
        battery = await market.battery()
        terms = await market.terms(battery, hurdlePrice=100)
        auction = (await market.operator.post("/auctions", json=terms)).json()["id"]
        winner, other = market.traders[:2]
        await bid(winner, auction, "960.00")
        await bid(other, auction, "500.00")
        before = await market.now()
        await market.advance("PT2H")
        after = await market.now() - timedelta(minutes=1)
        virtual = (await winner.trader.get(f"/auctions/{auction}")).json()["virtualAssetID"]
        window = {"start": terms["item"]["start"], "end": terms["item"]["end"]}
        path = f"/revenue-reporting/virtual-assets/{virtual}/data-points"
        names = "revenue_vba,revenue_total_revenue,hurdle_price_vba,revenue_normalised_vba"

        answer = await winner.viewer.get(path, params={**window, "resolution": "hourly", "datapoints": names})
        data = answer.json()["data"]
        assert len(data["revenue_vba"]) == 48
        assert [point["value"] for point in data["revenue_vba"]] == pytest.approx([20] * 48)
        assert data["revenue_total_revenue"] == data["revenue_vba"]
        assert [point["value"] for point in data["hurdle_price_vba"]] == pytest.approx([100] * 48)
        assert sum(point["value"] for point in data["revenue_normalised_vba"]) == pytest.approx(960 / 4)

        bucket = await winner.viewer.get(f"/revenue-reporting/{virtual}/virtual-battery-auction", params=window)
        assert bucket.json()["revenue"] == pytest.approx(960)
        known = await winner.viewer.get(path, params={**window, "as-of": before.isoformat(), "datapoints": names})
        assert {point["value"] for point in known.json()["data"]["revenue_vba"]} == {0.0}
        assert datetime.fromisoformat(known.json()["data"]["revenue_vba"][0]["time"]) == datetime.fromisoformat(
            window["start"]
        )

        known = await winner.viewer.get(path, params={**window, "as-of": after.isoformat(), "datapoints": names})
        assert sum(point["value"] for point in known.json()["data"]["revenue_vba"]) == pytest.approx(960), (
            "once it is cleared, however long before its delivery"
        )

        backed = f"/revenue-reporting/physical-assets/{battery}/data-points"
        owned = await market.owner.viewer.get(backed, params={**window, "resolution": "daily", "datapoints": names})
        assert sum(point["value"] for point in owned.json()["data"]["revenue_vba"]) == pytest.approx(960)
        assert (await other.viewer.get(path, params=window)).status_code == 403

    async def test_counts_in_the_hurdle_price_where_that_is_zero_and_not_where_there_is_none(
        self, world: World
    ) -> None:
        """A hurdle of 0 is a price like any other."""
        day, ids = date(2026, 7, 1), [await world.virtual_asset(mw) for mw in (10, 30, 70)]
        for id, price, hurdle in zip(ids, (500, 40, 7), (100, 0, None), strict=True):
            await world.auction(id, utc(day, 0), utc(day, 24), price, hurdle)
        keys = [await world.key_of(id) for id in ids]
        names = ["hurdle_price_vba", "revenue_vba"]

        async def read(parts: tuple[Contribution, ...]) -> dict[str, list[object]]:
            subject = Subject("assets", parts, tuple(part.asset_key for part in parts))
            found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", names=names)
            return {name: list(found[name].values()) for name in names}

        first, zero, none = (Contribution(key, weight) for key, weight in zip(keys, (1.0, 0.4, 0.5), strict=True))
        assert await read((zero,)) == {"hurdle_price_vba": [0.0], "revenue_vba": [pytest.approx(16)]}
        assert await read((none,)) == {"hurdle_price_vba": [None], "revenue_vba": [pytest.approx(3.5)]}
        assert await read((first, zero, none)) == {
            "hurdle_price_vba": [pytest.approx(100 * 10 / (10 + 0.4 * 30))],
            "revenue_vba": [pytest.approx(500 + 16 + 3.5)],
        }

    async def test_is_known_from_the_instant_it_was_cleared(
        self, world: World, app: Application, by_parts: Any
    ) -> None:
        """An hour after its bidding closed."""
        day, id = date(2026, 7, 1), await world.virtual_asset(10)
        await world.auction(id, utc(day, 0), utc(day, 24), 500)
        cleared_at = await world.pool.fetchval(
            "update auction set cleared_at = closes_at + interval '1 hour' where virtual_asset_id = $1"
            " returning cleared_at",
            id,
        )
        key = await world.key_of(id)
        subject, names = Subject("asset", (Contribution(key),), (key,)), ["revenue_vba"]
        for as_of, revenue in ((cleared_at - timedelta(milliseconds=1), 0), (cleared_at, 500)):
            found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", as_of=as_of, names=names)
            assert found["revenue_vba"] == {utc(day, 0): pytest.approx(revenue)}
            for start, end, is_there in ((-3, 0, False), (-3, 1, True), (23, 30, True), (24, 30, False)):
                since, until = (utc(day, 0) + timedelta(hours=hours) for hours in (start, end))
                whole = await read_auction_results(world.pool, [key], since, until, as_of)
                with by_parts():
                    assert await read_auction_results(app.pool, [key], since, until, as_of) == whole, "by parts"
                assert [one.price_eur for one in whole] == [500] * (is_there and revenue > 0), (since, as_of)
