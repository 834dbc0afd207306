"""What traders offer of the batteries they hold for a fortnight as balancing capacity, and what it earns them."""

from __future__ import annotations

from datetime import date

import pytest

from gridloom.kernel.balancing import Direction
from gridloom.kernel.market_stages import Stage
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.participants.reserve_offers import choose_offers, earn_reserves, restoring_eur_mwh
from gridloom.sandbox.simulator.participants.strategies import STRATEGIES
from gridloom.sandbox.simulator.scenario import VIRTUAL_EFFICIENCY, ZONES
from gridloom.sandbox.simulator.state import HeldReserve

pytestmark = pytest.mark.pure

DAY, MARKET = date(2026, 11, 12), MarketData(lambda _: 1)


class TestOffers:
    @pytest.mark.parametrize(
        ("stored", "upward_mw", "downward_mw"),
        [(0.5, 30, 30), (0.35, 30, 30), (0.25, 20, 30), (0.85, 30, 10), (0.04, 0, 30), (1.0, 30, 0)],
    )
    def test_are_no_more_than_what_is_stored_serves_where_two_blocks_meet(
        self, stored: float, upward_mw: int, downward_mw: int
    ):
        """Of 100 MW that store two hours, with a twentieth of the store to spare."""
        offers = choose_offers(MARKET, STRATEGIES["hanse"], DAY, 100.0, Stage.AFRR, stored)
        largest = {"POS": 0, "NEG": 0}
        for one in offers:
            largest[one.product[:3]] = max(largest[one.product[:3]], one.capacity_mw)
        assert largest == {"POS": upward_mw, "NEG": downward_mw}

    def test_are_made_by_everyone_who_holds_batteries_for_a_fortnight(self):
        for terms in ZONES.values():
            strategy = STRATEGIES[terms.toll_holder]
            assert len({one.start_hour for one in strategy.reserves}) == 6, terms.toll_holder


class TestEarnings:
    def test_leave_out_what_it_costs_to_have_called_energy_in_store_again(self):
        called, paid = MARKET.activation(DAY, Direction.POS), MARKET.activation_prices(DAY, Direction.POS)
        assert called.any()
        bought_back = called.sum() / 4 * float(MARKET.day_ahead(DAY).mean()) / VIRTUAL_EFFICIENCY**2
        held = [HeldReserve(f"POS_{hour:02}_{hour + 4:02}", 1, 10.0) for hour in range(0, 24, 4)]
        assert earn_reserves(MARKET, DAY, held) == pytest.approx(24 * 10.0 + float(called @ paid) / 4 - bought_back)

    def test_count_stored_energy_as_what_it_brings_later(self):
        mean = float(MARKET.day_ahead(DAY).mean())
        assert restoring_eur_mwh(MARKET, DAY, Direction.NEG) == pytest.approx(mean * VIRTUAL_EFFICIENCY**2)
