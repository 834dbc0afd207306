"""The inputs of a zone's plan, read in bulk from PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.kernel.balancing import PRODUCT_OF_BLOCK, ReserveProduct
from gridloom.market_calendar import (
    DAYS_PER_SUMMARY_ROW,
    PERIODS_PER_DAY,
    Floats,
    Ints,
    first_period_of_utc_day,
    utc_day_of,
    utc_days_of,
)
from gridloom.monitoring.query.latest import unpack
from gridloom.platform.database.keyed import fetch_by_keys
from gridloom.platform.database.pool import Database


async def read_assets_to_cut(db: Database, zone: str, closed_until: int) -> list[int]:
    """The virtual assets of the zone with periods that no longer fit and whose gates have closed, in their order."""
    rows = await db.fetch(
        """select asset_key from virtual_asset where delivery_zone = $1 and first_misfit < $2
             and end_at > to_timestamp(first_misfit::bigint * 900)
           order by asset_key""",
        zone,
        closed_until,
    )
    return [row["asset_key"] for row in rows]


async def limit_lock_wait(db: Database, seconds: float) -> None:
    """From here to the end of the transaction."""
    await db.execute("select set_config('lock_timeout', $1, true)", str(round(1000 * seconds)))


@dataclass(frozen=True, slots=True)
class ActiveAsset:
    """The fields of a virtual asset that is alive in the window; life in the periods [first, end)."""

    key: int
    first: int
    end: int
    charge_efficiency: float
    discharge_efficiency: float
    first_misfit: int | None
    first_activated: int | None
    capacity_kwh: float
    initial_kwh: float
    target_kwh: float
    daily_cycle_limit: float | None
    annual_cycle_limit: float | None


async def read_active_assets(db: Database, zone: str, start: datetime, end: datetime) -> list[ActiveAsset]:
    rows = await db.fetch(
        """select asset_key as key, (extract(epoch from start_at) / 900)::int as first,
                  (extract(epoch from end_at) / 900)::int as "end", charge_efficiency, discharge_efficiency,
                  first_misfit, first_activated, energy_capacity_kwh as capacity_kwh,
                  initial_soc * energy_capacity_kwh as initial_kwh,
                  final_soc_target * energy_capacity_kwh as target_kwh, daily_cycle_limit, annual_cycle_limit
           from virtual_asset where delivery_zone = $1 and end_at > $2 and start_at < $3 order by asset_key""",
        zone,
        start,
        end,
    )
    return [ActiveAsset(**row) for row in rows]


async def read_assets(db: Database, keys: Sequence[int]) -> list[ActiveAsset]:
    """In the order of their keys."""
    rows = await db.fetch(
        """select asset_key as key, (extract(epoch from start_at) / 900)::int as first,
                  (extract(epoch from end_at) / 900)::int as "end", charge_efficiency, discharge_efficiency,
                  first_misfit, first_activated, energy_capacity_kwh as capacity_kwh,
                  initial_soc * energy_capacity_kwh as initial_kwh,
                  final_soc_target * energy_capacity_kwh as target_kwh, daily_cycle_limit, annual_cycle_limit
           from virtual_asset where asset_key = any($1::int[]) order by asset_key""",
        list(keys),
    )
    return [ActiveAsset(**row) for row in rows]


async def read_holdings_digest(db: Database, keys: Sequence[int], first: int, end: int) -> Ints:
    """For each battery in its order, a number made of all that auctions and bids hold of it in these periods: another
    where anything of that is another. What a holder is created with, its kind and its losses, is in its row of its id.

    What virtual assets hold never changes after they were created: the same assets hold the same.
    """
    rows = await db.fetch(
        """select asset_key, bit_xor(hash_record_extended(row(holder_id, first_period, end_period, charge_kw,
                    discharge_kw, energy_kwh, is_firm), 0)) as mark
           from capacity_holding
           where asset_key = any($1::int[]) and end_period > $2 and first_period < $3 and kind <> 'VIRTUAL_ASSET'
           group by asset_key""",
        list(keys),
        first,
        end,
    )
    marks = {row["asset_key"]: row["mark"] for row in rows}
    return np.array([marks.get(key, 0) for key in keys], dtype=np.int64)


async def read_powers_kw(db: Database, keys: Sequence[int], first: int, end: int) -> Floats:
    """All lanes together of each asset, a row for each key in its order."""
    days = utc_days_of(first, end)
    rows = await db.fetch(
        """select asset_key, day, array_send(power_kw) as power_kw from virtual_schedule
           where asset_key = any($1::int[]) and day >= $2 and day < $3 order by asset_key, day, lane""",
        list(keys),
        days.start,
        days.stop,
    )
    indices = {key: index for index, key in enumerate(keys)}
    columns = [(indices[key], day - days.start) for key, day, _ in rows]
    power_kw = np.zeros((len(keys), len(days), PERIODS_PER_DAY))
    np.add.at(
        power_kw, tuple(np.array(columns, dtype=np.int64).reshape(-1, 2).T), _decode_days([row[2] for row in rows])
    )
    offset = first - first_period_of_utc_day(days.start)
    return power_kw.reshape(len(keys), len(days) * PERIODS_PER_DAY)[:, offset : offset + end - first]


_SENT_PERIOD: Final = np.dtype([("length", ">i4"), ("value", ">f8")])
_ARRAY_HEAD_BYTES: Final = 20


def _decode_days(sent: Sequence[bytes]) -> Floats:
    """Arrays of a day's periods as PostgreSQL sends them: behind a head each number comes with its length."""
    body = b"".join([one[_ARRAY_HEAD_BYTES:] for one in sent])
    return np.frombuffer(body, _SENT_PERIOD)["value"].astype(np.float64).reshape(-1, PERIODS_PER_DAY)


async def read_energy_changes_kwh(db: Database, keys: Sequence[int], before_day: int) -> Floats:
    """The change of each asset's energy by the schedules of all days before this one (of UTC)."""
    rows = await db.fetch(
        "select asset_key, span, change_kwh from virtual_energy where asset_key = any($1::int[]) and span <= $2",
        list(keys),
        before_day // DAYS_PER_SUMMARY_ROW,
    )
    indices = {key: index for index, key in enumerate(keys)}
    changes_kwh = np.zeros(len(keys))
    for row in rows:
        changes_kwh[indices[row["asset_key"]]] += sum(
            row["change_kwh"][: before_day - row["span"] * DAYS_PER_SUMMARY_ROW]
        )
    return changes_kwh


async def read_activated_changes_kwh(db: Database, assets: Sequence[ActiveAsset], before: int) -> Floats:
    """The change of each asset's energy by settled activations before a period."""
    changes_kwh = np.zeros(len(assets))
    indices = {one.key: index for index, one in enumerate(assets) if one.first_activated is not None}
    if not indices:
        return changes_kwh
    for row in await db.fetch(
        """select asset_key, day, up_kwh, down_kwh from virtual_activation
           where asset_key = any($1::int[]) and day <= $2""",
        list(indices),
        utc_day_of(before),
    ):
        index, count = indices[row["asset_key"]], before - first_period_of_utc_day(row["day"])
        asset = assets[index]
        up_kwh, down_kwh = sum(row["up_kwh"][:count]), sum(row["down_kwh"][:count])
        changes_kwh[index] += down_kwh * asset.charge_efficiency - up_kwh / asset.discharge_efficiency
    return changes_kwh


@dataclass(frozen=True, slots=True)
class BackingRow:
    asset_key: int
    physical_asset_key: int
    share: float


async def read_backing(db: Database, keys: Sequence[int]) -> list[BackingRow]:
    rows = await db.fetch(
        """select asset_key, physical_asset_key, share from virtual_backing where asset_key = any($1::int[])
           order by asset_key, physical_asset_key""",
        list(keys),
    )
    return [BackingRow(**row) for row in rows]


@dataclass(frozen=True, slots=True)
class Reserve:
    """Balancing capacity held in reserve, over the periods `first` up to but not `end`; kW of an asset, by market, and
    for how many hours of it there must be energy or room in the store."""

    asset_key: int
    market: str
    first: int
    end: int
    power_kw: float
    reserve_h: float


async def read_block_reserves(db: Database, keys: Sequence[int], first: int, end: int) -> list[Reserve]:
    """The FCR and aFRR blocks of virtual assets."""
    rows = await db.fetch(
        """select asset_key, market, first_period as first, end_period as "end",
                  greatest(charge_kw, discharge_kw) as power_kw, reserve_minutes / 60 as reserve_h
           from virtual_block
           where asset_key = any($1::int[]) and until_version is null and market = any($4::text[])
             and end_period > $2 and first_period < $3
           order by asset_key, first_period, lane""",
        list(keys),
        first,
        end,
        list(ReserveProduct),
    )
    return [Reserve(**row) for row in rows]


async def read_awarded_reserves(db: Database, keys: Sequence[int], start: datetime, end: datetime) -> list[Reserve]:
    """Accepted balancing capacity of batteries themselves, by their latest results; block products only."""
    rows = await db.fetch(
        """
        with latest as (
          select distinct on (r.asset_key, r.bid_id, r.delivery_day, r.product)
                 r.asset_key, r.product, r.accepted, r.accepted_capacity_kw, b.delivery_start, b.delivery_end,
                 h.energy_kwh / nullif(h.charge_kw + h.discharge_kw, 0) as reserve_h
          from ancillary_result r join ancillary_bid b on b.asset_key = r.asset_key and b.id = r.bid_id
          left join capacity_holding h on h.asset_key = r.asset_key and h.holder_id = r.bid_id
          where r.asset_key = any($1::int[]) and b.delivery_end > $2 and b.delivery_start < $3
            and r.product = any($4::text[])
          order by r.asset_key, r.bid_id, r.delivery_day, r.product, r.revision desc
        )
        select asset_key, product,
               (extract(epoch from delivery_start) / 900)::int as first,
               (extract(epoch from delivery_end) / 900)::int as "end",
               sum(accepted_capacity_kw) as power_kw,
               coalesce(sum(accepted_capacity_kw * reserve_h) / sum(accepted_capacity_kw), 0) as reserve_h
        from latest where accepted and accepted_capacity_kw > 0
        group by 1, 2, 3, 4 order by 1, 2, 3
        """,
        list(keys),
        start,
        end,
        list(PRODUCT_OF_BLOCK),
    )
    return [Reserve(market=PRODUCT_OF_BLOCK[row.pop("product")], **row) for row in map(dict, rows)]


@dataclass(frozen=True, slots=True)
class PhysicalParameters:
    """In force from a period on."""

    asset_key: int
    valid_from: datetime
    charge_efficiency: float
    discharge_efficiency: float
    min_soc: float
    max_soc: float
    ramp_rate_kw_s: float | None
    daily_cycle_limit: float | None
    annual_cycle_limit: float | None


async def read_parameters(db: Database, keys: Sequence[int], end: datetime) -> list[PhysicalParameters]:
    """All that came into force before the end, in the order of time."""
    rows = await db.fetch(
        """select asset_key, valid_from, charge_efficiency, discharge_efficiency,
                  min_state_of_charge as min_soc, max_state_of_charge as max_soc, ramp_rate_kw_s,
                  daily_cycle_limit, annual_cycle_limit
           from parameters_in_force where asset_key = any($1::int[]) and valid_from < $2
           order by asset_key, valid_from""",
        list(keys),
        end,
    )
    return [PhysicalParameters(**row) for row in rows]


@dataclass(frozen=True, slots=True)
class BatteryIdentity:
    """Who a battery is, and whose."""

    key: int
    id: UUID
    organisation_id: UUID


async def read_batteries(db: Database, keys: Sequence[int]) -> list[BatteryIdentity]:
    rows = await db.fetch(
        "select key, id, organisation_id from asset where key = any($1::int[]) order by key", list(keys)
    )
    return [BatteryIdentity(**row) for row in rows]


async def read_delivery_zone(db: Database, key: int) -> str | None:
    """Of a battery; None where it is gone."""
    zone: str | None = await db.fetchval("select delivery_zone from physical_asset where asset_key = $1", key)
    return zone


async def read_own_kw(db: Database, keys: Sequence[int], first: int, end: int) -> Floats:
    """The owners' schedules, a row for each key in its order."""
    indices = {key: index for index, key in enumerate(keys)}
    own_kw = np.zeros((len(keys), end - first))
    for row in await db.fetch(
        """select asset_key, (extract(epoch from period) / 900)::int - $2 as index, power_kw from physical_schedule
           where asset_key = any($1::int[]) and period >= to_timestamp($2::bigint * 900)
             and period < to_timestamp($3::bigint * 900)""",
        list(keys),
        first,
        end,
    ):
        own_kw[indices[row["asset_key"]], row["index"]] = row["power_kw"]
    return own_kw


async def read_drift_kw(db: Database, keys: Sequence[int], first: int, end: int) -> Floats:
    """Drift that is placed on the market, a row for each key in its order."""
    indices = {key: index for index, key in enumerate(keys)}
    drift_kw = np.zeros((len(keys), end - first))
    for row in await db.fetch(
        """select asset_key, first_period, power_kw from delivery_drift
           where asset_key = any($1::int[]) and first_period < $3 and first_period + cardinality(power_kw) > $2""",
        list(keys),
        first,
        end,
    ):
        placed_kw = np.array(row["power_kw"])
        low, high = max(first, row["first_period"]), min(end, row["first_period"] + len(placed_kw))
        offset = row["first_period"]
        drift_kw[indices[row["asset_key"]], low - first : high - first] = placed_kw[low - offset : high - offset]
    return drift_kw


async def read_measured_keys(db: Database, since: datetime, zone: str | None = None) -> dict[str, list[int]]:
    """By zone, or in one, the batteries whose power was measured at some instant from then on."""
    rows = await db.fetch(
        """select p.delivery_zone, h.asset_key, s.signal_id, h.latest
           from telemetry_head h join telemetry_signal s on s.asset_key = h.asset_key
             join physical_asset p on p.asset_key = h.asset_key
           where ($1::text is null or p.delivery_zone = $1) and s.name = 'active_power'
           order by h.asset_key""",
        zone,
    )
    since_us = int(since.timestamp() * 1_000_000)
    measured: dict[str, list[int]] = {}
    for row in rows:
        known = unpack(row["latest"])
        if len(known) > row["signal_id"] and known["time"][row["signal_id"]] >= since_us:
            measured.setdefault(row["delivery_zone"], []).append(row["asset_key"])
    return measured


async def read_states_of_charge(db: Database, keys: Sequence[int], since: datetime) -> dict[int, float]:
    """The last measured state of charge (%) of each battery that has sent any telemetry from then on."""
    rows = await fetch_by_keys(
        db,
        """select h.asset_key, s.signal_id, h.latest
           from telemetry_head h join telemetry_signal s on s.asset_key = h.asset_key
           where h.asset_key = any($1::int[]) and s.name = 'state_of_charge'""",
        keys,
    )
    since_us = int(since.timestamp() * 1_000_000)
    charges = {}
    for key, signal_id, latest in rows:
        known = unpack(latest)
        if len(known) > signal_id and known["time"].max() > since_us:
            charges[key] = float(known["value"][signal_id])
    return charges


async def read_backed_shares(db: Database, physical_asset_key: int, first: int, end: int) -> list[BackingRow]:
    """The virtual assets that a battery backs and that live in the periods."""
    rows = await db.fetch(
        """select b.asset_key, b.physical_asset_key, b.share
           from virtual_backing b join virtual_asset v using (asset_key)
           where b.physical_asset_key = $1 and v.end_at > to_timestamp($2::bigint * 900)
             and v.start_at < to_timestamp($3::bigint * 900)
           order by b.asset_key""",
        physical_asset_key,
        first,
        end,
    )
    return [BackingRow(**row) for row in rows]
