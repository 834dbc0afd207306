"""Gate closures in market time, also on the eve of a clock change."""

from datetime import UTC, date, datetime, time, timedelta

import pytest

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.products import product_key
from gridloom.ancillary.rules import ProductGateClosed, ProductGateNotOpen, check_gate

pytestmark = pytest.mark.pure


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class TestGateClosure:
    @pytest.mark.parametrize(
        ("day", "code", "closure"),
        [
            (date(2026, 6, 15), "NEGPOS_00_04", "2026-06-14T06:00"),
            (date(2026, 6, 15), "NEGPOS_20_24", "2026-06-14T06:00"),
            (date(2026, 6, 15), "POS_00_04", "2026-06-14T07:00"),
            (date(2026, 1, 15), "NEG_20_24", "2026-01-14T08:00"),
            # The day before the clock change still has the old offset.
            (date(2026, 3, 29), "NEGPOS_00_04", "2026-03-28T07:00"),
            (date(2026, 3, 30), "NEGPOS_00_04", "2026-03-29T06:00"),
            (date(2026, 10, 25), "POS_00_04", "2026-10-24T07:00"),
            (date(2026, 10, 26), "POS_00_04", "2026-10-25T08:00"),
            (date(2026, 6, 15), "POS_001", "2026-06-14T21:35"),
            (date(2026, 10, 25), "NEG_100", "2026-10-25T22:20"),
        ],
    )
    def test_is_the_day_before_for_blocks_and_25_minutes_before_a_quarter_hour(self, day, code, closure):
        assert TenderGates().closure(product_key(day, code)) == at(closure)

    def test_can_be_configured(self):
        gates = TenderGates(fcr_day_before=time(7, 30), afrr_energy_lead=timedelta(minutes=30))
        assert gates.closure(product_key(date(2026, 6, 15), "NEGPOS_00_04")) == at("2026-06-14T05:30")
        assert gates.closure(product_key(date(2026, 6, 15), "POS_001")) == at("2026-06-14T21:30")


class TestAGate:
    """To the microsecond, for a block, a capacity and an energy product."""

    @pytest.mark.parametrize("code", ["NEGPOS_00_04", "POS_00_04", "NEG_096"])
    def test_is_closed_at_the_closing_instant_and_open_just_before(self, code: str):
        gates, key = TenderGates(), product_key(date(2026, 6, 15), code)
        closure = gates.closure(key)
        check_gate(key, gates, closure - timedelta(microseconds=1), "")
        for moment in (closure, closure + timedelta(microseconds=1)):
            with pytest.raises(ProductGateClosed):
                check_gate(key, gates, moment, "")

    @pytest.mark.parametrize("code", ["NEGPOS_00_04", "POS_00_04", "NEG_096"])
    def test_is_open_at_the_opening_instant_and_not_just_before(self, code: str):
        gates, key = TenderGates(), product_key(date(2026, 6, 15), code)
        opening = gates.opening(key)
        check_gate(key, gates, opening, "")
        with pytest.raises(ProductGateNotOpen):
            check_gate(key, gates, opening - timedelta(microseconds=1), "")


class TestGateOpening:
    @pytest.mark.parametrize(
        ("day", "code", "opening"),
        [
            (date(2026, 6, 15), "NEGPOS_00_04", "2026-06-01T08:00"),
            (date(2026, 6, 15), "POS_00_04", "2026-06-08T08:00"),
            (date(2026, 6, 15), "NEG_096", "2026-06-08T08:00"),
            # In market time, whatever the clock does in between.
            (date(2026, 10, 30), "NEGPOS_00_04", "2026-10-16T08:00"),
            (date(2026, 4, 2), "POS_00_04", "2026-03-26T09:00"),
        ],
    )
    def test_is_days_before_at_ten(self, day, code, opening):
        assert TenderGates().opening(product_key(day, code)) == at(opening)
