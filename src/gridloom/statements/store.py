"""Runs, issued months and statements in PostgreSQL. What is issued is only ever added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg

from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row, values_of
from gridloom.platform.database.statement import NamedStatement
from gridloom.statements.model import (
    IssuedMonth,
    IssuedReference,
    Month,
    NewStatement,
    RunStatus,
    StatementRun,
    number_of,
)

# --- runs -------------------------------------------------------------------------------------------------------------


async def add_run(db: Database, run: StatementRun, asked_by: UUID, missing: str) -> UUID | None:
    """The id of the run that is under way already, if one is: there is at most one."""
    added = await db.fetchval(
        """insert into statement_run (id, month, status, allow_missing, asked_by, asked_at, missing)
           values ($1, $2, 'RUNNING', $3, $4, $5, $6::text::jsonb)
           on conflict (status) where status = 'RUNNING' do nothing returning id""",
        run.id,
        run.month.first_day,
        run.allow_missing,
        asked_by,
        run.asked_at,
        missing,
    )
    return None if added is not None else await read_running(db) or run.id


async def read_running(db: Database) -> UUID | None:
    id: UUID | None = await db.fetchval("select id from statement_run where status = 'RUNNING'")
    return id


async def read_run(db: Database, id: UUID) -> StatementRun | None:
    row = await db.fetchrow(
        """select id, month, status, allow_missing, asked_at, as_of, parts, parts_done, fault
           from statement_run where id = $1""",
        id,
    )
    if row is None:
        return None
    return read_row(StatementRun, row, month=Month(row["month"]), status=RunStatus(row["status"]))


async def start_computing(db: Database, id: UUID, as_of: datetime, wanted: Sequence[tuple[int, Month]]) -> None:
    """From here on it is fixed as of when, and of which assets and months, the run computes."""
    await db.execute(
        """insert into statement_draft (run_id, asset_key, month)
           select $1, u.asset_key, u.month from unnest($2::int[], $3::date[]) u(asset_key, month)""",
        id,
        [key for key, _ in wanted],
        [month.first_day for _, month in wanted],
    )
    await db.execute("update statement_run set as_of = $2, parts = $3 where id = $1", id, as_of, len(wanted) + 1)


async def end_run(db: Database, id: UUID, status: RunStatus, now: datetime, fault: str | None = None) -> None:
    """Its drafts go with it."""
    await db.execute("delete from statement_draft where run_id = $1", id)
    await db.execute(
        "update statement_run set status = $2, ended_at = $3, fault = $4 where id = $1 and status = 'RUNNING'",
        id,
        status,
        now,
        fault,
    )


async def is_job_waiting(db: Database, kind: str, key: str) -> bool:
    """Whether the job of a run is queued or under way, and not given up."""
    return bool(
        await db.fetchval(
            "select exists (select from job where kind = $1 and key = $2 and state = 'WAITING')", kind, key
        )
    )


async def is_any_job_waiting(db: Database, kind: str) -> bool:
    return bool(await db.fetchval("select exists (select from job where kind = $1 and state = 'WAITING')", kind))


async def list_waiting(db: Database, run_id: UUID, limit: int) -> list[tuple[int, Month]]:
    """The assets still to be computed."""
    rows = await db.fetch(
        """select asset_key, month from statement_draft where run_id = $1 and body is null
           order by month, asset_key limit $2""",
        run_id,
        limit,
    )
    return [(row["asset_key"], Month(row["month"])) for row in rows]


async def write_drafts(
    db: Database, run_id: UUID, month: Month, bodies: Mapping[int, bytes], figures: Mapping[int, bytes]
) -> None:
    await db.execute(
        """update statement_draft d set body = n.body, figures = n.figures
           from unnest($3::int[], $4::bytea[], $5::bytea[]) n(asset_key, body, figures)
           where d.run_id = $1 and d.month = $2 and d.asset_key = n.asset_key""",
        run_id,
        month.first_day,
        list(bodies),
        list(bodies.values()),
        [figures.get(key) for key in bodies],
    )
    await db.execute("update statement_run set parts_done = parts_done + $2 where id = $1", run_id, len(bodies))


async def read_drafts(db: Database, run_id: UUID) -> dict[Month, dict[int, bytes]]:
    found: dict[Month, dict[int, bytes]] = {}
    for row in await db.fetch(
        "select month, asset_key, body from statement_draft where run_id = $1 order by month, asset_key", run_id
    ):
        found.setdefault(Month(row["month"]), {})[row["asset_key"]] = row["body"]
    return found


async def read_drafted_figures(db: Database, run_id: UUID, month: Month) -> dict[int, bytes]:
    """By battery, of those that were dispatched."""
    rows = await db.fetch(
        "select asset_key, figures from statement_draft where run_id = $1 and month = $2 and figures is not null",
        run_id,
        month.first_day,
    )
    return {row["asset_key"]: row["figures"] for row in rows}


# --- issued months ----------------------------------------------------------------------------------------------------


async def list_months(db: Database) -> list[IssuedMonth]:
    """In order, without a gap."""
    rows = await db.fetch("select month, as_of, issued_at from statement_month order by month")
    return [IssuedMonth(Month(row["month"]), row["as_of"], row["issued_at"]) for row in rows]


async def add_month(db: Database, month: Month, run_id: UUID, as_of: datetime, now: datetime) -> None:
    await db.execute(
        "insert into statement_month (month, run_id, as_of, issued_at) values ($1, $2, $3, $4)",
        month.first_day,
        run_id,
        as_of,
        now,
    )


# --- statements -------------------------------------------------------------------------------------------------------


async def read_last_numbers(db: Database, organisations: Sequence[UUID], year: int) -> dict[UUID, int]:
    """Of a year; an organisation without a statement is left out."""
    rows = await db.fetch(
        """select organisation_id, max(number) as number from statement
           where organisation_id = any($1::uuid[]) and year = $2 group by organisation_id""",
        list(organisations),
        year,
    )
    return {row["organisation_id"]: row["number"] for row in rows}


async def read_last_digests(db: Database, organisations: Sequence[UUID]) -> dict[UUID, bytes]:
    rows = await db.fetch(
        """select distinct on (organisation_id) organisation_id, digest from statement
           where organisation_id = any($1::uuid[]) order by organisation_id, month desc""",
        list(organisations),
    )
    return {row["organisation_id"]: row["digest"] for row in rows}


_ADD_STATEMENT: Final = NamedStatement("""
insert into statement (organisation_id, id, month, year, number, issued_at, total_cents, body, summary, digest)
values (:organisation_id, :id, :month, :year, :number, :issued_at, :total_cents, :body, :summary, :digest)
""")


async def add_statements(db: Database, statements: Sequence[NewStatement]) -> None:
    await _ADD_STATEMENT.execute_each(db, [values_of(one) | {"month": one.month.first_day} for one in statements])


async def read_body(db: Database, organisation_id: UUID, id: UUID) -> bytes | None:
    """The statement as it was issued."""
    body: bytes | None = await db.fetchval(
        "select body from statement where organisation_id = $1 and id = $2", organisation_id, id
    )
    return body


async def list_summaries(
    db: Database, organisation_id: UUID, before: Month | None, limit: int, only: Month | None = None
) -> list[tuple[Month, bytes]]:
    """The newest month first."""
    rows = await db.fetch(
        """select month, summary from statement
           where organisation_id = $1 and ($2::date is null or month < $2) and ($4::date is null or month = $4)
           order by month desc limit $3""",
        organisation_id,
        None if before is None else before.first_day,
        limit,
        None if only is None else only.first_day,
    )
    return [(Month(row["month"]), row["summary"]) for row in rows]


async def read_references(
    db: Database, organisations: Sequence[UUID], months: Sequence[Month]
) -> dict[tuple[UUID, Month], IssuedReference]:
    rows = await db.fetch(
        """select organisation_id, id, month, year, number from statement
           where organisation_id = any($1::uuid[]) and month = any($2::date[])""",
        list(organisations),
        [month.first_day for month in months],
    )
    return {
        (row["organisation_id"], Month(row["month"])): IssuedReference(
            row["id"], Month(row["month"]), number_of(row["year"], row["number"])
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who an organisation is, as statements show it."""

    name: str
    address: str
    is_operator: bool


async def read_letterheads(db: Database) -> dict[UUID, Letterhead]:
    """Of all organisations."""
    rows: Sequence[asyncpg.Record] = await db.fetch("select id, name, address, kind from organisation order by id")
    return {row["id"]: Letterhead(row["name"], row["address"], row["kind"] == "OPERATOR") for row in rows}


async def read_summaries(db: Database, first: Month, last: Month) -> list[tuple[UUID, Month, bytes]]:
    """Of all organisations; for the operator."""
    rows: Sequence[Any] = await db.fetch(
        """select organisation_id, month, summary from statement where month between $1 and $2
           order by month, organisation_id""",
        first.first_day,
        last.first_day,
    )
    return [(row["organisation_id"], Month(row["month"]), row["summary"]) for row in rows]
