"""Background tasks of each process, and their health checks."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial

import asyncpg

from gridloom.kernel.shares import Share
from gridloom.platform.database.listener import Listener
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.events.hub import EventHub
from gridloom.platform.events.sequencer import Sequencer
from gridloom.platform.events.stream_slots import StreamSlots
from gridloom.platform.health_checks import Check, HealthChecks
from gridloom.platform.http.application import Application
from gridloom.platform.identity.store.revocations import CHANNEL as RIGHTS_CHANGED
from gridloom.platform.jobs import JobRunner
from gridloom.platform.jobs import store as job_store
from gridloom.platform.jobs.queue import read_job_use
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.platform.webhooks import store as webhook_store
from gridloom.platform.webhooks.dispatcher import Dispatcher
from gridloom.platform.webhooks.http_client import WebhookClient
from gridloom.platform.worker.connection_reaper import MAX_PER_ADDRESS, ConnectionReaper
from gridloom.platform.worker.malloc import give_memory_back_for_ever
from gridloom.platform.worker.signals import END_STREAMS
from gridloom.settings import Settings

Lifespan = Callable[[Application, Settings], AbstractAsyncContextManager[None]]

LATE_S = 60.0
"""A job that has waited this long for a runner means that the runners cannot keep up."""
SHOWN_FOR = timedelta(days=7)
"""How long readiness mentions a webhook that was disabled because it could not be delivered."""


@asynccontextmanager
async def end_streams_on_signal(edge: Application, settings: Settings) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    loop.add_signal_handler(END_STREAMS, edge.stopping.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(END_STREAMS)


@asynccontextmanager
async def close_idle_connections(edge: Application, settings: Settings) -> AsyncIterator[None]:
    if sys.platform != "linux":  # elsewhere the descriptors of a process cannot be listed
        yield
        return
    # Behind a proxy all clients have its address, and how many connections each may hold is for the proxy to limit.
    max_per_address = None if settings.is_behind_proxy else MAX_PER_ADDRESS
    reaper = ConnectionReaper(settings.port, edge.connections, max_per_address=max_per_address)
    watching = asyncio.create_task(reaper.watch(), name="connections")
    try:
        yield
    finally:
        watching.cancel()


@asynccontextmanager
async def give_memory_back(edge: Application, settings: Settings) -> AsyncIterator[None]:
    giving = asyncio.create_task(give_memory_back_for_ever(), name="memory")
    try:
        yield
    finally:
        giving.cancel()


@asynccontextmanager
async def run_jobs(edge: Application, settings: Settings) -> AsyncIterator[None]:
    limits = settings.shares
    # One slot more than one organisation fills, on the workers of this replica together.
    slots = -(-(limits.jobs_running + 1) // settings.workers)
    runner = JobRunner(edge.pool, organisation_slots=slots, max_running=limits.jobs_running)
    edge.shares.add_meter(Share.JOBS, partial(read_job_use, limits))
    runner.attach(edge.resources[Listener])

    async def check_job_runner(pool: asyncpg.Pool) -> Check:
        if not runner.alive():
            return Check(name="job runner", status="DOWN", detail="has stopped")
        health = await job_store.health(pool)
        detail = f"{health.dead} dead, {health.failing} failing, {health.overdue_s:.0f} s late"
        if health.troubled_kinds:
            kinds = ", ".join(health.troubled_kinds)
            detail += f"; {health.dead + health.stuck} in need of attention ({kinds}): `gridloom jobs` says why"
        is_well = not health.troubled_kinds and health.overdue_s < LATE_S
        return Check(name="job runner", status="OK" if is_well else "DEGRADED", detail=detail)

    edge.resources[HealthChecks].checks.append(check_job_runner)
    await runner.start()
    try:
        yield
    finally:
        await runner.stop()


@asynccontextmanager
async def sequence_events(edge: Application, settings: Settings) -> AsyncIterator[None]:
    sequencer = Sequencer(edge.pool)

    async def check_event_sequencer(pool: asyncpg.Pool) -> Check:
        if not sequencer.alive():
            return Check(name="event sequencer", status="DOWN", detail="has stopped")
        return Check(name="event sequencer", status="OK", detail="running")

    edge.resources[HealthChecks].checks.append(check_event_sequencer)
    await sequencer.start()
    try:
        yield
    finally:
        await sequencer.stop()


@asynccontextmanager
async def stream_events(edge: Application, settings: Settings) -> AsyncIterator[None]:
    hub, listener = EventHub(edge.pool), edge.resources[Listener]
    hub.attach(listener)
    listener.subscribe(RIGHTS_CHANGED, lambda _payload: hub.rights_changed())
    edge.resources.add(hub)
    slots = StreamSlots(edge.pool, settings.shares.event_streams)
    edge.resources.add(slots)
    edge.shares.add_meter(Share.EVENT_STREAMS, slots.read_use)
    slots.start()
    try:
        yield
    finally:
        await slots.stop()


@asynccontextmanager
async def deliver_webhooks(edge: Application, settings: Settings) -> AsyncIterator[None]:
    rules, seal = edge.resources[UrlPolicy], edge.resources[Sealing].webhooks
    caller = WebhookClient(rules)
    dispatcher = Dispatcher(edge.pool, caller, seal)
    dispatcher.attach(edge.resources[Listener])

    async def check_webhooks(pool: asyncpg.Pool) -> Check:
        if not dispatcher.alive():
            return Check(name="webhooks", status="DOWN", detail="the dispatcher has stopped")
        disabled = await webhook_store.disabled_since(pool, SHOWN_FOR)
        detail = f"{len(disabled)} disabled in the last week after failing for three days"
        return Check(name="webhooks", status="DEGRADED" if disabled else "OK", detail=detail)

    edge.resources[HealthChecks].checks.append(check_webhooks)
    await dispatcher.start()
    try:
        yield
    finally:
        await dispatcher.stop()
        await caller.close()
