"""How far from its target a virtual asset's schedule leaves it at the end of its life."""

from __future__ import annotations

from msgspec import Struct

from gridloom.virtual_assets.schedule.projection.trajectory import tolerance_kwh


class Imbalance(Struct, frozen=True):
    balanced: bool
    end_state_of_charge_percentage: float
    imbalance_charge_kwh: float
    imbalance_discharge_kwh: float
    feedback: str


def imbalance_of(
    end_kwh: float,
    energy_capacity_kwh: float,
    final_soc_tolerance: float,
    final_soc_target: float = 0.5,
    remaining_kwh: float = 0.0,
) -> Imbalance:
    """What the stored energy at the end lacks to the target (`imbalance_charge_kwh`) or has beyond it.

    One of the two is always zero. Within `final_soc_tolerance` of the capacity the asset counts as balanced.
    `remaining_kwh` is what no schedule that is still possible mends of it.
    """
    beyond_kwh, noise_kwh = end_kwh - final_soc_target * energy_capacity_kwh, tolerance_kwh(energy_capacity_kwh)
    if abs(beyond_kwh) <= noise_kwh:
        beyond_kwh = 0.0  # what sums of doubles leave behind is no imbalance
    balanced = abs(beyond_kwh) <= final_soc_tolerance * energy_capacity_kwh + noise_kwh
    end_percentage = min(max(100 * end_kwh / energy_capacity_kwh, 0.0), 100.0)
    feedback = _word_feedback(beyond_kwh, balanced, end_percentage, 100 * final_soc_target)
    if not balanced and remaining_kwh > noise_kwh:
        feedback = _feedback_of_rest(beyond_kwh, min(remaining_kwh, abs(beyond_kwh)), noise_kwh, end_percentage)
    return Imbalance(balanced, end_percentage, max(0.0, -beyond_kwh), max(0.0, beyond_kwh), feedback)


def _feedback_of_rest(beyond_kwh: float, remaining_kwh: float, noise_kwh: float, end_percentage: float) -> str:
    """Where gates, power, the store or cycles leave too little room."""
    verb, where = ("discharge", "from") if beyond_kwh > 0 else ("charge", "into")
    mended_kwh = abs(beyond_kwh) - remaining_kwh
    said = f"The schedule ends at {end_percentage:.2f} %: "
    if mended_kwh <= noise_kwh:
        return said + (
            f"{remaining_kwh:.3f} kWh remain to {verb}, and open gates, power and cycles leave no way to do it."
        )
    return said + (
        f"{verb} {mended_kwh:.3f} kWh more {where} the store; {remaining_kwh:.3f} kWh remain, for which open gates, "
        "power and cycles leave no way."
    )


def _word_feedback(beyond_kwh: float, balanced: bool, end_percentage: float, target_percentage: float) -> str:
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
