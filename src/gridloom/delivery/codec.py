"""Named arrays as compressed bytes: pieces of a plan, and a version of a battery's dispatch."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import numpy as np
import zstandard

from gridloom.delivery.model import KIND_OF_CODE, Floats, Ints

Arrays = Mapping[str, Floats | Ints]


def pack(arrays: Arrays) -> bytes:
    """Named arrays of doubles or whole numbers, exactly as they are."""
    head = {name: (array.dtype.str, list(array.shape)) for name, array in arrays.items()}
    return _compress_arrays(head, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values()))


def _compress_arrays(head: Mapping[str, tuple[str, list[int]]], body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(msgspec.msgpack.encode((head, body)))


def unpack(packed: bytes) -> dict[str, np.ndarray]:
    head, body = msgspec.msgpack.decode(
        zstandard.ZstdDecompressor().decompress(packed), type=tuple[dict[str, tuple[str, list[int]]], bytes]
    )
    arrays, place = {}, 0
    for name, (kind, shape) in head.items():
        count = math.prod(shape)
        arrays[name] = np.frombuffer(body, np.dtype(kind), count, place).reshape(shape)
        place += count * np.dtype(kind).itemsize
    return arrays


def pack_dispatch(names: Ints, part_kw: Floats, energy_kwh: Floats, capacity_kwh: Floats) -> bytes:
    """A battery's parts, named by kind's code and virtual asset, with its energies: as `pack` would, in one go."""
    width = ("<f8", [part_kw.shape[1]])
    head = {"energy": ("<f8", [len(energy_kwh)])}
    head |= {f"{KIND_OF_CODE[kind]}:{asset_key}": width for kind, asset_key in names.tolist()}
    head["capacity"] = width
    return _compress_arrays(head, energy_kwh.tobytes() + part_kw.tobytes() + capacity_kwh.tobytes())
