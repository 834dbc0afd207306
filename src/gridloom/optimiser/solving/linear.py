"""Linear and mixed programmes in HiGHS: arrays in, arrays out, with a time limit and a way to stop."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

INFINITE: Final = float("inf")
_OPTIONS: Final = (
    ("output_flag", False),
    ("threads", 1),
    ("parallel", "off"),
    ("mip_rel_gap", 1e-7),
    ("presolve", "off"),  # on programmes of this kind it costs more than it saves, from a day to a year
)


@cache
def solver_library() -> Any:
    """HiGHS, loaded when the first programme is made: most workers start without one."""
    import highspy

    return highspy


class SolverStatus(Enum):
    OPTIMAL = auto()
    LIMIT = auto()
    INFEASIBLE = auto()
    STOPPED = auto()


class Deadline:
    """How long solving may still take, and whether it was cancelled."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._stopped = threading.Event()
        self.begin()

    def begin(self) -> None:
        """Count from now on: for work that had to wait for its turn."""
        self._end = time.monotonic() + self._seconds

    def remaining_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def stop(self) -> None:
        self._stopped.set()

    def renew(self, seconds: float) -> Deadline:
        """Another one that counts from now on, and is stopped with this one."""
        renewed = Deadline(seconds)
        renewed._stopped = self._stopped
        return renewed

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()


@dataclass(frozen=True, slots=True, eq=False)
class SolverResult:
    """The result of one run: the columns, the duals of rows and columns if asked for, the objective, a proven bound."""

    ended: SolverStatus
    columns: Floats
    row_duals: Floats
    column_duals: Floats
    objective: float
    bound: float


class RowBuilder:
    """Rows of a programme, gathered as triplets and handed over in one piece."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._columns: list[Ints] = []
        self._values: list[Floats] = []
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self.count = 0

    def add(self, count: int, lower: Floats | float, upper: Floats | float) -> Ints:
        """So many rows with these bounds; answers their numbers."""
        numbers = np.arange(self.count, self.count + count)
        self.lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), count))
        self.upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), count))
        self.count += count
        return numbers

    def put(self, rows: Ints, columns: Ints, values: Floats | float) -> None:
        self._rows.append(rows)
        self._columns.append(columns)
        self._values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), len(rows)))

    def compressed(self) -> tuple[Ints, Ints, Floats]:
        """The matrix row by row: where each starts, its columns, its values."""
        rows, columns, values = np.concatenate(self._rows), np.concatenate(self._columns), np.concatenate(self._values)
        order = np.argsort(rows, kind="stable")
        starts = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self.count), out=starts[1:])
        return starts, columns[order], values[order]


class LinearModel:
    """A programme that is maximised; costs and bounds may change between runs, and the last basis is kept."""

    def __init__(self, cost: Floats, lower: Floats, upper: Floats, rows: RowBuilder) -> None:
        highspy = solver_library()
        self._library = highspy
        self._highs: Any = highspy.Highs()
        for option, value in _OPTIONS:
            self._highs.setOptionValue(option, value)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(cost), rows.count
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
        program.row_lower_ = np.concatenate(rows.lower) if rows.lower else np.zeros(0)
        program.row_upper_ = np.concatenate(rows.upper) if rows.upper else np.zeros(0)
        starts, columns, values = rows.compressed()
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = starts, columns, values
        self._highs.passModel(program)
        self._is_mixed = False

    def set_costs(self, columns: Ints, cost: Floats) -> None:
        self._highs.changeColsCost(len(columns), columns.astype(np.int32, copy=False), cost)

    def set_bounds(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        self._highs.changeColsBounds(len(columns), columns.astype(np.int32, copy=False), lower, upper)

    def set_row_bounds(self, rows: Ints, lower: Floats, upper: Floats) -> None:
        self._highs.changeRowsBounds(len(rows), rows.astype(np.int32, copy=False), lower, upper)

    def set_integer(self, columns: Ints, most_nodes: int | None = None) -> None:
        """Columns that take whole numbers only; a run ends with the best found after so many nodes."""
        kinds = np.full(len(columns), int(self._library.HighsVarType.kInteger), dtype=np.uint8)
        self._highs.changeColsIntegrality(len(columns), columns.astype(np.int32), kinds)
        if most_nodes is not None:
            self._highs.setOptionValue("mip_max_nodes", most_nodes)
        self._is_mixed = True

    def clear_basis(self) -> None:
        """Start the next run afresh: which of several equal solutions it finds then hangs on no run before it."""
        self._highs.clearSolver()

    def run(self, deadline: Deadline, *, duals: bool = True) -> SolverResult:
        """Duals cost as much as the columns to read; who runs a programme hundreds of times can do without."""
        highs = self._highs
        # The limit counts all runs of this model together.
        highs.setOptionValue("time_limit", highs.getRunTime() + max(deadline.remaining_s(), 1e-3))
        if self._is_mixed:
            self._stop_with(deadline)
        highs.run()
        ended = SolverStatus.STOPPED if deadline.stopped else self._read_status()
        solution = highs.getSolution()
        known = bool(solution.value_valid)
        objective = float(highs.getObjectiveValue()) if known else -np.inf
        bound = float(highs.getInfo().mip_dual_bound) if self._is_mixed else objective
        return SolverResult(
            ended,
            np.array(solution.col_value) if known else np.zeros(0),
            np.array(solution.row_dual) if duals else np.zeros(0),
            np.array(solution.col_dual) if duals else np.zeros(0),
            objective,
            bound,
        )

    def _stop_with(self, deadline: Deadline) -> None:
        def look(event: Any) -> None:
            event.data_in.user_interrupt = deadline.stopped

        self._highs.cbMipInterrupt.clear()
        self._highs.cbMipInterrupt.subscribe(look)

    def _read_status(self) -> SolverStatus:
        status, known = self._highs.getModelStatus(), self._library.HighsModelStatus
        if status == known.kOptimal:
            return SolverStatus.OPTIMAL
        if status in (known.kInfeasible, known.kUnboundedOrInfeasible):
            return SolverStatus.INFEASIBLE
        return SolverStatus.LIMIT
