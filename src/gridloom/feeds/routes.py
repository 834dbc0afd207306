"""Feeds over HTTP, for the operator: how they stand, switching them, looking now, filling windows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from gridloom.feeds import jobs, store
from gridloom.feeds.configuration import FeedConfiguration
from gridloom.feeds.listing import view_feeds
from gridloom.feeds.model import FeedName, FeedRun, FeedRunStatus, topics_of
from gridloom.feeds.schedule import newest_day, window_of_days
from gridloom.feeds.views import FeedRunView, FeedSwitch, FeedView, NewFeedRun
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import market_day_of, market_day_window
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import BadRequest, Conflict, NotFound, Unprocessable
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import platform_now_to_the_ms
from gridloom.platform.http import Page, Paging, Request, Response, operation
from gridloom.platform.http.fields import view_of

TAG = "Feeds"
ACCESS = Permission.CREATE_SETTLEMENTS
MAX_DAYS: Final = 366


class NotConfigured(Conflict, title="The feed is not configured"):
    """The source needs credentials that this deployment does not have. `setting` names the one that is missing."""


class FeedWindowNotPossible(Unprocessable, title="The window cannot be filled"):
    """A window that is filled has at most 366 days, and its end is past: what is to come is pulled when it is out."""


@operation("GET", "/feeds", summary="List the feeds and how they stand", access=ACCESS)
async def list_feeds(request: Request) -> list[FeedView]:
    """Each series of each source: until when it is complete, whose the newest recorded price is, and the next look."""
    return await view_feeds(request.db, request.resources[FeedConfiguration])


@operation("PUT", "/feeds/{name}", summary="Switch a feed on or off", access=ACCESS, problems=(NotFound, NotConfigured))
async def switch_feed(request: Request, name: str, body: FeedSwitch) -> FeedView:
    """From now on, whatever the settings say; a feed that is switched on looks at once."""
    feed, configuration = _find_feed(name), request.resources[FeedConfiguration]
    if body.enabled:
        _demand_configured(configuration, feed)
    await store.put_switch(request.db, feed, body.enabled)
    if body.enabled:
        await jobs.wake(request.db, feed)
    request.audit_details.update(feed=str(feed), enabled=body.enabled)
    return next(view for view in await view_feeds(request.db, configuration) if view.name == feed)


@operation(
    "POST",
    "/feeds/{name}/runs",
    summary="Look now, or fill a window",
    access=ACCESS,
    status=202,
    problems=(NotFound, NotConfigured, FeedWindowNotPossible),
)
async def run_feed(request: Request, name: str, body: NewFeedRun) -> Response[FeedRunView]:
    """A job asks the source, month by month; values that are recorded already stay as they are."""
    feed = _find_feed(name)
    _demand_configured(request.resources[FeedConfiguration], feed)
    now = await platform_now_to_the_ms(request.db)
    window = _find_window(now, feed, body)
    run = FeedRun(
        id=uuid7(),
        feed=feed,
        at=now,
        status=FeedRunStatus.QUEUED,
        asked="",
        window=window,
        by_hand=True,
        progress=0.0,
    )
    await store.put_run(request.db, run)
    await jobs.queue_run(request.db, run, is_window=body.start is not None)
    request.audit_details.update(feed=str(feed), runID=str(run.id))
    return Response(_view_run(run), headers={"Location": f"/feeds/{feed}/runs", "Retry-After": "1"})


@operation("GET", "/feeds/{name}/runs", summary="List the last runs of a feed", access=ACCESS, problems=(NotFound,))
async def list_feed_runs(request: Request, name: str, query: Paging) -> Page[FeedRunView]:
    """The newest first; the last hundred are kept."""
    runs = await store.list_runs(request.db, _find_feed(name), query.after(UUID), query.limit + 1)
    page = query.page(runs, lambda run: run.id)
    return Page([_view_run(run) for run in page.items], page.next_cursor)


def _find_feed(name: str) -> FeedName:
    try:
        return FeedName(name)
    except ValueError:
        raise NotFound(f"There is no feed of this name. Feeds are {', '.join(FeedName)}.") from None


def _demand_configured(configuration: FeedConfiguration, feed: FeedName) -> None:
    setting = configuration.missing.get(feed)
    if setting is not None:
        raise NotConfigured(f"{feed} needs {setting}, or {setting}_FILE.", setting=setting)


def _find_window(now: datetime, feed: FeedName, body: NewFeedRun) -> Window:
    newest = max(newest_day(topic, now, preferred=True) for topic in topics_of(feed))
    if body.start is None:
        if body.end is not None:
            raise BadRequest.at("/start", "A window needs its start.", "is missing")
        return window_of_days(newest, newest)
    end = body.end or market_day_window(newest).end
    if body.start >= end:
        raise BadRequest.at("/end", "The window ends before it starts.", "is not after the start")
    if end - body.start > timedelta(days=MAX_DAYS, hours=1):
        raise FeedWindowNotPossible.at("/end", f"A window has at most {MAX_DAYS} days.", "is too far from the start")
    if body.start >= market_day_window(newest).end or end > market_day_window(market_day_of(now)).end + timedelta(
        days=1
    ):
        raise FeedWindowNotPossible.at("/end", f"Nothing is out yet for days after {newest}.", "is not past")
    return Window(body.start, end)


def _view_run(run: FeedRun) -> FeedRunView:
    return view_of(FeedRunView, run, start=run.window.start, end=run.window.end, fault=run.fault)
