"""Bulk bodies made to cost more than they are worth."""

import asyncio
import io
import random
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.decoder_processes import forking, measured_growth
from tests.settlements.reading import decode_rows

from gridloom.kernel.problem import BadRequest, PayloadTooLarge
from gridloom.platform.http import BULK, CSV, JSON, NDJSON, PARQUET
from gridloom.platform.http.long_bodies.decoder_process import run_in_subprocess
from gridloom.settlements.model import NET_OFFS

MAX_GROWTH_BYTES = 64 << 20
"""Of the service's process, while it refuses a body: the body itself and its copies on the way."""
ASSET = "0197a5c0-0000-7000-8000-000000000001"


def parquet_of(columns, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def rows(count, asset=ASSET):
    return {
        "assetID": pa.array([asset] * count),
        "time": pa.array(["2026-01-05T10:00:00Z"] * count),
        "volume": pa.array([1.0] * count),
    }


def references(text, count):
    """To one text: neither does this process unfold them."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))


FRONT_CODED = {"use_dictionary": False, "column_encoding": {"assetID": "DELTA_BYTE_ARRAY"}}
HOSTILE = {
    "one long text in every row": lambda: parquet_of(
        rows(100_000) | {"assetID": references("x" * 28_000, 100_000)}, compression="zstd", store_schema=False
    ),
    "long texts that pack well": lambda: parquet_of(
        rows(20_000, "x" * 10_000), compression="zstd", use_dictionary=False
    ),
    "texts that each continue the one before": lambda: parquet_of(rows(20_000, "x" * 10_000), **FRONT_CODED),
    "more rows than a request may have": lambda: parquet_of(rows(100_001)),
    "far more rows than that": lambda: parquet_of(
        {name: pa.repeat(column[0], 20_000_000) for name, column in rows(1).items() if name == "volume"}
    ),
    "lists": lambda: parquet_of(rows(2) | {"volume": pa.array([[1.0] * 1000] * 2)}),
    "thousands of columns": lambda: parquet_of({f"c{number}": [1] for number in range(2000)}),
    "no table at all": lambda: b"PAR1" * 1000,
}


@pytest.fixture(scope="module", autouse=True)
def fork_server():
    with forking() as pid:
        yield pid


def read_damaged(sound, times):
    """How often the file was read and how often refused, with a few of its bytes changed each time."""
    chance, found = random.Random(11), Counter[int]()
    for _ in range(times):
        mutated = bytearray(sound)
        for _ in range(chance.randint(1, 6)):
            mutated[chance.randrange(len(mutated))] = chance.randrange(256)
        try:
            decode_rows(NET_OFFS, bytes(mutated), PARQUET)
        except (BadRequest, PayloadTooLarge) as refusal:
            found[refusal.status] += 1
        else:
            found[200] += 1
    return found


class TestAParquetFile:
    async def send(self, operator, body):
        headers = {"Content-Type": PARQUET}
        return await operator.post("/settlements/net-off", content=body, headers=headers)

    @pytest.mark.parametrize("name", HOSTILE)
    async def test_that_is_hostile_is_refused_and_others_are_served(self, operator, world, name):
        body, asset = HOSTILE[name](), str(await world.bare_asset())
        assert len(body) < BULK.limit_bytes, "nor is it refused by its length"
        with measured_growth() as growth:
            refused, served = await asyncio.gather(
                self.send(operator, body), self.send(operator, parquet_of(rows(1, asset)))
            )
        assert refused.status_code in (400, 413), refused.text
        assert refused.json()["detail"]
        assert served.json()["inserted"] == 1, served.text
        assert growth.peak_bytes < MAX_GROWTH_BYTES
        assert len((await operator.get("/settlements/net-off", params={"asset-id": asset})).json()) == 1

    @pytest.mark.parametrize("options", [{}, {"compression": "zstd"}, {"data_page_version": "2.0"}])
    async def test_that_is_mutated_is_read_or_refused_and_never_a_failure(self, options):
        found = await run_in_subprocess(None, read_damaged, parquet_of(rows(50), **options), times=300)
        assert found[200]
        assert found[400]
        assert found.total() == 300


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
