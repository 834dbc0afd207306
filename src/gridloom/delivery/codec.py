"""Named arrays as compressed bytes: chunks of a plan, and a version of a battery's dispatch."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping

import msgspec
import numpy as np
import zstandard

from gridloom.market_calendar import Floats, Ints

Arrays = Mapping[str, Floats | Ints]


class _Tools(threading.local):
    """Made once for each thread: to make them takes longer than to pack a short array."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(
            level=-1
        )  # as small as level 1 for arrays this short, in a third of its time
        self.fast_compressor = zstandard.ZstdCompressor(level=-7)
        self.decompressor = zstandard.ZstdDecompressor()
        self.encoder = msgspec.msgpack.Encoder()
        self.decoder = msgspec.msgpack.Decoder(tuple[dict[str, tuple[str, list[int]]], bytes])


_tools = _Tools()


def pack(arrays: Arrays, *, fast: bool = False) -> bytes:
    """Named arrays of doubles or whole numbers, exactly as they are.

    `fast`: for what is soon replaced. It takes half the time, to pack and to unpack, and up to half as much space more.
    """
    head = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    body = b"".join([array.tobytes() for array in arrays.values()])
    compressor = _tools.fast_compressor if fast else _tools.compressor
    return compressor.compress(_tools.encoder.encode((head, body)))


def unpack(packed: bytes) -> dict[str, np.ndarray]:
    head, body = _tools.decoder.decode(_tools.decompressor.decompress(packed))
    arrays, offset = {}, 0
    for name, (kind, shape) in head.items():
        count = math.prod(shape)
        dtype = np.dtype(kind)
        arrays[name] = np.frombuffer(body, dtype, count, offset).reshape(shape)
        offset += count * dtype.itemsize
    return arrays
