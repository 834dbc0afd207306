"""Schedules proposed for virtual assets and portfolios; nothing here changes one."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gridloom_client.answers import Optimisation, PortfolioOptimisation, Repair
from gridloom_client.inputs import CapacityPrice, Prices
from gridloom_client.literals import EndStateOfCharge, Market, RepairObjective
from gridloom_client.operations import M, Resource, operation
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
        start: datetime | None = None,
        end: datetime | None = None,
        markets: Sequence[Market] | None = None,
        end_state_of_charge: EndStateOfCharge | None = None,
        keep: Sequence[ID] | None = None,
        exact: bool | None = None,
        capacity_prices: Sequence[CapacityPrice] | Sequence[Mapping[str, Any]] | None = None,
        idempotency_key: str | None = None,
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
        start: datetime | None = None,
        end: datetime | None = None,
        import_limit: float | None = None,
        export_limit: float | None = None,
        end_state_of_charge: EndStateOfCharge | None = None,
        exact: bool | None = None,
        idempotency_key: str | None = None,
    ) -> PortfolioOptimisation: ...
