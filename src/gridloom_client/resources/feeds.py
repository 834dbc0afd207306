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
    def list(self) -> Feed:
        """List the feeds and how they stand.

        Each series of each source: until when it is complete, whose the newest recorded price is, and the next look.
        """

    @operation("PUT", "/feeds/{name}")
    def switch(self, name: FeedName, *, enabled: bool) -> Feed:
        """Switch a feed on or off.

        From now on, whatever the settings say; a feed that is switched on looks at once.

        Args:
            name: Name
            enabled: Whether the source is to be asked

        Example:
            client.feeds.switch("text", enabled=True)
        """

    @operation("POST", "/feeds/{name}/runs")
    def run(self, name: FeedName, *, start: datetime | None = None, end: datetime | None = None) -> FeedRun:
        """Look now, or fill a window.

        A job asks the source, month by month; values that are recorded already stay as they are.

        Args:
            name: Name
            start: Start of the window to fill; left out, what could be new is asked for
            end: End of the window; left out, what is out by now
        """

    @collection("/feeds/{name}/runs")
    def runs(self, name: FeedName, *, page_size: int | None = None) -> FeedRun:
        """List the last runs of a feed.

        The newest first; the last hundred are kept.

        Args:
            name: Name
            page_size: How many items are fetched at a time
        """
