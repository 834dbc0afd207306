"""What statements cost, in rows that PostgreSQL had to look at."""

from __future__ import annotations

from typing import Any

_ROWS_READ = """
select sum(pg_stat_get_xact_tuples_returned(each)) from (
  select t::regclass::oid as each from unnest($1::text[]) as t
  union all
  select indexrelid from pg_index join unnest($1::text[]) as t on indrelid = t::regclass
) as tables_and_indexes
"""


async def rows_read(connection: Any, *tables: str) -> int:
    """Rows of these tables and entries of their indexes that were walked in this transaction so far."""
    return int(await connection.fetchval(_ROWS_READ, list(tables)))
