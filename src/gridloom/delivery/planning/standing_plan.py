"""The plan that stands in a zone: what was planned, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class StandingPlan:
    """What was planned for a zone from `first` on: rows are assets, in the order of their keys.

    `energy_kwh` has one column more than periods. `due_start_kwh` and `due_changes_kwh`: what each battery would hold
    by shares alone at the start, and how that goes on. Shares and what stands by are named as in `Zone`. `netted_part`
    has two rows: which part of exports and of imports was netted. `quarters_kw` has four: scheduled exports and
    imports, what of them was netted, and what nobody could serve, with the sign of the net. `versions`: the number of
    each battery's last dispatch, 0 where it is not known.
    """

    first: int
    asset_keys: Ints
    power_kw: Floats
    battery_keys: Ints
    virtual_kw: Floats
    own_kw: Floats
    energy_kwh: Floats
    due_start_kwh: Floats
    due_changes_kwh: Floats
    share_of: Ints
    shares: Floats
    stand_by_of: Ints
    stand_by_kw: Floats
    netted_part: Floats
    quarters_kw: Floats
    versions: Ints

    @property
    def end(self) -> int:
        return self.first + int(self.virtual_kw.shape[1])

    @property
    def unserved_kw(self) -> Floats:
        return np.asarray(self.quarters_kw[3])

    @property
    def due_kwh(self) -> Floats:
        """What each battery would hold by shares alone, at the start of each period and at the end."""
        return np.cumsum(np.concatenate([self.due_start_kwh[:, None], self.due_changes_kwh], axis=1), axis=1)

    def arrays(self) -> dict[str, Floats | Ints]:
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def of_arrays(cls, first: int, arrays: Mapping[str, np.ndarray]) -> StandingPlan:
        return cls(first, **{name: arrays[name] for name in _ARRAYS})

    def following(self, before: StandingPlan) -> StandingPlan:
        """With what an earlier plan of the same assets and batteries says of the periods before this one's."""
        count = self.first - before.first
        if count == 0:
            return self
        longer = {
            name: np.concatenate([getattr(before, name)[..., :count], getattr(self, name)], axis=-1)
            for name in _BY_PERIOD
        }
        return replace(self, first=before.first, due_start_kwh=before.due_start_kwh, **longer)


_ARRAYS: Final = tuple(name for name in StandingPlan.__dataclass_fields__ if name != "first")
_BY_PERIOD: Final = (
    "power_kw",
    "virtual_kw",
    "own_kw",
    "energy_kwh",
    "due_changes_kwh",
    "stand_by_kw",
    "netted_part",
    "quarters_kw",
)
