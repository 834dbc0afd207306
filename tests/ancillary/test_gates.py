"""Gate closures in market time, also on the eve of a clock change."""

from datetime import date, timedelta

import pytest

from gridloom.ancillary.gates import TenderGates
from gridloom.ancillary.products import product_key
from gridloom.ancillary.rules import ProductGateClosed, ProductGateNotOpen, check_gate

pytestmark = pytest.mark.pure


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
