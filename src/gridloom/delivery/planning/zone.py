"""A zone as it was loaded: what its virtual assets will do, and what its batteries can do and hold back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridloom.delivery.model import Batteries, Floats, Ints, Situation


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """All that a plan needs but the energies at its start; assets and batteries in the order of their keys.

    `share_of` holds the places of virtual asset and battery for each of `shares`. `due_changes_kwh`: what shares and
    owners' schedules alone would do to each battery's energy; `capacity_kwh`: what each battery can hold at all.
    `stand_by_of` names each row of `stand_by_kw`, power that stands by: the battery's place, the kind's code and the
    key of the virtual asset whose block it is, 0 where it is the battery's own.
    """

    first: int
    end: int
    asset_keys: Ints
    battery_keys: Ints
    power_kw: Floats
    share_of: Ints
    shares: Floats
    limits: Batteries
    due_changes_kwh: Floats
    capacity_kwh: Floats
    stand_by_of: Ints
    stand_by_kw: Floats

    def situation(self, place: int, energy_kwh: Floats, due_kwh: Floats) -> Situation:
        """From the period at `place` on, with what is stored there and what by shares alone would be."""
        batteries = cut_limits(self.limits, place, energy_kwh)
        end_kwh = due_kwh + self.due_changes_kwh[:, place:].sum(axis=1)
        bounded_kwh = np.clip(end_kwh, batteries.low_kwh[:, -1], batteries.high_kwh[:, -1])
        return Situation(self.power_kw[:, place:], batteries, self.share_of, self.shares, bounded_kwh)


def cut_limits(limits: Batteries, place: int, energy_kwh: Floats, end: int | None = None) -> Batteries:
    """The batteries from the period at `place` on, holding `energy_kwh` there."""
    cut = {name: getattr(limits, name)[:, place:end] for name in LIMITS}
    return Batteries(**cut, energy_kwh=energy_kwh)


LIMITS = tuple(name for name in Batteries.__dataclass_fields__ if name != "energy_kwh")


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What a zone was loaded from besides schedules, from the period `first` on, so that the next run can tell that it
    still holds.

    `lives`: the first period and the end of each virtual asset. `efficiencies`: of each, charging and discharging.
    `reserve_of` and `reserves`: asset key, kind's code, first period and end of each balancing block; its power in kW
    and for how many hours of it there must be energy. `book_marks`: a number for all that is held of each battery.
    """

    first: int
    lives: Ints
    efficiencies: Floats
    reserve_of: Ints
    reserves: Floats
    book_marks: Ints
    limits: Batteries
    capacity_kwh: Floats

    def arrays(self) -> dict[str, Floats | Ints]:
        own = {name: getattr(self, name) for name in _OWN}
        return own | {name: getattr(self.limits, name) for name in LIMITS}

    @classmethod
    def of_arrays(cls, first: int, arrays: dict[str, Floats]) -> Inputs | None:
        """None where an earlier release has kept less than is needed now."""
        if not arrays.keys() >= {*_OWN, *LIMITS}:
            return None
        limits = {name: arrays.pop(name) for name in LIMITS}
        return cls(first, limits=Batteries(**limits, energy_kwh=np.zeros(len(arrays["book_marks"]))), **arrays)  # type: ignore[arg-type]


_OWN = ("lives", "efficiencies", "reserve_of", "reserves", "book_marks", "capacity_kwh")
