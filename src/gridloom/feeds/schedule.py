"""When a source is asked for which days; pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from gridloom.feeds.model import FeedName, Topic, TopicState
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.kernel.window import Window

LOOK_BACK_DAYS: Final = 31
"""How far back gaps are filled without being asked to; older ones are for a run over a window."""
_POLLS: Final = (
    (timedelta(hours=1), timedelta(minutes=5)),
    (timedelta(hours=6), timedelta(minutes=15)),
    (timedelta(days=2), timedelta(hours=1)),
)
"""By how long the newest missing day has been due: how often it is asked for."""
_RARELY: Final = timedelta(hours=6)
FIRST_PAUSE: Final = timedelta(minutes=5)
MAX_PAUSE: Final = timedelta(hours=1)
OUTAGES_TOLERATED: Final = 3


@dataclass(frozen=True, slots=True)
class Look:
    """The window to ask for now, if any, and when to look again if it brings nothing."""

    window: Window | None
    next_at: datetime
    missing: tuple[date, ...]
    newest: date
    """The last day whose values could be there."""


def is_preferred(topic: Topic, feed: FeedName, enabled: Collection[FeedName]) -> bool:
    """Whether it is the first of the topic's sources that are switched on."""
    return feed == next((source for source in topic.sources if source in enabled), None)


def due_from(topic: Topic, day: date, *, preferred: bool) -> datetime:
    """From when on a source is asked for a day: the others than the preferred one once the day is late."""
    return topic.opens(day) if preferred else topic.is_late_from(day)


def newest_day(topic: Topic, now: datetime, *, preferred: bool) -> date:
    """The last day that could be asked for by now."""
    day = market_day_of(now) + timedelta(days=2)
    while due_from(topic, day, preferred=preferred) > now:
        day -= timedelta(days=1)
    return day


def days_back(newest: date) -> list[date]:
    return [newest - timedelta(days=back) for back in range(LOOK_BACK_DAYS - 1, -1, -1)]


def window_of_days(first: date, last: date) -> Window:
    return Window(market_day_window(first).start, market_day_window(last).end)


def plan_look(topic: Topic, state: TopicState, complete: Collection[date], now: datetime, *, preferred: bool) -> Look:
    """Missing days are asked for again and again, ever more rarely; complete ones once more for revisions."""
    newest = newest_day(topic, now, preferred=preferred)
    opening = due_from(topic, newest + timedelta(days=1), preferred=preferred)
    missing = tuple(day for day in days_back(newest) if day not in complete)
    asked_at = state.asked_at
    if missing:
        since = due_from(topic, missing[-1], preferred=preferred)
        due = since if asked_at is None else max(since, asked_at + _find_pause(state, now - since))
        late_at = topic.is_late_from(missing[-1])
        coming = [at for at in (opening, late_at) if at > now]
        if due > now:
            return Look(None, min(due, *coming), missing, newest)
        pause = _find_pause(state, now - since)
        # Older gaps with the first look for a day and then rarely: some sources are asked day by day.
        fills_gaps = asked_at is None or asked_at < since or now - asked_at >= _RARELY or state.failures > 0
        first = missing[0] if fills_gaps else missing[-1]
        return Look(window_of_days(first, newest), min(now + pause, *coming), missing, newest)
    revision = due_from(topic, newest, preferred=preferred) + topic.revised_after
    if asked_at is not None and asked_at < revision <= now:
        first = newest - timedelta(days=topic.revised_days - 1)
        return Look(window_of_days(first, newest), opening, missing, newest)
    awaits_revision = asked_at is not None and asked_at < revision and revision > now
    return Look(None, min(revision, opening) if awaits_revision else opening, missing, newest)


def _find_pause(state: TopicState, age: timedelta) -> timedelta:
    """Between two looks: by the age of what is missing, and longer after faults."""
    usual = next((pause for limit, pause in _POLLS if age < limit), _RARELY)
    return max(usual, pause_after_faults(state.failures)) if state.failures else usual


def pause_after_faults(failures: int) -> timedelta:
    """5, 10, 20, 40 minutes, then an hour."""
    doubled: timedelta = FIRST_PAUSE * 2 ** min(max(failures - 1, 0), 10)
    return min(doubled, MAX_PAUSE)
