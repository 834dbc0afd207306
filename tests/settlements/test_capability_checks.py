"""What a settled fact cannot be, by its asset's life and power."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.settlements.test_rules import ASSET, award, trade

from gridloom.kernel.problem import Forbidden
from gridloom.settlements.capability_checks import (
    AssetCapability,
    ImplausibleSettlement,
    reject_implausible,
    reject_others_assets,
)
from gridloom.settlements.model import (
    AFRR_CAPACITY_AWARDS,
    FCR_AWARDS,
    WHOLESALE_TRADES,
    AFRRCapacityAward,
    FactKind,
    Row,
)
from gridloom.settlements.rules import columns_of

pytestmark = pytest.mark.pure

HOLDER = UUID(int=7)
LIFE = (datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 30, 22, tzinfo=UTC))
"""Two market days, of which the first has 23 hours."""


def asset(charge: float = 8.0, discharge: float = 10.0, **changes: Any) -> AssetCapability:
    fields: dict[str, Any] = {
        "key": 1,
        "kind": "VIRTUAL",
        "organisation_id": HOLDER,
        "life_s": tuple(edge.timestamp() for edge in LIFE),
        "steps_s": np.array([LIFE[0].timestamp()]),
        "charge_mw": np.array([charge]),
        "discharge_mw": np.array([discharge]),
    }
    return AssetCapability(**(fields | changes))


def faults(
    kind: FactKind, rows: list[Row], of: AssetCapability | dict[UUID, AssetCapability] | None = None
) -> list[str]:
    assets = of if isinstance(of, dict) else {ASSET: of or asset()}
    try:
        reject_implausible(kind, columns_of(kind, rows), assets)
    except ImplausibleSettlement as refused:
        return [error.pointer for error in refused.errors]
    return []


def capacity(product: str, mw: float) -> AFRRCapacityAward:
    return AFRRCapacityAward(
        asset_id=str(ASSET), delivery_day=date(2026, 3, 29), product=product, capacity=mw, price=1.0
    )


class TestAnAward:
    def test_is_at_most_the_rated_power_in_its_direction(self) -> None:
        assert faults(FCR_AWARDS, [award(capacity=8.0), award(product="NEGPOS_04_08", capacity=8.5)]) == ["/1/capacity"]
        rows = [capacity("POS_00_04", 10.0), capacity("POS_04_08", 10.5), capacity("NEG_00_04", 8.0)]
        assert faults(AFRR_CAPACITY_AWARDS, [*rows, capacity("NEG_04_08", 8.5)]) == ["/1/capacity", "/3/capacity"]

    def test_lies_within_the_life(self) -> None:
        days = [award(delivery_day=date(2026, 3, day)) for day in (28, 29, 30, 31)]
        assert faults(FCR_AWARDS, list(days)) == ["/0/product", "/3/product"]
        autumn = (datetime(2026, 10, 24, 22, tzinfo=UTC), datetime(2026, 10, 25, 23, tzinfo=UTC))
        long = asset(life_s=tuple(edge.timestamp() for edge in autumn))
        first = {"delivery_day": date(2026, 10, 25), "product": "NEGPOS_00_04"}
        assert faults(FCR_AWARDS, [award(**first, delivery_hours=5.0)], long) == [], "its first block has five hours"


class TestABattery:
    def test_is_validated_by_the_rating_that_holds_then(self) -> None:
        grown = asset(
            life_s=None,
            steps_s=np.array([LIFE[0].timestamp(), datetime(2026, 3, 29, 2, tzinfo=UTC).timestamp()]),
            charge_mw=np.array([1.0, 5.0]),
            discharge_mw=np.array([1.0, 5.0]),
        )
        rows = [award(capacity=2.0), award(product="NEGPOS_04_08", capacity=2.0)]
        early = award(delivery_day=date(2020, 1, 1), capacity=1.0)
        assert faults(FCR_AWARDS, [*rows, early], grown) == ["/0/capacity"]


class TestATrader:
    def test_records_only_on_virtual_assets_of_its_own(self) -> None:
        named = columns_of(WHOLESALE_TRADES, [trade()])["asset_id"]
        reject_others_assets(named, {ASSET: asset()}, HOLDER)
        for other in (asset(organisation_id=UUID(int=8)), asset(kind="PHYSICAL")):
            with pytest.raises(Forbidden) as caught:
                reject_others_assets(named, {ASSET: other}, HOLDER)
            assert [error.pointer for error in caught.value.errors] == ["/0/assetID"]
        rows = [trade(), trade(asset_id=str(HOLDER)), trade(trade_id="T2"), trade(asset_id=str(HOLDER), trade_id="T2")]
        named = columns_of(WHOLESALE_TRADES, list(rows))["asset_id"]
        with pytest.raises(Forbidden) as caught:
            reject_others_assets(named, {ASSET: asset(), HOLDER: asset(kind="PHYSICAL")}, HOLDER)
        assert [error.pointer for error in caught.value.errors] == ["/1/assetID", "/3/assetID"], "by their rows"


class TestManyRows:
    @given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 40)), min_size=1, max_size=40))
    def test_are_validated_each_by_its_own_asset(self, facts: list[tuple[int, float]]) -> None:
        ids = [UUID(int=n + 1) for n in range(3)]
        assets = {id: asset(float(n), float(n)) for n, id in enumerate(ids)}
        rows = [
            trade(trade_id=str(n), asset_id=str(ids[which]), volume=volume) for n, (which, volume) in enumerate(facts)
        ]
        beyond = [f"/{n}/volume" for n, (which, volume) in enumerate(facts) if volume > 2 * which * (1 + 1e-9)]
        assert faults(WHOLESALE_TRADES, list(rows), assets) == beyond
