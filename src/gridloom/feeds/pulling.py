"""One look at a source: ask, read, record, and note how it went, all in the transaction of its job."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import structlog
from prometheus_client import Counter

from gridloom.feeds import store
from gridloom.feeds.configuration import FeedConfiguration
from gridloom.feeds.model import FeedName, FeedRun, FeedRunStatus, PullTally, Reading, Topic, TopicState, topics_of
from gridloom.feeds.question import FeedFault, SourceUnavailable, UnexpectedAnswer
from gridloom.feeds.recording import emit_failed, emit_late, record_reading
from gridloom.feeds.schedule import OUTAGES_TOLERATED, newest_day, pause_after_faults
from gridloom.kernel.ids import uuid7
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import real_now
from gridloom.platform.database.pool import Database

log = structlog.get_logger("gridloom.feeds")

RUNS = Counter("gridloom_feed_runs_total", "Looks at sources of market data, by what came of them", ["feed", "outcome"])
MAX_REMARKS = 5


@dataclass(frozen=True, slots=True)
class Pull:
    """The outcome of a look."""

    run: FeedRun
    state: TopicState
    complete: frozenset[date]
    fault: FeedFault | None


async def pull_topic(
    db: Database,
    configuration: FeedConfiguration,
    topic: Topic,
    state: TopicState,
    window: Window,
    complete: frozenset[date],
    now: datetime,
) -> Pull:
    """A fault writes nothing but itself. `now` is the platform's time, by which values are first seen."""
    feed, tally = state.feed, PullTally()
    is_public = feed not in configuration.replaced
    new = changed = 0
    fault: FeedFault | None = None
    reading = Reading()
    try:
        reading = await _ask_source(configuration, feed, topic, window, tally)
        new, changed = await record_reading(db, feed, topic, reading, now)
    except FeedFault as found:
        fault = found
    run = FeedRun(
        id=uuid7(),
        feed=feed,
        at=now,
        status=FeedRunStatus.DONE if fault is None else FeedRunStatus.FAILED,
        asked=f"{topic.name}: {tally.asked}",
        window=window,
        http_status=tally.http_status,
        rows_new=new,
        rows_changed=changed,
        bytes=tally.bytes,
        seconds=round(tally.seconds, 3),
        fault=_describe_outcome(fault, reading),
        answer_hash=tally.hashes[-1] if tally.hashes else None,
    )
    after = await _note_outcome(db, topic, state, now, fault, is_public=is_public)
    RUNS.labels(feed, "done" if fault is None else "failed").inc()
    return Pull(run, after, complete | reading.complete_days, fault)


async def _ask_source(
    configuration: FeedConfiguration, feed: FeedName, topic: Topic, window: Window, tally: PullTally
) -> Reading:
    """An answer can be broken in more ways than its reader foresees; each of them is a fault of the source."""
    client, source = configuration.client, configuration.sources[feed]
    assert client is not None, "feeds are pulled by processes that are configured"
    try:
        answers = await client.converse(source.ask(topic, window), tally, reuses=feed not in configuration.replaced)
        return await asyncio.to_thread(source.read, topic, window, answers)
    except FeedFault:
        raise
    except Exception as fault:
        log.warning("feed.unreadable", feed=feed, topic=topic.name, exc_info=True)
        raise UnexpectedAnswer(f"{tally.asked}: the answer cannot be read: {type(fault).__name__}.") from fault


def _describe_outcome(fault: FeedFault | None, reading: Reading) -> str | None:
    if fault is not None:
        return fault.detail
    return " ".join(reading.remarks[:MAX_REMARKS])[:1000] or None


async def _note_outcome(
    db: Database, topic: Topic, state: TopicState, now: datetime, fault: FeedFault | None, *, is_public: bool
) -> TopicState:
    """An outage counts as a failure when it repeats, an answer that cannot be right at once. Each is told once."""
    if fault is None:
        if state.is_failed:
            log.info("feed.recovered", feed=state.feed, topic=topic.name)
        after = replace(state, asked_at=now, failures=0, fault=None, is_failed=False, not_before=None)
        await store.put_state(db, after)
        return after
    failures = state.failures + 1
    is_failed = state.is_failed or not fault.is_outage or failures >= OUTAGES_TOLERATED
    pause = pause_after_faults(failures)
    retry_after = fault.retry_after if isinstance(fault, SourceUnavailable) else None
    rest = max(pause if is_public else timedelta(), retry_after or timedelta())
    not_before = await real_now(db) + rest
    if retry_after is not None:
        await store.leave_alone(db, state.feed, [one.name for one in topics_of(state.feed)], not_before)
    after = replace(
        state, asked_at=now, failures=failures, fault=fault.detail, is_failed=is_failed, not_before=not_before
    )
    await store.put_state(db, after)
    if failures == 1 and not (fault.is_outage and await _is_known_down(db, state)):
        log.warning("feed.fault", feed=state.feed, topic=topic.name, fault=fault.detail)
    if is_failed and not state.is_failed:
        await emit_failed(db, state.feed, topic, fault.detail)
    return after


async def _is_known_down(db: Database, state: TopicState) -> bool:
    """Whether another topic of the source has a fault: one that cannot be reached is logged once, not by topic."""
    states = await store.read_states(db)
    return any(one.failures for one in states.values() if one.feed == state.feed and one.topic != state.topic)


async def note_lateness(
    db: Database, topic: Topic, state: TopicState, complete: Collection[date], now: datetime
) -> TopicState:
    """Whether the newest day that should be there is not; told once until it is."""
    day = newest_day(topic, now, preferred=False)
    is_late = day not in complete
    if is_late == state.is_late:
        return state
    after = replace(state, is_late=is_late)
    await store.put_state(db, after)
    if is_late:
        await emit_late(db, state.feed, topic, topic.is_late_from(day), str(day))
    return after


def find_enabled(configuration: FeedConfiguration, switches: dict[FeedName, bool]) -> frozenset[FeedName]:
    """Feeds that are switched on, by hand or else by the settings, and can be asked."""
    return frozenset(feed for feed in configuration.sources if switches.get(feed, feed in configuration.switched_on))
