"""What a virtual asset ends its life off target is paid for, between its holder and the owners."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.kernel.market_time import period_start
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

    async def test_waits_for_the_last_of_the_prices(self) -> None:
        prices_eur_mwh = prices_around(50.0)
        prices_eur_mwh[-1] = np.nan
        assert await end_of_life_cents(NOTHING, scope_of(prices_eur_mwh), asset_ending_with(1200.0)) is None

    @pytest.mark.parametrize("as_of", [None, period_start(END + 96)])
    async def test_is_paid_at_prices_as_of_the_instant_also_in_a_statement_of_later_days(
        self, monkeypatch: pytest.MonkeyPatch, as_of: datetime | None
    ) -> None:
        """Which do not have the prices of its last day."""
        asked: list[Any] = []

        async def read_period_prices(db: Any, *of: Any) -> np.ndarray:
            asked.append(of)
            return prices_around(50.0)

        async def load_end_kwh(db: Any, scope: Any, asset: Any) -> float:
            return float(asset.end_kwh)

        monkeypatch.setattr(loading, "read_period_prices", read_period_prices)
        monkeypatch.setattr(loading, "_load_end_kwh", load_end_kwh)
        scope = SimpleNamespace(
            as_of=as_of, first=END, end=END + 96, edges=np.array([END, END + 96]), imbalance_price_eur_mwh=NOTHING
        )
        later: Any = scope
        found = await end_of_life_cents(NOTHING, later, asset_ending_with(1200.0))
        assert found is not None
        assert found.tolist() == [1000, 1000], "it had come in before"
        assert asked == [("REBAP_DE", FIRST, END, as_of)]

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

    async def test_was_known_as_of_its_last_instant_and_not_before(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def version_at(db: Any, key: int, instant: datetime) -> int:
            return 3

        async def load_projection_as_of(db: Any, asset: Any, version: int, *arguments: Any) -> Any:
            return SimpleNamespace(trajectory=SimpleNamespace(energy_kwh=np.array([0.0, 1200.0]))), None

        monkeypatch.setattr(loading, "version_at", version_at)
        monkeypatch.setattr(loading, "load_projection_as_of", load_projection_as_of)
        shown = []
        for instant in (period_start(END) - timedelta(milliseconds=1), period_start(END)):
            scope = scope_of(prices_around(50.0))
            scope.as_of = instant
            found = await end_of_life_cents(NOTHING, scope, asset_ending_with(1000.0))
            shown.append(None if found is None else found.tolist())
        assert shown == [None, [0, 0, 1000]]
