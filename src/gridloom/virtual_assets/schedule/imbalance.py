"""How far from its target a virtual asset's schedule leaves it at the end of its life."""

from __future__ import annotations

from dataclasses import dataclass

from gridloom.virtual_assets.schedule.trajectory import tolerance_kwh


@dataclass(frozen=True, slots=True)
class Imbalance:
    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge_kwh: float
    imbalance_discharge_kwh: float
    feedback: str


def imbalance_of(
    end_kwh: float, energy_capacity_kwh: float, final_soc_tolerance: float, final_soc_target: float = 0.5
) -> Imbalance:
    """What the stored energy at the end lacks to the target (`imbalance_charge_kwh`) or has beyond it.

    One of the two is always zero. Within `final_soc_tolerance` of the capacity the asset counts as balanced.
    """
    beyond_kwh, noise_kwh = end_kwh - final_soc_target * energy_capacity_kwh, tolerance_kwh(energy_capacity_kwh)
    if abs(beyond_kwh) <= noise_kwh:
        beyond_kwh = 0.0  # what sums of doubles leave behind is no imbalance
    balanced = abs(beyond_kwh) <= final_soc_tolerance * energy_capacity_kwh + noise_kwh
    end_percentage = min(max(100 * end_kwh / energy_capacity_kwh, 0.0), 100.0)
    return Imbalance(
        balanced,
        end_percentage,
        max(0.0, -beyond_kwh),
        max(0.0, beyond_kwh),
        _feedback(beyond_kwh, balanced, end_percentage, 100 * final_soc_target),
    )


def _feedback(beyond_kwh: float, balanced: bool, end_percentage: float, target_percentage: float) -> str:
    if balanced and beyond_kwh == 0:
        return f"The schedule ends at its target of {target_percentage:g} %: nothing to do."
    if balanced:
        return (
            f"The schedule ends at {end_percentage:.2f} %, close enough to its target of {target_percentage:g} %: "
            "nothing to do."
        )
    if beyond_kwh > 0:
        return (
            f"The schedule ends at {end_percentage:.2f} %: discharge {beyond_kwh:.3f} kWh more from the store "
            f"to end at {target_percentage:g} %."
        )
    return (
        f"The schedule ends at {end_percentage:.2f} %: charge {-beyond_kwh:.3f} kWh more into the store "
        f"to end at {target_percentage:g} %."
    )
