"""Installed batteries: parameters, schedules, bids, metadata, logbook, unavailabilities, notifications."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Unpack

from gridloom_client.answers import (
    Acknowledgement,
    AncillaryEntry,
    AncillaryResults,
    Availability,
    ChangedUnavailability,
    Commitments,
    DeliveryPerformance,
    Dispatch,
    ExchangeNotification,
    Fleet,
    Grant,
    Health,
    LogbookEntry,
    Parameters,
    PhysicalAsset,
    Schedule,
    Unavailability,
    UnavailabilityPreview,
)
from gridloom_client.frames import Frame, Rows
from gridloom_client.inputs import (
    Notification,
    NotificationRevision,
    ParametersVersion,
    Point,
    ProductBids,
    ProductResults,
    Volume,
)
from gridloom_client.inputs import Parameters as NewParameters
from gridloom_client.literals import (
    AcknowledgementStatus,
    AssetStatus,
    BidStatus,
    DeliveryZone,
    DocumentFormat,
    LogbookImpact,
    LogbookSource,
    MetadataCategory,
    NotificationStatus,
    Permission,
    UnavailabilityKind,
)
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.resources.queries import LogbookText, MissingCapacity, PagedWindow, Window, WindowAsOf
from gridloom_client.response_types import Record
from gridloom_client.wire import ID, UNSET, UnsetType


class PhysicalAssets(Resource[M]):
    """Power in kW, export positive; energy in kWh."""

    @collection("/physical-assets")
    def list(
        self, *, organisation_id: ID | None = None, fleet_id: ID | None = None, page_size: int | None = None
    ) -> PhysicalAsset:
        """List the assets you may read.

        Those that your organisation owns and those it holds a grant on, in the order of registration.

        Args:
            organisation_id: Only those of this organisation
            fleet_id: Only assets of this fleet
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/physical-assets")
    def create(
        self,
        *,
        name: str,
        organisation_id: ID,
        delivery_zone: DeliveryZone,
        parameters: NewParameters | Mapping[str, Any],
        control_area: DeliveryZone | None = None,
        eic_code: str | None = None,
        commissioned_on: date | None = None,
        fleet_id: ID | None = None,
    ) -> PhysicalAsset:
        """Register an asset.

        For your own organisation, or, as the platform's operator, for any; the operator then holds a revocable grant.
        The parameters hold from the day of commissioning; without such a day they have always held.

        Args:
            name: Name of the battery, in one line
            organisation_id: Organisation that owns it
            delivery_zone: Control area in which it delivers
            parameters: Ratings
            control_area: Control area of the transmission system operator
            eic_code: Energy Identification Code, 16 characters with its check character
            commissioned_on: The day it went into service
            fleet_id: The fleet

        Example:
            client.physical_assets.create(
                name="Elbe 20 MW",
                organisation_id="01890a5d-ac96-774b-bcce-b302099a8057",
                delivery_zone="TenneT",
                parameters={'ratedChargePower': 10000,
                 'ratedDischargePower': 10000,
                 'energyCapacity': 20000,
                 'chargeEfficiency': 0.94,
                 'dischargeEfficiency': 0.94,
                 'minStateOfCharge': 0.05,
                 'maxStateOfCharge': 0.95,
                 'rampRate': 1000,
                 'dailyCycleLimit': 2,
                 'annualCycleLimit': 600,
                 'fcrLimitRatio': 0.8},
            )
        """

    @operation("GET", "/physical-assets/{physicalAssetID}")
    def get(self, physical_asset_id: ID) -> PhysicalAsset:
        """Read an asset.

        With the parameters in force now. Where another organisation owns it, a grant is needed.

        Args:
            physical_asset_id: The physical asset
        """

    @operation("PATCH", "/physical-assets/{physicalAssetID}")
    def update(
        self,
        physical_asset_id: ID,
        *,
        name: str | UnsetType = UNSET,
        delivery_zone: DeliveryZone | UnsetType = UNSET,
        control_area: DeliveryZone | UnsetType = UNSET,
        eic_code: str | UnsetType | None = UNSET,
        commissioned_on: date | UnsetType | None = UNSET,
        fleet_id: ID | UnsetType | None = UNSET,
        status: AssetStatus | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> PhysicalAsset:
        """Change an asset.

        Fields that are left out stay as they are. Ratings change with `PUT …/parameters`. An asset is set `INACTIVE` or
        `DECOMMISSIONED` when it has nothing promised any more, or when an unavailability of its whole volume covers all
        of that; it takes on nothing new.

        Args:
            physical_asset_id: The physical asset
            name: Name of the battery, in one line
            delivery_zone: Control area in which it delivers
            control_area: Control area of the transmission system operator
            eic_code: Energy Identification Code, 16 characters with its check character
            commissioned_on: The day it went into service
            fleet_id: The fleet
            status: Status of the battery: only an ACTIVE one takes bids and schedules
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    # --- parameters and schedule ---

    @operation("GET", "/physical-assets/{physicalAssetID}/parameters")
    def parameters(self, physical_asset_id: ID, *, at: datetime | None = None) -> Parameters:
        """Read the parameters in force.

        Those in force at `at`; without it those in force now, or, before the first come into force, the first.

        Args:
            physical_asset_id: The physical asset
            at: Instant at which the version is in force; now when left out
        """

    @operation("PUT", "/physical-assets/{physicalAssetID}/parameters", query=("at",))
    def set_parameters(
        self,
        physical_asset_id: ID,
        body: ParametersVersion | Mapping[str, Any],
        *,
        at: datetime | None = None,
        if_match: str | None = None,
    ) -> Parameters:
        """Add a version of the parameters.

        Holds from `validFrom` (or `at`; now, when both are left out) until a version with a later one. Nothing recorded
        before is changed. `If-Match` takes the ETag of the latest version. What was offered or scheduled and no longer
        fits shows in the asset's health.

        Args:
            physical_asset_id: The physical asset
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            at: Instant at which the version is in force; now when left out
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.physical_assets.set_parameters(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                {'ratedChargePower': 10000,
                 'ratedDischargePower': 10000,
                 'energyCapacity': 20000,
                 'chargeEfficiency': 0.94,
                 'dischargeEfficiency': 0.94,
                 'minStateOfCharge': 0.05,
                 'maxStateOfCharge': 0.95,
                 'rampRate': 1000,
                 'dailyCycleLimit': 2,
                 'annualCycleLimit': 600,
                 'fcrLimitRatio': 0.8,
                 'validFrom': '2026-03-29T00:00:00Z'},
            )
        """

    @collection("/physical-assets/{physicalAssetID}/parameters/history")
    def parameters_history(self, physical_asset_id: ID, *, page_size: int | None = None) -> Parameters:
        """List all versions of the parameters.

        As they were recorded, the latest first.

        Args:
            physical_asset_id: The physical asset
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/schedule")
    def schedule(self, physical_asset_id: ID, **window: Unpack[Window]) -> Schedule:
        """Read the schedule.

        The scheduled periods of the window, in order; as a table with the columns `time` and `power` where asked for.

        Args:
            physical_asset_id: The physical asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
        """

    @operation("PUT", "/physical-assets/{physicalAssetID}/schedule", query=("start", "end"))
    def set_schedule(
        self,
        physical_asset_id: ID,
        *,
        schedule: Sequence[Point] | Sequence[Mapping[str, Any]] | Frame,
        if_match: str | None = None,
        **window: Unpack[Window],
    ) -> Schedule:
        """Replace periods of the schedule.

        The owner's own use of the asset. Exactly the periods given are replaced, all of them or none, before they
        start. Power must be available in its period (422), and it and the energy that the market day's schedule swings
        through must be free of what others hold (409). With `start` and `end`, a period outside that window is refused.

        Args:
            physical_asset_id: The physical asset
            schedule: Power by quarter-hour
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out

        Example:
            client.physical_assets.set_schedule(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                schedule=[{'time': '2026-03-29T00:00:00Z', 'power': 5000}],
            )
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/availability")
    def availability(self, physical_asset_id: ID, **window: Unpack[Window]) -> Availability:
        """Read what the asset can do.

        Rated and available power and energy in every delivery period that the window touches. Overlapping
        unavailabilities add up, capped at the rating. A period can do what its worst instant can do.

        Args:
            physical_asset_id: The physical asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/commitments")
    def commitments(self, physical_asset_id: ID, **window: Unpack[Window]) -> Commitments:
        """Read what is held of an asset and what is free.

        Its book in every delivery period that the window touches: what is rated and available, what virtual assets,
        auctions, balancing capacity and the own schedule hold of it, and what is free. Nothing is sold twice: whatever
        takes some is validated against this book. The asset's owner and the platform's operator also see who holds
        what.

        Args:
            physical_asset_id: The physical asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/dispatch")
    def dispatch(self, physical_asset_id: ID, **window: Unpack[WindowAsOf]) -> Dispatch:
        """Read what the battery must do.

        The planned quarter-hours of the window, each with its power and what that is for. A quarter-hour is final when
        the last gate of its delivery zone has closed; before that it is a plan, which reaches to the end of the next
        market day. `acknowledgement` is what the site said last of a quarter-hour. `as-of` answers what was planned at
        an earlier instant. As a table, the parts of each kind are added up.

        Args:
            physical_asset_id: The physical asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was planned at this instant; now when left out
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/dispatch/acknowledgements")
    def acknowledge_dispatch(
        self,
        physical_asset_id: ID,
        version: int,
        time: datetime | str,
        status: AcknowledgementStatus,
        at: datetime | str,
        reason: str | None = None,
    ) -> Acknowledgement:
        """Acknowledge the dispatch of a quarter-hour.

        From the site: what became of the dispatch of one quarter-hour. `REJECTED` and `NOT_FOLLOWED` are written into
        the battery's logbook. The same statement again (version, time, status and `at`) changes nothing and is answered
        as before.

        Args:
            physical_asset_id: The physical asset
            version: Version of the dispatch that is meant
            time: Start of the quarter-hour
            status: Status of the dispatch at the site
            at: When the site did what it says, by its own clock
            reason: Why, in the site's words

        Example:
            client.physical_assets.acknowledge_dispatch(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                1,
                datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                "APPLIED",
                datetime.fromisoformat("2026-03-29T00:00:05+00:00"),
            )
        """

    @collection("/physical-assets/{physicalAssetID}/dispatch/acknowledgements")
    def dispatch_acknowledgements(self, physical_asset_id: ID, **window: Unpack[PagedWindow]) -> Acknowledgement:
        """List acknowledgements of dispatch.

        The latest quarter-hour first, within it what was recorded last. `start` and `end` bound the quarter-hours.

        Args:
            physical_asset_id: The physical asset
            start: Start, inclusive
            end: End, exclusive
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/performance")
    def performance(self, physical_asset_id: ID, **window: Unpack[WindowAsOf]) -> DeliveryPerformance:
        """Read what was delivered of what was asked.

        Telemetry (`active_power`, `reserve_power`, `state_of_charge`) against the dispatch, for each quarter-hour that
        was planned. A sample holds until the next, at most five minutes or three times the day's median step, whichever
        is longer, and never past its quarter-hour. The rest of a quarter-hour counts as dispatched.

        Args:
            physical_asset_id: The physical asset
            start: Start of the window, inclusive; 24 hours ago when left out
            end: End of the window, exclusive; 48 hours ahead when left out
            as_of: As it was known at this instant of the platform's clock; now when left out
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/health")
    def health(self, physical_asset_id: ID) -> Health:
        """Read how an asset is doing.

        From its status, what is unavailable now, how fresh its telemetry is, and whether what was offered and scheduled
        still fits what will be available. The worst of the checks decides.

        Args:
            physical_asset_id: The physical asset
        """

    # --- ancillary bids and results ---

    @operation("POST", "/physical-assets/{physicalAssetID}/ancillary/bids")
    def offer(
        self, physical_asset_id: ID, body: Sequence[ProductBids] | Sequence[Mapping[str, Any]]
    ) -> Rows[AncillaryEntry]:
        """Place bids.

        All of them or none. The bids for a product are its price steps: together they replace what stood for it, which
        is stored as history. What they offer must be free of the battery, with the energy that serves it.

        Args:
            physical_asset_id: The physical asset
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Note:
            Entries of `{deliveryDay, product, bids: [{capacityPrice, offeredCapacity, energyPrice?}]}`.

        Example:
            client.physical_assets.offer(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                [{'deliveryDay': '2026-03-29',
                  'product': 'NEGPOS_00_04',
                  'bids': [{'capacityPrice': 66.86,
                            'offeredCapacity': 5000,
                            'id': '01890a5d-ac96-774b-bcce-b302099a8057'}]}],
            )
        """

    @collection("/physical-assets/{physicalAssetID}/ancillary/bids")
    def ancillary_bids(
        self,
        physical_asset_id: ID,
        *,
        delivery_day: date | None = None,
        product: str | None = None,
        status: BidStatus | None = None,
        page_size: int | None = None,
    ) -> AncillaryEntry:
        """List bids.

        Product by product, the latest delivery day first; `limit` counts products.

        Args:
            physical_asset_id: The physical asset
            delivery_day: Only this market day
            product: Only this product
            status: Only bids of this status
            page_size: How many items are fetched at a time
        """

    @operation("DELETE", "/physical-assets/{physicalAssetID}/ancillary/bids/{bidID}")
    def withdraw_offer(self, physical_asset_id: ID, bid_id: ID, *, if_match: str | None = None) -> None:
        """Withdraw a bid.

        Before its gate closes. The bid is stored as `WITHDRAWN`; withdrawing it again changes nothing.

        Args:
            physical_asset_id: The physical asset
            bid_id: The bid
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/ancillary/bids-without-result")
    def bids_without_result(self, physical_asset_id: ID, *, product_keys: Sequence[str]) -> Rows[AncillaryEntry]:
        """Read the bids that wait for their result.

        One entry per distinct product key, in the order asked; a key for which no bid waits has an empty list.

        Args:
            physical_asset_id: The physical asset
            product_keys: Comma-separated product keys `<delivery_day>_<product>`, up to 200 distinct ones

        Note:
            One entry per key, such as `2026-03-29_NEGPOS_00_04`, in the order asked.

        Example:
            client.physical_assets.bids_without_result("01890a5d-ac96-774b-bcce-b302099a8057", product_keys="text")
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/ancillary/bids-by-product-keys")
    def bids_by_product_keys(self, physical_asset_id: ID, *, product_keys: Sequence[str]) -> Rows[AncillaryEntry]:
        """Read all bids for some products.

        One entry per distinct product key, in the order asked, with every bid ever made for it. An aFRR energy product
        without a bid of its own lists the accepted aFRR capacity bid that counts for it.

        Args:
            physical_asset_id: The physical asset
            product_keys: Comma-separated product keys `<delivery_day>_<product>`, up to 200 distinct ones

        Example:
            client.physical_assets.bids_by_product_keys("01890a5d-ac96-774b-bcce-b302099a8057", product_keys="text")
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/ancillary/results")
    def report_results(
        self, physical_asset_id: ID, body: Sequence[ProductResults] | Sequence[Mapping[str, Any]]
    ) -> Rows[AncillaryResults]:
        """Record results.

        All of them or none. The same result again changes nothing; another one needs `correction: true`, and what it
        corrects is stored in the audit log. What was not accepted is free again; a correction that takes more must find
        it free.

        Args:
            physical_asset_id: The physical asset
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Note:
            Entries of `{deliveryDay, product, results: [{bidID, accepted, acceptedCapacity, settlementPrice?}]}`.

        Example:
            client.physical_assets.report_results(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                [{'deliveryDay': '2026-03-29',
                  'product': 'NEGPOS_00_04',
                  'results': [{'bidID': '01890a5d-ac96-774b-bcce-b302099a8057',
                               'accepted': True,
                               'acceptedCapacity': 5000,
                               'settlementPrice': 66.86,
                               'correction': False}],
                  'correction': False}],
            )
        """

    @collection("/physical-assets/{physicalAssetID}/ancillary/results")
    def results(
        self,
        physical_asset_id: ID,
        *,
        delivery_day: date | None = None,
        product: str | None = None,
        page_size: int | None = None,
    ) -> AncillaryResults:
        """List results.

        Product by product, the latest delivery day first, each result as it is known now; `limit` counts products.

        Args:
            physical_asset_id: The physical asset
            delivery_day: Only this market day
            product: Only this product
            page_size: How many items are fetched at a time
        """

    # --- metadata and logbook ---

    @operation("GET", "/physical-assets/{physicalAssetID}/metadata")
    def metadata(self, physical_asset_id: ID) -> Record:
        """Read all metadata.

        Every category at once; the fields of one that was never put are empty.

        Args:
            physical_asset_id: The physical asset
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/metadata/{category}")
    def metadata_of(self, physical_asset_id: ID, category: MetadataCategory) -> Record:
        """Read one category of metadata.

        In the shape in which it is put.

        Args:
            physical_asset_id: The physical asset
            category: Category of the metadata
        """

    @operation("PUT", "/physical-assets/{physicalAssetID}/metadata/{category}")
    def set_metadata(
        self, physical_asset_id: ID, category: MetadataCategory, body: Mapping[str, Any], *, if_match: str | None = None
    ) -> Record:
        """Replace one category of metadata.

        Codes are checked as the industry gives them; what has no field of its own goes into `extra`.

        Args:
            physical_asset_id: The physical asset
            category: Category of the metadata
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.physical_assets.set_metadata(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "contract",
                {'extra': {'fence': 'yes'},
                 'mastrNumber': 'SEE912345678901',
                 'eicCode': '11WGRIDLOOM-BT01',
                 'tso': 'TenneT',
                 'dso': 'Netz Nord',
                 'gridConnectionPoint': 'UW Emden/Ost',
                 'nominalVoltageKv': 20,
                 'meteringPoint': 'DE0001234567890000000000000012345',
                 'marketLocation': '50211200340',
                 'importLimit': 10000,
                 'exportLimit': 10000},
            )
        """

    @collection("/physical-assets/{physicalAssetID}/logbook")
    def logbook(
        self,
        physical_asset_id: ID,
        *,
        type: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        source: LogbookSource | None = None,
        impact: LogbookImpact | None = None,
        **window: Unpack[PagedWindow],
    ) -> LogbookEntry:
        """Search an asset's logbook.

        By time, type, tags, text, source and impact; the latest start first.

        Args:
            physical_asset_id: The physical asset
            type: Only entries of this type
            tag: Only entries with all these tags
            text: Only entries that contain this
            source: Only entries of users, or of the system
            impact: Only entries of this impact
            start: Only entries that end after this instant
            end: Only entries that start before this instant
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/logbook")
    def write_logbook(self, physical_asset_id: ID, **entry: Unpack[LogbookText]) -> LogbookEntry:
        """Write an entry into an asset's logbook.

        An entry cannot be changed or deleted.

        Args:
            physical_asset_id: The physical asset
            title: Title, in one line
            type: Type of the entry: a word of your own, such as INSPECTION
            start: Start, inclusive
            description: Description in words
            impact: Effect on the battery: POSITIVE, NEUTRAL or NEGATIVE
            end: End, exclusive
            tags: Words to find it by

        Example:
            client.physical_assets.write_logbook(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                title="Yearly inspection",
                type="INSPECTION",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/logbook/{entryID}")
    def logbook_entry(self, physical_asset_id: ID, entry_id: ID) -> LogbookEntry:
        """Read an entry.

        An entry is never changed; a correction is an entry of its own that names it in `correctsID`.

        Args:
            physical_asset_id: The physical asset
            entry_id: The logbook entry
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/logbook/{entryID}/corrections")
    def correct_logbook(self, physical_asset_id: ID, entry_id: ID, **entry: Unpack[LogbookText]) -> LogbookEntry:
        """Correct an entry by writing another.

        The entry stays as it is; the new one names it in `correctsID`.

        Args:
            physical_asset_id: The physical asset
            entry_id: The logbook entry
            title: Title, in one line
            type: Type of the entry: a word of your own, such as INSPECTION
            start: Start, inclusive
            description: Description in words
            impact: Effect on the battery: POSITIVE, NEUTRAL or NEGATIVE
            end: End, exclusive
            tags: Words to find it by

        Example:
            client.physical_assets.correct_logbook(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                title="Yearly inspection",
                type="INSPECTION",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
            )
        """

    # --- unavailabilities ---

    @operation("POST", "/physical-assets/{physicalAssetID}/unavailability")
    def report_unavailability(self, physical_asset_id: ID, **missing: Unpack[MissingCapacity]) -> ChangedUnavailability:
        """Create an unavailability.

        The volume is what is missing, in kWh and kW. Unavailabilities that overlap add up, capped at the rating.
        `conflicts` names what was offered or scheduled in the window and asks for more than is available now.

        Args:
            physical_asset_id: The physical asset
            description: Description in words
            type: Type of the unavailability
            start: Start, inclusive
            end: End, exclusive
            volume: Missing capacity: energy in kWh, power in kW
            exchange_notification_ids: The exchange notifications linked to it

        Note:
            `volume` is what is missing: `{energyCapacity, powerCapacity: {charge, discharge}}` in kWh and kW.

        Example:
            client.physical_assets.report_unavailability(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                description="Yearly inspection",
                type="MAINTENANCE",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-30T00:00:00+00:00"),
                volume={'energyCapacity': 20000, 'powerCapacity': {'charge': 10000, 'discharge': 10000}},
            )
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/unavailability-previews")
    def preview_unavailability(
        self, physical_asset_id: ID, **missing: Unpack[MissingCapacity]
    ) -> UnavailabilityPreview:
        """See what an unavailability would do.

        The body is that of an unavailability; nothing is changed. Free capacity is lost first, then the own schedule,
        then bids without a result, then promises, open auctions and accepted capacity alike.

        Args:
            physical_asset_id: The physical asset
            description: Description in words
            type: Type of the unavailability
            start: Start, inclusive
            end: End, exclusive
            volume: Missing capacity: energy in kWh, power in kW
            exchange_notification_ids: The exchange notifications linked to it

        Example:
            client.physical_assets.preview_unavailability(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                description="Yearly inspection",
                type="MAINTENANCE",
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-30T00:00:00+00:00"),
                volume={'energyCapacity': 20000, 'powerCapacity': {'charge': 10000, 'discharge': 10000}},
            )
        """

    @collection("/physical-assets/{physicalAssetID}/unavailability")
    def unavailabilities(
        self, physical_asset_id: ID, *, type: UnavailabilityKind | None = None, **window: Unpack[PagedWindow]
    ) -> Unavailability:
        """List unavailabilities.

        By start, the latest first.

        Args:
            physical_asset_id: The physical asset
            type: Only unavailabilities of this type
            start: Only those that end after this instant
            end: Only those that start before this instant
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}")
    def unavailability(self, physical_asset_id: ID, unavailability_id: ID) -> Unavailability:
        """Read an unavailability.

        With the exchange notifications linked to it.

        Args:
            physical_asset_id: The physical asset
            unavailability_id: The unavailability
        """

    @operation("PATCH", "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}")
    def change_unavailability(
        self,
        physical_asset_id: ID,
        unavailability_id: ID,
        *,
        description: str | UnsetType = UNSET,
        type: UnavailabilityKind | UnsetType = UNSET,
        start: datetime | UnsetType = UNSET,
        end: datetime | UnsetType = UNSET,
        volume: Volume | Mapping[str, Any] | UnsetType = UNSET,
        exchange_notification_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> ChangedUnavailability:
        """Change an unavailability.

        An omitted field stays. To end one early, give it an earlier `end`.

        Args:
            physical_asset_id: The physical asset
            unavailability_id: The unavailability
            description: Description in words
            type: Type of the unavailability
            start: Start, inclusive
            end: End, exclusive
            volume: Missing capacity: energy in kWh, power in kW
            exchange_notification_ids: The exchange notifications linked to it
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}")
    def cancel_unavailability(
        self, physical_asset_id: ID, unavailability_id: ID, *, if_match: str | None = None
    ) -> None:
        """Cancel an unavailability.

        Its volume is available again at once; the logbook has that it was announced and cancelled.

        Args:
            physical_asset_id: The physical asset
            unavailability_id: The unavailability
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    # --- exchange notifications ---

    @operation("POST", "/physical-assets/{physicalAssetID}/exchange-notifications")
    def publish_notification(
        self, physical_asset_id: ID, body: Notification | Mapping[str, Any]
    ) -> ExchangeNotification:
        """Publish a market message.

        A REMIT urgent market message in its first version. Capacities are kW; instants are rounded to whole minutes.
        Without `capacityIntervals` the same capacity is missing over the whole event; with them, they follow each other
        from its start to its end.

        Args:
            physical_asset_id: The physical asset
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Example:
            client.physical_assets.publish_notification(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                {'unavailabilityType': 'PLANNED',
                 'eventStart': '2026-03-29T00:00:00Z',
                 'eventEnd': '2026-03-30T00:00:00Z',
                 'unavailableCapacity': 5000,
                 'cause': 'Transformer inspection',
                 'eventStatus': 'ACTIVE',
                 'messageID': 'GL-2026-000001',
                 'eventType': 'OTHER_UNAVAILABILITY',
                 'reasonCode': 'B19',
                 'assetEic': '11WGRIDLOOM-BT01',
                 'biddingZone': '10Y1001A1001A82H',
                 'installedCapacity': 10000,
                 'availableCapacity': 5000,
                 'remarks': 'Back by the evening',
                 'unavailabilityIDs': []},
            )
        """

    @collection("/physical-assets/{physicalAssetID}/exchange-notifications")
    def notifications(
        self, physical_asset_id: ID, *, event_status: NotificationStatus | None = None, **window: Unpack[PagedWindow]
    ) -> ExchangeNotification:
        """List market messages.

        The newest first, each in its latest version.

        Args:
            physical_asset_id: The physical asset
            event_status: Only messages of this status
            start: Only events that end after this instant
            end: Only events that start before this instant
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}")
    def notification(
        self, physical_asset_id: ID, notification_id: ID, *, version: int | None = None
    ) -> ExchangeNotification:
        """Read a market message.

        In its latest version, or in the one asked for.

        Args:
            physical_asset_id: The physical asset
            notification_id: The exchange notification
            version: Version of the message; the latest when left out
        """

    @operation("POST", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/revisions")
    def revise_notification(
        self, physical_asset_id: ID, notification_id: ID, body: NotificationRevision | Mapping[str, Any]
    ) -> ExchangeNotification:
        """Revise a market message.

        Adds a version and dismisses the one before. What is left out is as it was in that one.

        Args:
            physical_asset_id: The physical asset
            notification_id: The exchange notification
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken

        Example:
            client.physical_assets.revise_notification(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                {'eventStatus': 'ACTIVE',
                 'unavailabilityType': 'PLANNED',
                 'eventStart': '2026-03-29T00:00:00Z',
                 'eventEnd': '2026-03-30T00:00:00Z',
                 'unavailableCapacity': 5000,
                 'cause': 'Transformer inspection',
                 'eventType': 'OTHER_UNAVAILABILITY',
                 'reasonCode': 'B19',
                 'assetEic': '11WGRIDLOOM-BT01',
                 'biddingZone': '10Y1001A1001A82H',
                 'installedCapacity': 10000,
                 'availableCapacity': 5000,
                 'remarks': 'Back by the evening',
                 'unavailabilityIDs': []},
            )
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/document")
    def notification_document(
        self,
        physical_asset_id: ID,
        notification_id: ID,
        *,
        version: int | None = None,
        format: DocumentFormat | None = None,
    ) -> bytes:
        """Read a market message as a document.

        `format=acer-umm` gives ACER's UMM, `format=entsoe` the unavailability document of ENTSO-E (A77 or A80). The
        latter's sender is the `marketParticipantEic` of the asset's `market` metadata, as it was when the version was
        published.

        Args:
            physical_asset_id: The physical asset
            notification_id: The exchange notification
            version: Version of the message; the latest when left out
            format: Format of the document; `acer-umm` when left out
        """

    # --- grants ---

    @collection("/physical-assets/{physicalAssetID}/grants")
    def grants(self, physical_asset_id: ID, *, page_size: int | None = None) -> Grant:
        """List the grants on an asset.

        For its owner, by organisation.

        Args:
            physical_asset_id: The physical asset
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def grant(self, physical_asset_id: ID, organisation_id: ID) -> Grant:
        """Read what an organisation may do with an asset.

        For the asset's owner and for that organisation itself.

        Args:
            physical_asset_id: The physical asset
            organisation_id: The organisation
        """

    @operation("PUT", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def set_grant(
        self,
        physical_asset_id: ID,
        organisation_id: ID,
        *,
        permissions: Sequence[Permission],
        if_match: str | None = None,
    ) -> Grant:
        """Set what an organisation may do with an asset.

        Only the owner's administrators may. A user of that organisation needs the permission in its role as well. A
        caller, person or API key, gives no permission that it does not hold.

        Args:
            physical_asset_id: The physical asset
            organisation_id: The organisation
            permissions: Permissions, as `Action:resource` words
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.physical_assets.set_grant(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                "01890a5d-ac96-774b-bcce-b302099a8057",
                permissions=['Read:physical-assets'],
            )
        """

    @operation("DELETE", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def revoke_grant(self, physical_asset_id: ID, organisation_id: ID, *, if_match: str | None = None) -> None:
        """Revoke a grant.

        At once, on every replica.

        Args:
            physical_asset_id: The physical asset
            organisation_id: The organisation
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """


class Fleets(Resource[M]):
    """Groups of physical assets."""

    @collection("/fleets")
    def list(self, *, organisation_id: ID | None = None, page_size: int | None = None) -> Fleet:
        """List fleets.

        Your organisation's; the platform's operator sees those of all, or of the one asked for.

        Args:
            organisation_id: Only those of this organisation
            page_size: How many items are fetched at a time
        """

    @operation("POST", "/fleets")
    def create(self, *, name: str, organisation_id: ID, physical_asset_ids: Sequence[ID] = ()) -> Fleet:
        """Create a fleet.

        An asset that was in another fleet leaves it.

        Args:
            name: Name of the fleet, in one line
            organisation_id: The organisation
            physical_asset_ids: The physical assets in it

        Example:
            client.fleets.create(name="Northern batteries", organisation_id="01890a5d-ac96-774b-bcce-b302099a8057")
        """

    @operation("GET", "/fleets/{fleetID}")
    def get(self, fleet_id: ID) -> Fleet:
        """Read a fleet.

        With the identifiers of its physical assets.

        Args:
            fleet_id: The fleet
        """

    @operation("PATCH", "/fleets/{fleetID}")
    def update(
        self,
        fleet_id: ID,
        *,
        name: str | UnsetType = UNSET,
        physical_asset_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Fleet:
        """Change a fleet.

        Only the given fields change; `physicalAssetIDs` replaces the whole list.

        Args:
            fleet_id: The fleet
            name: Name of the fleet, in one line
            physical_asset_ids: The physical assets in it
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/fleets/{fleetID}")
    def delete(self, fleet_id: ID, *, if_match: str | None = None) -> None:
        """Delete a fleet.

        Its assets stay, in no fleet.

        Args:
            fleet_id: The fleet
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """
