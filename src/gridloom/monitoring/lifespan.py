"""Monitoring's part of each worker: the hub of live streams, a clock, and the retention of telemetry."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from gridloom.kernel.shares import Share
from gridloom.monitoring.compaction.jobs import Retention
from gridloom.monitoring.ingest.entry import open_entry
from gridloom.monitoring.ingest.parsing import CachedClock
from gridloom.monitoring.query.stream import TelemetryHub
from gridloom.monitoring.quota import Quotas, read_telemetry_use
from gridloom.monitoring.store.heads import SignalIdCache
from gridloom.platform.database.listener import Listener
from gridloom.platform.http.application import Application
from gridloom.settings import Settings


@asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    hub = TelemetryHub()
    hub.attach(edge.resources[Listener])
    for resource in (hub, CachedClock(), SignalIdCache(), Quotas()):
        edge.resources.add(resource)
    edge.shares.add_meter(Share.STORED_TELEMETRY, read_telemetry_use)
    days = settings.monitoring_retention_days
    Retention.keep = None if days is None else timedelta(days=days)
    entry = await open_entry(edge.pool, settings.telemetry_database_url, settings.pool_size)
    edge.resources.add(entry)
    yield
    if entry.pool is not None:
        await entry.pool.close()
