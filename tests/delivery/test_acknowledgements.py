"""What the site says of a quarter-hour's dispatch is recorded once, shown beside the dispatch and told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.delivery.conftest import Yard
from tests.virtual_assets.conftest import QUARTER, wire


@pytest.fixture
async def battery(yard: Yard) -> str:
    """It is dispatched with 400 kW in the yard's first quarter-hour."""
    made = await yard.battery()
    await yard.schedule(await yard.virtual(made), [400.0])
    await yard.gate_of(0)
    return str(made["id"])


async def acknowledge(yard: Yard, battery: str, status: str, expect: int = 201, **changes: Any) -> Any:
    dispatch = (await yard.owner.viewer.get(f"/physical-assets/{battery}/dispatch")).json()
    body = {"version": dispatch["version"], "time": wire(yard.start), "status": status, "at": wire(yard.start)}
    answer = await yard.owner.engineer.post(
        f"/physical-assets/{battery}/dispatch/acknowledgements", json=body | changes
    )
    assert answer.status_code == expect, answer.text
    return answer.json()


async def read(yard: Yard, path: str, **query: Any) -> Any:
    answer = await yard.owner.viewer.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestAcknowledgements:
    async def test_show_the_latest_of_each_quarter_hour_in_the_dispatch(self, yard: Yard, battery: str) -> None:
        url = f"/physical-assets/{battery}/dispatch"
        window = {"start": wire(yard.start), "end": wire(yard.start + 2 * QUARTER)}
        before = (await yard.owner.viewer.get(url, params=window)).headers["etag"]
        await acknowledge(yard, battery, "RECEIVED")
        await acknowledge(yard, battery, "APPLIED")
        answer = await yard.owner.viewer.get(url, params=window)
        assert answer.headers["etag"] != before
        first, second = answer.json()["dispatch"]
        assert first["acknowledgement"]["status"] == "APPLIED"
        assert "acknowledgement" not in second
        table = (await yard.owner.viewer.get(url, params=window, headers={"Accept": "text/csv"})).text
        assert table.splitlines()[1].endswith('"APPLIED"')
        listed = await read(yard, f"{url}/acknowledgements", limit=1, **window)
        assert [one["status"] for one in listed] == ["APPLIED"]
        assert [one["status"] for one in await read(yard, f"{url}/acknowledgements")] == ["APPLIED", "RECEIVED"]

    async def test_are_recorded_once_however_often_they_are_sent(self, yard: Yard, battery: str) -> None:
        sent = await asyncio.gather(*(acknowledge(yard, battery, "NOT_FOLLOWED", reason="idle") for _ in range(6)))
        assert len({str(one) for one in sent}) == 1
        assert len(await read(yard, f"/physical-assets/{battery}/dispatch/acknowledgements")) == 1
        assert len(await read(yard, f"/physical-assets/{battery}/logbook", type="DISPATCH")) == 1

    @pytest.mark.parametrize(
        ("status", "event", "logged"),
        [
            ("APPLIED", "dispatch.acknowledged", []),
            ("REJECTED", "dispatch.acknowledged", ["Dispatch rejected"]),
            ("NOT_FOLLOWED", "dispatch.not-followed", ["Dispatch not followed"]),
        ],
    )
    async def test_are_told_by_event_and_where_nothing_is_delivered_by_the_logbook(
        self, yard: Yard, battery: str, status: str, event: str, logged: list[str]
    ) -> None:
        await acknowledge(yard, battery, status, reason="4,100 kW measured")
        entries = await read(yard, f"/physical-assets/{battery}/logbook", type="DISPATCH")
        assert [entry["title"] for entry in entries] == logged
        assert all("4,100 kW measured" in entry["description"] for entry in entries)
        told = await yard.edge.pool.fetchval(
            """select count(distinct e.id)
               from (select id, type, subject from event union all select event_id, type, subject from event_outbox) e
               where e.type = $1 and e.subject = $2""",
            event,
            f"physical-assets/{battery}",
        )
        assert told == 1

    async def test_are_refused_of_an_unknown_version_and_a_time_within_a_quarter_hour(
        self, yard: Yard, battery: str
    ) -> None:
        problem = await acknowledge(yard, battery, "APPLIED", 422, version=1000)
        assert problem["type"] == "/docs/problems/unknown-dispatch-version"
        await acknowledge(yard, battery, "APPLIED", 400, time=wire(yard.start + QUARTER / 2))
        await acknowledge(yard, battery, "DONE", 400)
        assert await read(yard, f"/physical-assets/{battery}/dispatch/acknowledgements") == []
