"""The operational series of a virtual asset: one table of categories, each a formula over arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.backing.availability import AvailableFraction
from gridloom.virtual_assets.energy.trajectory import exported_kwh
from gridloom.virtual_assets.model import AssetTerms
from gridloom.virtual_assets.schedule.projection_input import ActivatedEnergy, EnergyTrajectory


@dataclass(frozen=True, slots=True)
class OperationalInput:
    """All that the categories are computed from, over the same periods."""

    terms: AssetTerms
    trajectory: EnergyTrajectory
    available: AvailableFraction
    activated: ActivatedEnergy

    def constant(self, value: float) -> Floats:
        return np.full(len(self.trajectory.power_kw), value)

    @property
    def energy_kwh(self) -> Floats:
        """At the start of each period."""
        return self.trajectory.energy_kwh[:-1]


@dataclass(frozen=True, slots=True)
class OperationalSeries:
    unit: str
    description: str
    values: Callable[[OperationalInput], Floats]


def _maximum_kw(c: OperationalInput) -> Floats:
    """The lesser of the power that stored energy allows and the available power."""
    from_store_kw = np.maximum(c.energy_kwh, 0.0) * c.terms.efficiency.discharge / QUARTER_HOUR_H
    return np.minimum(c.available.discharge * c.terms.discharge_kw, from_store_kw)


def _minimum_kw(c: OperationalInput) -> Floats:
    """The highest charging power that headroom and available power allow, as a negative power."""
    headroom_kwh = np.maximum(c.available.energy * c.terms.energy_capacity_kwh - c.energy_kwh, 0.0)
    return 0.0 - np.minimum(
        c.available.charge * c.terms.charge_kw, headroom_kwh / c.terms.efficiency.charge / QUARTER_HOUR_H
    )


def _wholesale_cycles(c: OperationalInput) -> Floats:
    exported = c.trajectory.exported_before_kwh + np.cumsum(exported_kwh(c.trajectory.power_kw))
    return np.asarray(exported / c.terms.energy_capacity_kwh)


def _afrr_cycles(c: OperationalInput) -> Floats:
    exported = c.activated.before_kwh + np.cumsum(c.activated.period_kwh)
    return np.asarray(exported / c.terms.energy_capacity_kwh)


def _all_cycles(c: OperationalInput) -> Floats:
    return _wholesale_cycles(c) + _afrr_cycles(c)


CATEGORIES: Final[Mapping[str, OperationalSeries]] = {
    "chargeEfficiency": OperationalSeries(
        "1", "What reaches the store of what is imported", lambda c: c.constant(c.terms.efficiency.charge)
    ),
    "dischargeEfficiency": OperationalSeries(
        "1", "What is exported of what leaves the store", lambda c: c.constant(c.terms.efficiency.discharge)
    ),
    "energyCapacityRated": OperationalSeries(
        "kWh", "Energy capacity", lambda c: c.constant(c.terms.energy_capacity_kwh)
    ),
    "energyCapacityAvailable": OperationalSeries(
        "kWh", "Energy capacity that is available", lambda c: c.available.energy * c.terms.energy_capacity_kwh
    ),
    "powerCapacityChargeRated": OperationalSeries("kW", "Charging power", lambda c: c.constant(c.terms.charge_kw)),
    "powerCapacityChargeAvailable": OperationalSeries(
        "kW", "Charging power that is available", lambda c: c.available.charge * c.terms.charge_kw
    ),
    "powerCapacityDischargeRated": OperationalSeries(
        "kW", "Discharging power", lambda c: c.constant(c.terms.discharge_kw)
    ),
    "powerCapacityDischargeAvailable": OperationalSeries(
        "kW", "Discharging power that is available", lambda c: c.available.discharge * c.terms.discharge_kw
    ),
    "maximumDeliverablePower": OperationalSeries(
        "kW", "The highest power that available capacity and stored energy allow for the whole period", _maximum_kw
    ),
    "minimumDeliverablePower": OperationalSeries(
        "kW", "The lowest power (charging is negative) that capacity and room in the store allow", _minimum_kw
    ),
    "cyclesWholesale": OperationalSeries(
        "1", "Cycles by wholesale schedules since the asset's life began, at the period's end", _wholesale_cycles
    ),
    "cyclesFCR": OperationalSeries(
        "1", "Cycles by FCR: its capacity is settled, never its energy, so none are counted", lambda c: c.constant(0.0)
    ),
    "cyclesAFRR": OperationalSeries(
        "1", "Cycles by upward aFRR activations, as far as they are settled, at the period's end", _afrr_cycles
    ),
    "cyclesTotal": OperationalSeries("1", "Cycles of all markets together, at the period's end", _all_cycles),
}
"""A cycle is the rated energy capacity exported once."""
