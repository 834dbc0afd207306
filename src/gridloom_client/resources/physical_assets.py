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
        """Those that the caller's organisation owns or has a grant on."""

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
    ) -> PhysicalAsset: ...

    @operation("GET", "/physical-assets/{physicalAssetID}")
    def get(self, physical_asset_id: ID) -> PhysicalAsset: ...

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
    ) -> PhysicalAsset: ...

    # --- parameters and schedule ---

    @operation("GET", "/physical-assets/{physicalAssetID}/parameters")
    def parameters(self, physical_asset_id: ID, *, at: datetime | None = None) -> Parameters:
        """Those in force now, or at another time."""

    @operation("PUT", "/physical-assets/{physicalAssetID}/parameters", query=("at",))
    def set_parameters(
        self,
        physical_asset_id: ID,
        body: ParametersVersion | Mapping[str, Any],
        *,
        at: datetime | None = None,
        if_match: str | None = None,
    ) -> Parameters:
        """Adds a version that holds from `validFrom`, or else from `at`; the past stays."""

    @collection("/physical-assets/{physicalAssetID}/parameters/history")
    def parameters_history(self, physical_asset_id: ID, *, page_size: int | None = None) -> Parameters: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/schedule")
    def schedule(self, physical_asset_id: ID, **window: Unpack[Window]) -> Schedule: ...

    @operation("PUT", "/physical-assets/{physicalAssetID}/schedule", query=("start", "end"))
    def set_schedule(
        self,
        physical_asset_id: ID,
        *,
        schedule: Sequence[Point] | Sequence[Mapping[str, Any]] | Frame,
        if_match: str | None = None,
        **window: Unpack[Window],
    ) -> Schedule:
        """Replaces the given periods, all or none; `start` and `end` say which window to answer."""

    @operation("GET", "/physical-assets/{physicalAssetID}/availability")
    def availability(self, physical_asset_id: ID, **window: Unpack[Window]) -> Availability: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/commitments")
    def commitments(self, physical_asset_id: ID, **window: Unpack[Window]) -> Commitments:
        """Who holds what of the asset, and what is free."""

    @operation("GET", "/physical-assets/{physicalAssetID}/dispatch")
    def dispatch(self, physical_asset_id: ID, **window: Unpack[WindowAsOf]) -> Dispatch:
        """The power that the battery must follow, and the purpose of each part of it."""

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
        """From the site, of one quarter-hour; the same again changes nothing."""

    @collection("/physical-assets/{physicalAssetID}/dispatch/acknowledgements")
    def dispatch_acknowledgements(self, physical_asset_id: ID, **window: Unpack[PagedWindow]) -> Acknowledgement:
        """The latest quarter-hour first."""

    @operation("GET", "/physical-assets/{physicalAssetID}/performance")
    def performance(self, physical_asset_id: ID, **window: Unpack[WindowAsOf]) -> DeliveryPerformance:
        """Measured against dispatched power."""

    @operation("GET", "/physical-assets/{physicalAssetID}/health")
    def health(self, physical_asset_id: ID) -> Health: ...

    # --- ancillary bids and results ---

    @operation("POST", "/physical-assets/{physicalAssetID}/ancillary/bids")
    def offer(
        self, physical_asset_id: ID, body: Sequence[ProductBids] | Sequence[Mapping[str, Any]]
    ) -> Rows[AncillaryEntry]:
        """Entries of `{deliveryDay, product, bids: [{capacityPrice, offeredCapacity, energyPrice?}]}`."""

    @collection("/physical-assets/{physicalAssetID}/ancillary/bids")
    def ancillary_bids(
        self,
        physical_asset_id: ID,
        *,
        delivery_day: date | None = None,
        product: str | None = None,
        status: BidStatus | None = None,
        page_size: int | None = None,
    ) -> AncillaryEntry: ...

    @operation("DELETE", "/physical-assets/{physicalAssetID}/ancillary/bids/{bidID}")
    def withdraw_offer(self, physical_asset_id: ID, bid_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/ancillary/bids-without-result")
    def bids_without_result(self, physical_asset_id: ID, *, product_keys: Sequence[str]) -> Rows[AncillaryEntry]:
        """One entry per key, such as `2026-03-29_NEGPOS_00_04`, in the order asked."""

    @operation("GET", "/physical-assets/{physicalAssetID}/ancillary/bids-by-product-keys")
    def bids_by_product_keys(self, physical_asset_id: ID, *, product_keys: Sequence[str]) -> Rows[AncillaryEntry]:
        """The same with all bids, whatever became of them."""

    @operation("POST", "/physical-assets/{physicalAssetID}/ancillary/results")
    def report_results(
        self, physical_asset_id: ID, body: Sequence[ProductResults] | Sequence[Mapping[str, Any]]
    ) -> Rows[AncillaryResults]:
        """Entries of `{deliveryDay, product, results: [{bidID, accepted, acceptedCapacity, settlementPrice?}]}`."""

    @collection("/physical-assets/{physicalAssetID}/ancillary/results")
    def results(
        self,
        physical_asset_id: ID,
        *,
        delivery_day: date | None = None,
        product: str | None = None,
        page_size: int | None = None,
    ) -> AncillaryResults: ...

    # --- metadata and logbook ---

    @operation("GET", "/physical-assets/{physicalAssetID}/metadata")
    def metadata(self, physical_asset_id: ID) -> Record:
        """By category: grid, site, technical, contract, market."""

    @operation("GET", "/physical-assets/{physicalAssetID}/metadata/{category}")
    def metadata_of(self, physical_asset_id: ID, category: MetadataCategory) -> Record: ...

    @operation("PUT", "/physical-assets/{physicalAssetID}/metadata/{category}")
    def set_metadata(
        self, physical_asset_id: ID, category: MetadataCategory, body: Mapping[str, Any], *, if_match: str | None = None
    ) -> Record: ...

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
    ) -> LogbookEntry: ...

    @operation("POST", "/physical-assets/{physicalAssetID}/logbook")
    def write_logbook(self, physical_asset_id: ID, **entry: Unpack[LogbookText]) -> LogbookEntry: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/logbook/{entryID}")
    def logbook_entry(self, physical_asset_id: ID, entry_id: ID) -> LogbookEntry: ...

    @operation("POST", "/physical-assets/{physicalAssetID}/logbook/{entryID}/corrections")
    def correct_logbook(self, physical_asset_id: ID, entry_id: ID, **entry: Unpack[LogbookText]) -> LogbookEntry:
        """A new entry that corrects the other; both stay."""

    # --- unavailabilities ---

    @operation("POST", "/physical-assets/{physicalAssetID}/unavailability")
    def report_unavailability(self, physical_asset_id: ID, **missing: Unpack[MissingCapacity]) -> ChangedUnavailability:
        """`volume` is what is missing: `{energyCapacity, powerCapacity: {charge, discharge}}` in kWh and kW."""

    @operation("POST", "/physical-assets/{physicalAssetID}/unavailability-previews")
    def preview_unavailability(
        self, physical_asset_id: ID, **missing: Unpack[MissingCapacity]
    ) -> UnavailabilityPreview:
        """The effects of reporting it; nothing is changed."""

    @collection("/physical-assets/{physicalAssetID}/unavailability")
    def unavailabilities(
        self, physical_asset_id: ID, *, type: UnavailabilityKind | None = None, **window: Unpack[PagedWindow]
    ) -> Unavailability: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}")
    def unavailability(self, physical_asset_id: ID, unavailability_id: ID) -> Unavailability: ...

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
    ) -> ChangedUnavailability: ...

    @operation("DELETE", "/physical-assets/{physicalAssetID}/unavailability/{unavailabilityID}")
    def cancel_unavailability(
        self, physical_asset_id: ID, unavailability_id: ID, *, if_match: str | None = None
    ) -> None: ...

    # --- exchange notifications ---

    @operation("POST", "/physical-assets/{physicalAssetID}/exchange-notifications")
    def publish_notification(
        self, physical_asset_id: ID, body: Notification | Mapping[str, Any]
    ) -> ExchangeNotification: ...

    @collection("/physical-assets/{physicalAssetID}/exchange-notifications")
    def notifications(
        self, physical_asset_id: ID, *, event_status: NotificationStatus | None = None, **window: Unpack[PagedWindow]
    ) -> ExchangeNotification: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}")
    def notification(
        self, physical_asset_id: ID, notification_id: ID, *, version: int | None = None
    ) -> ExchangeNotification: ...

    @operation("POST", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/revisions")
    def revise_notification(
        self, physical_asset_id: ID, notification_id: ID, body: NotificationRevision | Mapping[str, Any]
    ) -> ExchangeNotification:
        """Adds a version and dismisses the one before."""

    @operation("GET", "/physical-assets/{physicalAssetID}/exchange-notifications/{notificationID}/document")
    def notification_document(
        self,
        physical_asset_id: ID,
        notification_id: ID,
        *,
        version: int | None = None,
        format: DocumentFormat | None = None,
    ) -> bytes:
        """XML: the ACER message, or the ENTSO-E document."""

    # --- grants ---

    @collection("/physical-assets/{physicalAssetID}/grants")
    def grants(self, physical_asset_id: ID, *, page_size: int | None = None) -> Grant: ...

    @operation("GET", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def grant(self, physical_asset_id: ID, organisation_id: ID) -> Grant: ...

    @operation("PUT", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def set_grant(
        self,
        physical_asset_id: ID,
        organisation_id: ID,
        *,
        permissions: Sequence[Permission],
        if_match: str | None = None,
    ) -> Grant:
        """The permissions of the other organisation on this asset."""

    @operation("DELETE", "/physical-assets/{physicalAssetID}/grants/{organisationID}")
    def revoke_grant(self, physical_asset_id: ID, organisation_id: ID, *, if_match: str | None = None) -> None: ...


class Fleets(Resource[M]):
    """Groups of physical assets."""

    @collection("/fleets")
    def list(self, *, organisation_id: ID | None = None, page_size: int | None = None) -> Fleet: ...

    @operation("POST", "/fleets")
    def create(self, *, name: str, organisation_id: ID, physical_asset_ids: Sequence[ID] = ()) -> Fleet: ...

    @operation("GET", "/fleets/{fleetID}")
    def get(self, fleet_id: ID) -> Fleet: ...

    @operation("PATCH", "/fleets/{fleetID}")
    def update(
        self,
        fleet_id: ID,
        *,
        name: str | UnsetType = UNSET,
        physical_asset_ids: Sequence[ID] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Fleet: ...

    @operation("DELETE", "/fleets/{fleetID}")
    def delete(self, fleet_id: ID, *, if_match: str | None = None) -> None: ...
