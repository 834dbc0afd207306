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
        """The newest first."""

    @operation("GET", "/delivery/runs/{runID}")
    def run(self, run_id: ID) -> DeliveryRun: ...

    @operation("GET", "/delivery/zones")
    def zones(self, **window: Unpack[Window]) -> Sequence[DeliveryZone]:
        """Scheduled, netted, dispatched and unserved power by quarter-hour."""
