"""The sandbox's own paths. Production does not have them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from msgspec import UNSET, UnsetType

from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, FieldError, Forbidden, Problem
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Connection
from gridloom.platform.http import SIGNED_IN, Instant, Request, RequestBody, ResponseBody, operation
from gridloom.platform.identity.store.revocations import notify_revoked, organisation_subject
from gridloom.platform.jobs.store import lock_recurring
from gridloom.sandbox import clock, store
from gridloom.sandbox.clock import ClockMovesForward, ClockWalkStopped, ClockWalkTooLong
from gridloom.sandbox.simulated_clock import begin_world_again
from gridloom.settings import Settings

TAG = "Sandbox"


class NoClockWalk(Problem, status=404, title="The clock is not being moved"):
    """No request is moving the sandbox's clock, so there is nothing to stop."""


class ClockWalkView(ResponseBody):
    """A move of the clock that is under way."""

    target: Instant


class ClockView(ResponseBody):
    now: Instant
    walk: ClockWalkView | UnsetType = UNSET


class ClockChange(RequestBody):
    """Either an instant or a span of time, such as `PT1H`."""

    now: Instant | UnsetType = UNSET
    advance: timedelta | UnsetType = UNSET


@operation("GET", "/sandbox/clock", summary="Read the platform's clock", access=SIGNED_IN, asset_scope="free")
async def read_clock(request: Request) -> ClockView:
    """The platform's clock. While a request moves it, `walk` says to which instant."""
    view = _show_clock(await platform_now(request.db))
    target = await clock.read_walk_target(request.db)
    if target is not None:
        view.walk = ClockWalkView(target=target)
    return view


@operation(
    "PUT",
    "/sandbox/clock",
    summary="Move the platform's clock forward",
    access=SIGNED_IN,
    transaction="manual",
    problems=(ClockMovesForward, ClockWalkTooLong, ClockWalkStopped),
)
async def move_clock(request: Request, body: ClockChange) -> ClockView:
    """All that is due on the way (auctions opening, closing and clearing, gates closing) happens in order before this
    answers; where a simulator runs, it simulates every quarter-hour on the way. One call moves the clock by at most
    31 days. Callers that may only read cannot move it; where the sandbox is set so, only the operator's members
    can."""
    _reject_reader(request)
    if request.resources[Settings].clock_movers == "operator" and not request.caller.is_operator:
        raise Forbidden("Only the operator moves this sandbox's clock.")
    if (body.now is UNSET) == (body.advance is UNSET):
        raise _reject_malformed("", "give either now or advance")
    span = None if isinstance(body.advance, UnsetType) else body.advance
    if span is not None and span < timedelta():
        raise _reject_malformed("/advance", "is a span of 0 to 31 days")
    instant = None if isinstance(body.now, UnsetType) else body.now
    stands_at = await clock.move_clock(request.pool, to=instant, by=span)
    await request.begin()  # for the audit log alone: what happened on the way committed step by step
    return _show_clock(stands_at)


@operation(
    "DELETE",
    "/sandbox/clock/walk",
    summary="Stop the clock on its way",
    access=SIGNED_IN,
    problems=(NoClockWalk,),
)
async def stop_clock_walk(request: Request) -> None:
    """By the operator's people: the move of the clock that is under way ends at the next instant at which something
    falls due, and what was due until then has happened. The request that moves the clock answers 409
    `clock-walk-stopped`; from there the clock goes on at its usual pace."""
    _reject_reader(request)
    if not request.caller.is_operator:
        raise Forbidden("Only the operator stops the clock on its way.")
    if not await clock.stop_walk(request.db):
        raise NoClockWalk("The clock is not being moved.")


@operation(
    "POST",
    "/sandbox/reset",
    summary="Reset the sandbox",
    access=Permission.MANAGE_ORGANISATION,
)
async def reset_sandbox(request: Request) -> None:
    """Removes every organisation but the operator's, all assets, auctions and figures, and puts the clock back to the
    real time. The operator's people and sign-ins stay, and so does the audit log. Where a simulator runs, the same
    world begins anew, thirty days back."""
    if not request.caller.is_operator:
        raise Forbidden("Only the operator can reset the sandbox.")
    await store.lock_clock(request.db)
    await lock_recurring(request.db)
    gone = await store.reset_data(cast(Connection, request.db), request.caller.organisation_id)
    for organisation_id in gone:
        await notify_revoked(request.db, organisation_subject(organisation_id))
    settings = request.resources[Settings]
    if settings.simulator:
        await begin_world_again(request.db, settings.simulator_days)


def _reject_reader(request: Request) -> None:
    if all(permission.startswith("Read:") for permission in request.caller.permissions):
        raise Forbidden("Callers that may only read do not move the clock.")


def _show_clock(now: datetime) -> ClockView:
    return ClockView(now=now.replace(microsecond=now.microsecond // 1000 * 1000))


def _reject_malformed(pointer: str, what: str) -> BadRequest:
    return BadRequest(f"{pointer or 'The body'}: {what}.", errors=[FieldError(pointer, what)])
