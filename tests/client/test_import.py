"""`gridloom monitoring import` brings a file of points into the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.assets import register_asset
from tests.client.conftest import Terminal

from gridloom_client.commands import table_files
from gridloom_client.commands.table_files import open_table
from gridloom_client.commands.terminal.ending import Misunderstood

START = np.datetime64("2026-01-01T00:00:00", "ms")


@pytest.fixture
async def owner(new_organisation: Any) -> Any:
    return await new_organisation()


async def key_of(owner: Any) -> str:
    body = {"name": "import", "permissions": ["Create:monitoring", "Read:monitoring"]}
    answer = await owner.engineer.post("/auth/api-keys", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


class TestImporting:
    async def test_a_csv_of_one_asset_tells_what_became_of_it(self, terminal: Terminal, owner: Any, tmp_path: Path):
        asset = await register_asset(owner)
        rows = [f"active_power,2026-01-01T00:{minute:02}:00Z,{minute}.5" for minute in range(60)]
        file = tmp_path / "points.csv"
        file.write_text("\n".join(["signal,time,value", *rows, "active_power,yesterday,1"]))
        ended = await terminal(
            "monitoring", "import", str(file), "--asset", asset.id, GRIDLOOM_API_KEY=await key_of(owner)
        )
        assert ended.code == 1
        assert "60 points written, 0 overwritten, 1 refused." in ended.out
        assert "row 61 (time)" in ended.out
        latest = await terminal("monitoring", "latest", asset.id, "--json", GRIDLOOM_API_KEY=await key_of(owner))
        assert json.loads(latest.out)["data"]["active_power"]["value"] == 59.5

    async def test_a_parquet_of_many_assets_may_be_repeated(self, terminal: Terminal, owner: Any, tmp_path: Path):
        assets = [(await register_asset(owner)).id for _ in range(2)]
        times = pa.array(START + np.arange(100) * np.timedelta64(60_000, "ms")).cast(pa.timestamp("ms", "UTC"))
        table = pa.table({"physicalAssetID": assets * 50, "time": times, "frequency": np.full(100, 50.0)})
        file = tmp_path / "points.parquet"
        pq.write_table(table, file)
        key = await key_of(owner)
        first = await terminal("monitoring", "import", str(file), "--json", GRIDLOOM_API_KEY=key)
        again = await terminal("monitoring", "import", str(file), "--json", GRIDLOOM_API_KEY=key)
        assert (first.code, json.loads(first.out)["written"]) == (0, 100), first.err
        assert (again.code, json.loads(again.out)["overwritten"]) == (0, 100), again.err
        listed = await terminal("monitoring", "signals", assets[0], "--json", GRIDLOOM_API_KEY=key)
        assert [signal["name"] for signal in json.loads(listed.out)] == ["frequency"]

    async def test_needs_to_know_whose_points_they_are(self, terminal: Terminal, tmp_path: Path):
        file = tmp_path / "points.csv"
        file.write_text("signal,time,value\n")
        ended = await terminal("monitoring", "import", str(file), GRIDLOOM_API_KEY="none")
        assert (ended.code, ended.err) == (
            2,
            "The file has no column physicalAssetID: say whose points these are with --asset.\n",
        )


class TestATableFile:
    def test_of_columns_counts_its_rows_from_piece_to_piece(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_files, "CELLS", 8)
        columns = {"time": range(11), "activePower": range(11), "reactivePower": range(11)}
        pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), tmp_path / "points.parquet")
        with open_table(tmp_path / "points.parquet") as table:
            pieces = list(table.pieces())
        assert [(piece.first_row, piece.size) for piece in pieces] == [(0, 4), (4, 4), (8, 3)]
        assert pa.ipc.open_stream(pieces[2].body).read_all()["activePower"].to_pylist() == [8, 9, 10]

    @pytest.mark.parametrize("name", ["points.xlsx", "missing.csv"])
    def test_that_cannot_be_read_ends_with_a_sentence(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "points.xlsx").write_bytes(b"")
        with pytest.raises(Misunderstood), open_table(tmp_path / name):
            pass
