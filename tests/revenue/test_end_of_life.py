"""What a virtual asset ends its life off target is paid for, between its holder and the owners."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.market_calendar import market_day_periods
from gridloom.revenue.statement import loading
from gridloom.revenue.statement.loading import end_of_life_cents

pytestmark = pytest.mark.pure

FIRST, END = market_day_periods(date(2026, 6, 1))
NOTHING: Any = None


def asset_ending_with(end_kwh: float, *, is_activated: bool = False) -> Any:
    """Of 2 MWh, which is to end half full, give or take 1 %."""
    terms = SimpleNamespace(final_soc_target=0.5, final_soc_tolerance=0.01, energy_capacity_kwh=2000.0)
    return SimpleNamespace(
        key=1, end=END, end_kwh=end_kwh, terms=terms, first_activated=FIRST if is_activated else None
    )


def scope_of(prices_eur_mwh: np.ndarray, *, until: int = END) -> Any:
    """A statement of the last market day, with edges around its last quarter-hour."""
    edges = np.array([FIRST, until - 1, until])
    return SimpleNamespace(
        as_of=None, now=None, first=FIRST, end=END, edges=edges, imbalance_price_eur_mwh=prices_eur_mwh
    )


def prices_around(mean_eur_mwh: float) -> np.ndarray:
    return mean_eur_mwh + np.resize([-30.0, 30.0], END - FIRST)


@pytest.fixture(autouse=True)
def is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All gates have closed."""
    monkeypatch.setattr(loading, "first_cuttable_period", lambda asset, _: asset.end)


class TestTheEndOfALife:
    @pytest.mark.parametrize(("end_kwh", "is_paid"), [(1020.0, False), (980.0, False), (1020.5, True), (979.5, True)])
    async def test_is_tolerated_to_a_hundredth_of_the_capacity(self, end_kwh: float, is_paid: bool) -> None:
        found = await end_of_life_cents(NOTHING, scope_of(prices_around(50.0)), asset_ending_with(end_kwh))
        assert (found is not None) is is_paid

    async def test_leaves_what_was_activated_before_it_and_the_last_quarter_hour_with_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where activations have moved energy, the schedules alone do not say what is left."""

        async def load_projection(db: Any, asset: Any, now: Any, first: int, end: int) -> Any:
            energy_kwh = np.where(np.arange(first, end + 1) < END, 0.0, 1200.0)
            return SimpleNamespace(trajectory=SimpleNamespace(energy_kwh=energy_kwh))

        monkeypatch.setattr(loading, "load_projection", load_projection)
        asset = asset_ending_with(1000.0, is_activated=True)
        found = await end_of_life_cents(NOTHING, scope_of(prices_around(50.0)), asset)
        assert found is not None
        assert found.tolist() == [0, 0, 1000]
