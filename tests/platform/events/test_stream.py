"""`GET /events`: each event once and in order over any number of reconnects, and only to who may read it now."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from tests.assets import register_asset
from tests.people import OrganisationUnderTest
from tests.platform.events.happening import assert_cloud_event, happen, number_in
from tests.platform.events.sse import Reader

from gridloom.kernel.ids import uuid7
from gridloom.platform.events import routes, stream
from gridloom.platform.http.application import Application
from gridloom.platform.identity.permissions import Role


def reader(
    edge: Application, ours: OrganisationUnderTest, role: Role = Role.ADMIN, *arguments: Any, **options: Any
) -> Reader:
    return Reader(edge, ours.people[role].tokens.access, *arguments, **options)


async def make_asset(edge: Application, owner: UUID, kind: str = "PHYSICAL") -> int:
    return int(
        await edge.pool.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, $2, $3) returning key", uuid7(), kind, owner
        )
    )


async def grant(edge: Application, asset_key: int, to: UUID, *permissions: str) -> None:
    await edge.pool.execute("insert into asset_grant values ($1, $2, $3, $2)", asset_key, to, list(permissions))


class TestAStream:
    async def test_tells_what_happens_as_the_contract_has_it(self, app, new_organisation) -> None:
        ours = await new_organisation()
        async with reader(app, ours) as stream:
            assert stream.status == 200
            await happen(app.pool, ours.id, 7)
            told = await stream.next()
        assert told is not None
        assert (told.id, told.type) == (1, "auction.opened")
        assert set(told.data) == {"id", "type", "time", "organisationID", "subject", "data"}
        assert told.data["organisationID"] == str(ours.id)
        assert number_in(told.data) == 7
        assert told.data["time"].endswith("Z")

    async def test_tells_cloud_events_to_who_accepts_them(self, app, new_organisation) -> None:
        ours = await new_organisation()
        async with reader(app, ours, accept="application/cloudevents+json") as stream:
            await happen(app.pool, ours.id, 7)
            told = await stream.next()
        assert told is not None
        assert (told.id, told.type, told.data["type"]) == (1, "auction.opened", "auction.opened")
        assert_cloud_event(told.data, ours.id)
        assert number_in(told.data) == 7

    async def test_resumes_without_gap_or_double_over_many_reconnects(self, app, new_organisation) -> None:
        ours = await new_organisation()
        total, told = 60, list[int]()

        async def write() -> None:
            for number in range(total):
                await happen(app.pool, ours.id, number)
                await asyncio.sleep(0.002)

        writing = asyncio.create_task(write())
        place = 0
        while len(told) < total:
            async with reader(app, ours, last_event_id=place) as stream:
                for one in await stream.many(min(7, total - len(told))):
                    told.append(number_in(one.data))
                    assert one.id is not None
                    place = one.id
        await writing
        assert told == list(range(total))

    async def test_reads_long_backlogs_in_pieces(self, app, new_organisation) -> None:
        ours = await new_organisation()
        for number in range(450):
            await happen(app.pool, ours.id, number)
        await wait_for_head(app, ours.id, 450)
        async with reader(app, ours, last_event_id=0) as stream:
            assert [number_in(one.data) for one in await stream.many(450)] == list(range(450))

    async def test_is_shared_by_many_readers_of_one_organisation(self, app, new_organisation) -> None:
        ours = await new_organisation()
        readers = [reader(app, ours) for _ in range(50)]
        for one in readers:
            await one.__aenter__()
        await happen(app.pool, ours.id, 5)
        told = await asyncio.gather(*(one.next() for one in readers))
        assert {one.id for one in told if one} == {1}
        assert len(told) == 50
        for one in readers:
            await one.__aexit__()

    async def test_beats_while_nothing_happens_and_moves_the_reader_past_what_it_may_not_read(
        self, app, new_organisation, monkeypatch
    ) -> None:
        monkeypatch.setattr(routes, "stream_events", partial(stream.stream_events, heartbeat_s=0.2))
        ours = await new_organisation()
        async with reader(app, ours, Role.ADMIN, "/events?types=bid.placed") as open_stream:
            assert await open_stream.frame() == "retry: 2000\nid: 0"
            assert await open_stream.frame() == ":"
            await happen(app.pool, ours.id)
            assert "id: 1" in [await open_stream.frame(), await open_stream.frame()]

    async def test_filters_by_type_and_subject(self, app, new_organisation) -> None:
        ours = await new_organisation()
        target = "/events?types=auction.opened,bid.placed&subjects=auctions/1/,/physical-assets"
        async with reader(app, ours, Role.ADMIN, target) as stream:
            await happen(app.pool, ours.id, 1, subject="auctions/12")
            await happen(app.pool, ours.id, 2, subject="auctions/1/bids/4", type="bid.placed")
            await happen(app.pool, ours.id, 3, type="auction.cleared")
            await happen(app.pool, ours.id, 4, subject="physical-assets/9")
            numbers = [number_in(one.data) for one in await stream.many(2)]
        assert numbers == [2, 4]

    @pytest.mark.parametrize("place", ["x", "-1", "1.5", "99999999999", "9" * 40, ""])
    async def test_refuses_a_place_that_is_none(self, app, new_organisation, place) -> None:
        ours = await new_organisation()
        answer = await ours.admin.get("/events", headers={"Last-Event-ID": place})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["pointer"] == "header:Last-Event-ID"

    async def test_refuses_an_unknown_type(self, new_organisation) -> None:
        answer = await (await new_organisation()).admin.get("/events", params={"types": "bid.placed,nonsense"})
        assert answer.status_code == 400

    async def test_says_so_when_the_position_is_no_longer_retained(self, app, new_organisation) -> None:
        ours = await new_organisation()
        for number in range(3):
            await happen(app.pool, ours.id, number)
        await wait_for_head(app, ours.id, 3)
        await app.pool.execute("delete from event where organisation_id = $1 and sequence < 3", ours.id)
        answer = await ours.admin.get("/events", headers={"Last-Event-ID": "1"})
        assert (answer.status_code, answer.json()["type"]) == (409, "/docs/problems/events-forgotten")
        for position in (0, 2):  # after the last one that was deleted nothing is missing
            async with reader(app, ours, last_event_id=position) as stream:
                assert (await stream.many(1))[0].id == 3
        await app.pool.execute("delete from event where organisation_id = $1", ours.id)
        async with reader(app, ours, last_event_id=2) as refused:
            assert refused.status == 409
        for position in (0, 3):
            async with reader(app, ours, last_event_id=position) as stream:
                assert await stream.frame() == "retry: 2000\nid: 3"


class TestAReader:
    async def test_gets_no_events_of_other_organisations(self, app, new_organisation) -> None:
        ours, theirs = await new_organisation(), await new_organisation()
        async with reader(app, ours) as stream:
            await happen(app.pool, theirs.id)
            assert await stream.nothing()

    async def test_gets_only_what_its_role_may_read(self, app, new_organisation) -> None:
        ours = await new_organisation()
        async with reader(app, ours, Role.ENGINEER) as stream:
            await happen(app.pool, ours.id, 1, permission="Read:auctions")
            await happen(app.pool, ours.id, 2, permission="Read:schedules")
            assert number_in((await stream.many(1))[0].data) == 2

    async def test_gets_events_of_granted_assets_until_the_grant_is_revoked(self, app, new_organisation) -> None:
        owner, ours = await new_organisation(), await new_organisation()
        key = await make_asset(app, owner.id)
        await grant(app, key, ours.id, "Read:schedules")
        schedules: Any = {"type": "schedule.updated", "permission": "Read:schedules", "asset_key": key}
        async with reader(app, ours) as stream:
            await happen(app.pool, owner.id, 1, **schedules)
            first = (await stream.many(1))[0]
            assert first.data["organisationID"] == str(owner.id)
            await app.pool.execute("delete from asset_grant where asset_key = $1", key)
            await happen(app.pool, owner.id, 2, **schedules)
            assert await stream.nothing()

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            ("delete from asset_grant where asset_key = $1", "OPERATOR"),  # who reads virtual assets without one
            ("update asset_grant set permissions = '{Read:physical-assets}' where asset_key = $1", "PARTICIPANT"),
        ],
        ids=["revoked", "narrowed"],
    )
    async def test_gets_no_events_from_before_its_grant_was_revoked_afterwards(
        self, app, new_organisation, change, kind
    ) -> None:
        owner, ours = await new_organisation(), await new_organisation(kind=kind)
        key = await make_asset(app, owner.id)
        await grant(app, key, ours.id, "Read:schedules")
        await happen(app.pool, owner.id, 1, type="schedule.updated", permission="Read:schedules", asset_key=key)
        await wait_for_head(app, ours.id, 1)
        await app.pool.execute(change, key)
        async with reader(app, ours, last_event_id=0) as stream:
            assert await stream.nothing()

    async def test_gets_events_by_the_rights_it_has_now_and_not_by_those_it_came_with(
        self, app, new_organisation
    ) -> None:
        ours = await new_organisation()
        viewer = ours.people[Role.VIEWER]
        async with reader(app, ours, Role.VIEWER) as stream:
            await happen(app.pool, ours.id, 1)
            assert number_in((await stream.many(1))[0].data) == 1
            path = f"/organisations/{ours.id}/members/{viewer.id}"
            assert (await ours.admin.change(path, json={"role": "ENGINEER"})).status_code == 200
            while (await viewer.client.get("/auth/me")).json()["role"] != "ENGINEER":
                await asyncio.sleep(0.02)
            await happen(app.pool, ours.id, 2, permission="Read:auctions")
            await happen(app.pool, ours.id, 3, permission="Read:schedules")
            assert number_in((await stream.many(1))[0].data) == 3

    async def test_with_a_key_for_certain_assets_gets_the_events_of_those_alone(self, app, new_organisation) -> None:
        ours = await new_organisation()
        reached = await register_asset(ours)
        body = {"name": "reader", "permissions": ["Read:auctions"], "physicalAssetIDs": [reached.id]}
        made = await ours.admin.post("/auth/api-keys", json=body)
        async with Reader(app, made.json()["secret"], "/events?types=auction.opened") as stream:
            for number, subject in enumerate(("auctions/1", f"physical-assets/{uuid7()}", reached.path()[1:])):
                await happen(app.pool, ours.id, number, subject=subject)
            assert number_in((await stream.many(1))[0].data) == 2

    async def test_loses_the_stream_with_its_api_key(self, app, new_organisation) -> None:
        ours = await new_organisation()
        made = await ours.admin.post("/auth/api-keys", json={"name": "reader", "permissions": ["Read:auctions"]})
        async with Reader(app, made.json()["secret"]) as stream:
            await happen(app.pool, ours.id, 1)
            await stream.many(1)
            assert (await ours.admin.delete(f"/auth/api-keys/{made.json()['id']}")).status_code == 204
            assert await stream.next() is None

    async def test_loses_the_stream_with_its_session(self, app, new_organisation) -> None:
        ours = await new_organisation()
        async with reader(app, ours, Role.VIEWER) as stream:
            await happen(app.pool, ours.id)
            await stream.many(1)
            assert (await ours.viewer.post("/auth/logout")).status_code == 204
            assert await stream.next() is None
            await happen(app.pool, ours.id)
        assert (await ours.viewer.get("/events")).status_code == 401


async def wait_for_head(edge: Application, organisation_id: UUID, sequence: int) -> None:
    async with asyncio.timeout(120):
        while not await edge.pool.fetchval(
            "select exists (select from event_head where organisation_id = $1 and last_sequence >= $2)",
            organisation_id,
            sequence,
        ):
            await asyncio.sleep(0.01)


class TestAListener:
    async def test_that_lost_its_connection_misses_nothing(self, app, new_organisation) -> None:
        ours = await new_organisation()
        async with reader(app, ours) as stream:
            for number in range(3):
                await app.pool.execute(
                    """
                    select pg_terminate_backend(pid) from pg_stat_activity
                    where application_name = 'gridloom listener' and datname = current_database()
                    """
                )
                await happen(app.pool, ours.id, number)
                assert number_in((await stream.many(1))[0].data) == number
