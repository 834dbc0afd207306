"""Writing what a source says: its own values, the reference prices where it prevails, and differences to others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Final
from uuid import UUID

from gridloom.feeds import store
from gridloom.feeds.model import FeedName, Reading, Topic
from gridloom.feeds.store import ValueDifference
from gridloom.kernel.market_time import format_instant
from gridloom.kernel.permission import Permission
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import Database
from gridloom.platform.events.model import NewEvent
from gridloom.platform.events.outbox import record_events
from gridloom.reference_prices.model import PublishedPrice
from gridloom.reference_prices.routes import PRICES_CHANGED
from gridloom.reference_prices.store import lock_prices_for_change, put_prices

PLATFORM: Final = UUID(int=0)
"""Who records what no caller sends."""
TOLERANCE: Final = Decimal("0.01")


async def record_reading(
    db: Database, feed: FeedName, topic: Topic, reading: Reading, now: datetime
) -> tuple[int, int]:
    """How many reference prices were new and how many replaced; a source that does not prevail is compared only."""
    if not reading.prices and not reading.complete_days:
        return 0, 0
    await lock_prices_for_change(db)
    said = await store.put_values(db, feed, reading.prices, now)
    await store.put_complete_days(db, feed, topic.name, sorted(reading.complete_days), now)
    inserted, replaced = await put_prices(db, reading.prices, PLATFORM, source=feed)
    if inserted or replaced:
        await PRICES_CHANGED.get()(db, reading.prices)
    differences = await store.find_differences(db, feed, said, TOLERANCE) if said else []
    if differences:
        await emit_differences(db, feed, differences)
    return inserted, replaced


async def restore_values(db: Database, withdrawn: Sequence[PublishedPrice]) -> int:
    """Record again what sources say where prices by hand stood; how many."""
    count = 0
    for series, group in groupby(sorted(withdrawn, key=lambda one: (one.series, one.start)), lambda one: one.series):
        prices = list(group)
        window = Window(prices[0].start, max(one.end for one in prices))
        by_source = await store.read_best_values(db, series, window)
        for source, values in by_source.items():
            inserted, replaced = await put_prices(
                db, [price for price, _ in values], PLATFORM, source=source, first_seen_at=[seen for _, seen in values]
            )
            count += inserted + replaced
    return count


async def emit_differences(db: Database, feed: FeedName, differences: Sequence[ValueDifference]) -> None:
    """One event for each series and other source: where it begins, how often and by how much at most."""
    events = []
    operators = await store.read_operators(db)
    for (series, other), group in groupby(differences, lambda one: (one.series, one.other_source)):
        found = list(group)
        largest = max(found, key=lambda one: abs(one.price - one.other_price))
        data = {
            "feed": str(feed),
            "otherFeed": other,
            "series": series,
            "start": format_instant(found[0].start),
            "periods": len(found),
            "difference": float(abs(largest.price - largest.other_price)),
        }
        events += [_make_event(operator, "feed.differs", feed, data) for operator in operators]
    await record_events(db, events)


async def emit_late(db: Database, feed: FeedName, topic: Topic, late_since: datetime, day: str) -> None:
    data = {
        "feed": str(feed),
        "series": list(topic.series),
        "deliveryDay": day,
        "lateSince": format_instant(late_since),
    }
    await _emit_event(db, "feed.late", feed, data)


async def emit_failed(db: Database, feed: FeedName, topic: Topic, fault: str) -> None:
    await _emit_event(db, "feed.failed", feed, {"feed": str(feed), "series": list(topic.series), "fault": fault})


async def _emit_event(db: Database, type: str, feed: FeedName, data: Mapping[str, object]) -> None:
    operators = await store.read_operators(db)
    events = [_make_event(operator, type, feed, data) for operator in operators]
    if events:
        await record_events(db, events)


def _make_event(organisation_id: UUID, type: str, feed: FeedName, data: Mapping[str, object]) -> NewEvent:
    return NewEvent(
        type=type,
        organisation_id=organisation_id,
        subject=f"feeds/{feed}",
        permission=Permission.CREATE_SETTLEMENTS,
        data=data,
    )
