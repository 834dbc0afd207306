"""A back-test, and one day of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from gridloom.kernel.market_stages import Stage
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import Policy


@dataclass(frozen=True, slots=True)
class StageSum:
    """The earnings of a stage on so many days; on the others it was held."""

    stage: Stage
    earned_eur: float
    days: int


@dataclass(frozen=True, slots=True)
class Backtest:
    """The market days from `start` up to but not `end`; its figures grow while it runs."""

    id: UUID
    organisation_id: UUID
    asked_at: datetime
    status: str
    start: date
    end: date
    series: str
    policy: Policy
    battery: BatterySpec
    earned_eur: float
    foresight_eur: float
    days_done: int
    failure: str | None
    stages: tuple[Stage, ...] = ()
    stage_sums: tuple[StageSum, ...] = ()

    @property
    def is_staged(self) -> bool:
        """Whether it is replayed stage by stage; a yearly budget of cycles is too."""
        return bool(self.stages) or self.battery.annual_cycle_limit is not None

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    @property
    def progress(self) -> float:
        return self.days_done / self.days

    @property
    def share(self) -> float | None:
        """The fraction of foresight's earnings that the policy earned."""
        return self.earned_eur / self.foresight_eur if self.foresight_eur > 0 else None


@dataclass(frozen=True, slots=True)
class BacktestDay:
    day: date
    earned_eur: float
    foresight_eur: float
    charged_kwh: float
    discharged_kwh: float
    end_kwh: float
    foresight_end_kwh: float
    foresight_discharged_kwh: float = 0.0
    fcr_eur: float | None = None
    afrr_eur: float | None = None
    day_ahead_eur: float | None = None
    ida1_eur: float | None = None
    ida2_eur: float | None = None
    ida3_eur: float | None = None
