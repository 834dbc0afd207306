"""How each feed stands, put together for its operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from gridloom.feeds import store
from gridloom.feeds.configuration import FeedConfiguration
from gridloom.feeds.model import TOPICS, FeedName, SeriesStatus, Topic, TopicState, topics_of
from gridloom.feeds.pulling import find_enabled
from gridloom.feeds.schedule import LOOK_BACK_DAYS, Look, is_preferred, plan_look
from gridloom.feeds.store import LastValue
from gridloom.feeds.views import FeedSeries, FeedView
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.platform.database.clock import platform_now_to_the_ms, real_now
from gridloom.platform.database.pool import Database


@dataclass(frozen=True, slots=True)
class _Situation:
    """All that is known of all feeds at an instant."""

    now: datetime
    real_now: datetime
    enabled: frozenset[FeedName]
    states: Mapping[tuple[FeedName, str], TopicState]
    days: Mapping[tuple[FeedName, str], frozenset[date]]
    last_values: Mapping[tuple[str, str], LastValue]
    standing: Mapping[str, str]


async def view_feeds(db: Database, configuration: FeedConfiguration) -> list[FeedView]:
    situation = await _read_situation(db, configuration)
    return [
        FeedView(
            name=feed,
            enabled=feed in situation.enabled,
            configured=feed in configuration.sources,
            series=[one for topic in topics_of(feed) for one in _view_topic(situation, feed, topic)],
        )
        for feed in FeedName
    ]


async def _read_situation(db: Database, configuration: FeedConfiguration) -> _Situation:
    now = await platform_now_to_the_ms(db)
    since = now - timedelta(days=2 * LOOK_BACK_DAYS)
    wanted = [(name, feed) for topic in TOPICS.values() for name in topic.series for feed in topic.sources]
    series = [name for topic in TOPICS.values() for name in topic.series]
    return _Situation(
        now,
        await real_now(db),
        find_enabled(configuration, await store.read_switches(db)),
        await store.read_states(db),
        await store.read_complete_days(db, market_day_of(since)),
        await store.read_last_values(db, wanted),
        await store.read_standing_sources(db, series, since),
    )


def _view_topic(situation: _Situation, feed: FeedName, topic: Topic) -> list[FeedSeries]:
    state = situation.states.get((feed, topic.name), TopicState(feed=feed, topic=topic.name))
    complete = situation.days.get((feed, topic.name), frozenset())
    preferred = is_preferred(topic, feed, situation.enabled)
    look = plan_look(topic, state, complete, situation.now, preferred=preferred)
    is_on = feed in situation.enabled
    status = _find_status(topic, state, look, situation.now) if is_on else SeriesStatus.OFF
    found = []
    for series in topic.series:
        last = situation.last_values.get((series, feed))
        found.append(
            FeedSeries(
                series=series,
                source=situation.standing.get(series),
                complete_until=market_day_window(max(complete)).end if complete else None,
                last_period=None if last is None else last.start,
                first_seen_at=None if last is None else last.first_seen_at,
                status=status,
                next_at=_find_next(situation, state, look) if is_on else None,
                detail=_describe_trouble(state, look),
            )
        )
    return found


def _find_status(topic: Topic, state: TopicState, look: Look, now: datetime) -> SeriesStatus:
    if state.is_failed:
        return SeriesStatus.FAILED
    if look.newest not in look.missing:
        return SeriesStatus.COMPLETE
    return SeriesStatus.LATE if state.is_late or now >= topic.is_late_from(look.newest) else SeriesStatus.WAITING


def _find_next(situation: _Situation, state: TopicState, look: Look) -> datetime:
    """On the platform's clock; a source that is left alone is so on the real one."""
    left = timedelta() if state.not_before is None else state.not_before - situation.real_now
    due = situation.now if look.window is not None else look.next_at
    return max(due, situation.now + left)


def _describe_trouble(state: TopicState, look: Look) -> str | None:
    if state.fault is not None:
        return state.fault
    if look.missing:
        days = f"{look.missing[0]}" if len(look.missing) == 1 else f"{len(look.missing)} days from {look.missing[0]} on"
        return f"Missing: {days}."
    return None
