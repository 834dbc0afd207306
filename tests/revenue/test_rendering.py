"""A report as it is sent: what is said of its categories, and its points."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.revenue.reference import utc

from gridloom.kernel.market_time import Resolution
from gridloom.kernel.window import Window
from gridloom.revenue.formulas import Sums
from gridloom.revenue.model import ReportBuckets, Subject
from gridloom.revenue.rendering import json_chunks, record_batches
from gridloom.revenue.reporting import Part, Report, all_categories
from gridloom.settlements.measures import FactSource

pytestmark = pytest.mark.pure

DAY = date(2026, 7, 1)
NAMES = ("revenue_wholesale", "revenue_fcr", "sell_vwap_wholesale")
SOURCES = frozenset({FactSource.FCR})


def report_of(resolution: Resolution) -> Report:
    window = Window(utc(DAY, 0), utc(DAY, 24))
    return Report(Subject("s", (), ()), window, resolution, all_categories(NAMES), provisional_sources=SOURCES)


def part_of(count: int, present: Any = None) -> Part:
    """In the bucket n, n MWh were sold at 2 EUR, and FCR earned 3 EUR."""
    numbers = np.arange(count, dtype=np.float64)
    labels = int(utc(DAY, 0).timestamp()) + 900 * np.arange(count)
    starts = labels.astype(np.float64)
    buckets = ReportBuckets(labels, starts + 60, starts + 900)
    sums = {
        "sell_proceeds_eur": 2 * numbers,
        "sell_volume_mwh": numbers,
        "buy_cost_eur": np.zeros(count),
        "fcr_revenue_eur": np.full(count, 3.0),
    }
    return Part(buckets, Sums(sums), present or {})


async def parts(*given: Part) -> AsyncIterator[Part]:
    for one in given:
        yield one


class TestJson:
    @pytest.mark.parametrize("counts", [(3,), (1, 2), (10_001,)])
    async def test_has_every_category_whole_and_says_which_is_provisional(self, counts: tuple[int, ...]) -> None:
        asked = report_of(Resolution.QUARTER_HOUR)
        told = json.loads(b"".join([c async for c in json_chunks(asked, parts(*(part_of(n) for n in counts)))]))
        assert [(one["dataPointName"], one["unit"], one["resolution"]) for one in told["metaData"]] == [
            ("revenue_wholesale", "EUR", "15-minute"),
            ("sell_vwap_wholesale", "EUR/MWh", "15-minute"),
            ("revenue_fcr", "EUR", "15-minute"),
        ]
        assert [one["aggregation"] for one in told["metaData"]] == ["sum", "ratio of sums", "sum"]
        assert [one.get("provisional") for one in told["metaData"]] == [None, None, True]
        expected = [
            (utc(DAY, 0) + n * timedelta(minutes=15), 2.0 * n, 2.0 if n else None, 3.0)
            for count in counts
            for n in range(count)
        ]
        times = [datetime.fromisoformat(point["time"]) for point in told["data"]["revenue_fcr"]]
        columns = [[point["value"] for point in points] for points in told["data"].values()]
        assert list(told["data"]) == ["revenue_wholesale", "sell_vwap_wholesale", "revenue_fcr"]
        assert list(zip(times, *columns, strict=True)) == expected


class TestATable:
    async def test_by_facts_has_values_where_a_category_has_one_alone(self) -> None:
        present = {FactSource.WHOLESALE: np.array([False, True, True]), FactSource.FCR: np.array([True, False, True])}
        [batch] = [one async for one in record_batches(report_of(Resolution.RAW), parts(part_of(3, present)))]
        assert batch.to_pydict() == {
            "time": [utc(DAY, 0) + n * timedelta(minutes=15) for n in range(3)],
            "revenue_wholesale": [None, 2.0, 4.0],
            "sell_vwap_wholesale": [None, 2.0, 2.0],
            "revenue_fcr": [3.0, None, 3.0],
        }
