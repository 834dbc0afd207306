"""Traders see the same past and plan, bid and pay differently: each by its own strategy, and so that it pays."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.sandbox.simulator.economy import Month, live_month
from tests.sandbox.simulator.recorded import Session

from gridloom.kernel.market_time import PERIOD, market_day_window
from gridloom.sandbox.simulator.api_session import written
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants import traders
from gridloom.sandbox.simulator.participants.strategies import (
    CAUTIOUS,
    NORMALS,
    STRATEGIES,
    see_prices,
)
from gridloom.sandbox.simulator.participants.valuing import annual_toll, decide_offer
from gridloom.sandbox.simulator.scenario import TRADERS, ZONES
from gridloom.sandbox.simulator.state import OpenAuction, SimulatedHolding, SimulatorState
from gridloom.sandbox.simulator.step_context import StepContext

pytestmark = pytest.mark.pure


@pytest.fixture(scope="module", params=[(1, date(2026, 10, 17)), (2, date(2026, 5, 1))], ids=["autumn", "spring"])
def month(request: pytest.FixtureRequest) -> Month:
    """Thirty days of tolls, auctions, plans and trades, without the platform."""
    seed, first = request.param
    return live_month(seed, first)


@pytest.mark.slow  # thirty days, twice
class TestThirtyDays:
    def test_leave_every_trader_between_a_small_loss_and_a_quarter_more_than_it_paid(self, month: Month):
        for trader in TRADERS:
            assert -0.05 <= month.earned_eur[trader.slug] / month.paid_eur[trader.slug] - 1 <= 0.25, trader.name

    def test_leave_the_newcomer_a_modest_gain(self, month: Month):
        assert 0.02 <= month.earned_eur["hanse"] / month.paid_eur["hanse"] - 1 <= 0.2

    def test_have_auctions_won_by_all_traders_at_prices_of_their_day(self, month: Month):
        wins = Counter(month.winners)
        assert wins.keys() == STRATEGIES.keys()
        assert max(wins.values()) < 0.65 * wins.total()
        assert np.std(month.prices_eur_mw) > 0.05 * np.mean(month.prices_eur_mw)

    def test_have_three_to_six_bid_and_the_winner_little_above_the_second(self, month: Month):
        assert 3 <= np.mean(month.bidders) <= 6
        assert 0.03 <= np.median(month.leads) <= 0.1

    def test_pay_more_for_what_earns_more_and_gain_with_most_lots(self, month: Month):
        paid, earned = np.array(month.prices_eur_mw), np.array(month.values_eur_mw)
        assert np.corrcoef(paid, earned)[0, 1] >= 0.5
        assert 0.5 <= np.mean(earned > paid) <= 0.85
        assert paid[earned.argmax()] > np.median(paid)

    def test_earn_little_from_customers_beyond_the_market(self, month: Month):
        profit = sum(month.earned_eur.values()) - sum(month.paid_eur.values())
        assert 0 < sum(month.customers_eur.values()) <= 0.1 * profit

    def test_net_some_hundredths_of_exports(self, month: Month):
        assert 0.02 <= month.netted_share <= 0.10

    def test_leave_small_imbalances(self, month: Month):
        assert 0.001 < month.open_share < 0.02


class TestStrategies:
    def test_has_every_trader_one(self):
        assert STRATEGIES.keys() == {trader.slug for trader in TRADERS}

    def test_see_hours_by_what_they_average_over(self):
        prices = np.arange(96.0)
        seen = see_prices(CAUTIOUS, prices, np.zeros(NORMALS)).reshape(-1, CAUTIOUS.averages_over)
        assert (seen == seen[:, :1]).all()

    def test_stay_away_on_some_days(self):
        market_data = MarketData(lambda _: 1)
        days = [date.fromordinal(date(2026, 1, 1).toordinal() + n) for n in range(200)]
        for slug, strategy in STRATEGIES.items():
            offers = [decide_offer(market_data, slug, "TenneT", day, 100.0, is_last=False) for day in days]
            assert offers.count(None) / len(days) == pytest.approx(strategy.absence, abs=0.07), slug

    def test_pay_tolls_that_differ_by_contract(self):
        tolls = {zone: annual_toll(MarketData(lambda _: 1), zone, date(2026, 5, 1)) for zone in ZONES}
        assert len(set(tolls.values())) == len(ZONES)

    @pytest.mark.parametrize("first", [date(2026, 10, 20), date(2026, 5, 1)], ids=["autumn", "spring"])
    @pytest.mark.parametrize("seed", range(1, 6))
    def test_pay_what_batteries_earn_with_reserves_and_trades(self, seed: int, first: date):
        """EUR a megawatt and year, over a month."""
        market_data = MarketData(lambda _: seed)
        tolls = [annual_toll(market_data, zone, first + timedelta(days=ahead)) for zone in ZONES for ahead in (0, 14)]
        assert 80_000 <= np.median(tolls) <= 150_000


class TestABid:
    @pytest.mark.parametrize(("power_mw", "bids"), [(0.0, False), (0.0005, False), (10.0, True)])
    async def test_is_left_out_where_it_would_be_less_than_a_euro(self, power_mw: float, bids: bool):
        """The platform takes no smaller one."""
        placed: list[dict[str, Any]] = []

        class Voice:
            async def post(self, _target: str, body: dict[str, Any], _key: str) -> None:
                placed.append(body)

        step = datetime(2026, 11, 12, 9, 30, tzinfo=UTC)
        auctions = [OpenAuction(str(n), "TenneT", date(2026, 11, 14 + n), step, power_mw) for n in range(5)]
        sessions: Any = dict.fromkeys(STRATEGIES, Voice())
        await traders.bid(
            StepContext(
                SimulatorState(world=1, seeds={"2026-01-01": 1}, auctions=auctions),
                MarketData(lambda _: 1),
                sessions["hanse"],
                sessions,
                step,
                is_late=False,
                is_past=True,
                is_hurrying=True,
            ),
            is_last=False,
        )
        assert bool(placed) is bids


class TestAPlan:
    async def test_uses_all_power_that_is_left_for_wholesale_however_many_blocks_there_are(self):
        """By the asset's schedule, which sums them up: of the list of its blocks a request shows a hundred."""
        day = date(2026, 11, 12)
        window = market_day_window(day)
        periods = [written(window.start + n * PERIOD) for n in range(96)]
        capacity = [{"time": at, "chargePowerCapacity": 7_000.0, "dischargePowerCapacity": 9_000.0} for at in periods]

        def answer(target: str, _body: Any) -> Any:
            if "/state-of-charge" in target:
                return [{"time": periods[0], "stateOfChargePercentage": 20.0}]
            return {"schedule": [{"time": at, "power": 0.0} for at in periods], "powerCapacity": capacity}

        holding = SimulatedHolding(
            "battery", "rheintal", "50Hertz", window.start - timedelta(days=9), window.end, 30_000.0, 0.95, 0.95
        )
        session = Session(answer, "organisation")
        sessions: Any = {"rheintal": session}
        memory = SimulatorState(world=1, seeds={"2026-01-01": 1}, holdings=[holding])
        step = window.start - timedelta(hours=13)
        await traders.plan(
            StepContext(
                memory,
                MarketData(lambda _: 1),
                sessions["rheintal"],
                sessions,
                step,
                is_late=False,
                is_past=True,
                is_hurrying=True,
            ),
            day,
        )
        [(_, body)] = session.put_there
        powers = [point["power"] for point in body["schedule"]]
        assert -7_000 <= min(powers) < -5_000
        assert 6_000 < max(powers) <= 9_000
        assert memory.plans[day.isoformat()] == {"battery": powers}
        stored_kwh = sum(-p * 0.95 if p < 0 else -p / 0.95 for p in powers) / 4
        assert stored_kwh == pytest.approx(0.3 * 30_000, abs=1), "from a fifth to half full"
