"""The SQL of webhooks as a resource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from gridloom.platform.database.clock import real_now
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.platform.events.store import IS_READABLE, last_sequences
from gridloom.platform.webhooks.model import Attempt, Delivery, DeliveryState, Webhook, WebhookFormat

if TYPE_CHECKING:
    import asyncpg

    from gridloom.platform.database.pool import Database
    from gridloom.platform.database.sealing import Seal

CHANNEL = "gridloom_webhook"
"""Notifies that deliveries became due by request."""
_COUNTING: Final = 7_108_275
"""The advisory locks of organisations whose webhooks are counted before one is added."""


@dataclass(frozen=True, slots=True)
class WebhookCreator:
    """Whose rights a webhook delivers by: a member's, or those of the key that set it up."""

    kind: str
    id: UUID
    permissions: frozenset[str]

    @property
    def member_id(self) -> UUID | None:
        return self.id if self.kind == "USER" else None

    @property
    def key_id(self) -> UUID | None:
        return self.id if self.kind == "API_KEY" else None


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """A webhook with what its readers do not see."""

    webhook: Webhook
    version: int
    permissions: frozenset[str]


_INSERT: Final = NamedStatement("""
insert into webhook (organisation_id, id, url, types, description, format, permissions, secret, position,
                     made_by, maker_member_id, maker_key_id)
values (:organisation_id, :id, :url, :types, :description, :format, :permissions, :secret, :position,
        :kind, :member_id, :key_id)
returning *
""")
_UPDATE: Final = NamedStatement("""
update webhook
set url = :url, types = :types, description = :description, format = :format,
    disabled_at = case when :enabled then null when enabled then :now::timestamptz else disabled_at end,
    disabled_because = case when :enabled then null else disabled_because end,
    enabled = :enabled, version = version + 1, updated_at = statement_timestamp()
where organisation_id = :organisation_id and id = :id
returning *
""")


async def insert(
    db: Database,
    *,
    webhook_id: UUID,
    organisation_id: UUID,
    url: str,
    types: Sequence[str],
    description: str | None,
    format: WebhookFormat,
    maker: WebhookCreator,
    secret: bytes,
) -> StoredWebhook:
    """A new webhook gets the events from now on."""
    position = (await last_sequences(db, [organisation_id])).get(organisation_id, 0)
    row = await _INSERT.fetchrow(
        db, maker, organisation_id=organisation_id, id=webhook_id, url=url, types=list(types), description=description,
        format=format, permissions=sorted(maker.permissions), secret=secret, position=position,
    )  # fmt: skip
    await wake(db)  # from now on what happens to the organisation is a reason to look
    return _read_webhook_row(row)


async def lock_count(db: Database, organisation_id: UUID) -> None:
    """Until this transaction ends no other one counts and adds webhooks of the organisation."""
    await db.execute("select pg_advisory_xact_lock($1, hashtext($2))", _COUNTING, str(organisation_id))


async def count(db: Database, organisation_id: UUID) -> int:
    return int(await db.fetchval("select count(*) from webhook where organisation_id = $1", organisation_id))


async def page(db: Database, organisation_id: UUID, after: UUID | None, most: int) -> list[Webhook]:
    rows = await db.fetch(
        """
        select * from webhook
        where organisation_id = $1 and ($2::uuid is null or id > $2)
        order by id
        limit $3
        """,
        organisation_id, after, most,
    )  # fmt: skip
    return [_read_webhook_row(row).webhook for row in rows]


_READ: Final = "select * from webhook where organisation_id = $1 and id = $2"
_READ_FOR_UPDATE: Final = _READ + " for update"


async def read(
    db: Database, organisation_id: UUID, webhook_id: UUID, *, to_change: bool = False
) -> StoredWebhook | None:
    row = await db.fetchrow(_READ_FOR_UPDATE if to_change else _READ, organisation_id, webhook_id)
    return None if row is None else _read_webhook_row(row)


async def update(db: Database, changed: Webhook) -> StoredWebhook:
    return _read_webhook_row(await _UPDATE.fetchrow(db, changed, now=await real_now(db)))


async def change_creator(db: Database, organisation_id: UUID, webhook_id: UUID, maker: WebhookCreator) -> None:
    """The caller that sets a webhook's URL becomes its creator; waiting deliveries that it may not read are deleted."""
    await db.execute(
        """
        update webhook set permissions = $3, made_by = $4, maker_member_id = $5, maker_key_id = $6
        where organisation_id = $1 and id = $2
        """,
        organisation_id, webhook_id, sorted(maker.permissions), maker.kind, maker.member_id, maker.key_id,
    )  # fmt: skip
    await db.execute(
        """
        update webhook_delivery set state = 'FAILED', ended_at = statement_timestamp()
        where organisation_id = $1 and webhook_id = $2 and state = 'PENDING'
          and coalesce(permission, '') <> all($3::text[])
        """,
        organisation_id, webhook_id, sorted(maker.permissions),
    )  # fmt: skip


async def resume(db: Database, organisation_id: UUID, webhook_id: UUID, tried_for: timedelta) -> None:
    """Give what waited while the webhook was disabled its full time again, at once."""
    await db.execute(
        """
        update webhook_delivery
        set due = statement_timestamp(), give_up_at = statement_timestamp() + $3::interval, attempts = 0
        where organisation_id = $1 and webhook_id = $2 and state = 'PENDING'
        """,
        organisation_id, webhook_id, tried_for,
    )  # fmt: skip
    await wake(db)


async def wake(db: Database) -> None:
    await db.execute("select pg_notify($1, '')", CHANNEL)


async def rotate_secret(
    db: Database, organisation_id: UUID, webhook_id: UUID, secret: bytes, overlap: timedelta
) -> StoredWebhook | None:
    row = await db.fetchrow(
        """
        update webhook
        set previous_secret = case when $4::timestamptz is not null then secret end, previous_secret_until = $4,
            secret = $3, version = version + 1, updated_at = statement_timestamp()
        where organisation_id = $1 and id = $2
        returning *
        """,
        organisation_id, webhook_id, secret, await real_now(db) + overlap if overlap else None,
    )  # fmt: skip
    return None if row is None else _read_webhook_row(row)


async def delete(db: Database, organisation_id: UUID, webhook_id: UUID) -> None:
    await db.execute("delete from webhook where organisation_id = $1 and id = $2", organisation_id, webhook_id)


async def page_of_deliveries(
    db: Database,
    organisation_id: UUID,
    webhook_id: UUID,
    *,
    state: DeliveryState | None,
    before: UUID | None,
    most: int,
    permissions: frozenset[str],
) -> list[Delivery]:
    """The newest first, each with its attempts, as far as these permissions cover the events."""
    rows = await db.fetch(
        compose("""
        select d.* from webhook_delivery d
          left join event e on e.organisation_id = d.organisation_id and e.sequence = d.sequence
        where d.organisation_id = $1 and d.webhook_id = $2 and ($3::text is null or d.state = $3)
          and ($4::uuid is null or d.id < $4) and d.permission = any($6::text[])
          and (e.id is null or {is_readable})
        order by d.id desc
        limit $5
        """, is_readable=IS_READABLE),
        organisation_id, webhook_id, state, before, most, sorted(permissions),
    )  # fmt: skip
    return await _with_attempts(db, organisation_id, rows)


async def permission_of_delivery(
    db: Database, organisation_id: UUID, webhook_id: UUID, delivery_id: UUID
) -> tuple[str, bool] | None:
    """Permission to read a delivery, and whether the organisation may still read its event; None for an unknown one."""
    row = await db.fetchrow(
        compose("""
        select coalesce(d.permission, '') as permission, e.id is null or {is_readable} as is_open
        from webhook_delivery d
          left join event e on e.organisation_id = d.organisation_id and e.sequence = d.sequence
        where d.organisation_id = $1 and d.webhook_id = $2 and d.id = $3
        """, is_readable=IS_READABLE),
        organisation_id, webhook_id, delivery_id,
    )  # fmt: skip
    return None if row is None else (row["permission"], row["is_open"])


async def insert_replay(
    db: Database, organisation_id: UUID, delivery_id: UUID, replay_id: UUID, tried_for: timedelta
) -> Delivery:
    rows = await db.fetch(
        """
        insert into webhook_delivery
          (organisation_id, id, webhook_id, sequence, event_id, type, format, body, permission, give_up_at, replays_id)
        select organisation_id, $3, webhook_id, sequence, event_id, type, format, body, permission,
               clock_timestamp() + $4::interval, id
        from webhook_delivery where organisation_id = $1 and id = $2
        returning *
        """,
        organisation_id, delivery_id, replay_id, tried_for,
    )  # fmt: skip
    await wake(db)
    return (await _with_attempts(db, organisation_id, rows))[0]


async def _with_attempts(db: Database, organisation_id: UUID, rows: Sequence[asyncpg.Record]) -> list[Delivery]:
    attempts: dict[UUID, list[Attempt]] = {row["id"]: [] for row in rows}
    for row in await db.fetch(
        """
        select * from webhook_attempt where organisation_id = $1 and delivery_id = any($2) order by delivery_id, number
        """,
        organisation_id,
        list(attempts),
    ):
        attempts[row["delivery_id"]].append(read_row(Attempt, row, took_milliseconds=row["took_ms"]))
    return [_read_delivery_row(row, attempts[row["id"]]) for row in rows]


def _read_webhook_row(row: asyncpg.Record) -> StoredWebhook:
    webhook = read_row(
        Webhook, row, format=WebhookFormat(row["format"]), previous_secret_expires_at=row["previous_secret_until"]
    )
    return StoredWebhook(webhook, row["version"], frozenset(row["permissions"]))


def _read_delivery_row(row: asyncpg.Record, attempts: list[Attempt]) -> Delivery:
    state = DeliveryState(row["state"])
    return read_row(
        Delivery,
        row,
        state=state,
        next_attempt_at=row["due"] if state is DeliveryState.PENDING else None,
        request_body=row["body"],
        attempts=attempts,
    )


async def disabled_since(db: Database, since: timedelta) -> list[datetime]:
    """When the service disabled webhooks that failed for too long, as far as they have not been enabled again."""
    rows = await db.fetch(
        """
        select disabled_at from webhook
        where disabled_because is not null and disabled_at > clock_timestamp() - $1::interval
        """,
        since,
    )
    return [row["disabled_at"] for row in rows]


async def reseal_webhooks(db: Database, seal: Seal) -> int:
    """Seal every secret with the present secrets key; how many webhooks had one that was not."""
    rows = await db.fetch("select organisation_id, id, secret, previous_secret from webhook")
    count = 0
    for row in rows:
        stored = [row["secret"], row["previous_secret"]]
        if all(one is None or seal.is_current(one) for one in stored):
            continue
        count += 1
        await db.execute(
            """
            update webhook set secret = $3, previous_secret = $4
            where organisation_id = $1 and id = $2 and secret = $5
            """,
            row["organisation_id"],
            row["id"],
            *(None if one is None else seal.close(seal.open(one)) for one in stored),
            row["secret"],
        )
    return count
