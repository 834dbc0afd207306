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
    def of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """Data points of a virtual asset.

        Buckets at the edges of the window hold the part of them that lies within it, so sums agree at any resolution.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Each fact's own period, or delivery periods, market hours, market days
            datapoints: Names of categories, separated by commas; all when left out
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.of_virtual_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/data-points")
    def of_portfolio(self, portfolio_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """Data points of a portfolio.

        The figures of its virtual assets together, as if all their facts were one asset's.

        Args:
            portfolio_id: The portfolio
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Each fact's own period, or delivery periods, market hours, market days
            datapoints: Names of categories, separated by commas; all when left out
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.of_portfolio(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/data-points")
    def of_fleet(self, fleet_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """Data points of a fleet.

        The figures of its physical assets together: their own facts, and their shares in the virtual ones they back.

        Args:
            fleet_id: The fleet
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Each fact's own period, or delivery periods, market hours, market days
            datapoints: Names of categories, separated by commas; all when left out
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.of_fleet(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/data-points")
    def of_physical_asset(self, physical_asset_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """Data points of a physical asset.

        Its own facts, and its share in those of the virtual assets that it backs. A share of a fact is that share of
        its energy, capacity and euros; prices and hours stay as they are.

        Args:
            physical_asset_id: The physical asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Each fact's own period, or delivery periods, market hours, market days
            datapoints: Names of categories, separated by commas; all when left out
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.of_physical_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/organisations/{organisationID}/data-points")
    def of_organisation(self, organisation_id: ID, **asked: Unpack[ReportQuery]) -> RevenueDataPoints:
        """Data points of an organisation.

        All that it holds and owns, each fact once: what it won counts whether or not it is in a portfolio. Others'
        virtual assets count by the shares of its batteries behind them. The rated power is that of its virtual assets
        and of its batteries that back none of them.

        Args:
            organisation_id: The organisation
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Each fact's own period, or delivery periods, market hours, market days
            datapoints: Names of categories, separated by commas; all when left out
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.of_organisation(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/virtual-assets/{virtualAssetID}/benchmark")
    def benchmark_of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]:
        """Benchmark a virtual asset.

        The same of a virtual asset, by what is available of it. Peers are the other virtual assets of its duration
        class.

        Args:
            virtual_asset_id: The virtual asset
            start: Start, inclusive
            end: End, exclusive

        Example:
            client.revenue.benchmark_of_virtual_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/benchmark")
    def benchmark_of_portfolio(self, portfolio_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]:
        """Benchmark a portfolio.

        Its virtual assets together; `foresight` is the sum of each by itself. Peers are virtual assets outside of it.

        Args:
            portfolio_id: The portfolio
            start: Start, inclusive
            end: End, exclusive

        Example:
            client.revenue.benchmark_of_portfolio(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/benchmark")
    def benchmark_of_fleet(self, fleet_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]:
        """Benchmark a fleet.

        Its physical assets together; `foresight` is the sum of each by itself. Peers are batteries outside of it.

        Args:
            fleet_id: The fleet
            start: Start, inclusive
            end: End, exclusive

        Example:
            client.revenue.benchmark_of_fleet(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/benchmark")
    def benchmark_of_physical_asset(self, physical_asset_id: ID, **asked: Unpack[ReportWindow]) -> list[BenchmarkDay]:
        """Benchmark a physical asset.

        Each market day that the window touches: revenue as its data points have it, with its share in what it backs.
        `foresight` is the best schedule at the published day-ahead prices, by its own parameters, availability and
        cycles. Peers are the other batteries of its duration class.

        Args:
            physical_asset_id: The physical asset
            start: Start, inclusive
            end: End, exclusive

        Example:
            client.revenue.benchmark_of_physical_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/{virtualAssetID}/wholesale")
    def wholesale(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets:
        """Wholesale revenue by bucket.

        Proceeds of what was sold minus the cost of what was bought, with volumes and average prices.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.wholesale(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/{virtualAssetID}/ancillary")
    def ancillary(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets:
        """Ancillary revenue by bucket.

        FCR and aFRR capacity, and aFRR energy in both directions.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.ancillary(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/{virtualAssetID}/tolling")
    def tolling(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets:
        """Tolling revenue by bucket.

        The toll as it accrues over the calendar year, with its annual price.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.tolling(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/{virtualAssetID}/virtual-battery-auction")
    def virtual_battery_auction(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> RevenueBuckets:
        """Auction revenue by bucket.

        The price for which the asset was won, spread evenly over its delivery window, with the hurdle price.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the report, inclusive
            end: End of the report, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.virtual_battery_auction(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/virtual-assets/{virtualAssetID}/statement")
    def statement_of_virtual_asset(self, virtual_asset_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Statement of a virtual asset.

        From its holder's side: trading and balancing income, less the auction price, tolls and imbalance. Whatever the
        buckets, amounts add up to the same cents. Shares of an amount are rounded towards zero, and what that leaves
        goes to the largest.

        Args:
            virtual_asset_id: The virtual asset
            start: Start of the statement, on a quarter-hour
            end: End of the statement, on a quarter-hour, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.statement_of_virtual_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/portfolios/{portfolioID}/statement")
    def statement_of_portfolio(self, portfolio_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Statement of a portfolio.

        The statements of its virtual assets together.

        Args:
            portfolio_id: The portfolio
            start: Start of the statement, on a quarter-hour
            end: End of the statement, on a quarter-hour, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.statement_of_portfolio(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/physical-assets/{physicalAssetID}/statement")
    def statement_of_physical_asset(self, physical_asset_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Statement of a physical asset.

        From its owner's side: its share of auction prices and tolls, its own trades, awards and imbalance.

        Args:
            physical_asset_id: The physical asset
            start: Start of the statement, on a quarter-hour
            end: End of the statement, on a quarter-hour, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.statement_of_physical_asset(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/fleets/{fleetID}/statement")
    def statement_of_fleet(self, fleet_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Statement of a fleet.

        The statements of its physical assets together.

        Args:
            fleet_id: The fleet
            start: Start of the statement, on a quarter-hour
            end: End of the statement, on a quarter-hour, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.statement_of_fleet(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/revenue-reporting/organisations/{organisationID}/statement")
    def statement_of_organisation(self, organisation_id: ID, **asked: Unpack[BucketQuery]) -> Statement:
        """Statement of an organisation.

        All that it holds and owns together, in a portfolio or not; what it would pay to itself is left out.

        Args:
            organisation_id: The organisation
            start: Start of the statement, on a quarter-hour
            end: End of the statement, on a quarter-hour, exclusive
            resolution: Delivery periods, market hours or market days
            as_of: As it was known at this instant of the platform's clock; now when left out

        Example:
            client.revenue.statement_of_organisation(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """
