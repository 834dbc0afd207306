"""The runs that turn schedules into what batteries do; for the platform's operator."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from gridloom_client.answers import DeliveryRun, DeliveryZone
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import PagedWindow, Window
from gridloom_client.wire import ID


class Delivery(Resource[M]):
    """Energies in MWh at the grid."""

    @collection("/delivery/runs")
    def runs(self, *, delivery_zone: str | None = None, **window: Unpack[PagedWindow]) -> DeliveryRun:
        """List delivery runs.

        For the platform's operator: the runs that changed something, the newest first.

        Args:
            delivery_zone: Only runs of this delivery zone
            start: Only runs made at this instant or later
            end: Only runs made before this instant
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/delivery/runs/{runID}")
    def run(self, run_id: ID) -> DeliveryRun:
        """Read a delivery run.

        For the platform's operator.

        Args:
            run_id: The run
        """

    @operation("GET", "/delivery/zones")
    def zones(self, **window: Unpack[Window]) -> Sequence[DeliveryZone]:
        """Read what was netted and left unserved.

        For the platform's operator: zone by zone, the quarter-hours of the window that were planned.

        Args:
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
        """
