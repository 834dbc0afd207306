"""The two documents: the public names and codes, and the same values when read back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exchange_notifications.reading import read_acer_umm, read_entsoe_unavailability

from gridloom.exchange_notifications.documents import (
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


class TestEntsoeDocument:
    @given(messages())
    def test_reads_back_as_the_same_message(self, message):
        left_out = dict.fromkeys(("event_type", "participant_name", "participant_code"))
        assert read_entsoe_unavailability(entsoe_unavailability(message)) == replace(message, **left_out)


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
