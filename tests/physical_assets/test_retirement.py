"""Which holdings stand in the way of retiring a battery."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest

from gridloom.capacity.availability import CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.model import Holding, HoldingKind, OwnSchedule
from gridloom.capacity.rules import BatteryCapacity
from gridloom.kernel.market_time import format_instant, period_start
from gridloom.physical_assets import retirement, store
from gridloom.physical_assets.retirement import AssetCommitted, check_retirable, find_uncovered

pytestmark = pytest.mark.pure

HELD = Holding(HoldingKind.VIRTUAL_ASSET, uuid4(), 110, 120, 5_000, 5_000, 8_000)
BID = Holding(HoldingKind.FCR, uuid4(), 110, 120, 1_000, 1_000, 500, is_firm=False)


def battery(out_from: int, out_until: int, power_kw: float = 10_000, energy_kwh: float = 20_000) -> BatteryCapacity:
    outage = CapacityOutage(period_start(out_from), period_start(out_until), power_kw, power_kw, energy_kwh)
    rating = Rating(period_start(0), 10_000, 10_000, 20_000, 0.8)
    return BatteryCapacity(RatingsAndOutages([rating], [outage]), [HELD, BID], OwnSchedule.nothing())


class TestABatteryToRetire:
    async def test_is_looked_at_from_the_period_that_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What it owes now, and the earliest of it first; it all stands until the end of the last."""
        now = period_start(119) + timedelta(minutes=14)
        later = Holding(HoldingKind.AUCTION, UUID(int=2), 125, 130, 100, 200.00000049, 300)
        bid = Holding(HoldingKind.FCR, UUID(int=3), 121, 124, 400, 400, 200, product="NEGPOS_04_08")

        async def read_last_commitment_end(db: Any, asset_key: int, since: datetime) -> int:
            assert (asset_key, since) == (7, now)
            return 130

        async def load_firm_capacity(db: Any, keys: list[int], first: int, end: int) -> dict[int, BatteryCapacity]:
            assert (keys, first, end) == ([7], 119, 130)
            return {7: replace(battery(0, 1), holdings=[later, HELD, bid])}

        monkeypatch.setattr(store, "read_last_commitment_end", read_last_commitment_end)
        monkeypatch.setattr(retirement, "load_firm_capacity", load_firm_capacity)
        locked: Any = SimpleNamespace(keys={7}, since=now)
        db: Any = None
        with pytest.raises(AssetCommitted) as refused:
            await check_retirable(db, locked, 7)
        until = format_instant(period_start(130))
        assert refused.value.detail.startswith(
            f"Commitments of the battery (3: AUCTION, FCR, VIRTUAL_ASSET) stand until {until},"
        )
        assert refused.value.members["commitments"] == [
            {
                "kind": one.kind.value,
                "start": format_instant(period_start(one.first)),
                "end": format_instant(period_start(one.end)),
                "charge": one.charge_kw,
                "discharge": round(one.discharge_kw),
                **named,
            }
            for one, named in (
                (HELD, {"virtualAssetID": str(HELD.holder_id)}),
                (bid, {"bidID": str(bid.holder_id), "productDateCode": bid.product_date_code}),
                (later, {"auctionID": str(later.holder_id)}),
            )
        ]


class TestAHolding:
    @pytest.mark.parametrize(("out_from", "out_until"), [(111, 120), (110, 119), (100, 110), (120, 130)])
    def test_is_uncovered_when_one_period_is_left(self, out_from: int, out_until: int) -> None:
        assert find_uncovered(battery(out_from, out_until), 100, 130) == [HELD]
