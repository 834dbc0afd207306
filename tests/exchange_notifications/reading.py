"""The two documents read back into the message, so that what is written can be shown to say the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from lxml import etree

from gridloom.exchange_notifications.documents import (
    BUSINESS_TYPE_CODES,
    COMPLEMENTARY_INFORMATION,
    DOCUMENT_STATUS_CODES,
    DOCUMENT_TYPE_CODES,
    EVENT_STATUS_WORDS,
    EVENT_TYPE_WORDS,
    INFORMATION_AGGREGATOR,
    OUTAGE_NAMESPACE,
    UMM_COMMON_NAMESPACE,
    UMM_NAMESPACE,
    UNAVAILABILITY_TYPE_WORDS,
)
from gridloom.exchange_notifications.message import (
    UNCERTAINTY,
    CapacityInterval,
    CodeScheme,
    MarketMessage,
    ParticipantCode,
    ReasonCode,
)

Word = TypeVar("Word", bound=StrEnum)
ABSENT: Any = None
"""Of a field that a format has no place for."""
MINUTE = timedelta(minutes=1)
RESOURCE = "production_RegisteredResource"
UNIT = "production_RegisteredResource.pSRType.powerSystemResources"


def read_acer_umm(document: bytes) -> MarketMessage:
    """The message back from its document; a ValueError where it is not one that `acer_umm` could have written."""
    umm = find_child(parse_document(document, UMM_NAMESPACE, "REMITUrgentMarketMessages"), "UMM")
    event, capacity = find_child(umm, "event"), find_child(umm, "capacity")
    remarks, duration_uncertainty = split_remarks(optional_text(umm, "remarks"))
    message_id, _, version = read_text(umm, "messageId").rpartition("_")
    intervals = tuple(
        CapacityInterval(
            start=parse_instant(read_text(stretch, "intervalStart")),
            end=parse_instant(read_text(stretch, "intervalStop")),
            available_capacity_kw=parse_kw(read_text(stretch, "availableCapacity")),
            unavailable_capacity_kw=parse_kw(read_text(stretch, "unavailableCapacity")),
        )
        for stretch in capacity.findall(f"{{{UMM_NAMESPACE}}}capacityInterval")
    )
    return MarketMessage(
        message_id=message_id,
        version=int(version),
        event_status=word_of(EVENT_STATUS_WORDS, read_text(event, "eventStatus")),
        unavailability_type=word_of(UNAVAILABILITY_TYPE_WORDS, read_text(umm, "unavailabilityType")),
        event_type=word_of(EVENT_TYPE_WORDS, read_text(event, "eventType")),
        reason_code=ABSENT,
        unit_type=ABSENT,
        asset_name=read_text(find_child(umm, "affectedAsset"), "name", UMM_COMMON_NAMESPACE),
        asset_eic=read_text(find_child(umm, "affectedAsset"), "eic", UMM_COMMON_NAMESPACE),
        bidding_zone=read_text(umm, "biddingZone"),
        participant_name=read_text(find_child(umm, "marketParticipant"), "name", UMM_COMMON_NAMESPACE),
        participant_code=participant_code(find_child(umm, "marketParticipant")),
        participant_eic=None,
        installed_capacity_kw=parse_kw(read_text(capacity, "installedCapacity")),
        intervals=intervals,
        start=parse_instant(read_text(event, "eventStart")),
        end=parse_instant(read_text(event, "eventStop")),
        duration_uncertainty=duration_uncertainty,
        cause=read_text(umm, "unavailabilityReason"),
        remarks=remarks,
        published_at=parse_instant(read_text(umm, "publicationDateTime")),
    )


def participant_code(participant: etree._Element) -> ParticipantCode | None:
    for scheme in CodeScheme:
        if (code := participant.findtext(f"{{{UMM_COMMON_NAMESPACE}}}{scheme}")) is not None:
            return ParticipantCode(scheme, code)
    return None


def read_entsoe_unavailability(document: bytes) -> MarketMessage:
    """The message back from its document; a ValueError where `entsoe_unavailability` could not have written it."""
    root = parse_document(document, OUTAGE_NAMESPACE, "Unavailability_MarketDocument")
    series = find_child(root, "TimeSeries")
    whole = find_child(root, "unavailability_Time_Period.timeInterval")
    start, end = parse_instant(read_text(whole, "start")), parse_instant(read_text(whole, "end"))
    installed_kw = parse_kw(read_text(series, f"{UNIT}.nominalP"))
    reasons = {
        read_text(reason, "code"): read_text(reason, "text") for reason in root.findall(f"{{{OUTAGE_NAMESPACE}}}Reason")
    }
    code = next(ReasonCode(code) for code in reasons if code != COMPLEMENTARY_INFORMATION)
    remarks, duration_uncertainty = split_remarks(reasons.get(COMPLEMENTARY_INFORMATION))
    return MarketMessage(
        message_id=read_text(root, "mRID"),
        version=int(read_text(root, "revisionNumber")),
        event_status=word_of(DOCUMENT_STATUS_CODES, read_text(find_child(root, "docStatus"), "value")),
        unavailability_type=word_of(BUSINESS_TYPE_CODES, read_text(series, "businessType")),
        event_type=ABSENT,
        reason_code=code,
        unit_type=word_of(DOCUMENT_TYPE_CODES, read_text(root, "type")),
        asset_name=read_text(series, f"{RESOURCE}.name"),
        asset_eic=read_text(series, f"{RESOURCE}.mRID"),
        bidding_zone=read_text(series, "biddingZone_Domain.mRID"),
        participant_name=ABSENT,
        participant_code=None,
        participant_eic=sender_eic(root),
        installed_capacity_kw=installed_kw,
        intervals=read_intervals(find_child(series, "Available_Period"), start, end, installed_kw),
        start=start,
        end=end,
        duration_uncertainty=duration_uncertainty,
        cause=reasons[code],
        remarks=remarks,
        published_at=parse_instant(read_text(root, "createdDateTime")),
    )


def sender_eic(root: etree._Element) -> str | None:
    if read_text(root, "sender_MarketParticipant.marketRole.type") == INFORMATION_AGGREGATOR:
        return None
    return read_text(root, "sender_MarketParticipant.mRID")


def read_intervals(
    period: etree._Element, start: datetime, end: datetime, installed_kw: float
) -> tuple[CapacityInterval, ...]:
    """Points of variable length: each reaches to the next one's position, the last to the end."""
    points = period.findall(f"{{{OUTAGE_NAMESPACE}}}Point")
    starts = [start + (int(read_text(point, "position")) - 1) * MINUTE for point in points]
    installed = Decimal(repr(installed_kw))
    return tuple(
        CapacityInterval(first, last, float(available), float(installed - available))
        for first, last, available in zip(
            starts, [*starts[1:], end], (exact_kw(read_text(point, "quantity")) for point in points), strict=True
        )
    )


def parse_document(document: bytes, namespace: str, name: str) -> etree._Element:
    """Without entities, network or huge trees: a document is data."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(document, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"The document is not XML: {error}") from None
    if root.tag != f"{{{namespace}}}{name}":
        raise ValueError(f"Expected a document {name}, not {root.tag!r}.")
    return root


def find_child(parent: etree._Element, name: str, namespace: str | None = None) -> etree._Element:
    child = parent.find(f"{{{namespace or etree.QName(parent).namespace}}}{name}")
    if child is None:
        raise ValueError(f"The document has no {name} in {etree.QName(parent).localname}.")
    return child


def read_text(parent: etree._Element, name: str, namespace: str | None = None) -> str:
    return find_child(parent, name, namespace).text or ""


def optional_text(parent: etree._Element, name: str) -> str | None:
    child = parent.find(f"{{{etree.QName(parent).namespace}}}{name}")
    return None if child is None else child.text or ""


def word_of(words: Mapping[Word, str], text: str) -> Word:
    for word, spelling in words.items():
        if spelling == text:
            return word
    raise ValueError(f"The document says {text!r} where one of {', '.join(words.values())} is expected.")


def parse_instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def exact_kw(mw_text: str) -> Decimal:
    return Decimal(mw_text).scaleb(3)


def parse_kw(mw_text: str) -> float:
    return float(exact_kw(mw_text))


def split_remarks(full: str | None) -> tuple[str | None, str | None]:
    """Remarks and uncertainty back from `full_remarks`."""
    if full is None or UNCERTAINTY not in full:
        return full, None
    if full.rfind(UNCERTAINTY) == 0:
        return None, full.removeprefix(UNCERTAINTY)
    remarks, mark, uncertainty = full.rpartition(f"\n{UNCERTAINTY}")
    return (remarks, uncertainty) if mark else (full, None)
