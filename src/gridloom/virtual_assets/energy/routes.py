"""HTTP for what follows from the schedules of a virtual asset: stored energy and operational series."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from gridloom.database.pool import snapshot
from gridloom.edge import JSON, Call, Content, Stream, operation
from gridloom.edge.tabular import points_json
from gridloom.edge.wire import parameter_refused
from gridloom.virtual_assets import store
from gridloom.virtual_assets.asset_lookup import ASSET, TABLES, TAG, known_asset
from gridloom.virtual_assets.backing.availability import load_available
from gridloom.virtual_assets.energy.activations import READ_ACTIVATED
from gridloom.virtual_assets.energy.operational import CATEGORIES, Circumstances, operational_series
from gridloom.virtual_assets.energy.wire import (
    CategoryMetaData,
    LatestStateOfEnergy,
    OperationalQuery,
    OperationalView,
    StateOfCharge,
    StateOfEnergy,
)
from gridloom.virtual_assets.grid import Floats, period_number, period_start
from gridloom.virtual_assets.schedule.stored_energy import load_course
from gridloom.virtual_assets.streaming import STREAMED_FROM_PERIODS, period_times, streamed_data, streamed_points, table
from gridloom.virtual_assets.windows import asked_periods, periods_between
from gridloom.virtual_assets.wire import WindowQuery


@operation(
    "GET",
    ASSET + "/state-of-charge",
    summary="Read the state of charge",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[StateOfCharge],
)
async def read_state_of_charge(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: WindowQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in percent of the rated energy capacity, from all schedules together."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*asked_periods(query.start, query.end, await store.platform_now(db)))
        course = await load_course(db, asset, first, end)
    percentages = 100 * course.energy_kwh[:-1] / asset.terms.energy_capacity_kwh
    return _series(call, first, "stateOfChargePercentage", percentages)


@operation(
    "GET",
    ASSET + "/state-of-energy/latest",
    summary="Read the stored energy now",
    tag=TAG,
    access="Read:virtual-assets",
)
async def read_latest_state_of_energy(call: Call, organisation_id: UUID, virtual_asset_id: UUID) -> LatestStateOfEnergy:
    """At this moment of the platform's clock; before the asset's life as it starts, after it as it ended."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        now = await store.platform_now(db)
        moment = min(max(now, asset.terms.window.start), asset.terms.window.end)
        period = min(period_number(moment), asset.end - 1)
        course = await load_course(db, asset, period, period + 1)
    passed = (moment - period_start(period)) / timedelta(minutes=15)
    energy_kwh = float(course.energy_kwh[0] + passed * (course.energy_kwh[1] - course.energy_kwh[0]))
    return LatestStateOfEnergy(
        time=moment.replace(microsecond=moment.microsecond // 1000 * 1000),
        energy=energy_kwh,
        state_of_charge_percentage=100 * energy_kwh / asset.terms.energy_capacity_kwh,
    )


@operation(
    "GET",
    ASSET + "/state-of-energy/projected",
    summary="Read the stored energy to come",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=list[StateOfEnergy],
)
async def read_projected_state_of_energy(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: WindowQuery
) -> Content | Stream:
    """At the start of each quarter-hour, in kWh; left out, `start` is now and `end` the end of the asset's life."""
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        start = query.start or await store.platform_now(db)
        end_of_life = max(asset.terms.window.end, start + timedelta(minutes=15))
        first, end = asset.clip(*periods_between(start, query.end or end_of_life))
        course = await load_course(db, asset, first, end)
    return _series(call, first, "energy", course.energy_kwh[:-1])


@operation(
    "GET",
    ASSET + "/operational",
    summary="Read operational series",
    tag=TAG,
    access="Read:virtual-assets",
    produces=TABLES,
    answers=OperationalView,
)
async def read_operational(
    call: Call, organisation_id: UUID, virtual_asset_id: UUID, query: OperationalQuery
) -> Stream:
    """Quarter-hour series of what the asset is rated for, has available, can deliver and has cycled."""
    names = tuple(CATEGORIES) if query.categories is None else tuple(dict.fromkeys(query.categories))
    unknown = [name for name in names if name not in CATEGORIES]
    if unknown:
        raise parameter_refused(
            "query", "categories", f"{', '.join(unknown)} unknown; there are {', '.join(CATEGORIES)}"
        )
    async with snapshot(call.pool) as db:
        asset = await known_asset(db, call.caller, organisation_id, virtual_asset_id)
        first, end = asset.clip(*asked_periods(query.start, query.end, await store.platform_now(db)))
        course = await load_course(db, asset, first, end)
        available = await load_available(db, asset, first, end)
        activated = await READ_ACTIVATED.get()(db, asset.key, first, end)
    series = operational_series(Circumstances(asset.terms, course, available, activated), names)
    if call.accepts != JSON:
        return table(call.accepts, first, series, "operational")
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


def _series(call: Call, first: int, name: str, values: Floats) -> Content | Stream:
    """One series, as JSON points or as a table."""
    if call.accepts != JSON:
        return table(call.accepts, first, {name: values}, "energy")
    if len(values) > STREAMED_FROM_PERIODS:
        return streamed_points(first, values, name)
    return Content(points_json(period_times(first, first + len(values)), values, name=name), JSON)
