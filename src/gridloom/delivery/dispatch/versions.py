"""What a run has changed of each battery's dispatch: the periods that are not as they were planned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridloom.delivery.codec import pack_dispatch
from gridloom.delivery.model import NOISE_KW, Floats, Ints
from gridloom.delivery.planning.parts import list_parts
from gridloom.delivery.planning.standing_plan import StandingPlan

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The periods of a battery's dispatch that a run has changed."""

    asset_key: int
    first: int
    end: int
    body: bytes


def list_versions(
    before: StandingPlan | None, after: StandingPlan, touched: slice, capacity_kwh: Floats
) -> list[NewVersion]:
    """One for each battery whose dispatch has changed, from the first changed period to the last.

    `touched`: the places of `after` outside which no part of any battery is another than before.
    """
    changed = _find_changes(before, after, touched)
    rows = np.flatnonzero(changed.any(axis=1))
    if not len(rows):
        return []
    lows = np.argmax(changed[rows], axis=1)
    highs = changed.shape[1] - np.argmax(changed[rows, ::-1], axis=1)
    first, end = int(lows.min()), int(highs.max())
    names, part_kw = list_parts(after, first, end)
    keys = after.battery_keys[rows]
    starts, stops = np.searchsorted(names[:, 0], keys), np.searchsorted(names[:, 0], keys, side="right")
    versions = []
    for row, key, low, high, start, stop in zip(
        *(one.tolist() for one in (rows, keys, lows, highs, starts, stops)), strict=True
    ):
        parts_kw = part_kw[start:stop, low - first : high - first]
        there = np.abs(parts_kw).max(axis=1) > NOISE_KW
        body = pack_dispatch(
            names[start:stop][there, 1:],
            parts_kw[there],
            after.energy_kwh[row, low : high + 1],
            capacity_kwh[row, low:high],
        )
        versions.append(NewVersion(key, after.first + low, after.first + high, body))
    return versions


def _find_changes(before: StandingPlan | None, after: StandingPlan, touched: slice) -> Mask:
    """For each battery, in which periods its energy or any of its parts is another, or was not planned."""
    changed = np.ones((len(after.battery_keys), after.end - after.first), dtype=bool)
    if before is None or before.end <= after.first or before.first > after.first:
        return changed
    count, offset = min(before.end, after.end) - after.first, after.first - before.first
    _, rows, old_rows = np.intersect1d(after.battery_keys, before.battery_keys, return_indices=True)
    old_kwh = before.energy_kwh[old_rows, offset + 1 : offset + 1 + count]
    changed[rows, :count] = np.abs(after.energy_kwh[rows, 1 : count + 1] - old_kwh) > NOISE_KW
    low, high = touched.start, min(touched.stop, count)
    if low < high:
        keys, differs = _find_differing_parts(
            list_parts(before, offset + low, offset + high), list_parts(after, low, high)
        )
        _, places, here = np.intersect1d(keys, after.battery_keys, return_indices=True)
        changed[here, low:high] |= differs[places]
    return changed


def _find_differing_parts(before: tuple[Ints, Floats], after: tuple[Ints, Floats]) -> tuple[Ints, Mask]:
    """The keys of batteries and in which periods any of their parts is another; who has no part does nothing."""
    (old_names, old_kw), (names, part_kw) = before, after
    if not np.array_equal(names, old_names):
        names, places = np.unique(np.concatenate([old_names, names]), axis=0, return_inverse=True)
        places = places.reshape(-1)
        both_kw = np.zeros((2, len(names), part_kw.shape[1]))
        both_kw[0, places[: len(old_names)]], both_kw[1, places[len(old_names) :]] = old_kw, part_kw
        old_kw, part_kw = both_kw
    starts = np.flatnonzero(np.diff(names[:, 0], prepend=-1))
    return names[starts, 0], np.logical_or.reduceat(np.abs(part_kw - old_kw) > NOISE_KW, starts, axis=0)


def find_moved(before: StandingPlan | None, after: StandingPlan) -> frozenset[int]:
    """The batteries whose power is another than before; what was not planned before was idle."""
    by_kw = after.virtual_kw + after.own_kw
    if before is not None and before.end > after.first >= before.first:
        count, offset = min(before.end, after.end) - after.first, after.first - before.first
        _, rows, old_rows = np.intersect1d(after.battery_keys, before.battery_keys, return_indices=True)
        by_kw[rows, :count] -= (before.virtual_kw + before.own_kw)[old_rows, offset : offset + count]
    return frozenset(after.battery_keys[np.abs(by_kw).max(axis=1, initial=0.0) > NOISE_KW].tolist())


def known_versions(plan: StandingPlan | None) -> dict[int, int]:
    """The number of each battery's last dispatch, by its key."""
    if plan is None:
        return {}
    return dict(zip(plan.battery_keys.tolist(), plan.versions.tolist(), strict=True))
