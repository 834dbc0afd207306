"""Values of planning: a zone as it was loaded, the current plan of a zone, and what that plan was computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gridloom.delivery.model import (
    LIMIT_NAMES,
    BatteryLimits,
    DispatchInput,
    StartState,
    slice_limits,
    sum_rows,
)
from gridloom.kernel.units import POWER_TOLERANCE_KW, QUARTER_HOUR_H
from gridloom.market_calendar import PERIOD_S, Floats, Ints, market_date, market_day_numbers


def number_days(first: int, end: int) -> tuple[Ints, Ints]:
    """The numbers of the market day and of the year of each period."""
    days = market_day_numbers(np.arange(first, end, dtype=np.int64) * PERIOD_S)
    distinct, indices = np.unique(days, return_inverse=True)
    years = np.array([market_date(day).year for day in distinct.tolist()], dtype=np.int64)
    return days, years[indices]


@dataclass(frozen=True, slots=True, eq=False)
class ZoneInput:
    """All that a plan is computed from but the energies at its start; assets and batteries in the order of their keys.

    `power_kw` is that of each virtual asset after all cuts; `undelivered_kw` is what of them counts as delivered to the
    holder, and moves the virtual store: cuts that were not announced.
    `share_of` has the indices of virtual asset and battery for each of `shares`. `share_energy_changes_kwh`: what
    shares and own schedules alone do to each battery's energy. `capacity_kwh`: the energy capacity of each battery.
    `reserve_keys` names each row of `reserve_kw`, reserved power: the battery's index, the kind's code, and the key of
    the virtual asset whose block it is, 0 where it is the battery's own. `shortfall_keys` names each row of
    `shortfall_kw`, reserve that no battery holds: the virtual asset's key, the kind's code, the key of the battery that
    failed.
    """

    first: int
    end: int
    asset_keys: Ints
    battery_keys: Ints
    power_kw: Floats
    undelivered_kw: Floats
    share_of: Ints
    shares: Floats
    limits: BatteryLimits
    share_energy_changes_kwh: Floats
    capacity_kwh: Floats
    reserve_keys: Ints
    reserve_kw: Floats
    shortfall_keys: Ints
    shortfall_kw: Floats

    def dispatch_input(
        self, index: int, energy_kwh: Floats, share_energy_kwh: Floats, start: StartState
    ) -> DispatchInput:
        """From the period at `index` on, with the energy stored there and the energy by shares alone."""
        path_kwh = np.concatenate([share_energy_kwh[:, None], self.share_energy_changes_kwh[:, index:]], axis=1)
        return DispatchInput(
            self.power_kw[:, index:],
            slice_limits(self.limits, index, energy_kwh),
            self.share_of,
            self.shares,
            np.cumsum(path_kwh, axis=1),
            *number_days(self.first + index, self.end),
            start,
        )


@dataclass(frozen=True, slots=True, eq=False)
class StoredInputs:
    """The inputs of a zone besides schedules, from the period `first` on, so that the next run can tell that it
    still holds.

    `lifetimes`: the periods [first, end) of each virtual asset. `efficiencies`: of each, charging and discharging.
    `energies_kwh`: of each, stored at `first`, energy capacity and target of the end of life. `block_keys` and
    `blocks`: asset key, kind's code, periods [first, end) of each balancing block; its power in kW and the hours of it
    for which there must be energy. `holdings_digest`: a number for what auctions and bids hold of each battery.
    """

    first: int
    lifetimes: Ints
    efficiencies: Floats
    energies_kwh: Floats
    block_keys: Ints
    blocks: Floats
    holdings_digest: Ints
    limits: BatteryLimits
    capacity_kwh: Floats

    def arrays(self) -> dict[str, Floats | Ints]:
        own = {name: getattr(self, name) for name in _INPUT_NAMES}
        return own | {name: getattr(self.limits, name) for name in LIMIT_NAMES}

    @classmethod
    def of_arrays(cls, first: int, arrays: dict[str, np.ndarray]) -> StoredInputs | None:
        """None where an earlier release has stored less than is needed now."""
        if not arrays.keys() >= {*_INPUT_NAMES, *LIMIT_NAMES}:
            return None
        limits = {name: arrays[name] for name in LIMIT_NAMES}
        own = {name: arrays[name] for name in _INPUT_NAMES}
        return cls(first, limits=BatteryLimits(**limits, energy_kwh=np.zeros(len(own["holdings_digest"]))), **own)


_INPUT_NAMES: Final = (
    "lifetimes",
    "efficiencies",
    "energies_kwh",
    "block_keys",
    "blocks",
    "holdings_digest",
    "capacity_kwh",
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ZonePlan:
    """The current plan of a zone from `first` on: rows are assets, in the order of their keys.

    `energy_kwh` has one column more than periods, and so have `unreachable_kwh`, what of it is out of reach, and
    `available_fraction`, the available part of the energy capacity: before the first period and then in each.
    `undelivered_kw` is what counts as done by each virtual asset besides its power: cuts that were not announced.
    `share_energy_start_kwh` and `share_energy_changes_kwh`: the energy
    of each battery by its shares and own schedule alone at the start, and how that goes on. Shares, reserves and
    shortfalls are named as in `ZoneInput`; `unstored_reserve_kw` is what `reserve_kw` lacks since there is not the
    energy for more, below zero where a battery holds it in place of another. `netted_fraction` has two rows: which
    fraction of exports and of imports was netted. `totals_kw` has four: scheduled exports and imports, what of them was
    netted, and what is unserved, with the sign of the net. `exported_kwh`: by each battery in the market day and in the
    year before `first`; `before_kw` its power just before. `versions`: the number of each battery's last dispatch, 0
    where it is not known.
    """

    first: int
    asset_keys: Ints
    power_kw: Floats
    undelivered_kw: Floats
    battery_keys: Ints
    virtual_kw: Floats
    own_kw: Floats
    drift_kw: Floats
    energy_kwh: Floats
    unreachable_kwh: Floats
    available_fraction: Floats
    share_energy_start_kwh: Floats
    share_energy_changes_kwh: Floats
    share_of: Ints
    shares: Floats
    reserve_keys: Ints
    reserve_kw: Floats
    unstored_reserve_kw: Floats
    shortfall_keys: Ints
    shortfall_kw: Floats
    netted_fraction: Floats
    totals_kw: Floats
    is_cycle_bound: Ints
    exported_kwh: Floats
    before_kw: Floats
    versions: Ints

    @property
    def end(self) -> int:
        return self.first + int(self.virtual_kw.shape[1])

    @property
    def unserved_kw(self) -> Floats:
        return np.asarray(self.totals_kw[3])

    @property
    def asked_reserve_kw(self) -> Floats:
        """The reserves of each battery, before the part without energy is subtracted."""
        return np.asarray(self.reserve_kw + self.unstored_reserve_kw)

    def unheld_reserves(self) -> tuple[Ints, Floats]:
        """All reserve that no battery holds, with its keys: the virtual asset's, the kind's code, the battery's that
        lacks it. Where others step in for several, each lacks less by the same fraction."""
        rows = np.flatnonzero(self.unstored_reserve_kw.any(axis=1))
        if not len(rows):
            return self.shortfall_keys, self.shortfall_kw
        battery, code, asset = self.reserve_keys[rows].T
        lacking_kw, held_kw = (np.maximum(sign * self.unstored_reserve_kw[rows], 0.0) for sign in (1, -1))
        _, groups = np.unique(np.stack([asset, code], axis=1), axis=0, return_inverse=True)
        groups = groups.reshape(-1)
        sums_kw, covered = (sum_rows(some_kw, groups, len(rows)) for some_kw in (lacking_kw, held_kw))
        np.divide(covered, sums_kw, out=covered, where=sums_kw > 0)
        lacking_kw *= 1.0 - covered[groups]
        lacking_kw[lacking_kw < POWER_TOLERANCE_KW] = 0.0
        both = np.concatenate([self.shortfall_keys, np.stack([asset, code, self.battery_keys[battery]], axis=1)])
        keys, indices = np.unique(both, axis=0, return_inverse=True)
        return keys, sum_rows(np.concatenate([self.shortfall_kw, lacking_kw]), indices.reshape(-1), len(keys))

    def battery_power_kw(self, columns: slice) -> Floats:
        return np.asarray(self.virtual_kw[:, columns] + self.own_kw[:, columns] + self.drift_kw[:, columns])

    @property
    def share_energy_kwh(self) -> Floats:
        """By shares and own schedules alone, at the start of each period and at the end."""
        return np.cumsum(
            np.concatenate([self.share_energy_start_kwh[:, None], self.share_energy_changes_kwh], axis=1), axis=1
        )

    def state_at(self, index: int) -> StartState:
        """The batteries' past at the period at `index`."""
        if not index:
            return StartState(self.exported_kwh[:, 0], self.exported_kwh[:, 1], self.before_kw, *self._reach_at(0))
        power_kw = self.battery_power_kw(slice(index))
        exported_kwh = QUARTER_HOUR_H * np.maximum(power_kw, 0.0)
        days, years = number_days(self.first, self.first + index + 1)
        sums = []
        for groups, before_kwh in ((days, self.exported_kwh[:, 0]), (years, self.exported_kwh[:, 1])):
            same = groups[:-1] == groups[-1]
            sums.append(exported_kwh[:, same].sum(axis=1) + (before_kwh if groups[0] == groups[-1] else 0.0))
        return StartState(sums[0], sums[1], power_kw[:, -1].copy(), *self._reach_at(index))

    def _reach_at(self, index: int) -> tuple[Floats, Floats]:
        """Energy out of reach, and the available part of the energy capacity, just before the period at `index`."""
        return self.unreachable_kwh[:, index].copy(), self.available_fraction[:, index].copy()

    @property
    def in_reach_kwh(self) -> Floats:
        """At the start of each period."""
        return np.asarray(self.energy_kwh[:, :-1] - self.unreachable_kwh[:, 1:])

    @property
    def counted_kw(self) -> Floats:
        """The power of each virtual asset for its holder: its power, and what counts as delivered besides."""
        return np.asarray(self.power_kw + self.undelivered_kw)

    def arrays(self) -> dict[str, Floats | Ints]:
        return {name: getattr(self, name) for name in _PLAN_NAMES}

    @classmethod
    def of_arrays(cls, first: int, arrays: Mapping[str, np.ndarray]) -> ZonePlan:
        """Arrays that an earlier release has not stored are empty."""
        rows, periods = arrays["virtual_kw"].shape
        missing: dict[str, np.ndarray] = {
            "drift_kw": np.zeros((rows, periods)),
            "undelivered_kw": np.zeros_like(arrays["power_kw"]),
            "unreachable_kwh": np.zeros((rows, periods + 1)),
            "available_fraction": np.ones((rows, periods + 1)),
            "unstored_reserve_kw": np.zeros_like(arrays["reserve_kw"]),
            "shortfall_keys": np.zeros((0, 3), dtype=np.int64),
            "shortfall_kw": np.zeros((0, periods)),
            "is_cycle_bound": np.zeros(periods, dtype=np.int64),
            "exported_kwh": np.zeros((rows, 2)),
            "before_kw": np.zeros(rows),
        }
        return cls(first=first, **{name: arrays[name] if name in arrays else missing[name] for name in _PLAN_NAMES})

    def prepend(self, before: ZonePlan) -> ZonePlan:
        """With the periods of an earlier plan of the same assets and batteries before this one's."""
        count = self.first - before.first
        if count == 0:
            return self
        added = len(self.reserve_keys) - len(before.reserve_keys)  # of batteries that step in
        earlier = {name: getattr(before, name)[..., :count] for name in _BY_PERIOD}
        for name in ("reserve_kw", "unstored_reserve_kw"):
            earlier[name] = np.concatenate([earlier[name], np.zeros((added, count))])
        longer = {name: np.concatenate([earlier[name], getattr(self, name)], axis=-1) for name in _BY_PERIOD}
        return replace(
            self,
            first=before.first,
            share_energy_start_kwh=before.share_energy_start_kwh,
            exported_kwh=before.exported_kwh,
            before_kw=before.before_kw,
            **longer,
        )


_PLAN_NAMES: Final = tuple(name for name in ZonePlan.__dataclass_fields__ if name != "first")
_BY_PERIOD: Final = (
    "power_kw",
    "undelivered_kw",
    "virtual_kw",
    "own_kw",
    "drift_kw",
    "energy_kwh",
    "unreachable_kwh",
    "available_fraction",
    "share_energy_changes_kwh",
    "reserve_kw",
    "unstored_reserve_kw",
    "shortfall_kw",
    "netted_fraction",
    "totals_kw",
    "is_cycle_bound",
)
