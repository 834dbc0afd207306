"""Market messages as the two documents the industry reads: ACER's UMM and ENTSO-E's unavailability document.

Capacities are MW in the documents and kW in the message; decimal shifts keep them exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final, cast

from lxml import etree

from gridloom.exchange_notifications.message import (
    EventStatus,
    MarketMessage,
    UmmEventType,
    UnavailabilityType,
    UnitType,
)

UMM_NAMESPACE: Final = "http://www.acer.europa.eu/REMIT/REMITUMMElectricitySchema_V3.xsd"
UMM_COMMON_NAMESPACE: Final = "http://www.acer.europa.eu/REMIT/REMITUMMCommonSchema_V2.xsd"
OUTAGE_NAMESPACE: Final = "urn:iec62325.351:tc57wg16:451-6:outagedocument:3:0"

ENTSOE_EIC: Final = "10X1001A1001A450"
"""The transparency platform, to which outages are reported and which is the sender of what can be read there."""
DATA_PROVIDER: Final = "A39"
INFORMATION_AGGREGATOR: Final = "A32"
INFORMATION_RECEIVER: Final = "A33"
STORAGE_PSR_TYPE: Final = "B25"
COMPLEMENTARY_INFORMATION: Final = "A95"
EIC_CODING_SCHEME: Final = "A01"

EVENT_STATUS_WORDS: Final = {each: each.capitalize() for each in EventStatus}
EVENT_TYPE_WORDS: Final = {each: each.replace("_", " ").capitalize() for each in UmmEventType}
UNAVAILABILITY_TYPE_WORDS: Final = {each: each.capitalize() for each in UnavailabilityType}
DOCUMENT_STATUS_CODES: Final[Mapping[EventStatus, str]] = {
    EventStatus.ACTIVE: "A05",
    EventStatus.INACTIVE: "A09",
    EventStatus.DISMISSED: "A13",
}
BUSINESS_TYPE_CODES: Final[Mapping[UnavailabilityType, str]] = {
    UnavailabilityType.PLANNED: "A53",
    UnavailabilityType.UNPLANNED: "A54",
}
DOCUMENT_TYPE_CODES: Final[Mapping[UnitType, str]] = {
    UnitType.PRODUCTION_UNIT: "A77",
    UnitType.GENERATION_UNIT: "A80",
}

_MINUTE = timedelta(minutes=1)
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RESOURCE = "production_RegisteredResource"
_UNIT = f"{_RESOURCE}.pSRType.powerSystemResources"


def acer_umm(message: MarketMessage) -> bytes:
    root = etree.Element(
        f"{{{UMM_NAMESPACE}}}REMITUrgentMarketMessages", nsmap=_map_prefixes(UMM_NAMESPACE, c=UMM_COMMON_NAMESPACE)
    )
    umm = _add_element(root, "UMM")
    _add_element(umm, "messageId", f"{message.message_id}_{message.version:03}")
    event = _add_element(umm, "event")
    _add_element(event, "eventStatus", EVENT_STATUS_WORDS[message.event_status])
    _add_element(event, "eventType", EVENT_TYPE_WORDS[message.event_type])
    _add_element(event, "eventStart", _instant_text(message.start))
    _add_element(event, "eventStop", _instant_text(message.end))
    _add_element(umm, "unavailabilityType", UNAVAILABILITY_TYPE_WORDS[message.unavailability_type])
    _add_element(umm, "publicationDateTime", _instant_text(message.published_at))
    capacity = _add_element(umm, "capacity")
    _add_element(capacity, "unitMeasure", "MW")
    for interval in message.intervals:
        stretch = _add_element(capacity, "capacityInterval")
        _add_element(stretch, "intervalStart", _instant_text(interval.start))
        _add_element(stretch, "intervalStop", _instant_text(interval.end))
        _add_element(stretch, "unavailableCapacity", _mw_text(interval.unavailable_capacity_kw))
        _add_element(stretch, "availableCapacity", _mw_text(interval.available_capacity_kw))
    _add_element(capacity, "installedCapacity", _mw_text(message.installed_capacity_kw))
    _add_element(umm, "unavailabilityReason", message.cause)
    if message.full_remarks is not None:
        _add_element(umm, "remarks", message.full_remarks)
    _add_element(umm, "fuelType", "Other")
    _add_element(umm, "biddingZone", message.bidding_zone)
    asset = _add_element(umm, "affectedAsset")
    _add_element(asset, "name", message.asset_name, UMM_COMMON_NAMESPACE)
    _add_element(asset, "eic", message.asset_eic, UMM_COMMON_NAMESPACE)
    participant = _add_element(umm, "marketParticipant")
    _add_element(participant, "name", message.participant_name, UMM_COMMON_NAMESPACE)
    if message.participant_code is not None:
        _add_element(participant, message.participant_code.scheme, message.participant_code.code, UMM_COMMON_NAMESPACE)
    return _serialise_document(root)


def entsoe_unavailability(message: MarketMessage, receiver_eic: str = ENTSOE_EIC) -> bytes:
    """From the market participant, as a data provider, to the receiver, who gathers what the market tells.

    Without a participant's EIC it is the document as the platform itself gives it out.
    """
    root = etree.Element(f"{{{OUTAGE_NAMESPACE}}}Unavailability_MarketDocument", nsmap=_map_prefixes(OUTAGE_NAMESPACE))
    _add_element(root, "mRID", message.message_id)
    _add_element(root, "revisionNumber", str(message.version))
    _add_element(root, "type", DOCUMENT_TYPE_CODES[message.unit_type])
    _add_element(root, "process.processType", "A26")
    _add_element(root, "createdDateTime", f"{message.published_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    sender_role, receiver_role = DATA_PROVIDER, INFORMATION_AGGREGATOR
    if message.participant_eic is None:
        sender_role, receiver_role = INFORMATION_AGGREGATOR, INFORMATION_RECEIVER
    _add_eic(root, "sender_MarketParticipant.mRID", message.participant_eic or receiver_eic)
    _add_element(root, "sender_MarketParticipant.marketRole.type", sender_role)
    _add_eic(root, "receiver_MarketParticipant.mRID", receiver_eic)
    _add_element(root, "receiver_MarketParticipant.marketRole.type", receiver_role)
    _add_interval(root, "unavailability_Time_Period.timeInterval", message.start, message.end)
    _add_element(_add_element(root, "docStatus"), "value", DOCUMENT_STATUS_CODES[message.event_status])
    _add_time_series(root, message)
    reason = _add_element(root, "Reason")
    _add_element(reason, "code", message.reason_code)
    _add_element(reason, "text", message.cause)
    if message.full_remarks is not None:
        complement = _add_element(root, "Reason")
        _add_element(complement, "code", COMPLEMENTARY_INFORMATION)
        _add_element(complement, "text", message.full_remarks)
    return _serialise_document(root)


def _add_time_series(root: etree._Element, message: MarketMessage) -> None:
    series = _add_element(root, "TimeSeries")
    _add_element(series, "mRID", "1")
    _add_element(series, "businessType", BUSINESS_TYPE_CODES[message.unavailability_type])
    _add_eic(series, "biddingZone_Domain.mRID", message.bidding_zone)
    for edge, instant in (("start", message.start), ("end", message.end)):
        _add_element(series, f"{edge}_DateAndOrTime.date", f"{instant.astimezone(UTC):%Y-%m-%d}")
        _add_element(series, f"{edge}_DateAndOrTime.time", f"{instant.astimezone(UTC):%H:%M:%SZ}")
    _add_element(series, "quantity_Measure_Unit.name", "MAW")
    _add_element(series, "curveType", "A03")
    _add_eic(series, f"{_RESOURCE}.mRID", message.asset_eic)
    _add_element(series, f"{_RESOURCE}.name", message.asset_name)
    _add_element(series, f"{_RESOURCE}.pSRType.psrType", STORAGE_PSR_TYPE)
    _add_eic(series, f"{_UNIT}.mRID", message.asset_eic)
    _add_element(series, f"{_UNIT}.name", message.asset_name)
    _add_element(series, f"{_UNIT}.nominalP", _mw_text(message.installed_capacity_kw)).set("unit", "MAW")
    period = _add_element(series, "Available_Period")
    _add_interval(period, "timeInterval", message.start, message.end)
    _add_element(period, "resolution", "PT1M")
    for interval in message.intervals:
        point = _add_element(period, "Point")
        _add_element(point, "position", str((interval.start - message.start) // _MINUTE + 1))
        _add_element(point, "quantity", _mw_text(interval.available_capacity_kw))


def _map_prefixes(namespace: str, **others: str) -> dict[str, str]:
    """The namespace without a prefix and those with one; the stubs do not know that no prefix is None."""
    return cast("dict[str, str]", {None: namespace, **others})


def _add_element(
    parent: etree._Element, name: str, text: str | None = None, namespace: str | None = None
) -> etree._Element:
    element = etree.SubElement(parent, f"{{{namespace or etree.QName(parent).namespace}}}{name}")
    if text is not None:
        element.text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    return element


def _add_eic(parent: etree._Element, name: str, code: str) -> None:
    _add_element(parent, name, code).set("codingScheme", EIC_CODING_SCHEME)


def _add_interval(parent: etree._Element, name: str, start: datetime, end: datetime) -> None:
    interval = _add_element(parent, name)
    _add_element(interval, "start", f"{start.astimezone(UTC):%Y-%m-%dT%H:%MZ}")
    _add_element(interval, "end", f"{end.astimezone(UTC):%Y-%m-%dT%H:%MZ}")


def _serialise_document(root: etree._Element) -> bytes:
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def _instant_text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="auto").replace("+00:00", "Z")


def _mw_text(power_kw: float) -> str:
    """Exactly, in plain digits."""
    return f"{(Decimal(repr(power_kw)).scaleb(-3)).normalize():f}"
