"""Trading a position anew at a later auction: by its last known prices, and only where the gain exceeds a hurdle.

The last cleared price is the best forecast of the next auction, so a period is traded where moving it earns more than
the hurdle at that price. Where the position can no longer be run, the least that must be traded is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import INFINITE, Deadline, RowBuilder
from gridloom.optimiser.solving.polishing import polish
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    Floats,
    InfeasibilityRule,
    InfeasibleError,
    Ints,
)
from gridloom.optimiser.solving.repair import repair_nearest
from gridloom.optimiser.trading.kept_model import FIRM, SOLVING_S, KeptModel, RunMode, run_one_way, shape_of
from gridloom.optimiser.trading.lot_moves import LotMarket, improve_lots
from gridloom.optimiser.trading.lots import round_to_lots, snap_bounds, solve_in_lots
from gridloom.optimiser.trading.positions import can_run, end_between

HURDLE_EUR_MWH: Final = 2.0
LOT_KW: Final = 100.0
_FORCED_HURDLE: Final = 1e5
"""EUR/MWh: more than any price, so that the least volume counts, and prices only decide between equal volumes."""


@dataclass(frozen=True, slots=True, eq=False)
class Replan:
    """The position after a stage; `is_forced` where the one before could not be run."""

    power_kw: Floats
    is_forced: bool


class ReplanModel(KeptModel):
    """The kept programme with purchases and sales against a position as columns of their own."""

    def __init__(self, programme: BatteryProgramme, *, cut: bool = False) -> None:
        self._first_traded = 3 * len(programme)
        super().__init__(programme, cut=cut)

    def _add_own_columns(self, rows: RowBuilder, width: int) -> tuple[Floats, Floats, Floats]:
        [programme], [columns] = self.programmes, self.columns
        count = len(programme)
        sold, bought = width + np.arange(count), width + count + np.arange(count)
        self._position_rows: Ints = rows.add(count, 0.0, 0.0)
        rows.put(self._position_rows, columns.discharge, 1.0)
        rows.put(self._position_rows, columns.charge, -1.0)
        rows.put(self._position_rows, sold, -1.0)
        rows.put(self._position_rows, bought, 1.0)
        return np.zeros(2 * count), np.zeros(2 * count), np.full(2 * count, INFINITE)

    def set_position(self, before_kw: Floats, hurdle_eur_mwh: float) -> None:
        programme, count = self.programmes[0], len(before_kw)
        self.model.set_row_bounds(self._position_rows, before_kw / self.unit_kw, before_kw / self.unit_kw)
        traded = np.arange(self._first_traded, self._first_traded + 2 * count)
        self.model.set_costs(traded, np.full(2 * count, -hurdle_eur_mwh * programme.step_h))


class Replanner:
    """Plans positions anew; the models of each length of day are kept, and each firm decision starts afresh."""

    def __init__(self, lot_kw: float | None = LOT_KW, mode: RunMode = FIRM) -> None:
        """Without lots, positions are as exact as the solver has them: for replaying past days."""
        self._lot_kw, self._mode = lot_kw, mode
        self._models: dict[tuple[object, ...], ReplanModel] = {}

    def replan(
        self, programme: BatteryProgramme, before_kw: Floats, hurdle_eur_mwh: float, end_kwh: float | None = None
    ) -> Replan:
        """The best position by the programme's prices, from the one before. Raises InfeasibleError.

        With `end_kwh` it ends with this energy, in lots within one lot's quarter-hour of it.
        """
        lot_kw = self._lot_kw
        held = programme if end_kwh is None else hold_end(programme, end_kwh, lot_kw or 0.0)
        if lot_kw is None:
            return self._replan_exactly(held, before_kw, hurdle_eur_mwh)
        if not can_run(held, before_kw):
            return Replan(self._force(held, before_kw, lot_kw), True)
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

        def find_model(*, cut: bool) -> ReplanModel:
            key = (*shape_of(programme), cut)
            model = self._models.get(key)
            if model is None:
                model = self._models[key] = ReplanModel(programme, cut=cut)
            model.set_programme(programme)
            model.set_position(before_kw, hurdle_eur_mwh)
            return model

        # Burning pays where less export earns: by the price and what is saved of the hurdle.
        marked = programme.price_eur_mwh <= hurdle_eur_mwh + 1e-9
        run = run_one_way(find_model(cut=False), lambda: find_model(cut=True), marked, self._mode)
        return run.power_kw, float(run.stored_eur_mwh[-1]) if self._mode.duals else 0.0

    def _replan_exactly(self, programme: BatteryProgramme, before_kw: Floats, hurdle_eur_mwh: float) -> Replan:
        """Without lots. What could be run but for a solver's tolerance is no reason to force a trade."""
        try:
            return Replan(polish(programme, self._solve(programme, before_kw, hurdle_eur_mwh)[0]), False)
        except InfeasibleError:
            return Replan(repair_nearest(programme, before_kw, Deadline(SOLVING_S)), True)

    def _force(self, programme: BatteryProgramme, before_kw: Floats, lot_kw: float) -> Floats:
        """The least that can be traded so that the battery can run it, at the least cost."""
        deadline = Deadline(SOLVING_S)
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


def hold_end(programme: BatteryProgramme, end_kwh: float, lot_kw: float) -> BatteryProgramme:
    """The same that ends within a lot's quarter-hour of this energy."""
    slack_kwh = lot_kw * programme.step_h
    return end_between(programme, end_kwh - slack_kwh, end_kwh + slack_kwh)
