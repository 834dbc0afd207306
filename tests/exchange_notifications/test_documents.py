"""The two documents: the public names and codes, and the same values when read back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.exchange_notifications.reading import read_acer_umm, read_entsoe_unavailability

from gridloom.exchange_notifications.documents import (
    OUTAGE_NAMESPACE,
    UMM_COMMON_NAMESPACE,
    UMM_NAMESPACE,
    acer_umm,
    entsoe_unavailability,
)
from gridloom.exchange_notifications.message import (
    CapacityInterval,
    CodeScheme,
    EventStatus,
    MarketMessage,
    ParticipantCode,
    ReasonCode,
    UmmEventType,
    UnavailabilityType,
    UnitType,
)

pytestmark = pytest.mark.pure

START = datetime(2026, 3, 28, 22, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)

MESSAGE = MarketMessage(
    message_id="019a2b3c4d5e7f808182838485868788",
    version=2,
    event_status=EventStatus.ACTIVE,
    unavailability_type=UnavailabilityType.PLANNED,
    event_type=UmmEventType.OTHER_UNAVAILABILITY,
    reason_code=ReasonCode.FORESEEN_MAINTENANCE,
    unit_type=UnitType.GENERATION_UNIT,
    asset_name="Speicher <Nord> & Süd",
    asset_eic="11W0-0000-0001-X",
    bidding_zone="10Y1001A1001A82H",
    participant_name="Übertragung & Söhne",
    participant_code=ParticipantCode(CodeScheme.ACE, "A0000001X.DE"),
    participant_eic="11XSOEHNE------7",
    installed_capacity_kw=105_500.5,
    intervals=(
        CapacityInterval(START, START + HOUR, 5_500.5, 100_000.0),
        CapacityInterval(START + HOUR, START + 3 * HOUR, 55_500.5, 50_000.0),
    ),
    start=START,
    end=START + 3 * HOUR,
    duration_uncertainty="± 2 h",
    cause="Transformer oil change",
    remarks="Second unit keeps running",
    published_at=datetime(2026, 3, 20, 9, 30, 15, tzinfo=UTC),
)


@st.composite
def messages(draw) -> MarketMessage:
    start = draw(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
    start = start.replace(second=0, microsecond=0)
    installed = draw(st.integers(1, 10_000_000))
    lengths = draw(st.lists(st.integers(1, 10_000), min_size=1, max_size=5))
    intervals, cursor = [], start
    for minutes in lengths:
        missing = draw(st.integers(0, installed))
        stop = cursor + timedelta(minutes=minutes)
        intervals.append(CapacityInterval(cursor, stop, float(installed - missing), float(missing)))
        cursor = stop
    words = st.text(
        st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufffe\uffff"), min_size=1, max_size=60
    )
    return replace(
        MESSAGE,
        version=draw(st.integers(1, 999)),
        event_status=draw(st.sampled_from(EventStatus)),
        unavailability_type=draw(st.sampled_from(UnavailabilityType)),
        event_type=draw(st.sampled_from(UmmEventType)),
        reason_code=draw(st.sampled_from(ReasonCode)),
        unit_type=draw(st.sampled_from(UnitType)),
        asset_name=draw(words),
        participant_name=draw(words),
        participant_code=draw(
            st.sampled_from([None, MESSAGE.participant_code, ParticipantCode(CodeScheme.EIC, "11XSOEHNE------7")])
        ),
        participant_eic=draw(st.sampled_from([None, MESSAGE.participant_eic])),
        installed_capacity_kw=float(installed),
        intervals=tuple(intervals),
        start=start,
        end=cursor,
        cause=draw(words),
        remarks=draw(st.none() | words),
        duration_uncertainty=draw(st.none() | words),
        published_at=start - timedelta(seconds=draw(st.integers(0, 10**6))),
    )


class TestAcerUmm:
    @given(messages())
    def test_reads_back_as_the_same_message(self, message):
        assert read_acer_umm(acer_umm(message)) == replace(
            message, reason_code=None, unit_type=None, participant_eic=None
        )

    def test_names_its_elements_as_the_public_schema_does(self):
        root = etree.fromstring(acer_umm(MESSAGE))
        names = {"m": UMM_NAMESPACE, "c": UMM_COMMON_NAMESPACE}

        def text(path: str) -> str | None:
            return root.findtext(path, namespaces=names)

        assert [etree.QName(child).localname for child in root.iterfind("m:UMM/m:event/*", names)] == [
            "eventStatus",
            "eventType",
            "eventStart",
            "eventStop",
        ]
        assert text("m:UMM/m:remarks") == "Second unit keeps running\nDuration uncertainty: ± 2 h"
        assert text("m:UMM/m:messageId") == "019a2b3c4d5e7f808182838485868788_002"
        assert text("m:UMM/m:event/m:eventStatus") == "Active"
        assert text("m:UMM/m:event/m:eventType") == "Other unavailability"
        assert text("m:UMM/m:event/m:eventStart") == "2026-03-28T22:00:00Z"
        assert text("m:UMM/m:event/m:eventStop") == "2026-03-29T01:00:00Z"
        assert text("m:UMM/m:unavailabilityType") == "Planned"
        assert text("m:UMM/m:unavailabilityReason") == "Transformer oil change"
        assert text("m:UMM/m:biddingZone") == "10Y1001A1001A82H"
        assert text("m:UMM/m:affectedAsset/c:name") == "Speicher <Nord> & Süd"
        assert text("m:UMM/m:affectedAsset/c:eic") == "11W0-0000-0001-X"
        assert text("m:UMM/m:marketParticipant/c:name") == "Übertragung & Söhne"
        assert text("m:UMM/m:marketParticipant/c:ace") == "A0000001X.DE"
        assert text("m:UMM/m:capacity/m:installedCapacity") == "105.5005"
        assert text("m:UMM/m:capacity/m:capacityInterval/m:unavailableCapacity") == "100"
        assert text("m:UMM/m:capacity/m:capacityInterval/m:availableCapacity") == "5.5005"


class TestEntsoeDocument:
    @given(messages())
    def test_reads_back_as_the_same_message(self, message):
        left_out = dict.fromkeys(("event_type", "participant_name", "participant_code"))
        assert read_entsoe_unavailability(entsoe_unavailability(message)) == replace(message, **left_out)

    @pytest.mark.parametrize(
        ("change", "path", "code"),
        [
            ({"unit_type": UnitType.GENERATION_UNIT}, "m:type", "A80"),
            ({"unit_type": UnitType.PRODUCTION_UNIT}, "m:type", "A77"),
            ({"unavailability_type": UnavailabilityType.PLANNED}, "m:TimeSeries/m:businessType", "A53"),
            ({"unavailability_type": UnavailabilityType.UNPLANNED}, "m:TimeSeries/m:businessType", "A54"),
            ({"event_status": EventStatus.ACTIVE}, "m:docStatus/m:value", "A05"),
            ({"event_status": EventStatus.INACTIVE}, "m:docStatus/m:value", "A09"),
            ({"event_status": EventStatus.DISMISSED}, "m:docStatus/m:value", "A13"),
            ({"reason_code": ReasonCode.FAILURE}, "m:Reason/m:code", "B18"),
            ({"reason_code": ReasonCode.FORESEEN_MAINTENANCE}, "m:Reason/m:code", "B19"),
            ({"reason_code": ReasonCode.SHUTDOWN}, "m:Reason/m:code", "B20"),
            ({"reason_code": ReasonCode.REDISPATCH}, "m:Reason/m:code", "B55"),
            ({}, "m:TimeSeries/m:production_RegisteredResource.pSRType.psrType", "B25"),
            ({}, "m:TimeSeries/m:curveType", "A03"),
            ({}, "m:TimeSeries/m:quantity_Measure_Unit.name", "MAW"),
            ({}, "m:unavailability_Time_Period.timeInterval/m:start", "2026-03-28T22:00Z"),
            ({}, "m:TimeSeries/m:start_DateAndOrTime.time", "22:00:00Z"),
            ({}, "m:TimeSeries/m:Available_Period/m:resolution", "PT1M"),
        ],
    )
    def test_speaks_in_the_codes_of_the_public_lists(self, change, path, code):
        root = etree.fromstring(entsoe_unavailability(replace(MESSAGE, **change)))
        assert root.findtext(path, namespaces={"m": OUTAGE_NAMESPACE}) == code

    @pytest.mark.parametrize(
        ("eic", "parties"),
        [
            ("11XSOEHNE------7", ["11XSOEHNE------7", "A39", "10XDE-VE-TRANSMK", "A32"]),
            (None, ["10XDE-VE-TRANSMK", "A32", "10XDE-VE-TRANSMK", "A33"]),
        ],
    )
    def test_goes_from_the_market_participant_to_the_configured_receiver(self, eic, parties):
        document = entsoe_unavailability(replace(MESSAGE, participant_eic=eic), "10XDE-VE-TRANSMK")
        root = etree.fromstring(document)
        found = [each for each in root if "MarketParticipant" in etree.QName(each).localname]
        assert [each.text for each in found] == parties
        assert [each.get("codingScheme") for each in found] == ["A01", None, "A01", None]

    def test_keeps_the_order_of_the_public_schema_within_a_time_series(self):
        series = etree.fromstring(entsoe_unavailability(MESSAGE)).find(f"{{{OUTAGE_NAMESPACE}}}TimeSeries")
        assert series is not None
        resource = "production_RegisteredResource"
        assert [etree.QName(child).localname for child in series] == [
            "mRID",
            "businessType",
            "biddingZone_Domain.mRID",
            "start_DateAndOrTime.date",
            "start_DateAndOrTime.time",
            "end_DateAndOrTime.date",
            "end_DateAndOrTime.time",
            "quantity_Measure_Unit.name",
            "curveType",
            f"{resource}.mRID",
            f"{resource}.name",
            f"{resource}.pSRType.psrType",
            f"{resource}.pSRType.powerSystemResources.mRID",
            f"{resource}.pSRType.powerSystemResources.name",
            f"{resource}.pSRType.powerSystemResources.nominalP",
            "Available_Period",
        ]

    def test_keeps_the_order_of_the_public_schema(self):
        root = etree.fromstring(entsoe_unavailability(MESSAGE))
        assert [etree.QName(child).localname for child in root] == [
            "mRID",
            "revisionNumber",
            "type",
            "process.processType",
            "createdDateTime",
            "sender_MarketParticipant.mRID",
            "sender_MarketParticipant.marketRole.type",
            "receiver_MarketParticipant.mRID",
            "receiver_MarketParticipant.marketRole.type",
            "unavailability_Time_Period.timeInterval",
            "docStatus",
            "TimeSeries",
            "Reason",
            "Reason",
        ]
        points = root.findall(".//m:Point/m:position", namespaces={"m": OUTAGE_NAMESPACE})
        assert [point.text for point in points] == ["1", "61"]


class TestDocuments:
    @pytest.mark.parametrize("write", [acer_umm, entsoe_unavailability])
    def test_survive_characters_that_xml_cannot_hold(self, write):
        assert "\N{REPLACEMENT CHARACTER}bell".encode() in write(replace(MESSAGE, cause="\x07bell"))

    @pytest.mark.parametrize("read", [read_acer_umm, read_entsoe_unavailability])
    @pytest.mark.parametrize(
        "document",
        [b"", b"{}", b"<a/>", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
    )
    def test_refuse_what_is_not_theirs(self, read, document):
        with pytest.raises(ValueError, match="document"):
            read(document)
