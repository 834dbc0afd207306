"""Portfolios in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.kernel.ids import OrganisationID, PortfolioID, VirtualAssetID
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row


@dataclass(frozen=True, slots=True)
class Portfolio:
    """A group of an organisation's virtual assets; an asset is in at most one."""

    id: PortfolioID
    organisation_id: OrganisationID
    name: str
    version: int
    created_at: datetime
    virtual_asset_ids: tuple[VirtualAssetID, ...]


_PORTFOLIO = "select p.id, p.organisation_id, p.name, p.version, p.created_at from portfolio p"


async def read_portfolios(
    db: Database, organisation_id: UUID, *, after: UUID | None = None, limit: int = 100
) -> list[Portfolio]:
    rows = await db.fetch(
        _PORTFOLIO + " where p.organisation_id = $1 and ($2::uuid is null or p.id > $2) order by p.id limit $3",
        organisation_id,
        after,
        limit,
    )
    return await _complete_portfolios(db, organisation_id, rows)


async def read_portfolio(db: Database, organisation_id: UUID, portfolio_id: UUID) -> Portfolio | None:
    rows = await db.fetch(_PORTFOLIO + " where p.organisation_id = $1 and p.id = $2", organisation_id, portfolio_id)
    return next(iter(await _complete_portfolios(db, organisation_id, rows)), None)


async def _complete_portfolios(db: Database, organisation_id: UUID, rows: Sequence[asyncpg.Record]) -> list[Portfolio]:
    """Portfolios with the assets in them, in the order of their ids."""
    members: dict[UUID, list[UUID]] = {row["id"]: [] for row in rows}
    found = await db.fetch(
        """select v.portfolio_id, a.id from virtual_asset v join asset a on a.key = v.asset_key
           where v.organisation_id = $1 and v.portfolio_id = any($2::uuid[]) order by a.id""",
        organisation_id,
        list(members),
    )
    for row in found:
        members[row["portfolio_id"]].append(row["id"])
    return [read_row(Portfolio, row, virtual_asset_ids=tuple(members[row["id"]])) for row in rows]


async def insert_portfolio(db: Database, portfolio_id: PortfolioID, organisation_id: UUID, name: str) -> None:
    await db.execute(
        "insert into portfolio (id, organisation_id, name) values ($1, $2, $3)", portfolio_id, organisation_id, name
    )


async def update_portfolio(db: Database, portfolio_id: UUID, organisation_id: UUID, name: str) -> None:
    await db.execute(
        """update portfolio set name = $3, version = version + 1, updated_at = statement_timestamp()
           where id = $1 and organisation_id = $2""",
        portfolio_id,
        organisation_id,
        name,
    )


async def set_portfolio_assets(
    db: Database, portfolio_id: UUID, organisation_id: UUID, asset_ids: Sequence[UUID]
) -> list[UUID]:
    """Set the assets of the portfolio; returns those that are not the organisation's, and then changes nothing."""
    known = await db.fetch(
        """select a.id, a.key from virtual_asset v join asset a on a.key = v.asset_key
           where v.organisation_id = $1 and a.id = any($2::uuid[]) order by a.key""",
        organisation_id,
        list(asset_ids),
    )
    unknown_ids = set(asset_ids) - {row["id"] for row in known}
    if unknown_ids:
        return sorted(unknown_ids)
    await db.execute(
        """update virtual_asset
           set portfolio_id = case when asset_key = any($3::int[]) then $2::uuid end, revision = revision + 1
           where organisation_id = $1 and (asset_key = any($3::int[]) or portfolio_id = $2)""",
        organisation_id,
        portfolio_id,
        [row["key"] for row in known],
    )
    return []
