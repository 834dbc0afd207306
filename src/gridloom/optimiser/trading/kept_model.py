"""A battery's programme that is kept for days of one length, each of them solved afresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import INFINITE, Deadline, SolverStatus
from gridloom.optimiser.solving.programme import BatteryProgramme, Bools, CancelledError, Floats

SOLVING_S: Final = 5.0
_BOTH: Final = 1e-6


class KeptModel(BatteryModel):
    """Prices, bounds, start and cycles change from run to run; the number of periods and of cycle groups stays.

    With `cut`, each period has the cut that keeps charge and discharge from each other in part.
    """

    def __init__(self, programme: BatteryProgramme, *, cut: bool = False) -> None:
        count, (charge_kw, discharge_kw) = len(programme), _largest_powers(programme)
        widest = replace(programme, min_kw=np.full(count, -charge_kw), max_kw=np.full(count, discharge_kw))
        goes_both_ways = cut and charge_kw > 0 and discharge_kw > 0
        super().__init__([widest], cut=[np.ones(count, dtype=bool)] if goes_both_ways else [])

    def set_programme(self, programme: BatteryProgramme) -> None:
        self.programmes = [programme]
        self.set_prices(0, programme.price_eur_mwh)
        self.set_initial(0, programme.initial_kwh)
        self.free_directions(0)
        self.set_energy_bounds(0, slice(None), programme.lowest_kwh, programme.highest_kwh)
        for limit, numbers in zip(programme.cycles, self.columns[0].cycles, strict=True):
            self.model.set_row_bounds(numbers, np.full(len(numbers), -INFINITE), limit.left_kwh / self.unit_kw)


def shape_of(programme: BatteryProgramme) -> tuple[object, ...]:
    """Programmes of one shape share a kept model."""
    groups = tuple(limit.groups.tobytes() for limit in programme.cycles)
    efficiency = programme.charge_efficiency, programme.discharge_efficiency
    return len(programme), groups, _largest_powers(programme), efficiency, programme.step_h


def _largest_powers(programme: BatteryProgramme) -> tuple[float, float]:
    return float(programme.charge_kw.max()), float(programme.discharge_kw.max())


@dataclass(frozen=True, slots=True)
class RunMode:
    """Whether the solution may hang on runs before it, which is faster, and whether worths of stored energy are read.

    A decision is made afresh: of several equal solutions it is then always the same.
    """

    afresh: bool = True
    duals: bool = True


FIRM: Final = RunMode()
FIRM_POWERS: Final = RunMode(duals=False)
HYPOTHETICAL: Final = RunMode(afresh=False, duals=False)


@dataclass(frozen=True, slots=True, eq=False)
class ModelRun:
    """Powers, where it is charged and discharged at once, and the worth of a MWh in store at the end of each period."""

    power_kw: Floats
    both: Bools
    stored_eur_mwh: Floats


def _run_model(model: BatteryModel, mode: RunMode) -> ModelRun:
    if mode.afresh:
        model.model.clear_basis()
    found = model.run(Deadline(SOLVING_S), duals=mode.duals)
    if found.ended is SolverStatus.STOPPED:
        raise CancelledError
    if found.ended is not SolverStatus.OPTIMAL:
        raise diagnose(model.programmes)
    charge_kw, discharge_kw = model.powers_kw(0, found)
    both = np.asarray(np.minimum(charge_kw, discharge_kw) > _BOTH * model.unit_kw)
    stored_eur_mwh = found.row_duals[model.columns[0].balance] if mode.duals else np.zeros(0)
    return ModelRun(discharge_kw - charge_kw, both, stored_eur_mwh)


def run_one_way(plain: KeptModel, with_cut: Callable[[], KeptModel], marked: Bools, mode: RunMode) -> ModelRun:
    """A run of `plain` and, where that burns energy, of the model with cuts, its directions fixed where `marked`.

    Raises InfeasibleError.
    """
    run = _run_model(plain, mode)
    if not run.both.any():
        return run
    model = with_cut()
    run = _run_model(model, mode)
    if run.both.any():
        model.fix_directions(0, np.flatnonzero(marked | run.both), run.power_kw)
        run = _run_model(model, mode)
    return run


class DayPlanner:
    """The best powers of programmes of some days; the models of each shape are kept."""

    def __init__(self, mode: RunMode = FIRM) -> None:
        self._mode = mode
        self._models: dict[tuple[object, ...], KeptModel] = {}

    def plan(self, programme: BatteryProgramme) -> Floats:
        return self.solve(programme).power_kw

    def solve(self, programme: BatteryProgramme) -> ModelRun:
        """Raises InfeasibleError."""
        plain = self._find_model(programme, cut=False)
        marked = programme.price_eur_mwh <= 0
        return run_one_way(plain, lambda: self._find_model(programme, cut=True), marked, self._mode)

    def _find_model(self, programme: BatteryProgramme, *, cut: bool) -> KeptModel:
        key = (*shape_of(programme), cut)
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = KeptModel(programme, cut=cut)
        model.set_programme(programme)
        return model
