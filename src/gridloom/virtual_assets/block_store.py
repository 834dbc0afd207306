"""The blocks of virtual assets in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import asyncpg

from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement
from gridloom.virtual_assets.model import Block, LockedAsset, Market


async def read_blocks(db: Database, key: int, version: int | None = None) -> list[Block]:
    """The current blocks, or those at a version, in the order of time."""
    rows = await db.fetch(
        """select id, lane, first_period, end_period, market, charge_kw, discharge_kw, reserve_minutes
           from virtual_block
           where asset_key = $1
             and case when $2::int is null then until_version is null
                 else since_version <= $2 and (until_version is null or until_version > $2) end
           order by first_period, lane""",
        key,
        version,
    )
    return [_read_block(row) for row in rows]


async def read_blocks_by_version(db: Database, key: int, versions: Sequence[int]) -> dict[int, list[Block]]:
    """The blocks at each of these versions."""
    blocks: dict[int, list[Block]] = {version: [] for version in versions}
    for row in await db.fetch(
        """select v.version, b.id, b.lane, b.first_period, b.end_period, b.market, b.charge_kw, b.discharge_kw,
                  b.reserve_minutes
           from unnest($2::int[]) v(version) join virtual_block b
             on b.asset_key = $1 and b.since_version <= v.version
                and (b.until_version is null or b.until_version > v.version)
           order by v.version, b.first_period, b.lane""",
        key,
        list(versions),
    ):
        blocks[row["version"]].append(_read_block(row))
    return blocks


async def read_blocks_of(db: Database, keys: Sequence[int]) -> dict[int, list[Block]]:
    blocks: dict[int, list[Block]] = {key: [] for key in keys}
    for row in await db.fetch(
        """select asset_key, id, lane, first_period, end_period, market, charge_kw, discharge_kw, reserve_minutes
           from virtual_block
           where asset_key = any($1::int[]) and until_version is null order by asset_key, first_period, lane""",
        list(keys),
    ):
        blocks[row["asset_key"]].append(_read_block(row))
    return blocks


def _read_block(row: asyncpg.Record) -> Block:
    return read_row(Block, row, first=row["first_period"], end=row["end_period"], market=Market(row["market"]))


_INSERT = NamedStatement("""
insert into virtual_block
  (asset_key, id, since_version, lane, first_period, end_period, market, charge_kw, discharge_kw, reserve_minutes)
values (:asset_key, :id, :version, :lane, :first, :end, :market, :charge_kw, :discharge_kw, :reserve_minutes)
""")


async def replace_blocks(
    db: Database, asset: LockedAsset, version: int, before: Iterable[Block], after: Iterable[Block]
) -> None:
    """End the blocks that have changed or are gone, and insert the new ones from this version on."""
    before, after = set(before), set(after)
    await db.execute(
        """update virtual_block set until_version = $3
           where asset_key = $1 and id = any($2::uuid[]) and until_version is null""",
        asset.key,
        [block.id for block in before - after],
        version,
    )
    await _INSERT.executemany(db, after - before, asset_key=asset.key, version=version)
