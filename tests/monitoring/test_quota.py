"""The quota of stored telemetry: counted by the hour, announced before it is full, never in the way of live data."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.assets import register_asset
from tests.events.sse import Reader
from tests.people import OrganisationUnderTest

from gridloom.database.commit.after_commit import transaction
from gridloom.edge.application import Application
from gridloom.identity.permissions import Role
from gridloom.jobs import JobRun
from gridloom.monitoring import quota
from gridloom.monitoring.compaction import day_compaction
from gridloom.monitoring.quota import count_stored_telemetry


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "CACHED_FOR_S", -1.0)


async def count(app: Application) -> None:
    async with transaction(app.pool) as db:
        await count_stored_telemetry(
            JobRun(db=db, kind="", key="", payload={}, due=datetime.fromisoformat("2026-01-01T00:00:00Z"), attempt=1)
        )


async def find_now(client: Any) -> datetime:
    return datetime.fromisoformat((await client.get("/sandbox/clock")).json()["now"])


def points(*times: datetime) -> list[dict[str, Any]]:
    return [{"signal": "active_power", "time": time.isoformat(), "value": 1.5} for time in times]


async def stored_of(ours: OrganisationUnderTest) -> dict[str, Any]:
    shares = (await ours.viewer.get(f"/organisations/{ours.id}/usage")).json()["shares"]
    return next(share for share in shares if share["share"] == "stored-telemetry")


async def set_quota(operator: Any, ours: OrganisationUnderTest, quota_bytes: int) -> None:
    answer = await operator.patch(f"/organisations/{ours.id}", json={"telemetryQuota": quota_bytes})
    assert answer.status_code == 200, answer.text
    assert answer.json()["telemetryQuota"] == quota_bytes


class TestTheQuota:
    async def test_is_set_by_the_operator_alone(self, new_organisation, operator) -> None:
        ours = await new_organisation()
        assert (await ours.admin.get(f"/organisations/{ours.id}")).json()["telemetryQuota"] is None
        refused = await ours.admin.patch(f"/organisations/{ours.id}", json={"telemetryQuota": 5})
        assert refused.status_code == 403
        await set_quota(operator, ours, 12_345)
        assert (await ours.admin.patch(f"/organisations/{ours.id}", json={"name": "Renamed"})).status_code == 200
        for bad in (-1, 1.5, "many", 2**63):
            answer = await operator.patch(f"/organisations/{ours.id}", json={"telemetryQuota": bad})
            assert answer.status_code == 400
            assert answer.json()["errors"][0]["pointer"] == "/telemetryQuota"

    async def test_counts_what_the_owners_batteries_store(self, app, new_organisation, operator) -> None:
        ours, other = await new_organisation(), await new_organisation()
        asset, now = await register_asset(ours), await find_now(ours.viewer)
        path = f"/monitoring/{asset.id}/datapoints"
        await ours.admin.post(path, json=points(*(now - timedelta(minutes=n) for n in range(50))))
        await count(app)
        shown = await stored_of(ours)
        measured = await app.pool.fetchval(
            """
            select sum(octet_length(body)) from telemetry_segment s join asset a on a.key = s.asset_key where a.id = $1
            """,
            asset.id,
        )
        assert shown["used"] == measured > 0
        assert shown["asOf"] is not None
        assert (await stored_of(other))["used"] == 0
        await self._compact(app, asset.id)
        await count(app)
        measured = await app.pool.fetchval(
            """
            select sum(octet_length(times) + octet_length(summaries) + octet_length(body))
            from telemetry_block b join asset a on a.key = b.asset_key where a.id = $1
            """,
            asset.id,
        )
        assert (await stored_of(ours))["used"] == measured > 0
        await app.pool.execute(
            "delete from telemetry_block where asset_key = (select key from asset where id = $1)", asset.id
        )
        await count(app)
        assert (await stored_of(ours))["used"] == 0, "what is no longer stored does not count"

    async def _compact(self, app: Application, asset_id: str) -> None:
        async with app.pool.acquire() as connection, connection.transaction():
            rows = await connection.fetch(
                """
                select asset_key, day, max(sequence) as last
                from telemetry_segment s join asset a on a.key = s.asset_key where a.id = $1 group by 1, 2
                """,
                asset_id,
            )
            for row in rows:
                await day_compaction.compact(connection, row["asset_key"], row["day"], row["last"])

    async def test_refuses_old_points_when_it_is_full_and_takes_the_last_hour(
        self, app, new_organisation, operator
    ) -> None:
        ours = await new_organisation()
        asset, now = await register_asset(ours), await find_now(ours.viewer)
        path, old, live = f"/monitoring/{asset.id}/datapoints", now - timedelta(hours=2), now - timedelta(minutes=5)
        assert (await ours.admin.post(path, json=points(old))).status_code == 200
        await count(app)
        await set_quota(operator, ours, 1)
        refused = await ours.admin.post(path, json=points(old))
        assert refused.status_code == 409
        assert refused.json()["type"].endswith("/quota-exceeded")
        assert (refused.json()["share"], refused.json()["limit"]) == ("stored-telemetry", 1)
        taken = await ours.admin.post(path, json=points(live))
        assert (taken.status_code, taken.json()["written"], taken.json()["refused"]) == (200, 1, 0)
        mixed = (await ours.admin.post(path, json=points(old, now - timedelta(minutes=4)))).json()
        assert (mixed["written"], mixed["refused"]) == (1, 1)
        assert mixed["refusals"][0]["reason"] == "QUOTA_EXCEEDED"
        many = [{**point, "physicalAssetID": str(asset.id)} for point in points(old)]
        assert (await ours.admin.post("/monitoring/datapoints", json=many)).status_code == 409
        await set_quota(operator, ours, 10**9)
        assert (await ours.admin.post(path, json=points(old))).status_code == 200

    async def test_is_full_at_its_last_byte(self, app, new_organisation, operator) -> None:
        ours = await new_organisation()
        asset, now = await register_asset(ours), await find_now(ours.viewer)
        path, old = f"/monitoring/{asset.id}/datapoints", now - timedelta(hours=2)
        assert (await ours.admin.post(path, json=points(old))).status_code == 200
        await count(app)
        used = (await stored_of(ours))["used"]
        await set_quota(operator, ours, used)
        assert (await ours.admin.post(path, json=points(old))).status_code == 409
        await set_quota(operator, ours, used + 1)
        assert (await ours.admin.post(path, json=points(old))).status_code == 200

    async def test_is_announced_once_when_it_is_nearly_full(self, app, new_organisation, operator) -> None:
        ours = await new_organisation()
        asset, now = await register_asset(ours), await find_now(ours.viewer)
        await ours.admin.post(f"/monitoring/{asset.id}/datapoints", json=points(now))
        await count(app)
        used = (await stored_of(ours))["used"]
        await set_quota(operator, ours, used + 1)
        async with Reader(app, ours.people[Role.ADMIN].tokens.access, "/events?types=quota.near", 0) as reader:
            for _ in range(3):
                await count(app)
            told = await reader.next()
            assert told is not None
            assert told.data["data"] == {"share": "stored-telemetry", "used": used, "limit": used + 1}
            assert told.data["subject"] == f"organisations/{ours.id}"
            await set_quota(operator, ours, 10 * used)
            await count(app)
            await set_quota(operator, ours, used)
            await count(app)
            again = await reader.next()
            assert again is not None
            assert again.id == (told.id or 0) + 1, "once each time"
            assert again.data["data"]["limit"] == used
