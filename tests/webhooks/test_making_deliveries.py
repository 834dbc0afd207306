"""From the order of events to the deliveries of a webhook: none is passed over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.database.pool import create_pool
from gridloom.events.store import wait_for_sequencer
from gridloom.webhooks import dispatcher
from gridloom.webhooks.delivery_store import make_deliveries
from gridloom.webhooks.dispatcher import Dispatcher


@pytest.fixture(scope="module")
async def url() -> AsyncIterator[str]:
    """Of a database that no service looks at."""
    async with migrated_database() as made:
        yield made


@pytest.fixture
async def connections(url: str) -> AsyncIterator[list[Any]]:
    made = [await asyncpg.connect(url) for _ in range(3)]
    yield made
    for connection in made:
        await connection.close()


async def set_up_webhook(db: Any) -> UUID:
    """One that wants everything, of an organisation whose order has come to its first place."""
    organisation_id = uuid4()
    await db.execute("insert into organisation (id, name, kind) values ($1, 'Ours', 'PARTICIPANT')", organisation_id)
    await db.execute(
        """
        insert into webhook (organisation_id, id, url, types, permissions, position, secret)
        values ($1, $2, 'https://example.org', '{}', '{Read:auctions}', 0, '')
        """,
        organisation_id,
        uuid4(),
    )
    await db.execute("insert into event_head (organisation_id, last_sequence) values ($1, 1)", organisation_id)
    return organisation_id


async def give_place(db: Any, organisation_id: UUID, place: int = 1) -> None:
    await db.execute(
        """
        insert into event (organisation_id, sequence, id, type, time, origin_id, subject, permission, data)
        values ($1, $3, $2, 'auction.created', clock_timestamp(), $1, 'auctions/1', 'Read:auctions', '{}')
        """,
        organisation_id,
        uuid4(),
        place,
    )


async def make_and_read(db: Any, organisation_id: UUID) -> tuple[int, int]:
    """The webhook's place after deliveries were made, and how many there are."""
    async with db.transaction():
        await make_deliveries(db, 1000, 200, timedelta(days=1))
    row = await db.fetchrow(
        """
        select w.position, count(d.id) as deliveries from webhook w left join webhook_delivery d
          on d.organisation_id = w.organisation_id and d.webhook_id = w.id
        where w.organisation_id = $1 group by w.position
        """,
        organisation_id,
    )
    return row["position"], row["deliveries"]


class TestAWebhookWhoseOrderHasGrown:
    async def test_waits_for_an_event_whose_place_shows_before_it_does(self, connections: list[Any]) -> None:
        """As on a distributed database, where the two are committed one after the other."""
        sequencer, maker, watcher = connections
        under_way = sequencer.transaction()
        await under_way.start()
        await sequencer.execute("select pg_advisory_xact_lock(hashtextextended('sequence_events', 6127))")
        organisation_id = await set_up_webhook(watcher)
        making = asyncio.create_task(make_and_read(maker, organisation_id))
        async with asyncio.timeout(30):
            while not await watcher.fetchval(
                "select exists (select from pg_locks where pid = $1 and not granted)", maker.get_server_pid()
            ):
                await asyncio.sleep(0.01)
        await give_place(sequencer, organisation_id)
        await under_way.commit()
        assert await making == (1, 1)

    async def test_goes_on_where_what_happened_is_no_longer_kept(self, connections: list[Any]) -> None:
        db, *_ = connections
        organisation_id = await set_up_webhook(db)
        assert await make_and_read(db, organisation_id) == (1, 0)

    async def test_is_handed_what_has_happened(self, connections: list[Any]) -> None:
        db, *_ = connections
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        assert await make_and_read(db, organisation_id) == (1, 1)

    async def test_waits_by_the_very_lock_under_which_places_are_given(self, connections: list[Any]) -> None:
        db, other, _ = connections
        async with db.transaction():
            await db.execute("select sequence_events(1, '{}')")
            held = "select classid, objid from pg_locks where locktype = 'advisory' and pid = $1"
            given = await db.fetch(held, db.get_server_pid())
        async with other.transaction():
            await wait_for_sequencer(other)
            assert given == await other.fetch(held, other.get_server_pid())


class TestADispatcherThatFindsMoreEventsEachTimeItLooks:
    async def test_calls_meanwhile(self, connections: list[Any], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        db, *_ = connections
        organisation_id = await set_up_webhook(db)
        await db.execute("update event_head set last_sequence = 20 where organisation_id = $1", organisation_id)
        for place in range(1, 21):
            await give_place(db, organisation_id, place)
        places_at_calls = []

        async def deliver(*_: Any) -> None:
            read_place = "select position from webhook where organisation_id = $1"
            places_at_calls.append(await pool.fetchval(read_place, organisation_id))

        monkeypatch.setattr(dispatcher, "deliver", deliver)
        monkeypatch.setattr(dispatcher, "EVENT_BATCH_SIZE", 1)
        pool = await create_pool(url, size=4)
        sender = Dispatcher(pool, None, None)  # type: ignore[arg-type]
        await sender._poll_once()
        await sender.stop()
        await pool.close()
        assert places_at_calls[0] < 20


class Listening(Dispatcher):
    """One that makes no calls."""

    def __init__(self, pool: Any) -> None:
        super().__init__(pool, None, None)  # type: ignore[arg-type]

    async def _start_calls(self) -> None:
        pass

    def is_woken_by(self, payload: str | None) -> bool:
        self._wake.clear()
        self._on_event(payload)
        return self._wake.is_set()


class TestADispatcherThatHearsOfEvents:
    async def test_looks_only_for_organisations_that_have_a_webhook(self, connections: list[Any], url: str) -> None:
        db, *_ = connections
        ours, stranger = await set_up_webhook(db), uuid4()
        async with await create_pool(url, size=2) as pool:
            sender = Listening(pool)
            assert sender.is_woken_by(f"{stranger}:1"), "it knows of nobody yet"
            await sender._poll_once()
            assert not sender.is_woken_by(f"{stranger}:1")
            assert sender.is_woken_by(f"{stranger}:2 {ours}:1")
            assert sender.is_woken_by(f"{ours}:2 {stranger}:3")

    @pytest.mark.parametrize("payload", [None, "*"], ids=["a pause in listening", "a notice too short for all"])
    async def test_looks_anew_who_has_one_where_it_may_have_missed_something(
        self, connections: list[Any], url: str, payload: str | None
    ) -> None:
        db, *_ = connections
        async with await create_pool(url, size=2) as pool:
            sender = Listening(pool)
            await sender._poll_once()
            ours = await set_up_webhook(db)
            assert not sender.is_woken_by(f"{ours}:1")
            assert sender.is_woken_by(payload)
            assert sender.is_woken_by(f"{ours}:1")
            await sender._poll_once()
            assert sender.is_woken_by(f"{ours}:2")

    async def test_looks_for_everybody_where_too_many_have_one(
        self, connections: list[Any], url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dispatcher, "MAX_RECEIVERS", 0)
        await set_up_webhook(connections[0])
        async with await create_pool(url, size=2) as pool:
            sender = Listening(pool)
            await sender._poll_once()
            assert sender.is_woken_by(f"{uuid4()}:1")
