"""The imbalance at the end of an asset's life, and how much of it can still be repaired; pure."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from gridloom.kernel.units import QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.virtual_assets.energy.projection import CycleBudget, Projection, ProjectionInput
from gridloom.virtual_assets.energy.trajectory import tolerance_kwh


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
    """The energy missing to the target at the end (`imbalance_charge_kwh`), or exceeding it.

    One of the two is always zero. Within `final_soc_tolerance` of the capacity the asset counts as balanced.
    `remaining_kwh` is the part that no schedule can repair any more.
    """
    beyond_kwh, noise_kwh = end_kwh - final_soc_target * energy_capacity_kwh, tolerance_kwh(energy_capacity_kwh)
    if abs(beyond_kwh) <= noise_kwh:
        beyond_kwh = 0.0  # a rounding error is no imbalance
    balanced = abs(beyond_kwh) <= final_soc_tolerance * energy_capacity_kwh + noise_kwh
    end_percentage = min(max(100 * end_kwh / energy_capacity_kwh, 0.0), 100.0)
    feedback = _word_feedback(beyond_kwh, balanced, end_percentage, 100 * final_soc_target)
    if not balanced and remaining_kwh > noise_kwh:
        feedback = _feedback_of_rest(beyond_kwh, min(remaining_kwh, abs(beyond_kwh)), noise_kwh, end_percentage)
    return Imbalance(balanced, end_percentage, max(0.0, -beyond_kwh), max(0.0, beyond_kwh), feedback)


def _feedback_of_rest(beyond_kwh: float, remaining_kwh: float, noise_kwh: float, end_percentage: float) -> str:
    """Where gates, power, energy or cycles leave too little headroom."""
    verb, where = ("discharge", "from") if beyond_kwh > 0 else ("charge", "into")
    repairable_kwh = abs(beyond_kwh) - remaining_kwh
    said = f"The schedule ends at {end_percentage:.2f} %: "
    if repairable_kwh <= noise_kwh:
        return said + (
            f"{remaining_kwh:.3f} kWh remain to {verb}, and open gates, power and cycles leave no way to do it."
        )
    return said + (
        f"{verb} {repairable_kwh:.3f} kWh more {where} the store; {remaining_kwh:.3f} kWh remain, for which open "
        "gates, power and cycles leave no way."
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


def irreparable_kwh(inputs: ProjectionInput, projection: Projection, open_from: int, beyond_kwh: float) -> float:
    """The part of `beyond_kwh`, the energy above (negative: below) the target at the end, that no schedule can repair.

    Energy is best moved as late as possible, because it shifts all later periods. By the end of each period the bounds
    limit the energy that was moved; the rest must fit into the periods after it.
    """
    if beyond_kwh == 0:
        return 0.0
    headroom_kwh = _headroom_kwh(inputs, projection, discharging=beyond_kwh > 0)
    headroom_kwh[:open_from] = 0.0
    later_kwh = np.append(np.cumsum(headroom_kwh[::-1])[::-1], 0.0)
    ends_kwh = projection.energy_kwh[1:] - projection.unreachable_kwh
    if beyond_kwh > 0:
        until_kwh = np.maximum(ends_kwh - inputs.lowest_kwh, 0.0)
    else:
        until_kwh = np.maximum(inputs.highest_kwh - ends_kwh, 0.0)
    # Nothing is moved before the first period; by the end of each one, at most what the bounds allow then.
    most_kwh = min(float(later_kwh[0]), float((until_kwh + later_kwh[1:]).min(initial=np.inf)))
    return max(0.0, abs(beyond_kwh) - most_kwh)


def _headroom_kwh(inputs: ProjectionInput, projection: Projection, *, discharging: bool) -> Floats:
    """By how much each period's change of stored energy could be lowered (raised), by power and cycles alone."""
    efficiency = inputs.efficiency
    total_kw = projection.total_kw
    charged_kwh = np.maximum(-total_kw, 0.0) * (QUARTER_HOUR_H * efficiency.charge)
    drawn_kwh = np.maximum(total_kw, 0.0) * (QUARTER_HOUR_H / efficiency.discharge)
    if not discharging:
        most_kwh = inputs.charge_kw.sum(axis=0) * (QUARTER_HOUR_H * efficiency.charge)
        return np.asarray(drawn_kwh + np.maximum(most_kwh - charged_kwh, 0.0))
    exportable_kwh = np.maximum(inputs.discharge_kw.sum(axis=0) - np.maximum(total_kw, 0.0), 0.0) * QUARTER_HOUR_H
    exported_kwh = np.maximum(total_kw, 0.0) * QUARTER_HOUR_H
    for rule in inputs.cycles:
        exportable_kwh = _within_cycles(rule, exported_kwh, exportable_kwh)
    return np.asarray(charged_kwh + exportable_kwh / efficiency.discharge)


def _within_cycles(rule: CycleBudget, exported_kwh: Floats, exportable_kwh: Floats) -> Floats:
    """The further exports that are possible in each period, the latest of each group first."""
    result = exportable_kwh.copy()
    for group in np.unique(rule.groups):
        indices = np.flatnonzero(rule.groups == group)
        before_kwh = rule.exported_before_kwh if group == rule.groups[0] else 0.0
        left_kwh = max(0.0, rule.limit_kwh - before_kwh - float(exported_kwh[indices].sum()))
        own_kwh = exportable_kwh[indices][::-1]
        taken_kwh = np.minimum(np.cumsum(own_kwh), left_kwh)
        result[indices] = np.diff(taken_kwh, prepend=0.0)[::-1]
    return result
