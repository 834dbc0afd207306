"""The simulated exchange executes what its prices allow: orders as a whole, each reserve by itself."""

from datetime import date
from decimal import Decimal

import pytest
from tests.each import for_each

from gridloom.kernel.market_stages import AUCTION_STAGES, Stage, traded_periods
from gridloom.kernel.market_time import period_start
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.market.exchange import clear_order, stage_prices
from gridloom.sandbox.simulator.market.market_data import MarketData

pytestmark = pytest.mark.pure
SOLD = {"time": "t1", "side": "SELL", "volume": 0.5}
BOUGHT = {"time": "t2", "side": "BUY", "volume": 0.25}
PRICES = {"t1": Decimal("80.00"), "t2": Decimal("40.04"), "A": Decimal("20.00"), "B": Decimal("10.00")}
# 0.5 · 80 − 0.25 · 40.04 = 29.99; a fee of 0.10 takes 0.075.
ORDER = {"id": "o", "volumes": [SOLD, BOUGHT], "fee": 0, "minimumSurplus": 0, "atAnyPrice": False}


class TestAnOrder:
    @for_each(
        [
            (29.99, 0, False, True),
            (30, 0, False, False),
            (29.92, 0.1, False, False),
            (29.91, 0.1, False, True),
            (1000, 0, True, True),
            (-5, 0, False, True),
        ]
    )
    def test_is_executed_as_a_whole_where_its_surplus_is_reached(self, least, fee, always, executed):
        result = clear_order({**ORDER, "minimumSurplus": least, "fee": fee, "atAnyPrice": always}, PRICES)
        trades = [{**SOLD, "price": 80.0}, {**BOUGHT, "price": 40.04}]
        wanted = {"orderID": "o", "executed": executed}
        assert result == ({**wanted, "trades": trades} if executed else wanted)

    def test_of_reserves_is_accepted_at_the_clearing_price_or_below(self):
        bids = [
            {"product": "A", "capacity": 500, "capacityPrice": 20},
            {"product": "B", "capacity": 1, "capacityPrice": 9},
        ]
        for stage, prices in ((Stage.FCR, [20, 10]), (Stage.AFRR, [20, 9])):
            result = clear_order({"id": "o", "stage": stage, "reserves": bids}, PRICES)
            assert [(one["product"], one["price"]) for one in result["reserves"]] == list(
                zip("AB", prices, strict=True)
            )
        dear = [{**bids[0], "capacityPrice": 20.01}]
        assert clear_order({"id": "o", "stage": "FCR", "reserves": dear}, PRICES) == {"orderID": "o", "executed": False}


class TestPrices:
    def test_are_those_of_every_product_and_quarter_hour_that_a_stage_trades(self):
        market_data, day = MarketData(lambda _: 1), date(2026, 10, 25)
        for stage in AUCTION_STAGES:
            first, end = traded_periods(stage, day)
            assert {written(period_start(n)) for n in range(first, end)} <= stage_prices(market_data, stage, day).keys()
        assert len(stage_prices(market_data, Stage.FCR, day)) == 6
        assert len(stage_prices(market_data, Stage.AFRR, day)) == 12
