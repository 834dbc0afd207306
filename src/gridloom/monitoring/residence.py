"""What monitoring keeps in each worker: the hub of live streams, a clock, and how long telemetry is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from gridloom.database.listen import Listener
from gridloom.edge.dispatch import Edge
from gridloom.kernel.shares import Share
from gridloom.monitoring.dictionaries import Dictionaries
from gridloom.monitoring.folding.jobs import Retention
from gridloom.monitoring.quota import Quotas, read_telemetry_use
from gridloom.monitoring.reading.stream import TelemetryHub
from gridloom.monitoring.receiving.reception import Reception
from gridloom.settings import Settings


@asynccontextmanager
async def reside(edge: Edge, settings: Settings) -> AsyncIterator[None]:
    hub = TelemetryHub()
    hub.attach(edge.resources[Listener])
    edge.resources.add(hub)
    edge.resources.add(Reception())
    edge.resources.add(Dictionaries())
    edge.resources.add(Quotas())
    edge.shares.add_meter(Share.STORED_TELEMETRY, read_telemetry_use)
    days = settings.monitoring_retention_days
    Retention.keep = None if days is None else timedelta(days=days)
    yield
