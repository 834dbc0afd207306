"""Units and the one sign.

**Power and energy that leave an asset are positive: export, discharge, sell. What enters it is negative: import,
charge, buy.** This holds in every field, file, column and formula. Quantities with a direction in their name
(`charge_power_kw`, `buy_volume_mwh`) are magnitudes and never negative.

Assets, blocks and schedules speak kW and kWh; markets and reports speak MW, MWh and EUR/MWh.
"""

from __future__ import annotations

from typing import Final

QUARTER_HOUR_H: Final = 0.25
KW_PER_MW: Final = 1000.0
POWER_TOLERANCE_KW: Final = 1e-6
"""Powers nearer than a milliwatt are the same: what dividing by shares and summing doubles leaves behind."""
MIN_EFFICIENCY: Final = 0.01
"""Below this no battery is one, and the energy behind a kWh grows beyond what doubles can tell apart."""


def mw_from_kw(power_kw: float) -> float:
    return power_kw / KW_PER_MW
