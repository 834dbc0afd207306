"""The stored energy that follows from the schedules as they stand."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.database.pool import Database
from gridloom.market_calendar import (
    Floats,
    first_period_of_utc_day,
    utc_day_of,
    utc_days_of,
)
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule import store as schedule_store
from gridloom.virtual_assets.schedule.projection.trajectory import DaySummaries, energy_trajectory_kwh, exported_kwh
from gridloom.virtual_assets.schedule.store import DayPowers, read_day_range, total_power_kw


@dataclass(frozen=True, slots=True, eq=False)
class EnergyTrajectory:
    """The asset's power and stored energy from `first` on: energies have one value more than periods, the end."""

    first: int
    power_kw: Floats
    energy_kwh: Floats
    exported_before_kwh: float
    """What was exported in the asset's life before `first`."""


async def load_trajectory(db: Database, asset: VirtualAsset, first: int, end: int) -> EnergyTrajectory:
    """Reads the days of these periods and the summaries of those before; `first` and `end` lie within the life."""
    days = utc_days_of(first, max(end, first + 1))
    powers = await read_day_range(db, asset.key, days)
    summaries = await schedule_store.read_summaries(db, asset)
    return trajectory_of(asset, summaries, powers, first, end)


def trajectory_of(
    asset: VirtualAsset, summaries: DaySummaries, powers: DayPowers, first: int, end: int
) -> EnergyTrajectory:
    place = min(utc_day_of(first) - asset.first_day, len(asset.days))
    day_start = first_period_of_utc_day(asset.first_day + place)
    power_kw = total_power_kw(powers, day_start, end)
    energy_kwh = energy_trajectory_kwh(
        float(summaries.day_starts_kwh(asset.initial_kwh)[place]), power_kw, asset.terms.efficiency
    )
    skipped = first - day_start
    return EnergyTrajectory(
        first,
        power_kw[skipped:],
        energy_kwh[skipped:],
        float(summaries.exported_kwh[:place].sum() + exported_kwh(power_kw[:skipped]).sum()),
    )
