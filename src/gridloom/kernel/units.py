"""Units and the one sign.

**Power and energy that leave an asset are positive: export, discharge, sell. What enters it is negative: import,
charge, buy.** This holds in every field, file, column and formula. Quantities with a direction in their name
(`charge_power_kw`, `buy_volume_mwh`) are magnitudes and never negative.

Assets, blocks and schedules speak kW and kWh; markets and reports speak MW, MWh and EUR/MWh.
"""

from __future__ import annotations

from typing import Final

QUARTER_HOUR_H: Final = 0.25
QUARTER_HOURS_PER_HOUR: Final = 4
KW_PER_MW: Final = 1000.0
LEAST_EFFICIENCY: Final = 0.01
"""Below this no battery is one, and the energy behind a kWh grows beyond what doubles can tell apart."""


def mw_from_kw(power_kw: float) -> float:
    return power_kw / KW_PER_MW


def kw_from_mw(power_mw: float) -> float:
    return power_mw * KW_PER_MW


def mwh_from_kwh(energy_kwh: float) -> float:
    return energy_kwh / KW_PER_MW


def kwh_from_mwh(energy_mwh: float) -> float:
    return energy_mwh * KW_PER_MW


def charge_power(power: float) -> float:
    """The importing part of a signed power, as a magnitude."""
    return max(0.0, -power)


def discharge_power(power: float) -> float:
    """The exporting part of a signed power, as a magnitude."""
    return max(0.0, power)


def period_energy_kwh(power_kw: float) -> float:
    """The energy that a constant power moves in one delivery period, with the power's sign."""
    return power_kw * QUARTER_HOUR_H
