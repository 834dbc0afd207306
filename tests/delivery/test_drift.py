"""The drift of a zone goes to market a day ahead, and is a trade of its batteries."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.assets import register_asset
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire

from gridloom.delivery.inputs.store import read_drift_kw
from gridloom.delivery.planning.drift import NoonDrift, mean_gain_kwh, place_drift_kw, split_drift_kwh
from gridloom.delivery.runs.drift import (
    DAY_AHEAD_SERIES,
    TRADE_DRIFT_JOB,
    enqueue_placement,
    next_noon,
)
from gridloom.delivery.runs.store import add_placement, put_noon, read_noons
from gridloom.kernel.market_time import MARKET_ZONE, market_day_of, market_day_window, period_count
from gridloom.platform.http.application import Application
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.routes import PRICES_CHANGED

LARGE = {"ratedChargePower": 4000, "ratedDischargePower": 4000, "energyCapacity": 8000}


class TestPrices:
    async def test_make_trades_of_what_was_placed_though_they_come_two_weeks_late(self, app: Application) -> None:
        today = market_day_of(datetime.now(UTC))
        days = [today + timedelta(days=ahead) for ahead in (-16, -13, -1, 0, 1, 3)]
        starts = [market_day_window(day).start for day in days]
        prices = [PublishedPrice(DAY_AHEAD_SERIES, start, start + QUARTER, Decimal(50)) for start in starts]
        prices.append(PublishedPrice("IDA1_DE_LU", starts[3] - timedelta(days=5), starts[3], Decimal(50)))
        async with app.pool.acquire() as connection:
            attempt = connection.transaction()
            await attempt.start()
            await PRICES_CHANGED.get()(connection, prices)
            asked = await connection.fetch("select key from job where kind = $1 order by key", TRADE_DRIFT_JOB)
            await attempt.rollback()
        assert [row["key"] for row in asked] == [day.isoformat() for day in days[1:5]]


class TestWhatIsPlaced:
    @given(st.floats(-500, 500), st.floats(0.8, 1.0), st.integers(0, 2**32 - 1), st.booleans())
    def test_takes_the_energy_out_within_free_power_in_the_best_periods(
        self, stored_kwh: float, efficiency: float, seed: int, has_price: bool
    ) -> None:
        draw = np.random.default_rng(seed)
        free_kw, price = draw.uniform(0, 300, 96) * draw.integers(0, 2, 96), draw.normal(80, 40, 96)
        placed_kw = place_drift_kw(stored_kwh, efficiency, free_kw, price if has_price else None)
        sign = np.sign(stored_kwh)
        assert (np.abs(placed_kw) <= free_kw + 1e-9).all()
        assert (placed_kw * sign >= 0).all()
        taken_kwh = placed_kw.sum() / 4 / efficiency if sign > 0 else placed_kw.sum() / 4 * efficiency
        free_kwh = free_kw.sum() / 4 * (1 / efficiency if sign > 0 else efficiency)
        assert abs(taken_kwh) == pytest.approx(min(abs(stored_kwh), free_kwh), abs=0.05)
        if has_price and abs(stored_kwh) > 20 and placed_kw.any():
            used, unused = price[placed_kw != 0], price[(placed_kw == 0) & (free_kw > 1)]
            if len(unused):
                assert (used.min() >= unused.max() - 1e-9) if sign > 0 else (used.max() <= unused.min() + 1e-9)

    def test_is_in_the_sixteen_best_periods_or_in_as_many_as_it_takes(self) -> None:
        """Each has 100 kW free, or 25 kWh, but one that has none; 90 % of what is stored comes out of it."""
        free_kw, price = np.full(24, 100.0), np.arange(24.0)
        free_kw[20] = 0.0
        for stored_kwh, power_kw, count in ((100.0, 22.5, 16), (444.0, 99.9, 16), (445.0, 94.235, 17)):
            sold_kw = place_drift_kw(stored_kwh, 0.9, free_kw, price)
            assert sold_kw.tolist() == [*[0.0] * (23 - count), *[power_kw] * (count - 3), 0.0, *[power_kw] * 3]
        bought_kw = place_drift_kw(-90.0, 0.9, free_kw, price)
        assert bought_kw.tolist() == [-25.0] * 16 + [0.0] * 8
        evenly_kw = place_drift_kw(-69.0, 1.0, free_kw, None)
        assert evenly_kw.tolist() == [-12.0] * 20 + [0.0] + [-12.0] * 3
        assert place_drift_kw(9000.0, 0.9, free_kw, price).tolist() == free_kw.tolist()
        for stored_kwh, free in ((0.0, free_kw), (50.0, np.zeros(24))):
            assert not place_drift_kw(stored_kwh, 0.9, free, price).any()

    def test_is_shared_by_promised_energy(self) -> None:
        assert split_drift_kwh(100.0, np.array([3.0, 1.0]), np.array([0.0, 9.0])).tolist() == [75.0, 25.0]
        assert split_drift_kwh(100.0, np.zeros(2), np.array([40.0, 9.0])).tolist() == [40.0, 9.0]

    def test_counts_the_mean_gain_of_the_days_that_are_known(self) -> None:
        noons = [NoonDrift(10.0, 4.0), NoonDrift(40.0, 25.0), None, NoonDrift(5.0, -7.0), NoonDrift(15.0, 90.0)]
        assert mean_gain_kwh(noons) == pytest.approx((34.0 + 3.0) / 2)
        assert mean_gain_kwh([None, NoonDrift(5.0, 0.0)]) == 0.0
        assert mean_gain_kwh([NoonDrift(10.0, 4.0, 900.0), NoonDrift(40.0, 25.0, 30.0)]) == pytest.approx(4.0)

    @pytest.mark.parametrize(
        ("now", "noon"),
        [
            ("2026-03-28T12:00+01:00", "2026-03-29T12:00+02:00"),
            ("2026-03-29T11:59+02:00", "2026-03-29T12:00+02:00"),
            ("2026-10-24T13:00+02:00", "2026-10-25T12:00+01:00"),
        ],
    )
    def test_is_decided_at_noon_of_the_market_whatever_its_clock(self, now: str, noon: str) -> None:
        assert next_noon(datetime.fromisoformat(now)) == datetime.fromisoformat(noon)


async def publish_prices(yard: Yard, day: date) -> None:
    start = market_day_window(day).start
    rows = [
        {
            "series": "DAY_AHEAD_DE_LU",
            "start": wire(start + index * QUARTER),
            "end": wire(start + (index + 1) * QUARTER),
            "price": 50 + index % 40,
        }
        for index in range(period_count(day))
    ]
    answer = await yard.operator.post("/reference-prices", json=rows)
    assert answer.status_code == 200, answer.text


async def measure(yard: Yard, battery: dict[str, Any], charge: float) -> None:
    """The state of charge in the first quarter-hours of the window."""
    times = [wire(yard.start), wire(yard.start + QUARTER)]
    body = {
        "active_power": {"time": times, "value": [0.0, 0.0]},
        "state_of_charge": {"time": times, "value": [charge, charge]},
    }
    answer = await yard.owner.admin.post(f"/monitoring/{battery['id']}/datapoints", json=body)
    assert answer.status_code == 200, answer.text


async def ask_as_an_earlier_release(yard: Yard) -> None:
    """In place of the jobs for single days, one for all of them."""
    changed = await yard.edge.pool.execute("update job set key = '' where kind = $1", TRADE_DRIFT_JOB)
    assert changed == "UPDATE 1"


class TestABatteryWithDrift:
    @pytest.mark.parametrize(("charge", "side"), [(60.0, "SELL"), (45.0, "BUY")])
    async def test_trades_it_for_the_next_day(self, yard: Yard, charge: float, side: str) -> None:
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, charge)
        today = market_day_of(yard.start)
        tomorrow = today + timedelta(days=1)
        noon = datetime.combine(today, datetime.min.time(), MARKET_ZONE).replace(hour=12)
        await yard.advance(noon + timedelta(minutes=20))
        window = market_day_window(tomorrow)
        dispatch = await yard.dispatch(battery, start=wire(window.start), end=wire(window.end))
        drift = [part["power"] for p in dispatch["dispatch"] for part in p["parts"] if part["kind"] == "DRIFT"]
        grid_kwh = (charge - 50) / 100 * 8000 * (0.95 if charge > 50 else 1 / 0.92)
        assert sum(drift) / 4 == pytest.approx(grid_kwh, abs=1)
        assert all(point["power"] == sum(part["power"] for part in point["parts"]) for point in dispatch["dispatch"])
        assert await self._trades(yard, battery) == []
        await publish_prices(yard, tomorrow)
        if side == "BUY":
            await ask_as_an_earlier_release(yard)
        await yard.advance(noon + timedelta(hours=1))
        trades = await self._trades(yard, battery)
        assert {(one["tradeID"], one["market"], one["side"], one["origin"]) for one in trades} == {
            (f"drift-{tomorrow.isoformat()}", "DAY_AHEAD", side, "COMPUTED")
        }
        assert sum(one["volume"] for one in trades) == pytest.approx(abs(grid_kwh) / 1000, abs=0.001)
        await yard.advance(window.end + timedelta(hours=1))
        after = await yard.dispatch(battery, start=wire(window.end), end=wire(window.end + timedelta(hours=1)))
        assert after["dispatch"][0]["stateOfChargePercentage"] == pytest.approx(50.0, abs=0.1)
        following = market_day_window(tomorrow + timedelta(days=1))
        dispatch = await yard.dispatch(battery, start=wire(following.start), end=wire(following.end))
        again = [part["power"] for p in dispatch["dispatch"] for part in p["parts"] if part["kind"] == "DRIFT"]
        assert sum(again) / 4 == pytest.approx(0, abs=1), "what is placed is no gain of the day"

    async def test_trades_beside_another_of_its_zone_as_much_as_is_promised_of_it(self, yard: Yard) -> None:
        one, two = await yard.battery(**LARGE), await yard.battery(**LARGE)
        await yard.virtual(one, two, end=wire(yard.start + timedelta(days=4)))
        await yard.virtual(two, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        for battery in (one, two):
            await measure(yard, battery, 60.0)
        today = market_day_of(yard.start)
        noon = datetime.combine(today, datetime.min.time(), MARKET_ZONE).replace(hour=12)
        await yard.advance(noon + timedelta(minutes=20))
        window = market_day_window(today + timedelta(days=1))
        placed_kwh = []
        for battery in (one, two):
            dispatch = await yard.dispatch(battery, start=wire(window.start), end=wire(window.end))
            parts = [part for point in dispatch["dispatch"] for part in point["parts"] if part["kind"] == "DRIFT"]
            placed_kwh.append(sum(part["power"] for part in parts) / 4)
        assert sum(placed_kwh) == pytest.approx(2 * 800 * 0.95, abs=2)
        assert placed_kwh[1] == pytest.approx(3 * placed_kwh[0], rel=0.01)

    async def test_trades_what_the_next_day_will_add_to_it_too(self, yard: Yard) -> None:
        """By the mean gain of the noons before, each after the other."""
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, 60.0)
        today, drift_kwh, gain_kwh = market_day_of(yard.start), 800.0, 40.0
        for days in (1, 2, 3):
            earlier = NoonDrift(drift_kwh - days * gain_kwh, 0.0)
            await put_noon(yard.edge.pool, "TenneT", today - timedelta(days=days), earlier)
        noon = datetime.combine(today, datetime.min.time(), MARKET_ZONE).replace(hour=12).astimezone(UTC)
        await yard.advance(noon + timedelta(minutes=20))
        window = market_day_window(today + timedelta(days=1))
        dispatch = await yard.dispatch(battery, start=wire(window.start), end=wire(window.end))
        drift = [part["power"] for p in dispatch["dispatch"] for part in p["parts"] if part["kind"] == "DRIFT"]
        ending_kwh = drift_kwh + gain_kwh * ((window.end - noon) / timedelta(days=1))
        assert sum(drift) / 4 == pytest.approx(0.95 * ending_kwh, abs=1)

    @pytest.mark.parametrize(("gain_kwh", "most_kwh"), [(9000.0, 0.95 * 6000), (-9000.0, -2000 / 0.92)])
    async def test_trades_no_more_than_it_stores_or_has_room_for(
        self, yard: Yard, gain_kwh: float, most_kwh: float
    ) -> None:
        """A gain of earlier days that will not come again: a virtual asset that ended full, say."""
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, 75.0)
        today = market_day_of(yard.start)
        await put_noon(yard.edge.pool, "TenneT", today - timedelta(days=1), NoonDrift(2000.0 - gain_kwh, 0.0))
        noon = datetime.combine(today, datetime.min.time(), MARKET_ZONE).replace(hour=12).astimezone(UTC)
        await yard.advance(noon + timedelta(minutes=20))
        await publish_prices(yard, today + timedelta(days=1))
        await yard.advance(noon + timedelta(hours=1))
        sides = {"SELL": 1000, "BUY": -1000}
        traded = [sides[one["side"]] * one["volume"] for one in await self._trades(yard, battery)]
        assert sum(traded) == pytest.approx(most_kwh, abs=1)

    async def test_yields_to_what_is_held_after_it_was_placed(self, yard: Yard) -> None:
        """Placed drift is in no book: free stays free, and a promise made later is served in full."""
        battery = await yard.battery(**LARGE)
        await yard.virtual(battery, end=wire(yard.start + timedelta(days=4)))
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, 60.0)
        today = market_day_of(yard.start)
        window = market_day_window(today + timedelta(days=1))
        await yard.advance(datetime.combine(today, datetime.min.time(), MARKET_ZONE).replace(hour=12, minute=20))
        sizes = {"ratedChargePower": 3000, "ratedDischargePower": 3000, "energyCapacity": 6000}
        later = await yard.virtual(battery, start=wire(window.start), end=wire(window.end), **sizes)
        await yard.schedule(later, [3000.0], offset=int((window.start - yard.start) / QUARTER) + 8)
        await yard.advance(window.start + timedelta(hours=2))
        span = {"start": wire(window.start + 7 * QUARTER), "end": wire(window.start + 9 * QUARTER)}
        before, busy = (await yard.dispatch(battery, **span))["dispatch"]
        kinds = [{part["kind"]: part["power"] for part in point["parts"]} for point in (before, busy)]
        assert kinds[0]["DRIFT"] > 0
        assert kinds[1]["VIRTUAL"] == pytest.approx(3000.0)
        assert busy["power"] <= 4000.0

    @pytest.mark.parametrize("has_another", [False, True], ids=["the zone is empty", "others are planned"])
    async def test_follows_its_owner_after_its_last_virtual_asset(self, yard: Yard, has_another: bool) -> None:
        """What was placed at noon before and what it scheduled is left; an outage and another schedule count."""
        battery = await yard.battery(**LARGE)
        today = market_day_of(yard.start)
        window = market_day_window(today + timedelta(days=1))
        await yard.virtual(battery, end=wire(window.start))
        url = f"/physical-assets/{battery['id']}"
        if has_another:  # it takes over the drift; an own schedule is left
            await yard.virtual(await yard.battery(**LARGE), end=wire(yard.start + timedelta(days=4)))
            own = [{"time": wire(window.start + n * QUARTER), "power": 30.0} for n in range(8, 24)]
            answer = await yard.owner.trader.put(f"{url}/schedule", json={"schedule": own})
            assert answer.status_code == 200, answer.text
        await yard.advance(yard.start + QUARTER)
        await measure(yard, battery, 60.0)
        await yard.advance(window.start + timedelta(minutes=5))
        span = {"start": wire(window.start), "end": wire(window.end)}
        placed = (await yard.dispatch(battery, **span))["dispatch"]
        assert all(point["power"] > 0 for point in placed[8:24])
        power = {"charge": 4000, "discharge": 4000}
        outage = {
            **{"description": "Inverter", "type": "OUTAGE"},
            **{"start": wire(window.start + 8 * QUARTER), "end": wire(window.start + 12 * QUARTER)},
            "volume": {"energyCapacity": 0, "powerCapacity": power},
        }
        answer = await yard.owner.engineer.post(f"{url}/unavailability", json=outage)
        assert answer.status_code == 201, answer.text
        own = [{"time": wire(window.start + 16 * QUARTER), "power": -1000.0}]
        answer = await yard.owner.trader.put(f"{url}/schedule", json={"schedule": own})
        assert answer.status_code == 200, answer.text
        await yard.advance(window.start + 7 * QUARTER)
        after = await yard.dispatch(battery, **span)
        powers = [point["power"] for point in after["dispatch"]]
        assert powers[8:12] == [0.0] * 4
        assert powers[12:16] == [point["power"] for point in placed[12:16]]
        assert {part["kind"]: part["power"] for part in after["dispatch"][16]["parts"]}["OWN"] == -1000.0
        charges = [point["stateOfChargePercentage"] for point in after["dispatch"]]
        assert charges[8] == charges[12] > charges[13]
        answer = await yard.owner.engineer.delete(f"{url}/unavailability/{(await self._outages(yard, url))[0]['id']}")
        assert answer.status_code == 204, answer.text
        await yard.advance(window.start + 7 * QUARTER + timedelta(minutes=1))
        again = (await yard.dispatch(battery, **span))["dispatch"]
        assert [point["power"] for point in again[8:12]] == [point["power"] for point in placed[8:12]]

    async def test_follows_its_owner_too_where_the_last_version_ended_with_its_virtual_asset(self, yard: Yard) -> None:
        """A version holds what has changed: here the reserve of the last hours, which an outage took."""
        battery = await yard.battery(**LARGE)
        window = market_day_window(market_day_of(yard.start) + timedelta(days=1))
        virtual = await yard.virtual(battery, end=wire(window.start))
        await yard.virtual(await yard.battery(**LARGE), end=wire(window.end))
        hours = {"start": wire(window.start - 16 * QUARTER), "end": wire(window.start)}
        block = {**hours, "market": "FCR", "ratedChargePower": 100, "ratedDischargePower": 100}
        answer = await yard.trader.trader.post(f"{yard.url(virtual)}/blocks", json=block)
        assert answer.status_code == 201, answer.text
        await yard.advance(window.start - 24 * QUARTER)
        volume = {"energyCapacity": 0, "powerCapacity": {"charge": 4000, "discharge": 4000}}
        outage = {"description": "Breaker", "type": "OUTAGE", **hours, "volume": volume}
        url = f"/physical-assets/{battery['id']}"
        answer = await yard.owner.engineer.post(f"{url}/unavailability", json=outage)
        assert answer.status_code == 201, answer.text
        await yard.advance(window.start + 2 * QUARTER)
        own = [{"time": wire(window.start + 16 * QUARTER), "power": -1000.0}]
        answer = await yard.owner.trader.put(f"{url}/schedule", json={"schedule": own})
        assert answer.status_code == 200, answer.text
        await yard.advance(window.start + 4 * QUARTER)
        dispatch = await yard.dispatch(battery, start=wire(window.start), end=wire(window.end))
        assert [point["power"] for point in dispatch["dispatch"]][16] == -1000.0

    async def _outages(self, yard: Yard, url: str) -> Any:
        answer = await yard.owner.engineer.get(f"{url}/unavailability")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def _trades(self, yard: Yard, battery: dict[str, Any]) -> Any:
        answer = await yard.operator.get("/settlements/wholesale-trades", params={"asset-id": battery["id"]})
        assert answer.status_code == 200, answer.text
        return answer.json()


class TestPlacedDrift:
    async def test_is_read_where_it_was_placed(self, app: Any, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        key, first = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id)), 2_150_000
        placed = np.array([1.0, -2.0, 3.0])
        await add_placement(app.pool, key, date(2031, 5, 1), first, placed, datetime(2031, 4, 30, 10, tzinfo=UTC))
        for low, high, found in ((-2, 2, [0, 0, 1, -2]), (1, 5, [-2, 3, 0, 0]), (0, 3, [1, -2, 3]), (3, 4, [0])):
            assert (await read_drift_kw(app.pool, [key], first + low, first + high))[0].tolist() == found


class TestTheDriftAtNoon:
    async def test_is_placed_at_the_noon_that_was_due_first_however_late(self, app: Any) -> None:
        zone, noon = f"zone {uuid4()}", datetime(2031, 5, 1, 10, tzinfo=UTC)
        async with app.pool.acquire() as db:
            change = db.transaction()
            await change.start()
            try:
                for minutes in (-1, 1):
                    await enqueue_placement(db, zone, noon + timedelta(minutes=minutes))
                assert await db.fetchval("select due from job where key = $1", zone) == noon
            finally:
                await change.rollback()

    async def test_is_what_was_found_last(self, app: Any) -> None:
        zone, day = f"zone {uuid4()}", date(2031, 5, 1)
        for noon in (NoonDrift(10.0, 4.0), NoonDrift(20.0, 5.0)):
            await put_noon(app.pool, zone, day, noon)
        await put_noon(app.pool, f"another {zone}", day + timedelta(days=1), NoonDrift(7.0, 8.0))
        assert await read_noons(app.pool, zone, day) == {day: NoonDrift(20.0, 5.0)}
        assert await read_noons(app.pool, zone, day + timedelta(days=1)) == {}
