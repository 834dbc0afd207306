"""Assets that an organisation holds and owns, in PostgreSQL: whose facts make its reports, each fact once."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from gridloom.kernel.window import Window
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.revenue.model import Contribution, Subject


@dataclass(frozen=True, slots=True)
class Holdings:
    """The virtual assets that an organisation holds and whose life touches a window, and the batteries it owns."""

    organisation_id: UUID
    virtual_keys: tuple[int, ...]
    physical_keys: tuple[int, ...]


async def read_holdings(db: Database, organisation_id: UUID, window: Window) -> Holdings:
    rows = await db.fetch("select key, kind from asset where organisation_id = $1 order by key", organisation_id)
    alive = await fetch_by_keys(
        db,
        """select asset_key from virtual_asset
           where asset_key = any($1::int[]) and end_at > $2 and start_at < $3 order by asset_key""",
        [row["key"] for row in rows if row["kind"] == "VIRTUAL"],
        window.start,
        window.end,
    )
    return Holdings(
        organisation_id,
        tuple(row["asset_key"] for row in alive),
        tuple(row["key"] for row in rows if row["kind"] == "PHYSICAL"),
    )


async def read_subject(db: Database, holdings: Holdings) -> Subject:
    """Whose facts count: those of what it holds wholly, others' by the shares of its batteries behind them.

    The rated power is that of its virtual assets and of its batteries that stand behind none of them.
    """
    held, owned = set(holdings.virtual_keys), set(holdings.physical_keys)
    parts = {key: Contribution(key) for key in (*holdings.physical_keys, *holdings.virtual_keys)}
    behind: set[int] = set()
    for row in await db.fetch(
        """select asset_key, sum(share) as weight, array_agg(physical_asset_key) as batteries
           from virtual_backing where physical_asset_key = any($1::int[]) group by asset_key order by asset_key""",
        list(owned),
    ):
        if row["asset_key"] in held:
            behind.update(row["batteries"])
        else:
            parts[row["asset_key"]] = Contribution(row["asset_key"], row["weight"])
    return Subject(
        f"organisation-{holdings.organisation_id}",
        tuple(parts[key] for key in sorted(parts)),
        tuple(sorted(held | (owned - behind))),
    )
