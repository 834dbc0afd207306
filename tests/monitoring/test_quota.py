"""The quota of stored telemetry: counted by the hour, announced before it is full, never in the way of live data."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from tests.assets import register_asset
from tests.emitted import events_of
from tests.people import OrganisationUnderTest
from tests.platform.events.sse import Reader

from gridloom.monitoring import quota
from gridloom.monitoring.compaction import day_compaction
from gridloom.monitoring.model import HOUR_US, Points, Reason, Received, Refusals
from gridloom.monitoring.quota import QuotaExceeded, Quotas, count_stored_telemetry
from gridloom.monitoring.store.quota import StoredTelemetry
from gridloom.platform.database.commit import transaction
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role
from gridloom.platform.jobs import JobRun

MANY = "/monitoring/datapoints"


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
    answer = await operator.change(f"/organisations/{ours.id}", json={"telemetryQuota": quota_bytes})
    assert answer.status_code == 200, answer.text
    assert answer.json()["telemetryQuota"] == quota_bytes


class TestTheQuota:
    async def test_is_set_by_the_operator_alone(self, new_organisation, operator) -> None:
        ours = await new_organisation()
        assert (await ours.admin.get(f"/organisations/{ours.id}")).json()["telemetryQuota"] is None
        refused = await ours.admin.change(f"/organisations/{ours.id}", json={"telemetryQuota": 5})
        assert refused.status_code == 403
        await set_quota(operator, ours, 12_345)
        assert (await ours.admin.change(f"/organisations/{ours.id}", json={"name": "Renamed"})).status_code == 200
        for bad in (-1, 1.5, "many", 2**63):
            answer = await operator.change(f"/organisations/{ours.id}", json={"telemetryQuota": bad})
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
        self, app, new_organisation, operator, monkeypatch
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
        assert (await ours.admin.post(MANY, json=many)).status_code == 409
        other = str((await register_asset(ours)).id)
        of_two = await ours.admin.post(
            MANY, json=many + [{**point, "physicalAssetID": other} for point in points(live)]
        )
        assert (of_two.status_code, of_two.json()["written"], of_two.json()["refused"]) == (200, 1, 1)
        assert [one["physicalAssetID"] for one in of_two.json()["assets"]] == [other], "nothing is left of the first"
        monkeypatch.setattr(app.shares, "_exempt_usernames", frozenset({ours.people[Role.ENGINEER].username}))
        for exempt in (await ours.engineer.post(path, json=points(old)), await ours.engineer.post(MANY, json=many)):
            assert (exempt.status_code, exempt.json().get("overwritten")) == (200, 1), "of the simulator, for one"
        assert (await ours.admin.post(path, json=points(old))).status_code == 409
        await set_quota(operator, ours, 10**9)
        assert (await ours.admin.post(path, json=points(old))).status_code == 200

    async def test_is_the_owners_whoever_writes(self, app, new_organisation, operator) -> None:
        ours, guest = await new_organisation(), await new_organisation()
        asset, now = await register_asset(ours), await find_now(ours.viewer)
        path, old = f"/monitoring/{asset.id}/datapoints", points(now - timedelta(hours=2))
        assert (await ours.admin.post(path, json=old)).status_code == 200
        await count(app)
        await set_quota(operator, ours, 1)
        permissions = {"permissions": ["Read:monitoring", "Create:monitoring"]}
        granted = await ours.admin.put(f"/physical-assets/{asset.id}/grants/{guest.id}", json=permissions)
        assert granted.status_code == 200, granted.text
        many = [point | {"physicalAssetID": str(asset.id)} for point in old]
        for refused in (await guest.admin.post(path, json=old), await guest.admin.post(MANY, json=many)):
            assert (refused.status_code, refused.json().get("limit")) == (409, 1), refused.text

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
            [emitted] = await events_of(app.pool, ours.id, subject=f"organisations/{ours.id}")
            assert (emitted.type, emitted.permission) == ("quota.near", "Read:monitoring")
            nearly = 5 * used // 4
            for quota_bytes in (10 * used, nearly + 1, nearly):
                await set_quota(operator, ours, quota_bytes)
                await count(app)
            again = await reader.next()
            assert again is not None
            assert again.id == (told.id or 0) + 1, "once each time"
            assert again.data["data"]["limit"] == nearly, "at four fifths, and not a byte before"


class TestWhatIsAdmitted:
    """Of the assets 1 and 2, whose owner's quota is full, 3, whose owner has none, and 4, whose owner has room."""

    FULL, FREE, ROOMY = (UUID(int=number) for number in (10, 20, 30))
    owners = dict(zip((UUID(int=number) for number in range(1, 5)), (FULL, FULL, FREE, ROOMY), strict=True))
    quotas = {FULL: 500, FREE: None, ROOMY: 501}
    NOW_US = 100 * HOUR_US

    @pytest.fixture
    def looked_up(self, monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
        found: list[UUID] = []

        async def read_stored(_: Any, organisation_id: UUID) -> StoredTelemetry:
            found.append(organisation_id)
            return StoredTelemetry(organisation_id, 500, self.quotas[organisation_id], None)

        monkeypatch.setattr("gridloom.monitoring.store.quota.read_stored", read_stored)
        return found

    def receive(self, **ages_us: list[int]) -> Received:
        points: dict[UUID | None, Points] = {
            UUID(int=int(name.removeprefix("asset"))): Points(
                ["x"], np.zeros(len(ages), np.intp), self.NOW_US - np.array(ages), np.arange(float(len(ages)))
            )
            for name, ages in ages_us.items()
        }
        return Received(points, sum(map(len, points.values())), Refusals())

    async def admit(self, received: Received, quotas: Quotas | None = None) -> dict[int, list[int]]:
        """The ages of what is left of each asset."""
        pool: Any = None
        await (quotas or Quotas()).admit(pool, received, self.owners, self.NOW_US)  # type: ignore[arg-type]
        return {asset.int: (self.NOW_US - left.times).tolist() for asset, left in received.points.items() if asset}

    async def test_of_each_asset_is_all_where_there_is_room_and_the_last_hour_where_there_is_none(
        self, looked_up: list[UUID]
    ) -> None:
        ages = [HOUR_US, HOUR_US + 1, 5 * HOUR_US, 0]
        received = self.receive(asset1=[3], asset3=ages, asset2=ages, asset4=ages)
        assert await self.admit(received) == {1: [3], 3: ages, 2: [HOUR_US, 0], 4: ages}
        assert received.points[UUID(int=2)].values.tolist() == [0.0, 3.0]
        assert received.refusals.counts == {Reason.QUOTA_EXCEEDED: 2}

    async def test_is_refused_as_a_whole_where_nothing_is_left_of_any_asset(self, looked_up: list[UUID]) -> None:
        with pytest.raises(QuotaExceeded, match="500 bytes are stored, of 500 at most") as refused:
            await self.admit(self.receive(asset1=[2 * HOUR_US], asset2=[3 * HOUR_US]))
        assert refused.value.members == {"share": "stored-telemetry", "limit": 500}
        assert await self.admit(self.receive(asset1=[2 * HOUR_US], asset3=[3 * HOUR_US])) == {1: [], 3: [3 * HOUR_US]}
        assert await self.admit(self.receive()) == {}
