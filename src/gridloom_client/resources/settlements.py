"""Facts that revenue is made of, brought in by the operator: settlements and published prices."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from gridloom_client import inputs
from gridloom_client.answers import (
    AfrrActivation,
    AfrrCapacityAward,
    BulkOutcome,
    FcrAward,
    NetOff,
    PriceDeviation,
    ReferencePrice,
    TollingContract,
    WholesaleTrade,
)
from gridloom_client.frames import Frame
from gridloom_client.literals import DeviationKind, PriceSeries
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import PagedWindow, PagedWindowAsOf, SettlementQuery
from gridloom_client.wire import ID, PARQUET

Facts: TypeAlias = Iterable[Mapping[str, Any]] | Frame | bytes
"""Rows as mappings, a frame, or a whole CSV, NDJSON or Parquet file as bytes with its `content_type`."""


class Settlements(Resource[M]):
    """The same row again changes nothing, a corrected one replaces; a request is taken as a whole or not at all.

    Lists show what stands, or what stood at `as_of`; with `versions`, also what was replaced.
    """

    @operation("POST", "/settlements/wholesale-trades", frames=PARQUET)
    def add_wholesale_trades(
        self, body: Iterable[inputs.WholesaleTrade] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Rows `{tradeID, assetID, time, side, volume, price, market}`: MWh and EUR/MWh."""

    @collection("/settlements/wholesale-trades")
    def wholesale_trades(self, **asked: Unpack[SettlementQuery]) -> WholesaleTrade: ...

    @operation("POST", "/settlements/fcr", frames=PARQUET)
    def add_fcr(self, body: Iterable[inputs.FcrAward] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Rows `{assetID, deliveryDay, product, capacity, settlementPrice}`: MW and EUR/MW per hour."""

    @collection("/settlements/fcr")
    def fcr(self, **asked: Unpack[SettlementQuery]) -> FcrAward: ...

    @operation("POST", "/settlements/afrr-capacity", frames=PARQUET)
    def add_afrr_capacity(
        self, body: Iterable[inputs.AfrrCapacityAward] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Rows `{assetID, deliveryDay, product, capacity, price}`: MW and EUR/MW per hour."""

    @collection("/settlements/afrr-capacity")
    def afrr_capacity(self, **asked: Unpack[SettlementQuery]) -> AfrrCapacityAward: ...

    @operation("POST", "/settlements/afrr-energy", frames=PARQUET)
    def add_afrr_energy(
        self, body: Iterable[inputs.AfrrActivation] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Rows `{assetID, time, direction, volume, price}`: MWh and EUR/MWh."""

    @collection("/settlements/afrr-energy")
    def afrr_energy(self, **asked: Unpack[SettlementQuery]) -> AfrrActivation: ...

    @operation("POST", "/settlements/net-off", frames=PARQUET)
    def add_net_off(self, body: Iterable[inputs.NetOff] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Rows `{assetID, time, volume}`: MWh."""

    @collection("/settlements/net-off")
    def net_off(self, **asked: Unpack[SettlementQuery]) -> NetOff: ...

    @operation("POST", "/settlements/tolling-contracts", frames=PARQUET)
    def add_tolling_contracts(
        self, body: Iterable[inputs.TollingContract] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Rows `{contractID, assetID, start, end, annualPrice}`: EUR/MW/year."""

    @collection("/settlements/tolling-contracts")
    def tolling_contracts(self, **asked: Unpack[SettlementQuery]) -> TollingContract: ...


class ReferencePrices(Resource[M]):
    """EUR/MWh for energy, EUR/MW per hour for capacity; positive is paid to the provider."""

    @operation("POST", "/reference-prices", frames=PARQUET)
    def add(self, body: Iterable[inputs.ReferencePrice] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Rows `{series, start, end, price}`; they prevail over what feeds say until they are withdrawn."""

    @operation("DELETE", "/reference-prices")
    def withdraw(self, series: PriceSeries, *, start: datetime, end: datetime) -> None:
        """Those posted by hand that begin in the window."""

    @collection("/reference-prices")
    def list(self, series: PriceSeries, **window: Unpack[PagedWindowAsOf]) -> ReferencePrice: ...

    @collection("/reference-prices/deviations")
    def deviations(
        self,
        kind: DeviationKind,
        *,
        asset_id: ID | None = None,
        tolerance: float | None = None,
        **window: Unpack[PagedWindow],
    ) -> PriceDeviation:
        """`kind` is wholesale-trades, fcr or afrr-capacity."""
