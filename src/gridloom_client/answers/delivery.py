"""Answers about what batteries must do and have done: kW and kWh; runs in MWh."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from gridloom_client.answers.answered import Answered


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


class Dispatch(Answered):
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
