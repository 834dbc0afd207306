"""From the order of events to the deliveries of a webhook: none is passed over."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.conftest import migrated_database

from gridloom.platform.database.pool import create_pool
from gridloom.platform.database.sealing import Seal, SecretUnreadable
from gridloom.platform.events.store import wait_for_sequencer
from gridloom.platform.webhooks import dispatcher
from gridloom.platform.webhooks.deliver import deliver
from gridloom.platform.webhooks.delivery_store import (
    LeasedDelivery,
    claim_deliveries,
    disable,
    lease_due,
    list_receivers,
    make_deliveries,
    next_due,
)
from gridloom.platform.webhooks.dispatcher import Dispatcher
from gridloom.platform.webhooks.http_client import AttemptResult
from gridloom.platform.webhooks.store import (
    disabled_since,
    insert_replay,
    reseal_webhooks,
)


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
    async def test_waits_by_the_very_lock_under_which_places_are_given(self, connections: list[Any]) -> None:
        db, other, _ = connections
        async with db.transaction():
            await db.execute("select sequence_events(1, '{}')")
            held = "select classid, objid from pg_locks where locktype = 'advisory' and pid = $1"
            given = await db.fetch(held, db.get_server_pid())
        async with other.transaction():
            await wait_for_sequencer(other)
            assert given == await other.fetch(held, other.get_server_pid())


class Receiver:
    """Answers every call alike, without a network."""

    def __init__(self, status: int) -> None:
        self.status = status

    async def post(self, *_: Any) -> AttemptResult:
        return AttemptResult(1, self.status)


class OpenSeal:
    def open(self, secret: bytes) -> bytes:
        return b"secret" + secret


async def deliver_with(pool: Any, claimed: LeasedDelivery, status: int) -> None:
    await deliver(pool, Receiver(status), OpenSeal(), claimed)  # type: ignore[arg-type]


async def lease(pool: Any, organisation_id: UUID, others: list[UUID], *, seconds: float) -> LeasedDelivery:
    await pool.execute("select pg_sleep(0.002)")  # when it is due is rounded to a millisecond, which may be the next
    [claimed] = await lease_due(pool, 10, busy=[], busy_organisations=others, lease=timedelta(seconds=seconds))
    assert claimed.organisation_id == organisation_id
    return claimed


class TestWhatIsDue:
    async def test_next_is_what_a_dispatcher_waits_for(self, connections: list[Any]) -> None:
        """As far as its webhook is enabled."""
        db, *_ = connections
        await db.execute("delete from webhook")
        assert await next_due(db) == (False, None)
        organisation_id, _ = await self.hand_out(db, 2)
        await self.order_by_age(db, organisation_id, [-7200, -3600])
        has_events, wait_s = await next_due(db)
        assert has_events is False
        assert wait_s is not None
        assert 0 < wait_s < 3601
        await db.execute("update event_head set last_sequence = 3 where organisation_id = $1", organisation_id)
        assert (await next_due(db))[0] is True
        await db.execute("update webhook set enabled = false where organisation_id = $1", organisation_id)
        assert await next_due(db) == (False, None)
        assert str(organisation_id) not in await list_receivers(db, 10_000)
        await db.execute(
            """
            insert into webhook (organisation_id, id, url, types, permissions, position, secret)
            values ($1, $2, 'https://example.org', '{}', '{Read:auctions}', 3, '')
            """,
            organisation_id,
            uuid4(),
        )
        assert await next_due(db) == (False, None), "another one of the same organisation is no reason to call"
        await self.order_by_age(db, organisation_id, [60, 60])
        assert await lease_due(db, 10, busy=[], busy_organisations=[], lease=timedelta(minutes=1)) == []

    @staticmethod
    async def hand_out(db: Any, events: int) -> tuple[UUID, UUID]:
        """The organisation and its webhook, with a delivery for each of so many events."""
        organisation_id = await set_up_webhook(db)
        for place in range(1, events + 1):
            await give_place(db, organisation_id, place)
        assert await make_and_read(db, organisation_id) == (events, events)
        await db.execute("update event_head set last_sequence = $2 where organisation_id = $1", organisation_id, events)
        return organisation_id, await db.fetchval("select id from webhook where organisation_id = $1", organisation_id)

    @staticmethod
    async def order_by_age(db: Any, organisation_id: UUID, seconds: list[int]) -> list[UUID]:
        """The deliveries, due for so many seconds."""
        rows = await db.fetch("select id from webhook_delivery where organisation_id = $1 order by id", organisation_id)
        for row, age in zip(rows, seconds, strict=True):
            await db.execute(
                "update webhook_delivery set due = clock_timestamp() - $2::interval where id = $1",
                row["id"],
                timedelta(seconds=age),
            )
        return [row["id"] for row in rows]

    async def test_is_taken_by_one_of_two_that_see_it_at_the_same_instant(self, connections: list[Any]) -> None:
        first, second, *_ = connections
        organisation_id = await set_up_webhook(first)
        await give_place(first, organisation_id)
        assert await make_and_read(first, organisation_id) == (1, 1)
        seen = await first.fetch(
            "select organisation_id, id from webhook_delivery where organisation_id = $1", organisation_id
        )
        taken = [len(await claim_deliveries(db, seen, timedelta(minutes=1))) for db in (first, second)]
        assert taken == [1, 0]


class TestTwoWebhooksOfAnOrganisation:
    async def test_are_each_called_at_their_own_address_and_end_by_themselves(
        self, connections: list[Any], url: str
    ) -> None:
        """Of one event, which both want: neither moves the other on, is called for it or ends with it."""
        db, *_ = connections
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id, second = await set_up_webhook(db), uuid4()
        first = await db.fetchval("select id from webhook where organisation_id = $1", organisation_id)
        await db.execute(
            "insert into webhook (organisation_id, id, url, types, permissions, position, secret)"
            " values ($1, $2, 'https://example.net', '{auction.created}', '{Read:auctions}', 0, 'second')",
            *(organisation_id, second),
        )
        await give_place(db, organisation_id)
        await make_and_read(db, organisation_id)
        await db.execute("select pg_sleep(0.002)")  # when it is due is rounded to a millisecond, which may be the next
        leased = await lease_due(db, 10, busy=[], busy_organisations=others, lease=timedelta(minutes=1))
        calls = {one.webhook_id: one for one in leased}
        assert {id: (one.url, one.secrets) for id, one in calls.items()} == {
            first: ("https://example.org", (b"",)),
            second: ("https://example.net", (b"second",)),
        }
        async with await create_pool(url, size=2) as pool:
            await deliver_with(pool, calls[second], 410)
        read = "select w.enabled, d.state from webhook w join webhook_delivery d on d.webhook_id = w.id where w.id = $1"
        assert [tuple(await db.fetchrow(read, one)) for one in (first, second)] == [
            (True, "PENDING"),
            (False, "FAILED"),
        ]


class TestAReplay:
    async def test_has_its_own_time_in_which_it_is_tried(self, connections: list[Any]) -> None:
        """It is asked for when the first one was given up: with that one's time it would never be tried again."""
        db, *_ = connections
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        assert await make_and_read(db, organisation_id) == (1, 1)
        delivery_id = await db.fetchval(
            """
            update webhook_delivery set state = 'FAILED', ended_at = now(), attempts = 9, give_up_at = now()
            where organisation_id = $1 returning id
            """,
            organisation_id,
        )
        replay = await insert_replay(db, organisation_id, delivery_id, uuid4(), timedelta(days=1))
        others = [row["id"] for row in await db.fetch("select id from organisation where id <> $1", organisation_id)]
        leased = await lease(db, organisation_id, others, seconds=60)
        assert (leased.id, leased.attempt) == (replay.id, 1)
        assert leased.give_up_at - leased.now > timedelta(hours=23)


class TestADisabledWebhook:
    async def test_is_a_fault_to_be_shown_only_where_the_service_disabled_it(self, connections: list[Any]) -> None:
        db, *_ = connections
        organisation_id = await set_up_webhook(db)
        before = len(await disabled_since(db, timedelta(days=1)))
        disable = "update webhook set enabled = false, disabled_at = clock_timestamp(), disabled_because = $2"
        for reason, shown in ((None, 0), ("the receiver answered 500", 1)):
            await db.execute(f"{disable} where organisation_id = $1", organisation_id, reason)
            assert len(await disabled_since(db, timedelta(days=1))) == before + shown
        await db.execute("update webhook set disabled_at = disabled_at - interval '25 hours'")
        assert await disabled_since(db, timedelta(days=1)) == [], "and only for so long"

    async def test_is_disabled_once_and_for_the_first_reason(self, connections: list[Any], url: str) -> None:
        """Two calls may fail for good at the same time."""
        db, *_ = connections
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        await make_and_read(db, organisation_id)
        read = "select disabled_because, version, disabled_at from webhook where organisation_id = $1"
        async with await create_pool(url, size=2) as pool:
            claimed = await lease(pool, organisation_id, others, seconds=600)
            await deliver_with(pool, claimed, 410)
            first = await db.fetchrow(read, organisation_id)
            assert first["disabled_because"] == "the receiver answered 410"
            assert await disable(pool, claimed, "another") is False
        assert await db.fetchrow(read, organisation_id) == first


class TestAnAttemptWhoseLeaseWasTakenOver:
    @pytest.mark.parametrize("status", [204, 500, 410])
    async def test_leaves_the_outcome_to_the_attempt_that_holds_it(
        self, connections: list[Any], url: str, status: int
    ) -> None:
        db, *_ = connections
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        assert await make_and_read(db, organisation_id) == (1, 1)
        read = "select state, attempts, due from webhook_delivery where organisation_id = $1"
        count = "select count(*) from webhook_attempt where organisation_id = $1"
        async with await create_pool(url, size=2) as pool:
            slow = await lease(pool, organisation_id, others, seconds=-1)
            holding = await lease(pool, organisation_id, others, seconds=600)
            leased = await db.fetchrow(read, organisation_id)
            await deliver_with(pool, slow, status)
            assert await db.fetchrow(read, organisation_id) == leased
            assert leased["state"] == "PENDING"
            assert await db.fetchval(count, organisation_id) == 0
            await deliver_with(pool, holding, 204)
            await deliver_with(pool, slow, status)  # it is over by now
        assert (await db.fetchrow(read, organisation_id))["state"] == "DELIVERED"
        assert await db.fetchval(count, organisation_id) == 1
        assert await db.fetchval("select enabled from webhook where organisation_id = $1", organisation_id)


class TestADeliveryThatIsDue:
    async def test_waits_while_its_webhook_is_disabled(self, connections: list[Any]) -> None:
        db, *_ = connections
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        await make_and_read(db, organisation_id)
        await db.execute("select pg_sleep(0.002)")  # when it is due is rounded to a millisecond, which may be the next
        for enabled in (False, True):
            await db.execute("update webhook set enabled = $2 where organisation_id = $1", organisation_id, enabled)
            leased = await lease_due(db, 10, busy=[], busy_organisations=others, lease=timedelta(seconds=600))
            assert len(leased) == enabled

    @pytest.mark.parametrize(("until", "secrets"), [("1 hour", (b"new", b"old")), ("-1 second", (b"new",))])
    async def test_is_signed_with_the_former_secret_as_well_until_its_time_is_over(
        self, connections: list[Any], url: str, until: str, secrets: tuple[bytes, ...]
    ) -> None:
        db, *_ = connections
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id = await set_up_webhook(db)
        await db.execute(
            f"""update webhook set secret = 'new', previous_secret = 'old',
                  previous_secret_until = clock_timestamp() + interval '{until}' where organisation_id = $1""",
            organisation_id,
        )
        await give_place(db, organisation_id)
        await make_and_read(db, organisation_id)
        async with await create_pool(url, size=2) as pool:
            assert (await lease(pool, organisation_id, others, seconds=600)).secrets == secrets


STATE = "select state from webhook_delivery where organisation_id = $1"
ATTEMPT = "select status, error from webhook_attempt where organisation_id = $1"


class TestADeliveryThatCannotBeMade:
    async def one(self, db: Any, pool: Any) -> tuple[UUID, LeasedDelivery]:
        others = [row["id"] for row in await db.fetch("select id from organisation")]
        organisation_id = await set_up_webhook(db)
        await give_place(db, organisation_id)
        await make_and_read(db, organisation_id)
        return organisation_id, await lease(pool, organisation_id, others, seconds=600)

    async def test_since_its_maker_may_no_longer_read_it_is_withheld_and_the_webhook_goes_on(
        self, connections: list[Any], url: str
    ) -> None:
        db, *_ = connections
        async with await create_pool(url, size=2) as pool:
            organisation_id, claimed = await self.one(db, pool)
            await db.execute("update webhook set permissions = '{}' where organisation_id = $1", organisation_id)
            await deliver_with(pool, claimed, 204)
        delivery = await db.fetchrow("select state from webhook_delivery where organisation_id = $1", organisation_id)
        attempt = await db.fetchrow(
            "select status, error from webhook_attempt where organisation_id = $1", organisation_id
        )
        assert delivery["state"] == "FAILED"
        assert attempt["status"] is None
        assert "no longer has Read:auctions" in attempt["error"]
        assert await db.fetchval("select enabled from webhook where organisation_id = $1", organisation_id)

    async def test_is_withheld_by_the_attempt_that_holds_it_alone(self, connections: list[Any], url: str) -> None:
        db, *_ = connections
        async with await create_pool(url, size=2) as pool:
            organisation_id, claimed = await self.one(db, pool)
            await db.execute("update webhook set permissions = '{}' where organisation_id = $1", organisation_id)
            await deliver_with(pool, replace(claimed, attempt=claimed.attempt + 1), 204)
        assert await db.fetchval(STATE, organisation_id) == "PENDING"
        assert await db.fetch(ATTEMPT, organisation_id) == []

    async def test_for_good_disables_the_webhook_and_says_why(self, connections: list[Any], url: str) -> None:
        class Locked:
            def open(self, secret: bytes) -> bytes:
                raise SecretUnreadable("another key")

        db, *_ = connections
        async with await create_pool(url, size=2) as pool:
            organisation_id, claimed = await self.one(db, pool)
            late = replace(claimed, give_up_at=claimed.now - timedelta(days=1))
            await deliver(pool, Receiver(204), Locked(), late)  # type: ignore[arg-type]
        assert await db.fetchval(STATE, organisation_id) == "FAILED"
        because = "select disabled_because from webhook where organisation_id = $1"
        assert await db.fetchval(because, organisation_id) == "another key"
        event = "select type, subject, permission, data::text as data from event_outbox where organisation_id = $1"
        [told] = await db.fetch(event, organisation_id)
        assert tuple(told)[:3] == ("webhook.disabled", f"webhooks/{claimed.webhook_id}", "Manage:organisation")
        assert json.loads(told["data"]) == {
            "webhookID": str(claimed.webhook_id),
            "url": claimed.url,
            "reason": "another key",
        }

    async def test_since_its_secret_cannot_be_read_is_tried_again_and_says_why(
        self, connections: list[Any], url: str
    ) -> None:
        class Locked:
            def open(self, secret: bytes) -> bytes:
                raise SecretUnreadable("another key")

        db, *_ = connections
        async with await create_pool(url, size=2) as pool:
            organisation_id, claimed = await self.one(db, pool)
            await deliver(pool, Receiver(204), Locked(), claimed)  # type: ignore[arg-type]
        assert (
            await db.fetchval("select state from webhook_delivery where organisation_id = $1", organisation_id)
            == "PENDING"
        )
        assert (
            await db.fetchval("select error from webhook_attempt where organisation_id = $1", organisation_id)
            == "another key"
        )


class TestSecrets:
    async def test_are_sealed_anew_with_the_present_key_and_once(self, connections: list[Any]) -> None:
        db, *_ = connections
        former, present = Seal("former-key", "webhook"), Seal("present-key", "webhook", ["former-key"])
        await db.execute("delete from webhook")
        pairs = [(present, present), (former, former), (present, former), (former, present), (present, None)]
        for number, (sealing, sealed_before) in enumerate(pairs):
            organisation_id = await set_up_webhook(db)
            await db.execute(
                "update webhook set secret = $2, previous_secret = $3, previous_secret_until ="
                " case when $3::bytea is not null then now() + interval '1 day' end where organisation_id = $1",
                organisation_id,
                sealing.close(b"new %d" % number),
                None if sealed_before is None else sealed_before.close(b"old %d" % number),
            )
        assert await reseal_webhooks(db, present) == 3, "as many as had one of their secrets under the former key"
        assert await reseal_webhooks(db, present) == 0
        alone = Seal("present-key", "webhook")
        found = {
            alone.open(row["secret"]): None if row["previous_secret"] is None else alone.open(row["previous_secret"])
            for row in await db.fetch("select secret, previous_secret from webhook")
        }
        assert found == {b"new %d" % number: b"old %d" % number for number in range(4)} | {b"new 4": None}


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
    async def test_looks_for_everybody_where_too_many_have_one(
        self, connections: list[Any], url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(dispatcher, "MAX_RECEIVERS", 0)
        await set_up_webhook(connections[0])
        async with await create_pool(url, size=2) as pool:
            sender = Listening(pool)
            await sender._poll_once()
            assert sender.is_woken_by(f"{uuid4()}:1")
