"""Virtual assets and their promises in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import asyncpg
import msgspec
from msgspec import structs

from gridloom.kernel.copying import copy_fields
from gridloom.kernel.ids import OrganisationID, VirtualAssetID
from gridloom.kernel.window import Window
from gridloom.market_calendar import window_periods
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.virtual_assets.model import (
    AssetTerms,
    BackingShare,
    Block,
    Efficiency,
    LockedAsset,
    Promise,
    VirtualAsset,
)

COLUMNS = """
  a.key, a.id, v.organisation_id, v.portfolio_id, v.name, v.start_at, v.end_at, v.delivery_zone, v.eic_code,
  v.rated_charge_power_kw, v.rated_discharge_power_kw, v.energy_capacity_kwh, v.charge_efficiency,
  v.discharge_efficiency, v.daily_cycle_limit, v.annual_cycle_limit, v.ramp_rate_kw_s, v.gate_closure_s,
  v.initial_soc, v.final_soc_target, v.final_soc_tolerance, v.auction_id, v.created_at, v.version, v.end_kwh,
  v.first_misfit, v.judged_until, v.first_activated, v.revision, v.reserve_holds
"""


MUTABLE_COLUMNS = """
  v.name, v.portfolio_id, v.version, v.end_kwh, v.first_misfit, v.judged_until, v.first_activated, v.revision,
  v.reserve_holds
"""
"""The columns of an asset that can change."""


LIST_ASSETS = compose("select {columns} from virtual_asset v join asset a on a.key = v.asset_key", columns=COLUMNS)
_READ = LIST_ASSETS + " where v.asset_key = $1"

# The row is locked by its key alone, and read as the lock found it.
_LOCK = compose(
    """
  with v as materialized (select * from virtual_asset where asset_key = $1 for no key update)
  select {columns} from v join asset a on a.key = v.asset_key where v.asset_key = $1
""",
    columns=COLUMNS,
)


MAX_CACHED_KEYS = 100_000
_key_cache: dict[UUID, int] = {}
"""An asset keeps its key. Reads by the key check the id all the same."""

MAX_CACHED_PROMISES = 20_000
_promise_cache: dict[UUID, tuple[Promise, ...]] = {}
"""Promises are written with their asset and never change."""

MAX_CACHED_ASSETS = 5_000
_asset_cache: dict[UUID, VirtualAsset] = {}
"""Assets as this process has read them last."""


async def _read_key(db: Database, asset_id: UUID) -> int | None:
    key = _key_cache.get(asset_id)
    if key is None:
        key = await db.fetchval("select key from asset where id = $1 and kind = 'VIRTUAL'", asset_id)
        if key is not None:
            if len(_key_cache) >= MAX_CACHED_KEYS:
                _key_cache.clear()
            _key_cache[asset_id] = key
    return key


async def _read_promises(db: Database, ids: Mapping[int, UUID]) -> dict[int, tuple[Promise, ...]]:
    """ids: by key."""
    known = {key: _promise_cache[asset_id] for key, asset_id in ids.items() if asset_id in _promise_cache}
    unknown = [key for key in ids if key not in known]
    found: dict[int, list[Promise]] = {key: [] for key in unknown}
    if unknown:
        for key, *promise in await fetch_by_keys(
            db,
            """select b.asset_key, b.physical_asset_key, p.id as physical_asset_id, b.share, b.charge_kw,
                      b.discharge_kw, b.energy_kwh
               from virtual_backing b join asset p on p.key = b.physical_asset_key
               where b.asset_key = any($1::int[]) order by b.asset_key, b.position""",
            unknown,
        ):
            found[key].append(Promise(*promise))
    read = {key: tuple(promises) for key, promises in found.items()}
    if len(_promise_cache) + len(unknown) > MAX_CACHED_PROMISES:
        _promise_cache.clear()
    _promise_cache.update({ids[key]: promises for key, promises in read.items()})
    return known | read


async def read_asset(db: Database, organisation_id: UUID, asset_id: UUID) -> VirtualAsset | None:
    key = await _read_key(db, asset_id)
    if key is None:
        return None
    rows = await db.fetch(_READ + " and a.id = $2 and v.organisation_id = $3", key, asset_id, organisation_id)
    return next(iter(await complete_assets(db, rows)), None)


async def read_asset_by_key(db: Database, key: int) -> VirtualAsset | None:
    return next(iter(await complete_assets(db, await db.fetch(_READ, key))), None)


async def read_assets_by_keys(db: Database, keys: Sequence[int]) -> dict[int, VirtualAsset]:
    """Those that there are."""
    rows = await db.fetch(LIST_ASSETS + " where v.asset_key = any($1::int[])", list(keys))
    return {asset.key: asset for asset in await complete_assets(db, rows)}


async def lock_virtual_asset(db: Database, organisation_id: UUID, asset_id: UUID) -> LockedAsset | None:
    """Lock the asset's row until the transaction ends: changes of its schedules run one after the other."""
    key = await _read_key(db, asset_id)
    if key is None:
        return None
    rows = await db.fetch(_LOCK + " and a.id = $2 and v.organisation_id = $3", key, asset_id, organisation_id)
    return next((copy_fields(LockedAsset, cache_asset(asset)) for asset in await complete_assets(db, rows)), None)


def cached_asset(asset_id: UUID) -> VirtualAsset | None:
    """The asset as this process has read it last: it shows what to ask for, and is never an answer."""
    return _asset_cache.get(asset_id)


def refresh_asset(row: asyncpg.Record | Mapping[str, Any], known: VirtualAsset) -> VirtualAsset:
    """The asset from a row of its `MUTABLE_COLUMNS`; the rest is that of `known`."""
    terms = known.terms
    if row["name"] != terms.name or row["portfolio_id"] != terms.portfolio_id:
        terms = replace(terms, name=row["name"], portfolio_id=row["portfolio_id"])
    state = ("version", "end_kwh", "first_misfit", "judged_until", "first_activated", "revision")
    holds = _decode_holds(row["reserve_holds"])
    return cache_asset(structs.replace(known, terms=terms, holds=holds, **{column: row[column] for column in state}))


def cache_asset(asset: VirtualAsset) -> VirtualAsset:
    if len(_asset_cache) >= MAX_CACHED_ASSETS:
        _asset_cache.clear()
    _asset_cache[asset.id] = asset
    return asset


async def lock_virtual_asset_by_key(db: Database, key: int) -> LockedAsset | None:
    rows = await db.fetch(_LOCK, key)
    return next((copy_fields(LockedAsset, asset) for asset in await complete_assets(db, rows)), None)


async def read_assets(
    db: Database,
    organisation_id: UUID,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    after: UUID | None = None,
    limit: int = 100,
) -> list[VirtualAsset]:
    """The organisation's assets whose life overlaps the window, in the order of their ids."""
    rows = await db.fetch(
        LIST_ASSETS
        + """ where a.organisation_id = $1 and a.kind = 'VIRTUAL' and ($2::timestamptz is null or v.end_at > $2)
               and ($3::timestamptz is null or v.start_at < $3) and ($4::uuid is null or a.id > $4)
             order by a.id limit $5""",
        organisation_id,
        start,
        end,
        after,
        limit,
    )
    return await complete_assets(db, rows)


async def complete_assets(db: Database, rows: Sequence[asyncpg.Record]) -> list[VirtualAsset]:
    """Assets with their promises."""
    promises = await _read_promises(db, {row["key"]: row["id"] for row in rows})
    return [_read_asset_row(row, promises[row["key"]]) for row in rows]


def _read_asset_row(row: asyncpg.Record, promises: tuple[Promise, ...]) -> VirtualAsset:
    terms = read_row(
        AssetTerms,
        row,
        window=Window(row["start_at"], row["end_at"]),
        charge_kw=row["rated_charge_power_kw"],
        discharge_kw=row["rated_discharge_power_kw"],
        efficiency=Efficiency(row["charge_efficiency"], row["discharge_efficiency"]),
        backing=tuple(BackingShare(promise.physical_asset_id, promise.share) for promise in promises),
    )
    holds = _decode_holds(row["reserve_holds"])
    return read_row(
        VirtualAsset, row, terms=terms, promises=promises, holds=holds, periods=window_periods(terms.window)
    )


_HOLDS: Final = msgspec.json.Decoder(tuple[Block, ...])


def _decode_holds(text: str | None) -> tuple[Block, ...]:
    return () if text is None else _HOLDS.decode(text)


async def set_holds(db: Database, asset: LockedAsset, holds: Sequence[Block]) -> None:
    """The reserves that waiting orders hold back from now on."""
    await db.execute(
        "update virtual_asset set reserve_holds = $2, revision = revision + 1 where asset_key = $1",
        asset.key,
        msgspec.json.encode(holds).decode() if holds else None,
    )


_INSERT = NamedStatement("""
insert into virtual_asset (
  asset_key, organisation_id, portfolio_id, name, start_at, end_at, delivery_zone, eic_code, rated_charge_power_kw,
  rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency, daily_cycle_limit,
  annual_cycle_limit, ramp_rate_kw_s, gate_closure_s, initial_soc, final_soc_target, final_soc_tolerance, auction_id,
  created_at, version, end_kwh)
values (
  :asset_key, :organisation_id, :portfolio_id, :name, :start_at, :end_at, :delivery_zone, :eic_code,
  :rated_charge_power_kw, :rated_discharge_power_kw, :energy_capacity_kwh, :charge_efficiency, :discharge_efficiency,
  :daily_cycle_limit, :annual_cycle_limit, :ramp_rate_kw_s, :gate_closure_s, :initial_soc, :final_soc_target,
  :final_soc_tolerance, :auction_id, platform_now(), 1, :end_kwh)
returning created_at
""")


async def insert_asset(
    db: Database, asset_id: VirtualAssetID, organisation_id: UUID, terms: AssetTerms, promises: Sequence[Promise]
) -> LockedAsset:
    """Insert the asset at its first version with its promises; its first block follows."""
    key: int = await db.fetchval(
        "insert into asset (id, kind, organisation_id) values ($1, 'VIRTUAL', $2) returning key",
        asset_id,
        organisation_id,
    )
    if terms.auction_id is not None:
        await db.execute(
            "insert into auction_allocation (auction_id, asset_key) values ($1, $2)", terms.auction_id, key
        )
    initial_kwh = terms.initial_soc * terms.energy_capacity_kwh
    row = await _INSERT.fetchrow(
        db,
        terms,
        asset_key=key,
        organisation_id=organisation_id,
        start_at=terms.window.start,
        end_at=terms.window.end,
        rated_charge_power_kw=terms.charge_kw,
        rated_discharge_power_kw=terms.discharge_kw,
        charge_efficiency=terms.efficiency.charge,
        discharge_efficiency=terms.efficiency.discharge,
        end_kwh=initial_kwh,
    )
    await _insert_promises(db, key, promises)
    return LockedAsset(
        key=key,
        id=asset_id,
        organisation_id=OrganisationID(organisation_id),
        created_at=row["created_at"],
        terms=terms,
        version=1,
        end_kwh=initial_kwh,
        promises=tuple(promises),
    )


async def update_description(db: Database, asset: LockedAsset, name: str, portfolio_id: UUID | None) -> None:
    await db.execute(
        "update virtual_asset set name = $2, portfolio_id = $3, revision = revision + 1 where asset_key = $1",
        asset.key,
        name,
        portfolio_id,
    )


async def delete_asset(db: Database, asset: LockedAsset) -> bool:
    """Delete all rows of the asset; False if other rows refer to it, and then the transaction must roll back."""
    try:
        for statement in _DELETE_ASSET:
            await db.execute(statement, asset.key)
    except asyncpg.ForeignKeyViolationError:
        return False
    return True


_DELETE_ASSET = (
    "delete from schedule_adjustment where asset_key = $1",
    "delete from schedule_change where asset_key = $1",
    "delete from schedule_version where asset_key = $1",
    "delete from virtual_energy where asset_key = $1",
    "delete from virtual_schedule where asset_key = $1",
    "delete from virtual_block where asset_key = $1",
    "delete from virtual_backing where asset_key = $1",
    "delete from virtual_asset where asset_key = $1",
    "delete from asset where key = $1",
)


async def set_validated(db: Database, asset: LockedAsset, judged_until: int, first_misfit: int | None) -> None:
    await db.execute(
        """update virtual_asset set judged_until = $2, first_misfit = $3, revision = revision + 1
           where asset_key = $1""",
        asset.key,
        judged_until,
        first_misfit,
    )


_INSERT_PROMISE = NamedStatement("""
insert into virtual_backing (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw, energy_kwh)
values (:asset_key, :physical_asset_key, :position, :share, :charge_kw, :discharge_kw, :energy_kwh)
""")


async def _insert_promises(db: Database, key: int, promises: Sequence[Promise]) -> None:
    for position, promise in enumerate(promises):
        await _INSERT_PROMISE.execute(db, promise, asset_key=key, position=position)


async def version_at(db: Database, key: int, instant: datetime) -> int | None:
    """The version at an instant; None before the asset was allocated."""
    version: int | None = await db.fetchval(
        "select max(version) from schedule_version where asset_key = $1 and accepted_at <= $2", key, instant
    )
    return version
