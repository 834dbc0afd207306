"""Stored energy and operational series as they cross the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from gridloom.edge import Instant, QueryParameters, ResponseBody
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.virtual_assets.blocks.wire import ScheduleCut


class StateOfCharge(ResponseBody):
    """At the start of the quarter-hour."""

    time: datetime
    state_of_charge_percentage: float


class StateOfEnergy(ResponseBody, kw_only=True):
    """At the start of the quarter-hour, in kWh.

    `expectedCut` is there where the period's schedule will not fit when its gate closes. `unexplainedEnergy` is there
    where settled activations moved more than the store could give (above 0) or take (below 0).
    """

    time: datetime
    energy: float
    expected_cut: ScheduleCut | UnsetType = UNSET
    unexplained_energy: float | UnsetType = UNSET


class LatestStateOfEnergy(ResponseBody):
    """The stored energy at this moment of the platform's clock, in kWh."""

    time: datetime
    energy: float
    state_of_charge_percentage: float
    unexplained_energy: float
    """What settled activations have moved so far beyond what the store could give (above 0) or take (below 0)."""
    units_energy: str = "kWh"


AsKnownAt = Annotated[Instant | None, Meta(description="As it was known at this moment; left out: now")]


class EnergyQuery(WindowQuery):
    as_of: AsKnownAt = None


class LatestQuery(QueryParameters):
    as_of: AsKnownAt = None


class OperationalQuery(QueryParameters):
    """Left out: all categories, from 24 hours before now to 48 hours after."""

    categories: tuple[str, ...] | None = None
    start: Instant | None = None
    end: Instant | None = None
    as_of: AsKnownAt = None


class CategoryMetaData(ResponseBody):
    data_point_name: str
    unit: str
    resolution: str
    description: str


class DataPoint(ResponseBody):
    time: datetime
    value: float | None


class OperationalView(ResponseBody):
    """Quarter-hour series by category."""

    meta_data: list[CategoryMetaData]
    data: dict[str, list[DataPoint]]
