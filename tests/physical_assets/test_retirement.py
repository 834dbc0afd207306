"""Which holdings stand in the way of retiring a battery."""

from __future__ import annotations

from uuid import uuid4

import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.retirement import find_uncovered

pytestmark = pytest.mark.pure

HELD = Holding(HoldingKind.VIRTUAL_ASSET, uuid4(), 110, 120, 5_000, 5_000, 8_000)
BID = Holding(HoldingKind.FCR, uuid4(), 110, 120, 1_000, 1_000, 500, is_firm=False)


def battery(out_from: int, out_until: int, power_kw: float = 10_000, energy_kwh: float = 20_000) -> BatteryCapacity:
    outage = CapacityOutage(period_start(out_from), period_start(out_until), power_kw, power_kw, energy_kwh)
    rating = Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)
    return BatteryCapacity(RatingsAndOutages([rating], [outage]), [HELD, BID], OwnSchedule.nothing())


class TestAHolding:
    @pytest.mark.parametrize(("out_from", "out_until"), [(111, 120), (110, 119), (100, 110), (120, 130)])
    def test_is_uncovered_when_one_period_is_left(self, out_from: int, out_until: int) -> None:
        assert find_uncovered(battery(out_from, out_until), 100, 130) == [HELD]
