"""One row that is written now and then, to know whether the database takes changes."""

from __future__ import annotations

from gridloom.database.pool import Database


async def record_write_probe(db: Database) -> None:
    await db.execute(
        """
        insert into write_probe (is_only, probed_at) values (true, clock_timestamp())
        on conflict (is_only) do update set probed_at = excluded.probed_at
        """
    )
