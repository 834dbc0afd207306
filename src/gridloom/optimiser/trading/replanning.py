"""Trading a position anew at a later auction: by its last known prices, and only where the gain exceeds a hurdle.

The last cleared price is the best forecast of the next auction, so a period is traded where moving it earns more than
the hurdle at that price. Where the position can no longer be run, the least that must be traded is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import INFINITE, Deadline, RowBuilder, SolverStatus
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    Bools,
    CancelledError,
    Floats,
    InfeasibilityRule,
    InfeasibleError,
    Ints,
)
from gridloom.optimiser.solving.repair import repair_nearest
from gridloom.optimiser.trading.lot_moves import LotMarket, improve_lots
from gridloom.optimiser.trading.lots import round_to_lots, snap_bounds, solve_in_lots
from gridloom.optimiser.trading.positions import can_run, end_between

HURDLE_EUR_MWH: Final = 2.0
LOT_KW: Final = 100.0
SOLVING_S: Final = 5.0
_BOTH: Final = 1e-6
_FORCED_HURDLE: Final = 1e5
"""EUR/MWh: more than any price, so that the least volume counts, and prices only decide between equal volumes."""


@dataclass(frozen=True, slots=True, eq=False)
class Replan:
    """The position after a stage; `is_forced` where the one before could not be run."""

    power_kw: Floats
    is_forced: bool


class ReplanModel(BatteryModel):
    """The battery's programme with what is bought and sold against a position as columns of their own.

    It is kept for days of one length: prices, the position before and the bounds change from run to run.
    """

    def __init__(self, programme: BatteryProgramme, *, cut: bool = False) -> None:
        self._first_traded = 3 * len(programme)
        marked = [np.ones(len(programme), dtype=bool)] if cut else []
        super().__init__([programme], cut=marked)

    def _add_own_columns(self, rows: RowBuilder, width: int) -> tuple[Floats, Floats, Floats]:
        [programme], [columns] = self.programmes, self.columns
        count = len(programme)
        sold, bought = width + np.arange(count), width + count + np.arange(count)
        self.position_rows: Ints = rows.add(count, 0.0, 0.0)
        rows.put(self.position_rows, columns.discharge, 1.0)
        rows.put(self.position_rows, columns.charge, -1.0)
        rows.put(self.position_rows, sold, -1.0)
        rows.put(self.position_rows, bought, 1.0)
        return np.zeros(2 * count), np.zeros(2 * count), np.full(2 * count, INFINITE)

    def set_task(self, programme: BatteryProgramme, before_kw: Floats, hurdle_eur_mwh: float) -> None:
        """Prices, bounds, start and position of another day of the same length; cycles stay as they were built."""
        count, unit = len(programme), self.unit_kw
        self.programmes = [programme]
        self.set_prices(0, programme.price_eur_mwh)
        self.set_initial(0, programme.initial_kwh)
        self.free_directions(0)
        self.set_energy_bounds(0, slice(None), programme.lowest_kwh, programme.highest_kwh)
        for limit, numbers in zip(programme.cycles, self.columns[0].cycles, strict=True):
            self.model.set_row_bounds(numbers, np.full(len(numbers), -INFINITE), limit.left_kwh / unit)
        self.model.set_row_bounds(self.position_rows, before_kw / unit, before_kw / unit)
        traded = np.arange(self._first_traded, self._first_traded + 2 * count)
        self.model.set_costs(traded, np.full(2 * count, -hurdle_eur_mwh * programme.step_h))


class Replanner:
    """Plans positions anew; the models of each length of day are kept, and each firm decision starts afresh."""

    def __init__(self, lot_kw: float | None = LOT_KW) -> None:
        """Without lots, positions are as exact as the solver has them: for replaying past days."""
        self._lot_kw = lot_kw
        self._models: dict[tuple[int, int, float], tuple[ReplanModel, ReplanModel]] = {}

    def replan(
        self, programme: BatteryProgramme, before_kw: Floats, hurdle_eur_mwh: float, end_kwh: float | None = None
    ) -> Replan:
        """The best position by the programme's prices, from the one before. Raises InfeasibleError.

        With `end_kwh` it ends with this energy, in lots within one lot's quarter-hour of it.
        """
        lot_kw = self._lot_kw
        held = programme if end_kwh is None else hold_end(programme, end_kwh, lot_kw or 0.0)
        if not can_run(held, before_kw):
            return Replan(self._force(held, before_kw), True)
        if lot_kw is None:
            return Replan(self._solve(held, before_kw, hurdle_eur_mwh)[0], False)
        snapped = snap_bounds(held, before_kw, lot_kw)
        if (snapped.min_kw == snapped.max_kw).all():
            return Replan(before_kw, False)
        exact = snapped if end_kwh is None else hold_end(snapped, end_kwh, 0.0)
        try:
            wanted_kw, stored_eur_mwh = self._solve(exact, before_kw, hurdle_eur_mwh)
        except InfeasibleError:  # whole lots of power do not reach it to the kWh
            wanted_kw, stored_eur_mwh = self._solve(snapped, before_kw, hurdle_eur_mwh)
        market = LotMarket(lot_kw, hurdle_eur_mwh, 0.0 if end_kwh is None else stored_eur_mwh)
        return Replan(choose_lots(snapped, before_kw, wanted_kw, market), False)

    def _solve(self, programme: BatteryProgramme, before_kw: Floats, hurdle_eur_mwh: float) -> tuple[Floats, float]:
        """The power of each period, and what a MWh more in store at the end is worth."""
        model, with_cut = self._find_models(programme)
        model.set_task(programme, before_kw, hurdle_eur_mwh)
        run = _run_afresh(model)
        if not run.both.any():
            return run.power_kw, run.stored_eur_mwh
        # Burning pays where less export earns: by the price and what is saved of the hurdle.
        marked = programme.price_eur_mwh <= hurdle_eur_mwh + 1e-9
        with_cut.set_task(programme, before_kw, hurdle_eur_mwh)
        run = _run_afresh(with_cut)
        if run.both.any():
            with_cut.fix_directions(0, np.flatnonzero(marked | run.both), run.power_kw)
            run = _run_afresh(with_cut)
        return run.power_kw, run.stored_eur_mwh

    def _find_models(self, programme: BatteryProgramme) -> tuple[ReplanModel, ReplanModel]:
        unit_kw = float(max(np.abs(programme.min_kw).max(), np.abs(programme.max_kw).max()))
        key = (len(programme), sum(len(limit.left_kwh) for limit in programme.cycles), unit_kw)
        models = self._models.get(key)
        if models is None:
            models = self._models[key] = (ReplanModel(programme), ReplanModel(programme, cut=True))
        return models

    def _force(self, programme: BatteryProgramme, before_kw: Floats) -> Floats:
        """The least that can be traded so that the battery can run it, at the least cost."""
        lot_kw, deadline = self._lot_kw, Deadline(SOLVING_S)
        if lot_kw is None:
            return repair_nearest(programme, before_kw, deadline)
        # The lots of the position's own grid that lie within the bounds; a period may have none.
        snapped = snap_bounds(programme, before_kw, lot_kw)
        without = snapped.min_kw > snapped.max_kw + POWER_TOLERANCE_KW
        if without.any():
            raise InfeasibleError(InfeasibilityRule.POWER, int(np.argmax(without)), 0.0)
        wanted_kw = repair_nearest(snapped, before_kw, deadline)
        found = round_to_lots(snapped, before_kw, wanted_kw, lot_kw)
        if found is None:
            found = solve_in_lots(snapped, before_kw, lot_kw, _FORCED_HURDLE, wanted_kw)
        if found is None:
            raise diagnose([programme])
        return improve_lots(snapped, before_kw, found, LotMarket(lot_kw, _FORCED_HURDLE, 0.0))


def choose_lots(programme: BatteryProgramme, before_kw: Floats, wanted_kw: Floats, market: LotMarket) -> Floats:
    """The position near the wanted one that is worth most; the one before where none is worth more.

    `programme` has snapped bounds and lets the battery run the position before.
    """
    found = round_to_lots(programme, before_kw, wanted_kw, market.lot_kw)
    if found is None:
        found = solve_in_lots(programme, before_kw, market.lot_kw, market.hurdle_eur_mwh, wanted_kw)
    found = improve_lots(programme, before_kw, before_kw if found is None else found, market)
    held_eur = market.value_eur(programme, before_kw, before_kw)
    return found if market.value_eur(programme, before_kw, found) > held_eur + 1e-9 else before_kw


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    power_kw: Floats
    both: Bools
    """Where it is charged and discharged at once."""
    stored_eur_mwh: float


def _run_afresh(model: BatteryModel) -> _Run:
    model.model.clear_basis()
    found = model.run(Deadline(SOLVING_S))
    if found.ended is SolverStatus.STOPPED:
        raise CancelledError
    if found.ended is not SolverStatus.OPTIMAL:
        raise diagnose(model.programmes)
    charge_kw, discharge_kw = model.powers_kw(0, found)
    both = np.asarray(np.minimum(charge_kw, discharge_kw) > _BOTH * model.unit_kw)
    return _Run(discharge_kw - charge_kw, both, float(found.row_duals[model.columns[0].balance[-1]]))


def hold_end(programme: BatteryProgramme, end_kwh: float, lot_kw: float) -> BatteryProgramme:
    """The same that ends within a lot's quarter-hour of this energy."""
    slack_kwh = lot_kw * programme.step_h
    return end_between(programme, end_kwh - slack_kwh, end_kwh + slack_kwh)
