"""Looking at sources when something may be there, and filling windows that an operator asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from gridloom.feeds import store
from gridloom.feeds.configuration import Feeds
from gridloom.feeds.model import FeedName, FeedRun, FeedRunStatus, Topic, TopicState, topics_of
from gridloom.feeds.pulling import Pull, find_enabled, note_lateness, pull_topic
from gridloom.feeds.question import FeedFault, SourceUnavailable
from gridloom.feeds.schedule import LOOK_BACK_DAYS, Look, days_back, is_preferred, newest_day, plan_look, window_of_days
from gridloom.kernel.market_time import market_day_of, market_days_in
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import platform_now, platform_now_to_the_ms, real_now
from gridloom.platform.database.pool import Database
from gridloom.platform.jobs import JobRun, enqueue, job

LIMIT: Final = timedelta(minutes=5)
WINDOW_RUN: Final = "feeds.run"
DAYS_AT_ONCE: Final = 31
PART_PAUSE: Final = timedelta(minutes=1)
"""Between two parts of a long window: public services are asked a little at a time."""
MAX_ATTEMPTS: Final = 5
SHORTEST_WAIT: Final = timedelta(minutes=1)


def kind_of(feed: FeedName) -> str:
    return f"feeds.pull-{feed}"


async def wake(db: Database, feed: FeedName) -> None:
    """Have a feed look at once."""
    await enqueue(db, kind_of(feed), key="", due=await platform_now(db), clock="platform")


# --- looks of its own accord -----------------------------------------------------------------------------------------


async def pull_feed(run: JobRun, feed: FeedName) -> None:
    """Ask for one topic of the feed whose time has come, and come back when the next one's has.

    One at a time, so that a clock that is walked forward never waits for more than one of them.
    """
    configuration = Feeds.current
    now = await platform_now_to_the_ms(run.db)
    enabled = find_enabled(configuration, await store.read_switches(run.db))
    if feed not in enabled or configuration.client is None:
        return  # switching it on wakes it
    states = await store.read_states(run.db)
    days = await store.read_complete_days(run.db, market_day_of(now) - timedelta(days=2 * LOOK_BACK_DAYS))
    coming, has_asked = [], False
    for topic in topics_of(feed):
        state = states.get((feed, topic.name), TopicState(feed=feed, topic=topic.name))
        complete = days.get((feed, topic.name), frozenset())
        preferred = is_preferred(topic, feed, enabled)
        look = await _plan_topic(run.db, topic, state, complete, now, preferred=preferred)
        if look.window is not None and not has_asked:
            has_asked = True
            pull = await pull_topic(run.db, configuration, topic, state, look.window, complete, now)
            await store.put_run(run.db, pull.run)
            state, complete = pull.state, pull.complete
            look = await _plan_topic(run.db, topic, state, complete, now, preferred=preferred)
        coming.append(now if look.window is not None else max(look.next_at, now + SHORTEST_WAIT))
        if preferred and look.window is None:
            await note_lateness(run.db, topic, state, complete, now)
    await enqueue(run.db, kind_of(feed), key="", due=min(coming), clock="platform")


async def _plan_topic(
    db: Database,
    topic: Topic,
    state: TopicState,
    complete: frozenset[date],
    now: datetime,
    *,
    preferred: bool,
) -> Look:
    """The next look; a source that is left alone is so on the real clock, whatever the platform's does."""
    look = plan_look(topic, state, complete, now, preferred=preferred)
    if look.window is None or state.not_before is None:
        return look
    left = state.not_before - await real_now(db)
    return replace(look, window=None, next_at=min(look.next_at, now + left)) if left > timedelta() else look


Handler = Callable[[JobRun], Awaitable[None]]


def _declare_pull(feed: FeedName) -> Handler:
    async def pull(run: JobRun) -> None:
        await pull_feed(run, feed)

    pull.__name__ = pull.__qualname__ = f"pull_{feed.name.lower()}"
    return job(kind_of(feed), every=timedelta(days=1), clock="platform", bulk=True, limit=LIMIT)(pull)


pull_smard = _declare_pull(FeedName.SMARD)
pull_energy_charts = _declare_pull(FeedName.ENERGY_CHARTS)
pull_entsoe = _declare_pull(FeedName.ENTSOE)
pull_regelleistung = _declare_pull(FeedName.REGELLEISTUNG)
pull_netztransparenz = _declare_pull(FeedName.NETZTRANSPARENZ)


# --- windows that an operator asks for ------------------------------------------------------------------------------


async def queue_run(db: Database, run: FeedRun, *, is_window: bool) -> None:
    """Fill its window part by part; without one that was asked for, ask for what could be new."""
    payload = {"feed": str(run.feed), "part": 0, "attempt": 1, "hasFailed": False, "isWindow": is_window}
    await enqueue(db, WINDOW_RUN, key=str(run.id), due=await real_now(db), payload=payload)


@job(WINDOW_RUN, bulk=True, limit=LIMIT)
async def run_window(run: JobRun) -> None:
    """One part of it, in one transaction; it queues itself again until all are done."""
    feed, configuration = FeedName(run.payload["feed"]), Feeds.current
    found = await store.read_run(run.db, feed, UUID(run.key))
    if found is None or found.status in (FeedRunStatus.DONE, FeedRunStatus.FAILED):
        return
    if configuration.client is None or feed not in configuration.sources:
        await store.put_run(
            run.db, replace(found, status=FeedRunStatus.FAILED, fault="The feed is not configured here.")
        )
        return
    now = await platform_now_to_the_ms(run.db)
    parts = await _list_parts(run.db, feed, found.window if run.payload["isWindow"] else None, now)
    position = int(run.payload["part"])
    topic, window = parts[position]
    states = await store.read_states(run.db)
    state = states.get((feed, topic.name), TopicState(feed=feed, topic=topic.name))
    pull = await pull_topic(run.db, configuration, topic, state, window, frozenset(), now)
    is_replaced = feed in configuration.replaced
    if pull.fault is not None and pull.fault.is_outage and run.payload["isWindow"]:
        attempt = int(run.payload["attempt"])
        if attempt < MAX_ATTEMPTS:
            await store.put_run(run.db, _add_pull(found, pull, found.progress, FeedRunStatus.RUNNING))
            pause = _find_retry_pause(pull.fault, is_replaced=is_replaced)
            await _queue_part(run, pause, attempt=attempt + 1)
            return
    has_failed = bool(run.payload["hasFailed"]) or pull.fault is not None
    if position + 1 == len(parts):
        await store.put_run(
            run.db, _add_pull(found, pull, 1.0, FeedRunStatus.FAILED if has_failed else FeedRunStatus.DONE)
        )
        return
    await store.put_run(run.db, _add_pull(found, pull, (position + 1) / len(parts), FeedRunStatus.RUNNING))
    goes_on = is_replaced or parts[position + 1][1] == window or not run.payload["isWindow"]
    pause = timedelta() if goes_on else PART_PAUSE
    await _queue_part(run, pause, part=position + 1, attempt=1, hasFailed=has_failed)


async def _queue_part(run: JobRun, pause: timedelta, **changes: object) -> None:
    due = await real_now(run.db) + pause
    await enqueue(run.db, WINDOW_RUN, key=run.key, due=due, payload={**run.payload, **changes})


def _find_retry_pause(fault: FeedFault, *, is_replaced: bool) -> timedelta:
    asked = fault.retry_after if isinstance(fault, SourceUnavailable) else None
    return asked or (timedelta(seconds=1) if is_replaced else PART_PAUSE)


async def _list_parts(db: Database, feed: FeedName, window: Window | None, now: datetime) -> list[tuple[Topic, Window]]:
    """Of a window each month of each topic; without one what could be new. Nothing that lies beyond what is out."""
    newest = {topic: newest_day(topic, now, preferred=True) for topic in topics_of(feed)}
    if window is not None:
        days = list(market_days_in(window))
        months = [days[start : start + DAYS_AT_ONCE] for start in range(0, len(days), DAYS_AT_ONCE)]
        found = [
            (topic, window_of_days(month[0], min(month[-1], last)))
            for month in months
            for topic, last in newest.items()
            if month[0] <= last
        ]
        return found or [(topic, window_of_days(last, last)) for topic, last in newest.items()]
    complete = await store.read_complete_days(db, market_day_of(now) - timedelta(days=2 * LOOK_BACK_DAYS))
    parts = []
    for topic, last in newest.items():
        missing = [day for day in days_back(last) if day not in complete.get((feed, topic.name), frozenset())]
        parts.append((topic, window_of_days(missing[0] if missing else last, last)))
    return parts


def _add_pull(run: FeedRun, pull: Pull, progress: float, status: FeedRunStatus) -> FeedRun:
    """The cost and the rows of a run so far; of its faults the last is shown."""
    return replace(
        run,
        status=status,
        progress=progress,
        asked=pull.run.asked,
        http_status=pull.run.http_status,
        rows_new=run.rows_new + pull.run.rows_new,
        rows_changed=run.rows_changed + pull.run.rows_changed,
        bytes=run.bytes + pull.run.bytes,
        seconds=round(run.seconds + pull.run.seconds, 3),
        fault=pull.run.fault or run.fault,
        answer_hash=pull.run.answer_hash,
    )
