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
    def list(self, organisation_id: ID, **window: Unpack[PagedWindow]) -> VirtualAsset:
        """List virtual assets.

        The organisation's virtual assets, those whose life overlaps `start` to `end` where given.

        Args:
            organisation_id: The organisation
            start: Only those whose life ends after this instant
            end: Only those whose life starts before this instant
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/organisations/{organisationID}/virtual-assets")
    def allocate(self, organisation_id: ID, body: NewVirtualAsset | Mapping[str, Any]) -> VirtualAsset:
        """Allocate a virtual asset directly.

        Outside an auction, by the operator. The asset is born with one wholesale block over its whole life, idle. The
        backing assets must have the capacity free over the whole window; 409 says what is taken. The caller's
        organisation needs `Update:schedules` on each of them.

        Args:
            organisation_id: The organisation
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Example:
            client.virtual_assets.allocate(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                {'name': 'Elbe 20 MW',
                 'start': '2026-03-29T00:00:00Z',
                 'end': '2026-03-30T00:00:00Z',
                 'deliveryZone': 'TenneT',
                 'ratedChargePower': 10000,
                 'ratedDischargePower': 10000,
                 'energyCapacity': 20000,
                 'chargeEfficiency': 0.94,
                 'dischargeEfficiency': 0.94,
                 'backing': [{'physicalAssetID': '01890a5d-ac96-774b-bcce-b302099a8057', 'share': 1}],
                 'portfolioID': '01890a5d-ac96-774b-bcce-b302099a8057',
                 'dailyCycleLimit': 2,
                 'annualCycleLimit': 600,
                 'rampRate': 1000,
                 'dispatchGateClosureSeconds': 480,
                 'initialStateOfChargePercentage': 50,
                 'finalSoCTolerance': 0.01},
            )
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}")
    def get(self, organisation_id: ID, virtual_asset_id: ID) -> VirtualAsset:
        """Read a virtual asset.

        With its blocks, its backing and the imbalance at the end of its life by the current schedules.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
        """

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
        """Rename a virtual asset or move it to a portfolio.

        By its holder. What is left out stays; `portfolioID: null` takes it out of its portfolio.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            name: Name of the virtual asset, in one line
            portfolio_id: Its portfolio; null takes it out
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}")
    def undo_allocation(self, organisation_id: ID, virtual_asset_id: ID, *, if_match: str | None = None) -> None:
        """Undo an allocation.

        By the operator, before the asset's first gate closes, while nothing is traded on it, and unless it was won in
        an auction. Its batteries have the capacity free again.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks")
    def blocks(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[PagedWindowAsOf]) -> Block:
        """List blocks.

        All blocks in the order of time, each with its schedule and capacity in the window.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was known at this instant; left out: now
            page_size: How many items are fetched at a time
        """

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
        """Carve out a block.

        Cut a block out of the wholesale blocks that cover its window. Each of those keeps the rest: its earliest piece
        keeps the id, further pieces get new ones. A new wholesale block takes over what of their schedules no longer
        fits beside it; for the other markets, whose blocks are the market's four-hour products, a schedule in the way
        is 409.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start, inclusive
            end: End, exclusive
            market: Market that the block is for
            rated_charge_power: Charge power to carve out, kW
            rated_discharge_power: Discharge power to carve out, kW

        Example:
            client.virtual_assets.create_block(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-30T00:00:00+00:00"),
                market="WHOLESALE",
                rated_charge_power=10000,
                rated_discharge_power=10000,
            )
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks/{blockID}")
    def block(self, organisation_id: ID, virtual_asset_id: ID, block_id: ID, **window: Unpack[WindowAsOf]) -> Block:
        """Read a block.

        The block with its schedule and capacity in the window; as a table, one row for each quarter-hour. `as-of` asks
        for the block and its schedule as they stood at that instant; capacity is always the present one.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            block_id: The block
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was known at this instant; left out: now
        """

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
        """Schedule a block.

        Replace exactly the periods given, all or nothing. An end state away from the target is accepted and reported as
        `imbalance`. The answer shows the periods from the first to the last one given, at most a week of them, or the
        window asked for with `start` and `end`.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            block_id: The block
            schedule: Power by quarter-hour
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
            start: Start of the window in the answer, inclusive; the first period given when left out
            end: End of the window in the answer, exclusive; the last period given, or a week later, when left out

        Example:
            client.virtual_assets.set_schedule(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                schedule=[{'time': '2026-03-29T00:00:00Z', 'power': 5000}],
            )
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/schedule")
    def asset_schedule(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[Window]) -> AssetSchedule:
        """Read an asset's schedule.

        The power of all its wholesale blocks together, and what they can do, in the window; as a table, one row for
        each quarter-hour.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
        """

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
        """Schedule an asset.

        Replace exactly the periods given, all or nothing, on all wholesale blocks together. The power of each period is
        spread over the blocks that cover it, in proportion of their power in its direction. The answer is that of a
        block's schedule: an end state away from the target is reported as `imbalance`.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            schedule: Power by quarter-hour
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
            start: Start of the window in the answer, inclusive; the first period given when left out
            end: End of the window in the answer, exclusive; the last period given, or a week later, when left out

        Example:
            client.virtual_assets.set_asset_schedule(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                schedule=[{'time': '2026-03-29T00:00:00Z', 'power': 5000}],
            )
        """

    @operation("DELETE", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/blocks/{blockID}")
    def delete_block(
        self, organisation_id: ID, virtual_asset_id: ID, block_id: ID, *, if_match: str | None = None
    ) -> None:
        """Give a block back.

        Its power returns to the wholesale blocks beside it, and pieces that the carving had cut apart become one again.
        A wholesale block hands its schedule over with its power; the asset's power never changes.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            block_id: The block
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-charge")
    def state_of_charge(
        self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]
    ) -> Rows[StateOfCharge]:
        """Read the state of charge.

        At the start of each quarter-hour, in percent of the rated energy capacity, from all schedules together. `as-of`
        asks for it by the schedules and settled activations that were known at that instant; capacity is always the
        present one.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive
            end: End of the window, exclusive
            as_of: As it was known at this instant; left out: now
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/position")
    def position(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]) -> Rows[PositionPoint]:
        """Read the open position.

        Traded against delivered energy, in each quarter-hour of its life that starts in the window. Cuts that are known
        to come count as made. An open volume costs the published imbalance price (`REBAP_DE`). As of an earlier instant
        only what was recorded until then counts, and no cut that was still to come.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was known at this instant of the platform's clock; now when left out
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-energy/latest")
    def state_of_energy(
        self, organisation_id: ID, virtual_asset_id: ID, *, as_of: datetime | None = None
    ) -> LatestStateOfEnergy:
        """Read the stored energy now.

        Now by the platform's clock; before the asset's life as it starts, after it as it ended. `as-of` asks for that
        of an earlier instant, by what was known then.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            as_of: As it was known at this instant; left out: now
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/state-of-energy/projected")
    def projected_state_of_energy(
        self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[WindowAsOf]
    ) -> Rows[StateOfEnergy]:
        """Read the stored energy to come.

        At the start of each quarter-hour, in kWh; left out, `start` is now and `end` the end of the asset's life. Cuts
        that are known to come count: of lost availability, of cycle limits, and of what the store then cannot give or
        take. A period that will be cut carries `expectedCut`. `as-of` asks for it as it was known at that instant,
        which is where `start` then is when it is left out.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive
            end: End of the window, exclusive
            as_of: As it was known at this instant; left out: now
        """

    @operation("GET", "/organisations/{organisationID}/virtual-assets/{virtualAssetID}/operational")
    def operational(
        self,
        organisation_id: ID,
        virtual_asset_id: ID,
        *,
        categories: Sequence[str] | None = None,
        **window: Unpack[WindowAsOf],
    ) -> DataPoints:
        """Read operational series.

        Quarter-hour series of what the asset is rated for, has available, can deliver and has cycled. `as-of` as for
        the state of charge: by the schedules and activations that were known then.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            categories: Names of series, separated by commas; all when left out
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was known at this instant; left out: now
        """

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/adjustments")
    def adjustments(self, organisation_id: ID, virtual_asset_id: ID, **window: Unpack[PagedWindow]) -> Adjustment:
        """List adjustments.

        Quarter-hours that were cut when their gates closed, in the order of time.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            start: Start of the window, inclusive; the start of life when left out
            end: End of the window, exclusive; the end of life when left out
            page_size: How many items are fetched at a time
        """

    @collection("/organisations/{organisationID}/virtual-assets/{virtualAssetID}/schedule-history")
    def schedule_history(
        self, organisation_id: ID, virtual_asset_id: ID, *, version: int | None = None, **window: Unpack[PagedWindow]
    ) -> ScheduleVersion:
        """List schedule versions.

        Every accepted version, the newest first: who made it, when, and which periods it set on which block. As a
        table, one row for each period that a version set. The schedule as it stood at an instant is read from the
        blocks, with `as-of`.

        Args:
            organisation_id: The organisation
            virtual_asset_id: The virtual asset
            version: Only this version, with all its periods
            start: Only versions accepted at this instant or later
            end: Only versions accepted before this instant
            page_size: How many items are fetched at a time
        """

    # --- portfolios ---

    @collection("/organisations/{organisationID}/portfolios")
    def portfolios(self, organisation_id: ID, *, page_size: int | None = None) -> Portfolio:
        """List portfolios.

        Of one organisation, in the order in which they were created.

        Args:
            organisation_id: The organisation
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/organisations/{organisationID}/portfolios")
    def create_portfolio(
        self, organisation_id: ID, *, name: str, virtual_asset_ids: Sequence[ID] | None = None
    ) -> Portfolio:
        """Create a portfolio.

        A group of the organisation's virtual assets. An asset that is in another portfolio moves over.

        Args:
            organisation_id: The organisation
            name: Name of the portfolio, in one line
            virtual_asset_ids: The virtual assets in it

        Example:
            client.virtual_assets.create_portfolio("01890a5d-ac96-774b-bcce-b302099a8057", name="Day-ahead")
        """

    @operation("GET", "/organisations/{organisationID}/portfolios/{portfolioID}")
    def portfolio(self, organisation_id: ID, portfolio_id: ID) -> Portfolio:
        """Read a portfolio.

        With the identifiers of its virtual assets.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
        """

    @operation("PATCH", "/organisations/{organisationID}/portfolios/{portfolioID}")
    def update_portfolio(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        name: str | UnsetType = UNSET,
        virtual_asset_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Portfolio:
        """Rename or refill a portfolio.

        A list of assets replaces the one before; those left out are in no portfolio then.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
            name: Name of the portfolio, in one line
            virtual_asset_ids: The virtual assets in it
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("PUT", "/organisations/{organisationID}/portfolios/{portfolioID}/schedules")
    def set_portfolio_schedules(
        self,
        organisation_id: ID,
        portfolio_id: ID,
        *,
        schedules: Sequence[inputs.AssetSchedule] | Sequence[Mapping[str, Any]],
    ) -> AcceptedSchedules:
        """Schedule a portfolio's assets.

        Replace exactly the periods given of each asset, or of none. Each asset names the ETag that was read. A refusal
        lists the assets at fault under `assets`, each with its problem, and those that have changed meanwhile with
        their present `etag`. Its status is the first of 412, 409 and 422 that occurs.

        Args:
            organisation_id: The organisation
            portfolio_id: The portfolio
            schedules: The schedule of each asset

        Note:
            Each `{virtualAssetID, ifMatch, schedule}`: all assets or none.

        Example:
            client.virtual_assets.set_portfolio_schedules(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                schedules=[{'virtualAssetID': '01890a5d-ac96-774b-bcce-b302099a8057',
                  'schedule': [{'time': '2026-03-29T00:00:00Z', 'power': 5000}],
                  'ifMatch': '812-4-1a2b3c4d'}],
            )
        """
