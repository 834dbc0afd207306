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
        """Read the markets of a day.

        Every market of a delivery day: until when it takes orders, the position after it, and what it earned. The ETag
        is that of the day's trades, orders, blocks and availability: an order names it as `ifMatch`.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            delivery_day: Only this market day

        Note:
            `day.answer(…)` has the ETag that orders name as `ifMatch`.

        Example:
            client.markets.day(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                delivery_day="text",
            )
        """

    @operation("GET", "/organisations/{organisationID}/portfolios/{portfolioID}/markets")
    def portfolio_day(self, organisation_id: ID, portfolio_id: ID, *, delivery_day: date | str) -> list[PortfolioStage]:
        """Read the markets of a portfolio's day.

        The markets of its virtual assets that live on the day, added up, with the orders of each. The ETag changes with
        that of any of them.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
            delivery_day: Only this market day

        Example:
            client.markets.portfolio_day(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                delivery_day="text",
            )
        """

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
        """Plan a stage of a delivery day for a virtual asset.

        Trades, or capacity to offer, of the stage that is asked for, of the next one unasked. What is proposed can be
        run by the battery with its reserves, promises and cycles as they stand, in lots of 0.1 MW. To act on it, order
        `schedule` or `reserves` with `ifMatch`, `minimumSurplus` and `atAnyPrice`.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            delivery_day: Market day: a calendar day in Europe/Berlin
            stage: The stage; the next one when left out
            fee: Fee of the exchange, EUR/MWh traded; 0.1 when left out
            hurdle: Least that a trade of an intraday auction must earn, EUR/MWh; 2 when left out
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Note:
            Of the next stage when none is named; order it with its `if_match`, `minimum_surplus` and `at_any_price`.

        Example:
            client.markets.plan(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                delivery_day="2026-03-29",
            )
        """

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
    ) -> PortfolioMarketPlan:
        """Plan a stage of a delivery day for a portfolio.

        Each asset of the portfolio that lives on the day by itself, at most fifty.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
            delivery_day: Market day: a calendar day in Europe/Berlin
            stage: The stage; the next one when left out
            fee: Fee of the exchange, EUR/MWh traded; 0.1 when left out
            hurdle: Least that a trade of an intraday auction must earn, EUR/MWh; 2 when left out
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Example:
            client.markets.plan_portfolio(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                delivery_day="2026-03-29",
            )
        """

    @operation("POST", "/organisations/{organisationID}/orders")
    def order(
        self,
        organisation_id: ID,
        body: Sequence[inputs.Order] | Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> list[PlacedOrder]:
        """Place orders.

        All of them or none. An order is executed as a whole where its surplus, Σ price × volume − fee × Σ|volume|, is
        at least `minimumSurplus`, or at any price where it says so. `ifMatch` is the ETag of the asset's markets of
        that day. An order at a stage replaces the one that stands there. Reserves hold power and energy from now on
        until their result. With `apply`, which needs `Update:schedules` too, the result puts the position into the
        schedule.

        Args:
            organisation_id: The organisation
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Example:
            client.markets.order(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                [{'virtualAssetID': '01890a5d-ac96-774b-bcce-b302099a8057',
                  'stage': 'IDA1',
                  'deliveryDay': '2026-03-29',
                  'ifMatch': '812-4-1a2b3c4d',
                  'minimumSurplus': 0,
                  'atAnyPrice': False,
                  'fee': 0.1,
                  'apply': False}],
            )
        """

    @collection("/organisations/{organisationID}/orders")
    def orders(
        self,
        organisation_id: ID,
        *,
        delivery_day: date | str | None = None,
        stage: Stage | None = None,
        page_size: int | None = None,
    ) -> Order:
        """List orders.

        In the order in which they were placed.

        Args:
            organisation_id: The organisation
            delivery_day: Only this market day
            stage: Stage of the delivery day
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/organisations/{organisationID}/orders/{orderID}")
    def get(self, organisation_id: ID, order_id: ID) -> Order:
        """Read an order.

        With its result, once it has one.

        Args:
            organisation_id: The organisation
            order_id: The order
        """

    @operation("DELETE", "/organisations/{organisationID}/orders/{orderID}")
    def cancel(self, organisation_id: ID, order_id: ID, *, if_match: str | None = None) -> None:
        """Cancel an order.

        Until the gate of its stage. What it held is free again; cancelling it again changes nothing.

        Args:
            organisation_id: The organisation
            order_id: The order
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("GET", "/orders")
    def waiting(self, *, stage: Stage | None = None, delivery_day: date | str | None = None) -> list[Order]:
        """List the orders that wait for their results.

        For the operator, who executes them. With `stage` and `delivery-day` the list is complete once the gate has
        passed. Each read is in the audit log. As CSV a line for each quarter-hour or reserve.

        Args:
            stage: Stage of the delivery day
            delivery_day: Only this market day
        """

    @operation("POST", "/orders/results")
    def record_results(
        self,
        body: Sequence[inputs.OrderResult] | Sequence[Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> list[OrderResult]:
        """Record results of orders.

        All or nothing, by the operator. A result books its trades, or carves out what was accepted with a provisional
        award; with `apply` it schedules the position. The same again changes nothing; another one needs `correction`.

        Args:
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Example:
            client.markets.record_results(
                [{'orderID': '01890a5d-ac96-774b-bcce-b302099a8060', 'executed': True, 'correction': False}],
            )
        """
