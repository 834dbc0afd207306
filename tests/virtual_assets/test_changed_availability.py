"""What is told of availability that has changed, and of schedules that were cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.gate_closure import notifications
from gridloom.virtual_assets.gate_closure.notifications import (
    AvailabilityBefore,
    emit_availability_changed,
)
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason

pytestmark = pytest.mark.pure

FIRST = 1_920_000


class TestAnEventOfChangedAvailability:
    """Of the periods 0 to 5 from `FIRST` on, in which two assets had all; now the second lacks something."""

    KEPT, SHORT = (structs.replace(asset_of_five_days(), key=key) for key in (3, 4))
    WINDOW = Window(period_start(FIRST), period_start(FIRST + 6))

    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        short = np.array([0.5, 0.5, 0.75, 0.75, 1.0, 0.25])

        async def load_available_of_each(_db: Any, assets: Any, window: Window) -> Any:
            first, end = period_number(window.start), period_number(window.end)
            less = AvailableFraction(FIRST, short, np.ones(6), np.ones(6)).between(first, end)
            there = {self.KEPT.key: AvailableFraction.full(first, end), self.SHORT.key: less}
            return [(asset, there[asset.key]) for asset in assets]

        async def expected_cuts(_db: Any, asset: Any, _now: Any) -> Any:
            assert asset is self.SHORT
            return [
                Adjustment(FIRST + 20 + n, 900.0 + n, 500.0, AdjustmentReason.AVAILABILITY, 500.0, 500.0)
                for n in range(3)
            ]

        async def record_event(_db: Any, **event: Any) -> None:
            events.append(event)

        for fake in (load_available_of_each, expected_cuts, record_event):
            monkeypatch.setattr(notifications, fake.__name__, fake)
        return events

    async def emit(self, now: int) -> None:
        had = AvailableFraction.full(FIRST, FIRST + 6)
        before = AvailabilityBefore(self.WINDOW, [(self.KEPT, had), (self.SHORT, had)])
        nothing: Any = None
        await emit_availability_changed(nothing, before, period_start(now))

    async def test_goes_to_the_holder_of_the_asset_that_is_affected(self, told: list[dict[str, Any]]) -> None:
        await self.emit(FIRST - 4)
        [event] = told
        assert (event["type"], event["permission"]) == ("virtual-asset.availability-changed", "Read:virtual-assets")
        assert (event["organisation_id"], event["asset_key"]) == (self.SHORT.organisation_id, self.SHORT.key)
        assert event["subject"] == f"virtual-assets/{self.SHORT.id}"
        data = event["data"]
        assert data["virtualAssetID"] == self.SHORT.id
        assert (data["start"], data["end"]) == (format_period(FIRST), format_period(FIRST + 6))
        assert [(one["start"], one["availableChargePower"]) for one in data["periods"]] == [
            (format_period(FIRST), 500),
            (format_period(FIRST + 2), 750),
            (format_period(FIRST + 5), 250),
        ]
        assert data["expectedCuts"][1] == {
            "timestamp": format_period(FIRST + 21),
            "acceptedSchedule": 901,
            "adjustedSchedule": 500,
            "reason": "AVAILABILITY",
        }

    async def test_is_none_of_what_is_over(self, told: list[dict[str, Any]]) -> None:
        await self.emit(FIRST + 6)
        assert told == []
