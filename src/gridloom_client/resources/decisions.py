"""Schedules proposed for virtual assets and portfolios, expected prices, and past days played again."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Unpack

from gridloom_client.answers import (
    Backtest,
    BacktestDay,
    DayAheadForecast,
    HeadroomPoint,
    Optimisation,
    PortfolioOptimisation,
    Repair,
    SeriesForecast,
)
from gridloom_client.inputs import BacktestBattery, CapacityPrice, Prices
from gridloom_client.literals import BacktestPolicy, BacktestSeries, EndStateOfCharge, Market, RepairObjective, Stage
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import Window
from gridloom_client.resources.virtual_assets import Schedule
from gridloom_client.wire import ID


class Optimisations(Resource[M]):
    """`prices` is `{"series": …}`, `{"forecast": True}` or `{"values": [{"time", "price"}]}`; kW, kWh, EUR."""

    @operation("POST", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/optimisations")
    def optimise(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        prices: Prices | Mapping[str, Any],
        markets: Sequence[Market] | None = None,
        end_state_of_charge: EndStateOfCharge | None = None,
        keep: Sequence[ID] | None = None,
        exact: bool | None = None,
        capacity_prices: Sequence[CapacityPrice] | Sequence[Mapping[str, Any]] | None = None,
        idempotency_key: str | None = None,
        **window: Unpack[Window],
    ) -> Optimisation:
        """Find the best schedule of a virtual asset.

        The powers of its open periods that earn most at the prices given, by all rules that a schedule must respect.
        Nothing is changed. To apply it, PUT `schedule` to the asset's schedule with `If-Match` and the ETag of this
        answer (with `keep`, PUT the part of the one block left). A window of more than 31 days is answered 202, and
        made by a job.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            prices: Prices to plan with
            markets: Markets to plan for; WHOLESALE alone when left out
            end_state_of_charge: HARD, the default: the target at the end of life is met; FREE: it need not be
            keep: Blocks whose schedules stay as they are
            exact: Also prove the optimum of a long window
            capacity_prices: Prices of balancing capacity, instead of the reference series
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out
            start: Start of the window; at the earliest, and when left out, the first open period
            end: End of the window; when left out, the end of the known prices or of life

        Note:
            Apply it with `virtual_assets.set_asset_schedule`. More than 31 days come with an `id` to ask for.

        Example:
            client.optimisations.optimise(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                prices={'series': 'DAY_AHEAD_DE_LU'},
            )
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/optimisations/{optimisationID}")
    def get(self, organisation_id: ID, virtual_asset_id: ID, optimisation_id: ID) -> Optimisation:
        """Read an optimisation that was made by a job.

        Kept for a day.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            optimisation_id: The optimisation
        """

    @operation("POST", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/repairs")
    def repair(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        schedule: Schedule,
        objective: RepairObjective = "NEAREST",
        prices: Prices | Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Repair:
        """Repair a schedule.

        The nearest schedule, or the best one in its periods, that the PUT accepts and that ends balanced. Only the
        periods sent are moved. Nothing is changed; apply it as an optimisation is applied.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            schedule: Power by quarter-hour
            objective: NEAREST: least power moved; BEST_VALUE: most earned in these periods
            prices: As for an optimisation; the forecast when left out
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Example:
            client.optimisations.repair(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                schedule=[{'time': '2026-03-29T00:00:00Z', 'power': 5000}],
            )
        """

    @operation("POST", "/organisations/{organisationID}/portfolios/{portfolioID}/optimisations")
    def optimise_portfolio(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        prices: Prices | Mapping[str, Any],
        import_limit: float | None = None,
        export_limit: float | None = None,
        end_state_of_charge: EndStateOfCharge | None = None,
        exact: bool | None = None,
        idempotency_key: str | None = None,
        **window: Unpack[Window],
    ) -> PortfolioOptimisation:
        """Find the best schedules of a portfolio.

        All assets of the portfolio together, within what they may import and export in sum. 31 days at most, and fifty
        assets for a day or as many asset-days. Nothing is changed.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
            prices: Prices to plan with
            import_limit: Most that all assets may import together, kW
            export_limit: Most that all assets may export together, kW
            end_state_of_charge: HARD, the default: the target at the end of life is met; FREE: it need not be
            exact: Also prove the optimum of a long window
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out
            start: Start of the window; at the earliest, and when left out, the first open period
            end: End of the window; when left out, the end of the known prices

        Example:
            client.optimisations.optimise_portfolio(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                prices={'series': 'DAY_AHEAD_DE_LU'},
            )
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/headroom")
    def headroom(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[Window]) -> list[HeadroomPoint]:
        """See how far a schedule may move.

        The kW that may still be sold (`up`) or bought (`down`) in each quarter-hour, by itself, and what limits it. A
        PUT of exactly that to the asset's schedule is accepted, of 1 kW more refused; where CYCLES limit, it would be
        accepted and cut. With `If-Match` and the ETag of this answer nothing has changed in between.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window; now when left out
            end: End of the window, a week after its start at most; 48 hours after it when left out
        """


class Forecasts(Resource[M]):
    """EUR/MWh."""

    @operation("GET", "/forecasts/day-ahead")
    def day_ahead(self, *, delivery_day: date | None = None) -> DayAheadForecast:
        """Forecast day-ahead prices.

        P10, P50 and P90 for each quarter-hour, from the prices of the days before, never from later ones. What was
        published before the gate is answered as it was published. Other days are computed when they are first asked
        for; a day ahead of the known prices, up to two weeks, from the last ones known.

        Args:
            delivery_day: Market day; tomorrow when left out
        """

    @operation("GET", "/forecasts/{series}")
    def of(self, series: str, *, delivery_day: date | None = None) -> SeriesForecast:
        """Forecast a series of prices.

        P10, P50 and P90 of an intraday auction by quarter-hour, of FCR and aFRR capacity by four-hour block. Before the
        gate from what is published now, after it from what was published before. An auction's forecast is the last
        price that was cleared for its day, else the day-ahead forecast; that of capacity the median of the last seven
        days of the same kind. DAY_AHEAD_DE_LU answers as `/forecasts/day-ahead` does.

        Args:
            series: Name of the published series
            delivery_day: Market day; tomorrow when left out
        """


class Backtests(Resource[M]):
    """EUR, kW and kWh."""

    @operation("POST", "/backtests")
    def create(
        self,
        *,
        start: date | str,
        end: date | str,
        battery: BacktestBattery | Mapping[str, Any],
        policy: BacktestPolicy = "FORECAST",
        series: BacktestSeries | None = None,
        stages: Sequence[Stage] | None = None,
        idempotency_key: str | None = None,
    ) -> Backtest:
        """Run a back-test.

        The earnings of a battery on past market days, each planned on what was known the day before. A job runs it. The
        newest hundred of an organisation are kept.

        Args:
            start: First market day, or an instant in it
            end: Market day after the last, or an instant in it
            battery: Battery of the back-test
            policy: Expected prices: the forecast, yesterday's, the mean of 7 days, or the true ones
            series: DAY_AHEAD_DE_LU, also when left out
            stages: Stages to replay, each with what was known at its gate; the day-ahead auction alone when left out
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Note:
            Ask for it again until `status` is DONE.

        Example:
            client.backtests.create(
                start="2025-10-26",
                end="2026-03-29",
                battery={'ratedPower': 10000,
                 'energyCapacity': 20000,
                 'chargeEfficiency': 0.94,
                 'dischargeEfficiency': 0.94,
                 'dailyCycleLimit': 2},
            )
        """

    @collection("/backtests")
    def list(self, *, page_size: int | None = None) -> Backtest:
        """List back-tests.

        Your organisation's, the newest first.

        Args:
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/backtests/{backtestID}")
    def get(self, backtest_id: ID) -> Backtest:
        """Read a back-test.

        With its progress while it runs, and the shares of foresight when it is done.

        Args:
            backtest_id: The back-test
        """

    @collection("/backtests/{backtestID}/days")
    def days(self, backtest_id: ID, *, page_size: int | None = None) -> BacktestDay:
        """List the days of a back-test.

        By day, as far as it has been played. A table has all of them, whatever `limit` says.

        Args:
            backtest_id: The back-test
            page_size: How many items are fetched at a time
        """
