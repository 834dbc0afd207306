"""What is told of availability that has changed, and of schedules that were cut."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from msgspec import structs
from tests.virtual_assets.test_draft import asset_of_five_days

from gridloom.kernel.ids import PhysicalAssetID
from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.window import Window
from gridloom.market_calendar import format_period
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.gate_closure import notifications
from gridloom.virtual_assets.gate_closure.notifications import (
    AvailabilityBefore,
    availability_intervals,
    changed_periods,
    emit_adjusted,
    emit_availability_changed,
)
from gridloom.virtual_assets.model import Adjustment, AdjustmentReason, Promise

pytestmark = pytest.mark.pure

FIRST = 1_920_000


class TestChangedAvailability:
    def test_is_that_of_periods_with_another_fraction_of_power_or_energy(self) -> None:
        before = AvailableFraction.full(FIRST, FIRST + 5)
        after = AvailableFraction(
            FIRST,
            np.array([1.0, 0.5, 1.0, 1.0, 1.0]),
            np.array([1.0, 1.0, 0.5, 1.0, 1.0]),
            np.array([1.0, 1.0, 1.0, 1.0, 0.5]),
        )
        assert changed_periods(before, after).tolist() == [1, 2, 4]
        assert changed_periods(after, before).tolist() == [1, 2, 4], "what comes back changes as well"
        assert changed_periods(after, after).tolist() == []

    def test_is_told_by_runs_of_periods_alike(self) -> None:
        """Of 1000 kW of charging, 800 kW of discharging and 2000 kWh; the period 4 is as it was."""
        asset = asset_of_five_days()
        asset = structs.replace(asset, terms=replace(asset.terms, discharge_kw=800.0))
        has = AvailableFraction(
            FIRST,
            np.array([1.0, 0.5, 0.5, 0.5, 1.0, 0.5, 0.5]),
            np.array([1.0, 0.25, 0.25, 0.25, 1.0, 0.25, 0.25]),
            np.array([1.0, 0.75, 0.75, 0.6, 1.0, 0.6, 0.6]),
        )
        told = availability_intervals(asset, has, np.array([1, 2, 3, 5, 6]))
        assert [tuple(one.values()) for one in told] == [
            (format_period(FIRST + first), format_period(FIRST + end), 500.0, 200.0, energy_kwh)
            for first, end, energy_kwh in ((1, 3, 1500.0), (3, 4, 1200.0), (5, 7, 1200.0))
        ]
        assert list(told[0]) == [
            "start",
            "end",
            "availableChargePower",
            "availableDischargePower",
            "availableEnergyCapacity",
        ]


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
            return [Adjustment(FIRST + 20 + n, 900.0 + n, 500.0, AdjustmentReason.AVAILABILITY) for n in range(3)]

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

    async def test_names_what_is_ahead_and_not_too_much_of_it(
        self, told: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(notifications, "MAX_EVENT_ITEMS", 1)
        await self.emit(FIRST + 3)
        [event] = told
        data = event["data"]
        assert (data["start"], data["end"]) == (format_period(FIRST + 3), format_period(FIRST + 6))
        assert [one["availableChargePower"] for one in data["periods"]] == [750]
        assert [one["acceptedSchedule"] for one in data["expectedCuts"]] == [900]

    async def test_is_none_of_what_is_over(self, told: list[dict[str, Any]]) -> None:
        await self.emit(FIRST + 6)
        assert told == []


class TestCutSchedules:
    async def test_are_told_to_the_holder_and_to_every_battery_by_runs_without_a_gap_and_with_the_same_reason(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events: list[dict[str, Any]] = []
        entries: list[tuple[int, dict[str, Any]]] = []

        async def record_event(_db: Any, **event: Any) -> None:
            events.append(event)

        async def write_system_entry(_db: Any, key: int, **entry: Any) -> None:
            entries.append((key, entry))

        monkeypatch.setattr(notifications, "record_event", record_event)
        monkeypatch.setattr(notifications, "write_system_entry", write_system_entry)
        promises = tuple(
            Promise(key, PhysicalAssetID(UUID(int=key)), share, 1000 * share, 1000 * share, 2000 * share)
            for key, share in ((8, 0.25), (5, 0.75))
        )
        asset = structs.replace(asset_of_five_days(), promises=promises)
        lost, full = AdjustmentReason.AVAILABILITY, AdjustmentReason.STATE_OF_ENERGY_BOUNDARIES
        cuts = [
            Adjustment(FIRST, 400.0, 150.0, lost),
            Adjustment(FIRST + 1, 500.0, 160.0, lost),
            Adjustment(FIRST + 2, -600.0, -70.0, full),
            Adjustment(FIRST + 5, -300.0, -80.0, full),
        ]
        nothing: Any = None
        await emit_adjusted(nothing, asset, cuts)
        runs = [(FIRST, FIRST + 2, lost), (FIRST + 2, FIRST + 3, full), (FIRST + 5, FIRST + 6, full)]
        assert [event["data"] for event in events] == [
            {"start": format_period(first), "end": format_period(end), "reason": reason.value}
            for first, end, reason in runs
        ]
        for event in events:
            assert (event["type"], event["organisation_id"]) == ("schedule.adjusted", asset.organisation_id)
            assert (event["subject"], event["asset_key"]) == (f"virtual-assets/{asset.id}", asset.key)
            assert event["permission"] == "Read:virtual-assets"
        assert [(key, entry["start"], entry["end"]) for key, entry in entries] == [
            (key, period_start(first), period_start(end)) for first, end, _ in runs for key in (8, 5)
        ]
        assert [entry["description"] for _, entry in entries[1:3]] == [
            f"Gate closure cut 2 quarter-hours of the virtual asset {asset.id}, of which this asset backs 75%, the "
            "first from 400 to 150 kW.",
            f"Gate closure cut 1 quarter-hour of the virtual asset {asset.id}, of which this asset backs 25%, the "
            "first from -600 to -70 kW.",
        ]
        assert {(entry["type"], entry["impact"]) for _, entry in entries} == {("ADJUSTMENT", "NEGATIVE")}
