"""The ratings, outages and firm holdings of batteries as one JSON text, for statements that read more besides."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Struct

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity

# Read from the tables: the view's choice of ratings, and its many nulls, cost more than all the rest. The nodes of a
# distributed database exchange no whole rows.
BATTERY_CAPACITY_JSON = """
  (select '[' || string_agg(t.line, ',') || ']' from (
     select json_build_array('RATING', p.asset_key, p.valid_from, p.version, p.rated_charge_power_kw,
                             p.rated_discharge_power_kw, p.energy_capacity_kwh, p.fcr_limit_ratio, p.charge_efficiency,
                             p.discharge_efficiency, p.max_state_of_charge - p.min_state_of_charge)::text as line
     from physical_asset_parameters p
     where p.asset_key = any(:batteries::int[]) and p.valid_from < :to_moment
     union all
     select json_build_array('OUTAGE', u.asset_key, u.starts_at, u.ends_at, u.charge_power_kw, u.discharge_power_kw,
                             u.energy_kwh)::text
     from unavailability u
     where u.asset_key = any(:batteries::int[]) and u.ends_at > :from_moment and u.starts_at < :to_moment
     union all
     select json_build_array('HOLDING', h.asset_key, h.kind, h.holder_id, h.first_period, h.end_period, h.charge_kw,
                             h.discharge_kw, h.energy_kwh, h.charge_efficiency, h.discharge_efficiency,
                             h.organisation_id, h.product)::text
     from capacity_holding h
     where h.asset_key = any(:batteries::int[]) and h.end_period > :from_period and h.first_period < :to_period
       and h.is_firm) t)
"""


class _RatingRow(Struct, array_like=True, tag="RATING", frozen=True):
    asset_key: int
    valid_from: datetime
    version: int
    charge_kw: float
    discharge_kw: float
    energy_kwh: float
    fcr_limit_ratio: float
    charge_efficiency: float
    discharge_efficiency: float
    usable_share: float


class _OutageRow(Struct, array_like=True, tag="OUTAGE", frozen=True):
    asset_key: int
    starts_at: datetime
    ends_at: datetime
    charge_kw: float
    discharge_kw: float
    energy_kwh: float


class _HoldingRow(Struct, array_like=True, tag="HOLDING", frozen=True):
    asset_key: int
    kind: HoldingKind
    holder_id: UUID
    first_period: int
    end_period: int
    charge_kw: float
    discharge_kw: float
    energy_kwh: float
    charge_efficiency: float | None
    discharge_efficiency: float | None
    organisation_id: UUID | None
    product: str | None


_read_capacity_rows = msgspec.json.Decoder(list[_RatingRow | _OutageRow | _HoldingRow]).decode


def decode_battery_capacity(keys: Collection[int], text: str) -> dict[int, BatteryCapacity]:
    """What the firm lines of these batteries' books are made of, by battery; own schedules are no part of it."""
    ratings: dict[tuple[int, datetime], _RatingRow] = {}
    ratings_and_outages = {key: RatingsAndOutages() for key in keys}
    holdings: dict[int, list[Holding]] = {key: [] for key in keys}
    for row in _read_capacity_rows(text):
        match row:
            case _RatingRow():
                known = ratings.get((row.asset_key, row.valid_from))
                if known is None or known.version < row.version:
                    ratings[row.asset_key, row.valid_from] = row
            case _OutageRow():
                outage = CapacityOutage(row.starts_at, row.ends_at, row.charge_kw, row.discharge_kw, row.energy_kwh)
                ratings_and_outages[row.asset_key].outages.append(outage)
            case _HoldingRow():
                holdings[row.asset_key].append(_read_holding_row(row))
    for place in sorted(ratings):
        ratings_and_outages[place[0]].ratings.append(_read_rating_row(ratings[place]))
    return {
        key: BatteryCapacity(ratings_and_outages[key], holdings[key], OwnSchedule.nothing())
        for key in ratings_and_outages
    }


def _read_rating_row(row: _RatingRow) -> Rating:
    return Rating(
        row.valid_from,
        row.charge_kw,
        row.discharge_kw,
        row.energy_kwh,
        row.fcr_limit_ratio,
        row.charge_efficiency,
        row.discharge_efficiency,
        row.usable_share,
    )


def _read_holding_row(row: _HoldingRow) -> Holding:
    losses = None
    if row.charge_efficiency is not None and row.discharge_efficiency is not None:
        losses = OneWayEfficiency(row.charge_efficiency, row.discharge_efficiency)
    return Holding(
        row.kind,
        row.holder_id,
        row.first_period,
        row.end_period,
        row.charge_kw,
        row.discharge_kw,
        row.energy_kwh,
        True,
        losses,
        row.organisation_id,
        row.product,
    )
