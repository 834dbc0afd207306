"""A world that was lived through: its cast, its days, and what everyone finds in it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest
from tests.sandbox.simulator.worlds import SimulatedWorld

from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, market_day_window, period_count
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.scenario import BATTERIES, ZONES

pytestmark = pytest.mark.slow

ALL_DAYS = ("FCR_DE", "AFRR_CAPACITY_POS_DE_AVERAGE", "AFRR_CAPACITY_NEG_DE_MARGINAL", "REBAP_DE")


def first_days(world: SimulatedWorld) -> tuple[datetime, datetime]:
    """The beginning of the world's first day and of its third: what lies between is settled."""
    day = market_day_of(world.made_at) - timedelta(days=3)
    return market_day_window(day).start, market_day_window(day + timedelta(days=2)).start


class TestTheCast:
    async def test_is_an_operator_two_owners_and_five_traders(self, world: SimulatedWorld):
        kinds = Counter(one["kind"] for one in await world.get("/organisations"))
        assert kinds == {"OPERATOR": 1, "PARTICIPANT": 7}

    async def test_has_twelve_batteries_in_four_zones(self, world: SimulatedWorld):
        batteries = await world.get("/physical-assets")
        assert len(batteries) == len(BATTERIES) == 12
        assert Counter(one["deliveryZone"] for one in batteries) == dict.fromkeys(ZONES, 3)

    async def test_lets_the_newcomer_in_as_trader_and_as_owner(self, world: SimulatedWorld):
        async with world.newcomer("trader") as trader, world.newcomer("owner") as owner:
            me = await trader.auth.me()
            assert "Create:bids" in me.permissions
            held = [one async for one in trader.virtual_assets.list(me.organisation_id)]
            assert held
            assert [one async for one in trader.virtual_assets.portfolios(me.organisation_id)]
            own = [one async for one in owner.physical_assets.list()]
            assert len(own) == 5
            assert len([one async for one in owner.fleets.list()]) == 2


class TestTheMarket:
    async def test_has_published_two_years_of_prices_and_tomorrow_s(self, world: SimulatedWorld):
        now = await world.now()
        start, _ = first_days(world)
        day = market_day_of(start)
        published = await world.pages("/reference-prices", series="DAY_AHEAD_DE_LU", start=start.isoformat())
        assert len(published) >= sum(period_count(day + timedelta(days=n)) for n in range(4))
        known = [float(one["price"]) for one in published[: period_count(day)]]
        assert known == DayAhead(1).quarter_hours(day).tolist()
        oldest = await world.get("/reference-prices", series="DAY_AHEAD_DE_LU", limit=1)
        assert datetime.fromisoformat(oldest[0]["start"]) <= now - timedelta(days=730)

    @pytest.mark.parametrize(
        "series",
        [
            "IDA1_DE_LU",
            "IDA2_DE_LU",
            "INTRADAY_DE_LU",
            "REBAP_DE",
            "FCR_DE",
            "AFRR_CAPACITY_POS_DE_AVERAGE",
            "AFRR_CAPACITY_NEG_DE_MARGINAL",
            "AFRR_ENERGY_POS_DE_MARGINAL",
            "AFRR_ENERGY_NEG_DE_MARGINAL",
        ],
    )
    async def test_publishes_every_series(self, world: SimulatedWorld, series: str):
        start, end = first_days(world)
        rows = await world.pages("/reference-prices", series=series, start=start.isoformat(), end=end.isoformat())
        # The world begins at a midnight: what is published the day before is there from its second day on.
        assert sum((_span(row) for row in rows), timedelta()) >= timedelta(days=2 if series in ALL_DAYS else 1)

    async def test_has_imbalance_prices_of_the_whole_month_in_which_it_begins(self, world: SimulatedWorld):
        start, _ = first_days(world)
        first = market_day_window(market_day_of(start).replace(day=1)).start
        rows = await world.pages("/reference-prices", series="REBAP_DE", start=first.isoformat(), end=start.isoformat())
        assert sum((_span(row) for row in rows), timedelta()) == start - first

    async def test_publishes_the_third_auction_for_the_afternoon(self, world: SimulatedWorld):
        start, end = first_days(world)
        span = {"start": start.isoformat(), "end": end.isoformat()}
        rows = await world.pages("/reference-prices", series="IDA3_DE_LU", **span)
        hours = {datetime.fromisoformat(row["start"]).astimezone(MARKET_ZONE).hour for row in rows}
        assert (len(rows), hours) == (96, set(range(12, 24)))

    async def test_clears_auctions_every_day_among_bidders(self, world: SimulatedWorld):
        now = await world.now()
        closed = [one for one in await world.pages("/auctions") if datetime.fromisoformat(one["end"]) <= now]
        assert len(closed) >= 8
        allocated, bidders = 0, set[str]()
        for auction in closed:
            results = await world.get(f"/auctions/{auction['id']}/results")
            bidders |= {bid["organisationID"] for bid in results["bids"]}
            allocated += results["outcome"] == "ALLOCATED"
        # Who is absent and who wins is drawn by day: `test_strategies` looks at thirty, this world has three.
        assert allocated >= len(closed) / 2
        assert len(bidders) >= 2

    async def test_leaves_auctions_open_for_the_newcomer(self, world: SimulatedWorld):
        async with world.newcomer("trader") as trader:
            assert [one async for one in trader.auctions.list(status="RUNNING")]


class TestTelemetry:
    async def test_has_every_minute_of_every_battery(self, world: SimulatedWorld):
        start, end = first_days(world)
        for battery in await world.get("/physical-assets"):
            sums = await world.get(
                f"/monitoring/{battery['id']}/datapoints/sum/detailed",
                start=start.isoformat(),
                end=end.isoformat(),
                datapoints="active_power,state_of_charge,frequency",
            )
            assert {one["count"] for one in sums["data"].values()} == {(end - start) // timedelta(minutes=1)}


def _span(row: dict[str, str]) -> timedelta:
    return datetime.fromisoformat(row["end"]) - datetime.fromisoformat(row["start"])
