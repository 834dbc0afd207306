"""Long JSON is read in slices that block no other request, with the same result as in one piece."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.edge.decode.json_decoder import Decoder
from gridloom.long_bodies.slices import count_in_slices, decode_in_batches

NASTY = st.text(st.sampled_from('ab"\\},{[] \n'), max_size=12)
ROWS = st.lists(st.fixed_dictionaries({"name": NASTY, "value": st.integers(0, 9)}), max_size=30)


class Row(msgspec.Struct):
    name: str
    value: int


ARRAY, LINE = msgspec.json.Decoder(list[Row]), msgspec.json.Decoder(Row)


def written(rows: list[dict[str, Any]], *, lines: bool, indent: int | None) -> bytes:
    if lines:
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return json.dumps(rows, indent=indent).encode()


class TestALongBody:
    @given(ROWS, st.booleans(), st.sampled_from([None, 0, 2]), st.integers(1, 80))
    def test_says_the_same_in_slices_whatever_its_texts_hold(
        self, rows: list[dict[str, Any]], lines: bool, indent: int | None, slice_bytes: int
    ) -> None:
        body = written(rows, lines=lines, indent=indent)
        decode = LINE.decode_lines if lines else ARRAY.decode
        slices = decode_in_batches(body, decode, lines=lines, slice_bytes=slice_bytes)
        assert [row for one in slices for row in one] == decode(body)

    @pytest.mark.parametrize("lines", [False, True])
    def test_is_decoded_in_pieces_of_bounded_length(self, lines: bool) -> None:
        rows = [{"name": f"row {number}", "value": number % 10} for number in range(1000)]
        lengths: list[int] = []

        def read(piece: bytes) -> list[Row]:
            lengths.append(len(piece))
            return LINE.decode_lines(piece) if lines else ARRAY.decode(piece)

        decode_in_batches(written(rows, lines=lines, indent=None), read, lines=lines, slice_bytes=1000)
        assert len(lengths) > 20
        assert max(lengths) < 1100

    @pytest.mark.parametrize("lines", [False, True])
    def test_that_breaks_off_is_refused_as_in_one_piece(self, lines: bool) -> None:
        rows = [{"name": f"row {number}", "value": 1} for number in range(100)]
        body = written(rows, lines=lines, indent=None)[:-5]
        decode = LINE.decode_lines if lines else ARRAY.decode
        with pytest.raises(msgspec.DecodeError) as whole:
            decode(body)
        with pytest.raises(msgspec.DecodeError) as sliced:
            decode_in_batches(body, decode, lines=lines, slice_bytes=200)
        assert str(sliced.value) == str(whole.value)

    @given(st.binary(max_size=200), st.binary(min_size=1, max_size=2), st.integers(1, 50))
    def test_is_counted_through_across_the_cuts(self, body: bytes, mark: bytes, slice_bytes: int) -> None:
        places = sum(body[place : place + len(mark)] == mark for place in range(len(body)))
        counted = count_in_slices(body, mark, slice_bytes)
        assert body.count(mark) <= counted <= places


class TestALongRequest:
    async def test_is_decoded_beside_the_event_loop(self, client: httpx2.AsyncClient, monkeypatch) -> None:
        decoded_by: list[threading.Thread] = []
        decode = Decoder.__call__

        def note_thread(decoder: Decoder, body: bytes) -> Any:
            decoded_by.append(threading.current_thread())
            return decode(decoder, body)

        monkeypatch.setattr(Decoder, "__call__", note_thread)
        for weights in ([1.5], [1.5] * 100_000):
            made = await client.post("/toys", json={"name": "heavy", "weights": weights})
            assert made.status_code == 201, made.text
        refused = await client.post("/toys", json={"name": "heavy", "weights": [*[1.5] * 100_000, -1]})
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/weights/100000"
        short, long, _ = decoded_by
        assert short is threading.current_thread()
        assert long is not threading.current_thread()
