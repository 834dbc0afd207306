"""Tables that are added to and never changed: the rights of the role that owns them say so.

Triggers would bind a superuser too, but distributed tables take none.
"""

from __future__ import annotations

from typing import Final

import asyncpg

APPEND_ONLY: Final = ("audit_log", "logbook_entry", "statement", "statement_account", "statement_month")


async def revoke_changes(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Take the rights to change append-only tables from their owner, where it has them.

    Migrations do so once; a dump holds no rights, so a restored database has them again.
    """
    rows = await connection.fetch(
        """select c.relname from pg_class c
           where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
             and c.relname = any($1::text[])
             and (c.relacl is null or exists (
               select from aclexplode(c.relacl) a
               where a.grantee = c.relowner and a.privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE')))""",
        list(APPEND_ONLY),
    )
    names = [row["relname"] for row in rows]
    for name in names:
        await connection.execute(f"revoke update, delete, truncate on {name} from current_user")
    if "logbook_entry" in names:
        # An identity, which PostgreSQL lets no role set: its foreign key to itself has to lock rows.
        await connection.execute("grant update (sequence) on logbook_entry to current_user")
