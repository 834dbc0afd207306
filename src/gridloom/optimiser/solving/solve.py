"""The best schedule of one battery, or of several under shared limits, with a proven bound.

The linear programme may charge and discharge at once, which burns energy, only where a price is zero or less: doing
more of both there leaves the stored energy and costs `−price · δ · (1 − η_c·η_d)`. So it is solved first, and only the
periods that do both get a binary, round after round. Over more than two days binaries take too long: there the cut
`c/C + d/D ≤ 1` tightens the bound, the directions that it suggests are fixed, and the rest is linear again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gridloom.optimiser.solving.battery_model import BatteryModel, SharedLimit
from gridloom.optimiser.solving.feasibility import diagnose
from gridloom.optimiser.solving.linear import Deadline, SolverResult, SolverStatus
from gridloom.optimiser.solving.polishing import polish
from gridloom.optimiser.solving.programme import (
    BatteryProgramme,
    Bools,
    CancelledError,
    Floats,
    Solution,
    SolutionStatus,
)

EXACT_PERIODS: Final = 200
"""Two days, the long ones of autumn too: what is solved with binaries unasked."""
MAX_BINARY_ROUNDS: Final = 3
SOLVING_S: Final = 5.0
_SIMULTANEOUS_TOLERANCE: Final = 1e-6  # of the largest power: less of both directions is a rounding error of the solver
_PROVEN: Final = 1e-6  # relative: a value this close to its bound counts as optimal


def solve(programme: BatteryProgramme, deadline: Deadline | None = None, *, exact: bool = False) -> Solution:
    return solve_together([programme], deadline or Deadline(SOLVING_S), exact=exact)[0]


def solve_together(
    programmes: Sequence[BatteryProgramme],
    deadline: Deadline,
    *,
    exact: bool = False,
    shared: SharedLimit | None = None,
) -> list[Solution]:
    """One solution for each battery, the sum of which is best. Raises InfeasibleError, and CancelledError when stopped.

    Value and bound of each are its own where there are no shared limits; with them, the bound holds for the sum, and
    each is given its part of the surplus over the sum of values.
    """
    is_short = max(len(programme) for programme in programmes) <= EXACT_PERIODS
    if not (is_short or exact) and any(_may_be_simultaneous(programme).any() for programme in programmes):
        return _with_fixed_directions(programmes, deadline, shared)
    model = BatteryModel(programmes, shared=shared)
    found = _run_model(model, deadline)
    if found.ended is SolverStatus.INFEASIBLE:
        raise diagnose(programmes, shared)
    if not _does_both(model, found):
        return _list_answers(model, found, found.objective, found.ended is SolverStatus.OPTIMAL)
    return _with_binaries(programmes, model, found, deadline, shared)


def _run_model(model: BatteryModel, deadline: Deadline) -> SolverResult:
    found = model.run(deadline)
    if found.ended is SolverStatus.STOPPED or deadline.stopped:
        raise CancelledError
    return found


def _find_simultaneous(model: BatteryModel, battery: int, found: SolverResult) -> Bools:
    charge_kw, discharge_kw = model.powers_kw(battery, found)
    return np.asarray(np.minimum(charge_kw, discharge_kw) > _SIMULTANEOUS_TOLERANCE * model.unit_kw)


def _does_both(model: BatteryModel, found: SolverResult) -> bool:
    return len(found.columns) > 0 and any(
        _find_simultaneous(model, b, found).any() for b in range(len(model.programmes))
    )


def _may_be_simultaneous(programme: BatteryProgramme) -> Bools:
    return np.asarray((programme.price_eur_mwh <= 0) & (programme.min_kw < 0) & (programme.max_kw > 0))


def _with_binaries(
    programmes: Sequence[BatteryProgramme],
    model: BatteryModel,
    found: SolverResult,
    deadline: Deadline,
    shared: SharedLimit | None,
) -> list[Solution]:
    marked = [np.zeros(len(programme), dtype=bool) for programme in programmes]
    candidates = [_may_be_simultaneous(programme) for programme in programmes]
    bound = found.objective
    for number in range(1, MAX_BINARY_ROUNDS + 2):
        for battery, chosen in enumerate(marked):
            everywhere = number > MAX_BINARY_ROUNDS
            chosen |= candidates[battery] if everywhere else _find_simultaneous(model, battery, found)
        model = BatteryModel(programmes, exclusive=marked, shared=shared)
        found = _run_model(model, deadline)
        bound = min(bound, found.bound) if np.isfinite(found.bound) else bound
        if found.ended is not SolverStatus.OPTIMAL or not _does_both(model, found):
            break
    if found.ended is SolverStatus.INFEASIBLE:
        raise diagnose(programmes, shared)
    if found.ended is SolverStatus.OPTIMAL and not _does_both(model, found):
        return _resolve_with_directions(programmes, model, found, bound, shared, proven=True)
    kept = [] if not len(found.columns) or _does_both(model, found) else [(model, found)]
    return _with_fixed_directions(programmes, Deadline(SOLVING_S), shared, bound, kept)


def _with_fixed_directions(
    programmes: Sequence[BatteryProgramme],
    deadline: Deadline,
    shared: SharedLimit | None,
    bound: float = np.inf,
    incumbents: Sequence[tuple[BatteryModel, SolverResult]] = (),
) -> list[Solution]:
    """The directions that the relaxation with its cut suggests; `incumbents` are solutions to be beaten."""
    relaxed = BatteryModel(programmes, cut=[_may_be_simultaneous(programme) for programme in programmes], shared=shared)
    found = _run_model(relaxed, deadline)
    if found.ended is SolverStatus.INFEASIBLE:
        raise diagnose(programmes, shared)
    if found.ended is SolverStatus.OPTIMAL:
        bound = min(bound, found.objective)
        if not _does_both(relaxed, found):
            return _list_answers(relaxed, found, bound, True)
    best = max(incumbents, key=lambda kept: kept[1].objective, default=None)
    if len(found.columns):
        # From the basis at hand, with bounds moved, the second run is a short one.
        again = _run_model(_fix_all(relaxed, relaxed, found), deadline)
        if again.ended is SolverStatus.OPTIMAL and (best is None or again.objective > best[1].objective):
            return _list_answers(relaxed, again, bound, False)
    if best is not None:
        return _resolve_with_directions(programmes, best[0], best[1], bound, shared, proven=False)
    raise diagnose(programmes, shared)


def _fix_all(model: BatteryModel, relaxed: BatteryModel, found: SolverResult) -> BatteryModel:
    for battery, programme in enumerate(model.programmes):
        charge_kw, discharge_kw = relaxed.powers_kw(battery, found)
        model.fix_directions(battery, np.flatnonzero(_may_be_simultaneous(programme)), discharge_kw - charge_kw)
    return model


def _resolve_with_directions(
    programmes: Sequence[BatteryProgramme],
    mixed: BatteryModel,
    found: SolverResult,
    bound: float,
    shared: SharedLimit | None,
    *,
    proven: bool,
) -> list[Solution]:
    """A mixed solution has no duals: with its directions fixed, the linear programme gives them and the same value."""
    fixed = _fix_all(BatteryModel(programmes, shared=shared), mixed, found)
    again = _run_model(fixed, Deadline(SOLVING_S))
    if again.ended is SolverStatus.OPTIMAL and again.objective >= found.objective - 1e-6 * abs(found.objective):
        return _list_answers(fixed, again, max(bound, again.objective), proven)
    return _list_answers(mixed, found, bound, proven)


def _list_answers(model: BatteryModel, found: SolverResult, bound: float, proven: bool) -> list[Solution]:
    powers_kw: list[Floats] = []
    for battery, programme in enumerate(model.programmes):
        charge_kw, discharge_kw = model.powers_kw(battery, found)
        powers_kw.append(polish(programme, discharge_kw - charge_kw))
    values = [programme.value_eur(power) for programme, power in zip(model.programmes, powers_kw, strict=True)]
    bound_eur = max(model.value_eur(bound), sum(values))
    proven = proven or bound_eur - sum(values) <= _PROVEN * abs(bound_eur)
    surplus_eur = 0.0 if proven else (bound_eur - sum(values)) / len(values)
    has_duals = len(found.row_duals) > 0 and len(found.column_duals) > 0
    return [
        Solution(
            SolutionStatus.OPTIMAL if proven else SolutionStatus.TIME_LIMIT,
            power_kw,
            value,
            value + surplus_eur,
            model.shadow_prices(battery, found) if has_duals else None,
        )
        for battery, (power_kw, value) in enumerate(zip(powers_kw, values, strict=True))
    ]
