"""The status of zones: the versions of all that their plans depend on, and whether a run is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import numpy as np

from gridloom.market_calendar import Ints
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import compose

ARRAY_HEAD_BYTES: Final = 20


@dataclass(frozen=True, slots=True)
class InputVersions:
    """The version of each input: an input with the same version has not changed.

    `assets` are the keys of virtual assets, then their versions, then the first period of each that will be cut, 0 for
    none, as PostgreSQL sends such an array. `batteries` are the rest, by kind and key.
    """

    assets: bytes = b""
    batteries: Mapping[str, str] = field(default_factory=dict)

    @property
    def asset_rows(self) -> Ints:
        """Keys, versions and first cuts, a row each, in the order of the keys."""
        if not self.assets:
            return np.zeros((3, 0), dtype=np.int64)
        # Behind the head each number comes with its length.
        rows = np.frombuffer(self.assets, ">i4", offset=ARRAY_HEAD_BYTES)[1::2].reshape(3, -1).astype(np.int64)
        return rows[:, np.argsort(rows[0], kind="stable")]


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """A zone in which virtual assets live, now or later.

    `gate_closure_s` is the last of its gates, `next_asset_start` the first start of those assets, `first_misfit` the
    earliest period that will be cut. `final_until` says up to where periods are final, None before the first run;
    `needs_run` whether anything has changed or is to be recorded.
    """

    delivery_zone: str
    gate_closure_s: int
    next_asset_start: datetime
    first_misfit: int | None
    versions: InputVersions
    revision: int | None
    final_until: int | None
    needs_run: bool


# Versions hold for the whole market day, so that what merely passes by changes none of them.
_STATUS = """
with zone as materialized (
  select delivery_zone, min(gate_closure_s) as gate_closure_s, min(start_at) as next_asset_start,
         min(first_misfit) filter (where end_at > to_timestamp(first_misfit::bigint * 900)) as first_misfit
  from virtual_asset where end_at > $1 {of_zone} group by delivery_zone
), live as materialized (
  select delivery_zone, asset_key, version, first_misfit from virtual_asset
  where end_at > $2 and start_at < $3 {of_zone}
  order by asset_key
), battery as materialized (
  select delivery_zone, asset_key from physical_asset where asset_key = any(array(
    select distinct physical_asset_key from virtual_backing where asset_key = any(array(select asset_key from live))))
), assets as materialized (
  select delivery_zone,
         array_send(array_agg(asset_key) || array_agg(version) || array_agg(coalesce(first_misfit, 0))) as stamps
  from live group by delivery_zone
), stamp as (
  select delivery_zone, 'P' || asset_key as name, max(version)::text as stamp
  from battery join physical_asset_parameters using (asset_key) group by delivery_zone, asset_key
  union all
  select delivery_zone, 'U' || asset_key, md5(string_agg(id || ':' || version, ',' order by id))
  from battery join unavailability using (asset_key) where ends_at > $2 and starts_at < $3
  group by delivery_zone, asset_key
  union all
  select delivery_zone, 'E' || asset_key, version::text from battery join delivery_anchor using (asset_key)
  union all
  select delivery_zone, 'S' || asset_key, version::text from battery join physical_schedule_version using (asset_key)
  union all
  select delivery_zone, 'D' || asset_key, max(day)::text from battery join delivery_drift using (asset_key)
  where day between ($2::timestamptz at time zone 'Europe/Berlin')::date
    and ($3::timestamptz at time zone 'Europe/Berlin')::date
  group by delivery_zone, asset_key
  union all
  select delivery_zone, 'A' || asset_key, count(*) || ':' || coalesce(sum(revision), 0)
  from battery join ancillary_result using (asset_key)
  where delivery_day between ($2::timestamptz at time zone 'Europe/Berlin')::date - 1
    and ($3::timestamptz at time zone 'Europe/Berlin')::date
  group by delivery_zone, asset_key
), stamps as materialized (
  select delivery_zone, jsonb_object_agg(name, stamp) as stamps from stamp group by delivery_zone
)
select zone.delivery_zone, zone.gate_closure_s, zone.next_asset_start, zone.first_misfit,
       coalesce(assets.stamps, ''::bytea) as asset_stamps, coalesce(stamps.stamps, '{{}}'::jsonb) as stamps,
       last.revision, last.settled_until as final_until,
       last.end_period is null or last.end_period < $4
         or coalesce(assets.stamps, ''::bytea) is distinct from last.asset_stamps
         or coalesce(stamps.stamps, '{{}}'::jsonb) is distinct from last.stamps
         or coalesce(least(zone.first_misfit, last.first_settling)
              <= floor((extract(epoch from $1::timestamptz) + zone.gate_closure_s) / 900), false) as needs_run
from zone left join assets using (delivery_zone) left join stamps using (delivery_zone)
  left join delivery_zone last using (delivery_zone)
order by zone.delivery_zone
"""


_ANY_ZONE: Final = ""
_ONE_ZONE: Final = "and delivery_zone = $5"


async def read_zone_status(
    db: Database, now: datetime, start: datetime, end: datetime, end_period: int, zone: str | None = None
) -> list[ZoneStatus]:
    """All zones, or one: planned over the market days from `start` to `end`, which is the start of `end_period`."""
    given = (now, start, end, end_period)
    # Two texts, so that PostgreSQL keeps its plan of either: planning takes as long as running it.
    if zone is None:
        rows = await db.fetch(compose(_STATUS, of_zone=_ANY_ZONE), *given)
    else:
        rows = await db.fetch(compose(_STATUS, of_zone=_ONE_ZONE), *given, zone)
    return [_status_of_row(**row) for row in rows]


def _status_of_row(asset_stamps: bytes, stamps: Mapping[str, str], **rest: Any) -> ZoneStatus:
    return ZoneStatus(versions=InputVersions(asset_stamps, stamps), **rest)


async def read_clock_and_activity(db: Database) -> tuple[datetime, bool]:
    """The platform's time, and whether any virtual asset lives, now or later."""
    now = await platform_now(db)
    return now, bool(await db.fetchval("select exists (select 1 from virtual_asset where end_at > $1)", now))


async def read_planned_zones(db: Database) -> list[str]:
    """Those that have a plan, whether anything lives in them or not."""
    rows = await db.fetch("select delivery_zone from delivery_zone where end_period is not null order by delivery_zone")
    return [row["delivery_zone"] for row in rows]


async def advance_final_until(db: Database, statuses: Sequence[ZoneStatus], finals: Sequence[int]) -> None:
    """Note that the periods before `finals` are final as they were planned, where there was no run since."""
    await db.execute(
        """update delivery_zone z set settled_until = seen.final
           from unnest($1::text[], $2::bigint[], $3::int[]) seen (delivery_zone, revision, final)
           where z.delivery_zone = seen.delivery_zone and z.revision = seen.revision""",
        [status.delivery_zone for status in statuses],
        [status.revision for status in statuses],
        list(finals),
    )
