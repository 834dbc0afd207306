"""`gridloom import …` against the real service."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.conftest import Terminal
from tests.client.test_published import FCR_COLUMNS, FCR_ROWS, write_xlsx
from tests.people import OPERATOR_USERNAME, PASSWORD
from tests.published_prices import write_energy_charts

from gridloom.kernel.ids import uuid7
from gridloom_client.commands.imports import LINES_AT_ONCE


@pytest.fixture
async def signed_in(terminal: Terminal, operator: httpx2.AsyncClient) -> Terminal:
    ended = await terminal("login", "--username", OPERATOR_USERNAME, "--password-stdin", typed=f"{PASSWORD}\n")
    assert ended.code == 0, ended.err
    return terminal


@pytest.fixture
async def asset(database_url: str, operator: httpx2.AsyncClient) -> UUID:
    me = (await operator.get("/auth/me")).json()
    id = uuid7()
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "insert into asset (id, kind, organisation_id) values ($1, 'VIRTUAL', $2)", id, UUID(me["organisationID"])
    )
    await connection.close()
    return id


class TestImport:
    async def test_loads_published_prices_once(
        self, signed_in: Terminal, operator: httpx2.AsyncClient, tmp_path: Path
    ) -> None:
        days = {
            "2024-03-31": 60,
            "2024-10-27": 60,
            "2025-03-30": 60,
            "2025-10-01": 15,
            "2025-10-26": 15,
            "2026-03-29": 15,
        }
        files = [
            str(write_energy_charts(tmp_path / f"{day}.json", date.fromisoformat(day), minutes))
            for day, minutes in days.items()
        ]
        first = await signed_in("import", "day-ahead", *files, "--json")
        assert first.code == 0, first.err
        total = 23 + 25 + 23 + 96 + 100 + 92
        assert json.loads(first.out) == {"received": total, "inserted": total, "replaced": 0, "unchanged": 0}
        again = await signed_in("import", "day-ahead", *files, "--json")
        assert json.loads(again.out)["unchanged"] == total
        listed = await operator.get(
            "/reference-prices",
            params={"series": "DAY_AHEAD_DE_LU", "start": "2026-03-28T23:00:00Z", "end": "2026-03-29T22:00:00Z"},
        )
        assert len(listed.json()) == 92

    async def test_loads_the_same_rows_of_any_kind_of_file(self, signed_in: Terminal, tmp_path: Path) -> None:
        starts = [datetime(2026, 11, 1, hour, tzinfo=UTC) for hour in range(3)]
        text = "series;start;end;price\n" + "".join(
            f"IDA1_DE_LU;{start.isoformat()};{(start + timedelta(hours=1)).isoformat()};1.234,56\n" for start in starts
        )
        table = pa.table(
            {
                "series": ["IDA1_DE_LU"] * 3,
                "start": starts,
                "end": [start + timedelta(hours=1) for start in starts],
                "price": [1234.56] * 3,
            }
        )
        pq.write_table(table, tmp_path / "prices.parquet")
        first = await signed_in("import", "prices", "-", "--json", typed=text)
        assert json.loads(first.out)["inserted"] == 3, first.err
        again = await signed_in("import", "prices", str(tmp_path / "prices.parquet"), "--json")
        assert json.loads(again.out)["unchanged"] == 3, again.err
        by_the_clock = "start;price\n" + "".join(f"2026-11-01 0{hour}:00;1.234,56\n" for hour in (1, 2, 3))
        options = ("--series", "IDA1_DE_LU", "--zone", "Europe/Berlin", "--minutes", "60")
        third = await signed_in("import", "prices", "-", "--json", *options, typed=by_the_clock)
        assert third.code == 0, third.err
        assert json.loads(third.out)["unchanged"] == 3

    async def test_finds_settled_prices_that_are_not_the_published_ones(
        self, signed_in: Terminal, operator: httpx2.AsyncClient, asset: UUID, tmp_path: Path
    ) -> None:
        prices = write_xlsx(tmp_path / "fcr.xlsx", FCR_COLUMNS, FCR_ROWS)
        assert (await signed_in("import", "fcr", str(prices))).code == 0
        settled = tmp_path / "awards.csv"
        settled.write_text(
            "assetID,deliveryDay,product,capacity,settlementPrice\n"
            f"{asset},2026-03-29,NEGPOS_00_04,5,22.286667\n"
            f"{asset},2026-03-29,NEGPOS_04_08,5,22.1\n"
        )
        ended = await signed_in("import", "settlements", "fcr", str(settled), "--json")
        assert json.loads(ended.out)["inserted"] == 2, ended.err
        query = {"kind": "fcr", "asset-id": str(asset)}
        found = (await operator.get("/reference-prices/deviations", params=query)).json()
        assert [(one["reference"], one["settledPrice"], one["publishedPrice"]) for one in found] == [
            ("NEGPOS_04_08", 22.1, 5.525)
        ]
        assert datetime.fromisoformat(found[0]["time"]) == datetime(2026, 3, 29, 2, tzinfo=UTC)
        assert (await operator.get("/reference-prices/deviations", params={**query, "tolerance": 20})).json() == []

    async def test_stops_at_a_broken_file_before_anything_is_sent(self, signed_in: Terminal, tmp_path: Path) -> None:
        broken = tmp_path / "x.csv"
        broken.write_text("a,b\n1,2\n")
        for arguments in (["fcr", str(broken)], ["fcr", str(tmp_path / "none")], ["settlements", "fcr", str(tmp_path)]):
            ended = await signed_in("import", *arguments)
            assert (ended.code, ended.out) == (2, "")
            assert "Traceback" not in ended.err
        refused = await signed_in("import", "settlements", "fcr", str(broken))
        assert refused.code == 1
        assert "is not a field" in refused.err

    async def test_names_the_rows_of_the_file_that_are_refused(
        self, signed_in: Terminal, asset: UUID, tmp_path: Path
    ) -> None:
        header, row = "assetID,time,volume\n", f"{asset},2026-03-29T00:00:00Z,1\n\n"
        file = tmp_path / "netted.csv"
        file.write_text(header + row + row + row.replace(",1", ",1x"))
        ended = await signed_in("import", "settlements", "net-off", str(file))
        assert (ended.code, ended.out) == (1, "")
        assert "netted.csv: nothing of it was recorded. row 3/volume: is not a number" in ended.err
        file.write_text(header + LINES_AT_ONCE * row + row.replace(",1", ",1x"))
        ended = await signed_in("import", "settlements", "net-off", str(file))
        assert "netted.csv: its first 50,000 rows are recorded. row 50,001/volume" in ended.err
