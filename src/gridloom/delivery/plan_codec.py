"""Arrays of a plan as compressed bytes: a standing plan of a zone, and a version of a battery's dispatch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import zstandard

from gridloom.delivery.model import Floats


def pack(arrays: Mapping[str, Floats | np.ndarray]) -> bytes:
    """Named arrays of doubles or whole numbers, exactly as they are."""
    head = {name: (array.dtype.str, list(array.shape)) for name, array in arrays.items()}
    body = msgspec.msgpack.encode((head, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())))
    return zstandard.ZstdCompressor(level=1).compress(body)


def unpack(packed: bytes) -> dict[str, np.ndarray]:
    head, body = msgspec.msgpack.decode(
        zstandard.ZstdDecompressor().decompress(packed), type=tuple[dict[str, tuple[str, list[int]]], bytes]
    )
    arrays, place = {}, 0
    for name, (kind, shape) in head.items():
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(body, np.dtype(kind), count, place).reshape(shape)
        place += count * np.dtype(kind).itemsize
    return arrays


@dataclass(frozen=True, slots=True, eq=False)
class StandingPlan:
    """What was planned for a zone from `first` on: rows are assets, in the order of their keys.

    `energy_kwh` and `due_kwh` have one column more than periods: what is stored, and what would be by shares alone.
    `part_of` names each row of `part_kw`: the battery's place, the kind and the virtual asset's key, 0 for none.
    `netted_part` has two rows: which part of exports and of imports was netted. `unserved_kw` is what nobody could
    serve, with the sign of the net.
    """

    first: int
    asset_keys: np.ndarray
    power_kw: Floats
    battery_keys: np.ndarray
    virtual_kw: Floats
    own_kw: Floats
    energy_kwh: Floats
    due_kwh: Floats
    part_of: np.ndarray
    part_kw: Floats
    netted_part: Floats
    unserved_kw: Floats

    @property
    def end(self) -> int:
        return self.first + int(self.virtual_kw.shape[1])

    def packed(self) -> bytes:
        return pack({name: getattr(self, name) for name in _ARRAYS})


_ARRAYS = (
    "asset_keys",
    "power_kw",
    "battery_keys",
    "virtual_kw",
    "own_kw",
    "energy_kwh",
    "due_kwh",
    "part_of",
    "part_kw",
    "netted_part",
    "unserved_kw",
)


def standing_plan(first: int, packed: bytes) -> StandingPlan:
    return StandingPlan(first, **unpack(packed))
