"""Display names of organisations, members and API keys."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from gridloom.database.pool import Database


async def read_organisation_names(db: Database, organisation_ids: Iterable[UUID]) -> dict[UUID, str]:
    rows = await db.fetch("select id, name from organisation where id = any($1::uuid[])", [*set(organisation_ids)])
    return {row["id"]: row["name"] for row in rows}


async def read_author_names(db: Database, author_ids: Iterable[UUID], *, within: UUID | None = None) -> dict[UUID, str]:
    """Display names of members, and names of API keys with their owners'. within: only those of this organisation."""
    rows = await db.fetch(
        """
        select id, display_name as name from member
        where id = any($1::uuid[]) and ($2::uuid is null or organisation_id = $2)
        union all
        select k.id, k.name || ' (' || m.display_name || ')' from api_key k join member m on m.id = k.member_id
        where k.id = any($1::uuid[]) and ($2::uuid is null or m.organisation_id = $2)
        """,
        [*set(author_ids)],
        within,
    )
    return {row["id"]: row["name"] for row in rows}
