"""Reads from a standby: never behind what the reader has written, and never at all from one that is lost or lags."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
import httpx2
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.assets import register_asset
from tests.conftest import migrated_database, running
from tests.people import People
from tests.platform.database.clusters import Pair, primary_and_standby

from gridloom.platform.database import replicas
from gridloom.platform.database.errors import DatabaseFailure, classify_error
from gridloom.platform.database.replicas import LsnCipher, Replica, Replicas, read_position
from gridloom.platform.http.application import Application
from gridloom.settings import Settings, read_settings
from gridloom_client import AsyncClient

READS = 100
"""The bench does ten thousand."""


@pytest.fixture(scope="module")
async def pair() -> AsyncIterator[Pair]:
    async with primary_and_standby() as made:
        yield made


@pytest.fixture(scope="module")
async def edge(pair: Pair) -> AsyncIterator[Application]:
    settings = Settings(
        environment="sandbox", database_url=pair.primary.dsn, read_database_urls=(pair.standby.dsn,), simulator=False
    )
    async with running(settings) as made:
        yield made


async def ready(client: httpx2.AsyncClient) -> dict[str, str]:
    checks = (await client.get("/health/ready")).json()["checks"]
    return {check["name"]: f"{check['status']} {check['detail']}" for check in checks}


async def await_replicas(client: httpx2.AsyncClient, words: str) -> None:
    async with asyncio.timeout(120):
        while words not in (await ready(client))["replicas"]:
            await asyncio.sleep(0.1)


async def count_misses(
    edge: Application, owner: httpx2.AsyncClient, path: str, reads: int, *, hands_position: bool
) -> int:
    """Write, read at once, and see whether what was written is there."""
    missed = 0
    for number in range(reads):
        title = f"Entry {number} {hands_position}"
        body = {"title": title, "type": "note", "start": "2026-01-01T00:00:00Z"}
        written = await owner.post(path, json=body)
        assert written.status_code == 201, written.text
        headers = {"Gridloom-Position": written.headers["Gridloom-Position"]} if hands_position else {}
        found = await owner.get(path, params={"text": title}, headers=headers)
        assert found.status_code == 200, found.text
        missed += title not in {entry["title"] for entry in found.json()}
    return missed


class TestAReplica:
    def test_is_named_by_addresses_with_spaces_in_between(self) -> None:
        read = read_settings({"GRIDLOOM_READ_DATABASE_URL": "postgresql://a,b/x postgresql://c/x"})
        assert read.read_database_urls == ("postgresql://a,b/x", "postgresql://c/x")

    async def test_that_hangs_is_left_out_and_the_primary_answers(self, pair: Pair, edge: Application) -> None:
        async with People(edge) as people, asyncio.timeout(40):  # a statement alone may take a minute
            owner = (await people.new_organisation()).admin
            await await_replicas(owner, "1 of 1 answer reads")
            assert pair.standby.pid is not None
            server = psutil.Process(pair.standby.pid)
            processes = [server, *server.children(recursive=True)]
            for process in processes:
                process.suspend()
            try:
                reads = await asyncio.gather(*(owner.get("/physical-assets") for _ in range(20)))
                assert {answer.status_code for answer in reads} == {200}
                await await_replicas(owner, "left out")
            finally:
                for process in reversed(processes):
                    process.resume()
            await await_replicas(owner, "1 of 1 answer reads")

    @pytest.mark.parametrize("hands_position", [True, False])
    async def test_hides_no_write_from_its_writer(self, pair: Pair, edge: Application, hands_position: bool) -> None:
        async with People(edge) as people:
            asset = await register_asset(await people.new_organisation())
            missed = await count_misses(
                edge, asset.owner.admin, asset.path("/logbook"), READS, hands_position=hands_position
            )
        assert missed == 0

    async def test_shows_the_sdk_what_it_wrote_by_the_position_that_it_was_given(
        self, pair: Pair, edge: Application
    ) -> None:
        async with People(edge) as people:
            asset = await register_asset(await people.new_organisation())
            transport = httpx2.ASGITransport(app=edge, raise_app_exceptions=False)  # type: ignore[arg-type]
            token = asset.owner.admin.headers["Authorization"].removeprefix("Bearer ")
            async with AsyncClient("http://gridloom.test", api_key=token, transport=transport) as client:
                await await_replicas(asset.owner.admin, "1 of 1 answer reads")
                for number in range(30):
                    title = f"By the SDK {number}"
                    start = datetime(2026, 1, 1, tzinfo=UTC)
                    await client.physical_assets.write_logbook(asset.id, title=title, type="note", start=start)
                    assert client._exchange.position.latest is not None
                    found = [entry.title async for entry in client.physical_assets.logbook(asset.id, text=title)]
                    assert found == [title]

    async def test_that_lags_is_left_out_and_hides_nothing(self, pair: Pair, edge: Application) -> None:
        async with People(edge) as people:
            asset = await register_asset(await people.new_organisation())
            await pair.set_on_standby("recovery_min_apply_delay", "8s")
            try:
                missed = await count_misses(edge, asset.owner.admin, asset.path("/logbook"), 60, hands_position=False)
                assert missed == 0
                await keep_writing_until_left_out(asset.owner.admin, asset.path("/logbook"))
                assert (await asset.owner.admin.get("/health/ready")).json()["status"] == "DEGRADED"
                missed = await count_misses(edge, asset.owner.admin, asset.path("/logbook"), 30, hands_position=True)
                assert missed == 0
            finally:
                await pair.set_on_standby("recovery_min_apply_delay", "0")
            await await_replicas(asset.owner.admin, "1 of 1 answer reads")

    async def test_that_is_lost_is_left_out_and_comes_back(self, pair: Pair, edge: Application) -> None:
        async with People(edge) as people:
            owner = (await people.new_organisation()).admin
            await await_replicas(owner, "1 of 1 answer reads")
            assert pair.standby.pid is not None
            os.kill(pair.standby.pid, signal.SIGKILL)
            for _ in range(20):
                assert (await owner.get("/physical-assets")).status_code == 200
            await await_replicas(owner, "left out: replica 1")
            pair.standby.revive()
            await await_replicas(owner, "1 of 1 answer reads")

    async def test_that_is_asked_to_write_refuses_and_names_the_read_that_would(self, edge: Application) -> None:
        assert edge.replicas is not None
        [replica] = edge.replicas.all
        with pytest.raises(asyncpg.PostgresError) as refused:
            await replica.pool.execute("select id from organisation for update")
        outage = classify_error(refused.value)
        assert outage is DatabaseFailure.READ_ONLY
        before = replica.disabled_because  # on a busy machine it may lag just now
        replica.record_failed_read("listOrganisations", outage)
        assert replica.refused_writes_of == {"listOrganisations"}
        assert replica.disabled_because == before
        replica.refused_writes_of.clear()  # nothing did: a service whose reads would write fails its tests

    async def test_of_another_database_is_never_asked(self, pair: Pair) -> None:
        """Its answers would be those of another database, and no caller could tell."""
        async with migrated_database() as url:
            settings = Settings(environment="sandbox", database_url=url, simulator=False)
            elsewhere = replace(settings, read_database_urls=(pair.standby.dsn,))
            async with running(elsewhere) as edge, People(edge) as people:
                owner = (await people.new_organisation()).admin
                assert "left out: replica 1 (is of another database)" in (await ready(owner))["replicas"]
                assert (await owner.get("/organisations")).status_code == 200
                assert edge.replicas is not None
                assert [replica.answered for replica in edge.replicas.all] == [0]

    async def test_need_not_be_there_when_the_service_starts(self, pair: Pair) -> None:
        settings = Settings(environment="sandbox", database_url=pair.primary.dsn, simulator=False)
        gone = "postgresql://nobody@127.0.0.1:1/nowhere"
        async with running(replace(settings, read_database_urls=(gone,))) as edge, People(edge) as people:
            owner = (await people.new_organisation()).admin
            assert (await owner.get("/physical-assets")).status_code == 200
            assert "left out: replica 1" in (await ready(owner))["replicas"]


async def keep_writing_until_left_out(owner: httpx2.AsyncClient, path: str) -> None:
    async with asyncio.timeout(120):
        while "behind" not in (await ready(owner))["replicas"]:
            await owner.post(path, json={"title": "Lag", "type": "note", "start": "2026-01-01T00:00:00Z"})
            await asyncio.sleep(0.1)


class TestAPosition:
    @given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
    def test_is_read_as_postgresql_writes_it(self, high: int, low: int) -> None:
        assert read_position(f"{high:X}/{low:X}") == high * 2**32 + low


class TestASealedPosition:
    @given(st.integers(0, 2**64 - 1), st.integers(0, 2**60), st.binary(min_size=32, max_size=32))
    def test_is_opened_with_the_key_alone(self, position: int, read_at_us: int, key: bytes) -> None:
        assert LsnCipher(key).open(LsnCipher(key).seal(position, read_at_us)) == position

    @given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**60))
    def test_looks_alike_wherever_it_is_and_never_the_same(self, one: int, other: int, read_at_us: int) -> None:
        seal = LsnCipher(bytes(32))
        sealed = [seal.seal(position, read_at_us) for position in (one, one, other)]
        assert len(set(sealed)) == 3
        assert {text.partition(".")[0] for text in sealed} == {f"{read_at_us:x}"}
        assert len({len(text) for text in sealed}) == 1

    @given(st.integers(0, 2**64 - 1))
    def test_of_another_key_says_nothing(self, position: int) -> None:
        assert LsnCipher(bytes(32)).open(LsnCipher(b"k" * 32).seal(position, 1)) is None

    @pytest.mark.parametrize("text", [None, "", "0/16B3748", "1.", f"1.{'A' * 48}", f"1.{'A' * 47}", f"x.{'A' * 48}"])
    def test_that_is_none_says_nothing(self, text: str | None) -> None:
        assert LsnCipher(bytes(32)).open(text) is None


class Connection:
    """To a standby that has come so far."""

    def __init__(self, position: str, database: str) -> None:
        self.position, self.database = position, database

    async def fetchval(self, statement: str) -> str:
        return self.position if "replay" in statement else self.database


class TestAServerInPlaceOfAnother:
    @pytest.fixture
    def replica(self, monkeypatch: pytest.MonkeyPatch) -> Replica:
        async def prepare(_: object) -> None:
            pass

        monkeypatch.setattr(replicas, "prepare_connection", prepare)
        return Replica("one")

    async def test_has_come_as_far_as_it_says_itself(self, replica: Replica) -> None:
        """One that was restored from a backup is further back than the one before it."""
        for position, expected in (("0/300", 0x300), ("0/100", 0x100)):
            await replica.prepare_connection(Connection(position, "gridloom 7"))  # type: ignore[arg-type]
            assert replica.replayed == expected

    async def test_answers_nothing_if_it_has_another_database(self, replica: Replica) -> None:
        """Before it is asked in its turn what it is."""
        group = Replicas(None, [replica])  # type: ignore[arg-type]
        group._seal, group._database = LsnCipher(bytes(32)), "gridloom 7"
        asked = group._seal.seal(0x100, 1)
        for database, found in (("gridloom 7", replica), ("gridloom 8", None)):
            await replica.prepare_connection(Connection("0/300", database))  # type: ignore[arg-type]
            replica.enable()
            assert await group.find(asked) is found


class Standby:
    """In place of the connections to a standby: what it says when it is asked, one answer after the other."""

    def __init__(self, *answers: tuple[bool, str]) -> None:
        self.answers, self.expired = list(answers), 0

    async def fetchrow(self, *_: object, **__: object) -> dict[str, object]:
        follows, position = self.answers.pop(0)
        return {"follows": follows, "position": position}

    async def expire_connections(self) -> None:
        self.expired += 1


def following(*answers: tuple[bool, str]) -> Replica:
    replica = Replica("one")
    replica.pool = Standby(*answers)  # type: ignore[assignment]
    replica.database = "gridloom 7"
    replica.enable()
    return replica


class TestAReplicaThatIsAsked:
    async def test_is_left_out_where_it_follows_none(self) -> None:
        replica = following((False, "0/400"))
        assert not await replica.has_reached(0x300)
        assert replica.disabled_because == "follows no primary"
        assert replica.pool.expired == 1  # type: ignore[attr-defined]

    def test_is_left_out_where_it_broke_off_and_for_nothing_less(self) -> None:
        replica = following()
        for failure, reason in (
            (DatabaseFailure.TIMEOUT, None),
            (DatabaseFailure.READ_ONLY, None),
            (DatabaseFailure.UNREACHABLE, "broke off"),
        ):
            replica.record_failed_read("listAssets", failure)
            assert replica.disabled_because == reason
        assert replica.refused_writes_of == {"listAssets"}

    async def test_is_left_out_with_another_database_or_too_far_behind_and_comes_back(self) -> None:
        replica = following((True, "0/100"), (True, "0/100"), (True, "0/100"), (False, "0/300"))
        group = Replicas(None, [replica])  # type: ignore[arg-type]
        now = time.monotonic()
        for database, past, reason in (
            ("gridloom 8", [(now, 0x100)], "is of another database"),
            ("gridloom 7", [(now - 60, 0x101)], "60 s behind"),
            ("gridloom 7", [(now - 60, 0x100), (now, 0x200)], None),
            ("gridloom 7", [(now, 0x100)], "follows no primary"),
        ):
            group._database = database
            group._past.clear()
            group._past.extend(past)
            await group._poll_one(replica)
            assert replica.disabled_because == reason
