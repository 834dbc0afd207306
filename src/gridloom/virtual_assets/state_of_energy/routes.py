"""HTTP for the stored energy and the operational series of a virtual asset."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from msgspec import UNSET, UnsetType

from gridloom.kernel.market_time import period_number, period_start
from gridloom.kernel.permission import Permission
from gridloom.market_calendar import Floats
from gridloom.physical_assets.window_query import WindowQuery
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database, repeatable_read
from gridloom.platform.http import JSON, Content, Instant, QueryParameters, Request, ResponseBody, Stream, operation
from gridloom.platform.http.fields import parameter_error, to_json
from gridloom.platform.http.tables import points_json
from gridloom.virtual_assets.asset_lookup import ASSET, TABLES, require_asset, version_as_of
from gridloom.virtual_assets.backing.availability import load_available
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.rules import periods_between, requested_periods
from gridloom.virtual_assets.schedule.projection_input import READ_ACTIVATED, ActivatedEnergy
from gridloom.virtual_assets.schedule.projection_loading import AssetProjection, load_projection, load_projection_as_of
from gridloom.virtual_assets.schedule.views import ScheduleCut
from gridloom.virtual_assets.state_of_energy.operational import CATEGORIES, OperationalInput
from gridloom.virtual_assets.streaming import STREAMED_FROM_PERIODS, period_times, streamed_data, streamed_points, table


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
    """The stored energy now by the platform's clock, in kWh."""

    time: datetime
    energy: float
    state_of_charge_percentage: float
    unexplained_energy: float
    """Energy of settled activations so far beyond what the battery could discharge (above 0) or charge (below 0)."""
    units_energy: str = "kWh"


AsKnownAt = Instant | None


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


TAG = "Virtual assets"


@operation(
    "GET",
    ASSET + "/state-of-charge",
    summary="Read the state of charge",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=list[StateOfCharge],
)
async def read_state_of_charge(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: EnergyQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in percent of the rated energy capacity, from all schedules together.

    `as-of` asks for it by the schedules and settled activations that were known at that instant; capacity is always the
    present one.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        now = await platform_now(db)
        first, end = asset.clip(*requested_periods(query.start, query.end, now))
        trajectory = (await _load_projection(db, asset, now, query.as_of, first, end))[0].trajectory
    percentages = np.clip(100 * trajectory.energy_kwh[:-1] / asset.terms.energy_capacity_kwh, 0.0, 100.0)
    return _answer_series(request, first, "stateOfChargePercentage", percentages)


@operation(
    "GET",
    ASSET + "/state-of-energy/latest",
    summary="Read the stored energy now",
    access=Permission.READ_VIRTUAL_ASSETS,
)
async def read_latest_state_of_energy(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: LatestQuery
) -> LatestStateOfEnergy:
    """Now by the platform's clock; before the asset's life as it starts, after it as it ended.

    `as-of` asks for that of an earlier instant, by what was known then.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        now = await platform_now(db)
        asked = now if query.as_of is None else min(now, query.as_of)
        instant = min(max(asked, asset.terms.window.start), asset.terms.window.end)
        period = min(period_number(instant), asset.end - 1)
        first = period if asset.first_activated is None else min(period, max(asset.first, asset.first_activated))
        projection, _ = await _load_projection(db, asset, now, query.as_of, first, period + 1)
    before_kwh, after_kwh = projection.trajectory.energy_kwh[-2:].tolist()
    passed = (instant - period_start(period)) / timedelta(minutes=15)
    energy_kwh = min(max(before_kwh + passed * (after_kwh - before_kwh), 0.0), asset.terms.energy_capacity_kwh)
    return LatestStateOfEnergy(
        time=instant.replace(microsecond=instant.microsecond // 1000 * 1000),
        energy=energy_kwh,
        state_of_charge_percentage=100 * energy_kwh / asset.terms.energy_capacity_kwh,
        unexplained_energy=float(projection.unexplained_kwh.sum()),
    )


@operation(
    "GET",
    ASSET + "/state-of-energy/projected",
    summary="Read the stored energy to come",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=list[StateOfEnergy],
    columns=4,
    costly_as=TABLES,
)
async def read_projected_state_of_energy(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: EnergyQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in kWh; left out, `start` is now and `end` the end of the asset's life.

    Cuts that are known to come count: of lost availability, of cycle limits, and of what the store then cannot give or
    take. A period that will be cut carries `expectedCut`. `as-of` asks for it as it was known at that instant, which is
    where `start` then is when it is left out.
    """
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        now = await platform_now(db)
        start = query.start or min(now, query.as_of or now)
        end_of_life = max(asset.terms.window.end, start + timedelta(minutes=15))
        first, end = asset.clip(*periods_between(start, query.end or end_of_life))
        projection, _ = await _load_projection(db, asset, now, query.as_of, first, end)
    energy_kwh = np.clip(projection.trajectory.energy_kwh[:-1], 0.0, asset.terms.energy_capacity_kwh)
    if request.accepts == JSON and (projection.cuts or projection.unexplained_kwh.any()):
        return Content(await asyncio.to_thread(_energy_json, first, energy_kwh, projection), JSON)
    return _answer_series(request, first, "energy", energy_kwh)


@operation(
    "GET",
    ASSET + "/operational",
    summary="Read operational series",
    access=Permission.READ_VIRTUAL_ASSETS,
    produces=TABLES,
    response_schema=OperationalView,
    columns=20,
)
async def read_operational(
    request: Request, organisation_id: UUID, virtual_asset_id: UUID, query: OperationalQuery
) -> Stream:
    """Quarter-hour series of what the asset is rated for, has available, can deliver and has cycled.

    `as-of` as for the state of charge: by the schedules and activations that were known then.
    """
    names = tuple(CATEGORIES) if query.categories is None else tuple(dict.fromkeys(query.categories))
    unknown = [name for name in names if name not in CATEGORIES]
    if unknown:
        raise parameter_error("query", "categories", f"{', '.join(unknown)} unknown; there are {', '.join(CATEGORIES)}")
    async with repeatable_read(request.pool) as db:
        asset = await require_asset(db, request.caller, organisation_id, virtual_asset_id)
        now = await platform_now(db)
        first, end = asset.clip(*requested_periods(query.start, query.end, now))
        projection, activated = await _load_projection(db, asset, now, query.as_of, first, end)
        available = await load_available(db, asset, first, end)
        if activated is None:
            activated = await READ_ACTIVATED.get()(db, asset.key, first, end)
    inputs = OperationalInput(asset.terms, projection.trajectory, available, activated)
    series = {name: CATEGORIES[name].values(inputs) for name in names}
    if request.accepts != JSON:
        return table(request.accepts, first, series, "operational")
    meta_data = [
        CategoryMetaData(
            data_point_name=name,
            unit=CATEGORIES[name].unit,
            resolution="15-minute",
            description=CATEGORIES[name].description,
        )
        for name in names
    ]
    return streamed_data(meta_data, first, series)


async def _load_projection(
    db: Database, asset: VirtualAsset, now: datetime, as_of: datetime | None, first: int, end: int
) -> tuple[AssetProjection, ActivatedEnergy | None]:
    """The projection and the activated energy, now or as of an instant."""
    version = None if as_of is None or as_of >= now else await version_as_of(db, asset, as_of)
    if as_of is None or version is None:
        return await load_projection(db, asset, now, first, end), None
    return await load_projection_as_of(db, asset, version, as_of, first, end)


def _energy_json(first: int, energy_kwh: Floats, projection: AssetProjection) -> bytes:
    """The points of a series, some of them with further members."""
    points = points_json(period_times(first, first + len(energy_kwh)), energy_kwh, name="energy")[2:-2].split(b"},{")
    for cut in projection.cuts:
        view = ScheduleCut(accepted_schedule=cut.accepted_kw, adjusted_schedule=cut.adjusted_kw, reason=cut.reason)
        points[cut.period - first] += b',"expectedCut":' + to_json(view)
    for index in np.flatnonzero(projection.unexplained_kwh).tolist():
        points[index] += b',"unexplainedEnergy":' + to_json(float(projection.unexplained_kwh[index]))
    return b"[{" + b"},{".join(points) + b"}]"


def _answer_series(request: Request, first: int, name: str, values: Floats) -> Content | Stream:
    """One series, as JSON points or as a table."""
    if request.accepts != JSON:
        return table(request.accepts, first, {name: values}, "energy")
    if len(values) > STREAMED_FROM_PERIODS:
        return streamed_points(first, values, name)
    return Content(points_json(period_times(first, first + len(values)), values, name=name), JSON)
