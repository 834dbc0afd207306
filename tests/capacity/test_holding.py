"""Capacity is taken as if what is given back for it were gone already."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from gridloom.capacity.availability import Rating, RatingsAndOutages
from gridloom.capacity.holding import CapacityRequest, hold_capacity, release_holdings, replace_holdings
from gridloom.capacity.model import Holding, HoldingGroup, HoldingKind, OneWayEfficiency, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import LockedBatteries
from gridloom.kernel.market_time import period_number, period_start

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


class TestWhatIsAskedOfSeveralBatteries:
    """Of 10 MW each, 8 of the first and the third promised."""

    keys, ids = (5, 6, 7), [uuid4() for _ in range(3)]
    locked = LockedBatteries(frozenset(keys), LOCKED.since)
    capacity = {
        key: replace(TestWhatReplacesAnother.capacity[KEY], holdings=held)
        for key, held in ((5, [promise(8_000)]), (6, []), (7, [promise(8_500)]))
    }

    def ask(self, *powers_kw: float) -> list[CapacityRequest]:
        return [
            CapacityRequest(key, asset_id, [HoldingGroup((promise(power_kw),), f"/{key}")])
            for key, asset_id, power_kw in zip(self.keys, self.ids, powers_kw, strict=True)
        ]

    async def test_is_asked_for_under_the_lock_of_each(self, written: list[Any]) -> None:
        for change in (
            hold_capacity(None, LOCKED, self.ask(1, 1, 1), self.capacity),  # type: ignore[arg-type]
            replace_holdings(None, LOCKED, 6, released=[], holdings=[]),  # type: ignore[arg-type]
            release_holdings(None, LOCKED, 6, []),  # type: ignore[arg-type]
        ):
            with pytest.raises(AssertionError):
                await change
        assert written == []

    async def test_is_validated_in_all_of_its_periods_if_the_first_to_begin_is_the_last_to_end(
        self, monkeypatch: pytest.MonkeyPatch, written: list[Any]
    ) -> None:
        read: list[tuple[int, int]] = []

        async def load_battery_capacity(_db: Any, keys: Any, first: int, end: int) -> Any:
            read.append((first, end))
            return {key: self.capacity[key] for key in keys}

        monkeypatch.setattr("gridloom.capacity.store.load_battery_capacity", load_battery_capacity)
        asked = [
            replace(one, groups=[HoldingGroup((replace(one.groups[0].holdings[0], first=first, end=end),))])
            for one, (first, end) in zip(self.ask(1, 1, 1), ((110, 120), (104, 190), (120, 130)), strict=True)
        ]
        await hold_capacity(None, self.locked, asked)  # type: ignore[arg-type]
        assert read == [(104, 190)]
        assert len(written) == 1


class TestABid:
    @pytest.mark.parametrize(
        ("start", "product"),
        [("2026-06-14T22:00:00+00:00", "POS_00_04"), ("2026-06-15T18:00:00+00:00", "POS_20_24")],
    )
    def test_is_named_by_its_product_on_the_market_day_on_which_that_begins(self, start: str, product: str) -> None:
        first = period_number(datetime.fromisoformat(start))
        held = Holding(HoldingKind.AFRR_CAPACITY, uuid4(), first, first + 16, 0, 1, 1, product=product)
        assert held.product_date_code == f"2026-06-15_{product}"
