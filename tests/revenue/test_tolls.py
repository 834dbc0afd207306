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
