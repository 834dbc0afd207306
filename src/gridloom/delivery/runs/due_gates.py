"""Gates as they pass: one status query for all zones, and a run only where something follows from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from gridloom.delivery.inputs.zone_status_store import (
    ZoneStatus,
    advance_final_until,
    read_clock_and_activity,
    read_planned_zones,
    read_zone_status,
)
from gridloom.delivery.performance.deviations import CHECK_JOB, read_measured_zones
from gridloom.delivery.runs.store import Writer, read_writers
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window, period_number, period_start
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, enqueue, job
from gridloom.virtual_assets.allocation import DISPATCH_JOB
from gridloom.virtual_assets.asset_lookup import MAX_LOCK_S
from gridloom.virtual_assets.rules import first_open_period

_ONE_MICROSECOND = timedelta(microseconds=1)
DUE_GATES_JOB: Final = "delivery.close-gates"
"""The job, one for all zones, at the last gate of each quarter-hour. Where nothing has changed it only notes that the
gate has passed: what was planned is final."""


async def find_last_idle_gate(db: Database, due: datetime, idle_until: datetime) -> datetime:
    """When a sandbox's clock leaps, the gates up to the next thing that happens are closed together: another job, a
    market day that comes into view, the gate of a period that will be cut. The one that is due is closed by itself
    where something has changed or was measured."""
    await wait_for_writers(db)
    span = planning_window(due)
    statuses = await read_zone_status(db, due, span.start, span.end, period_number(span.end))
    if any(status.needs_run for status in statuses) or await read_measured_zones(db, due):
        return due
    idle_until = min(idle_until, market_day_window(market_day_of(due)).end + PERIOD)
    for status in statuses:
        if status.first_misfit is not None:
            gate = period_start(status.first_misfit) - timedelta(seconds=status.gate_closure_s)
            idle_until = min(idle_until, gate + PERIOD)
    return due + max(0, (idle_until - due - _ONE_MICROSECOND) // PERIOD) * PERIOD


@job(DUE_GATES_JOB, clock="platform", postpone=find_last_idle_gate)
async def close_due_gates(run: JobRun) -> None:
    now, is_alive = await read_clock_and_activity(run.db)
    if not is_alive:
        await _enqueue_closures(run, [], now)
        return
    await wait_for_writers(run.db)
    # Before the status is read, so that a transaction that brings a zone into view waits and is not written over.
    expected = run.due + ((now - run.due) // PERIOD + 1) * PERIOD
    await enqueue(run.db, DUE_GATES_JOB, key="", due=expected, clock="platform")
    span = planning_window(now)
    statuses = await read_zone_status(run.db, now, span.start, span.end, period_number(span.end))
    due = next_gate_closure(statuses, now) if statuses else expected
    if due != expected:
        await enqueue(run.db, DUE_GATES_JOB, key="", due=due, clock="platform")
    closing = [status for status in statuses if is_planned(status, now) and _has_closed(status, now)]
    for status in closing:
        if status.needs_run:
            await enqueue(
                run.db, DISPATCH_JOB, key=status.delivery_zone, due=run.due, clock="platform", keep_earlier_due=True
            )
    passed = [status for status in closing if not status.needs_run]
    if passed:
        await advance_final_until(run.db, passed, [first_open_period(now, status.gate_closure_s) for status in passed])
    for zone in await read_measured_zones(run.db, now):
        await enqueue(run.db, CHECK_JOB, key=zone, due=now, clock="platform")
    await _enqueue_closures(run, statuses, now)


async def _enqueue_closures(run: JobRun, statuses: Sequence[ZoneStatus], now: datetime) -> None:
    """For zones with a plan whose virtual assets have all ended: what was passed over of their last periods becomes
    final, and their batteries are released."""
    planned = {status.delivery_zone for status in statuses if is_planned(status, now)}
    for zone in await read_planned_zones(run.db):
        if zone not in planned:
            await enqueue(run.db, DISPATCH_JOB, key=zone, due=run.due, clock="platform", keep_earlier_due=True)


def is_planned(status: ZoneStatus, now: datetime) -> bool:
    """Whether a virtual asset lives in the zone, today or tomorrow."""
    return status.next_asset_start < planning_window(now).end


def planning_window(now: datetime) -> Window:
    """The market days that plans are made for: this one and the next."""
    day = market_day_of(now)
    return Window(market_day_window(day).start, market_day_window(day + timedelta(days=1)).end)


def next_gate_closure(statuses: Sequence[ZoneStatus], now: datetime) -> datetime:
    """When the next gate of any of the zones closes, or comes into view."""
    end = planning_window(now).end
    return min(
        _next_gate(status, now)
        if status.next_asset_start < end
        else market_day_window(market_day_of(status.next_asset_start) - timedelta(days=1)).start
        for status in statuses
    )


def _next_gate(status: ZoneStatus, now: datetime) -> datetime:
    return period_start(first_open_period(now, status.gate_closure_s)) - timedelta(seconds=status.gate_closure_s)


def _has_closed(status: ZoneStatus, now: datetime) -> bool:
    """Whether a gate has closed that no run has made final."""
    return status.final_until is None or first_open_period(now, status.gate_closure_s) > status.final_until


log = structlog.get_logger()

CUTOFF_TIMEOUT_S: Final = MAX_LOCK_S + 5.0
"""A transaction that locks virtual assets for longer has no change left that was in time: it hangs, or is not the
platform's. No gate is missed for it."""
MIN_POLL_S: Final = 0.002
MAX_POLL_S: Final = 0.1

_timed_out_writers: set[Writer] = set()
"""Writers that this process has waited for in vain: the next gates do not wait for them again."""


async def wait_for_writers(db: Database) -> None:
    """Wait until all transactions that are changing virtual assets have ended; later ones are not waited for.

    To be called after the clock was read and before anything is locked: then all that was let through a gate that had
    not closed by that clock is seen by what is read next.
    """
    found = await read_writers(db)
    _timed_out_writers.intersection_update(found)
    waiting = found - _timed_out_writers
    until_s, pause_s = time.monotonic() + CUTOFF_TIMEOUT_S, MIN_POLL_S
    while waiting and time.monotonic() < until_s:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_POLL_S)
        waiting &= await read_writers(db)
    if waiting:
        _timed_out_writers.update(waiting)
        log.warning("delivery.cutoff_timeout", pids=sorted(pid for pid, _ in waiting), waited_s=CUTOFF_TIMEOUT_S)
