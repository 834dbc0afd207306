"""What the owner of a battery owes, term by term."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gridloom.delivery.dispatch.reading import DispatchSeries
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.measured import MeasuredMean, Measurements
from gridloom.delivery.performance.performance import Performance
from gridloom.delivery.positions.position import OwnerPosition, PeriodFacts, load_owner_position
from gridloom.kernel.market_time import period_start
from gridloom.settlements.period_volumes import PeriodVolumes

pytestmark = pytest.mark.pure

FIRST = 2_000_000
OWN, BACKED = 7, 9
PRICES = [10.0, -20.0, 30.0, 40.0, 50.0]


def facts_of(key: int) -> PeriodFacts:
    """Activations of the battery itself in the first and the fourth quarter-hour, of what it backs in the first."""
    bought, sold, activated, unannounced = {
        OWN: ([0.01, 0, 0, 0, 0.02], [0.04, 0, 0.06, 0, 0], [0.005, 0, 0, 0.003, 0], [0] * 5),
        BACKED: ([9.0] * 5, [8.0] * 5, [0.08, 0, 0, 0, 0], [40.0, 0, 0, 0, 0]),
    }[key]
    volumes = PeriodVolumes(np.array(bought), np.array(sold), np.array(activated))
    return PeriodFacts(volumes, np.array(unannounced), np.array(PRICES))


async def load(monkeypatch: pytest.MonkeyPatch, as_of: datetime | None = None) -> OwnerPosition:
    """Five quarter-hours: two are planned, the others are the owner's."""

    async def read_backed_shares(db: Any, key: int, first: int, end: int) -> list[Any]:
        return [SimpleNamespace(asset_key=BACKED, share=0.25)]

    async def read_own_kw(db: Any, keys: list[int], first: int, end: int) -> list[Any]:
        return [np.array([700.0, 700.0, 200.0, 300.0, -100.0])]

    monkeypatch.setattr(input_store, "read_backed_shares", read_backed_shares)
    monkeypatch.setattr(input_store, "read_own_kw", read_own_kw)
    parts = {
        (PartKind.VIRTUAL, BACKED): np.array([400.0, -200.0, 0, 0, 0]),
        (PartKind.OWN, 0): np.array([100.0, 0, 0, 0, 0]),
        (PartKind.DRIFT, 0): np.array([-20.0, 40.0, 0, 0, 0]),
        (PartKind.FCR, 0): np.array([50.0, 60.0, 0, 0, 0]),
    }
    nothing = np.zeros(5)
    planned = np.array([True, True, False, False, False])
    dispatch = DispatchSeries(1, FIRST, planned, nothing, nothing, nothing, parts)
    measured = MeasuredMean(np.array([500.0, -100.0, 80.0, 300.0, np.nan]), np.array([1.0, 0.4, 0.5, 1.0, 0.0]))
    performance = Performance(dispatch, Measurements(measured, MeasuredMean(nothing, nothing), nothing))
    db: Any = None
    return await load_owner_position(db, OWN, FIRST, FIRST + 5, as_of, performance, facts_of)


class TestAnOwner:
    async def test_owes_what_was_traded_and_promised_less_what_the_battery_did(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of the first quarter-hour: 40 − 10 + 5 kWh, less the 125 that were measured beyond 100 that were dispatched
        for the virtual asset, a quarter of its 80 that were activated and of its 10 that were cut unannounced. Without
        a trade, what the battery does of itself is no affair of the platform's."""
        position = await load(monkeypatch)
        assert position.open_mwh == pytest.approx([0.0325, -0.016, 0.025, 0.0, 0.005])
        assert position.cost_eur == pytest.approx([0.325, 0.32, 0.75, 0.0, 0.25])
        assert position.assumed_mwh == pytest.approx([0.0, 0.024, 0.025, 0.0, 0.025])

    async def test_is_held_to_schedules_only_of_quarter_hours_that_had_begun_then(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for periods, open_mwh in ((4, 0.005), (3, -0.02)):
            position = await load(monkeypatch, period_start(FIRST + periods) + timedelta(minutes=1))
            assert position.open_mwh == pytest.approx([0.0325, -0.016, 0.025, 0.0, open_mwh])
        position = await load(monkeypatch, period_start(FIRST) - timedelta(days=1))
        assert position.open_mwh == pytest.approx([0.0325, -0.016, 0.05, 0.0, -0.02])
