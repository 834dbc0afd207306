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
        """Apply it with `virtual_assets.set_asset_schedule`. More than 31 days come with an `id` to ask for."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/optimisations/{optimisationID}")
    def get(self, organisation_id: ID, virtual_asset_id: ID, optimisation_id: ID) -> Optimisation: ...

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
        """The nearest schedule that is accepted and ends balanced, or the best one in its periods."""

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
    ) -> PortfolioOptimisation: ...

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/headroom")
    def headroom(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[Window]) -> list[HeadroomPoint]:
        """How far the power of each quarter-hour may move by itself."""


class Forecasts(Resource[M]):
    """EUR/MWh."""

    @operation("GET", "/forecasts/day-ahead")
    def day_ahead(self, *, delivery_day: date | None = None) -> DayAheadForecast:
        """P10, P50 and P90 of each quarter-hour; tomorrow's when no day is named."""

    @operation("GET", "/forecasts/{series}")
    def of(self, series: str, *, delivery_day: date | None = None) -> SeriesForecast:
        """The same of an intraday auction, or of FCR and aFRR capacity by four-hour block."""


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
        """Ask for it again until `status` is DONE."""

    @collection("/backtests")
    def list(self, *, page_size: int | None = None) -> Backtest:
        """The newest first."""

    @operation("GET", "/backtests/{backtestID}")
    def get(self, backtest_id: ID) -> Backtest: ...

    @collection("/backtests/{backtestID}/days")
    def days(self, backtest_id: ID, *, page_size: int | None = None) -> BacktestDay: ...
