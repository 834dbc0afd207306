"""Gates as they pass: one look at all zones, and a run only where something follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from gridloom.delivery.performance.deviations import CHECK, read_measured_zones
from gridloom.delivery.runs.fence import wait_for_writers
from gridloom.delivery.situation.look_store import Look, look_at_zones, pass_gates, read_now
from gridloom.jobs import JobRun, enqueue, job
from gridloom.kernel.market_time import PERIOD, market_day_of, market_day_window, period_number, period_start
from gridloom.kernel.window import Window
from gridloom.virtual_assets.backing.allocation import DISPATCH
from gridloom.virtual_assets.schedule.rules import first_open_period

LEAST = timedelta(microseconds=1)
LOOK: Final = "delivery.look"
"""The job, one for all zones, at the last gate of each quarter-hour. Where nothing has changed it only notes that the
gate has passed: what was planned is final. When a sandbox's clock leaps, the gates up to the next thing that happens
are looked at together: nothing can change between them."""


@job(LOOK, clock="platform")
async def look_at_gates(run: JobRun) -> None:
    now, is_alive = await read_now(run.db)
    if not is_alive:
        return
    await wait_for_writers(run.db)
    # Before the look, so that whoever brings a zone into view meanwhile waits for it, and is not written over.
    expected = run.due + PERIOD
    await enqueue(run.db, LOOK, key="", due=expected, clock="platform")
    span = planned_span(now)
    looks = await look_at_zones(run.db, now, span.start, span.end, period_number(span.end))
    due = _next_look_of(run, looks, now) if looks else expected
    if due != expected:
        await enqueue(run.db, LOOK, key="", due=due, clock="platform")
    closing = [look for look in looks if look.next_start < span.end and _has_closed(look, now)]
    for look in closing:
        if look.has_news:
            await enqueue(run.db, DISPATCH, key=look.delivery_zone, due=run.due, clock="platform", at_latest=True)
    passed = [look for look in closing if not look.has_news]
    if passed:
        await pass_gates(run.db, passed, [first_open_period(now, look.gate_closure_s) for look in passed])
    for zone in await read_measured_zones(run.db, now):
        await enqueue(run.db, CHECK, key=zone, due=now, clock="platform")


def planned_span(now: datetime) -> Window:
    """The market days that plans are made for: this one and the next."""
    day = market_day_of(now)
    return Window(market_day_window(day).start, market_day_window(day + timedelta(days=1)).end)


def next_look(looks: Sequence[Look], now: datetime) -> datetime:
    """When the next gate of any of the zones closes, or comes into view."""
    end = planned_span(now).end
    return min(
        _next_gate(look, now)
        if look.next_start < end
        else market_day_window(market_day_of(look.next_start) - timedelta(days=1)).start
        for look in looks
    )


def _next_look_of(run: JobRun, looks: Sequence[Look], now: datetime) -> datetime:
    """The next gate or, where nothing happens until then, the last before something does: another job, a market day
    that comes into view, the gate of a period that will be cut."""
    due = next_look(looks, now)
    if run.quiet_until is None or any(look.has_news for look in looks):
        return due
    quiet_until = min(run.quiet_until, market_day_window(market_day_of(now)).end + PERIOD)
    for look in looks:
        if look.first_misfit is not None:
            gate = period_start(look.first_misfit) - timedelta(seconds=look.gate_closure_s)
            quiet_until = min(quiet_until, gate + PERIOD)
    return due + max(0, (quiet_until - due - LEAST) // PERIOD) * PERIOD


def _next_gate(look: Look, now: datetime) -> datetime:
    return period_start(first_open_period(now, look.gate_closure_s)) - timedelta(seconds=look.gate_closure_s)


def _has_closed(look: Look, now: datetime) -> bool:
    """Whether a gate has closed that nobody has looked at."""
    return look.settled_until is None or first_open_period(now, look.gate_closure_s) > look.settled_until
