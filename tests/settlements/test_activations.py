"""Settled activations as the energy of their asset knows them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import pytest
from tests.revenue.reference import AFRREnergy, utc
from tests.revenue.world import World

from gridloom.kernel.market_time import period_number
from gridloom.settlements.activations import read_activated, read_activated_as_of


class TestActivatedEnergy:
    async def test_is_that_of_each_quarter_hour_and_of_all_before_them(self, world: World) -> None:
        """Upward only, in kWh: of the days before, and of the day itself up to the first quarter-hour asked for."""
        id = await world.virtual_asset()
        day, following = date(2026, 3, 29), date(2026, 3, 30)
        facts = [
            AFRREnergy(0, utc(day, 12), "POS", Fraction(2), Fraction(50)),
            AFRREnergy(0, utc(day, 12), "NEG", Fraction(9), Fraction(50)),
            AFRREnergy(0, utc(following, 6), "POS", Fraction(3), Fraction(50)),
            AFRREnergy(0, utc(following, 12), "POS", Fraction(4), Fraction(50)),
        ]
        await world.record_facts(facts, [id])
        noon = period_number(utc(following, 12))
        activated = await read_activated(world.pool, await world.key_of(id), noon - 1, noon + 2)
        assert activated.before_kwh == pytest.approx(5000)
        assert activated.period_kwh.tolist() == pytest.approx([0, 4000, 0])
        first = period_number(utc(day, 12))
        over_both = await read_activated(world.pool, await world.key_of(id), first, noon + 1)
        assert over_both.before_kwh == 0
        assert {first + n: kwh for n, kwh in enumerate(over_both.period_kwh.tolist()) if kwh} == {
            first: 2000,
            period_number(utc(following, 6)): 3000,
            noon: 4000,
        }
        nothing = await read_activated(world.pool, await world.key_of(id), noon, noon - 1)
        assert (nothing.before_kwh, len(nothing.period_kwh)) == (0, 0)

    async def test_is_noted_with_its_virtual_asset_in_both_directions(self, world: World) -> None:
        """By days of UTC, as its schedule is kept; a correction replaces what was noted."""
        id, day = await world.virtual_asset(), date(2026, 6, 10)
        late, early = utc(day, 1), utc(day, 3)  # 23:00 of the day before, and 01:00
        for volume in (1, 2):
            facts = [
                AFRREnergy(0, late, "POS", Fraction(volume), Fraction(50)),
                AFRREnergy(0, early, "NEG", Fraction(3 * volume), Fraction(50)),
            ]
            await world.record_facts(facts, [id])
        key, first_day = await world.key_of(id), period_number(late) // 96
        rows = await world.pool.fetch(
            "select day, up_kwh, down_kwh from virtual_activation where asset_key = $1 order by day", key
        )
        noted = {
            (row["day"], name, slot): kwh
            for row in rows
            for name in ("up_kwh", "down_kwh")
            for slot, kwh in enumerate(row[name])
            if kwh
        }
        assert noted == {(first_day, "up_kwh", 92): 2000, (first_day + 1, "down_kwh", 4): 6000}

    async def test_of_a_day_is_noted_beside_that_of_the_next(self, world: World) -> None:
        id, midnight = await world.virtual_asset(), datetime(2026, 6, 11, tzinfo=UTC)
        for time, volume in ((midnight, 3), (midnight - timedelta(minutes=15), 1)):
            await world.record_facts([AFRREnergy(0, time, "POS", Fraction(volume), Fraction(50))], [id])
        rows = await world.pool.fetch(
            "select up_kwh from virtual_activation where asset_key = $1 order by day", await world.key_of(id)
        )
        assert [(row["up_kwh"][0], row["up_kwh"][95]) for row in rows] == [(0, 1000), (3000, 0)]

    async def test_as_of_an_instant_is_that_of_the_window_as_it_was_settled_then(self, world: World) -> None:
        id, other, start = await world.virtual_asset(), await world.virtual_asset(), utc(date(2026, 6, 10), 12)
        await world.record_facts([AFRREnergy(0, start, "POS", Fraction(7), Fraction(50))], [other])
        quarter = timedelta(minutes=15)
        for volume in (1, 5):
            facts = [
                AFRREnergy(0, start + n * quarter, direction, Fraction(volume * size), Fraction(50))
                for n in (-1, 0, 1, 2)
                for direction, size in (("POS", 1), ("NEG", 2))
            ]
            await world.record_facts(facts, [id])
            await world.pool.execute("select pg_sleep(0.002)")
        key, first = await world.key_of(id), period_number(start)
        instants = await world.pool.fetch(
            "select distinct recorded_at from afrr_activation_version where asset_key = $1 order by 1", key
        )
        moment = timedelta(milliseconds=1)
        corrected_at = instants[1]["recorded_at"]
        for instant, kwh in (
            (instants[0]["recorded_at"] - moment, 0.0),
            (instants[0]["recorded_at"], 1000.0),
            (corrected_at - moment, 1000.0),
            (corrected_at, 5000.0),
        ):
            found = await read_activated_as_of(world.pool, key, first, first + 2, instant)
            assert (found.up_kwh.tolist(), found.down_kwh.tolist()) == ([kwh] * 2, [2 * kwh] * 2)
