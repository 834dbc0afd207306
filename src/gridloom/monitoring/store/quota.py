"""How much telemetry organisations store, counted by the hour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class StoredTelemetry:
    """Bytes that the batteries of an organisation have stored, as last counted, and may store."""

    organisation_id: UUID
    used_bytes: int
    quota_bytes: int | None
    counted_at: datetime | None
    is_near: bool = False
    """Whether its members have been notified that it is near its quota."""


async def read_stored(db: Database, organisation_id: UUID) -> StoredTelemetry:
    quota_bytes = await db.fetchval("select telemetry_quota_bytes from organisation where id = $1", organisation_id)
    row = await db.fetchrow(
        "select used_bytes, counted_at, near_since is not null from telemetry_usage where organisation_id = $1",
        organisation_id,
    )
    used_bytes, counted_at, is_near = row or (0, None, False)
    return StoredTelemetry(organisation_id, used_bytes, quota_bytes, counted_at, is_near)


async def measure_stored(db: Database) -> dict[UUID, int]:
    """The bytes of telemetry by the organisation that owns the batteries. Looks at every row: for the hourly job."""
    rows = await db.fetch(
        """
        select a.organisation_id, sum(stored.bytes)::bigint as bytes
        from (
          select asset_key, sum(octet_length(body))::bigint as bytes from telemetry_segment group by asset_key
          union all
          select asset_key, sum(octet_length(times) + octet_length(summaries) + octet_length(body))::bigint as bytes
          from telemetry_block group by asset_key
        ) stored join asset a on a.key = stored.asset_key
        group by a.organisation_id
        """
    )
    return {row["organisation_id"]: row["bytes"] for row in rows}


async def put_stored(db: Database, bytes_of: Mapping[UUID, int], now: datetime) -> None:
    """The counts by organisation; one that is not among them has nothing stored."""
    await db.execute(
        "update telemetry_usage set used_bytes = 0, counted_at = $2 where organisation_id <> all($1::uuid[])",
        list(bytes_of), now,
    )  # fmt: skip
    await db.execute(
        """
        insert into telemetry_usage (organisation_id, used_bytes, counted_at)
        select counted.organisation_id, counted.bytes, $3
        from unnest($1::uuid[], $2::bigint[]) as counted (organisation_id, bytes)
        on conflict (organisation_id) do update
          set used_bytes = excluded.used_bytes, counted_at = excluded.counted_at
        """,
        list(bytes_of), list(bytes_of.values()), now,
    )  # fmt: skip


async def mark_near(db: Database, near_share: float, now: datetime) -> list[StoredTelemetry]:
    """The organisations that have come near their quota since the last time; each once until it is below again."""
    near = await db.fetch(
        """
        select u.organisation_id, u.used_bytes, o.telemetry_quota_bytes as quota_bytes, u.counted_at,
               u.near_since is not null as is_near
        from telemetry_usage u join organisation o on o.id = u.organisation_id
        where u.used_bytes >= $1::float8 * o.telemetry_quota_bytes
        """,
        near_share,
    )
    await db.execute(
        "update telemetry_usage set near_since = null where near_since is not null and organisation_id <> all($1)",
        [row["organisation_id"] for row in near],
    )
    new = [StoredTelemetry(**row) for row in near if not row["is_near"]]
    await db.execute(
        "update telemetry_usage set near_since = $2 where organisation_id = any($1::uuid[])",
        [one.organisation_id for one in new], now,
    )  # fmt: skip
    return new
