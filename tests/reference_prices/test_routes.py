"""Published prices over HTTP."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import datetime
from itertools import pairwise
from typing import Any

import asyncpg
import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.reference_prices.listing import without_origin

from gridloom.reference_prices.store import lock_prices_as_they_are

PRICE: dict[str, Any] = {
    "series": "AFRR_CAPACITY_POS_DE_MARGINAL",
    "start": "2031-01-01T03:00:00Z",
    "end": "2031-01-01T07:00:00Z",
    "price": 12.345678,
}


PARQUET = "application/vnd.apache.parquet"


def write_file(form: str, rows: list[dict[str, Any]]) -> bytes:
    if form == "application/json":
        return json.dumps(rows).encode()
    if form == "application/x-ndjson":
        return b"\n".join(json.dumps(row).encode() for row in rows)
    if form == "text/csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        return "\n".join(lines).encode()
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


class TestPricesThatAreHeld:
    async def test_are_not_changed_until_the_transaction_ends(self, pool: asyncpg.Pool[Any]) -> None:
        """Others that hold them too do not wait."""
        held = "select mode from pg_locks where locktype = 'advisory' and granted and pid = $1"
        async with pool.acquire() as one, pool.acquire() as other, one.transaction(), other.transaction():
            for connection in (one, other):
                await lock_prices_as_they_are(connection)
                assert [row["mode"] for row in await one.fetch(held, connection.get_server_pid())] == ["ShareLock"]


class TestReferencePrice:
    async def test_keeps_every_version(self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]) -> None:
        row = {**PRICE, "series": "FCR_DE", "start": "2031-02-01T03:00:00Z", "end": "2031-02-01T07:00:00Z"}
        query, moments = {"series": "FCR_DE", "start": row["start"], "end": row["end"]}, []
        for price in (1, 2, 3):
            await operator.post("/reference-prices", json=[{**row, "price": price}])
            moment = await pool.fetchval("select date_trunc('milliseconds', platform_now())")
            moments.append(moment.isoformat().replace("+00:00", "Z"))
            await pool.execute("select pg_sleep(0.002)")
        await operator.post("/reference-prices", json=[{**row, "price": 3}])  # says nothing new
        for moment, price in zip(moments, (1, 2, 3), strict=True):
            answer = await operator.get("/reference-prices", params={**query, "as-of": moment})
            assert [each["price"] for each in answer.json()] == [price]
        recorded = await pool.fetch(
            "select price, recorded_at from reference_price_version where series = 'FCR_DE' and start_at = $1",
            datetime.fromisoformat(row["start"]),
        )
        for version in recorded:  # it counts from the very instant on
            moment = version["recorded_at"].isoformat().replace("+00:00", "Z")
            answer = await operator.get("/reference-prices", params={**query, "as-of": moment})
            assert [each["price"] for each in answer.json()] == [version["price"]]
        assert len(recorded) == 3
        before = await operator.get("/reference-prices", params={**query, "as-of": "2020-01-01T00:00:00Z"})
        assert before.json() == []

    async def test_of_an_hour_leaves_the_quarter_hours_that_come_with_it(self, operator: httpx2.AsyncClient) -> None:
        """Whether they say something new or not."""

        def row(start: str, end: str, price: float) -> dict[str, Any]:
            times = {"start": f"2031-09-01T{start}:00Z", "end": f"2031-09-01T{end}:00Z"}
            return {"series": "REBAP_DE", **times, "price": price}

        quarters = [row(f"03:{n * 15:02}", f"03:{n * 15 + 15:02}" if n < 3 else "04:00", n) for n in range(4)]
        await operator.post("/reference-prices", json=quarters)
        hour, changed = row("03:00", "04:00", 9), {**quarters[2], "price": 20}
        answer = await operator.post("/reference-prices", json=[changed, hour, quarters[1]])
        assert answer.json() == {"received": 3, "inserted": 0, "replaced": 2, "unchanged": 1}
        query = {"series": "REBAP_DE", "start": hour["start"], "end": hour["end"]}
        assert without_origin(await operator.get("/reference-prices", params=query)) == [hour, quarters[1], changed]

    async def test_of_an_hour_leaves_one_that_begins_within_it_and_ends_later(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        later = {**PRICE, "series": "REBAP_DE", "start": "2031-07-01T03:30:00Z", "end": "2031-07-01T04:30:00Z"}
        hour = {**later, "start": "2031-07-01T03:00:00Z", "end": "2031-07-01T04:00:00Z", "price": 9}
        await operator.post("/reference-prices", json=[later])
        await operator.post("/reference-prices", json=[hour])
        query = {"series": "REBAP_DE", "start": hour["start"], "end": later["end"]}
        assert without_origin(await operator.get("/reference-prices", params=query)) == [hour, later]

    async def test_is_not_asked_for_as_of_a_future_instant(self, operator: httpx2.AsyncClient) -> None:
        query = {"series": "FCR_DE", "as-of": "2090-01-01T00:00:00Z"}
        answer = await operator.get("/reference-prices", params=query)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == "query:as-of"

    async def test_is_not_known_as_of_an_instant_before_versions_were_stored(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        await pool.execute("insert into version_start (what, since) values ('reference_price', '2020-06-01Z')")
        try:
            query = {"series": "FCR_DE", "as-of": "2020-05-31T23:59:59Z"}
            answer = await operator.get("/reference-prices", params=query)
            assert (answer.status_code, answer.json()["type"]) == (422, "/docs/problems/as-of-too-early")
            assert answer.json()["since"] == "2020-06-01T00:00:00Z"
            later = await operator.get("/reference-prices", params={**query, "as-of": "2020-06-01T00:00:00Z"})
            assert later.status_code == 200
        finally:
            await pool.execute("delete from version_start")

    async def test_written_by_many_at_once_is_one_version_after_the_other(
        self, operator: httpx2.AsyncClient, pool: asyncpg.Pool[Any]
    ) -> None:
        row = {**PRICE, "series": "REBAP_DE", "start": "2031-03-01T03:00:00Z", "end": "2031-03-01T03:15:00Z"}
        answers = await asyncio.gather(
            *(operator.post("/reference-prices", json=[{**row, "price": price}]) for price in range(8))
        )
        assert sorted(answer.json()["replaced"] for answer in answers) == [0] + [1] * 7
        versions = await pool.fetch(
            """select recorded_at, superseded_at from reference_price_version
               where series = 'REBAP_DE' and start_at = $1 order by recorded_at, superseded_at""",
            datetime.fromisoformat(str(row["start"])),
        )
        assert len(versions) == 8
        assert all(one["superseded_at"] == other["recorded_at"] for one, other in pairwise(versions))

    @pytest.mark.parametrize(
        ("change", "pointer"),
        [
            ({"series": "LUCK"}, "/1/series"),
            ({"end": PRICE["start"]}, "/1/end"),
            ({"price": "x"}, "/1/price"),
            ({"colour": 1}, "/1/colour"),
        ],
    )
    async def test_names_faults(self, operator: httpx2.AsyncClient, change: dict[str, Any], pointer: str) -> None:
        answer = await operator.post("/reference-prices", json=[PRICE, {**PRICE, **change}])
        assert answer.status_code == 400
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]

    async def test_is_the_operators_to_load(self, new_organisation: Any) -> None:
        participant = await new_organisation()
        assert (await participant.admin.post("/reference-prices", json=[PRICE])).status_code == 403
        assert (await participant.admin.get("/reference-prices", params={"series": "FCR_DE"})).status_code == 200
        refused = await participant.admin.get("/reference-prices", params={"series": "LUCK"})
        assert refused.status_code == 400
        assert "one of DAY_AHEAD_DE_LU, " in refused.json()["errors"][0]["detail"]
        assert (await participant.admin.get("/reference-prices/deviations?kind=fcr")).json() == []

    @pytest.mark.parametrize("path", ["/reference-prices?series=FCR_DE", "/reference-prices/deviations?kind=fcr"])
    async def test_is_not_asked_for_backwards(self, operator: httpx2.AsyncClient, path: str) -> None:
        answer = await operator.get(f"{path}&start=2026-03-29T00:00:00Z&end=2026-03-29T00:00:00Z")
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == "query:end"
