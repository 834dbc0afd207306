"""The ratings, outages and firm holdings of batteries as one JSON text, for statements that read more besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import Struct

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.platform.database.pool import Database
from gridloom.platform.database.statement import NamedStatement, compose

# Read from the tables: the view's choice of ratings, and its many nulls, cost more than all the rest. The nodes of a
# distributed database exchange no whole rows.
_RATING: Final = """json_build_array('RATING', p.asset_key, p.version, json_build_array(p.valid_from,
  p.rated_charge_power_kw, p.rated_discharge_power_kw, p.energy_capacity_kwh, p.fcr_limit_ratio, p.charge_efficiency,
  p.discharge_efficiency, p.max_state_of_charge - p.min_state_of_charge))::text"""
_OUTAGE: Final = """json_build_array('OUTAGE', u.asset_key, json_build_array(u.starts_at, u.ends_at, u.charge_power_kw,
  u.discharge_power_kw, u.energy_kwh))::text"""
_HOLDING: Final = """json_build_array('HOLDING', h.asset_key, json_build_array(h.kind, h.holder_id, h.first_period,
  h.end_period, h.charge_kw, h.discharge_kw, h.energy_kwh, h.is_firm),
  case when h.charge_efficiency is not null then json_build_array(h.charge_efficiency, h.discharge_efficiency) end,
  h.organisation_id, h.product)::text"""
BATTERY_CAPACITY_JSON: Final = compose(
    """
  (select '[' || string_agg(t.line, ',') || ']' from (
     select {rating} as line from physical_asset_parameters p
     where p.asset_key = any(:batteries::int[]) and p.valid_from < :to_instant
     union all
     select {outage} from unavailability u
     where u.asset_key = any(:batteries::int[]) and u.ends_at > :from_instant and u.starts_at < :to_instant
     union all
     select {holding} from capacity_holding h
     where h.asset_key = any(:batteries::int[]) and h.end_period > :from_period and h.first_period < :to_period
       and h.is_firm) t)
""",
    rating=_RATING,
    outage=_OUTAGE,
    holding=_HOLDING,
)
_READ_BATTERY: Final = NamedStatement(
    "select read_battery_capacity(:battery, :from_instant, :to_instant, :from_period, :to_period)"
)
"""On a distributed database each battery has a shard of its own, where this makes its part of the same text."""


async def read_capacity_json(db: Database, batteries: Sequence[int], values: Mapping[str, Any]) -> str:
    """The text by a statement for each battery; values: those of `BATTERY_CAPACITY_JSON`."""
    lines = [await _READ_BATTERY.fetchval_part(db, {"battery": battery, **values}) for battery in batteries]
    return f"[{','.join(filter(None, lines))}]"


class _RatingRow(Struct, array_like=True, tag="RATING", frozen=True):
    asset_key: int
    version: int
    rating: tuple[datetime, float, float, float, float, float, float, float]


class _OutageRow(Struct, array_like=True, tag="OUTAGE", frozen=True):
    asset_key: int
    outage: tuple[datetime, datetime, float, float, float]


class _HoldingRow(Struct, array_like=True, tag="HOLDING", frozen=True):
    asset_key: int
    holding: tuple[HoldingKind, UUID, int, int, float, float, float, bool]
    losses: tuple[float, float] | None
    organisation_id: UUID | None
    product: str | None


_read_capacity_rows = msgspec.json.Decoder(list[_RatingRow | _OutageRow | _HoldingRow]).decode


def decode_battery_capacity(text: str, *keys: int) -> dict[int, BatteryCapacity]:
    """The firm holdings of these batteries, by battery; own schedules are no part of it."""
    ratings: dict[tuple[int, datetime], _RatingRow] = {}
    ratings_and_outages = {key: RatingsAndOutages() for key in keys}
    holdings: dict[int, list[Holding]] = {key: [] for key in keys}
    for row in _read_capacity_rows(text):
        match row:
            case _RatingRow():
                known = ratings.get((row.asset_key, row.rating[0]))
                if known is None or known.version < row.version:
                    ratings[row.asset_key, row.rating[0]] = row
            case _OutageRow():
                ratings_and_outages[row.asset_key].outages.append(CapacityOutage(*row.outage))
            case _HoldingRow():
                losses = None if row.losses is None else OneWayEfficiency(*row.losses)
                holding = Holding(*row.holding, losses, row.organisation_id, row.product)
                holdings[row.asset_key].append(holding)
    for index in sorted(ratings):
        ratings_and_outages[index[0]].ratings.append(Rating(*ratings[index].rating))
    return {
        key: BatteryCapacity(ratings_and_outages[key], holdings[key], OwnSchedule.nothing())
        for key in ratings_and_outages
    }
