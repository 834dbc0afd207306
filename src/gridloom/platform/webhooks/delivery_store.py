"""The SQL of delivering: from the order of events to deliveries, and from each attempt to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from gridloom.kernel.ids import uuid7
from gridloom.platform.database.rows import read_row
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.platform.events.model import Event, to_cloud_event
from gridloom.platform.events.store import IS_READABLE, wait_for_sequencer
from gridloom.platform.http import to_json
from gridloom.platform.identity.permissions import OrganisationKind, Role, permissions_of, permissions_of_key
from gridloom.platform.webhooks.http_client import AttemptResult
from gridloom.platform.webhooks.model import WebhookFormat

if TYPE_CHECKING:
    import asyncpg

    from gridloom.platform.database.pool import Database


CANDIDATES_FOR_EACH = 4
"""Webhooks looked at for each that is to be had: others may hold some."""
POLLS_DUE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedDelivery:
    """A delivery that is ours until its lease ends."""

    organisation_id: UUID
    id: UUID
    webhook_id: UUID
    event_id: UUID
    format: WebhookFormat
    body: str
    attempt: int
    give_up_at: datetime
    now: datetime
    url: str
    secrets: tuple[bytes, ...]
    permission: str | None


async def make_deliveries(db: Database, most_webhooks: int, most_events: int, tried_for: timedelta) -> int:
    """Put what has happened into the hands of the webhooks that want it; how many webhooks moved on.

    Runs in one transaction: a webhook's position moves together with its deliveries, and its row is
    locked, so that each event becomes exactly one delivery however many replicas do this and wherever one dies.
    """
    behind = await db.fetch(
        """
        select w.organisation_id, w.id, h.last_sequence
        from webhook w join event_head h using (organisation_id)
        where w.enabled and w.position < h.last_sequence
        order by w.organisation_id, w.id
        limit $1
        """,
        CANDIDATES_FOR_EACH * most_webhooks,
    )
    moved = 0
    for candidate in behind:
        webhook = await _lock_if_behind(db, candidate)
        if webhook is None:
            continue
        readable = await readable_by_maker(db, webhook["organisation_id"], webhook["id"])
        await _make_deliveries_of(db, webhook, candidate["last_sequence"], readable, most_events, tried_for)
        moved += 1
        if moved == most_webhooks:
            break
    return moved


async def _lock_if_behind(db: Database, candidate: asyncpg.Record) -> asyncpg.Record | None:
    """The webhook, held; None if another replica holds it, or it has moved on meanwhile."""
    return await db.fetchrow(
        """
        select organisation_id, id, types, format, permissions, position from webhook
        where organisation_id = $1 and id = $2 and enabled and position < $3
        for update skip locked
        """,
        *candidate,
    )


async def readable_by_maker(db: Database, organisation_id: UUID, webhook_id: UUID) -> list[str]:
    """The permissions of the webhook's creator now: those it had at the webhook's creation and still has."""
    row = await db.fetchrow(
        """
        select w.permissions, w.made_by, m.role, o.kind, k.permissions as key_permissions
        from webhook w
          left join api_key k on k.id = w.maker_key_id
            and k.expires_at > clock_timestamp()
          left join member m
            on m.id = coalesce(w.maker_member_id, k.member_id) and m.organisation_id = w.organisation_id
          left join organisation o on o.id = m.organisation_id
        where w.organisation_id = $1 and w.id = $2
        """,
        organisation_id,
        webhook_id,
    )
    if row is None:
        return []
    if row["made_by"] is None:  # from before makers were known
        return list(row["permissions"])
    if row["role"] is None:
        return []
    held = permissions_of(Role(row["role"]), OrganisationKind(row["kind"]))
    if row["made_by"] == "API_KEY":
        held = permissions_of_key(row["key_permissions"], held)
    return sorted(held.intersection(row["permissions"]))


async def disable_orphans(db: Database, reason: str) -> int:
    """Call no more for webhooks whose maker, or the key they were made with, is gone; how many there were."""
    rows = await db.fetch(
        """
        update webhook
        set enabled = false, disabled_at = statement_timestamp(), disabled_because = $1, version = version + 1,
            updated_at = statement_timestamp()
        where enabled and made_by is not null and maker_member_id is null and maker_key_id is null
        returning id
        """,
        reason,
    )
    return len(rows)


async def _read_next(db: Database, webhook: asyncpg.Record, readable: list[str], most: int) -> list[asyncpg.Record]:
    """The next events of its organisation's order, each with whether the webhook wants it."""
    return await db.fetch(
        compose("""
        select e.sequence, e.id, e.type, e.time, e.origin_id, e.subject, e.permission, e.data::text as data,
               (e.type = any($3::text[]) or cardinality($3::text[]) = 0) and e.permission = any($4::text[])
                 and {is_readable} as is_wanted
        from event e
        where e.organisation_id = $1 and e.sequence > $2
        order by e.sequence
        limit $5
        """, is_readable=IS_READABLE),
        webhook["organisation_id"], webhook["position"], webhook["types"], readable, most,
    )  # fmt: skip


_INSERT_DELIVERY = NamedStatement("""
insert into webhook_delivery
  (organisation_id, id, webhook_id, sequence, event_id, type, format, body, give_up_at, permission)
values (:organisation_id, :id, :webhook_id, :sequence, :event_id, :type, :format, :body,
        clock_timestamp() + :tried_for::interval, :permission)
""")


async def _make_deliveries_of(
    db: Database, webhook: asyncpg.Record, head: int, readable: list[str], most: int, tried_for: timedelta
) -> None:
    """`head` is how far the events had come; where none is kept any more up to there, the webhook goes on from it."""
    rows = await _read_next(db, webhook, readable, most)
    if not rows:
        await wait_for_sequencer(db)
        rows = await _read_next(db, webhook, readable, most)
    wanted = [row for row in rows if row["is_wanted"]]
    if wanted:
        format = WebhookFormat(webhook["format"])
        same = {"organisation_id": webhook["organisation_id"], "webhook_id": webhook["id"], "tried_for": tried_for}
        await _INSERT_DELIVERY.execute_each(db, (_describe_delivery(row, format) | same for row in wanted))
    await db.execute(
        "update webhook set position = $3 where organisation_id = $1 and id = $2",
        webhook["organisation_id"], webhook["id"], rows[-1]["sequence"] if rows else head,
    )  # fmt: skip


def _describe_delivery(event: asyncpg.Record, format: WebhookFormat) -> dict[str, Any]:
    copied = {name: event[name] for name in ("sequence", "type", "permission")}
    return copied | {"id": uuid7(), "event_id": event["id"], "format": format, "body": _write_body(event, format)}


def _write_body(row: asyncpg.Record, format: WebhookFormat) -> str:
    """The same object that a stream shows."""
    event = read_row(Event, row, organisation_id=row["origin_id"], data=msgspec.json.decode(row["data"]))
    return to_json(to_cloud_event(event) if format is WebhookFormat.CLOUDEVENTS else event).decode()


async def lease_due(
    db: Database, most: int, *, busy: Sequence[UUID], busy_organisations: Sequence[UUID], lease: timedelta
) -> list[LeasedDelivery]:
    """Take deliveries that are due, at most so many, leaving out webhooks and organisations that are busy enough here.

    A due time in the future is the lease: if we die, the delivery is due again when it ends. Another replica may look
    at the same deliveries at the same instant; each is taken by whose change of it comes first, and the other looks
    again.
    """
    for _ in range(POLLS_DUE):
        due = await db.fetch(
            """
            select d.organisation_id, d.id from webhook_delivery d join webhook w
              on w.organisation_id = d.organisation_id and w.id = d.webhook_id and w.enabled
            where d.state = 'PENDING' and d.due <= clock_timestamp() and d.webhook_id <> all($2::uuid[])
              and d.organisation_id <> all($3::uuid[])
            order by d.due, d.id
            limit $1
            """,
            most, list(busy), list(busy_organisations),
        )  # fmt: skip
        claimed = await claim_deliveries(db, due, lease)
        if claimed or not due:
            return claimed
    return []


async def claim_deliveries(db: Database, due: Sequence[asyncpg.Record], lease: timedelta) -> list[LeasedDelivery]:
    """The deliveries whose lease this process still holds."""
    ids: dict[UUID, list[UUID]] = {}
    for row in due:
        ids.setdefault(row["organisation_id"], []).append(row["id"])
    rows: list[asyncpg.Record] = []
    for organisation_id in sorted(ids):
        rows += await db.fetch(
            """
            with claimed as (
              update webhook_delivery d
              set due = statement_timestamp() + $3::interval, attempts = d.attempts + 1
              from webhook w
              where d.organisation_id = $1 and d.id = any($2::uuid[]) and d.state = 'PENDING'
                and d.due <= statement_timestamp() and w.organisation_id = $1 and w.id = d.webhook_id
              returning d.organisation_id, d.id, d.webhook_id, d.event_id, d.format, d.body, d.attempts, d.give_up_at,
                        w.url, d.permission, w.secret, w.previous_secret, w.previous_secret_until
            )
            select organisation_id, id, webhook_id, event_id, format, body, attempts, give_up_at, url, permission,
                   secret, statement_timestamp() as now,
                   case when previous_secret_until > statement_timestamp() then previous_secret end as previous_secret
            from claimed
            """,
            organisation_id, ids[organisation_id], lease,
        )  # fmt: skip
    return [
        read_row(
            LeasedDelivery,
            row,
            attempt=row["attempts"],
            format=WebhookFormat(row["format"]),
            secrets=tuple(secret for secret in (row["secret"], row["previous_secret"]) if secret is not None),
        )
        for row in sorted(rows, key=lambda row: row["id"])
    ]


async def list_receivers(db: Database, most: int) -> list[str]:
    """The organisations that have a webhook to which calls are made, up to so many, as notifications name them."""
    rows = await db.fetch(
        "select organisation_id::text as id from webhook where enabled group by organisation_id limit $1", most
    )
    return [row["id"] for row in rows]


async def next_due(db: Database) -> tuple[bool, float | None]:
    """Whether a webhook has events to be handed out, and the seconds until the next call is due."""
    row = await db.fetchrow(
        """
        select exists (select 1 from webhook w join event_head h using (organisation_id)
                       where w.enabled and w.position < h.last_sequence) as has_events,
               (select extract(epoch from d.due - clock_timestamp())
                from webhook_delivery d join webhook w
                  on w.organisation_id = d.organisation_id and w.id = d.webhook_id and w.enabled
                where d.state = 'PENDING'
                order by d.due
                limit 1)::float8 as next_s
        """
    )
    assert row is not None
    return row["has_events"], row["next_s"]


_INSERT_ATTEMPT = NamedStatement("""
insert into webhook_attempt (organisation_id, delivery_id, number, started_at, took_ms, url, request_headers,
                             status, answer_headers, answer_body, error)
select :organisation_id, :delivery_id, 1 + coalesce(max(number), 0), :started_at, :took_ms, :url, :request_headers,
       :status, :headers, :body, :error
from webhook_attempt where organisation_id = :organisation_id and delivery_id = :delivery_id
""")


async def note_attempt(
    db: Database, claimed: LeasedDelivery, headers: Mapping[str, str], outcome: AttemptResult
) -> None:
    """Numbers go on counting over a webhook's being enabled again, and over attempts whose end was never noted."""
    await _INSERT_ATTEMPT.execute(
        db, outcome, organisation_id=claimed.organisation_id, delivery_id=claimed.id, started_at=claimed.now,
        url=claimed.url, request_headers=dict(headers),
    )  # fmt: skip


async def holds_lease(db: Database, claimed: LeasedDelivery) -> bool:
    """Lock the delivery, if it is still this attempt's: it may have been lost, tried again or removed meanwhile."""
    return (
        await db.fetchval(
            """
            select true from webhook_delivery
            where organisation_id = $1 and id = $2 and attempts = $3 and state = 'PENDING'
            for update
            """,
            claimed.organisation_id, claimed.id, claimed.attempt,
        )
        is not None
    )  # fmt: skip


async def finish(db: Database, claimed: LeasedDelivery, state: str) -> None:
    await db.execute(
        """
        update webhook_delivery set state = $3, ended_at = statement_timestamp() where organisation_id = $1 and id = $2
        """,
        claimed.organisation_id, claimed.id, state,
    )  # fmt: skip


async def postpone(db: Database, claimed: LeasedDelivery, due: datetime) -> None:
    await db.execute(
        "update webhook_delivery set due = $3 where organisation_id = $1 and id = $2",
        claimed.organisation_id, claimed.id, due,
    )  # fmt: skip


async def disable(db: Database, claimed: LeasedDelivery, reason: str) -> bool:
    """Call this webhook no more; False if it is disabled already."""
    return (
        await db.fetchval(
            """
            update webhook
            set enabled = false, disabled_at = statement_timestamp(), disabled_because = $3, version = version + 1,
                updated_at = statement_timestamp()
            where organisation_id = $1 and id = $2 and enabled
            returning true
            """,
            claimed.organisation_id, claimed.webhook_id, reason,
        )
        is not None
    )  # fmt: skip


async def delete_deliveries_before(db: Database, older_than: timedelta, most: int) -> int:
    """Delete up to `most` ended deliveries of that age with their attempts; how many."""
    return len(
        await db.fetch(
            """
            delete from webhook_delivery
            where (organisation_id, id) in (
              select organisation_id, id from webhook_delivery
              where created_at < statement_timestamp() - $1::interval and state <> 'PENDING'
              order by created_at limit $2)
            returning 1
            """,
            older_than, most,
        )
    )  # fmt: skip
