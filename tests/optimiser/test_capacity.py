"""Balancing capacity beside a schedule: which blocks can still be offered, and what they are expected to pay."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest

from gridloom.ancillary.gates import TenderGates
from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.market_time import MARKET_ZONE, block_window, market_day_window, period_number
from gridloom.optimiser.schedules.capacity import ReserveProducts, expect_price
from gridloom.optimiser.solving.reserves import ReserveSlot
from gridloom.virtual_assets.model import Market

pytestmark = pytest.mark.pure


def offered_markets(now: str, day: str) -> set[Market]:
    """The markets of all blocks that can be offered of a day, at an instant of the wall clock."""
    window = market_day_window(date.fromisoformat(day))
    local = datetime.fromisoformat(now).replace(tzinfo=MARKET_ZONE)
    products = ReserveProducts((Market.FCR, Market.AFRR_NEG), TenderGates(), local, ReserveMinutes())
    return {market for market, _ in products.open_offers(period_number(window.start), period_number(window.end))}


class TestAnOffer:
    @pytest.mark.parametrize("day", ["2026-06-10", "2026-03-30", "2026-10-26"])
    def test_is_open_until_the_gate_of_its_market_the_day_before(self, day: str) -> None:
        """08:00 for FCR, 09:00 for aFRR; by the wall clock also where the clock changes the day before."""
        before = date.fromisoformat(day) - timedelta(days=1)
        assert offered_markets(f"{before}T07:59:59", day) == {Market.FCR, Market.AFRR_NEG}
        assert offered_markets(f"{before}T08:00", day) == {Market.AFRR_NEG}
        assert offered_markets(f"{before}T08:59:59", day) == {Market.AFRR_NEG}
        assert offered_markets(f"{before}T09:00", day) == set()


class TestAnExpectedPrice:
    @pytest.mark.parametrize("day", ["2026-06-10", "2026-03-30", "2026-10-26"])
    @pytest.mark.parametrize("hour", [0, 4, 20])
    def test_is_the_mean_of_that_block_in_the_last_seven_days(self, day: str, hour: int) -> None:
        """By the wall clock, also on the first day after a clock change."""
        wanted = date.fromisoformat(day)
        published = {
            block_window(wanted - timedelta(days=back), first, first + 4).start: float(back if first == hour else 1000)
            for back in range(1, 10)
            for first in range(0, 24, 4)
        }
        assert expect_price(published, block_window(wanted, hour, hour + 4)) == 4.0

    def test_is_the_published_one_where_there_is_one(self) -> None:
        block = block_window(date(2026, 6, 10), 4, 8)
        published = {block.start - timedelta(days=1): 3.0, block.start: 7.0}
        assert expect_price(published, block) == 7.0
        assert expect_price({block.end: 7.0}, block) is None


class TestTheSlots:
    def test_become_blocks_where_they_got_some_power(self) -> None:
        day = date(2026, 6, 10)
        offers = tuple(
            (market, block_window(day, hour, hour + 4))
            for market, hour in ((Market.FCR, 0), (Market.AFRR_POS, 4), (Market.AFRR_NEG, 8), (Market.FCR, 12))
        )
        slots = tuple(
            ReserveSlot(0, 16, 0.5, market is not Market.AFRR_NEG, market is not Market.AFRR_POS, 1.0, 900.0)
            for market, _ in offers
        )
        products = ReserveProducts((), TenderGates(), offers[0][1].start, ReserveMinutes(), slots, offers)
        shown = products.proposed(np.array([100.0, 200.0, 300.0, 0.0]))
        assert [
            (one.market, one.start, one.end, one.rated_charge_power, one.rated_discharge_power, one.value)
            for one in shown
        ] == [
            (market, block.start, block.end, *powers)
            for (market, block), powers in zip(
                offers, ((100.0, 100.0, 50.0), (0.0, 200.0, 100.0), (300.0, 0.0, 150.0)), strict=False
            )
        ]
