"""Acknowledgements of dispatch over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec import UNSET

from gridloom.delivery.acknowledgements import store
from gridloom.delivery.acknowledgements.model import (
    NEGATIVE_STATUSES,
    Acknowledgement,
    AcknowledgementCursor,
    AcknowledgementStatus,
    NewAcknowledgement,
)
from gridloom.kernel.market_time import period_number, period_number_from, period_start
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, Unprocessable
from gridloom.logbook.model import Impact
from gridloom.logbook.store import write_system_entry
from gridloom.physical_assets.window_query import check_order
from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.events.outbox import record_event
from gridloom.platform.http import Page, PagedWindow, Request, operation
from gridloom.platform.identity.authorization import PHYSICAL_ASSET, AuthorizedAsset, authorize_asset

TAG = "Delivery"
READ = Permission.READ_SCHEDULES
CREATE = Permission.CREATE_MONITORING


class UnknownDispatchVersion(Unprocessable, title="The battery's dispatch has no such version"):
    """An acknowledgement names the version of the dispatch that it is about, as `GET …/dispatch` or the event
    `dispatch.updated` gave it."""


@operation(
    "POST",
    PHYSICAL_ASSET + "/dispatch/acknowledgements",
    summary="Acknowledge the dispatch of a quarter-hour",
    access=CREATE,
    status=201,
    location=PHYSICAL_ASSET + "/dispatch/acknowledgements",
    audited=False,
    problems=(UnknownDispatchVersion,),
)
async def acknowledge_dispatch(request: Request, physical_asset_id: UUID, body: NewAcknowledgement) -> Acknowledgement:
    """From the site: what became of the dispatch of one quarter-hour. `REJECTED` and `NOT_FOLLOWED` are written into
    the battery's logbook.

    The same statement again (version, time, status and `at`) changes nothing and is answered as before.
    """
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, CREATE)
    if period_start(period_number(body.time)) != body.time:
        raise BadRequest.at("/time", "The time is not the start of a quarter-hour.", "is not a whole quarter-hour")
    if not await store.has_version(request.db, authorized.key, body.version):
        detail = f"The dispatch of the battery has no version {body.version}."
        raise UnknownDispatchVersion.at("/version", detail, "is no version of the dispatch")
    now = await platform_now_to_the_ms(request.db)
    made = await store.add_acknowledgement(request.db, authorized.key, body, request.caller.id, now)
    if made is None:
        return await store.read_same(request.db, authorized.key, body)
    await _record_acknowledged(request, authorized, physical_asset_id, made)
    return made


@operation(
    "GET",
    PHYSICAL_ASSET + "/dispatch/acknowledgements",
    summary="List acknowledgements of dispatch",
    access=READ,
    replica_read=True,
)
async def list_dispatch_acknowledgements(
    request: Request, physical_asset_id: UUID, query: PagedWindow
) -> Page[Acknowledgement]:
    """The latest quarter-hour first, within it what was recorded last. `start` and `end` bound the quarter-hours."""
    authorized = await authorize_asset(request.db, request.caller, physical_asset_id, READ)
    check_order(query.start, query.end)
    found = await store.list_acknowledgements(
        request.db,
        authorized.key,
        None if query.start is None else period_number(query.start),
        None if query.end is None else period_number_from(query.end),
        query.after(AcknowledgementCursor),
        query.limit + 1,
    )
    page = query.page(found, lambda one: one[0])
    return Page([acknowledgement for _, acknowledgement in page.items], page.next_cursor)


async def _record_acknowledged(
    request: Request, authorized: AuthorizedAsset, asset_id: UUID, made: Acknowledgement
) -> None:
    """The event and, where dispatch is not delivered, the logbook, in the transaction of the acknowledgement."""
    if made.status in NEGATIVE_STATUSES:
        what = "rejected" if made.status is AcknowledgementStatus.REJECTED else "not followed"
        reason = "" if made.reason is UNSET else f" Reason: {made.reason}"
        await write_system_entry(
            request.db,
            authorized.key,
            type="DISPATCH",
            title=f"Dispatch {what}",
            description=f"Version {made.version} of the dispatch was {what} by the site.{reason}",
            impact=Impact.NEGATIVE,
            start=made.time,
            end=made.time + timedelta(minutes=15),
            tags=["dispatch", made.status.value],
            author_id=request.caller.id,
        )
    data: dict[str, Any] = {"version": made.version, "time": made.time, "at": made.at}
    if made.reason is not UNSET:
        data["reason"] = made.reason
    if made.status is not AcknowledgementStatus.NOT_FOLLOWED:
        data["status"] = made.status
    await record_event(
        request.db,
        type="dispatch.not-followed" if made.status is AcknowledgementStatus.NOT_FOLLOWED else "dispatch.acknowledged",
        organisation_id=authorized.organisation_id,
        subject=f"physical-assets/{asset_id}",
        permission=READ,
        asset_key=authorized.key,
        data=data,
    )
