"""Export is positive; kW and MW convert both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel import units

powers = st.floats(-1e9, 1e9)


class TestSign:
    @given(powers)
    def test_splits_a_power_into_discharge_and_charge(self, power_kw: float):
        assert units.discharge_power(power_kw) - units.charge_power(power_kw) == power_kw
        assert min(units.discharge_power(power_kw), units.charge_power(power_kw)) == 0

    def test_of_discharge_is_positive(self):
        assert (units.discharge_power(5.0), units.charge_power(5.0)) == (5.0, 0.0)
        assert (units.discharge_power(-5.0), units.charge_power(-5.0)) == (0.0, 5.0)


class TestConversion:
    @given(powers)
    def test_goes_both_ways(self, value: float):
        assert units.kw_from_mw(units.mw_from_kw(value)) == pytest.approx(value)
        assert units.kwh_from_mwh(units.mwh_from_kwh(value)) == pytest.approx(value)

    def test_makes_a_quarter_of_the_power_an_energy(self):
        assert units.period_energy_kwh(-1000.0) == -250.0
