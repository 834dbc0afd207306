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
