"""Which stretches of an asset's schedule ask for more than will be available."""

from __future__ import annotations

from gridloom.database.pool import Database
from gridloom.kernel.instant import written
from gridloom.kernel.market_time import PERIOD
from gridloom.kernel.window import Window
from gridloom.physical_assets.availability import AvailabilitySeries
from gridloom.physical_assets.conflicts import MOST_CONFLICTS, Conflict, ConflictKind, finds_conflicts
from gridloom.physical_assets.schedule.store import Excess, find_excesses

MOST_PERIODS = 50_000


@finds_conflicts(
    where="from physical_schedule where asset_key = $1 and period >= $2 and period < $3 order by asset_key, period",
    last="select max(period) + interval '15 minutes' from physical_schedule where asset_key = $1",
)
async def schedule_conflicts(
    db: Database, asset_key: int, window: Window, series: AvailabilitySeries
) -> list[Conflict]:
    excesses = await find_excesses(db, asset_key, series.runs(), MOST_PERIODS)
    return [_conflict(stretch) for stretch in stretches(excesses)[:MOST_CONFLICTS]]


def stretches(excesses: list[Excess]) -> list[list[Excess]]:
    """Consecutive periods together."""
    found: list[list[Excess]] = []
    for excess in excesses:
        if found and found[-1][-1].period + PERIOD == excess.period:
            found[-1].append(excess)
        else:
            found.append([excess])
    return found


def _conflict(stretch: list[Excess]) -> Conflict:
    worst = max(stretch, key=lambda excess: abs(excess.power_kw) - excess.available_kw)
    start, end = stretch[0].period, stretch[-1].period + PERIOD
    return Conflict(
        kind=ConflictKind.SCHEDULE,
        start=start,
        end=end,
        power=worst.power_kw,
        available=worst.available_kw,
        detail=(
            f"The schedule asks for {worst.power_kw:g} kW at {written(worst.period)}, "
            f"where {worst.available_kw:g} kW are available."
        ),
    )
