"""Lengths and capacities of market messages at their very limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from msgspec import UNSET

from gridloom.exchange_notifications.rules import (
    CapacityMismatch,
    RemarksTooLong,
    UnknownUnavailabilities,
    available_capacity_kw,
    check_remarks,
    check_unavailabilities,
)

pytestmark = pytest.mark.pure


class TestRemarks:
    def test_fill_their_field_and_no_more(self) -> None:
        fitting: Any = SimpleNamespace(full_remarks="x" * 500, duration_uncertainty="x")
        check_remarks(fitting)
        for uncertainty, pointer in ((None, "/remarks"), ("x", "/durationUncertainty")):
            longer: Any = SimpleNamespace(full_remarks="x" * 501, duration_uncertainty=uncertainty)
            with pytest.raises(RemarksTooLong) as refusal:
                check_remarks(longer)
            assert [error.pointer for error in refusal.value.errors] == [pointer]


class TestUnavailabilities:
    def test_that_the_asset_has_not_are_named_each_where_it_stands(self) -> None:
        known, *strangers = (UUID(int=number) for number in (1, 2, 3))
        check_unavailabilities([known, known], {known})
        with pytest.raises(UnknownUnavailabilities) as refusal:
            check_unavailabilities([strangers[1], known, strangers[0]], {known})
        assert [(error.pointer, error.detail) for error in refusal.value.errors] == [
            (f"/unavailabilityIDs/{position}", f"{one} is not an unavailability of this asset")
            for position, one in ((0, strangers[1]), (2, strangers[0]))
        ]


class TestTheAvailableCapacity:
    def test_is_what_is_left_to_the_last_decimal(self) -> None:
        assert available_capacity_kw(0.3, 0.1, UNSET) == 0.2
        assert available_capacity_kw(12_000.0, 12_000.0, 0.0) == 0.0

    @pytest.mark.parametrize(
        ("unavailable_kw", "given_kw", "pointer"),
        [(12_001.0, UNSET, "unavailable"), (5_000.0, 7_001.0, "available"), (5_000.0, 6_999.0, "available")],
    )
    def test_makes_with_the_rest_what_is_installed(self, unavailable_kw: float, given_kw: Any, pointer: str) -> None:
        with pytest.raises(CapacityMismatch) as refusal:
            available_capacity_kw(12_000.0, unavailable_kw, given_kw, "/x")
        assert [error.pointer for error in refusal.value.errors] == [f"/x/{pointer}Capacity"]
