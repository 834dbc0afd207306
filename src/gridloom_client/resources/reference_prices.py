"""Published prices, and settled ones that differ from them."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gridloom_client.answers import BulkOutcome, PriceDeviation, ReferencePrice
from gridloom_client.frames import Frame
from gridloom_client.inputs import ReferencePrice as ReferencePriceInput
from gridloom_client.literals import DeviationKind, PriceSeries
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID


class ReferencePrices(Resource[M]):
    """EUR/MWh for energy, EUR/MW per hour for capacity; positive is paid to the provider."""

    @operation("POST", "/reference-prices")
    def add(self, body: Iterable[ReferencePriceInput] | Iterable[Mapping[str, Any]] | Frame) -> BulkOutcome:
        """Rows `{series, start, end, price}`."""

    @collection("/reference-prices")
    def list(
        self,
        series: PriceSeries,
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        as_of: datetime | None = None,
        page_size: int | None = None,
    ) -> ReferencePrice: ...

    @collection("/reference-prices/deviations")
    def deviations(
        self,
        kind: DeviationKind,
        *,
        asset_id: ID | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
        tolerance: float | None = None,
        page_size: int | None = None,
    ) -> PriceDeviation:
        """`kind` is wholesale-trades, fcr or afrr-capacity."""
