"""What an asset can do in each period, and which of what it has promised does not fit any more."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from tests.assets import PARAMETERS, register_asset

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
