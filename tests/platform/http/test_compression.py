"""What is sent compressed is what was to be sent."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator

import pytest
import zstandard

from gridloom.platform.http.answer.render import OFF_LOOP_FROM_BYTES, compress, compress_stream, encoding_for

pytestmark = pytest.mark.pure

CHUNKS = [b"one", b"", b"two " * 10, b"x" * (OFF_LOOP_FROM_BYTES + 1), b"three"]


def unpack(content: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(content)
    return zstandard.ZstdDecompressor().decompressobj().decompress(content)


async def give_chunks() -> AsyncIterator[bytes]:
    for chunk in CHUNKS:
        yield chunk


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
class TestCompression:
    async def test_of_a_body_is_undone_by_its_reader_whatever_its_length(self, encoding: str):
        for chunk in CHUNKS:
            assert unpack(await compress(chunk, encoding), encoding) == chunk

    async def test_of_a_stream_is_undone_by_its_reader(self, encoding: str):
        sent = [chunk async for chunk in compress_stream(give_chunks(), encoding)]
        assert unpack(b"".join(sent), encoding) == b"".join(CHUNKS)


@pytest.mark.parametrize(
    ("accepted", "used"),
    [
        (None, None),
        ("", None),
        ("gzip", "gzip"),
        ("gzip, zstd;q=0.1", "zstd"),
        ("gzip;q=0.5, zstd;q=0", "gzip"),
        ("zstd;q=nonsense, GZIP", "gzip"),
        ("br, identity", None),
    ],
)
def test_the_first_of_ours_that_is_accepted_is_used(accepted: str | None, used: str | None):
    assert encoding_for(accepted) == used
