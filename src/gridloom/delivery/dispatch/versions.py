"""The changes of each battery's dispatch by a run: the periods that are not as they were planned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gridloom.delivery.codec import Arrays, pack
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.planning.parts import PartKeys, list_parts, list_parts_of_both
from gridloom.kernel.units import POWER_TOLERANCE_KW
from gridloom.market_calendar import Floats, Ints

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NewDispatchVersion:
    """The periods of a battery's dispatch that a run has changed.

    `body` has the energies at their edges, what the battery can hold and, for the first of them only, the parts: those
    that follow are as they were, and only what is stored by then is another. Parts have a row each, and their `names`:
    the kind's code and the virtual asset's key, 0 for none.
    """

    asset_key: int
    first: int
    end: int
    body: bytes


def changed_versions(
    before: ZonePlan | None,
    after: ZonePlan,
    changed_slice: slice,
    capacity_kwh: Floats,
    capacity_before_kwh: Floats | None = None,
) -> list[NewDispatchVersion]:
    """One for each battery whose dispatch has changed, from the first changed period to the last.

    `changed_slice`: the columns of `after` outside which no part of any battery is another than before.
    `capacity_before_kwh`: what each battery could hold by the plan before, where that is known.
    """
    named = PartKeys.of_plan(after)
    stored, parts, here = _find_changes(before, after, changed_slice, named)
    changed = stored | parts
    if before is not None and capacity_before_kwh is not None:
        changed |= _find_new_capacities(before, capacity_before_kwh, after, capacity_kwh)
    rows = np.flatnonzero(changed.any(axis=1))
    if not len(rows):
        return []
    lows, highs = np.argmax(changed[rows], axis=1), _find_ends(changed[rows])
    part_highs = np.maximum(_find_ends(parts[rows]), lows)
    first, end = int(lows.min()), int(part_highs.max())
    if changed_slice.start <= first and end <= changed_slice.stop:
        part_kw = here[:, first - changed_slice.start : end - changed_slice.start]
    else:
        part_kw = list_parts(after, first, end, named)[1]
    names = named.names
    keys = after.battery_keys[rows]
    starts, stops = np.searchsorted(names[:, 0], keys), np.searchsorted(names[:, 0], keys, side="right")
    indices = np.arange(first, end)
    asked = (indices >= lows[:, None]) & (indices < part_highs[:, None])
    moving = np.flatnonzero(_find_moving(part_kw, starts, stops, asked))
    names, part_kw = names[moving, 1:], part_kw[moving]
    starts, stops = np.searchsorted(moving, starts), np.searchsorted(moving, stops)
    versions = []
    for row, key, low, high, part_high, start, stop in zip(
        *(one.tolist() for one in (rows, keys, lows, highs, part_highs, starts, stops)), strict=True
    ):
        body: Arrays = {
            "energy": after.energy_kwh[row, low : high + 1],
            "names": names[start:stop],
            "parts": part_kw[start:stop, low - first : part_high - first],
            "capacity": capacity_kwh[row, low:high],
        }
        versions.append(NewDispatchVersion(key, after.first + low, after.first + high, pack(body)))
    return versions


def _find_moving(part_kw: Floats, starts: Ints, stops: Ints, asked: Mask) -> Mask:
    """The parts that are anything at all in the periods that are asked for, a row of those for each battery, whose
    parts stand from its start to its stop."""
    counts = stops - starts
    rows = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())
    there = np.zeros(len(part_kw), dtype=bool)
    there[rows] = ((np.abs(part_kw[rows]) > POWER_TOLERANCE_KW) & np.repeat(asked, counts, axis=0)).any(axis=1)
    return there


def _find_ends(changed: Mask) -> Ints:
    """For each row, the index behind the last that has changed; 0 where none has."""
    ends = changed.shape[1] - np.argmax(changed[:, ::-1], axis=1)
    return np.where(changed.any(axis=1), ends, 0)


def _find_changes(
    before: ZonePlan | None, after: ZonePlan, changed_slice: slice, named: PartKeys
) -> tuple[Mask, Mask, Floats]:
    """For each battery, in which periods its energy is another, and in which any of its parts; all of both where
    nothing was planned. And the parts of `after` in the changed columns."""
    stored = np.ones((len(after.battery_keys), after.end - after.first), dtype=bool)
    parts = stored.copy()
    if before is None or before.end <= after.first or before.first > after.first:
        return stored, parts, list_parts(after, changed_slice.start, changed_slice.stop, named)[1]
    count, offset = min(before.end, after.end) - after.first, after.first - before.first
    _, rows, old_rows = np.intersect1d(after.battery_keys, before.battery_keys, return_indices=True)
    old_kwh = before.energy_kwh[old_rows, offset + 1 : offset + 1 + count]
    stored[rows, :count] = np.abs(after.energy_kwh[rows, 1 : count + 1] - old_kwh) > POWER_TOLERANCE_KW
    parts[rows, :count] = False
    low, high = changed_slice.start, min(changed_slice.stop, count)
    old_slice = slice(offset + low, offset + max(low, high))
    if _have_same_parts(before, after):
        old_kw, here = list_parts_of_both(before, old_slice, after, changed_slice, named)
        old_names = named.names
    else:
        old_names, old_kw = list_parts(before, old_slice.start, old_slice.stop)
        here = list_parts(after, changed_slice.start, changed_slice.stop, named)[1]
    if low < high:
        keys, differs = _find_differing_parts((old_names, old_kw), (named.names, here[:, : high - low]))
        _, indices, own = np.intersect1d(keys, after.battery_keys, return_indices=True)
        parts[own, low:high] |= differs[indices]
    return stored, parts, here


def _find_new_capacities(before: ZonePlan, capacity_before_kwh: Floats, after: ZonePlan, capacity_kwh: Floats) -> Mask:
    """Where a battery can hold more or less than before, so that the same energy is another state of charge."""
    is_new = np.zeros(capacity_kwh.shape, dtype=bool)
    first, end = max(before.first, after.first), min(before.end, after.end)
    _, rows, old_rows = np.intersect1d(after.battery_keys, before.battery_keys, return_indices=True)
    old_kwh = capacity_before_kwh[old_rows, first - before.first : max(first, end) - before.first]
    here = slice(first - after.first, max(first, end) - after.first)
    is_new[rows, here] = capacity_kwh[rows, here] != old_kwh
    return is_new


def _have_same_parts(before: ZonePlan, after: ZonePlan) -> bool:
    """Whether the parts of both have the same names in the same order, and the same shares."""
    return all(
        np.array_equal(getattr(before, name), getattr(after, name))
        for name in ("battery_keys", "asset_keys", "share_of", "shares", "reserve_keys")
    )


def _find_differing_parts(before: tuple[Ints, Floats], after: tuple[Ints, Floats]) -> tuple[Ints, Mask]:
    """The keys of batteries, and in which periods any of their parts differs; a missing part is zero."""
    (old_names, old_kw), (names, part_kw) = before, after
    if not np.array_equal(names, old_names):
        names, indices = np.unique(np.concatenate([old_names, names]), axis=0, return_inverse=True)
        indices = indices.reshape(-1)
        both_kw = np.zeros((2, len(names), part_kw.shape[1]))
        both_kw[0, indices[: len(old_names)]], both_kw[1, indices[len(old_names) :]] = old_kw, part_kw
        old_kw, part_kw = both_kw
    starts = np.flatnonzero(np.diff(names[:, 0], prepend=-1))
    return names[starts, 0], np.logical_or.reduceat(np.abs(part_kw - old_kw) > POWER_TOLERANCE_KW, starts, axis=0)


def batteries_with_new_power(before: ZonePlan | None, after: ZonePlan, changed_slice: slice) -> frozenset[int]:
    """The batteries whose power is another than before; what was not planned before was idle.

    `changed_slice`: the columns of `after` outside which all batteries do as before.
    """
    by_kw = after.battery_power_kw(changed_slice)
    if before is not None and before.end > after.first >= before.first:
        offset = after.first - before.first
        old_kw = before.battery_power_kw(slice(offset + changed_slice.start, offset + changed_slice.stop))
        _, rows, old_rows = np.intersect1d(after.battery_keys, before.battery_keys, return_indices=True)
        by_kw[rows, : old_kw.shape[1]] -= old_kw[old_rows]
    return frozenset(after.battery_keys[np.abs(by_kw).max(axis=1, initial=0.0) > POWER_TOLERANCE_KW].tolist())


def last_versions(plan: ZonePlan | None) -> dict[int, int]:
    """The number of each battery's last dispatch, by its key."""
    if plan is None:
        return {}
    return dict(zip(plan.battery_keys.tolist(), plan.versions.tolist(), strict=True))
