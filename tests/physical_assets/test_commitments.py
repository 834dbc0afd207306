"""What is held of a battery, period by period, as its owner reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import period_start
from gridloom.physical_assets.commitments.routes import _points_json, holding_organisations

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


def read(names: dict[UUID, str] | None) -> list[Any]:
    found: list[Any] = json.loads(_points_json(held(), FIRST, END, names))
    return found


class TestCommitments:
    def test_have_each_period_of_the_window_once(self) -> None:
        times = [point["time"] for point in read(None)]
        starts = [period_start(period) for period in range(FIRST, END)]
        assert times == [start.isoformat().replace("+00:00", "Z") for start in starts]

    def test_have_what_each_kind_holds_of_each_direction(self) -> None:
        points = read(None)
        assert [point["charge"]["promised"] for point in points] == [1_000, 1_000, 500, 0, 0, 0, 0, 0]
        assert [point["discharge"]["promised"] for point in points] == [2_000, 2_000, 0, 0, 0, 0, 0, 0]
        assert [point["charge"]["offered"] for point in points] == [0, 300, 300, 300, 0, 0, 0, 0]
        assert [point["discharge"]["offered"] for point in points] == [0, 400, 400, 400, 0, 0, 0, 0]
        assert [point["energy"]["promised"] for point in points] == [4_000, 4_000, 900, 0, 0, 0, 0, 0]
        assert [point["charge"]["ancillary"]["fcr"] for point in points] == [0, 0, 0, 0] + [3_000] * 4
        assert [point["discharge"]["ancillary"]["afrrCapacity"] for point in points] == [0] * 5 + [5_000] * 3
        assert [point["charge"]["ownSchedule"] for point in points] == [0, 0, 0, 700, 0, 0, 0, 0]
        assert [point["discharge"]["ownSchedule"] for point in points] == [0, 0, 0, 0, 0, 0, 600, 0]

    def test_have_of_each_reserve_what_is_accepted_and_what_is_bid(self) -> None:
        kinds = (HoldingKind.FCR, HoldingKind.AFRR_CAPACITY, HoldingKind.AFRR_ENERGY)
        holdings = [
            Holding(kind, BID, period, period + 1, 0, power_kw * times, 0, is_firm=is_firm, product="POS_00_04")
            for period, (kind, power_kw) in enumerate(zip(kinds, (100, 200, 300), strict=True), start=FIRST)
            for is_firm, times in ((True, 1), (False, 3))
        ]
        points = json.loads(_points_json(replace(held(), holdings=holdings), FIRST, FIRST + 3, None))
        assert [point["discharge"]["ancillary"] for point in points] == [
            {"fcr": 400, "afrrCapacity": 0, "afrrEnergy": 0},
            {"fcr": 0, "afrrCapacity": 800, "afrrEnergy": 0},
            {"fcr": 0, "afrrCapacity": 0, "afrrEnergy": 1_200},
        ]

    def test_have_what_is_free_and_what_an_outage_leaves_missing(self) -> None:
        points = read(None)
        assert [point["charge"]["free"] for point in points] == [9_000, 8_700, 9_200, 9_000, 7_000, 7_000, 7_000, 7_000]
        assert [point["discharge"]["rated"] for point in points] == [12_000] * 8
        assert [point["discharge"]["available"] for point in points] == [12_000] * 5 + [6_000] + [12_000] * 2
        assert [point["discharge"]["free"] for point in points] == [
            10_000,
            9_600,
            11_600,
            11_600,
            9_000,
            0,
            3_400,
            4_000,
        ]
        assert [point["discharge"]["missing"] for point in points] == [0] * 5 + [2_000, 0, 0]

    def test_have_amounts_to_the_milliwatt(self) -> None:
        """Sums of doubles bring more digits."""
        capacity = held()
        odd = replace(capacity.holdings[0], charge_kw=0.12345678, discharge_kw=0.1 + 0.2)
        (first, *_) = json.loads(_points_json(replace(capacity, holdings=[odd]), FIRST, END, None))
        assert (first["charge"]["promised"], first["discharge"]["promised"]) == (0.123457, 0.3)
        assert first["charge"]["free"] == 9_999.876543

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
