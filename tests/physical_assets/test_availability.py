"""What an asset can do in each period, and which of what it has promised does not fit any more."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tests.assets import PARAMETERS, register_asset

from gridloom.capacity.availability import Rating, availability_series
from gridloom.kernel.window import Window
from gridloom.physical_assets import conflicts
from gridloom.physical_assets.conflicts import (
    CONFLICT_FINDERS,
    MAX_CONFLICTS,
    CapacityConflict,
    ConflictKind,
    find_conflicts,
)
from gridloom.physical_assets.precheck_store import ChangePrecheck

ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


class TestTheAvailability:
    async def test_has_what_is_rated_and_what_an_outage_leaves_in_every_format(self, new_organisation: Any) -> None:
        asset = await register_asset(await new_organisation())
        times = [f"2026-05-01T10:{minute:02}:00Z" for minute in (0, 15, 30)]
        outage = {
            "description": "",
            "type": "OUTAGE",
            "start": times[1],
            "end": times[2],
            "volume": {"energyCapacity": 5_000, "powerCapacity": {"charge": 1_000.25, "discharge": 3_000}},
        }
        made = await asset.owner.engineer.post(asset.path("/unavailability"), json=outage)
        assert made.status_code == 201, made.text
        grown = {**PARAMETERS, "validFrom": times[2], "ratedDischargePower": 13_000}
        assert (await asset.owner.engineer.put(asset.path("/parameters"), json=grown)).status_code == 200
        window = {"start": times[0], "end": "2026-05-01T10:30:01Z"}

        async def ask(media_type: str) -> Any:
            answer = await asset.owner.viewer.get(
                asset.path("/availability"), params=window, headers={"Accept": media_type}
            )
            assert answer.status_code == 200, answer.text
            return answer

        found = (await ask("application/json")).json()
        points = found.pop("availability")
        assert found == {"physicalAssetID": asset.id, **window, "unitsPower": "kW", "unitsEnergy": "kWh"}
        assert [list(point.values()) for point in points] == [
            [times[0], 10_000, 12_000, 20_000, 10_000, 12_000, 20_000],
            [times[1], 10_000, 12_000, 20_000, 8_999.75, 9_000, 15_000],
            [times[2], 10_000, 13_000, 20_000, 10_000, 13_000, 20_000],
        ]
        names = ["ratedChargePower", "ratedDischargePower", "ratedEnergy"]
        names += ["availableChargePower", "availableDischargePower", "availableEnergy"]
        assert list(points[0]) == ["time", *names]
        tables = [
            pa.ipc.open_stream((await ask(ARROW)).content).read_all(),
            pq.read_table(io.BytesIO((await ask(PARQUET)).content)),
            pa_csv.read_csv(io.BytesIO((await ask("text/csv")).content)),
        ]
        for table in tables:
            assert table.column("time").to_pylist()[0].replace(tzinfo=UTC) == datetime(2026, 5, 1, 10, tzinfo=UTC)
            assert table.select(names).to_pylist() == [{name: point[name] for name in names} for point in points]


class TestConflicts:
    """As two finders see them in a window of which the first hour is over."""

    START = datetime(2026, 6, 1, tzinfo=UTC)
    NOW = START + timedelta(hours=1)

    @pytest.fixture
    def looked_at(self, monkeypatch: pytest.MonkeyPatch) -> list[Window]:
        windows: list[Window] = []

        async def load(_: Any, keys: Any, window: Window) -> Any:
            assert keys == [7]
            windows.append(window)
            hour = Window(window.start, window.start + timedelta(hours=1))
            return {7: availability_series([Rating(self.START, 5, 6, 7)], [], hour)}

        def finder(kind: ConflictKind, *hours: int) -> Any:
            async def find(_: Any, key: int, window: Window, series: Any) -> list[CapacityConflict]:
                assert (key, series.least(0)) == (7, 5)
                ends = window.start + timedelta(hours=99)
                return [
                    CapacityConflict(
                        kind=kind, start=window.start + timedelta(hours=hour), end=ends, power=1, available=0, detail=""
                    )
                    for hour in hours
                ]

            return find

        finders = finder(ConflictKind.SCHEDULE, 2, 1), finder(ConflictKind.ANCILLARY_BID, 1, *range(5, 1100))
        monkeypatch.setattr(conflicts, "load_availability", load)
        monkeypatch.setattr(CONFLICT_FINDERS, "_given", finders)
        return windows

    def glance(self, end: datetime, *, is_promised: bool = True, is_relied_on: bool = True) -> ChangePrecheck:
        return ChangePrecheck(self.NOW, Window(self.START, end), is_promised, is_relied_on, [])

    async def find(self, monkeypatch: pytest.MonkeyPatch, glance: ChangePrecheck) -> list[CapacityConflict]:
        async def read_precheck(_: Any, key: int, window: Window, now: datetime) -> ChangePrecheck:
            assert (key, window, now) == (7, glance.window, glance.now)
            return glance

        monkeypatch.setattr(conflicts, "read_precheck", read_precheck)
        database: Any = None
        return await find_conflicts(database, 7, glance.window, glance.now)

    async def test_are_looked_for_from_now_on_and_told_in_the_order_of_time(
        self, looked_at: list[Window], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        end = self.START + timedelta(hours=3)
        found = await self.find(monkeypatch, self.glance(end))
        assert looked_at == [Window(self.NOW, end)]
        assert [(one.kind, one.start - self.NOW) for one in found[:4]] == [
            (ConflictKind.ANCILLARY_BID, timedelta(hours=1)),
            (ConflictKind.SCHEDULE, timedelta(hours=1)),
            (ConflictKind.SCHEDULE, timedelta(hours=2)),
            (ConflictKind.ANCILLARY_BID, timedelta(hours=5)),
        ]
        assert len(found) == MAX_CONFLICTS
