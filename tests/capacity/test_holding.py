"""Capacity is taken as if what is given back for it were gone already."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from gridloom.capacity.availability import Rating, RatingsAndOutages
from gridloom.capacity.holding import CapacityRequest, hold_capacity
from gridloom.capacity.model import Holding, HoldingGroup, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity, CapacityTaken
from gridloom.capacity.store import LockedBatteries
from gridloom.kernel.market_time import period_start

pytestmark = pytest.mark.pure

KEY, LOCKED = 7, LockedBatteries(frozenset({7}), datetime(2026, 1, 1, tzinfo=UTC))


def promise(power_kw: float) -> Holding:
    kind, losses = HoldingKind.VIRTUAL_ASSET, OneWayEfficiency(1.0, 1.0)
    return Holding(kind, uuid4(), 100, 196, power_kw, power_kw, power_kw, losses=losses)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    async def write_holdings(_db: Any, released: Any, taken: Any) -> None:
        calls.append((released, taken))

    monkeypatch.setattr("gridloom.capacity.store.write_holdings", write_holdings)
    return calls


class TestWhatReplacesAnother:
    """A battery of 10 MW, of which 8 are promised."""

    old, new = promise(8_000), promise(9_000)
    rated = RatingsAndOutages([Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)], [])
    capacity = {KEY: BatteryCapacity(rated, [old], OwnSchedule.nothing())}

    async def test_may_use_what_the_other_gives_back(self, written: list[Any]) -> None:
        asked = CapacityRequest(KEY, uuid4(), [HoldingGroup((self.new,))], released=[self.old.holder_id])
        await hold_capacity(None, LOCKED, [asked], self.capacity)  # type: ignore[arg-type]
        assert written == [([(KEY, self.old.holder_id)], [(KEY, self.new)])]

    async def test_may_not_where_nothing_is_given_back(self, written: list[Any]) -> None:
        asked = CapacityRequest(KEY, uuid4(), [HoldingGroup((self.new,))])
        with pytest.raises(CapacityTaken):
            await hold_capacity(None, LOCKED, [asked], self.capacity)  # type: ignore[arg-type]
        assert written == []
