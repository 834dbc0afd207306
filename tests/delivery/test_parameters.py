"""A battery with contradictory parameters is refused when it is written; what is accepted can be dispatched."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.assets import PARAMETERS, new_asset_body, pointers, register_asset
from tests.delivery.zones import even_limits, input_of
from tests.people import OrganisationUnderTest

from gridloom.delivery.inputs.loading import _load_parameters
from gridloom.delivery.inputs.store import read_parameters
from gridloom.delivery.planning.dispatch_zone import compute_dispatch
from gridloom.kernel.market_time import period_number
from gridloom.kernel.units import MIN_EFFICIENCY
from gridloom.physical_assets.model import MAX_ENERGY_KWH, MAX_POWER_KW

CONTRADICTIONS: list[tuple[dict[str, float], str]] = [
    ({"minStateOfCharge": 0.9, "maxStateOfCharge": 0.1}, "minStateOfCharge"),
    ({"minStateOfCharge": 0.5, "maxStateOfCharge": 0.5}, "minStateOfCharge"),
    ({"minStateOfCharge": 1.0}, "minStateOfCharge"),
    ({"maxStateOfCharge": 0.0}, "minStateOfCharge"),
    ({"maxStateOfCharge": 1.01}, "maxStateOfCharge"),
    ({"minStateOfCharge": -0.01}, "minStateOfCharge"),
    ({"chargeEfficiency": 0}, "chargeEfficiency"),
    ({"chargeEfficiency": MIN_EFFICIENCY / 2}, "chargeEfficiency"),
    ({"dischargeEfficiency": 0}, "dischargeEfficiency"),
    ({"dischargeEfficiency": 1.0001}, "dischargeEfficiency"),
    ({"energyCapacity": 0}, "energyCapacity"),
    ({"ratedChargePower": -1}, "ratedChargePower"),
    ({"rampRate": 0}, "rampRate"),
    ({"dailyCycleLimit": 0}, "dailyCycleLimit"),
    ({"dailyCycleLimit": 3, "annualCycleLimit": 2}, "dailyCycleLimit"),
    ({"fcrLimitRatio": 1.1}, "fcrLimitRatio"),
]


async def test_contradictory_parameters_are_refused_where_they_are_written(new_organisation: Any) -> None:
    owner: OrganisationUnderTest = await new_organisation()
    battery = await register_asset(owner)
    for wrong, field in CONTRADICTIONS:
        body = new_asset_body(owner, parameters={**PARAMETERS, **wrong})
        made = await owner.admin.post("/physical-assets", json=body)
        changed = await owner.admin.put(battery.path("/parameters"), json={**PARAMETERS, **wrong})
        assert made.status_code in (400, 422), (wrong, made.text)
        assert changed.status_code in (400, 422), (wrong, changed.text)
        assert (pointers(made), pointers(changed)) == ([f"/parameters/{field}"], [f"/{field}"])


POWERS = st.sampled_from([0.0, 0.001, 1000.0, MAX_POWER_KW])
EFFICIENCIES = st.sampled_from([MIN_EFFICIENCY, 0.5, 0.9, 1.0])


@given(
    st.lists(
        st.tuples(POWERS, POWERS, st.sampled_from([0.001, 2000.0, MAX_ENERGY_KWH]), EFFICIENCIES),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from([(0.0, 1.0), (0.0, 1e-9), (1 - 1e-9, 1.0), (0.1, 0.9)]),
    st.sampled_from([1e-9, 1.0, np.inf]),
    st.sampled_from([1e-9, 1.0, np.inf]),
)
def test_whatever_is_accepted_can_be_dispatched(
    batteries: list[tuple[float, float, float, float]], window: tuple[float, float], ramp_kw: float, cycles: float
) -> None:
    periods, count = 12, len(batteries)
    charge, discharge, capacity, efficiency = (list(column) for column in zip(*batteries, strict=True))
    limits = even_limits(discharge, capacity, periods, efficiency)
    limits = replace(
        limits,
        charge_kw=np.repeat(np.array(charge)[:, None], periods, axis=1),
        low_kwh=window[0] * limits.high_kwh,
        high_kwh=window[1] * limits.high_kwh,
        ramp_kw=np.full((count, periods), ramp_kw),
        daily_export_kwh=cycles * limits.high_kwh,
        annual_export_kwh=cycles * limits.high_kwh,
        energy_kwh=sum(window) / 2 * limits.high_kwh[:, 0],
    )
    powers = np.array([[500.0, -500.0, 0.0] * 4, [-100.0, 0.0, 800.0] * 4])
    pairs = np.array([(asset, battery) for asset in range(2) for battery in range(count)])
    made = compute_dispatch(input_of(powers, limits, pairs, np.full(2 * count, 1 / count)))
    for values in (made.batteries.power_kw, made.batteries.energy_kwh, made.delivered_kw, made.netted_kw):
        assert np.isfinite(values).all()
    assert (made.batteries.power_kw <= limits.discharge_kw + 1e-6).all()
    assert (made.batteries.power_kw >= -limits.charge_kw - 1e-6).all()
    assert np.abs(made.batteries.virtual_kw.sum(axis=0) - made.delivered_kw.sum(axis=0)).max() < 1e-3


async def test_parameters_are_read_in_the_order_in_which_they_come_into_force(app: Any, new_organisation: Any) -> None:
    """Each holds until the next, whatever the order in which they were recorded."""
    asset = await register_asset(await new_organisation())
    for valid_from, ramp_rate, cycles in (
        ("2099-01-02T00:00:00Z", 2, {"dailyCycleLimit": 1.5, "annualCycleLimit": 300}),
        ("2099-01-01T00:00:00Z", 1, {}),
        ("2099-01-03T00:00:00Z", 3, {}),
    ):
        body = {**PARAMETERS, "rampRate": ramp_rate, **cycles, "validFrom": valid_from}
        assert (await asset.owner.engineer.put(asset.path("/parameters"), json=body)).status_code == 200
    key = await app.pool.fetchval("select key from asset where id = $1", UUID(asset.id))
    found = await read_parameters(app.pool, [key], datetime.fromisoformat("2099-01-03T00:00:00Z"))
    assert [one.ramp_rate_kw_s for one in found] == [None, 1, 2]
    noons = [period_number(datetime.fromisoformat(f"2099-01-0{day}T12:00:00Z")) for day in (1, 2)]
    held = await _load_parameters(app.pool, [key], *noons)
    assert (held.ramp_kw[0] / 900).tolist() == [1.0] * 48 + [2.0] * 48
    assert held.daily_cycles[0].tolist() == [np.inf] * 48 + [1.5] * 48
    assert held.annual_cycles[0].tolist() == [np.inf] * 48 + [300.0] * 48
