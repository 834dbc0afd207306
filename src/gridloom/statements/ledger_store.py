"""The inputs of statements, in PostgreSQL: assets of a month, what was accounted for them, what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from gridloom.kernel.market_time import market_days_in, period_start
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.statements.model import Month, NamedAsset

AssetMonth = tuple[int, Month]


@dataclass(frozen=True, slots=True)
class AssetOwner:
    key: int
    is_virtual: bool
    organisation_id: UUID
    """Of a virtual asset its holder."""


async def list_assets(db: Database, keys: Sequence[int] | None, window: Window) -> list[AssetOwner]:
    """Batteries, and virtual assets whose life touches the window; of these keys, or all."""
    rows = await db.fetch(
        "select key, kind, organisation_id from asset where $1::int[] is null or key = any($1) order by key",
        None if keys is None else list(keys),
    )
    virtual = [row["key"] for row in rows if row["kind"] == "VIRTUAL"]
    alive = {
        row["asset_key"]
        for row in await db.fetch(
            "select asset_key from virtual_asset where asset_key = any($1::int[]) and end_at > $2 and start_at < $3",
            virtual,
            window.start,
            window.end,
        )
    }
    return [
        AssetOwner(row["key"], row["kind"] == "VIRTUAL", row["organisation_id"])
        for row in rows
        if row["kind"] != "VIRTUAL" or row["key"] in alive
    ]


async def read_related_keys(db: Database, organisation_id: UUID) -> list[int]:
    """Of all assets whose amounts an organisation takes part in: its own, and virtual ones on its batteries and on
    those that these stood in for."""
    own = await db.fetch("select key, kind from asset where organisation_id = $1", organisation_id)
    batteries = [row["key"] for row in own if row["kind"] == "PHYSICAL"]
    helped = await db.fetch("select distinct asset_key from battery_failure where helper_keys && $1::int[]", batteries)
    backed = await db.fetch(
        "select distinct asset_key from virtual_backing where physical_asset_key = any($1::int[])",
        sorted({*batteries, *(row["asset_key"] for row in helped)}),
    )
    return sorted({row["key"] for row in own} | {row["asset_key"] for row in backed})


async def read_named_assets(db: Database, keys: Sequence[int]) -> dict[int, NamedAsset]:
    """By key."""
    rows = await db.fetch(
        """select a.key, a.id, false as is_virtual, p.name, p.delivery_zone
           from asset a join physical_asset p on p.asset_key = a.key where a.key = any($1::int[])
           union all
           select a.key, a.id, true, v.name, v.delivery_zone
           from asset a join virtual_asset v on v.asset_key = a.key where a.key = any($1::int[])""",
        list(keys),
    )
    return {row["key"]: NamedAsset(row["id"], row["is_virtual"], row["name"], row["delivery_zone"]) for row in rows}


async def read_first_day(db: Database, keys: Sequence[int]) -> date | None:
    """Before which none of these assets can have an amount."""
    rows = await db.fetch(
        """select min((start_at at time zone 'Europe/Berlin')::date) as day from virtual_asset
           where asset_key = any($1::int[])
           union all
           select min(day) from settled_day where asset_key = any($1::int[])
           union all
           select min((start_at at time zone 'Europe/Berlin')::date) from tolling_contract
           where asset_key = any($1::int[])
           union all
           select min(day) from measured_day where asset_key = any($1::int[])""",
        list(keys),
    )
    days = [row["day"] for row in rows if row["day"] is not None]
    return min(days, default=None)


async def read_accounts(db: Database, month: Month, keys: Sequence[int]) -> dict[int, bytes]:
    """The amounts accounted last for these assets of a month."""
    rows = await db.fetch(
        """select distinct on (asset_key) asset_key, body from statement_account
           where asset_key = any($1::int[]) and month = $2 order by asset_key, as_of desc""",
        list(keys),
        month.first_day,
    )
    return {row["asset_key"]: row["body"] for row in rows}


async def add_accounts(db: Database, as_of: datetime, rows: Iterable[tuple[int, Month, bytes]]) -> None:
    await db.executemany(
        "insert into statement_account (asset_key, month, as_of, body) values ($1, $2, $3, $4)",
        [(key, month.first_day, as_of, body) for key, month, body in rows],
    )


# --- what has changed since an instant --------------------------------------------------------------------------------


async def find_changed(db: Database, keys: Sequence[int], months: Sequence[Month], since: datetime) -> set[AssetMonth]:
    """Of these assets and issued months, those of which any fact was recorded after an instant; rather one too many."""
    if not months or not keys:
        return set()
    wanted, start, end = set(months), months[0].window.start, months[-1].window.end
    changed = {(key, month) for key, month in await _find_changed_days(db, keys, months, since) if month in wanted}
    windows = await _find_changed_windows(db, keys, since, start, end)
    for key, window in windows + await _find_changed_failures(db, keys, since, start, end):
        touched = Window(max(window.start, start), min(window.end, end))
        if touched.start < touched.end:
            changed |= {(key, Month(day.replace(day=1))) for day in market_days_in(touched)} & {
                (key, month) for month in wanted
            }
    changed |= {
        (key, month) for month in await _find_repriced(db, since, start, end) if month in wanted for key in keys
    }
    return changed | await _find_batteries_behind(db, keys, changed)


async def _find_changed_days(
    db: Database, keys: Sequence[int], months: Sequence[Month], since: datetime
) -> list[AssetMonth]:
    """Settled facts, what was measured, and telemetry that waits to be measured."""
    rows = await db.fetch(
        """select distinct asset_key, date_trunc('month', day)::date as month from settled_day
           where asset_key = any($1::int[]) and day >= $2 and day < $3 and revised_at > $4
           union all
           select distinct asset_key, date_trunc('month', day)::date from measured_day
           where asset_key = any($1::int[]) and day >= $2 and day < $3 and recorded_at > $4
           union all
           select distinct asset_key, date_trunc('month', day)::date from telemetry_segment
           where asset_key = any($1::int[]) and day >= $2 and day < $3""",
        list(keys),
        months[0].first_day,
        months[-1].following.first_day,
        since,
    )
    return [(row["asset_key"], Month(row["month"])) for row in rows]


async def _find_changed_windows(
    db: Database, keys: Sequence[int], since: datetime, start: datetime, end: datetime
) -> list[tuple[int, Window]]:
    """Tolls, rated power, dispatch, reserve that was not held, and schedules: over which time they changed."""
    rows = await db.fetch(
        """select asset_key, start_at, end_at from tolling_contract_version
           where asset_key = any($1::int[]) and (recorded_at > $2 or superseded_at > $2)
             and start_at < $4 and end_at > $3
           union all
           select asset_key, valid_from, $4::timestamptz from physical_asset_parameters
           where asset_key = any($1::int[]) and recorded_at > $2 and valid_from < $4
           union all
           select asset_key, to_timestamp(first_period::bigint * 900), to_timestamp(end_period::bigint * 900)
           from dispatch_version
           where asset_key = any($1::int[]) and recorded_at > $2 and first_period < extract(epoch from $4) / 900
           union all
           select distinct asset_key, to_timestamp(period::bigint * 900), to_timestamp((period + 1)::bigint * 900)
           from reserve_shortfall
           where asset_key = any($1::int[]) and recorded_at > $2
             and period >= extract(epoch from $3) / 900 and period < extract(epoch from $4) / 900""",
        list(keys),
        since,
        start,
        end,
    )
    found = [(row["asset_key"], Window(row["start_at"], row["end_at"])) for row in rows]
    changes = await db.fetch(
        """select c.asset_key, c.first_period, c.end_period
           from schedule_version v join schedule_change c on c.asset_key = v.asset_key and c.version = v.version
           where v.asset_key = any($1::int[]) and v.accepted_at > $2
             and c.first_period < extract(epoch from $3::timestamptz) / 900""",
        list(keys),
        since,
        end,
    )
    return found + [
        (row["asset_key"], Window(period_start(row["first_period"]), period_start(row["end_period"])))
        for row in changes
    ]


async def _find_changed_failures(
    db: Database, keys: Sequence[int], since: datetime, start: datetime, end: datetime
) -> list[tuple[int, Window]]:
    """When batteries failed otherwise than was recorded before: of them, and of the virtual assets on them."""
    backing = await db.fetch(
        "select asset_key, physical_asset_key from virtual_backing where asset_key = any($1::int[])", list(keys)
    )
    concerned: dict[int, set[int]] = {key: {key} for key in keys}
    for row in backing:
        concerned.setdefault(row["physical_asset_key"], set()).add(row["asset_key"])
    rows = await db.fetch(
        """select distinct asset_key, period from battery_failure
           where asset_key = any($1::int[]) and (recorded_at > $2 or superseded_at > $2)
             and period >= extract(epoch from $3::timestamptz) / 900
             and period < extract(epoch from $4::timestamptz) / 900""",
        sorted(concerned),
        since,
        start,
        end,
    )
    return [
        (key, Window(period_start(row["period"]), period_start(row["period"] + 1)))
        for row in rows
        for key in concerned[row["asset_key"]]
    ]


async def _find_repriced(db: Database, since: datetime, start: datetime, end: datetime) -> set[Month]:
    """Months with an imbalance price that was published or replaced after the instant: all their assets change."""
    rows = await db.fetch(
        """select distinct date_trunc('month', start_at at time zone 'Europe/Berlin')::date as month
           from reference_price_version
           where series = 'REBAP_DE' and (recorded_at > $1 or superseded_at > $1)
             and start_at >= $2 and start_at < $3""",
        since,
        start,
        end,
    )
    return {Month(row["month"]) for row in rows}


async def _find_batteries_behind(db: Database, keys: Sequence[int], changed: set[AssetMonth]) -> set[AssetMonth]:
    """Of the given keys: what was activated of a virtual asset is no imbalance of its batteries."""
    rows = await db.fetch(
        """select asset_key, physical_asset_key from virtual_backing
           where asset_key = any($1::int[]) and physical_asset_key = any($2::int[])""",
        sorted({key for key, _ in changed}),
        list(keys),
    )
    batteries: dict[int, list[int]] = {}
    for row in rows:
        batteries.setdefault(row["asset_key"], []).append(row["physical_asset_key"])
    return {(battery, month) for key, month in changed for battery in batteries.get(key, ())}


def by_month(changed: Iterable[AssetMonth]) -> Mapping[Month, list[int]]:
    found: dict[Month, list[int]] = {}
    for key, month in sorted(changed, key=lambda one: (one[1], one[0])):
        found.setdefault(month, []).append(key)
    return found
