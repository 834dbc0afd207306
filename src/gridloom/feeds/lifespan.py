"""The feeds' part of each worker: which sources it can ask, and what they lack, for readiness and metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg
from prometheus_client import Gauge

from gridloom.feeds import store
from gridloom.feeds.configuration import Feeds, configure
from gridloom.feeds.http_client import FeedClient
from gridloom.feeds.jobs import kind_of
from gridloom.feeds.model import topics_of
from gridloom.feeds.pulling import find_enabled
from gridloom.platform.health_checks import Check, HealthChecks
from gridloom.platform.http.application import Application
from gridloom.platform.jobs import store as job_store
from gridloom.platform.jobs.declare import KINDS
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.settings import Settings

IN_TROUBLE = Gauge(
    "gridloom_feed_in_trouble",
    "1 while a feed's series are late or its source fails, by feed and topic",
    ["feed", "topic"],
    multiprocess_mode="mostrecent",
)
MAX_DETAIL: Final = 600


@asynccontextmanager
async def lifespan(edge: Application, settings: Settings) -> AsyncIterator[None]:
    former, configuration = Feeds.current, configure(settings)
    configuration.client = FeedClient(edge.resources[UrlPolicy])
    Feeds.current = configuration
    edge.resources.add(configuration)
    edge.resources[HealthChecks].checks.append(check_feeds)
    # A restart with other settings looks at once, not when the feed would have looked before.
    for feed in find_enabled(configuration, await store.read_switches(edge.pool)):
        kind = KINDS[kind_of(feed)]
        assert kind.every is not None, "looks recur"
        await job_store.put_recurring(edge.pool, kind.name, kind.clock, kind.every)
        await store.look_soon(edge.pool, kind.name)
    try:
        yield
    finally:
        Feeds.current = former
        await configuration.client.close()


async def check_feeds(pool: asyncpg.Pool) -> Check:
    """Which series are late and which sources fail; never a reason not to serve."""
    configuration = Feeds.current
    enabled = find_enabled(configuration, await store.read_switches(pool))
    states = await store.read_states(pool) if enabled else {}
    troubles = []
    for feed in sorted(enabled):
        for topic in topics_of(feed):
            state = states.get((feed, topic.name))
            in_trouble = state is not None and (state.is_failed or state.is_late)
            IN_TROUBLE.labels(feed, topic.name).set(int(in_trouble))
            if state is None or not in_trouble:
                continue
            kind = "fails" if state.is_failed else "is late"
            troubles.append(f"{feed}: {topic.name} {kind}{f' ({state.fault})' if state.fault else ''}")
    if troubles:
        return Check(name="feeds", status="DEGRADED", detail="; ".join(troubles)[:MAX_DETAIL])
    return Check(name="feeds", status="OK", detail=f"{len(enabled)} switched on" if enabled else "none is switched on")
