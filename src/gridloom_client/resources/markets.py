"""The markets of a delivery day, and orders at their stages."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from gridloom_client import inputs
from gridloom_client.answers import (
    MarketPlan,
    MarketStage,
    Order,
    OrderResult,
    PlacedOrder,
    PortfolioMarketPlan,
    PortfolioStage,
)
from gridloom_client.literals import Stage
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID


class Markets(Resource[M]):
    """Positions in kW, sold is positive; volumes in MWh, prices in EUR/MWh, capacity in kW."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/markets")
    def day(self, organisation_id: ID, virtual_asset_id: ID, *, delivery_day: date | str) -> list[MarketStage]:
        """`day.answer(…)` has the ETag that orders name as `ifMatch`."""

    @operation("GET", "/organisations/{organisationID}/portfolios/{portfolioID}/markets")
    def portfolio_day(
        self, organisation_id: ID, portfolio_id: ID, *, delivery_day: date | str
    ) -> list[PortfolioStage]: ...

    @operation("POST", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/market-plans")
    def plan(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        delivery_day: date | str,
        stage: Stage | None = None,
        fee: float | None = None,
        hurdle: float | None = None,
        idempotency_key: str | None = None,
    ) -> MarketPlan:
        """Of the next stage when none is named; order it with its `if_match`, `minimum_surplus` and `at_any_price`."""

    @operation("POST", "/organisations/{organisationID}/portfolios/{portfolioID}/market-plans")
    def plan_portfolio(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        delivery_day: date | str,
        stage: Stage | None = None,
        fee: float | None = None,
        hurdle: float | None = None,
        idempotency_key: str | None = None,
    ) -> PortfolioMarketPlan: ...

    @operation("POST", "/organisations/{organisationID}/orders")
    def order(
        self,
        organisation_id: ID,
        body: Sequence[inputs.Order] | Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> list[PlacedOrder]:
        """A list of orders, all or none."""

    @collection("/organisations/{organisationID}/orders")
    def orders(
        self,
        organisation_id: ID,
        *,
        delivery_day: date | str | None = None,
        stage: Stage | None = None,
        page_size: int | None = None,
    ) -> Order: ...

    @operation("GET", "/organisations/{organisationID}/orders/{orderID}")
    def get(self, organisation_id: ID, order_id: ID) -> Order: ...

    @operation("DELETE", "/organisations/{organisationID}/orders/{orderID}")
    def cancel(self, organisation_id: ID, order_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("GET", "/orders")
    def waiting(self, *, stage: Stage | None = None, delivery_day: date | str | None = None) -> list[Order]:
        """Operator only."""

    @operation("POST", "/orders/results")
    def record_results(
        self,
        body: Sequence[inputs.OrderResult] | Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> list[OrderResult]:
        """Operator only: a list of results, all or none."""
