"""The markets of a day agree with what positions and statements say, of an asset and of a portfolio."""

from __future__ import annotations

import pytest
from tests.markets.test_reserves import FCR, UP, award
from tests.virtual_assets.conftest import wire

from gridloom.kernel.market_time import market_day_window


async def trade_everywhere(desk):
    """A trade at each market, reserves at both tenders and an activation; prices that leave fractions of a cent."""
    await award(desk, await desk.place("FCR", reserves=[FCR]), ("NEGPOS_08_12", 500, 66.86))
    await award(desk, await desk.place("AFRR", reserves=[UP]), ("POS_08_12", 300, 12.37))
    await desk.execute(await desk.place("DAY_AHEAD", {0: -700, 1: 300, 60: 300}), price=61.37)
    await desk.execute(await desk.place("IDA1", {0: -500, 60: 200}), price=70.11)
    await desk.execute(await desk.place("IDA3", {60: 500}), price=90.03)
    row = {"assetID": desk.battery.asset["id"], "side": "SELL", "volume": 0.0333, "price": 41.41}
    rows = [
        {**row, "tradeID": "1", "time": desk.time(70), "market": "OTC"},
        {**row, "tradeID": "2", "time": desk.time(70), "market": "INTRADAY_CONTINUOUS"},
        {**row, "tradeID": "3", "time": desk.time(71), "market": "INTRADAY_AUCTION"},
    ]
    assert (await desk.trader.post("/settlements/wholesale-trades", json=rows)).status_code == 200
    called = {"assetID": desk.battery.asset["id"], "time": desk.time(33), "direction": "POS", "volume": 0.05}
    assert (await desk.operator.post("/settlements/afrr-energy", json=[{**called, "price": 180.55}])).status_code == 200


class TestTheMarketsOfADay:
    async def test_agree_with_the_position_and_the_statement(self, make_desk):
        desk = await make_desk()
        await trade_everywhere(desk)
        window = market_day_window(desk.day)
        span = {"start": wire(window.start), "end": wire(window.end)}
        stages = await desk.stages()
        position = (await desk.trader.get(f"{desk.battery.url}/position", params=span)).json()
        for side in ("bought", "sold"):
            traded = sum(stage["traded"][side] for stage in stages.values())
            assert traded == pytest.approx(sum(point[side] for point in position))
        assert await desk.positions() == pytest.approx([4000 * (one["sold"] - one["bought"]) for one in position])
        url = f"/revenue-reporting/virtual-assets/{desk.battery.asset['id']}/statement"
        statement = (await desk.trader.get(url, params={**span, "resolution": "daily"})).json()
        markets = ("TRADING", "FCR", "AFRR_CAPACITY", "AFRR_ENERGY")
        paid = sum(line["amount"] for line in statement["lines"] if line["line"] in markets)
        earned = {name: stage["earned"] for name, stage in stages.items() if stage["earned"]}
        assert list(earned) == ["FCR", "AFRR", "DAY_AHEAD", "IDA1", "IDA3", "CONTINUOUS", "AFRR_ENERGY", "OTHER"]
        assert sum(earned.values()) == pytest.approx(paid, abs=0.02), "lines are rounded, each to the cent"

    async def test_are_added_up_for_a_portfolio(self, make_desk):
        desk = await make_desk()
        order_id = await desk.place("DAY_AHEAD", {0: 500})
        await desk.execute(order_id, price=80)
        url = f"/organisations/{desk.battery.organisation.id}/portfolios"
        body = {"name": "North", "virtualAssetIDs": [desk.battery.asset["id"]]}
        portfolio = (await desk.trader.post(url, json=body)).json()["id"]
        params = {"delivery-day": desk.day.isoformat()}
        answer = await desk.trader.get(f"{url}/{portfolio}/markets", params=params)
        stage = {one["stage"]: one for one in answer.json()}["DAY_AHEAD"]
        assert (stage["earned"], stage["traded"]["sold"], stage["position"][0]["power"]) == (10, 0.125, 500)
        assert [(one["orderID"], one["status"]) for one in stage["orders"]] == [(order_id, "EXECUTED")]
        empty = await desk.trader.get(f"{url}/{portfolio}/markets", params={"delivery-day": "2031-01-01"})
        assert empty.status_code == 422
