"""The SQL of slots for event streams."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from gridloom.platform.database.pool import Database


async def take_slot(
    db: Database, organisation_id: UUID, worker_id: UUID, own: int, max_streams: int, lease: timedelta
) -> bool:
    """Whether a worker may have `own` streams of the organisation open, and has from now on."""
    return bool(
        await db.fetchval(
            "select take_stream_place($1, $2, $3, $4, $5)", organisation_id, worker_id, own, max_streams, lease
        )
    )


async def put_streams(db: Database, organisation_id: UUID, worker_id: UUID, streams: int, lease: timedelta) -> None:
    """A worker's open streams; the lease starts anew."""
    if streams == 0:
        await db.execute(
            "delete from stream_lease where organisation_id = $1 and worker_id = $2", organisation_id, worker_id
        )
        return
    await db.execute(
        """
        insert into stream_lease (organisation_id, worker_id, streams, leased_until)
        values ($1, $2, $3, clock_timestamp() + $4::interval)
        on conflict (organisation_id, worker_id) do update
          set streams = excluded.streams, leased_until = excluded.leased_until
        """,
        organisation_id, worker_id, streams, lease,
    )  # fmt: skip


async def count_streams(db: Database, organisation_id: UUID) -> int:
    """On all replicas together."""
    count: int = await db.fetchval(
        """
        select coalesce(sum(streams), 0)::int from stream_lease
        where organisation_id = $1 and leased_until > clock_timestamp()
        """,
        organisation_id,
    )
    return count


async def delete_worker(db: Database, worker_id: UUID) -> None:
    await db.execute("delete from stream_lease where worker_id = $1", worker_id)


async def delete_expired(db: Database) -> None:
    await db.execute("delete from stream_lease where leased_until < clock_timestamp()")
