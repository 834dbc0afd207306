"""The SQL of each kind of fact, composed once from its table of columns; no caller's text ever enters it."""
# ruff: noqa: S608 — every name below comes from model.py

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from gridloom.platform.database.statement import NamedStatement
from gridloom.settlements.measures import AGGREGATED_SOURCES, BLOCK_SOURCES, MEASURES, FactSource, measure_names
from gridloom.settlements.model import KIND_OF, Column, FactKind

_STAGED: Final = {"int": "int", "text": "text", "day": "int", "instant": "float8", "decimal": "bigint"}
_VALUE: Final = {
    "int": "u.{0}",
    "text": "u.{0}",
    "day": "date '1970-01-01' + u.{0}",
    "instant": "to_timestamp(nullif(u.{0}, 'NaN'))",
    "decimal": "u.{0} * 0.00000001",
}


MARKET_DAY: Final = "market_day"
"""Comes along with each period: PostgreSQL would take longer to find the day than to look the row up."""


def staging_table(kind: FactKind) -> str:
    return f"staged_{kind.table}"


@cache
def stage_statement(kind: FactKind) -> str:
    columns = ", ".join(f"{column.name} {_STAGED[column.form]} not null" for column in kind.columns)
    if kind.is_of_a_period:
        columns += f", {MARKET_DAY} int not null"
    return f"create temporary table {staging_table(kind)} ({columns}) on commit drop"


def _read_staged(column: Column) -> str:
    """A staged cell as the table has it."""
    value = _VALUE[column.form].format(column.name)
    return f"nullif({value}, '')" if column.is_nullable and column.form == "text" else value


@cache
def merge_statement(kind: FactKind) -> str:
    """Record a batch: archive the rows that change, write the new and the changed ones, say which days that touches.

    One statement, hence one snapshot; no conflict can arise because the batch's assets are locked before, and plain
    inserts cost half of those that must expect one. Reads what was copied into the staging table. Parameters: who, the
    origin of all rows, and the time; what the operator settled is not touched for any other.
    """
    names = ", ".join(column.name for column in kind.columns)
    keys = ", ".join(column.name for column in kind.key)
    staged = ", ".join(f"{_read_staged(column)} as {column.name}" for column in kind.columns)
    new_day = kind.day
    if kind.is_of_a_period:
        staged += f", date '1970-01-01' + u.{MARKET_DAY} as {MARKET_DAY}"
        new_day = f"f.{MARKET_DAY}"
    order = ", ".join(("asset_key", *kind.order))  # as the primary key has them
    values = ", ".join(column.name for column in kind.values)
    olds = ", ".join(f"t.{column.name}" for column in kind.values)
    news = ", ".join(f"s.{column.name}" for column in kind.values)
    kept = ", ".join(f"t.{column.name} as old_{column.name}" for column in kind.values)
    replaced = ", ".join(f"old_{column.name}" for column in kind.values)
    sets = ", ".join(f"{column.name} = s.{column.name}" for column in kind.values)
    same = " and ".join(f"t.{column.name} = s.{column.name}" for column in kind.key)
    by, origin, now = "$1::uuid", "$2::text", "$3::timestamptz"
    return f"""
        with staged as (select {staged} from pg_temp.{staging_table(kind)} u),
        changing as materialized (
          select s.*, t.asset_key is not null as is_known, {kept},
            t.recorded_at as old_recorded_at, t.recorded_by as old_recorded_by, t.origin as old_origin
          from staged s left join {kind.table} t using ({keys})
          where t.asset_key is null
            or (t.origin <> 'OPERATOR' or {origin} = 'OPERATOR')
              and ({olds}, t.origin) is distinct from ({news}, {origin})),
        archived as (
          insert into {kind.table}_superseded
            ({keys}, {values}, recorded_at, recorded_by, origin, superseded_at, superseded_by)
          select {keys}, {replaced}, old_recorded_at, old_recorded_by, old_origin, {now}, {by}
          from changing where is_known),
        replaced as (
          update {kind.table} t set {sets}, recorded_at = {now}, recorded_by = {by}, origin = {origin}
          from changing s where s.is_known and {same}),
        inserted as (
          insert into {kind.table} ({names}, recorded_at, recorded_by, origin)
          select {names}, {now}, {by}, {origin} from changing where not is_known order by {order}),
        change as (
          select f.asset_key, {new_day} as day, {kind.start} as start_at, {kind.end} as end_at,
            1 as written, f.is_known::int as replaced
          from changing f {_left_behind(kind)})
        select asset_key, day, min(start_at) as start, max(end_at) as "end",
          sum(written)::int as written, sum(replaced)::int as replaced
        from change group by asset_key, day order by asset_key, day
    """


def _left_behind(kind: FactKind) -> str:
    """The time that changing facts were about before, where a correction can move them."""
    if kind.is_known_by_its_time:
        return ""
    was = ", ".join(f"old_{column.name} as {column.name}" for column in kind.values)
    return f"""
          union all
          select f.asset_key, {kind.day}, {kind.start}, {kind.end}, 0, 0
          from (select asset_key, {was} from changing where is_known) f
    """


LOCK_ASSETS: Final = """
    insert into settled_asset as a (asset_key)
    select key from unnest($1::int[]) as asked(key) order by key
    on conflict (asset_key) do update set revision = a.revision + 1
"""
"""Insert-or-touch takes the lock, in the order of the keys, so that two batches never wait for each other in a ring."""


@dataclass(frozen=True, slots=True)
class _Summary:
    """How the facts of a source add up: by which column, its index in the day, and one exact sum a measure."""

    table: str
    by: str
    index: str
    sums: tuple[str, ...]


_PERIOD: Final = ("f.period", "(date_part('epoch', f.period)::bigint - asked.start_s) / 900")
_BLOCK: Final = ("substring(f.product from '_([0-9]{2})_')", "substring(f.product from '_([0-9]{2})_')::int / 4")

_SUMMARIES: Final = {
    FactSource.WHOLESALE: _Summary(
        "wholesale_trade",
        *_PERIOD,
        (
            "sum(f.volume_mwh) filter (where f.side = 'BUY')",
            "sum(f.volume_mwh * f.price_eur_mwh) filter (where f.side = 'BUY')",
            "sum(f.volume_mwh) filter (where f.side = 'SELL')",
            "sum(f.volume_mwh * f.price_eur_mwh) filter (where f.side = 'SELL')",
        ),
    ),
    FactSource.NET_OFF: _Summary("net_off", *_PERIOD, ("sum(f.volume_mwh)",)),
    FactSource.FCR: _Summary(
        "fcr_award",
        *_BLOCK,
        (
            "sum(f.capacity_mw * f.price_eur_mw_h * f.delivery_h)",
            "sum(f.capacity_mw * f.delivery_h)",
            "sum(f.price_eur_mw_h * f.delivery_h)",
            "sum(f.delivery_h)",
        ),
    ),
    FactSource.AFRR_CAPACITY: _Summary(
        "afrr_capacity_award", *_BLOCK, ("sum(f.capacity_mw * f.price_eur_mw_h * f.delivery_h)",)
    ),
    FactSource.AFRR_ENERGY: _Summary(
        "afrr_activation",
        *_PERIOD,
        (
            "sum(f.volume_mwh) filter (where f.direction = 'POS')",
            "sum(f.volume_mwh * f.price_eur_mwh) filter (where f.direction = 'POS')",
            "sum(f.volume_mwh) filter (where f.direction = 'NEG')",
            "sum(f.volume_mwh * f.price_eur_mwh) filter (where f.direction = 'NEG')",
        ),
    ),
}


@cache
def summary_statement(source: FactSource, *, as_of: bool = False) -> str:
    """The sums of an asset's days from their facts: for each one indices and measures as fixed-width binary records.

    Lateral, so that each day is one walk along the index however large the table is and whatever the planner believes
    of ranges. Parameters: the asset's key, arrays of days, and of the days' starts and ends in seconds since 1970;
    then the instant as of which. Summed as numeric, rounded to a double once.
    """
    summary = _SUMMARIES[source]
    table = _select_known(summary.table, "$5", "asset_key = $1") if as_of else summary.table
    within = "f.period >= to_timestamp(asked.start_s) and f.period < to_timestamp(asked.end_s)"
    if source in BLOCK_SOURCES:
        within = "f.delivery_day = asked.day"
    sums = ", ".join(f"coalesce(({term})::float8, 0) as m{n}" for n, term in enumerate(summary.sums))
    record = " || ".join(["int4send(index::int)", *(f"float8send(m{n})" for n in range(len(summary.sums)))])
    return f"""
        select asked.number::int - 1 as number, found.records
        from unnest($2::date[], $3::bigint[], $4::bigint[]) with ordinality as asked(day, start_s, end_s, number)
        cross join lateral (
          select string_agg({record}, ''::bytea) as records
          from (
            select {summary.index} as index, {sums}
            from {table} f where f.asset_key = $1 and {within}
            group by {summary.by}
          ) summed
        ) found
        where found.records is not null
    """


def _select_known(table: str, instant: str, of: str) -> str:
    return (
        f"(select * from {table}_version"
        f" where {of} and recorded_at <= {instant} and (superseded_at is null or superseded_at > {instant}))"
    )


@cache
def starts_statement(source: FactSource, *, as_of: bool = False) -> str:
    """The starts of the periods or blocks of which there are facts, in seconds since 1970.

    Parameters: asset keys, the first day and the one after the last; then the instant as of which.
    """
    kind = KIND_OF[source]
    table = _select_known(kind.table, "$4", "asset_key = any($1::int[])") if as_of else kind.table
    within = "f.delivery_day >= $2::date and f.delivery_day < $3::date"
    if kind.is_of_a_period:
        first, last = (f"({day}::date::timestamp at time zone 'Europe/Berlin')" for day in ("$2", "$3"))
        within = f"f.period >= {first} and f.period < {last}"
    return f"""
        select date_part('epoch', start_at)::bigint
        from (select distinct {kind.start} as start_at from {table} f
              where f.asset_key = any($1::int[]) and {within}) started
        order by 1
    """


@cache
def store_period_aggregates_statement(source: FactSource) -> str:
    """Parameters: arrays of asset keys, days and sheets."""
    return f"""
        insert into settled_periods as t (asset_key, day, {source.value})
        select * from unnest($1::int[], $2::date[], $3::bytea[])
        on conflict (asset_key, day) do update set {source.value} = excluded.{source.value}
    """


@cache
def store_daily_sums_statement(source: FactSource) -> NamedStatement:
    """Arrays of asset keys, of days and, by its name, of each measure of the source."""
    names = measure_names(source)
    arrays = ", ".join(f":{name}::float8[]" for name in names)
    sets = ", ".join(f"{name} = excluded.{name}" for name in (*names, "revised_at"))
    return NamedStatement(f"""
        insert into settled_day as t (asset_key, day, {", ".join(names)}, revised_at)
        select u.*, :now::timestamptz from unnest(:keys::int[], :days::date[], {arrays}) u
        on conflict (asset_key, day) do update set {sets}
    """)


def _edge_days(edge: str) -> str:
    """The first or last (`min`, `max`) days of an asset in the tables of facts and of stored sums; index look-ups."""
    edges = [f"(select {edge}(day) from {table} where asset_key = $1)" for table in ("settled_day", "settled_periods")]
    for source in AGGREGATED_SOURCES:
        kind = KIND_OF[source]
        column = "period" if kind.is_of_a_period else "delivery_day"
        day = f"({edge}({column}) at time zone 'Europe/Berlin')::date" if kind.is_of_a_period else f"{edge}({column})"
        edges.append(f"(select {day} from {kind.table} where asset_key = $1)")
    return ", ".join(edges)


EDGE_DAYS: Final = f"""
    select least({_edge_days("min")}) as first_day, greatest({_edge_days("max")}) as last_day
"""
"""Parameter: the asset's key."""

STORED_DAYS: Final = f"""
    select day, {", ".join(f"d.{measure.name}" for measure in MEASURES)},
      {", ".join(f"p.{source.value}" for source in AGGREGATED_SOURCES)}
    from (select * from settled_day where asset_key = $1 and day between $2 and $3) d
    full join (select * from settled_periods where asset_key = $1 and day between $2 and $3) p using (day)
"""
"""Parameters: the asset's key, the first and the last day."""


@cache
def list_statement(
    kind: FactKind, *, of_assets: bool, all_versions: bool, as_of: bool, goes_on: bool
) -> NamedStatement:
    """Facts in the order of their asset and time or key, each with the public id of its asset.

    Only the conditions that are asked for are in it, so that the index gives the order; a page's position is named as
    its columns are.
    """
    order = ", ".join(f"f.{name}" for name in kind.list_order)
    conditions = [
        f"(:start::timestamptz is null or {kind.end} > :start)",
        f"(:end::timestamptz is null or {kind.start} < :end)",
    ]
    if of_assets:
        conditions.append("f.asset_key = any(:asset_keys::int[])")
    if as_of:
        conditions.append("f.recorded_at <= :as_of and (f.superseded_at is null or f.superseded_at > :as_of)")
    if goes_on:
        conditions.append(f"({order}) > ({', '.join(f':{name}' for name in kind.list_order)})")
    source = f"{kind.table}_version"
    if not (all_versions or as_of):
        source = f"(select *, null::timestamptz as superseded_at, null::uuid as superseded_by from {kind.table})"
    return NamedStatement(f"""
        select f.*, a.id as asset_id
        from (select * from {source} f where {" and ".join(conditions)} order by {order} limit :limit) f
        join asset a on a.key = f.asset_key
        order by {order}
    """)
