"""The kinds of events there are: one table from which the checks, OpenAPI and the docs page come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """`data` names the fields of the event's data and what they mean; `operator_reads` says whether the platform's
    operators read it for every organisation (what happens to virtual assets they read in any case)."""

    name: str
    description: str
    data: Mapping[str, str]
    operator_reads: bool = False


_TYPES = (
    EventType(
        name="auction.opened",
        description="An auction to which the organisation is invited takes bids from now on.",
        data={"auctionID": "the auction", "start": "when it opened", "end": "when it closes"},
        operator_reads=True,
    ),
    EventType(
        name="auction.cleared",
        description="A closed auction has its result; `status` is the organisation's own outcome.",
        data={
            "auctionID": "the auction",
            "status": "WON, LOST or NO_BIDS_SUBMITTED, for this organisation",
            "virtualAssetID": "the asset it was allocated, if it won",
        },
        operator_reads=True,
    ),
    EventType(
        name="bid.placed",
        description="The organisation's own bid in an auction was accepted. Nobody else is told, not even an operator.",
        data={"auctionID": "the auction", "bidID": "the bid", "price": "in EUR"},
    ),
    EventType(
        name="virtual-asset.allocated",
        description="The organisation was given a virtual asset, by an auction or directly.",
        data={"virtualAssetID": "the asset", "auctionID": "the auction it was won in, if any"},
        operator_reads=True,
    ),
    EventType(
        name="schedule.updated",
        description="Somebody replaced periods of a schedule.",
        data={
            "blockID": "the block, for a virtual asset",
            "start": "the first period that was replaced",
            "end": "the end of the last one",
            "periods": "how many were replaced",
        },
    ),
    EventType(
        name="schedule.adjusted",
        description="A schedule no longer fitted what is available, and was cut at gate closure.",
        data={"start": "the first period that was cut", "end": "the end of the last one", "reason": "why"},
    ),
    EventType(
        name="unavailability.created",
        description="Part of a physical asset is announced as unavailable.",
        data={"unavailabilityID": "the unavailability", "type": "its kind", "start": "from", "end": "until"},
    ),
    EventType(
        name="unavailability.changed",
        description="An unavailability was moved, resized or described anew.",
        data={"unavailabilityID": "the unavailability", "type": "its kind", "start": "from", "end": "until"},
    ),
    EventType(
        name="unavailability.cancelled",
        description="An unavailability will not happen, or not any more.",
        data={"unavailabilityID": "the unavailability"},
    ),
    EventType(
        name="ancillary.result",
        description="A bid for an ancillary product has its result.",
        data={"bidID": "the bid", "product": "the product", "deliveryDay": "the day", "status": "ACCEPTED or REJECTED"},
    ),
    EventType(
        name="exchange-notification.published",
        description="An urgent market message, or a revision of one, was published for a physical asset.",
        data={"notificationID": "the message", "version": "its version"},
    ),
    EventType(
        name="data-points.updated",
        description="Figures changed that reports are made of: settlements came in or were corrected.",
        data={"start": "the first period whose figures changed", "end": "the end of the last one"},
    ),
    EventType(
        name="webhook.disabled",
        description="A webhook could not be delivered for three days and gets no more calls until it is enabled again.",
        data={"webhookID": "the webhook", "url": "its address", "reason": "the last failure"},
        operator_reads=True,
    ),
)

EVENT_TYPES: Mapping[str, EventType] = MappingProxyType({kind.name: kind for kind in _TYPES})
OPERATOR_TYPES: tuple[str, ...] = tuple(kind.name for kind in _TYPES if kind.operator_reads)
