"""Physical assets and their parameters in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.kernel.problem import NotFound
from gridloom.physical_assets.model import (
    AssetStatus,
    NewParameters,
    NewPhysicalAsset,
    Parameters,
    PhysicalAsset,
)
from gridloom.platform.database.clock import platform_now, platform_now_to_the_ms
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose

_LAST_KEY = 2**31 - 1
_ASSET = """
select a.key, a.id, a.organisation_id, p.fleet_id, p.name, p.delivery_zone, p.control_area, p.eic_code,
       p.commissioned_on, p.status, p.version as asset_version, p.created_at, v.*
from physical_asset p
join asset a on a.key = p.asset_key
"""
_READ = compose(
    """
{asset}
join (select * from physical_asset_parameters q where q.asset_key = $1
      order by q.valid_from desc, q.version desc limit 1) v on v.asset_key = p.asset_key
where p.asset_key = $1
""",
    asset=_ASSET,
)


@dataclass(frozen=True, slots=True)
class StoredAsset:
    """An asset with the version that its ETag names."""

    key: int
    version: int
    asset: PhysicalAsset


async def read_status(db: Database, asset_key: int) -> AssetStatus:
    return AssetStatus(await db.fetchval("select status from physical_asset where asset_key = $1", asset_key))


_INSERT_ASSET = NamedStatement("""
insert into physical_asset (asset_key, fleet_id, name, delivery_zone, control_area, eic_code, commissioned_on)
values (:asset_key, :fleet_id, :name, :delivery_zone, :control_area, :eic_code, :commissioned_on)
""")
_UPDATE_ASSET = NamedStatement("""
update physical_asset
set fleet_id = :fleet_id, name = :name, delivery_zone = :delivery_zone, control_area = :control_area,
    eic_code = :eic_code, commissioned_on = :commissioned_on, status = :status, version = version + 1,
    updated_at = statement_timestamp()
where asset_key = :asset_key
""")


async def insert_physical_asset(db: Database, asset_key: int, new: NewPhysicalAsset) -> None:
    await _INSERT_ASSET.execute(db, new, asset_key=asset_key, control_area=new.control_area or new.delivery_zone)


async def update_physical_asset(db: Database, asset_key: int, asset: PhysicalAsset) -> None:
    await _UPDATE_ASSET.execute(db, asset, asset_key=asset_key)


async def read_asset(db: Database, asset_key: int) -> StoredAsset:
    """Only a reset of the sandbox removes batteries, while requests for them are under way."""
    row = await db.fetchrow(_READ, asset_key)
    if row is None:
        raise NotFound("The physical asset was removed by a reset of the sandbox.")
    return (await _read_asset_rows(db, [row]))[0]


async def _read_asset_rows(db: Database, rows: Sequence[asyncpg.Record]) -> list[StoredAsset]:
    """Assets with the parameters in force now, or with the first to come where none is yet.

    Each row brings the parameters with the latest start of validity. If that had come when they were recorded, they
    are in force; only for the others does it take a look at the clock and at the parameters before them.
    """
    unsure = [row["key"] for row in rows if row["valid_from"] > row["recorded_at"]]
    found = await _read_parameters_in_force(db, unsure) if unsure else {}
    return [_read_asset_row(row, found.get(row["key"]) or read_parameters_row(row)) for row in rows]


async def _read_parameters_in_force(db: Database, asset_keys: Sequence[int]) -> dict[int, Parameters]:
    rows = await db.fetch(
        """
        select distinct on (q.asset_key) q.* from physical_asset_parameters q where q.asset_key = any($1::int[])
        order by q.asset_key, q.valid_from > $2, case when q.valid_from > $2 then q.valid_from end, q.valid_from desc,
                 q.version desc
        """,
        asset_keys,
        await platform_now(db),
    )
    return {row["asset_key"]: read_parameters_row(row) for row in rows}


async def list_assets(
    db: Database,
    reader_organisation_id: UUID,
    *,
    organisation_id: UUID | None,
    fleet_id: UUID | None,
    after: UUID | None,
    limit: int,
    only: Collection[UUID] | None = None,
) -> list[PhysicalAsset]:
    """Those that the organisation owns or may read by a grant, as they were registered; `only`: of these alone.

    One plan serves all readers, however unequal their organisations are; to make a new one for each request would cost
    four times the reading. `(select $n)` hides values from the planner, so that it has no reason to; a range over whole
    rows of an index, alone and in its order, leaves it no other way; and what comes as `array(…)` it takes for short.
    """
    rows = await db.fetch(
        compose(
            """
        with reader as materialized (
          select $1::uuid as id, coalesce((select key from asset where id = $4), 0) as place
        ), own as (
          select a.key from asset a
          where (a.organisation_id, a.kind, a.key) > ((select id from reader), 'PHYSICAL', (select place from reader))
            and (a.organisation_id, a.kind, a.key) <= ((select id from reader), 'PHYSICAL', {last_key})
            and ((select $2::uuid) is null or a.organisation_id = (select $2))
            and ((select $6::uuid[]) is null or a.id = any((select $6)::uuid[]))
            and ((select $3::uuid) is null
                 or exists (select 1 from physical_asset p where p.asset_key = a.key and p.fleet_id = (select $3)))
          order by a.organisation_id, a.kind, a.key limit (select $5::int)
        ), granted as (
          select g.asset_key as key from asset_grant g
          where (g.organisation_id, g.asset_key) > ((select id from reader), (select place from reader))
            and (g.organisation_id, g.asset_key) <= ((select id from reader), {last_key})
            and g.permissions @> array['Read:physical-assets']
            and (select a.kind = 'PHYSICAL' and ((select $2) is null or a.organisation_id = (select $2))
                        and ((select $6) is null or a.id = any((select $6)::uuid[]))
                 from asset a where a.key = g.asset_key)
            and ((select $3) is null
                 or exists (select 1 from physical_asset p
                            where p.asset_key = g.asset_key and p.fleet_id = (select $3)))
          order by g.organisation_id, g.asset_key limit (select $5)
        )
        , page as materialized (
          select key from own union select key from granted order by key limit (select $5)
        )
        {asset}
        join (select distinct on (q.asset_key) q.* from page join physical_asset_parameters q on q.asset_key = page.key
              order by q.asset_key, q.valid_from desc, q.version desc) v on v.asset_key = p.asset_key
        order by p.asset_key
        """,
            last_key=_LAST_KEY,
            asset=_ASSET,
        ),
        reader_organisation_id,
        organisation_id,
        fleet_id,
        after,
        limit,
        None if only is None else list(only),
    )
    return [stored.asset for stored in await _read_asset_rows(db, rows)]


async def find_ids_by_name(
    db: Database, names: Sequence[str], organisation_id: UUID, permission: str
) -> dict[str, list[UUID]]:
    """The batteries of each name that the organisation owns or has been granted `permission` on."""
    rows = await db.fetch(
        """select p.name, a.id from physical_asset p join asset a on a.key = p.asset_key
           left join asset_grant g on g.asset_key = a.key and g.organisation_id = $2
           where p.name = any($1::text[]) and (a.organisation_id = $2 or g.permissions @> array[$3::text])""",
        list(names),
        organisation_id,
        permission,
    )
    found: dict[str, list[UUID]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row["id"])
    return found


async def has_backing(db: Database, asset_key: int) -> bool:
    """Whether a virtual asset whose life is not over, or the auction of one, holds some of it."""
    found = await db.fetchval(
        """select true from capacity_holding
           where asset_key = $1 and kind in ('VIRTUAL_ASSET', 'AUCTION')
             and end_period > extract(epoch from $2::timestamptz) / 900 limit 1""",
        asset_key,
        await platform_now(db),
    )
    return found is not None


async def read_last_commitment_end(db: Database, asset_key: int, now: datetime) -> int | None:
    """The period with which the last promise, open auction or accepted capacity ends, if any is still to come."""
    end: int | None = await db.fetchval(
        """select max(end_period) from capacity_holding
           where asset_key = $1 and is_firm and end_period > extract(epoch from $2::timestamptz) / 900""",
        asset_key,
        now,
    )
    return end


async def fleet_belongs_to(db: Database, fleet_id: UUID, organisation_id: UUID) -> bool:
    """Holds the fleet, so that it is still there when the asset joins it."""
    found = await db.fetchval(
        "select true from fleet where id = $1 and organisation_id = $2 for key share", fleet_id, organisation_id
    )
    return found is not None


# One row, unless it is the asset's first: an aggregate gives one either way.
_INSERT_PARAMETERS = NamedStatement("""
insert into physical_asset_parameters (
  asset_key, version, valid_from, rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh,
  min_state_of_charge, max_state_of_charge, charge_efficiency, discharge_efficiency, ramp_rate_kw_s,
  daily_cycle_limit, annual_cycle_limit, fcr_limit_ratio, recorded_by, recorded_at)
select
  :asset_key, 1 + coalesce(max(version), 0), :valid_from, :rated_charge_power_kw, :rated_discharge_power_kw,
  :energy_capacity_kwh, :min_state_of_charge, :max_state_of_charge, :charge_efficiency, :discharge_efficiency,
  :ramp_rate_kw_s, :daily_cycle_limit, :annual_cycle_limit, :fcr_limit_ratio, :recorded_by, :recorded_at
from physical_asset_parameters where asset_key = :asset_key
returning *
""")


async def insert_parameters(
    db: Database, asset_key: int, valid_from: datetime, new: NewParameters, recorded_by: UUID
) -> Parameters:
    """Add the next version; the caller holds the asset's row or has just made it."""
    row = await _INSERT_PARAMETERS.fetchrow(
        db,
        new,
        asset_key=asset_key,
        valid_from=valid_from,
        rated_charge_power_kw=new.rated_charge_power,
        rated_discharge_power_kw=new.rated_discharge_power,
        energy_capacity_kwh=new.energy_capacity,
        ramp_rate_kw_s=new.ramp_rate,
        recorded_by=recorded_by,
        recorded_at=await platform_now_to_the_ms(db),
    )
    return read_parameters_row(row)


async def read_parameters_at(db: Database, asset_key: int, at: datetime) -> Parameters | None:
    row = await db.fetchrow(
        """
        select * from physical_asset_parameters where asset_key = $1 and valid_from <= $2
        order by valid_from desc, version desc limit 1
        """,
        asset_key,
        at,
    )
    return None if row is None else read_parameters_row(row)


async def list_parameters(db: Database, asset_key: int, *, before: int | None, limit: int) -> list[Parameters]:
    """The versions as they were recorded, the latest first."""
    rows = await db.fetch(
        """
        select * from physical_asset_parameters where asset_key = $1 and ($2::int is null or version < $2)
        order by version desc limit $3
        """,
        asset_key,
        before,
        limit,
    )
    return [read_parameters_row(row) for row in rows]


async def latest_parameters_version(db: Database, asset_key: int) -> int:
    version: int = await db.fetchval(
        "select max(version) from physical_asset_parameters where asset_key = $1", asset_key
    )
    return version


def read_parameters_row(row: asyncpg.Record) -> Parameters:
    return read_row(
        Parameters,
        row,
        rated_charge_power=row["rated_charge_power_kw"],
        rated_discharge_power=row["rated_discharge_power_kw"],
        energy_capacity=row["energy_capacity_kwh"],
        ramp_rate=row["ramp_rate_kw_s"],
    )


def _read_asset_row(row: asyncpg.Record, parameters: Parameters) -> StoredAsset:
    return StoredAsset(row["key"], row["asset_version"], read_row(PhysicalAsset, row, parameters=parameters))
