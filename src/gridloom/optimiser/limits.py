"""Reasons that bound the power and the energy of a virtual asset in each quarter-hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gridloom.market_calendar import Floats
from gridloom.virtual_assets.energy.projection import ProjectionInput
from gridloom.virtual_assets.model import Block, Market, VirtualAsset
from gridloom.virtual_assets.schedule.points import rated_kw


class LimitReason(StrEnum):
    POWER = "POWER"
    ENERGY = "ENERGY"
    CYCLES = "CYCLES"
    RESERVE = "RESERVE"
    RAMP = "RAMP"
    AVAILABILITY = "AVAILABILITY"
    GATE = "GATE"


@dataclass(frozen=True, slots=True)
class LimitReasons:
    """By period, the reason that charge, discharge, and the energy at its highest and lowest are not more."""

    charge: Sequence[LimitReason]
    discharge: Sequence[LimitReason]
    high: Sequence[LimitReason]
    low: Sequence[LimitReason]

    def between(self, first: int, end: int) -> LimitReasons:
        return LimitReasons(
            self.charge[first:end], self.discharge[first:end], self.high[first:end], self.low[first:end]
        )


def plain_reasons(count: int) -> LimitReasons:
    """Of a battery of which nothing is reserved or lost."""
    power, energy = [LimitReason.POWER] * count, [LimitReason.ENERGY] * count
    return LimitReasons(power, power, energy, energy)


_SLACK = 1e-9


def find_reasons(asset: VirtualAsset, blocks: Sequence[Block], inputs: ProjectionInput, first: int) -> LimitReasons:
    """Of the periods from `first` on: lost capacity first, then reserves, else the asset's own size."""
    count, terms = len(inputs), asset.terms
    wholesale = rated_kw(blocks, np.arange(first, first + count))
    is_held = np.zeros(count + 1, dtype=bool)
    for block in (*blocks, *asset.holds):
        if block.market is not Market.WHOLESALE and block.overlaps(first, first + count + 1):
            is_held[max(0, block.first - 1 - first) : max(0, block.end - first)] = True

    def name_power(available_kw: Floats, own_kw: Floats, whole_kw: float) -> list[LimitReason]:
        lost = available_kw < own_kw - _SLACK * whole_kw
        reserved = own_kw < whole_kw * (1 - _SLACK)
        return _name_reasons(lost, reserved & is_held[:-1], LimitReason.POWER)

    highest = np.minimum(inputs.highest_kwh, terms.energy_capacity_kwh)
    lost = (highest < terms.energy_capacity_kwh * (1 - _SLACK)) & ~is_held[:-1]
    nothing = np.zeros(count, dtype=bool)
    return LimitReasons(
        name_power(inputs.charge_kw.sum(axis=0), wholesale[0], terms.charge_kw),
        name_power(inputs.discharge_kw.sum(axis=0), wholesale[1], terms.discharge_kw),
        _name_reasons(lost, is_held[:-1] & (highest < terms.energy_capacity_kwh), LimitReason.ENERGY),
        _name_reasons(nothing, inputs.lowest_kwh > 0, LimitReason.ENERGY),
    )


def _name_reasons(lost: np.ndarray, reserved: np.ndarray, otherwise: LimitReason) -> list[LimitReason]:
    return [
        LimitReason.AVAILABILITY if gone else LimitReason.RESERVE if held else otherwise
        for gone, held in zip(lost.tolist(), reserved.tolist(), strict=True)
    ]
