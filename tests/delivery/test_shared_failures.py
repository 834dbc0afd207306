"""Failures of batteries behind several virtual assets, and of batteries rated anew, are the failed owner's alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.delivery.conftest import find_afternoon_before
from tests.delivery.test_failures import CAPACITY_KWH, LOSSLESS, POWER_KW, Zone, later_zone, sent, zone, zone_of
from tests.virtual_assets.conftest import wire

__all__ = ["later_zone", "zone"]
IMBALANCE = ("IMBALANCE", "GRID_OPERATOR")


async def imbalances(zone: Zone, count: int) -> list[Decimal]:
    return [(await zone.lines(who, count)).get(IMBALANCE, Decimal(0)) for who in (0, 1)]


class TestAVirtualAssetThatIsCut:
    """The first one, of 2 MW, stands half on each battery of 4 MW, the second, of 3 MW, wholly on the other owner's."""

    @pytest.mark.parametrize(
        ("powers", "lost", "due"),
        [
            pytest.param((2000.0, -500.0), (4000, 0), ["-25.00", "0"], id="and netted in part"),
            pytest.param((-2000.0, 2500.0), (4000, 0), ["25.00", "0"], id="on the side that is netted wholly"),
            pytest.param((2000.0, 0.0), (0, 2000), ["0", "-12.50"], id="by what an idle one holds of the battery"),
            pytest.param((2000.0, -500.0), (3600, 2000), ["-15.00", "-12.50"], id="by both"),
        ],
    )
    async def test_is_the_imbalance_of_who_lacked_power_alone(
        self, fresh_app: Any, powers: tuple[float, float], lost: tuple[float, float], due: list[str]
    ) -> None:
        async with zone_of(await fresh_app(find_afternoon_before()), spare=4) as zone:
            terms = {"ratedChargePower": 3 * POWER_KW, "ratedDischargePower": 3 * POWER_KW, **LOSSLESS}
            other = await zone.yard.virtual(
                zone.batteries[1], **terms, energyCapacity=3 * CAPACITY_KWH, dailyCycleLimit=None
            )
            for asset, power in zip((zone.virtual, other), powers, strict=True):
                await zone.yard.schedule(asset, [power])
            for battery, power in enumerate(lost):
                if power:
                    await zone.lose(battery, 0, 1, power=power)
            await zone.advance(2)
            await zone.publish(2)
            assert [one["open"] for one in await zone.position(1)] == [-powers[0] / 4000], "of what was never sold"
            assert await imbalances(zone, 1) == [Decimal(amount) for amount in due]


async def rate(zone: Zone, place: int, power: float) -> None:
    """The first battery, from a quarter-hour on."""
    path = f"/physical-assets/{zone.batteries[0]['id']}/parameters"
    terms = {"ratedChargePower": power, "ratedDischargePower": power, "energyCapacity": CAPACITY_KWH, **LOSSLESS}
    await sent(await zone.owners[0].engineer.put(path, json={"validFrom": wire(zone.at(place)), **terms}))


class TestARatingThatFalls:
    async def test_is_its_owners_where_it_was_not_recorded_in_time(self, zone: Zone) -> None:
        """To 400 kW for two quarter-hours: 600 of 2,000 kW are missing, then the other battery gives 100 kW more."""
        await zone.toll()
        await zone.yard.schedule(zone.virtual, [2000.0, 1000.0])
        await zone.sell(0.5, 1)
        await rate(zone, 0, 400)
        await rate(zone, 2, POWER_KW)
        await zone.advance(4)
        await zone.publish(4)
        assert [one["open"] for one in await zone.position(1)] == [0.0], "it counts as delivered to the holder"
        assert await zone.store_kwh(3) == [2000.0, 1500.0, 1250.0], "and its store follows the schedule"
        assert await zone.dispatched(1, 2) == [1000.0, 600.0]
        failed, helper, holder = (str(one.id) for one in (*zone.owners, zone.yard.trader))
        lines = await zone.lines(0, 2)
        assert lines == {
            IMBALANCE: Decimal("-15.00"),
            ("AVAILABILITY", holder): Decimal("-1.50"),
            ("SUBSTITUTION", helper): Decimal("-1.50"),
            ("TOLLING", holder): lines["TOLLING", holder],
        }
        assert (await zone.lines(1, 2))["SUBSTITUTION", failed] == Decimal("1.50")

    async def test_is_the_holders_to_trade_around_where_it_was(self, later_zone: Zone) -> None:
        zone = later_zone
        await zone.yard.schedule(zone.virtual, [2000.0])
        await rate(zone, 0, 400)
        await zone.advance(2)
        await zone.publish(2)
        assert [one["delivered"] for one in await zone.position(1)] == [0.35]
        assert await imbalances(zone, 1) == [0, 0]

    async def test_and_rises_again_leaves_the_holder_all_of_it_whenever_that_is_recorded(self, zone: Zone) -> None:
        await rate(zone, 0, 400)
        await rate(zone, 1, POWER_KW)
        await zone.yard.schedule(zone.virtual, [0.0, 2000.0])
        await zone.advance(4)
        assert [one["delivered"] for one in await zone.position(2)] == [0.0, 0.5]


class TestWhatWasActivated:
    async def test_has_left_the_fair_energy_also_when_a_day_is_assessed_again(self, zone: Zone) -> None:
        """0.4 MWh of 2 were called: by quarter-hour 8 each battery's fair energy is 200 kWh, of which half of the first
        is out of reach: 400 kW, and 600 are its part."""
        await zone.yard.schedule(zone.virtual, [1200.0] * 4 + [0.0] * 4 + [1200.0])
        outage = await zone.lose(0, 0, 10, power=0, energy=CAPACITY_KWH / 2)
        await zone.advance(4)
        row = {"assetID": zone.virtual["id"], "time": wire(zone.at(1)), "direction": "POS", "volume": 0.4, "price": 90}
        await sent(await zone.yard.operator.post("/settlements/afrr-energy", json=[row]))
        await zone.advance(10)
        await zone.publish(10)
        known = await imbalances(zone, 9)
        await sent(await zone.owners[0].engineer.request("PATCH", outage, json={"description": "Racks"}))
        await zone.advance(11)
        assert await imbalances(zone, 9) == known
        assert known[0] < 0
