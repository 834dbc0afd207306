"""Failures of batteries: who owes what was not delivered, and who gave it instead; pure.

A battery fails by what of its fair part it could not have given with its available power and, at its fair energy,
within its limits. Its fair energy is Σ share × virtual energy, times the available part of its energy capacity.

A virtual asset that was cut to what its batteries had left owes that to those that lacked power, also where netting has
made fair parts smaller than the cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.delivery.failures.model import Failures, ReservePool, ZoneDelivery
from gridloom.delivery.model import Mask, sum_rows
from gridloom.delivery.planning.netting import net
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats


@dataclass(frozen=True, slots=True, eq=False)
class _FairParts:
    """By battery and period, kW in the direction of the zone's net: its fair part, and what it gave."""

    fair_kw: Floats
    given_kw: Floats
    is_export: Mask


def find_failures(zone: ZoneDelivery) -> Failures:
    parts = _find_fair_parts(zone)
    failed_kw = np.maximum(parts.fair_kw - np.maximum(_find_possible_kw(zone, parts), parts.given_kw), 0.0)
    failed_kw[failed_kw < POWER_TOLERANCE_KW] = 0.0
    undelivered_kw = _sum_side_kw(zone, parts.is_export)
    missed_kw = _divide_side(zone, failed_kw, parts.is_export)
    missed_kw += _divide_side(zone, np.zeros_like(failed_kw), ~parts.is_export)
    taken_over: dict[tuple[int, int], Floats] = {}
    still_given_kw = np.maximum(failed_kw.sum(axis=0) - undelivered_kw, 0.0)
    extra_kw = np.maximum(parts.given_kw - parts.fair_kw, 0.0)
    _add_taken_over(taken_over, failed_kw, extra_kw, still_given_kw)
    short_kw = failed_kw.copy()
    for pool in zone.pools:
        short_kw += _add_reserves(taken_over, pool)
    return Failures(missed_kw, short_kw, taken_over)


def _find_fair_parts(zone: ZoneDelivery) -> _FairParts:
    netting = net(zone.counted_kw)
    sign = np.where(netting.net_kw >= 0, 1.0, -1.0)
    fair_kw = _sum_shares(zone, zone.counted_kw - netting.netted_kw)
    return _FairParts(np.maximum(sign * fair_kw, 0.0), np.maximum(sign * zone.given_kw, 0.0), sign > 0)


def _sum_shares(zone: ZoneDelivery, of_assets: Floats) -> Floats:
    """Σ share × an amount of each virtual asset, by battery."""
    return sum_rows(zone.shares[:, None] * of_assets[zone.share_of[:, 0]], zone.share_of[:, 1], zone.limits.shape[0])


def _find_possible_kw(zone: ZoneDelivery, parts: _FairParts) -> Floats:
    """The power that each battery could have given in the direction of the net, by availability and fair energy."""
    limits = zone.limits
    store_kwh = _sum_shares(zone, zone.store_kwh)
    room_kwh = limits.promised_kwh - store_kwh
    out_kw = store_kwh * limits.available_fraction * limits.discharge_efficiency / QUARTER_HOUR_H
    in_kw = np.maximum(room_kwh, 0.0) * limits.available_fraction / limits.charge_efficiency / QUARTER_HOUR_H
    export_kw, import_kw = np.minimum(limits.discharge_kw, out_kw), np.minimum(limits.charge_kw, in_kw)
    return np.asarray(np.where(parts.is_export, export_kw, import_kw))


def _sum_side_kw(zone: ZoneDelivery, is_export: Mask) -> Floats:
    """Undelivered power of the virtual assets that export, or import."""
    return np.asarray(np.abs(_select_side(zone, is_export)).sum(axis=0))


def _select_side(zone: ZoneDelivery, is_export: Mask) -> Floats:
    is_of_side = np.where(is_export, zone.counted_kw > 0, zone.counted_kw < 0)
    return np.where(is_of_side, zone.undelivered_kw, 0.0)


def _divide_side(zone: ZoneDelivery, failed_kw: Floats, is_export: Mask) -> Floats:
    """Undelivered power of one side is divided among the batteries that failed, by how much, then among those that
    virtual assets lacked power of, by how much beyond that; what neither explains is the owners', by share."""
    asset_kw = _select_side(zone, is_export)
    owed_kw, total_kw = np.abs(asset_kw).sum(axis=0), failed_kw.sum(axis=0)
    found_kw = failed_kw * _divide_or_zero(np.minimum(total_kw, owed_kw), total_kw)
    left_kw = np.maximum(owed_kw - total_kw, 0.0)
    lacked_kw = np.maximum(_find_lacked_kw(zone, asset_kw) - failed_kw, 0.0)
    total_kw = lacked_kw.sum(axis=0)
    explained_kw = np.minimum(total_kw, left_kw)
    found_kw += lacked_kw * _divide_or_zero(explained_kw, total_kw)
    by_share_kw = _sum_shares(zone, asset_kw * _divide_or_zero(left_kw - explained_kw, owed_kw))
    return np.asarray(np.where(is_export, found_kw, -found_kw) + by_share_kw)


def _find_lacked_kw(zone: ZoneDelivery, asset_kw: Floats) -> Floats:
    """By battery, the power that virtual assets lacked of it, as far as they were cut for that."""
    assets, batteries = zone.share_of[:, 0], zone.share_of[:, 1]
    lacking_kw = zone.shares[:, None] * (np.abs(zone.counted_kw)[assets] - zone.left_kw)
    cut_kw = np.clip(sum_rows(lacking_kw, assets, len(asset_kw)), 0.0, np.abs(asset_kw))
    cut_kw[cut_kw < POWER_TOLERANCE_KW] = 0.0
    lacking_kw = np.maximum(lacking_kw, 0.0)
    part = _divide_or_zero(cut_kw, sum_rows(lacking_kw, assets, len(asset_kw)))
    return sum_rows(lacking_kw * part[assets], batteries, zone.limits.shape[0])


def _divide_or_zero(parts: Floats, wholes: Floats) -> Floats:
    return np.divide(parts, wholes, out=np.zeros_like(wholes), where=wholes > 0)


def _add_reserves(taken_over: dict[tuple[int, int], Floats], pool: ReservePool) -> Floats:
    """The reserve that each battery holds less than its share."""
    short_kw, extra_kw = (np.maximum(sign * (pool.share_kw - pool.held_kw), 0.0) for sign in (1, -1))
    short_kw[short_kw < POWER_TOLERANCE_KW] = 0.0
    _add_taken_over(taken_over, short_kw, extra_kw, extra_kw.sum(axis=0))
    return short_kw


def _add_taken_over(
    taken_over: dict[tuple[int, int], Floats], short_kw: Floats, extra_kw: Floats, taken_kw: Floats
) -> None:
    """Divide what was taken over: by what each battery gave more than its part, and by what each gave less."""
    shorts_kw, extras_kw = short_kw.sum(axis=0), extra_kw.sum(axis=0)
    taken_kw = np.minimum(np.minimum(taken_kw, extras_kw), shorts_kw)
    product = shorts_kw * extras_kw
    scale = np.divide(taken_kw, product, out=np.zeros_like(product), where=product > 0)
    for failed in np.flatnonzero((short_kw * scale).any(axis=1)).tolist():
        for helper in np.flatnonzero((extra_kw * short_kw[failed] * scale).any(axis=1)).tolist():
            if helper != failed:
                over_kw = short_kw[failed] * extra_kw[helper] * scale
                taken_over[failed, helper] = taken_over.get((failed, helper), 0.0) + over_kw
