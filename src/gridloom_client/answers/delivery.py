"""Answers about what batteries must do and have done: kW and kWh; runs in MWh."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from gridloom_client.answers.answered import Answered, Listed


class DispatchPart(Answered):
    """`kind` is VIRTUAL, OWN, FCR, AFRR_POS or AFRR_NEG."""

    kind: str
    power: float
    virtual_asset_id: UUID | None = None


class DispatchPoint(Answered):
    time: datetime
    power: float
    parts: tuple[DispatchPart, ...]
    state_of_charge_percentage: float


class Dispatch(Answered, Listed):
    listed_in: ClassVar = "dispatch"

    physical_asset_id: UUID
    version: int
    dispatch: tuple[DispatchPoint, ...]


class DeliveryRun(Answered):
    id: UUID
    time: datetime
    zones: tuple[str, ...]
    start: datetime
    end: datetime
    final_until: datetime
    virtual_assets: int
    batteries: int
    scheduled_export: float
    scheduled_import: float
    netted: float
    spread: float
    unserved: float
    forced_periods: int
    changed_dispatches: int
    method: str
    solver_seconds: float


class ZoneQuarter(Answered):
    """kW; `dispatched` and `unserved` are positive for exports."""

    time: datetime
    scheduled_export: float
    scheduled_import: float
    netted: float
    dispatched: float
    unserved: float


class DeliveryZone(Answered):
    delivery_zone: str
    final_until: datetime
    quarters: tuple[ZoneQuarter, ...]


class PositionPoint(Answered):
    """MWh; `open` is positive where something was sold and is not delivered; prices in EUR/MWh."""

    time: datetime
    bought: float
    sold: float
    scheduled: float
    netted: float
    activated: float
    delivered: float
    open: float
    imbalance_price: float | None = None
    imbalance_cost: float | None = None


class PerformancePoint(Answered):
    """kW, kWh and per cent; what was not measured is None, and counts as dispatched in the deviations."""

    time: datetime
    dispatched_power: float
    planned_state_of_charge_percentage: float
    measured_share: float = 0.0
    measured_power: float | None = None
    reserve_response: float | None = None
    power_deviation: float | None = None
    energy_deviation: float | None = None
    measured_state_of_charge_percentage: float | None = None
    state_of_charge_drift: float | None = None
    availability_delivered: float | None = None


class PerformanceSummary(Answered):
    measured_periods: int
    asked_energy: float
    delivered_energy: float
    energy_deviation: float
    assumed_energy: float = 0.0
    measured_share: float | None = None
    availability_delivered: float | None = None
    state_of_charge_drift: float | None = None


class DeliveryPerformance(Answered, Listed):
    listed_in: ClassVar = "performance"

    physical_asset_id: UUID
    start: datetime
    end: datetime
    summary: PerformanceSummary
    performance: tuple[PerformancePoint, ...]
