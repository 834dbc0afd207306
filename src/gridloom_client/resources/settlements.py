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
        """Record wholesale trades.

        Known again by asset, trade, period and side: the same row changes nothing, another one corrects it. A trade
        over several periods is a row for each. Traders record the trades of their own virtual assets; a row of the
        operator's prevails, and a trader's after it counts as unchanged. What did not happen is corrected to volume 0.
        All rows are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{tradeID, assetID, time, side, volume, price, market}`: MWh and EUR/MWh.

        Example:
            client.settlements.add_wholesale_trades(
                [{'tradeID': 'EPEX-1',
                  'time': '2026-03-29T00:00:00Z',
                  'side': 'SELL',
                  'volume': 2.5,
                  'price': 84.31,
                  'market': 'DAY_AHEAD',
                  'executedAt': '2026-03-28T11:00:00Z',
                  'stage': 'IDA1',
                  'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/wholesale-trades")
    def wholesale_trades(self, **asked: Unpack[SettlementQuery]) -> WholesaleTrade:
        """List wholesale trades.

        By asset, period, trade and side.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """

    @operation("POST", "/settlements/fcr", frames=PARQUET)
    def add_fcr(self, body: Iterable[inputs.FcrAward] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Record FCR awards.

        Known again by asset, delivery day and product. Prices are per hour; results are published per block. All rows
        are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{assetID, deliveryDay, product, capacity, settlementPrice}`: MW and EUR/MW per hour.

        Example:
            client.settlements.add_fcr(
                [{'deliveryDay': '2026-03-29',
                  'product': 'NEGPOS_00_04',
                  'capacity': 10.0,
                  'settlementPrice': 22.286667,
                  'deliveryHours': 3.0,
                  'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/fcr")
    def fcr(self, **asked: Unpack[SettlementQuery]) -> FcrAward:
        """List FCR awards.

        By asset, delivery day and product.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """

    @operation("POST", "/settlements/afrr-capacity", frames=PARQUET)
    def add_afrr_capacity(
        self, body: Iterable[inputs.AfrrCapacityAward] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Record aFRR capacity awards.

        Known again by asset, delivery day and product. All rows are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{assetID, deliveryDay, product, capacity, price}`: MW and EUR/MW per hour.

        Example:
            client.settlements.add_afrr_capacity(
                [{'deliveryDay': '2026-03-29',
                  'product': 'POS_00_04',
                  'capacity': 10.0,
                  'price': 22.286667,
                  'deliveryHours': 3.0,
                  'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/afrr-capacity")
    def afrr_capacity(self, **asked: Unpack[SettlementQuery]) -> AfrrCapacityAward:
        """List aFRR capacity awards.

        By asset, delivery day and product.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """

    @operation("POST", "/settlements/afrr-energy", frames=PARQUET)
    def add_afrr_energy(
        self, body: Iterable[inputs.AfrrActivation] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Record activated aFRR energy.

        Known again by asset, period and direction. A positive price is paid to the provider, in both directions. All
        rows are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{assetID, time, direction, volume, price}`: MWh and EUR/MWh.

        Example:
            client.settlements.add_afrr_energy(
                [{'time': '2026-03-29T00:00:00Z',
                  'direction': 'POS',
                  'volume': 2.5,
                  'price': 112.5,
                  'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/afrr-energy")
    def afrr_energy(self, **asked: Unpack[SettlementQuery]) -> AfrrActivation:
        """List activated aFRR energy.

        By asset, period and direction.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """

    @operation("POST", "/settlements/net-off", frames=PARQUET)
    def add_net_off(self, body: Iterable[inputs.NetOff] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Record netted volumes.

        Known again by asset and period. All rows are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{assetID, time, volume}`: MWh.

        Example:
            client.settlements.add_net_off(
                [{'time': '2026-03-29T00:00:00Z', 'volume': 0.75, 'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/net-off")
    def net_off(self, **asked: Unpack[SettlementQuery]) -> NetOff:
        """List netted volumes.

        By asset and period.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """

    @operation("POST", "/settlements/tolling-contracts", frames=PARQUET)
    def add_tolling_contracts(
        self, body: Iterable[inputs.TollingContract] | Facts, *, content_type: str | None = None
    ) -> BulkOutcome:
        """Record tolling contracts.

        Known again by asset and contract. Tolls on one asset add up, within its life. All rows are recorded or none.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{contractID, assetID, start, end, annualPrice}`: EUR/MW/year.

        Example:
            client.settlements.add_tolling_contracts(
                [{'contractID': 'T-2026-1',
                  'start': '2026-03-29T00:00:00Z',
                  'end': '2026-03-30T00:00:00Z',
                  'annualPrice': 120000.0,
                  'assetID': '01890a5d-ac96-774b-bcce-b302099a8057'}],
            )
        """

    @collection("/settlements/tolling-contracts")
    def tolling_contracts(self, **asked: Unpack[SettlementQuery]) -> TollingContract:
        """List tolling contracts.

        By asset and contract.

        Args:
            start: Only facts that end after this instant
            end: Only facts that start before this instant
            as_of: As it was known at this instant; now when left out
            page_size: How many items are fetched at a time
            asset_id: Only facts of this asset
            versions: Also versions that corrections replaced, the oldest first
        """


class ReferencePrices(Resource[M]):
    """EUR/MWh for energy, EUR/MW per hour for capacity; positive is paid to the provider."""

    @operation("POST", "/reference-prices", frames=PARQUET)
    def add(self, body: Iterable[inputs.ReferencePrice] | Facts, *, content_type: str | None = None) -> BulkOutcome:
        """Load published prices.

        Known again by series and start: the same row changes nothing, another is its next version. All rows or none.
        Prices posted by hand prevail over those of feeds until they are deleted.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            content_type: The media type of a body that is bytes: CSV, NDJSON, ARROW or PARQUET

        Note:
            Rows `{series, start, end, price}`; they prevail over what feeds say until they are withdrawn.

        Example:
            client.reference_prices.add(
                [{'series': 'DAY_AHEAD_DE_LU',
                  'start': '2026-03-29T00:00:00Z',
                  'end': '2026-03-29T00:15:00Z',
                  'price': 84.31}],
            )
        """

    @operation("DELETE", "/reference-prices")
    def withdraw(self, series: PriceSeries, *, start: datetime, end: datetime) -> None:
        """Withdraw prices posted by hand.

        Those of a series that begin in the window. Their versions stay, and what a feed says counts again.

        Args:
            series: Name of the published series
            start: Start, inclusive
            end: End, exclusive

        Example:
            client.reference_prices.withdraw(
                "DAY_AHEAD_DE_LU",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @collection("/reference-prices")
    def list(self, series: PriceSeries, **window: Unpack[PagedWindowAsOf]) -> ReferencePrice:
        """List published prices.

        One series by start, as it is or as it was known at an instant.

        Args:
            series: DAY_AHEAD_DE_LU (EUR/MWh): Day-ahead auction, bidding zone DE-LU; hourly until 2025-09-30;
                IDA1_DE_LU (EUR/MWh): First intraday auction, gate 15:00 the day before; IDA2_DE_LU (EUR/MWh): Second
                intraday auction, gate 22:00 the day before; IDA3_DE_LU (EUR/MWh): Third intraday auction, gate 10:00
                for the hours from 12:00 to 24:00; INTRADAY_DE_LU (EUR/MWh): Intraday, all continuous trades of a
                quarter-hour, volume-weighted (ID-full); REBAP_DE (EUR/MWh): Imbalance price, the same for too much and
                too little; FCR_DE (EUR/MW/h): FCR settlement price, per hour of the block; AFRR_CAPACITY_POS_DE_AVERAGE
                (EUR/MW/h): aFRR capacity, POS, average price; positive is paid to the provider;
                AFRR_CAPACITY_POS_DE_MARGINAL (EUR/MW/h): aFRR capacity, POS, marginal price; positive is paid to the
                provider; AFRR_CAPACITY_NEG_DE_AVERAGE (EUR/MW/h): aFRR capacity, NEG, average price; positive is paid
                to the provider; AFRR_CAPACITY_NEG_DE_MARGINAL (EUR/MW/h): aFRR capacity, NEG, marginal price; positive
                is paid to the provider; AFRR_ENERGY_POS_DE_AVERAGE (EUR/MWh): aFRR energy, POS, average price; positive
                is paid to the provider; AFRR_ENERGY_POS_DE_MARGINAL (EUR/MWh): aFRR energy, POS, marginal price;
                positive is paid to the provider; AFRR_ENERGY_NEG_DE_AVERAGE (EUR/MWh): aFRR energy, NEG, average price;
                positive is paid to the provider; AFRR_ENERGY_NEG_DE_MARGINAL (EUR/MWh): aFRR energy, NEG, marginal
                price; positive is paid to the provider
            start: Only prices that end after this instant
            end: Only prices that start before this instant
            as_of: As it was known at this instant of the platform's clock; now when left out
            page_size: How many items are fetched at a time

        Example:
            client.reference_prices.list("DAY_AHEAD_DE_LU")
        """

    @collection("/reference-prices/deviations")
    def deviations(
        self,
        kind: DeviationKind,
        *,
        asset_id: ID | None = None,
        tolerance: float | None = None,
        **window: Unpack[PagedWindow],
    ) -> PriceDeviation:
        """List settled prices that differ from the published ones.

        By asset, time and trade or product. What has no published price is not listed.

        Args:
            kind: Kind of settlement to check; of trades, those of DAY_AHEAD
            asset_id: Only facts of this asset
            tolerance: Largest absolute difference that is not listed, in the series' unit
            start: Only facts that start at this instant or later
            end: Only facts that start before this instant
            page_size: How many items are fetched at a time

        Example:
            client.reference_prices.deviations("afrr-capacity")
        """
