"""A plan in chunks, so that a change writes only those that it touches; and plans of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gridloom.delivery.codec import Arrays, pack, unpack
from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.delivery.planning.model import ZonePlan
from gridloom.delivery.planning.netting import net, subtract_unserved

ROWS_PER_CHUNK: Final = 32
"""An asset's change rewrites the rows of its neighbours in the chunk: few enough, yet a plan is not many chunks."""
MIN_CHUNKED_COLUMNS: Final = 8
"""Columns from which on an array has a column for each period, and is worth cutting."""
ChunkKey = tuple[str, int]
"""The name of an array, and the number of a block of its rows."""


def changed_chunks(before: Arrays, after: Arrays) -> Iterator[tuple[ChunkKey, bytes]]:
    """The chunks of `after` that differ, packed."""
    for name, array in after.items():
        old = before.get(name)
        if old is array:
            continue
        alike = old is not None and old.shape == array.shape and old.dtype == array.dtype
        height = ROWS_PER_CHUNK if array.ndim > 1 and array.shape[1] >= MIN_CHUNKED_COLUMNS else max(1, len(array))
        for block, low in enumerate(range(0, max(1, len(array)), height)):
            rows = array[low : low + height]
            if alike and old is not None and _are_identical(rows, old[low : low + height]):
                continue
            yield (name, block), pack({"rows": rows})


def _are_identical(one: np.ndarray, other: np.ndarray) -> bool:
    """To the last bit: a zero that has changed its sign is another."""
    return bool((one.view(np.int64) == other.view(np.int64)).all())


def join_chunks(chunks: Sequence[tuple[str, bytes]]) -> dict[str, np.ndarray]:
    """From chunks in the order of name and block."""
    found: dict[str, list[np.ndarray]] = {}
    for name, body in chunks:
        found.setdefault(name, []).append(unpack(body)["rows"])
    return {name: rows[0] if len(rows) == 1 else np.concatenate(rows) for name, rows in found.items()}


# --- plans of earlier releases ---------------------------------------------------------------------------------------


def unpack_earlier_plan(first: int, packed: bytes) -> ZonePlan:
    """A plan that was stored in one piece, without shares: which parts its batteries did is not known any more."""
    stored = unpack(packed)
    is_reserve = stored["part_of"][:, 1] >= CODE_OF_KIND[PartKind.FCR]
    netting = net(stored["power_kw"])
    after = net(subtract_unserved(stored["power_kw"], netting, stored["unserved_kw"]))
    arrays = {
        **{name: stored[name] for name in ("asset_keys", "power_kw", "battery_keys", "virtual_kw", "own_kw")},
        "energy_kwh": stored["energy_kwh"],
        "share_energy_start_kwh": stored["due_kwh"][:, 0].copy(),
        "share_energy_changes_kwh": np.diff(stored["due_kwh"], axis=1),
        "share_of": np.zeros((0, 2), dtype=np.int64),
        "shares": np.zeros(0),
        "reserve_keys": stored["part_of"][is_reserve],
        "reserve_kw": stored["part_kw"][is_reserve],
        "netted_fraction": stored["netted_part"],
        "totals_kw": np.stack([netting.exports_kw, netting.imports_kw, after.matched_kw, stored["unserved_kw"]]),
        "versions": np.zeros(len(stored["battery_keys"]), dtype=np.int64),
    }
    return ZonePlan.of_arrays(first, arrays)
