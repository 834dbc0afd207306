"""Long series in slices say what short ones say at once."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Iterable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gridloom.kernel.market_time import format_instant, period_start
from gridloom.virtual_assets import streaming
from gridloom.virtual_assets.streaming import list_json, streamed_points, table

pytestmark = pytest.mark.pure

FIRST = 1_994_000
SERIES = {"power": np.arange(0.5, 7.0), "room": np.arange(-20.0, -13.0)}


@pytest.fixture(autouse=True)
def _in_slices_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "SLICE", 3)


def times(count: int) -> list[str]:
    return [format_instant(period_start(FIRST) + place * timedelta(minutes=15)) for place in range(count)]


def points(name: str, values: Iterable[float]) -> list[dict[str, Any]]:
    listed = list(values)
    return [{"time": time, name: value} for time, value in zip(times(len(listed)), listed, strict=True)]


async def read(chunks: Any) -> bytes:
    assert isinstance(chunks, AsyncIterator)
    return b"".join([bytes(chunk) async for chunk in chunks])


class TestASeriesInSlices:
    @pytest.mark.parametrize("count", [0, 1, 3, 4, 6, 7])
    async def test_is_one_list_of_all_periods_in_their_order(self, count: int) -> None:
        columns = {name: values[:count] for name, values in SERIES.items()}
        rows = json.loads(await read(list_json(FIRST, columns)))
        assert rows == [
            {"time": time, "power": power, "room": room}
            for time, power, room in zip(times(count), *columns.values(), strict=True)
        ]
        stream = streamed_points(FIRST, columns["power"], "power")
        assert json.loads(await read(stream.chunks)) == points("power", columns["power"])

    async def test_is_a_column_of_a_table(self) -> None:
        stream = table("application/vnd.apache.arrow.stream", FIRST, SERIES, "series")
        found = pa.ipc.open_stream(io.BytesIO(await read(stream.chunks))).read_all()
        assert found.column_names == ["time", "power", "room"]
        assert [format_instant(row) for row in found["time"].to_pylist()] == times(7)
        assert [found[name].to_pylist() for name in SERIES] == [values.tolist() for values in SERIES.values()]
