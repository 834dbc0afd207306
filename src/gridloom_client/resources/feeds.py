"""Market data that the platform pulls by itself, for its operator."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from datetime import datetime

from gridloom_client.answers import Feed, FeedRun
from gridloom_client.literals import FeedName
from gridloom_client.operations import M, Resource, collection, operation


class Feeds(Resource[M]):
    """Public sources of prices and forecasts."""

    @collection("/feeds")
    def list(self) -> Feed: ...

    @operation("PUT", "/feeds/{name}")
    def switch(self, name: FeedName, *, enabled: bool) -> Feed: ...

    @operation("POST", "/feeds/{name}/runs")
    def run(self, name: FeedName, *, start: datetime | None = None, end: datetime | None = None) -> FeedRun:
        """Look now or, with a start, fill a window of at most 366 days; a job does it."""

    @collection("/feeds/{name}/runs")
    def runs(self, name: FeedName, *, page_size: int | None = None) -> FeedRun:
        """The last hundred, the newest first."""
