"""Sentences with their quantities as values."""

from __future__ import annotations

import pytest

from gridloom.kernel.figures import figures_of, join, kw, kwh, say

pytestmark = pytest.mark.pure


class TestASentence:
    def test_has_the_quantities_of_all_its_parts_in_their_order(self):
        part = say("{} of charging", kw(1500))
        whole = say("{}, and {} at {}.", part, kwh(2.25), "noon")
        assert whole == "1500 kW of charging, and 2.25 kWh at noon."
        assert [(one.text, one.value, one.unit) for one in figures_of(whole)] == [
            ("1500 kW", 1500, "kW"),
            ("2.25 kWh", 2.25, "kWh"),
        ]
        assert [one.value for one in figures_of(join("; ", [part, part]))] == [1500, 1500]
        assert figures_of("12 kW") == ()
