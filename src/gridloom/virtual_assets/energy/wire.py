"""Stored energy and operational series as they cross the wire."""

from __future__ import annotations

from datetime import datetime

from gridloom.edge import Instant, QueryParameters, View


class StateOfCharge(View):
    """At the start of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class StateOfEnergy(View):
    """At the start of the quarter-hour, in kWh."""

    time: datetime
    energy: float


class LatestStateOfEnergy(View):
    """The stored energy at this moment of the platform's clock, in kWh."""

    time: datetime
    energy: float
    state_of_charge_percentage: float
    units_energy: str = "kWh"


class OperationalQuery(QueryParameters):
    """Left out: all categories, from 24 hours before now to 48 hours after."""

    categories: tuple[str, ...] | None = None
    start: Instant | None = None
    end: Instant | None = None


class CategoryMetaData(View):
    data_point_name: str
    unit: str
    resolution: str
    description: str


class DataPoint(View):
    time: datetime
    value: float | None


class OperationalView(View):
    """Quarter-hour series by category."""

    meta_data: list[CategoryMetaData]
    data: dict[str, list[DataPoint]]
