"""Revenue and data points of virtual assets, portfolios, fleets, physical assets and organisations."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Unpack

from gridloom_client.answers import BenchmarkDay, RevenueBuckets, RevenueDataPoints, Statement
from gridloom_client.operations import M, Resource, operation
from gridloom_client.resources.queries import BucketQuery, ReportQuery, ReportWindow
from gridloom_client.wire import ID


class Revenue(Resource[M]):
    """MW, MWh, EUR and EUR/MWh.

    `resolution` is raw, 15-minute, hourly or daily; no `datapoints` means all of them; `as_of` gives what was
    known then.
    """

    @operation("GET", "/revenue-reporting/virtual-assets/{virtualAssetID}/data-points")
    def of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints: ...

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/data-points")
    def of_portfolio(self, portfolio_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints: ...

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/data-points")
    def of_fleet(self, fleet_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints: ...

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/data-points")
    def of_physical_asset(self, physical_asset_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints: ...

    @operation("GET", "/revenue-reporting/organisations/{organisationID}/data-points")
    def of_organisation(self, organisation_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """All that it holds and owns, each fact once."""

    @operation("GET", "/revenue-reporting/virtual-assets/{virtualAssetID}/benchmark")
    def benchmark_of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]: ...

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/benchmark")
    def benchmark_of_portfolio(self, portfolio_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]: ...

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/benchmark")
    def benchmark_of_fleet(self, fleet_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]: ...

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/benchmark")
    def benchmark_of_physical_asset(
        self, physical_asset_id: ID, **asked: Unpack[ReportWindow]
    ) -> list[BenchmarkDay]: ...

    @operation("GET", "/revenue-reporting/{virtualAssetID}/wholesale")
    def wholesale(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets: ...

    @operation("GET", "/revenue-reporting/{virtualAssetID}/ancillary")
    def ancillary(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets: ...

    @operation("GET", "/revenue-reporting/{virtualAssetID}/tolling")
    def tolling(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets: ...

    @operation("GET", "/revenue-reporting/{virtualAssetID}/virtual-battery-auction")
    def virtual_battery_auction(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets: ...

    @operation("GET", "/revenue-reporting/virtual-assets/{virtualAssetID}/statement")
    def statement_of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Who pays and who earns, from its holder's side."""

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/statement")
    def statement_of_portfolio(self, portfolio_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Who pays and who earns, from its holder's side."""

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/statement")
    def statement_of_physical_asset(self, physical_asset_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Who pays and who earns, from its owner's side."""

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/statement")
    def statement_of_fleet(self, fleet_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Who pays and who earns, from its owner's side."""

    @operation("GET", "/revenue-reporting/organisations/{organisationID}/statement")
    def statement_of_organisation(self, organisation_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Who pays and who earns, over all that it holds and owns."""
