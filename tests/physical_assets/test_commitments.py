"""What is held of a battery, period by period, as its owner reads it."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.commitments.routes import holding_organisations, stream_commitments

pytestmark = pytest.mark.pure

ASSET, AUCTION, BID, HOLDER, UNNAMED = (UUID(int=number) for number in range(1, 6))
FIRST, END = 100, 108


def held() -> BatteryCapacity:
    """Of 10 MW of charging and 12 MW of discharging, half of the discharging is out in 105."""
    out = CapacityOutage(period_start(105), period_start(106), 0, 6_000, 0)
    losses = OneWayEfficiency(1.0, 1.0)
    holdings = [
        Holding(HoldingKind.VIRTUAL_ASSET, ASSET, 90, 102, 1_000, 2_000, 4_000, losses=losses, organisation_id=HOLDER),
        Holding(HoldingKind.VIRTUAL_ASSET, ASSET, 102, 103, 500, 0, 900, losses=losses, organisation_id=UNNAMED),
        Holding(HoldingKind.AUCTION, AUCTION, 101, 104, 300, 400, 800, losses=losses),
        Holding(HoldingKind.FCR, BID, 104, 120, 3_000, 3_000, 1_500, product="NEGPOS_00_04"),
        Holding(HoldingKind.AFRR_CAPACITY, BID, 105, 120, 0, 5_000, 5_000, is_firm=False, product="POS_00_04"),
    ]
    own = OwnSchedule(np.array([103, 106]), np.array([-700.0, 600.0]))
    rating = Rating(period_start(0), 10_000, 12_000, 20_000, 0.8)
    return BatteryCapacity(RatingsAndOutages([rating], [out]), holdings, own)


def points_of(capacity: BatteryCapacity, first: int, end: int, names: dict[UUID, str] | None) -> list[Any]:
    async def collect() -> bytes:
        return b"".join([chunk async for chunk in stream_commitments(b'{"points":[]}', capacity, first, end, names)])

    found: list[Any] = json.loads(asyncio.run(collect()))["points"]
    return found


def read(names: dict[UUID, str] | None) -> list[Any]:
    return points_of(held(), FIRST, END, names)


class TestCommitments:
    def test_name_the_holders_of_each_period_to_those_who_may_see_them(self) -> None:
        points = read({HOLDER: "Traders"})
        known = {"kind": "VIRTUAL_ASSET", "virtualAssetID": str(ASSET), "organisationID": str(HOLDER)}
        known["organisationName"] = "Traders"
        unnamed = {"kind": "VIRTUAL_ASSET", "virtualAssetID": str(ASSET), "organisationID": str(UNNAMED)}
        auction = {"kind": "AUCTION", "auctionID": str(AUCTION)}
        fcr = {"kind": "FCR", "product": "NEGPOS_00_04"}
        assert [point["holders"] for point in points[:5]] == [
            [{**known, "power": 2_000}, {**known, "power": -1_000}],
            [
                {**known, "power": 2_000},
                {**known, "power": -1_000},
                {**auction, "power": 400},
                {**auction, "power": -300},
            ],
            [{**unnamed, "power": -500}, {**auction, "power": 400}, {**auction, "power": -300}],
            [{**auction, "power": 400}, {**auction, "power": -300}, {"kind": "OWN_SCHEDULE", "power": -700}],
            [{**fcr, "power": 3_000}, {**fcr, "power": -3_000}],
        ]
        assert points[6]["holders"][-1] == {"kind": "OWN_SCHEDULE", "power": 600}
        assert all("holders" not in point for point in read(None))

    def test_ask_for_the_names_of_all_organisations_that_hold_something(self) -> None:
        assert holding_organisations(held()) == {HOLDER, UNNAMED}
