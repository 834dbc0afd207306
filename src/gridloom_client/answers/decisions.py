"""Answers about decisions: forecasts, values, schedules proposed, past days played again."""

from __future__ import annotations

from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from gridloom_client.answers.answered import Answered, Listed, Record


class ForecastPoint(Answered):
    """EUR/MWh of a quarter-hour."""

    time: datetime
    p10: float
    p50: float
    p90: float


class DayAheadForecast(Answered, Listed):
    """`published_at` is None for a forecast that was made for this answer."""

    listed_in: ClassVar = "forecast"

    delivery_day: date
    series: str
    known_until: datetime
    forecast: list[ForecastPoint]
    published_at: datetime | None = None


class PastWindow(Answered):
    """A past window, valued with what was known before it, and what it came to be worth; EUR."""

    start: datetime
    p10: float
    p50: float
    p90: float
    value: float


class Calibration(Answered):
    """How many past windows were valued, and which part of them came between P10 and P90, below and above."""

    windows: int
    coverage: float | None = None
    below: float | None = None
    above: float | None = None
    past_windows: tuple[PastWindow, ...] = ()


class Valuation(Answered):
    """EUR for the whole delivery window; `per_mw_per_year` is the mean per MW and 365 days."""

    p10: float
    p50: float
    p90: float
    mean: float
    calibration: Calibration
    as_of: datetime
    per_mw_per_year: float = msgspec.field(name="perMWPerYear")


class ProposedPower(Answered):
    """kW, positive when it exports."""

    time: datetime
    power: float


class ProposedSchedule(Answered):
    block_id: UUID
    schedule: list[ProposedPower]


class ProposedStateOfCharge(Answered):
    """At the end of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class BasedOn(Answered):
    version: int
    prices_until: datetime | None = None


class ProposedBlock(Answered):
    """A block to be carved out for a balancing product; `value` in EUR."""

    market: str
    start: datetime
    end: datetime
    rated_charge_power: float
    rated_discharge_power: float
    value: float


class StoredEnergyPrice(Answered):
    """EUR/MWh."""

    time: datetime
    value: float


class CyclePrice(Answered):
    """EUR for one more kWh."""

    start: datetime
    value: float


class ShadowPrices(Answered):
    """EUR for one more kW or kWh over the whole window."""

    charge_power: float
    discharge_power: float
    energy_capacity: float
    stored_energy: list[StoredEnergyPrice]
    cycles: list[CyclePrice]
    end_state_of_charge: float


class Optimisation(Answered, Listed):
    """OPTIMAL or TIME_LIMIT; of one that a job makes also QUEUED, RUNNING or FAILED, without the rest."""

    listed_in: ClassVar = "schedule"

    status: str
    id: UUID | None = None
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    schedule: list[ProposedPower] | None = None
    blocks: list[ProposedSchedule] | None = None
    state_of_charge: list[ProposedStateOfCharge] | None = None
    shadow_prices: ShadowPrices | None = None
    proposed_blocks: list[ProposedBlock] | None = None
    based_on: BasedOn | None = None
    problem: Record | None = None


class AssetOptimisation(Answered, Listed):
    listed_in: ClassVar = "schedule"

    virtual_asset_id: UUID
    value: float
    schedule: list[ProposedPower]
    blocks: list[ProposedSchedule]
    state_of_charge: list[ProposedStateOfCharge]
    based_on: BasedOn


class PortfolioOptimisation(Answered):
    """EUR of all assets together."""

    status: str
    value: float
    bound: float
    gap: float
    assets: list[AssetOptimisation]


class MovedPower(Answered):
    time: datetime
    asked: float
    power: float


class Repair(Answered, Listed):
    """kW and kWh; `value` in EUR where prices were known."""

    listed_in: ClassVar = "schedule"

    schedule: list[ProposedPower]
    moved: list[MovedPower]
    moved_energy: float
    end_state_of_charge_percentage: float
    based_on: BasedOn
    value: float | None = None


class BacktestBattery(Answered):
    rated_power: float
    energy_capacity: float
    charge_efficiency: float
    discharge_efficiency: float
    daily_cycle_limit: float | None = None


class Backtest(Answered):
    """EUR; `status` is QUEUED, RUNNING, DONE or FAILED."""

    id: UUID
    status: str
    progress: float
    start: date
    end: date
    series: str
    policy: str
    battery: BacktestBattery
    earned: float
    foresight: float
    created_at: datetime
    share: float | None = None
    failure: str | None = None


class BacktestDay(Answered):
    delivery_day: date
    earned: float
    foresight: float
    charged: float
    discharged: float
    end_state_of_charge_percentage: float
