"""Bulk bodies made to cost more than they are worth."""

import io
import random
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.settlements.reading import decode_rows

from gridloom.edge import CSV, JSON, NDJSON, PARQUET
from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.settlements.model import NET_OFFS

ASSET = "0197a5c0-0000-7000-8000-000000000001"


def parquet_of(columns, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


class TestAParquetFile:
    def rows(self, count, asset=ASSET):
        return {
            "assetID": pa.array([asset] * count),
            "time": pa.array(["2026-01-05T10:00:00Z"] * count),
            "volume": pa.array([1.0] * count),
        }

    def test_is_not_unfolded_text_by_text(self):
        count = 100_000  # references to one text: neither does this process unfold them
        asset = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * 28_000]))
        body = parquet_of(self.rows(count) | {"assetID": asset}, compression="zstd", store_schema=False)
        assert len(body) < 20_000
        before = pa.total_allocated_bytes()
        with pytest.raises(PayloadTooLarge):
            decode_rows(NET_OFFS, body, PARQUET)
        assert pa.total_allocated_bytes() - before < 64 << 20

    def test_says_in_its_pages_what_it_unpacks_to(self):
        body = parquet_of(self.rows(20_000, asset="x" * 10_000), compression="zstd", use_dictionary=False)
        assert len(body) < 200_000
        with pytest.raises(PayloadTooLarge):
            decode_rows(NET_OFFS, body, PARQUET)

    def test_that_is_front_coded_is_refused(self):
        body = parquet_of(self.rows(10), use_dictionary=False, column_encoding={"assetID": "DELTA_BYTE_ARRAY"})
        with pytest.raises(BadRequest, match="DELTA_BYTE_ARRAY"):
            decode_rows(NET_OFFS, body, PARQUET)

    def test_holds_no_lists(self):
        columns = self.rows(2) | {"volume": pa.array([[1.0] * 1000] * 2)}
        with pytest.raises(BadRequest):
            decode_rows(NET_OFFS, parquet_of(columns), PARQUET)

    @pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"data_page_version": "2.0"}])
    def test_of_honest_rows_is_read(self, options):
        assert len(decode_rows(NET_OFFS, parquet_of(self.rows(500), **options), PARQUET)) == 500

    def test_that_is_mutated_is_read_or_refused_and_never_a_failure(self):
        chance = random.Random(11)
        for options in ({}, {"compression": "zstd"}, {"data_page_version": "2.0"}):
            sound = parquet_of(self.rows(50), **options)
            for _ in range(300):
                mutated = bytearray(sound)
                for _ in range(chance.randint(1, 6)):
                    mutated[chance.randrange(len(mutated))] = chance.randrange(256)
                with suppress(BadRequest, PayloadTooLarge):
                    decode_rows(NET_OFFS, bytes(mutated), PARQUET)


class TestATable:
    @pytest.mark.parametrize(
        "line", [b"," * 1_000_000, b"x" * 1_000_000, b'"' + b"x" * 1_000_000 + b'"', b'"' + b"x\r" * 500_000]
    )
    def test_has_lines_of_bounded_length(self, line):
        with pytest.raises(BadRequest):
            decode_rows(NET_OFFS, b"assetID,time,volume\n" + line, CSV)

    def test_may_end_its_lines_in_any_way(self):
        for end in ("\n", "\r\n", "\r"):
            body = end.join(["assetID,time,volume", *[f"{ASSET},2026-01-05T10:00:00Z,1"] * 900, ""])
            assert len(decode_rows(NET_OFFS, body.encode(), CSV)) == 900


class TestANumber:
    @pytest.mark.parametrize("media_type", [JSON, NDJSON])
    def test_has_at_most_forty_characters(self, media_type):
        for number in ("1." + "0" * 39, "1." + "0" * 1_000_000):
            row = f'{{"assetID": "{ASSET}", "time": "2026-01-05T10:00:00Z", "volume": {number}}}'
            body = row if media_type == NDJSON else f"[{row}]"
            with pytest.raises(BadRequest, match="40 characters"):
                decode_rows(NET_OFFS, body.encode(), media_type)

    def test_in_a_text_is_a_text(self):
        digits = "1" * 60
        row = f'{{"assetID": "{ASSET}", "time": ", {digits}", "volume": 1}}'
        with pytest.raises(BadRequest) as refused:
            decode_rows(NET_OFFS, f"[{row}]".encode(), JSON)
        assert refused.value.errors[0].pointer == "/0/time"
