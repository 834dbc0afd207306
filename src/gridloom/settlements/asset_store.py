"""Capabilities of the assets that settlements name, from PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

import numpy as np

from gridloom.kernel.units import KW_PER_MW
from gridloom.platform.database.pool import Database
from gridloom.settlements.capability_checks import AssetCapability


async def read_capabilities(db: Database, ids: Sequence[UUID]) -> Mapping[UUID, AssetCapability]:
    """Virtual assets by their life and power, physical ones by the parameters that hold at each time."""
    rows = await db.fetch(
        """
        select a.id, a.key, a.kind, a.organisation_id, v.start_at, v.end_at,
          coalesce(p.valid_from, v.start_at) as since,
          coalesce(p.rated_charge_power_kw, v.rated_charge_power_kw) as charge_kw,
          coalesce(p.rated_discharge_power_kw, v.rated_discharge_power_kw) as discharge_kw
        from asset a
        left join virtual_asset v on v.asset_key = a.key
        left join (select * from parameters_in_force
                   where asset_key = any(array(select key from asset where id = any($1::uuid[])))) p
          on p.asset_key = a.key
        where a.id = any($1::uuid[])
        order by a.key, since
        """,
        list(ids),
    )
    return {id: _read_capability(list(steps)) for id, steps in groupby(rows, key=itemgetter("id"))}


def _read_capability(rows: Sequence[Any]) -> AssetCapability:
    first = rows[0]
    life_s = None
    if first["start_at"] is not None:
        life_s = (first["start_at"].timestamp(), first["end_at"].timestamp())
    steps = [row for row in rows if row["since"] is not None]
    return AssetCapability(
        key=first["key"],
        kind=first["kind"],
        organisation_id=first["organisation_id"],
        life_s=life_s,
        steps_s=np.array([row["since"].timestamp() for row in steps]),
        charge_mw=np.array([row["charge_kw"] for row in steps]) / KW_PER_MW,
        discharge_mw=np.array([row["discharge_kw"] for row in steps]) / KW_PER_MW,
    )
