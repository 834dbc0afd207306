"""What a toll earns in a report, over years of different length and within the life of its asset."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from tests.revenue.reference import Toll, utc
from tests.revenue.reports import BUCKETED, CENT, of_assets, report
from tests.revenue.world import World


class TestToll:
    async def test_may_last_as_long_as_the_calendar(self, world: World) -> None:
        id = await world.physical_asset(10)
        for_ever = Toll(
            0, "c", utc(date(2000, 1, 1), 0), datetime(2099, 12, 31, 22, 59, 59, tzinfo=UTC), Fraction(8760)
        )
        await world.record_facts([for_ever], [id])
        subject = await of_assets(world, [id])
        for day, price_an_hour in ((date(2000, 1, 1), 8760 / 8784), (date(2026, 6, 1), 1), (date(2099, 12, 31), 1)):
            for resolution in (*BUCKETED, "raw"):
                found = await report(world, subject, utc(day, 0), utc(day, 24), resolution, names=["revenue_tolling"])
                total = sum(value or 0.0 for value in found["revenue_tolling"].values())
                assert total == pytest.approx(10 * 24 * price_an_hour, abs=CENT), (day, resolution)

    async def test_follows_the_length_of_each_year_it_passes(self, world: World) -> None:
        id = await world.virtual_asset(10)
        await world.record_facts(
            [Toll(0, "c", utc(date(2027, 12, 1), 0), utc(date(2029, 2, 1), 0), Fraction(366))], [id]
        )
        subject = await of_assets(world, [id])
        start, end = utc(date(2027, 1, 1), 0), utc(date(2030, 1, 1), 0)
        expected = 10 * 366 * (31 / 365 + 1 + 31 / 365)
        for resolution in ("daily", "raw"):
            found = await report(world, subject, start, end, resolution, names=["revenue_tolling"])
            total = sum(value or 0.0 for value in found["revenue_tolling"].values())
            assert total == pytest.approx(expected, abs=CENT), resolution

    async def test_accrues_within_the_life_of_its_asset_only(self, world: World) -> None:
        """A year's contract at 24,000 EUR/MW on 10 MW that live for fifteen and a half days."""
        first = date(2026, 3, 1)
        id = await world.virtual_asset(10, start=utc(first, 0), end=utc(date(2026, 3, 16), 12))
        year = (utc(date(2026, 1, 1), 0), utc(date(2027, 1, 1), 0))
        await world.record_facts([Toll(0, "c", *year, Fraction(24_000))], [id])
        subject = await of_assets(world, [id])
        for resolution in (*BUCKETED, "raw"):
            found = await report(world, subject, *year, resolution, names=["revenue_tolling", "annual_price_tolling"])
            total = sum(value or 0.0 for value in found["revenue_tolling"].values())
            assert total == pytest.approx(240_000 * 15.5 / 365, abs=CENT), resolution
            assert round(total) == 10_192
            shown = [value for value in found["annual_price_tolling"].values() if value is not None]
            assert shown == pytest.approx([24_000] * len(shown)), resolution
            assert shown

    async def test_in_parallel_adds_up_in_price_as_in_revenue(self, world: World) -> None:
        id, other = await world.virtual_asset(10), await world.virtual_asset(30)
        day = date(2026, 7, 1)
        tolls = [
            Toll(0, "a", utc(day, 0), utc(day, 24), Fraction(120_000)),
            Toll(0, "b", utc(day, 0), utc(day, 24), Fraction(10_000)),
            Toll(1, "c", utc(day, 0), utc(day, 12), Fraction(8_760)),
        ]
        await world.record_facts(tolls, [id, other])
        names = ["revenue_tolling", "annual_price_tolling"]
        for resolution in (*BUCKETED, "raw"):
            alone = await report(
                world, await of_assets(world, [id]), utc(day, 0), utc(day, 24), resolution, names=names
            )
            shown = list(alone["annual_price_tolling"].values())
            assert shown == pytest.approx([130_000] * len(shown)), resolution
            assert sum(v or 0.0 for v in alone["revenue_tolling"].values()) == pytest.approx(130_000 * 10 / 365)
        both = await report(world, await of_assets(world, [id, other]), utc(day, 0), utc(day, 24), "daily", names=names)
        mean = (130_000 * 10 * 24 + 8_760 * 30 * 12) / (10 * 24 + 30 * 12)
        assert both["annual_price_tolling"] == {utc(day, 0): pytest.approx(mean)}

    async def test_within_another_leaves_the_time_of_the_longer_one(self, world: World) -> None:
        id, day = await world.virtual_asset(10), date(2026, 7, 1)
        long, short = (
            Toll(0, name, utc(day, 0), utc(day, hour), Fraction(120_000)) for name, hour in (("b", 24), ("a", 12))
        )
        await world.record_facts([long, short], [id])
        subject, names = await of_assets(world, [id]), ["annual_price_tolling"]
        for resolution in ("daily", "raw"):
            found = await report(world, subject, utc(day, 0), utc(day, 24), resolution, names=names)
            assert found["annual_price_tolling"] == {utc(day, 0): pytest.approx(180_000)}, (
                f"{resolution}: twice the price for half of the time"
            )

    async def test_is_a_point_of_its_own_where_it_starts(self, world: World) -> None:
        id, first, second = await world.virtual_asset(10), date(2026, 7, 1), date(2026, 7, 2)
        tolls = [
            Toll(0, "a", utc(first, 0), utc(first, 24), Fraction(36_500)),
            Toll(0, "b", utc(second, 0), utc(second, 12), Fraction(73_000)),
        ]
        await world.record_facts(tolls, [id])
        subject, names = await of_assets(world, [id]), ["revenue_tolling", "annual_price_tolling"]
        found = await report(world, subject, utc(first, 0), utc(second, 24), "raw", names=names)
        assert found["revenue_tolling"] == {utc(first, 0): pytest.approx(1000), utc(second, 0): pytest.approx(1000)}
        assert found["annual_price_tolling"] == {
            utc(first, 0): pytest.approx(36_500),
            utc(second, 0): pytest.approx(73_000),
        }
