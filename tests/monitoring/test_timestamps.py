"""Timestamps by the column read as the standard library reads them one by one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.monitoring.ingest import timestamps
from gridloom.monitoring.model import microseconds

pytestmark = pytest.mark.pure

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
INSTANTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=ZONES)  # noqa: DTZ001


def written(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


class TestAColumn:
    @given(st.lists(INSTANTS, min_size=1, max_size=30))
    def test_reads_what_datetime_writes(self, instants: list[datetime]) -> None:
        times, faults = timestamps.from_arrow(pa.array([written(instant) for instant in instants]))
        assert faults.tolist() == [timestamps.FINE] * len(instants)
        assert times.tolist() == [microseconds(instant) for instant in instants]

    @given(st.lists(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), min_size=1, max_size=30))  # noqa: DTZ001
    def test_reads_an_array_as_it_is_in_the_body(self, locals_: list[datetime]) -> None:
        texts = [local.replace(microsecond=0).isoformat() + "Z" for local in locals_]
        expected = [microseconds(local.replace(microsecond=0, tzinfo=UTC)) for local in locals_]
        for body in (json.dumps(texts), json.dumps(texts, separators=(",", ":"))):
            found = timestamps.from_json(body.encode())
            assert found is not None
            assert found[0].tolist() == expected
            assert not found[1].any()

    @given(st.lists(st.text(max_size=40), max_size=10))
    def test_never_stumbles_over_any_text(self, texts: list[str]) -> None:
        _, faults = timestamps.from_arrow(pa.array(texts, pa.string()))
        assert len(faults) == len(texts)

    @given(st.binary(max_size=60))
    def test_never_stumbles_over_any_bytes_in_place_of_an_array(self, body: bytes) -> None:
        timestamps.from_json(body)
        timestamps.from_json(b'["' + body + b'"]')

    def test_finds_the_bad_among_the_good(self) -> None:
        texts = [
            "2026-03-29T01:00:00Z",
            "2026-02-29T00:00:00Z",
            None,
            "2024-02-29T00:00:00.5+01:00",
            "2026-01-01T00:00:00",
            "2026-02-29T00:00:00",
        ]
        times, faults = timestamps.from_arrow(pa.array(texts))
        malformed, without_offset = timestamps.MALFORMED, timestamps.WITHOUT_OFFSET
        assert faults.tolist() == [0, malformed, malformed, 0, without_offset, malformed]
        assert times[3] == microseconds(datetime(2024, 2, 28, 23, 0, 0, 500_000, tzinfo=UTC))

    def test_knows_the_leap_years_beside_a_text_that_is_none(self) -> None:
        texts = [f"{year}-02-29T00:00:00Z" for year in (2000, 2024, 2023, 1900)]
        times, faults = timestamps.from_arrow(pa.array([*texts, "yesterday"]))
        malformed = timestamps.MALFORMED
        assert faults.tolist() == [timestamps.FINE, timestamps.FINE, malformed, malformed, malformed]
        assert times[:2].tolist() == [microseconds(datetime(year, 2, 29, tzinfo=UTC)) for year in (2000, 2024)]

    def test_finds_the_bad_wherever_they_are(self) -> None:
        texts = ["2026-01-01T00:00:00Z"] * 40_000
        bad = [0, 16_383, 16_384, 39_999]
        for place in bad:
            texts[place] = "yesterday"
        times, faults = timestamps.from_arrow(pa.array(texts))
        assert faults.nonzero()[0].tolist() == bad
        assert set(times[faults == timestamps.FINE].tolist()) == {microseconds(datetime(2026, 1, 1, tzinfo=UTC))}

    @pytest.mark.parametrize("text", ["2026-01-01t00:00:00z", "2026-01-01 00:00:00Z", "2025-12-31T22:30:00-01:30"])
    def test_takes_what_the_standard_leaves_open(self, text: str) -> None:
        times, faults = timestamps.from_arrow(pa.array([text]))
        assert not faults.any()
        assert times[0] == microseconds(datetime(2026, 1, 1, tzinfo=UTC))

    def test_reads_a_slice_of_an_array(self) -> None:
        texts = pa.array(["nothing", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"])[1:]
        times, faults = timestamps.from_arrow(texts)
        assert not faults.any()
        assert times[1] - times[0] == 1_000_000

    @pytest.mark.parametrize(
        "text",
        [
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-32T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "0000-01-01T00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+01:60",
            "2026/01/01T00:00:00Z",
            "2026-01-01T00:00:00.1234567890Z",
            "20260101T000000Z0000",
            "",
            "Z",
            "2026-01-01X00:00:00Z",
            "026-01-01T00:00:00Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00+01:00",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00+01",
            "2026-01-01T00:00:00 +01:00",
            "1900-02-29T00:00:00Z",
        ],
    )
    def test_refuses(self, text: str) -> None:
        assert timestamps.from_arrow(pa.array([text]))[1].tolist() == [timestamps.MALFORMED]

    def test_cuts_off_what_is_finer_than_a_microsecond(self) -> None:
        times, _ = timestamps.from_arrow(pa.array(["2026-01-01T00:00:00.123456789Z"]))
        assert times[0] % 1_000_000 == 123_456
