"""Settled activations of virtual assets in PostgreSQL, as they move the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gridloom.database.pool import Database
from gridloom.market_calendar import PERIODS_PER_DAY, Floats, first_period_of_utc_day, utc_days_of
from gridloom.virtual_assets.model import LockedAssetKey, VirtualAsset


async def read_activated_kwh(db: Database, asset: VirtualAsset, first: int, end: int) -> Floats | None:
    """What settled activations add to the store in each of these periods, below zero what they take; None for nothing.

    Grid-side volumes: upward ÷ η_d, downward × η_c.
    """
    if asset.first_activated is None or asset.first_activated >= end or first >= end:
        return None
    days = utc_days_of(first, end)
    rows = await db.fetch(
        "select day, up_kwh, down_kwh from virtual_activation where asset_key = $1 and day >= $2 and day < $3",
        asset.key,
        days.start,
        days.stop,
    )
    if not rows:
        return None
    changes_kwh = np.zeros((len(days), PERIODS_PER_DAY))
    efficiency = asset.terms.efficiency
    for row in rows:
        up_kwh, down_kwh = np.array(row["up_kwh"]), np.array(row["down_kwh"])
        changes_kwh[row["day"] - days.start] = down_kwh * efficiency.charge - up_kwh / efficiency.discharge
    offset = first - first_period_of_utc_day(days.start)
    return changes_kwh.ravel()[offset : offset + end - first]


async def write_activations(db: Database, key: int, days: Mapping[int, tuple[Floats, Floats]]) -> None:
    """What these days have activated upward and downward, in kWh a period, in the place of what was known before."""
    await db.execute(
        """
        insert into virtual_activation as known (asset_key, day, up_kwh, down_kwh)
        select $1, d.day, ($3::float8[])[(d.place - 1) * 96 + 1 : d.place * 96],
               ($4::float8[])[(d.place - 1) * 96 + 1 : d.place * 96]
        from unnest($2::int[]) with ordinality d(day, place)
        on conflict (asset_key, day) do update set up_kwh = excluded.up_kwh, down_kwh = excluded.down_kwh
        """,
        key,
        list(days),
        _join_days([up_kwh for up_kwh, _ in days.values()]),
        _join_days([down_kwh for _, down_kwh in days.values()]),
    )


def _join_days(days: Sequence[Floats]) -> list[float]:
    joined: list[float] = np.concatenate(days).tolist()
    return joined


async def set_first_activated(db: Database, key: int, first_period: int) -> LockedAssetKey | None:
    """Remember from when on activations are known; the asset's row, held. None where it is no virtual asset."""
    known = await db.fetchval(
        """
        update virtual_asset
        set first_activated = least(coalesce(first_activated, $2), $2), revision = revision + 1
        where asset_key = $1 returning asset_key
        """,
        key,
        first_period,
    )
    return None if known is None else LockedAssetKey(known)
