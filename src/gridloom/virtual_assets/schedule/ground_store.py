"""All that a change of schedules is judged by, in one round trip behind the asset's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.capacity.rules import Standing
from gridloom.capacity.store import standing_of_rows
from gridloom.database.pool import Database
from gridloom.database.statement import Statement
from gridloom.kernel.market_time import period_start
from gridloom.market_calendar import first_period
from gridloom.virtual_assets.backing.availability import Availability, available_of
from gridloom.virtual_assets.blocks.store import block_of_row
from gridloom.virtual_assets.model import Block, LockedAsset, Market
from gridloom.virtual_assets.schedule.store import DayPowers, summaries_of_rows
from gridloom.virtual_assets.schedule.trajectory import DaySummaries


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What stands of an asset, on some days at least, and what stands of the batteries behind it.

    `now` is the platform's clock behind the lock.
    """

    now: datetime
    blocks: Sequence[Block]
    powers: DayPowers
    summaries: DaySummaries
    batteries: Mapping[int, Standing]

    @property
    def has_reserves(self) -> bool:
        """Whether blocks of balancing capacity stand on the asset, which narrow the bounds of its energy."""
        return any(block.market is not Market.WHOLESALE for block in self.blocks)

    def available(self, asset: LockedAsset, first: int) -> Availability:
        """From the period `first` on, which lies behind all that is judged for ever, to the end of the asset's life."""
        return available_of(asset.promises, self.batteries, first, asset.end)


_GROUND = Statement("""
select platform_now() as now,
  array(select b from virtual_block b where b.asset_key = :asset_key and b.until_version is null
        order by b.first_period, b.lane) as blocks,
  array(select s from virtual_schedule s where s.asset_key = :asset_key and s.day = any(:days::int[])) as days,
  array(select e from virtual_energy e where e.asset_key = :asset_key) as spans,
  array(select t from battery_standing t
        where t.asset_key = any(:batteries::int[])
          and (t.starts_at is null or t.starts_at < :end_at) and (t.ends_at is null or t.ends_at > :start_at)
          and (t.kind is null or t.end_period > :first_period and t.first_period < :end_period and t.is_firm)
  ) as standing
""")


async def read_ground(db: Database, asset: LockedAsset, days: Sequence[int]) -> Ground:
    """With the schedules of these days."""
    first = max(asset.first, asset.judged_until or 0)
    if days:
        first = max(asset.first, min(first, first_period(days[0])))
    batteries = [promise.physical_asset_key for promise in asset.promises]
    row = await _GROUND.fetchrow(
        db,
        asset_key=asset.key,
        days=days,
        batteries=batteries,
        start_at=period_start(first),
        end_at=period_start(asset.end),
        first_period=first,
        end_period=asset.end,
    )
    powers: DayPowers = {}
    for day in row["days"]:
        powers.setdefault(day["day"], {})[day["lane"]] = np.array(day["power_kw"])
    return Ground(
        now=row["now"],
        blocks=[block_of_row(block) for block in row["blocks"]],
        powers=powers,
        summaries=summaries_of_rows(asset, row["spans"]),
        batteries=standing_of_rows(batteries, row["standing"]),
    )
