"""Virtual batteries, their blocks and portfolios."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from gridloom_client import inputs
from gridloom_client.answers import (
    AcceptedAssetSchedule,
    Adjustment,
    AssetSchedule,
    Block,
    DataPoints,
    LatestStateOfEnergy,
    Portfolio,
    PositionPoint,
    ScheduledAsset,
    ScheduledBlock,
    ScheduleVersion,
    StateOfCharge,
    StateOfEnergy,
    VirtualAsset,
)
from gridloom_client.frames import Frame, Rows
from gridloom_client.inputs import NewVirtualAsset, Point
from gridloom_client.literals import Market
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import PagedWindow, PagedWindowAsOf, Window, WindowAsOf
from gridloom_client.wire import ID, UNSET, UnsetType

Schedule: TypeAlias = Sequence[Point] | Sequence[Mapping[str, Any]] | Frame
"""Points, mappings `{time, power}`, or a frame with these columns (or an index of times)."""

AcceptedSchedules: TypeAlias = list[AcceptedAssetSchedule]  # in the class `list` is a method


class VirtualAssets(Resource[M]):
    """Power in kW, export positive; energy in kWh."""

    @collection("/organisations/{organisationID}/virtual-assets")
    def list(self, organisation_id: ID, **window: Unpack[PagedWindow]) -> VirtualAsset: ...

    @operation("POST", "/organisations/{organisationID}/virtual-assets")
    def allocate(self, organisation_id: ID, body: NewVirtualAsset | Mapping[str, Any]) -> VirtualAsset:
        """Operator only: outside an auction."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}")
    def get(self, organisation_id: ID, virtual_asset_id: ID) -> VirtualAsset: ...

    @operation("PATCH", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}")
    def change(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        name: str | None = None,
        portfolio_id: ID | None = None,
        if_match: str | None = None,
    ) -> VirtualAsset:
        """By its holder: another name or portfolio."""

    @operation("DELETE", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}")
    def undo_allocation(self, organisation_id: ID, virtual_asset_id: ID, *, if_match: str | None = None) -> None:
        """Operator only: before its first gate closes, while nothing is traded on it."""

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks")
    def blocks(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[PagedWindowAsOf]) -> Block:
        """With their schedules; as they were known at `as_of`, if given."""

    @operation("POST", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks")
    def create_block(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        start: datetime,
        end: datetime,
        market: Market,
        rated_charge_power: float,
        rated_discharge_power: float,
    ) -> Block:
        """Carved out of the wholesale blocks that cover it."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks/{blockID}")
    def block(self, organisation_id: ID, virtual_asset_id: ID, block_id: ID, **window: Unpack[WindowAsOf]) -> Block: ...

    @operation(
        "PUT",
        "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks/{blockID}",
        query=("start", "end"),
    )
    def set_schedule(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        block_id: ID,
        *,
        schedule: Schedule,
        if_match: str | None = None,
        **window: Unpack[Window],
    ) -> ScheduledBlock:
        """Replaces the given periods, all or none; `start` and `end` say which window to answer."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/schedule")
    def asset_schedule(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[Window]) -> AssetSchedule:
        """The power of all wholesale blocks together; its `id` is the asset's."""

    @operation(
        "PUT",
        "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/schedule",
        query=("start", "end"),
    )
    def set_asset_schedule(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        schedule: Schedule,
        if_match: str | None = None,
        **window: Unpack[Window],
    ) -> ScheduledAsset:
        """Replaces the given periods on all wholesale blocks, in proportion of their power, all or none."""

    @operation("DELETE", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks/{blockID}")
    def delete_block(
        self, organisation_id: ID, virtual_asset_id: ID, block_id: ID, *, if_match: str | None = None
    ) -> None: ...

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-charge")
    def state_of_charge(
        self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]
    ) -> Rows[StateOfCharge]: ...

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/position")
    def position(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]) -> Rows[PositionPoint]:
        """Traded against delivered energy, in MWh."""

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-energy/latest")
    def state_of_energy(
        self, organisation_id: ID, virtual_asset_id: ID, *, as_of: datetime | None = None
    ) -> LatestStateOfEnergy: ...

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-energy/projected")
    def projected_state_of_energy(
        self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]
    ) -> Rows[StateOfEnergy]: ...

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/operational")
    def operational(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        categories: Sequence[str] | None = None,
        **window: Unpack[WindowAsOf],
    ) -> DataPoints: ...

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/adjustments")
    def adjustments(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[PagedWindow]) -> Adjustment: ...

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/schedule-history")
    def schedule_history(
        self, organisation_id: ID, virtual_asset_id: ID, *, version: int | None = None, **window: Unpack[PagedWindow]
    ) -> ScheduleVersion:
        """Every accepted change: who, when, what."""

    # --- portfolios ---

    @collection("/organisations/{organisationID}/portfolios")
    def portfolios(self, organisation_id: ID, *, page_size: int | None = None) -> Portfolio: ...

    @operation("POST", "/organisations/{organisationID}/portfolios")
    def create_portfolio(
        self, organisation_id: ID, *, name: str, virtual_asset_ids: Sequence[ID] | None = None
    ) -> Portfolio: ...

    @operation("GET", "/organisations/{organisationID}/portfolios/{portfolioID}")
    def portfolio(self, organisation_id: ID, portfolio_id: ID) -> Portfolio: ...

    @operation("PATCH", "/organisations/{organisationID}/portfolios/{portfolioID}")
    def update_portfolio(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        name: str | UnsetType = UNSET,
        virtual_asset_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Portfolio: ...

    @operation("PUT", "/organisations/{organisationID}/portfolios/{portfolioID}/schedules")
    def set_portfolio_schedules(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        schedules: Sequence[inputs.AssetSchedule] | Sequence[Mapping[str, Any]],
    ) -> AcceptedSchedules:
        """Each `{virtualAssetID, ifMatch, schedule}`: all assets or none."""
