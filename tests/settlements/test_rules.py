"""Rules that are judged over whole columns."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.kernel.problem import BadRequest
from gridloom.settlements.model import (
    AFRR_CAPACITY_AWARDS,
    FACT_KINDS,
    FCR_AWARDS,
    WHOLESALE_TRADES,
    AFRRCapacityAward,
    FCRAward,
    WholesaleTrade,
)
from gridloom.settlements.rules import (
    ContradictingRows,
    DeliveryBeyondBlock,
    columns_of,
    deduplicate,
    to_fixed_point,
)

pytestmark = pytest.mark.pure

ASSET = UUID("0198f0a4-5b6c-7d8e-9f00-112233445566")


def trade(**changes: Any) -> WholesaleTrade:
    fields: dict[str, Any] = {
        "asset_id": str(ASSET),
        "trade_id": "T1",
        "time": datetime(2026, 3, 29, tzinfo=UTC),
        "side": "BUY",
        "volume": 1.0,
        "price": 10.0,
        "market": "OTC",
    }
    return WholesaleTrade(**(fields | changes))


def award(**changes: Any) -> FCRAward:
    fields: dict[str, Any] = {
        "asset_id": str(ASSET),
        "delivery_day": date(2026, 3, 29),
        "product": "NEGPOS_00_04",
        "capacity": 1.0,
        "settlement_price": 10.0,
    }
    return FCRAward(**(fields | changes))


def pointers(kind: Any, rows: list[Any]) -> list[str]:
    with pytest.raises(BadRequest) as caught:
        columns_of(kind, rows)
    return [error.pointer for error in caught.value.errors]


class TestTrade:
    def test_starts_with_a_delivery_period(self) -> None:
        late = trade(time=datetime(2026, 3, 29, 0, 7, tzinfo=UTC))
        assert pointers(WHOLESALE_TRADES, [trade(), late]) == ["/1/time"]

    def test_is_priced_in_cents(self) -> None:
        columns_of(WHOLESALE_TRADES, [trade(price=66.86), trade(price=-500.0), trade(price=0.29)])
        assert pointers(WHOLESALE_TRADES, [trade(price=0.1 + 0.2), trade(price=1.005)]) == ["/0/price", "/1/price"]

    def test_names_an_asset_by_a_uuid(self) -> None:
        assert pointers(WHOLESALE_TRADES, [trade(asset_id="x"), trade(asset_id="-0" * 18)]) == [
            "/0/assetID",
            "/1/assetID",
        ]

    def test_lies_within_the_calendar(self) -> None:
        """Of the market days 2000 to 2099: each begins an hour before that of UTC in winter."""
        assert pointers(WHOLESALE_TRADES, [trade(time=datetime(1, 1, 1, tzinfo=UTC))]) == ["/0/time"]
        first, end = datetime(1999, 12, 31, 23, tzinfo=UTC), datetime(2099, 12, 31, 23, tzinfo=UTC)
        quarter = timedelta(minutes=15)
        columns_of(WHOLESALE_TRADES, [trade(time=first), trade(time=end - quarter)])
        assert pointers(WHOLESALE_TRADES, [trade(time=first - quarter), trade(time=end)]) == ["/0/time", "/1/time"]

    def test_names_no_nul(self) -> None:
        with pytest.raises(BadRequest) as caught:
            columns_of(WHOLESALE_TRADES, [trade(), trade(trade_id="a\0")])
        assert [(error.pointer, error.detail) for error in caught.value.errors] == [("/1/tradeID", "contains U+0000")]

    @given(st.integers(-100_000_000, 100_000_000))
    def test_keeps_every_cent(self, cents: int) -> None:
        price = float(f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}")
        if abs(price) <= 1_000_000:
            columns = columns_of(WHOLESALE_TRADES, [trade(price=price)])
            assert to_fixed_point(columns["price_eur_mwh"]).tolist() == [cents * 1_000_000]


class TestAward:
    def test_knows_the_products_of_its_kind(self) -> None:
        assert pointers(FCR_AWARDS, [award(product="POS_00_04"), award(product="NEGPOS_01_05")]) == [
            "/0/product",
            "/1/product",
        ]
        capacity = AFRRCapacityAward(
            asset_id=str(ASSET), delivery_day=date(2026, 3, 29), product="NEG_20_24", capacity=1, price=1
        )
        assert columns_of(AFRR_CAPACITY_AWARDS, [capacity])["delivery_h"].tolist() == [4.0]
        both = msgspec.structs.replace(capacity, product="NEGPOS_20_24")
        assert pointers(AFRR_CAPACITY_AWARDS, [capacity, both]) == ["/1/product"]

    def test_lies_within_the_calendar(self) -> None:
        columns_of(FCR_AWARDS, [award(delivery_day=day) for day in (date(2000, 1, 1), date(2099, 12, 31))])
        days = [date(1999, 12, 31), date(2000, 1, 1), date(2100, 1, 1)]
        assert pointers(FCR_AWARDS, [award(delivery_day=day) for day in days]) == ["/0/deliveryDay", "/2/deliveryDay"]

    @pytest.mark.parametrize(
        ("day", "hours"), [(date(2026, 3, 29), 3.0), (date(2025, 10, 26), 5.0), (date(2026, 7, 1), 4.0)]
    )
    def test_lasts_as_long_as_its_block(self, day: date, hours: float) -> None:
        assert columns_of(FCR_AWARDS, [award(delivery_day=day)])["delivery_h"].tolist() == [hours]
        some = [award(delivery_day=day), award(delivery_day=day, delivery_hours=2.0)]
        assert columns_of(FCR_AWARDS, list(some))["delivery_h"].tolist() == [hours, 2.0]
        with pytest.raises(DeliveryBeyondBlock) as caught:
            columns_of(FCR_AWARDS, [award(delivery_day=day), award(delivery_day=day, delivery_hours=hours + 0.25)])
        assert [error.pointer for error in caught.value.errors] == ["/1/deliveryHours"]


class TestAKind:
    def test_is_itself_again_after_it_went_to_another_process(self) -> None:
        assert [pickle.loads(pickle.dumps(kind)) for kind in FACT_KINDS] == list(FACT_KINDS)


class TestBatch:
    def test_takes_the_very_same_row_once(self) -> None:
        rows = [trade(), trade(), trade(trade_id="T2"), trade()]
        batch = deduplicate(WHOLESALE_TRADES, columns_of(WHOLESALE_TRADES, rows), {ASSET: 7})
        assert batch.columns["trade_id"].to_pylist() == ["T1", "T2"]
        assert batch.received == 4

    def test_refuses_two_rows_of_one_fact_that_differ(self) -> None:
        rows = [trade(price=1.0), trade(trade_id="T2"), trade(price=2.0), trade(price=1.0), trade(market="DAY_AHEAD")]
        with pytest.raises(ContradictingRows) as caught:
            deduplicate(WHOLESALE_TRADES, columns_of(WHOLESALE_TRADES, rows), {ASSET: 7})
        assert [error.pointer for error in caught.value.errors] == ["/2/assetID", "/4/assetID"]
        assert "row 0" in caught.value.errors[0].detail
