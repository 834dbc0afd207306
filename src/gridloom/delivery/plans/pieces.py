"""A standing plan in pieces, so that a change writes only those that it touches; and plans as they were kept before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gridloom.delivery.codec import Arrays, pack, unpack
from gridloom.delivery.model import CODE_OF_KIND, PartKind
from gridloom.delivery.planning.netting import cut_unserved, net
from gridloom.delivery.planning.standing_plan import StandingPlan

ROWS_PER_PIECE: Final = 32
"""An asset's change rewrites the rows of its neighbours in the piece: few enough, yet a plan is not many pieces."""
WIDE: Final = 8
"""Columns from which on an array has a column for each period, and is worth cutting."""
Piece = tuple[str, int]
"""The name of an array, and the number of a block of its rows."""


def changed_pieces(before: Arrays, after: Arrays) -> Iterator[tuple[Piece, bytes]]:
    """The pieces of `after` that are not as they were, packed."""
    for name, array in after.items():
        old = before.get(name)
        if old is array:
            continue
        alike = old is not None and old.shape == array.shape and old.dtype == array.dtype
        height = ROWS_PER_PIECE if array.ndim > 1 and array.shape[1] >= WIDE else max(1, len(array))
        for block, low in enumerate(range(0, max(1, len(array)), height)):
            rows = array[low : low + height]
            if alike and old is not None and _are_identical(rows, old[low : low + height]):
                continue
            yield (name, block), pack({"rows": rows})


def _are_identical(one: np.ndarray, other: np.ndarray) -> bool:
    """To the last bit: a zero that has changed its sign is another."""
    return bool((one.view(np.int64) == other.view(np.int64)).all())


def join_pieces(pieces: Sequence[tuple[str, bytes]]) -> dict[str, np.ndarray]:
    """From pieces in the order of name and block."""
    found: dict[str, list[np.ndarray]] = {}
    for name, body in pieces:
        found.setdefault(name, []).append(unpack(body)["rows"])
    return {name: rows[0] if len(rows) == 1 else np.concatenate(rows) for name, rows in found.items()}


# --- plans as they were kept before ----------------------------------------------------------------------------------


def unpack_earlier_plan(first: int, packed: bytes) -> StandingPlan:
    """A plan that was kept in one piece, without shares: which parts its batteries did is not known any more."""
    kept = unpack(packed)
    held = kept["part_of"][:, 1] >= CODE_OF_KIND[PartKind.FCR]
    netting = net(kept["power_kw"])
    after = net(cut_unserved(kept["power_kw"], netting, kept["unserved_kw"]))
    return StandingPlan(
        first,
        kept["asset_keys"],
        kept["power_kw"],
        kept["battery_keys"],
        kept["virtual_kw"],
        kept["own_kw"],
        kept["energy_kwh"],
        kept["due_kwh"][:, 0].copy(),
        np.diff(kept["due_kwh"], axis=1),
        np.zeros((0, 2), dtype=np.int64),
        np.zeros(0),
        kept["part_of"][held],
        kept["part_kw"][held],
        kept["netted_part"],
        np.stack([netting.exports_kw, netting.imports_kw, after.matched_kw, kept["unserved_kw"]]),
        np.zeros(len(kept["battery_keys"]), dtype=np.int64),
    )
