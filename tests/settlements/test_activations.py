"""Settled activations as the energy of their asset knows them."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from tests.revenue.reference import AFRREnergy, utc
from tests.revenue.world import World

from gridloom.kernel.market_time import period_number
from gridloom.settlements.activations import read_activated


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
